package jsonrpc

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A Value is the JSON text of a value in a frame, nil when it is absent. It is neither
// copied nor checked. Where it is not JSON, reading it ends.
type Value []byte

// cutOff is the class of a string, a number or a word that is cut off.
const cutOff = '?'

// Class is the first byte of the value, '0' for a number, and 0 for nothing.
func (v Value) Class() byte {
	switch {
	case v == nil:
		return 0
	case len(v) == 0:
		return cutOff
	case v[0] == '-' || v[0]-'0' < 10:
		return '0'
	}
	return v[0]
}

// IsObject reports whether the value is an object.
func (v Value) IsObject() bool { return v.Class() == '{' }

// IsArray reports whether the value is an array.
func (v Value) IsArray() bool { return v.Class() == '[' }

// IsTrue reports whether the value is true.
func (v Value) IsTrue() bool { return string(v) == "true" }

// Each calls f for the members of an object, with their names decoded, for the
// elements of an array, or for the value alone if it is neither, until f
// returns false. What f is given is valid during the call. Where the value is cut
// off, so is the last value that f is given: a string, a number or a word is empty
// then.
func (v Value) Each(f func(name []byte, value Value) bool) {
	if len(v) == 0 {
		return
	}
	object := v[0] == '{'
	if !object && v[0] != '[' {
		f(nil, v)
		return
	}
	for i := skipSpace(v, 1); i < len(v) && v[i] != '}' && v[i] != ']'; {
		var name []byte
		if object {
			if i, name = nameIn(v, i); i == len(v) {
				return
			}
		}
		from := i
		i = skipValue(v, i)
		switch {
		case i == from:
			return // broken
		case i == len(v) && v[from] != '{' && v[from] != '[':
			f(name, v[from:from:from])
			return
		case !f(name, v[from:i:i]):
			return
		}
		if i = skipSpace(v, i); i == len(v) || v[i] != ',' {
			return
		}
		i = skipSpace(v, i+1)
	}
}

// Get follows names from object to object. Of two members of one name the last
// counts, as it does for [Peek].
func (v Value) Get(names ...string) Value {
	for _, name := range names {
		if !v.IsObject() {
			return nil
		}
		var found Value
		v.Each(func(n []byte, value Value) bool {
			if string(n) == name {
				found = value
			}
			return true
		})
		v = found
	}
	return v
}

// Text is the value as words: a string decoded, "" for null, anything else as it
// stands. It is cut beyond what [Bound] keeps.
func (v Value) Text() string {
	switch v.Class() {
	case 0, 'n':
		return ""
	case '"':
		return v.Decoded()
	}
	return v.raw()
}

// raw is the JSON text, cut as by Text.
func (v Value) raw() string { return string(clip(v, textLimit)) }

// textLimit leaves the character at which [Bound] cuts.
const textLimit = MaxSubject + utf8.UTFMax

// Decoded is a string, cut as by Text; "" for any other value.
func (v Value) Decoded() string {
	const longest = len(`\u0000`) // what one byte may take
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	if head := clip(v, 1+textLimit); !escaped(head) {
		return unquote(head)
	}
	return clipped(unquote(clip(v, longest*textLimit)))
}

// clipped cuts a string at textLimit.
func clipped(s string) string {
	if len(s) > textLimit {
		return s[:textLimit]
	}
	return s
}

// trimJSON cuts off white space on both sides.
func trimJSON(b []byte) []byte { return bytes.Trim(b, " \t\r\n") }

// skipSpace returns the index of the first byte from i on that is not white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// nameIn reads the name of the member that begins at i, decoded. It returns the
// index of the value, or len(b) if there is none.
func nameIn(b []byte, i int) (value int, name []byte) {
	if b[i] != '"' {
		return len(b), nil
	}
	end := skipString(b, i)
	colon := skipSpace(b, end)
	if colon == len(b) || b[colon] != ':' {
		return len(b), nil
	}
	if name = b[i+1 : end-1]; escaped(name) {
		name = []byte(unquote(b[i:end]))
	}
	return skipSpace(b, colon+1), name
}

// skipValue returns the index behind the value that begins at i.
func skipValue(b []byte, i int) int {
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

// skipString returns the index behind the string that begins at i: behind the
// first quote that has an even number of backslashes before it.
func skipString(b []byte, i int) int {
	for i++; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			break
		}
		end := i + n
		from := end
		for from > i && b[from-1] == '\\' {
			from--
		}
		if i = end + 1; (end-from)%2 == 0 {
			return i
		}
	}
	return len(b)
}

// escaped reports whether a string's body holds an escape.
func escaped(body []byte) bool { return bytes.IndexByte(body, '\\') >= 0 }

// unquote decodes a JSON string token that a lexer accepted. The end may have
// been cut off, closing quote included; an escape that was cut is dropped. A
// lone surrogate becomes U+FFFD; bytes that are not UTF-8 stay as they are.
func unquote(token []byte) string {
	if len(token) == 0 {
		return ""
	}
	body := token[1:]
	if !escaped(body) {
		if n := len(body); n > 0 && body[n-1] == '"' {
			body = body[:n-1]
		}
		return string(body)
	}
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); {
		switch c := body[i]; {
		case c == '"':
			return string(out)
		case c != '\\':
			out = append(out, c)
			i++
		case i+1 < len(body) && body[i+1] != 'u':
			out = append(out, unescape[body[i+1]])
			i += 2
		case i+6 <= len(body):
			r := hex4(body[i+2:])
			i += 6
			if utf16.IsSurrogate(r) {
				var low rune = -1
				if i+6 <= len(body) && body[i] == '\\' && body[i+1] == 'u' {
					low = hex4(body[i+2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			return string(out)
		}
	}
	return string(out)
}

var unescape = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// hex4 reads the four digits of \uXXXX.
func hex4(b []byte) rune {
	n, err := strconv.ParseUint(string(b[:4]), 16, 32)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}
