package filter

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/term/escape"
)

// An Error says where a query is wrong, and what would be right. Its texts may
// be sent to a terminal: what the query has of control characters, or of
// characters that hide or reorder others, is spelled out.
type Error struct {
	// Query is the query as it was given.
	Query string
	// Pos and Len say which bytes of it are wrong. Len is 0 where something is
	// missing.
	Pos, Len int
	// Problem says what is wrong, Help what would be right.
	Problem, Help string
}

// Error returns the problem, its column (counted in characters, from 1) and
// the help, in one line.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s at column %d", e.Problem, utf8.RuneCountInString(e.Query[:e.Pos])+1)
	if e.Help != "" {
		s += ": " + e.Help
	}
	return s
}

// caretRoom is how many bytes of a query are shown on either side of an error.
const caretRoom = 60

// Caret returns two lines: the query, or what is around the error if it is
// long, and carets under what is wrong.
func (e *Error) Caret() string {
	from, to := max(0, e.Pos-caretRoom), min(len(e.Query), e.Pos+caretRoom)
	for from > 0 && !utf8.RuneStart(e.Query[from]) {
		from--
	}
	for to < len(e.Query) && !utf8.RuneStart(e.Query[to]) {
		to++
	}
	before, wrong, after := e.Query[from:e.Pos], e.Query[e.Pos:min(e.Pos+e.Len, to)], ""
	if end := e.Pos + e.Len; end < to {
		after = e.Query[end:to]
	}
	line := escape.Escape(before)
	if from > 0 {
		line = "…" + line
	}
	pad := strings.Repeat(" ", width(line))
	marks := strings.Repeat("^", max(1, width(escape.Escape(wrong))))
	line += escape.Escape(wrong) + escape.Escape(after)
	if to < len(e.Query) {
		line += "…"
	}
	return line + "\n" + pad + marks
}

// width is about how many columns of a terminal an escaped text takes.
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

// shown puts what was typed into a message.
func shown(s string) string { return `"` + escape.Escape(shortened(s)) + `"` }

// literal is the query that searches for s as it is.
func literal(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// toQuote says how to search for s as it is.
func toQuote(s string) string {
	const most = 60
	if len(s) > most {
		return `"…"`
	}
	return escape.Escape(literal(s))
}

// shortened cuts a long text.
func shortened(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	n := most
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
