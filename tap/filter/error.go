package filter

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/term/escape"
)

// An Error is an error in a query. The strings that it returns may be sent to a
// terminal: control characters, and characters that hide or reorder others, are
// escaped.
type Error struct {
	// Query is the query.
	Query string
	// Pos is the offset of the wrong part in bytes, Len its length; 0 if something
	// is missing.
	Pos, Len int
	// Problem is what is wrong, Help how to correct it.
	Problem, Help string
}

// Error returns the problem, its column in characters from 1, and the help, in one
// line.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s at column %d", e.Problem, utf8.RuneCountInString(e.Query[:e.Pos])+1)
	if e.Help != "" {
		s += ": " + e.Help
	}
	return s
}

// Caret returns two lines: the query, or the part around the error if it is long,
// and carets under the wrong part.
func (e *Error) Caret() string {
	const around = 60 // bytes on each side
	from, to := max(0, e.Pos-around), min(len(e.Query), e.Pos+around)
	for from > 0 && !utf8.RuneStart(e.Query[from]) {
		from--
	}
	for to < len(e.Query) && !utf8.RuneStart(e.Query[to]) {
		to++
	}
	end := min(e.Pos+e.Len, to)
	before, wrong, after := escape.String(e.Query[from:e.Pos]), escape.String(e.Query[e.Pos:end]), escape.String(e.Query[end:to])
	if from > 0 {
		before = "…" + before
	}
	if to < len(e.Query) {
		after += "…"
	}
	return before + wrong + after + "\n" + strings.Repeat(" ", width(before)) + strings.Repeat("^", max(1, width(wrong)))
}

// width returns the approximate number of columns of an escaped text.
func width(s string) (n int) {
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana),
			r >= 0x3000 && r <= 0x303e, r >= 0xff01 && r <= 0xff60, r >= 0x1f300 && r <= 0x1faff:
			n += 2
		default:
			n++
		}
	}
	return n
}

// shown returns a part of a query for a message, in quotes.
func shown(s string) string { return `"` + escape.String(shortened(s)) + `"` }

// literal returns the value that means s.
func literal(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

const maxShown = 60 // bytes of a query in a message

// toQuote returns the value that means s, for a message.
func toQuote(s string) string {
	if len(s) > maxShown {
		return `"…"`
	}
	return escape.String(literal(s))
}

// shortened cuts a long text.
func shortened(s string) string {
	if len(s) <= maxShown {
		return s
	}
	n := maxShown
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
