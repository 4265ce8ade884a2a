package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcptap/mcptap/diff"
	diffreport "github.com/mcptap/mcptap/diff/report"
	"github.com/mcptap/mcptap/internal/jsontree"
)

// beside prints what is there before and after side by side.
func (t *diffText) beside(d *diff.Difference) {
	width := (t.width - 4 - 7) / 2
	for _, r := range diffreport.Rows(d) {
		if r.Skipped > 0 {
			t.l.printf("    %s\n", t.p.paint(fmt.Sprintf("… %s the same", plural(r.Skipped, "line is", "lines are")), dim))
		}
		t.row(r.Old, r.New, width, r.Old != nil && !r.Same, r.New != nil && !r.Same)
	}
	if d.MoreRows > 0 {
		t.l.printf("    %s\n", t.p.paint("… "+plural(d.MoreRows, "more line", "more lines"), dim))
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
		asL, asR := plain, plain
		if removed {
			asL = red
		}
		if added {
			asR = green
		}
		line := t.mark(markL, red) + " " + t.painted(l, asL, removed) + strings.Repeat(" ", max(width-piecesWidth(l), 0)) +
			" " + t.p.paint("│", dim) + " " + t.mark(markR, green) + " " + t.painted(r, asR, added)
		t.l.printf("    %s\n", strings.TrimRight(line, " "))
	}
}

// mark paints what stands before a line, if it is anything.
func (t *diffText) mark(s string, as style) string {
	if s == " " {
		return s
	}
	return t.p.paint(s, as)
}

func piecesWidth(pieces []jsontree.Piece) (n int) {
	for _, p := range pieces {
		n += columns.StringWidth(p.Text)
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
				w = max(columns.RuneWidth(r), 1)
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

// fitting is how many bytes of a text take at most width columns, and how many
// columns they take. Marks that take none stay with what they are on.
func fitting(s string, width int) (n, columnsUsed int) {
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		w := columns.RuneWidth(r)
		if columnsUsed+w > width {
			break
		}
		columnsUsed += w
		n += size
	}
	return n, columnsUsed
}
