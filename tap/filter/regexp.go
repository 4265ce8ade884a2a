package filter

import (
	"errors"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

func parseRegexp(s string) (*syntax.Regexp, error) { return syntax.Parse(s, syntax.Perl) }

// badRegexp says where in the query a regular expression is wrong, in the words
// of package regexp.
func (p *parser) badRegexp(v *value, err error) *Error {
	from, to := v.from+strings.IndexByte(p.q[v.from:v.to], '/')+1, v.to-1
	problem, help := "bad regular expression", `a backslash before a character makes it literal, and "…" a whole text`
	var bad *syntax.Error
	if errors.As(err, &bad) {
		problem += ": " + bad.Code.String()
		if i := strings.Index(p.q[from:to], bad.Expr); i >= 0 && bad.Expr != "" {
			from, to = from+i, from+i+len(bad.Expr)
		}
		switch bad.Code {
		case syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape:
			help = "RE2 has no look-around and no references back, see https://golang.org/s/re2syntax"
		case syntax.ErrInvalidRepeatSize, syntax.ErrLarge, syntax.ErrNestingDepth:
			help = "repeat less: 1000 times is the most"
		}
	}
	return p.wrong(from, to, problem, help)
}

// shortLiteral is the length in bytes below which a text is no help.
const shortLiteral = 3

// required returns texts one of which, in whatever case, every match of a
// regular expression contains. It returns none if it finds none.
func required(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		s := string(re.Rune)
		// The regular expression takes bytes that are no UTF-8 for U+FFFD.
		if len(s) >= shortLiteral && !strings.ContainsRune(s, utf8.RuneError) {
			return []string{s}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if r := required(sub); r != nil && (best == nil || shortest(r) > shortest(best)) {
				best = r
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			r := required(sub)
			if r == nil {
				return nil
			}
			all = append(all, r...)
		}
		return all
	}
	return nil
}

func shortest(texts []string) int {
	n := len(texts[0])
	for _, s := range texts[1:] {
		n = min(n, len(s))
	}
	return n
}
