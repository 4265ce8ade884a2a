package main

import (
	"strings"
)

// A column of a table: how much of it may go when the line is too narrow.
type column struct {
	title string
	right bool
	// least is the width below which it is not cut; 0 means never cut.
	least int
	// rank orders the columns for leaving them out: the highest goes first, 0
	// never goes.
	rank int
}

// A cell is escaped text with a style of its own.
type cell struct {
	text  string
	style style
}

// layout chooses a width for each column, 0 for one that is left out, so that
// a line has at most width columns, 0 for any. First what is a luxury is left
// out, then the columns that may be cut give way, then more are left out, and
// those that were cut get back what is free.
func layout(cols []column, natural []int, width int) []int {
	widths := make([]int, len(cols))
	copy(widths, natural)
	if width == 0 {
		return widths
	}
	leaveOut(cols, widths, width, luxury)
	if lineWidth(widths) <= width {
		return widths
	}
	for i, c := range cols {
		if c.least > 0 {
			widths[i] = min(widths[i], c.least)
		}
	}
	leaveOut(cols, widths, width, 1)
	for _, most := range []int{20, width} { // from the left, but no one takes it all
		for i := range widths {
			if free := width - lineWidth(widths); widths[i] > 0 && free > 0 {
				widths[i] = max(widths[i], min(natural[i], widths[i]+free, most))
			}
		}
	}
	return widths
}

// leaveOut leaves out columns of that rank or a higher one until the rest fits.
func leaveOut(cols []column, widths []int, width, rank int) {
	for lineWidth(widths) > width {
		drop := -1
		for i, c := range cols {
			if widths[i] > 0 && c.rank >= rank && (drop < 0 || c.rank > cols[drop].rank) {
				drop = i
			}
		}
		if drop < 0 {
			return
		}
		widths[drop] = 0
	}
}

// luxury is the rank from which a column goes before another is cut.
const luxury = 6

const columnGap = 2

func lineWidth(widths []int) int {
	n := -columnGap
	for _, w := range widths {
		if w > 0 {
			n += w + columnGap
		}
	}
	return n
}

// printTable prints rows under their titles.
func printTable(l *lines, p palette, width int, cols []column, rows [][]cell) {
	natural := make([]int, len(cols))
	for i, c := range cols {
		for _, r := range rows {
			natural[i] = max(natural[i], columns.StringWidth(r[i].text))
		}
		if natural[i] > 0 { // a column without a single value is left out
			natural[i] = max(natural[i], columns.StringWidth(c.title))
		}
	}
	widths := layout(cols, natural, width)
	titles := make([]cell, len(cols))
	for i, c := range cols {
		titles[i] = cell{c.title, dim}
	}
	for _, r := range append([][]cell{titles}, rows...) {
		var b strings.Builder
		blank := 0 // spaces that are due before the next text
		for i, c := range cols {
			if widths[i] == 0 {
				continue
			}
			text := fit(r[i].text, widths[i])
			left, right := 0, widths[i]-columns.StringWidth(text)
			if c.right {
				left, right = right, 0
			}
			if text == "" {
				blank += widths[i] + columnGap
				continue
			}
			b.WriteString(strings.Repeat(" ", blank+left))
			b.WriteString(p.paint(text, r[i].style))
			blank = right + columnGap
		}
		l.printf("%s\n", b.String())
	}
}
