package replay

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// What follows walks JSON that [jsonrpc.Peek] has checked. It never looks beyond the
// end of the bytes all the same.

// space returns the offset of the first byte at or after i that is no white
// space.
func space(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\r' || raw[i] == '\t') {
		i++
	}
	return i
}

// begin returns the offset of the message in a frame: behind white space and a
// byte order mark.
func begin(raw []byte) int {
	i := space(raw, 0)
	if bytes.HasPrefix(raw[i:], []byte("\xef\xbb\xbf")) {
		i = space(raw, i+3)
	}
	return i
}

// classAt is the byte at i, 0 beyond the end.
func classAt(raw []byte, i int) byte {
	if i < len(raw) {
		return raw[i]
	}
	return 0
}

// skipString returns the offset behind the string that begins at i.
func skipString(raw []byte, i int) int {
	i++
	end := bytes.IndexByte(raw[i:], '"')
	if end < 0 {
		return len(raw)
	}
	if escape := bytes.IndexByte(raw[i:i+end], '\\'); escape < 0 {
		return i + end + 1
	}
	for i < len(raw) {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
		i++
	}
	return len(raw)
}

// skipScalar returns the offset behind the string, number or word at i.
func skipScalar(raw []byte, i int) int {
	if classAt(raw, i) == '"' {
		return skipString(raw, i)
	}
	for i < len(raw) {
		switch raw[i] {
		case ',', ']', '}', ' ', '\n', '\r', '\t':
			return i
		}
		i++
	}
	return i
}

// skip returns the offset behind the value at i.
func skip(raw []byte, i int) int {
	if c := classAt(raw, i); c != '{' && c != '[' {
		return skipScalar(raw, i)
	}
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return i
}

// A walker goes through the members of an object, or the elements of an array.
// Its user moves i behind each value.
type walker struct {
	raw []byte
	i   int
	// last is where the member or element before began: where nothing can be read,
	// nothing moves on.
	last int
}

// into enters the object or array at i.
func into(raw []byte, i int) walker { return walker{raw, i + 1, i} }

// member returns the next member's name as it stands, quotes included, and the
// offset of its value; ok is false at the end, and i then behind the object.
func (w *walker) member() (name []byte, at int, ok bool) {
	if !w.more('}') {
		return nil, 0, false
	}
	from := w.i
	to := skipScalar(w.raw, from)
	at = space(w.raw, to)
	if classAt(w.raw, at) == ':' {
		at = space(w.raw, at+1)
	}
	w.i = max(at, from+1)
	return w.raw[from:to], w.i, true
}

// element returns the offset of the next element, as member does.
func (w *walker) element() (at int, ok bool) {
	if !w.more(']') {
		return 0, false
	}
	return w.i, true
}

// more moves to the next member or element, if there is one.
func (w *walker) more(end byte) bool {
	w.i = space(w.raw, w.i)
	if classAt(w.raw, w.i) == ',' {
		w.i = space(w.raw, w.i+1)
	}
	if w.i >= len(w.raw) || w.i <= w.last {
		return false
	}
	if w.raw[w.i] == end {
		w.i++
		return false
	}
	w.last = w.i
	return true
}

// A span is a part of a frame.
type span struct{ from, to int }

func (s span) of(raw []byte) []byte { return raw[s.from:s.to:s.to] }

// find returns where the value stands that the names lead to, from the object at
// i on.
func find(raw []byte, i int, names ...string) (found span, ok bool) {
	for _, name := range names {
		if found, ok = findMember(raw, i, name); !ok {
			return span{}, false
		}
		i = found.from
	}
	return found, ok
}

// findMember returns the value of a member. Of two of one name it is the last, as
// for everybody who reads JSON.
func findMember(raw []byte, i int, name string) (found span, ok bool) {
	if classAt(raw, i) != '{' {
		return span{}, false
	}
	for w := into(raw, i); ; {
		key, at, more := w.member()
		if !more {
			return found, ok
		}
		if w.i = skip(raw, at); named(key, name) {
			found, ok = span{at, w.i}, true
		}
	}
}

// named reports whether a name as it stands is that one.
func named(token []byte, name string) bool {
	if len(token) == len(name)+2 {
		return string(token[1:len(token)-1]) == name
	}
	return len(token) > len(name)+2 && bytes.IndexByte(token, '\\') >= 0 && string(decode(token)) == name
}

// decode returns what a string stands for. Half a surrogate pair keeps its value
// in the form that UTF-8 would give it, so that different strings stay so. The
// result may share memory with token.
func decode(token []byte) []byte {
	if len(token) < 2 {
		return nil
	}
	body := token[1 : len(token)-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return body
	}
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); {
		switch c := body[i]; {
		case c != '\\' || i+1 == len(body):
			out = append(out, c)
			i++
		case body[i+1] != 'u' || i+6 > len(body):
			out = append(out, unescape(body[i+1]))
			i += 2
		default:
			r := hex4(body[i+2:])
			i += 6
			if utf16.IsSurrogate(r) && i+6 <= len(body) && body[i] == '\\' && body[i+1] == 'u' {
				if pair := utf16.DecodeRune(r, hex4(body[i+2:])); pair != utf8.RuneError {
					out = utf8.AppendRune(out, pair)
					i += 6
					continue
				}
			}
			out = appendUnit(out, r)
		}
	}
	return out
}

// appendUnit appends a character, or half a surrogate pair.
func appendUnit(out []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(out, r)
}

func unescape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// hex4 reads the digits of an escape.
func hex4(b []byte) (r rune) {
	for _, c := range b[:4] {
		switch {
		case c <= '9':
			c -= '0'
		case c <= 'F':
			c -= 'A' - 10
		default:
			c -= 'a' - 10
		}
		r = r<<4 | rune(c&15)
	}
	return r
}
