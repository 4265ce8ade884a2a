package term

import (
	"strings"
)

// A Column describes a column of a table.
type Column struct {
	Title string
	Right bool
	// Least is the width below which the column is not cut; 0 means it is never cut.
	Least int
	// Rank is the order in which columns are omitted, highest first.
	// A column of rank 0 is never omitted.
	Rank int
}

// A Cell is escaped text with its own style.
type Cell struct {
	Text  string
	Style Style
}

// layout chooses a width for each column, 0 to omit it, so that a line has at most width columns; a
// width of 0 means unlimited. It omits columns of rank Luxury and above, cuts columns to their least
// width, omits more columns, and then returns free space to the cut columns.
func layout(cols []Column, natural []int, width int) []int {
	widths := make([]int, len(cols))
	copy(widths, natural)
	if width == 0 {
		return widths
	}
	OmitColumns(cols, widths, columnGap, width, Luxury)
	if LineWidth(widths, columnGap) <= width {
		return widths
	}
	for i, c := range cols {
		if c.Least > 0 {
			widths[i] = min(widths[i], c.Least)
		}
	}
	OmitColumns(cols, widths, columnGap, width, 1)
	for _, limit := range []int{20, width} { // from the left, but one column must not take all of it
		for i := range widths {
			if free := width - LineWidth(widths, columnGap); widths[i] > 0 && free > 0 {
				widths[i] = max(widths[i], min(natural[i], widths[i]+free, limit))
			}
		}
	}
	return widths
}

// OmitColumns omits columns of at least the given rank until the others fit.
func OmitColumns(cols []Column, widths []int, gap, width, rank int) {
	for LineWidth(widths, gap) > width {
		drop := -1
		for i, c := range cols {
			if widths[i] > 0 && c.Rank >= rank && (drop < 0 || c.Rank > cols[drop].Rank) {
				drop = i
			}
		}
		if drop < 0 {
			return
		}
		widths[drop] = 0
	}
}

// Luxury is the lowest rank of columns that are omitted before others are cut.
const Luxury = 6

const columnGap = 2

// LineWidth returns the width of columns with gap spaces between them.
func LineWidth(widths []int, gap int) int {
	n := -gap
	for _, w := range widths {
		if w > 0 {
			n += w + gap
		}
	}
	return n
}

// Table prints rows under their titles.
func (l *Printer) Table(cols []Column, rows [][]Cell) {
	natural := make([]int, len(cols))
	for i, c := range cols {
		for _, r := range rows {
			natural[i] = max(natural[i], Width(r[i].Text))
		}
		if natural[i] > 0 { // columns without any value are omitted
			natural[i] = max(natural[i], Width(c.Title))
		}
	}
	widths := layout(cols, natural, l.Width)
	titles := make([]Cell, len(cols))
	for i, c := range cols {
		titles[i] = Cell{c.Title, Dim}
	}
	for _, r := range append([][]Cell{titles}, rows...) {
		var b strings.Builder
		blank := 0 // spaces to print before the next text
		for i, c := range cols {
			if widths[i] == 0 {
				continue
			}
			text := Fit(r[i].Text, widths[i])
			left, right := 0, widths[i]-Width(text)
			if c.Right {
				left, right = right, 0
			}
			if text == "" {
				blank += widths[i] + columnGap
				continue
			}
			b.WriteString(strings.Repeat(" ", blank+left))
			b.WriteString(l.Paint(text, r[i].Style))
			blank = right + columnGap
		}
		l.Printf("%s\n", b.String())
	}
}
