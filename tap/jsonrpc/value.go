package jsonrpc

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/jsontree"
)

// A Value is the JSON text of a value in a frame, nil if it is absent. It points into
// the frame and may be invalid JSON: reading stops at the first error.
type Value []byte

// cutOff is the class of a string, a number or a word that is cut off.
const cutOff = '?'

// Class returns the first byte of the value, '0' for a number, and 0 if it is absent.
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

// Each yields the members of an object with their decoded names, the elements of an
// array, or the value itself if it is neither. If the text is cut off, so is the last
// value; a string, a number or a word is then empty.
func (v Value) Each(yield func(name []byte, value Value) bool) {
	if len(v) == 0 {
		return
	}
	object := v[0] == '{'
	if !object && v[0] != '[' {
		yield(nil, v)
		return
	}
	for i := skipSpace(v, 1); i < len(v) && v[i] != '}' && v[i] != ']'; {
		var name []byte
		if object {
			if i, name = readName(v, i); i == len(v) {
				return
			}
		}
		from := i
		i = skipValue(v, i)
		switch {
		case i == from:
			return // invalid JSON
		case i == len(v) && v[from] != '{' && v[from] != '[':
			yield(name, v[from:from:from])
			return
		case !yield(name, v[from:i:i]):
			return
		}
		if i = skipSpace(v, i); i == len(v) || v[i] != ',' {
			return
		}
		i = skipSpace(v, i+1)
	}
}

// Get follows names from object to object. Of two members with one name the last
// counts, as it does for [Peek].
func (v Value) Get(names ...string) Value {
	for _, name := range names {
		v = v.get(name)
	}
	return v
}

func (v Value) get(name string) (found Value) {
	if !v.IsObject() {
		return nil
	}
	for n, value := range v.Each {
		if string(n) == name {
			found = value
		}
	}
	return found
}

// pair returns the members of an object with two names; of several with one name the last.
func (v Value) pair(a, b string) (x, y Value) {
	if !v.IsObject() {
		return nil, nil
	}
	for name, value := range v.Each {
		switch string(name) {
		case a:
			x = value
		case b:
			y = value
		}
	}
	return x, y
}

// Members returns those members of an object that have one of the names. Of two with one
// name the last counts.
func (v Value) Members(names ...string) map[string]Value {
	if !v.IsObject() {
		return nil
	}
	found := map[string]Value{}
	for name, value := range v.Each {
		if slices.Contains(names, string(name)) {
			found[string(name)] = value
		}
	}
	return found
}

// Text returns a string decoded, "" for null, and the JSON text of any other value. It
// is cut to little more than [Bound] keeps.
func (v Value) Text() string {
	switch v.Class() {
	case 0, 'n':
		return ""
	case '"':
		return v.Decoded()
	}
	return v.raw()
}

// raw returns the JSON text, cut as by Text.
func (v Value) raw() string { return string(clip(v, textLimit)) }

// textLimit is enough for [Bound] to cut between two characters.
const textLimit = MaxSubject + utf8.UTFMax

// Decoded returns a string, cut as by Text, and "" for any other value.
func (v Value) Decoded() string {
	if v.Class() != '"' {
		return ""
	}
	s := unquote(clip(v, 1+len(`\u0000`)*textLimit)) // one byte may be written as an escape
	return s[:min(len(s), textLimit)]
}

func clip(b []byte, n int) []byte { return b[:min(len(b), n)] }

// trimJSON trims white space.
func trimJSON(b []byte) []byte { return bytes.Trim(b, " \t\r\n") }

// skipSpace returns the index of the first byte from i on that is not white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// readName reads the name of the member that begins at i. It returns the index of the
// value, or len(b) if there is none.
func readName(b []byte, i int) (value int, name []byte) {
	if b[i] != '"' {
		return len(b), nil
	}
	end := skipString(b, i)
	colon := skipSpace(b, end)
	if colon == len(b) || b[colon] != ':' {
		return len(b), nil
	}
	if name = b[i+1 : end-1]; bytes.IndexByte(name, '\\') >= 0 {
		name = []byte(unquote(b[i:end]))
	}
	return skipSpace(b, colon+1), name
}

// skipValue returns the index after the value that begins at i.
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

// skipNested returns the index after the object or array that begins at i.
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

// skipString returns the index after the string that begins at i: after the first quote
// with an even number of backslashes before it.
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

// unquote decodes a JSON string. It may be cut off; an escape that is cut off is dropped.
// A lone surrogate becomes U+FFFD, and bytes that are not UTF-8 are unchanged.
func unquote(token []byte) string {
	if len(token) == 0 {
		return ""
	}
	var out []byte
	for rest := token[1:]; ; {
		i := bytes.IndexAny(rest, `"\`)
		if i < 0 {
			return string(append(out, rest...))
		}
		if out == nil && rest[i] == '"' { // the usual string, without an escape
			return string(rest[:i])
		}
		out = append(out, rest[:i]...)
		r, n := Unescape(rest[i:])
		if n == 0 { // the closing quote, or an escape that is cut off
			return string(out)
		}
		out, rest = utf8.AppendRune(out, r), rest[i+n:]
	}
}

// Unescape decodes the escape of a JSON string (RFC 8259, section 7) that b begins with,
// and returns its length; n is 0 if there is none. A surrogate pair is one escape, and a
// lone surrogate is U+FFFD.
func Unescape(b []byte) (r rune, n int) {
	r, n = unescapeUnit(b)
	if utf16.IsSurrogate(r) {
		low, more := unescapeUnit(b[n:])
		if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
			n += more
		}
	}
	return r, n
}

func unescapeUnit(b []byte) (r rune, n int) {
	if len(b) < 2 || b[0] != '\\' {
		return 0, 0
	}
	if i := bytes.IndexByte([]byte(`"\/bfnrt`), b[1]); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), 2
	}
	if b[1] == 'u' && len(b) >= 6 {
		if u, err := strconv.ParseUint(string(b[2:6]), 16, 16); err == nil {
			return rune(u), 6
		}
	}
	return 0, 0
}

// keySize is the maximum number of bytes of a value that [AppendKey] appends. It appends
// the hash of a longer one: a requestState may have any length.
const keySize = 64

// AppendKey appends a key of a JSON value that is the same for equal values of one type,
// and nothing for one that is absent or null: `"a"` and `"\u0061"` have the same key, `1`
// and `"1"` do not. Numbers are compared by their exact decimal value, so `1`, `1.0` and
// `1e0` have the same key: a JavaScript peer that reads `1.0` can only answer `1`. No
// float is involved: 9007199254740993 and 9007199254740992 differ.
func AppendKey(dst, raw []byte) []byte {
	class, word := Value(raw).Class(), raw
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return dst
	case class == '0' && len(raw) <= keySize:
		return jsontree.AppendDecimal(append(dst, '0'), raw)
	case class == '0':
		class = raw[0]
	case class == '"':
		// A lone surrogate or a byte that is not UTF-8 differs from U+FFFD.
		if s := []byte(unquote(raw)); bytes.Contains(s, []byte("\ufffd")) && bytes.IndexByte(raw, '\\') >= 0 {
			class = '\\'
		} else {
			word = s
		}
	}
	if len(word) > keySize {
		sum := sha256.Sum256(word)
		return append(append(dst, 'h', class), sum[:]...)
	}
	return append(append(dst, class), word...)
}
