package filter

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// This is a slow and simple reference implementation of the search of a payload: each
// view is built and folded as a whole, and searched by trying each position.

// slowFound reports whether a text, in which a star stands for anything if it
// is a glob, is found in any view of a payload.
func slowFound(text string, isGlob bool, payload string) bool {
	parts := []string{text}
	if isGlob {
		parts = strings.Split(text, "*")
	}
	for range 3 {
		if slowInOrder(parts, slowFold(payload)) {
			return true
		}
		payload = slowUnescape(payload)
	}
	return false
}

func slowInOrder(parts []string, folded []rune) bool {
	for _, part := range parts {
		want := slowFold(part)
		for len(folded) >= len(want) && !slices.Equal(folded[:len(want)], want) {
			folded = folded[1:]
		}
		if len(folded) < len(want) {
			return false
		}
		folded = folded[len(want):]
	}
	return true
}

// slowFold replaces each character by the smallest of those that differ only by case.
// Invalid UTF-8 equals nothing in a query.
func slowFold(s string) (folded []rune) {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			folded = append(folded, -1)
			i++
			continue
		}
		least := r
		for x := unicode.SimpleFold(r); x != r; x = unicode.SimpleFold(x) {
			least = min(least, x)
		}
		folded = append(folded, least)
		i += n
	}
	return folded
}

func slowUnescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := slowEscape(s[i:])
		if n == 0 {
			b.WriteByte(s[i])
			i++
			continue
		}
		i += n
		if utf16.IsSurrogate(r) {
			low, n := slowEscape(s[i:])
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				i += n
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}

// slowEscape reads the escape that s begins with; n is its length, 0 if there is none.
func slowEscape(s string) (r rune, n int) {
	if len(s) < 2 || s[0] != '\\' {
		return 0, 0
	}
	if i := strings.IndexByte(`"\/bfnrt`, s[1]); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), 2
	}
	if s[1] != 'u' || len(s) < 6 {
		return 0, 0
	}
	v, err := strconv.ParseUint(s[2:6], 16, 16)
	if err != nil {
		return 0, 0
	}
	return rune(v), 6
}
