// Package report writes what package diff has found: as JSON for programs, as
// Markdown for a comment, as a page of HTML that needs nothing else, and as
// JUnit XML for a build server. It is pure: the text goes to a writer.
//
// What was recorded is hostile. In none of the formats can it break out of where
// it stands, and characters that move a cursor, change their neighbours' order
// or hide are spelled out.
package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Set is what is reported at once: one comparison, or those of all recordings
// of two directories.
type Set struct {
	Reports []*diff.Report
	// Unpaired are the recordings that only one of two directories has.
	Unpaired []Unpaired
	// FailOn is the class from which on a difference is a failure, which it is
	// if Fails is set.
	FailOn diff.Class
	Fails  bool
}

// An Unpaired recording has no counterpart.
type Unpaired struct {
	// Second reports that only the second directory has it, else only the first.
	Second bool
	Name   string
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

// pageURL is where a page of the specification is, "" for no page.
func pageURL(page string) string {
	if page == "" {
		return ""
	}
	return "https://modelcontextprotocol.io/specification/" + page
}

// CallOf names the call of a difference, with what is about it, escaped: "session"
// where it is in none.
func CallOf(d *diff.Difference) string {
	if d.Method == "" {
		return "session"
	}
	return strings.TrimSpace(escape.Escape(d.Method + " " + short(d.Subject, subjectBytes)))
}

// subjectBytes is how much is written of what a call is about.
const subjectBytes = 100

// Numbers names the calls of a difference on both sides by the numbers of their
// first frames, such as "#5 | #7"; "" where there are none.
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

// A CallPart is the differences of one class in one call, as far as they come in
// a row.
type CallPart struct {
	// Call and Numbers are as those functions say.
	Call, Numbers string
	Differences   []*diff.Difference
}

// ByCall lists the differences of a class that are reported, those of one call
// together.
func ByCall(r *diff.Report, c diff.Class) (all []CallPart) {
	for i := range r.Differences {
		d := &r.Differences[i]
		if d.Class != c {
			continue
		}
		if call, n := CallOf(d), Numbers(d); len(all) == 0 || all[len(all)-1].Call != call || all[len(all)-1].Numbers != n {
			all = append(all, CallPart{Call: call, Numbers: n})
		}
		last := &all[len(all)-1]
		last.Differences = append(last.Differences, d)
	}
	return all
}

// Location says where in its call a difference is, escaped: the path, with the
// method of the notification or the question before it.
func Location(d *diff.Difference) string {
	var parts []string
	if d.Message != "" {
		parts = append(parts, escape.Escape(d.Message))
	}
	switch d.In {
	case diff.InReply:
		parts = append(parts, "reply")
	case diff.InCall, diff.InStray:
		parts = append(parts, d.In.String())
	}
	if d.Path != "" {
		parts = append(parts, d.Path)
	}
	return strings.Join(parts, " ")
}

// Means says in words what a difference is, escaped.
func Means(d *diff.Difference) string {
	words := d.Kind.String()
	switch {
	case d.Kind == diff.Slower || d.Kind == diff.Faster:
		words = fmt.Sprintf("%s: %s instead of %s", words, d.NewTime.Round(roundTo(d.NewTime)), d.OldTime.Round(roundTo(d.OldTime)))
		if d.What != "" {
			words += ", " + d.What
		}
	case d.What != "":
		words = d.What
	}
	return escape.Escape(words)
}

// Times says how often a difference occurs beyond once, "" if it does not.
func Times(d *diff.Difference) string {
	if d.Times <= 1 {
		return ""
	}
	s := fmt.Sprintf("%d times", d.Times)
	for i, p := range d.Also {
		if i == 0 {
			s += ", also "
		} else {
			s += ", "
		}
		s += numbers(p.A, p.B)
	}
	if int(d.Times)-1 > len(d.Also) && len(d.Also) > 0 {
		s += ", …"
	}
	return s
}

// short cuts a text.
func short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// Revision names what a side speaks: a revision of the protocol or the dialect,
// "" if that is not known. It is as it came.
func Revision(s *diff.Side) string {
	if s.Revision == jsonrpc.Dialect {
		return "dialect " + jsonrpc.Dialect002
	}
	return string(s.Revision)
}

// A Line is one line of what is there before and after.
type Line struct {
	// Op is '-' for before, '+' for after, ' ' for what is the same.
	Op   byte
	Text []jsontree.Piece // escaped
}

// Rows are what is there before and after, side by side and escaped: of long texts the
// lines that differ, else one row with the values in short. Old and New are nil on a side
// that has none, and equal where the row is the same.
func Rows(d *diff.Difference) (all []jsontree.Row) {
	whole := func(text string, size int) []jsontree.Piece {
		if text == "" {
			return nil
		}
		return []jsontree.Piece{{Text: Value(text, size), Differs: d.Kind != diff.Moved}}
	}
	if len(d.Rows) == 0 && (d.Old != "" || d.New != "") {
		all = []jsontree.Row{{Old: whole(d.Old, d.OldSize), New: whole(d.New, d.NewSize), Same: d.Kind == diff.Moved}}
	}
	for _, r := range d.Rows {
		row := jsontree.Row{A: r.A, B: r.B, Same: r.Same, Skipped: r.Skipped}
		if r.A > 0 {
			row.Old = Pieces(r.Old)
		}
		if r.B > 0 {
			row.New = Pieces(r.New)
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

// Lines lists the rows of a difference one below the other.
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

// Value is an excerpt of a value, escaped, with how long the whole is if it was
// cut.
func Value(excerpt string, size int) string {
	s := escape.Escape(excerpt)
	if strings.HasSuffix(excerpt, "…") && size > len(excerpt) {
		s += fmt.Sprintf(" (%d bytes)", size)
	}
	return s
}

// Pieces are the pieces of a line, escaped, without the end of the line unless
// that is what differs. What is left out says how much.
func Pieces(pieces []jsontree.Piece) []jsontree.Piece {
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
			text = escape.Escape(strings.ReplaceAll(text, "\t", "    "))
		}
		if text != "" {
			out = append(out, jsontree.Piece{Text: text, Differs: p.Differs, LeftOut: p.LeftOut})
		}
	}
	return out
}

// String is the line as text, without what marks the pieces.
func (l Line) String() string {
	var b strings.Builder
	b.WriteByte(l.Op)
	b.WriteByte(' ')
	for _, p := range l.Text {
		b.WriteString(p.Text)
	}
	return b.String()
}

// roundTo is what a time is rounded to, so that it has three digits or so.
func roundTo(d time.Duration) time.Duration {
	for unit := time.Microsecond; unit < time.Second; unit *= 10 {
		if d.Abs() < 1000*unit {
			return unit
		}
	}
	return time.Second
}
