package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap/session"
)

// Markdown writes a report for a review comment. Recorded text appears only in code spans and
// code blocks, where markup, links and mentions have no effect.
func Markdown(w io.Writer, s *Set) error {
	var m markdown
	for i, r := range s.Reports {
		if i > 0 {
			m.printf("\n")
		}
		m.report(r, s)
	}
	m.unpaired(s)
	_, err := w.Write(m.Bytes())
	return err
}

type markdown struct{ bytes.Buffer }

func (m *markdown) printf(format string, args ...any) { fmt.Fprintf(m, format, args...) }

func (m *markdown) report(r *diff.Report, s *Set) {
	m.printf("## %s → %s\n\n", code(r.A.Name), code(r.B.Name))
	m.block("", "text", []string{wrap(r.Summary)})
	if s.Fails {
		verdict := "passed"
		if r.AtLeast(s.FailOn) > 0 {
			verdict = "**failed**"
		}
		m.printf("\nThe comparison %s. It fails if there are differences of class %s or worse.\n", verdict, s.FailOn)
	}
	m.sides(r)
	for c := int(diff.Classes) - 1; c >= 0; c-- {
		m.class(r, diff.Class(c))
	}
}

// sides writes a table of both sessions.
func (m *markdown) sides(r *diff.Report) {
	m.printf("\n| | session | revision | server | client | calls |\n|---|---|---|---|---|---|\n")
	for i, s := range []*diff.Side{&r.A, &r.B} {
		m.printf("| %c | %s | %s | %s | %s | %d |\n", 'A'+i, cell(s.Name), cell(Revision(s)), cell(party(s.Server)), cell(party(s.Client)), s.Calls)
	}
	for i, s := range []*diff.Side{&r.A, &r.B} {
		if s.Lacks != "" {
			m.printf("\n%c is not complete: %s\n", 'A'+i, code(s.Lacks))
		}
	}
}

func party(p session.Party) string { return strings.TrimSpace(p.Name + " " + p.Version) }

// class writes the differences of a class.
func (m *markdown) class(r *diff.Report, c diff.Class) {
	if r.Counts[c] == 0 {
		return
	}
	m.printf("\n### %s (%d)\n\n", titles[c], r.Counts[c])
	for _, call := range ByCall(r, c) {
		for _, d := range call.Differences {
			m.difference(d)
		}
	}
	if left := r.Left[c]; left > 0 {
		m.printf("- and %d more\n", left)
	}
}

// titles are the headings of the classes.
var titles = [diff.Classes]string{
	diff.Breaking: "Breaking", diff.Behaviour: "Behaviour", diff.Expected: "Expected by the revision", diff.Timing: "Timing", diff.Cosmetic: "Cosmetic",
}

// difference writes a difference. Frame numbers are code spans too, because most websites turn #
// and a number into a link.
func (m *markdown) difference(d *diff.Difference) {
	head := []string{code(CallOf(d))}
	if n := Numbers(d); n != "" {
		head = append(head, code(n))
	}
	if l := Location(d); l != "" {
		head = append(head, code(l))
	}
	m.printf("- %s: %s", strings.Join(head, " "), code(Means(d)))
	if d.Reason != "" {
		reason := plainText(d.Reason)
		if strings.Contains(reason, "#") {
			reason = code(d.Reason)
		}
		m.printf(" (%s", reason)
		if url := pageURL(d.Page); url != "" {
			m.printf(", [%s](%s)", d.Page, url)
		}
		m.printf(")")
	}
	if t := Times(d); t != "" {
		m.printf("; %s", code(t))
	}
	m.printf("\n")
	var lines []string
	for _, l := range Lines(d) {
		lines = append(lines, l.String())
	}
	if len(lines) > 0 {
		m.block("  ", "diff", lines)
	}
}

func (m *markdown) unpaired(s *Set) {
	for _, u := range s.Unpaired {
		m.printf("\nOnly the %s directory has %s.\n", u.directory(), code(u.Name))
	}
}

// block writes lines as a code block, with a fence longer than any run of backticks in it.
func (m *markdown) block(indent, language string, lines []string) {
	text := strings.Join(lines, "\n"+indent)
	fence := indent + strings.Repeat("`", max(3, longestRun(text)+1))
	m.printf("%s%s\n%s%s\n%s\n", fence, language, indent, text, fence)
}

// longestRun returns the length of the longest run of backticks.
func longestRun(s string) (n int) {
	for strings.Contains(s, strings.Repeat("`", n+1)) {
		n++
	}
	return n
}

// code returns a text as a code span.
func code(s string) string {
	s = escape.String(s)
	if strings.TrimSpace(s) == "" {
		return "` `"
	}
	ticks := strings.Repeat("`", longestRun(s)+1)
	if s[0] == '`' || s[len(s)-1] == '`' || s[0] == ' ' {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// cell returns a text as a code span in a table, where | must be escaped.
func cell(s string) string {
	if s == "" {
		return ""
	}
	return strings.ReplaceAll(code(short(s, 120)), "|", `\|`)
}

// plainText escapes markup in a text by mcptap, which may quote recorded names.
func plainText(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "<", `\<`, "@", `\@`, "\n", " ").Replace(escape.String(s))
}

// wrap breaks a sentence into lines and escapes it.
func wrap(s string) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(escape.String(s)) {
		if column > 0 && column+len(word) > 110 {
			b.WriteByte('\n')
			column = 0
		} else if column > 0 {
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
