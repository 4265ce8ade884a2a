// Package report writes the reports of package diff as text, as JSON for programs, as Markdown
// for review comments, as a self-contained HTML page, and as JUnit XML for build servers.
//
// Recorded text may be hostile. Every format escapes it, including characters that move the
// cursor, reorder the text around them or are invisible.
package report

import (
	"fmt"
	"strings"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Set is one comparison, or the comparisons of all recordings in two directories.
type Set struct {
	Reports []*diff.Report
	// Unpaired are the recordings or sessions that only one of the two sides has.
	Unpaired []Unpaired
	// If Fails is set, differences of class FailOn or higher are failures.
	FailOn diff.Class
	Fails  bool
}

// An Unpaired recording has no counterpart in the other directory.
type Unpaired struct {
	Second bool // it is in the second directory, else in the first
	Name   string
}

// directory is "first" or "second".
func (u *Unpaired) directory() string {
	if u.Second {
		return "second"
	}
	return "first"
}

// Failed reports whether there is a failure. A recording without a counterpart
// counts as a difference of behaviour.
func (s *Set) Failed() bool {
	if !s.Fails {
		return false
	}
	for _, r := range s.Reports {
		if r.AtLeast(s.FailOn) > 0 {
			return true
		}
	}
	return len(s.Unpaired) > 0 && s.FailOn <= diff.Behaviour
}

// pageURL returns the URL of a page of the specification, "" for no page.
func pageURL(page string) string {
	if page == "" {
		return ""
	}
	return "https://modelcontextprotocol.io/specification/" + page
}

// CallOf returns the escaped method and subject of the call of a difference, or "session" if it
// is in no call.
func CallOf(d *diff.Difference) string {
	if d.Method == "" {
		return "session"
	}
	return strings.TrimSpace(escape.String(d.Method + " " + short(d.Subject, subjectBytes)))
}

// subjectBytes is the maximum length of a subject.
const subjectBytes = 100

// Numbers returns the numbers of the first frames of the calls of a difference on both sides,
// such as "#5 | #7", or "" if there are none.
func Numbers(d *diff.Difference) string {
	if d.CallA.Seq == 0 && d.CallB.Seq == 0 {
		return numbers(d.A, d.B)
	}
	return numbers(d.CallA, d.CallB)
}

func numbers(a, b session.Ref) string {
	if a.Seq == 0 && b.Seq == 0 {
		return ""
	}
	return number(a) + " | " + number(b)
}

func number(r session.Ref) string {
	switch {
	case r.Seq == 0:
		return "–"
	case r.Index > 0:
		return fmt.Sprintf("#%d[%d]", r.Seq, r.Index)
	}
	return fmt.Sprintf("#%d", r.Seq)
}

// A CallPart holds consecutive differences of one class in one call.
type CallPart struct {
	// Call and Numbers are the results of [CallOf] and [Numbers].
	Call, Numbers string
	Differences   []*diff.Difference
}

// ByCall returns the reported differences of a class by call. Consecutive notifications of
// the same method that only one side has are folded into one difference, with the first
// [maxFolded] as its rows.
func ByCall(r *diff.Report, c diff.Class) (all []CallPart) {
	var last *diff.Difference
	for i := range r.Differences {
		d := &r.Differences[i]
		if d.Class != c {
			continue
		}
		if last != nil && folds(last, d) {
			part := &all[len(all)-1]
			last = fold(last, d)
			part.Differences[len(part.Differences)-1] = last
			continue
		}
		if call, n := CallOf(d), Numbers(d); len(all) == 0 || all[len(all)-1].Call != call || all[len(all)-1].Numbers != n {
			all = append(all, CallPart{Call: call, Numbers: n})
		}
		part := &all[len(all)-1]
		part.Differences = append(part.Differences, d)
		last = d
	}
	return all
}

// maxFolded is the number of folded notifications that are shown.
const maxFolded = 3

// folds reports whether two differences are notifications of the same method that the same side
// lacks, in the same call or in the session as a whole.
func folds(a, b *diff.Difference) bool {
	return a.In == diff.InNotification && b.In == a.In && a.Message == b.Message && (a.Kind == diff.Removed || a.Kind == diff.Added) && b.Kind == a.Kind &&
		a.What == b.What && a.Reason == b.Reason && a.By == b.By && a.Path == b.Path && len(a.Also)+len(b.Also) == 0 &&
		CallOf(a) == CallOf(b) && a.CallA == b.CallA && a.CallB == b.CallB
}

// fold returns a difference with another one added.
func fold(a, b *diff.Difference) *diff.Difference {
	row := func(d *diff.Difference) jsontree.Row {
		piece := []jsontree.Piece{{Text: d.Old + d.New, Differs: true}}
		if d.Kind == diff.Removed {
			return jsontree.Row{A: 1, Old: piece}
		}
		return jsontree.Row{B: 1, New: piece}
	}
	both := *a
	if both.Times += b.Times; len(a.Rows) == 0 {
		both.Rows = []jsontree.Row{row(a)}
	}
	if len(both.Rows) < maxFolded {
		both.Rows = append(both.Rows, row(b))
	} else {
		both.MoreRows++
	}
	return &both
}

// Location returns the escaped place of a difference in its call: the path, preceded by the
// method of the notification or the nested request.
func Location(d *diff.Difference) string {
	var parts []string
	if d.Message != "" {
		parts = append(parts, escape.String(d.Message))
	}
	switch d.In {
	case diff.InClientResponse:
		parts = append(parts, "client response")
	case diff.InCall:
		parts = append(parts, d.In.String())
	}
	if d.Path != "" && d.Path != "$.frame" {
		parts = append(parts, d.Path)
	}
	return strings.Join(parts, " ")
}

// Means returns an escaped description of a difference.
func Means(d *diff.Difference) string {
	words := d.Kind.String()
	switch {
	case d.Kind == diff.Slower || d.Kind == diff.Faster:
		words += ": " + d.Durations()
		if d.What != "" {
			words += ", " + d.What
		}
	case d.What != "":
		words = d.What
	}
	return escape.String(words)
}

// Times returns how many times and where else a difference occurs, or "" if it occurs once.
func Times(d *diff.Difference) string {
	if d.Times <= 1 {
		return ""
	}
	s := fmt.Sprintf("%d times", d.Times)
	for i, p := range d.Also {
		s += [...]string{", also ", ", "}[min(i, 1)] + numbers(p.A, p.B)
	}
	if int(d.Times)-1 > len(d.Also) && len(d.Also) > 0 {
		s += ", …"
	}
	return s
}

// short cuts a text to most bytes.
func short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// Revision returns the unescaped revision or dialect that a side uses, or "" if it is unknown.
func Revision(s *diff.Side) string {
	if s.Revision == jsonrpc.Dialect {
		return "dialect " + jsonrpc.Dialect002
	}
	return string(s.Revision)
}

// A Line is a line of a unified diff.
type Line struct {
	Op   byte             // '-', '+' or ' '
	Text []jsontree.Piece // escaped
}

// Rows returns the escaped values of both sides side by side: for long texts the lines that
// differ, otherwise one row with the excerpts. Old and New are nil on a side without a value, and
// equal if the row does not differ.
func Rows(d *diff.Difference) (all []jsontree.Row) {
	whole := func(text string, size int) []jsontree.Piece {
		if text == "" {
			return nil
		}
		return []jsontree.Piece{{Text: value(text, size), Differs: d.Kind != diff.Moved}}
	}
	if len(d.Rows) == 0 && (d.Old != "" || d.New != "") {
		all = []jsontree.Row{{Old: whole(d.Old, d.OldSize), New: whole(d.New, d.NewSize), Same: d.Kind == diff.Moved}}
	}
	for _, r := range d.Rows {
		row := jsontree.Row{A: r.A, B: r.B, Same: r.Same, Skipped: r.Skipped}
		if r.A > 0 {
			row.Old = escapePieces(r.Old)
		}
		if r.B > 0 {
			row.New = escapePieces(r.New)
		}
		all = append(all, row)
	}
	for i := range all {
		if all[i].Same {
			all[i].New = all[i].Old
		}
	}
	return all
}

// Lines returns the rows of a difference as a unified diff.
func Lines(d *diff.Difference) (lines []Line) {
	leftOut := func(format string, n int) Line {
		return Line{' ', []jsontree.Piece{{Text: fmt.Sprintf(format, n), LeftOut: n}}}
	}
	var old, now []Line
	flush := func() {
		lines = append(append(lines, old...), now...)
		old, now = nil, nil
	}
	for _, r := range Rows(d) {
		if r.Skipped > 0 || r.Same {
			flush()
		}
		if r.Skipped > 0 {
			lines = append(lines, leftOut("… %d lines are the same", r.Skipped))
		}
		if r.Same {
			lines = append(lines, Line{' ', r.Old})
			continue
		}
		if r.Old != nil {
			old = append(old, Line{'-', r.Old})
		}
		if r.New != nil {
			now = append(now, Line{'+', r.New})
		}
	}
	flush()
	if d.MoreRows > 0 {
		lines = append(lines, leftOut("… %d more lines", d.MoreRows))
	}
	return lines
}

// value returns an escaped excerpt of a value, with the full size if it was cut.
func value(excerpt string, size int) string {
	s := escape.String(excerpt)
	if strings.HasSuffix(excerpt, "…") && size > len(excerpt) {
		s += fmt.Sprintf(" (%d bytes)", size)
	}
	return s
}

// escapePieces returns the escaped pieces of a line, without the line terminator unless that
// differs.
func escapePieces(pieces []jsontree.Piece) []jsontree.Piece {
	out := make([]jsontree.Piece, 0, len(pieces))
	for i, p := range pieces {
		text := p.Text
		switch {
		case p.LeftOut > 0:
			text = fmt.Sprintf("…%d bytes…", p.LeftOut)
		case i == len(pieces)-1 && (!p.Differs || text != "\n"):
			text = strings.TrimSuffix(text, "\n")
		}
		if p.LeftOut == 0 {
			text = escape.String(strings.ReplaceAll(text, "\t", "    "))
		}
		if text != "" {
			out = append(out, jsontree.Piece{Text: text, Differs: p.Differs, LeftOut: p.LeftOut})
		}
	}
	return out
}

// String returns the line as plain text.
func (l Line) String() string {
	s := string(l.Op) + " "
	for _, p := range l.Text {
		s += p.Text
	}
	return s
}
