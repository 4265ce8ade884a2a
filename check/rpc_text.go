package check

import (
	"bytes"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// maxWalk limits the depth of a walk.
const maxWalk = 32

// A walk visits the values of a message, from the outside in.
type walk struct {
	steps [][]byte // names of members, nil for elements
	// number is called for each number, and twice for the first duplicate name in an object.
	// Both may be nil.
	number func(v jsonrpc.Value)
	twice  func(name []byte)
}

func (w *walk) value(v jsonrpc.Value) {
	switch v.Class() {
	case '0':
		if w.number != nil {
			w.number(v)
		}
	case '{', '[':
		if len(w.steps) < maxWalk {
			w.inside(v)
		}
	}
}

func (w *walk) inside(v jsonrpc.Value) {
	var seen map[string]bool
	if w.twice != nil && v.IsObject() {
		seen = make(map[string]bool, 8)
	}
	for name, inner := range v.Each {
		if seen[string(name)] {
			w.twice(name)
			seen = nil // only the first one
		} else if seen != nil {
			seen[string(name)] = true
		}
		w.steps = append(w.steps, name)
		w.value(inner)
		w.steps = w.steps[:len(w.steps)-1]
	}
}

// path returns the path of the current value, truncated if it is long.
func (w *walk) path() string {
	path := []byte("$")
	for _, name := range w.steps {
		switch {
		case name == nil:
			path = append(path, "[*]"...)
		case plainName.Match(name):
			path = append(append(path, '.'), name...)
		default:
			path = append(strconv.AppendQuote(append(path, '['), jsonrpc.Bound(string(name))), ']')
		}
		if len(path) > maxText {
			return cut(string(path))
		}
	}
	return string(path)
}

// plainName matches names that need no quotes in a path.
var plainName = regexp.MustCompile(`^[\w$-]+$`)

// loneSurrogate returns the first escape of an unpaired surrogate in a JSON text, or "".
func loneSurrogate(text []byte) string {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 || i+1 == len(text) {
			return ""
		}
		text = text[i:]
		r, n := jsonrpc.Unescape(text)
		if r == utf8.RuneError && n == len(`\ud83d`) && text[2]|0x20 == 'd' {
			return string(text[:n])
		}
		text = text[max(n, 1):]
	}
}

// notUTF8 returns the index of the first byte that is not UTF-8, or -1.
func notUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	i := 0
	for r, n := utf8.DecodeRune(text); r != utf8.RuneError || n != 1; r, n = utf8.DecodeRune(text[i:]) {
		i += n
	}
	return i
}

// hasLongNumber reports whether a text has 16 digits in a row.
func hasLongNumber(text []byte) bool {
	const long = 16
	for i := long - 1; i < len(text); i += long { // a run of 16 covers one of these indices
		if text[i]-'0' > 9 {
			continue
		}
		from, to := i, i+1
		for from > 0 && text[from-1]-'0' <= 9 {
			from--
		}
		for to < len(text) && text[to]-'0' <= 9 {
			to++
		}
		if to-from >= long {
			return true
		}
	}
	return false
}

// isUnsafe reports whether a number is an integer that a JavaScript peer changes: one outside
// -(2^53-1) to 2^53-1.
func isUnsafe(number jsonrpc.Value) bool {
	const limit = "9007199254740991"
	digits := bytes.TrimPrefix(number, []byte("-"))
	if bytes.ContainsAny(digits, ".eE") || len(digits) < len(limit) {
		return false
	}
	return len(digits) > len(limit) || string(digits) > limit
}
