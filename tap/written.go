package tap

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// A written is a JSON value as it stands in a frame that was checked to be JSON;
// nil when it is absent. What is read of it is not copied and not checked again.
type written []byte

// isObject and isArray report what the value is.
func (v written) isObject() bool { return len(v) > 0 && v[0] == '{' }
func (v written) isArray() bool  { return len(v) > 0 && v[0] == '[' }

// isTrue reports whether the value is true.
func (v written) isTrue() bool { return string(v) == "true" }

// each calls f for the members of an object, with their names decoded, for the
// elements of an array, or for the value alone if it is neither, until f
// returns false. What f is given is valid during the call.
func (v written) each(f func(name []byte, value written) bool) {
	if len(v) == 0 {
		return
	}
	end := byte(']')
	switch v[0] {
	case '{':
		end = '}'
	case '[':
	default:
		f(nil, v)
		return
	}
	for i, more := space(v, 1), true; more && i < len(v) && v[i] != end; {
		var name []byte
		if end == '}' {
			if i, name = nameIn(v, i); i < 0 {
				return
			}
		}
		from := i
		if i = skipValue(v, i); i == from || !f(name, v[from:i:i]) {
			return
		}
		i, more = next(v, i, end)
	}
}

// get follows names from object to object. Of two members of one name the last
// counts, as it does for [Peek].
func (v written) get(names ...string) written {
	for _, name := range names {
		if !v.isObject() {
			return nil
		}
		var found written
		v.each(func(n []byte, value written) bool {
			if string(n) == name {
				found = value
			}
			return true
		})
		v = found
	}
	return v
}

// text is the value as words: a string decoded, "" for null, anything else as it
// stands. It is cut, beyond what [bound] looks at.
func (v written) text() string {
	switch {
	case len(v) == 0 || v[0] == 'n':
		return ""
	case v[0] == '"':
		return v.decoded()
	}
	return v.raw()
}

// raw is the value as it stands, as text cuts it.
func (v written) raw() string { return string(clip(v, textLimit)) }

// textLimit leaves bound the character to cut at.
const textLimit = MaxSubject + utf8.UTFMax

// decoded is a string, as text cuts it; "" for any other value.
func (v written) decoded() string {
	const longest = len(`\u0000`) // of what a byte can be written as
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	if head := clip(v, 1+textLimit); !escaped(head) {
		return unquote(head)
	}
	return clipped(unquote(clip(v, longest*textLimit)))
}

// clipped bounds a part of a subject, and leaves bound the character to cut at.
func clipped(s string) string {
	if len(s) > textLimit {
		return s[:textLimit]
	}
	return s
}

// nameIn reads the member's name at b[i], decoded, and the colon behind it.
func nameIn(b []byte, i int) (value int, name []byte) {
	end := skipPlain(b, i+1)
	if end < len(b) && b[end] == '"' {
		return colon(b, end+1), b[i+1 : end]
	}
	end = skipString(b, i)
	return colon(b, end), []byte(unquote(b[i:end]))
}

// skipValue returns the index behind the value that begins at i.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	for i < len(b) && b[i] > ' ' && b[i] != ',' && b[i] != '}' && b[i] != ']' {
		i++
	}
	return i
}

// skipNested returns the index behind the object or array that begins at i.
func skipNested(b []byte, i int) int {
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			i = skipString(b, i)
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
	return len(b)
}

// skipString returns the index behind the string that begins at i.
func skipString(b []byte, i int) int {
	i++
	for i < len(b) {
		if i+8 <= len(b) {
			hit := special(binary.LittleEndian.Uint64(b[i:]))
			if hit == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(hit) / 8
		}
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
		i++
	}
	return len(b)
}
