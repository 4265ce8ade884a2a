package tap

import "unicode/utf8"

// A quick reads the envelope of a whole frame that is one object without
// anything odd about its JSON, as nearly all are. It is exact: what it takes, a
// [scan] takes for the same, and reads of the rest what is to be said of it.
type quick struct {
	reader
	envelope
}

// read reads a frame and reports whether it is such an object.
func (q *quick) read(raw []byte) bool {
	q.b, q.top = raw, '{'
	i := q.members(space(raw, 0) + 1)
	if i < 0 || space(raw, i) < len(raw) {
		return false
	}
	return q.letters&high == 0 || utf8.Valid(raw)
}

// mayQuick reports whether it is worth a try.
func mayQuick(raw []byte) bool {
	i := space(raw, 0)
	return i < len(raw) && raw[i] == '{'
}

// members reads what follows the brace of the envelope.
func (q *quick) members(i int) int {
	b := q.b
	if i = space(b, i); i < len(b) && b[i] == '}' {
		return i + 1
	}
	o := q.names.open()
	for {
		end, hash := q.name(i)
		if end < 0 || !q.names.add(&o, hash) || o.n == dupeNames { // more could be the same
			return -1
		}
		f := outerField(b[i+1 : end-1])
		from := colon(b, end)
		if from < 0 || from >= len(b) {
			return -1
		}
		if i = q.member(f, from); i < 0 {
			return -1
		}
		var more bool
		if i, more = next(b, i, '}'); !more {
			return i
		}
	}
}

// member reads the value of a member of the envelope.
func (q *quick) member(f field, from int) (end int) {
	c := q.b[from]
	if c == '{' && (f == fResult || f == fError) {
		end = q.inner(f, from+1)
	} else {
		end = q.value(from, 1)
	}
	if end < 0 || f == fOther {
		return end
	}
	q.note(f, c, from, end)
	q.from[f], q.to[f] = int64(from), int64(end)
	return end
}

// inner reads what follows the brace of a result or an error.
func (q *quick) inner(of field, i int) int {
	b := q.b
	if i = space(b, i); i < len(b) && b[i] == '}' {
		return i + 1
	}
	o := q.names.open()
	for {
		end, hash := q.name(i)
		if end < 0 || !q.names.add(&o, hash) {
			return -1
		}
		f := innerField(of, b[i+1:end-1])
		from := colon(b, end)
		if i = q.value(from, 2); i < 0 {
			return -1
		}
		if f != fNone {
			q.note(f, b[from], from, i)
		}
		var more bool
		if i, more = next(b, i, '}'); !more {
			break
		}
	}
	q.names.close(&o)
	return i
}

// note notes a value that counts.
func (q *quick) note(f field, c byte, from, end int) {
	if c == '-' || c-'0' < 10 {
		c = '0'
	}
	q.class[f] = c
	if c != '{' && c != '[' {
		q.text[f] = q.b[from:end]
	}
}
