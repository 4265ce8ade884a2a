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

// Markdown writes a report for a comment on a change. What was recorded stands
// in code only, where no markup, no link and no mention means anything.
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
	m.block("text", []string{wrap(r.Summary)})
	if s.Fails {
		verdict := "passed"
		if r.AtLeast(s.FailOn) > 0 {
			verdict = "**failed**"
		}
		m.printf("\nThe comparison %s: it fails from %s on.\n", verdict, s.FailOn)
	}
	m.sides(r)
	for c := int(diff.Classes) - 1; c >= 0; c-- {
		m.class(r, diff.Class(c))
	}
}

// sides describes both sessions in a table.
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

// class lists the differences of a class.
func (m *markdown) class(r *diff.Report, c diff.Class) {
	if r.Counts[c] == 0 {
		return
	}
	m.printf("\n### %s (%d)\n\n", titles[c], r.Counts[c])
	for i := range r.Differences {
		if d := &r.Differences[i]; d.Class == c {
			m.difference(d)
		}
	}
	if left := r.Left[c]; left > 0 {
		m.printf("- and %d more\n", left)
	}
}

// titles are what the classes are called over a list of differences.
var titles = [diff.Classes]string{
	diff.Breaking: "Breaking", diff.Behaviour: "Behaviour", diff.Expected: "Expected by the revision", diff.Timing: "Timing", diff.Cosmetic: "Cosmetic",
}

// difference writes one. Numbers of frames stand in code as well: a # and a number
// is a link to something else on most sites.
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
		m.indented("diff", lines)
	}
}

func (m *markdown) unpaired(s *Set) {
	for _, u := range s.Unpaired {
		which := "first"
		if u.Second {
			which = "second"
		}
		m.printf("\nOnly the %s directory has %s.\n", which, code(u.Name))
	}
}

// block writes lines as they are, between fences that none of them can end.
func (m *markdown) block(language string, lines []string) {
	f := fence(lines)
	m.printf("%s%s\n%s\n%s\n", f, language, strings.Join(lines, "\n"), f)
}

func (m *markdown) indented(language string, lines []string) {
	f := fence(lines)
	m.printf("  %s%s\n", f, language)
	for _, l := range lines {
		m.printf("  %s\n", l)
	}
	m.printf("  %s\n", f)
}

// fence is longer than any run of its character in the lines.
func fence(lines []string) string {
	longest := 2
	for _, l := range lines {
		longest = max(longest, longestRun(l, '`'))
	}
	return strings.Repeat("`", longest+1)
}

func longestRun(s string, c byte) (longest int) {
	run := 0
	for i := range len(s) {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// code is a text as code within a line.
func code(s string) string {
	s = escape.Escape(s)
	if strings.TrimSpace(s) == "" {
		return "` `"
	}
	ticks := strings.Repeat("`", longestRun(s, '`')+1)
	if s[0] == '`' || s[len(s)-1] == '`' || s[0] == ' ' {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// cell is code in a table, which a | would end even there.
func cell(s string) string {
	if s == "" {
		return ""
	}
	return strings.ReplaceAll(code(short(s, 120)), "|", `\|`)
}

// plainText is our own words, with what they quote kept from being markup.
func plainText(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "<", `\<`, "@", `\@`, "\n", " ").Replace(escape.Escape(s))
}

// wrap breaks a sentence into lines, escaped.
func wrap(s string) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(escape.Escape(s)) {
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
