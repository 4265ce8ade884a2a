package tap

import (
	"encoding/binary"
	"math/bits"
)

// maxNesting is how many arrays and objects may stand inside one another for a
// [reader], which is what bounds its recursion.
const maxNesting = 64

// A reader checks JSON (RFC 8259) that is whole in one pass, with each function
// taking an index and returning the one behind what it read. It says no, with
// -1, to whatever it is not certain of: JSON that is broken, names with escapes,
// names that an object may have twice, deep nesting. A [scan] knows all of
// these, and why, in three times the time.
type reader struct {
	b []byte
	// letters are the bytes of strings or-ed, so that its high bits are zero
	// if all of them are ASCII.
	letters uint64
	names   names
}

// space skips white space.
func space(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' {
		if c := b[i]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			break
		}
		i++
	}
	return i
}

// value reads the value that begins at i, inside of so many others.
func (r *reader) value(i, depth int) int {
	b := r.b
	if i < 0 || i >= len(b) {
		return -1
	}
	switch c := b[i]; c {
	case '"':
		return r.quoted(i + 1)
	case '{':
		return r.object(i+1, depth+1)
	case '[':
		return r.array(i+1, depth+1)
	case 't':
		return literal(b, i, "true")
	case 'f':
		return literal(b, i, "false")
	case 'n':
		return literal(b, i, "null")
	}
	return number(b, i)
}

// object reads what follows the brace of an object.
func (r *reader) object(i, depth int) int {
	b := r.b
	if i = space(b, i); i < len(b) && b[i] == '}' {
		return i + 1
	}
	if depth > maxNesting {
		return -1
	}
	o := r.names.open()
	for {
		var hash uint64
		if i, hash = r.name(i); i < 0 || !r.names.add(&o, hash) {
			return -1
		}
		if i = r.value(colon(b, i), depth); i < 0 {
			return -1
		}
		var more bool
		if i, more = next(b, i, '}'); !more {
			break
		}
	}
	r.names.close(&o)
	return i
}

// array reads what follows the bracket of an array.
func (r *reader) array(i, depth int) int {
	b := r.b
	if i = space(b, i); i < len(b) && b[i] == ']' {
		return i + 1
	}
	if depth > maxNesting {
		return -1
	}
	for {
		if i = r.value(i, depth); i < 0 {
			return -1
		}
		var more bool
		if i, more = next(b, i, ']'); !more {
			return i
		}
	}
}

// next reads what follows a value inside an object or an array, and reports
// whether that is another one, which begins at the index. Otherwise that is the
// one behind the end, or -1.
func next(b []byte, i int, end byte) (int, bool) {
	if i < len(b) && b[i] <= ' ' {
		i = space(b, i)
	}
	if i >= len(b) {
		return -1, false
	}
	switch b[i] {
	case ',':
		if i++; i < len(b) && b[i] <= ' ' {
			i = space(b, i)
		}
		return i, true
	case end:
		return i + 1, false
	}
	return -1, false
}

// colon reads what stands between a name and its value, -1 if it is none.
func colon(b []byte, i int) int {
	if i < len(b) && b[i] <= ' ' {
		i = space(b, i)
	}
	if i >= len(b) || b[i] != ':' {
		return -1
	}
	if i++; i < len(b) && b[i] <= ' ' {
		i = space(b, i)
	}
	return i
}

// name reads a member's name with its quotes, if it has no escapes, and returns
// a hash of it.
func (r *reader) name(i int) (end int, hash uint64) {
	b := r.b
	if i >= len(b) || b[i] != '"' {
		return -1, 0
	}
	i++
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		if hit := special(x); hit != 0 {
			n := bits.TrailingZeros64(hit) &^ 7
			if i += n / 8; b[i] != '"' {
				return -1, 0
			}
			x &= 1<<n - 1
			r.letters |= x
			return i + 1, mix(hash, x)
		}
		r.letters |= x
		hash = mix(hash, x)
	}
	var x uint64 // fewer than eight bytes are left
	for n := 0; i < len(b); n += 8 {
		c := b[i]
		i++
		if c == '"' {
			r.letters |= x
			return i, mix(hash, x)
		}
		if !plain[c] {
			break
		}
		x |= uint64(c) << n
	}
	return -1, 0
}

func mix(hash, x uint64) uint64 {
	hash = (hash ^ x) * 0x9e3779b97f4a7c15
	return hash ^ hash>>29
}

// quoted reads what follows the quote of a string.
func (r *reader) quoted(i int) int {
	b, letters := r.b, uint64(0)
	for {
		for i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			letters |= x
			if hit := special(x); hit != 0 {
				i += bits.TrailingZeros64(hit) / 8
				break
			}
			i += 8
		}
		for i < len(b) && plain[b[i]] {
			letters |= uint64(b[i])
			i++
		}
		if i >= len(b) || b[i] < ' ' {
			return -1
		}
		if b[i] == '"' {
			r.letters |= letters
			return i + 1
		}
		if i = escape(b, i+1); i < 0 {
			return -1
		}
	}
}

// escape reads what follows a backslash.
func escape(b []byte, i int) int {
	switch {
	case i >= len(b):
		return -1
	case b[i] != 'u':
		if unescape[b[i]] == 0 {
			return -1
		}
		return i + 1
	case i+5 > len(b) || !isHex(b[i+1]) || !isHex(b[i+2]) || !isHex(b[i+3]) || !isHex(b[i+4]):
		return -1
	}
	return i + 5
}

// literal reads one of the three words.
func literal(b []byte, i int, word string) int {
	if end := i + len(word); end <= len(b) && string(b[i:end]) == word {
		return end
	}
	return -1
}

// number reads a number.
func number(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	from := i
	if i = digits(b, i); i == from || b[from] == '0' && i > from+1 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		from = i + 1
		if i = digits(b, from); i == from {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		from = i
		if i = digits(b, i); i == from {
			return -1
		}
	}
	return i
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' < 10 {
		i++
	}
	return i
}
