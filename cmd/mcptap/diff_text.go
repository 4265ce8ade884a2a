package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/internal/term"

	safe "github.com/mcptap/mcptap/internal/term/escape"

	diffreport "github.com/mcptap/mcptap/diff/report"
	"github.com/mcptap/mcptap/internal/jsontree"
)

// besideWidth is the least width of a line for two texts side by side.
const besideWidth = 120

// A diffText prints what differs for a person.
type diffText struct {
	l     *term.Printer
	p     term.Palette
	width int // 0 for any
}

// printDiff prints the comparisons of a set.
func printDiff(w io.Writer, p term.Palette, width int, set *diffreport.Set) error {
	t := diffText{l: &term.Printer{W: w}, p: p, width: width}
	for i, r := range set.Reports {
		if i > 0 {
			t.l.Printf("\n")
		}
		t.report(r)
	}
	for _, u := range set.Unpaired {
		which := "A"
		if u.Second {
			which = "B"
		}
		t.l.Printf("%s %s\n", t.p.Paint("only in "+which+":", term.BoldRed), safe.String(u.Name))
	}
	return t.l.Err
}

func (t *diffText) report(r *diff.Report) {
	t.side("A", &r.A)
	t.side("B", &r.B)
	for c := int(diff.Classes) - 1; c >= 0; c-- {
		t.class(r, diff.Class(c))
	}
	t.l.Printf("\n")
	for _, line := range foldHard(safe.String(r.Summary), t.textWidth()) {
		t.l.Printf("%s\n", t.p.Paint(line, term.Bold))
	}
}

// textWidth is the width of a line of prose.
func (t *diffText) textWidth() int {
	if t.width == 0 {
		return 100
	}
	return min(t.width, 120)
}

// side describes a session in a line.
func (t *diffText) side(name string, s *diff.Side) {
	words := []string{safe.String(s.Name), safe.String(diffreport.Revision(s)), party(s.Server), term.Plural(s.Calls, "call", "calls")}
	var kept []string
	for _, w := range words {
		if w != "" {
			kept = append(kept, w)
		}
	}
	t.l.Printf("%s  %s\n", t.p.Paint(name, term.BoldCyan), term.Fit(strings.Join(kept, "  "), max(t.width-3, 0)))
	if s.Lacks != "" {
		t.l.Printf("   %s\n", t.p.Paint("incomplete: "+safe.String(s.Lacks), term.Red))
	}
}

// class prints the differences of a class, those of one call under its name.
func (t *diffText) class(r *diff.Report, c diff.Class) {
	if r.Counts[c] == 0 {
		return
	}
	t.l.Printf("\n%s\n", t.p.Paint(fmt.Sprintf("%s (%d)", strings.ToUpper(c.String()), r.Counts[c]), classStyle(c)))
	for _, call := range diffreport.ByCall(r, c) {
		t.l.Printf("%s  %s\n", t.p.Paint(call.Call, term.Bold), t.p.Paint(call.Numbers, term.Dim))
		for _, d := range call.Differences {
			t.difference(d)
		}
	}
	if left := r.Left[c]; left > 0 {
		t.l.Printf("%s\n", t.p.Paint(fmt.Sprintf("and %d more", left), term.Dim))
	}
}

func classStyle(c diff.Class) term.Style {
	switch c {
	case diff.Breaking:
		return term.BoldRed
	case diff.Behaviour:
		return term.Magenta
	case diff.Timing:
		return term.Cyan
	}
	return term.Dim
}

func (t *diffText) difference(d *diff.Difference) {
	text := diffreport.Means(d)
	if where := diffreport.Location(d); where != "" {
		text = where + ": " + text
	}
	var notes []string
	if d.Reason != "" {
		notes = append(notes, safe.String(d.Reason))
	}
	if d.Page != "" {
		notes = append(notes, safe.String(d.Page))
	}
	if len(notes) > 0 {
		text += " (" + strings.Join(notes, ", ") + ")"
	}
	if times := diffreport.Times(d); times != "" {
		text += "; " + times
	}
	for i, line := range foldHard(text+" · "+d.By, t.textWidth()-4) {
		indent := "  "
		if i > 0 {
			indent = "    "
		}
		t.l.Printf("%s%s\n", indent, line)
	}
	switch {
	case d.Class == diff.Expected:
	case t.width >= besideWidth && (len(d.Rows) > 0 || d.Old != "" && d.New != "" && d.Kind != diff.Moved):
		t.beside(d)
	default:
		t.below(d)
	}
}

// below prints what is there before and after, one below the other.
func (t *diffText) below(d *diff.Difference) {
	for _, line := range diffreport.Lines(d) {
		as := map[byte]term.Style{'-': term.Red, '+': term.Green, ' ': term.Dim}[line.Op]
		first := true
		for _, part := range wrapPieces(line.Text, max(t.width-6, 0)) {
			mark := string(line.Op)
			if !first {
				mark = " "
			}
			first = false
			t.l.Printf("    %s %s\n", t.mark(mark, as), t.painted(part, as, line.Op != ' '))
		}
	}
}

// painted paints pieces: those that differ, or, where all do, the whole.
func (t *diffText) painted(pieces []jsontree.Piece, as term.Style, all bool) string {
	some := false
	for _, p := range pieces {
		some = some || p.Differs
	}
	var b strings.Builder
	for _, p := range pieces {
		switch {
		case p.LeftOut > 0:
			b.WriteString(t.p.Paint(p.Text, term.Dim))
		case p.Differs || all && !some:
			b.WriteString(t.p.Paint(p.Text, as))
		default:
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// beside prints the old and the new text side by side.
func (t *diffText) beside(d *diff.Difference) {
	width := (t.width - 4 - 7) / 2
	for _, r := range diffreport.Rows(d) {
		if r.Skipped > 0 {
			t.l.Printf("    %s\n", t.p.Paint(fmt.Sprintf("… %s unchanged", term.Plural(r.Skipped, "line is", "lines are")), term.Dim))
		}
		t.row(r.Old, r.New, width, r.Old != nil && !r.Same, r.New != nil && !r.Same)
	}
	if d.MoreRows > 0 {
		t.l.Printf("    %s\n", t.p.Paint("… "+term.Plural(d.MoreRows, "more line", "more lines"), term.Dim))
	}
}

// row prints one line of each side, in as many lines as the longer one takes.
// Removed and added say that the side has a line that the other does not.
func (t *diffText) row(old, now []jsontree.Piece, width int, removed, added bool) {
	left, right := wrapPieces(old, width), wrapPieces(now, width)
	for i := range max(len(left), len(right)) {
		var l, r []jsontree.Piece
		markL, markR := " ", " "
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		if removed && i == 0 {
			markL = "-"
		}
		if added && i == 0 {
			markR = "+"
		}
		asL, asR := term.Plain, term.Plain
		if removed {
			asL = term.Red
		}
		if added {
			asR = term.Green
		}
		line := t.mark(markL, term.Red) + " " + t.painted(l, asL, removed) + strings.Repeat(" ", max(width-piecesWidth(l), 0)) +
			" " + t.p.Paint("│", term.Dim) + " " + t.mark(markR, term.Green) + " " + t.painted(r, asR, added)
		t.l.Printf("    %s\n", strings.TrimRight(line, " "))
	}
}

// mark paints the mark before a line, unless it is blank.
func (t *diffText) mark(s string, as term.Style) string {
	if s == " " {
		return s
	}
	return t.p.Paint(s, as)
}

func piecesWidth(pieces []jsontree.Piece) (n int) {
	for _, p := range pieces {
		n += term.Width(p.Text)
	}
	return n
}

// wrapPieces breaks a line into lines of at most width columns, 0 for any.
func wrapPieces(pieces []jsontree.Piece, width int) (out [][]jsontree.Piece) {
	if width <= 0 {
		return [][]jsontree.Piece{pieces}
	}
	var line []jsontree.Piece
	used := 0
	for _, p := range pieces {
		text := p.Text
		for text != "" {
			n, w := fitting(text, width-used)
			if n == 0 && used > 0 {
				out, line, used = append(out, line), nil, 0
				continue
			}
			if n == 0 { // wider than a whole line
				var r rune
				r, n = utf8.DecodeRuneInString(text)
				w = max(term.Width(string(r)), 1)
			}
			part := p
			part.Text, text = text[:n], text[n:]
			line = append(line, part)
			used += w
		}
	}
	return append(out, line)
}

// foldHard breaks a text at spaces, and within words where they are too long.
func foldHard(s string, width int) (out []string) {
	for _, line := range fold(s, width) {
		for _, part := range wrapPieces([]jsontree.Piece{{Text: line}}, width) {
			text := ""
			for _, p := range part {
				text += p.Text
			}
			out = append(out, text)
		}
	}
	return out
}

// fitting returns how many bytes of a text fit into width columns, and how many columns
// they take. Combining marks stay with their base character.
func fitting(s string, width int) (n, columnsUsed int) {
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		w := term.Width(string(r))
		if columnsUsed+w > width {
			break
		}
		columnsUsed += w
		n += size
	}
	return n, columnsUsed
}
