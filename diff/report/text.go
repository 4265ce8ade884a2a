package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
)

// sideBySideWidth is the minimum width of a line for two texts side by side.
const sideBySideWidth = 120

// A diffText prints differences for a person.
type diffText struct {
	*term.Printer
}

// Text prints the comparisons of a set.
func Text(l *term.Printer, set *Set) error {
	t := diffText{l}
	for i, r := range set.Reports {
		if i > 0 {
			t.Printf("\n")
		}
		t.report(r)
	}
	for _, u := range set.Unpaired {
		which := "A"
		if u.Second {
			which = "B"
		}
		t.Printf("%s %s\n", t.Paint("only in "+which+":", term.BoldRed), safe.String(u.Name))
	}
	return t.Err
}

func (t *diffText) report(r *diff.Report) {
	t.side("A", &r.A)
	t.side("B", &r.B)
	for c := int(diff.Classes) - 1; c >= 0; c-- {
		t.class(r, diff.Class(c))
	}
	t.Printf("\n")
	for _, line := range term.FoldHard(safe.String(r.Summary), t.TextWidth(120)) {
		t.Printf("%s\n", t.Paint(line, term.Bold))
	}
	if presets := r.Suggest(); len(presets) > 0 {
		t.Printf("The differences in behaviour look volatile. To ignore them:\n  --ignore %s\n", strings.Join(presets, " --ignore "))
	}
}

// side describes a session in one line.
func (t *diffText) side(name string, s *diff.Side) {
	words := []string{safe.String(s.Name), safe.String(Revision(s)), safe.String(party(s.Server)), term.Plural(s.Calls, "call", "calls")}
	var kept []string
	for _, w := range words {
		if w != "" {
			kept = append(kept, w)
		}
	}
	t.Printf("%s  %s\n", t.Paint(name, term.BoldCyan), term.Fit(strings.Join(kept, "  "), max(t.Width-3, 0)))
	if s.Lacks != "" {
		t.Printf("   %s\n", t.Paint("incomplete: "+safe.String(s.Lacks), term.Red))
	}
}

// class prints the differences of a class, grouped by call.
func (t *diffText) class(r *diff.Report, c diff.Class) {
	if r.Counts[c] == 0 {
		return
	}
	t.Printf("\n%s\n", t.Paint(fmt.Sprintf("%s (%d)", strings.ToUpper(c.String()), r.Counts[c]), classStyle(c)))
	for _, call := range ByCall(r, c) {
		t.Printf("%s  %s\n", t.Paint(call.Call, term.Bold), t.Paint(call.Numbers, term.Dim))
		for _, d := range call.Differences {
			t.difference(d)
		}
	}
	if left := r.Left[c]; left > 0 {
		t.Printf("%s\n", t.Paint(fmt.Sprintf("and %d more", left), term.Dim))
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
	text := Means(d)
	if where := Location(d); where != "" {
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
	if times := Times(d); times != "" {
		text += "; " + times
	}
	for i, line := range term.FoldHard(text+" · "+d.By, t.TextWidth(120)-4) {
		indent := "  "
		if i > 0 {
			indent = "    "
		}
		t.Printf("%s%s\n", indent, line)
	}
	switch {
	case d.Class == diff.Expected:
	case t.Width >= sideBySideWidth && d.Old != "" && d.New != "" && d.Kind != diff.Moved:
		t.sideBySide(d)
	default:
		t.below(d)
	}
}

// below prints the old and the new text, one below the other.
func (t *diffText) below(d *diff.Difference) {
	for _, line := range Lines(d) {
		as := map[byte]term.Style{'-': term.Red, '+': term.Green, ' ': term.Dim}[line.Op]
		first := true
		for _, part := range wrapPieces(line.Text, max(t.Width-6, 0)) {
			mark := string(line.Op)
			if !first {
				mark = " "
			}
			first = false
			t.Printf("    %s %s\n", t.mark(mark, as), t.painted(part, as, line.Op != ' '))
		}
	}
}

// painted paints the pieces that differ. If all is set and no piece is marked, the whole line
// differs and is painted.
func (t *diffText) painted(pieces []jsontree.Piece, as term.Style, all bool) string {
	some := false
	for _, p := range pieces {
		some = some || p.Differs
	}
	var b strings.Builder
	for _, p := range pieces {
		switch {
		case p.LeftOut > 0:
			b.WriteString(t.Paint(p.Text, term.Dim))
		case p.Differs || all && !some:
			b.WriteString(t.Paint(p.Text, as))
		default:
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// sideBySide prints the old and the new text side by side.
func (t *diffText) sideBySide(d *diff.Difference) {
	width := (t.Width - 4 - 7) / 2
	for _, r := range Rows(d) {
		if r.Skipped > 0 {
			t.Printf("    %s\n", t.Paint(fmt.Sprintf("… %s unchanged", term.Plural(r.Skipped, "line is", "lines are")), term.Dim))
		}
		t.row(r.Old, r.New, width, r.Old != nil && !r.Same, r.New != nil && !r.Same)
	}
	if d.MoreRows > 0 {
		t.Printf("    %s\n", t.Paint("… "+term.Plural(d.MoreRows, "more line", "more lines"), term.Dim))
	}
}

// row prints one line of each side, in as many output lines as the longer one takes. removed and
// added report that only that side has the line.
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
			" " + t.Paint("│", term.Dim) + " " + t.mark(markR, term.Green) + " " + t.painted(r, asR, added)
		t.Printf("    %s\n", strings.TrimRight(line, " "))
	}
}

// mark paints the mark before a line unless the mark is blank.
func (t *diffText) mark(s string, as term.Style) string {
	if s == " " {
		return s
	}
	return t.Paint(s, as)
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
			n, w := term.Fitting(text, width-used)
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
