// Package printable makes what strangers wrote fit to stand in a text that a
// person reads: on a terminal, in a file, in a JSON string. It is pure.
package printable

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Hazard reports whether a character must not reach a terminal as it is: it
// moves the cursor, changes the terminal's state, reorders what stands around
// it, or cannot be seen.
func Hazard(r rune) bool {
	switch { // what is common comes first
	case r < 0x7f:
		return r < 0x20
	case r > 0x9f && r < 0x034f:
		return r == 0xad // soft hyphen
	case r > 0x3164 && r < 0xd800:
		return false
	}
	switch {
	case r <= 0x9f, // DEL and C1: 0x9b is a CSI of its own
		r == 0x034f,              // combining grapheme joiner
		r == 0x061c,              // Arabic letter mark
		r == 0x115f, r == 0x1160, // Hangul fillers
		r == 0x17b4, r == 0x17b5, // Khmer inherent vowels
		r >= 0x180b && r <= 0x180f, // Mongolian selectors
		r >= 0x200b && r <= 0x200f, // zero-width, LRM, RLM
		r >= 0x2028 && r <= 0x202e, // line and paragraph separator, bidi
		r >= 0x2060 && r <= 0x206f, // word joiner, bidi isolates
		r == 0x3164, r == 0xffa0,   // more fillers
		r == 0xfeff,                                  // byte order mark
		r >= 0xfff9 && r <= 0xfffb,                   // interlinear annotation
		r >= 0x1d173 && r <= 0x1d17a,                 // musical controls
		r >= 0xe0000 && r <= 0xe0fff,                 // tags: text nobody sees
		r >= 0xd800 && r <= 0xdfff, r > utf8.MaxRune: // none of Unicode
		return true
	}
	return false
}

// ASCII returns how many leading bytes of b are ASCII that stands for itself in a
// JSON string, as nearly all bytes do: so they can go in one piece.
func ASCII(b []byte) int {
	for i, c := range b {
		if c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			return i
		}
	}
	return len(b)
}

// Escape returns s as one line that is safe on a terminal: every hazard is
// spelled out, as Go would.
func Escape(s string) string {
	if Clean(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case Hazard(r):
			b.WriteString(EscapeRune(r))
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// EscapeRune spells one character out, as Go would.
func EscapeRune(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// Clean reports whether s is UTF-8 without hazards: [Escape] would leave it as
// it is.
func Clean(s string) bool {
	for i := 0; i < len(s); {
		if c := s[i]; c >= 0x20 && c < 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || Hazard(r) {
			return false
		}
		i += n
	}
	return true
}
