package main

import (
	"bufio"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/view"
)

// A column describes a column of a table.
type column struct {
	title string
	right bool
	// least is the width below which it is not cut; 0 means never cut.
	least int
	// rank is the order in which columns are omitted, the highest first.
	// A column of rank 0 is never omitted.
	rank int
}

// A cell is escaped text with a style of its own.
type cell struct {
	text  string
	style style
}

// layout chooses a width for each column, 0 to omit it, so that a line has at most
// width columns; a width of 0 means unlimited. It omits columns of rank luxury and
// above, cuts columns to their least width, omits more columns, and then gives free
// space back to the cut columns.
func layout(cols []column, natural []int, width int) []int {
	widths := make([]int, len(cols))
	copy(widths, natural)
	if width == 0 {
		return widths
	}
	omitColumns(cols, widths, columnGap, width, luxury)
	if lineWidth(widths, columnGap) <= width {
		return widths
	}
	for i, c := range cols {
		if c.least > 0 {
			widths[i] = min(widths[i], c.least)
		}
	}
	omitColumns(cols, widths, columnGap, width, 1)
	for _, limit := range []int{20, width} { // from the left; one column must not take all of it
		for i := range widths {
			if free := width - lineWidth(widths, columnGap); widths[i] > 0 && free > 0 {
				widths[i] = max(widths[i], min(natural[i], widths[i]+free, limit))
			}
		}
	}
	return widths
}

// omitColumns omits columns of at least the given rank until the others fit.
func omitColumns(cols []column, widths []int, gap, width, rank int) {
	for lineWidth(widths, gap) > width {
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

// luxury is the lowest rank of columns that are omitted before others are cut.
const luxury = 6

const columnGap = 2

// lineWidth returns the width of columns with gap spaces between them.
func lineWidth(widths []int, gap int) int {
	n := -gap
	for _, w := range widths {
		if w > 0 {
			n += w + gap
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

// A rowTable prints rows as they come. Its columns have fixed widths, because the later
// rows are unknown; a title takes the rest of the line.
type rowTable struct {
	w       *bufio.Writer
	paint   palette
	width   int                        // of the line; 0 means unlimited
	digits  int                        // width of the frame numbers
	offset  int                        // width of the times
	when    func(time.Duration) string // formats the time at an offset
	prefix  string                     // precedes each row
	gap     string                     // precedes the title
	choose  func()                     // sets cols and widths
	cols    []column
	widths  []int // of cols; 0 omits a column
	started bool  // the column titles are printed
}

func newRowTable(w *bufio.Writer, paint palette, width int, info store.Info) rowTable {
	return rowTable{
		w: w, paint: paint, width: width, gap: "  ", when: formatOffset,
		digits: len(strconv.FormatUint(max(info.Frames, 999), 10)),
		offset: max(len("0.000s"), len(formatOffset(info.Duration))),
	}
}

const (
	// labelWidth is the width of the label of a recording, labelledDigits the least width
	// of the frame numbers that follow it.
	labelWidth     = 14
	labelledDigits = 5
	clockLayout    = "15:04:05.000"
)

// clock returns a function that formats the time of day at an offset from start.
func clock(start time.Time, zone *time.Location) func(time.Duration) string {
	return func(d time.Duration) string { return start.Add(d).In(zone).Format(clockLayout) }
}

// withLabel prepares for rows of several recordings: they begin with a label, if it is not
// empty, and have the time of day.
func (t *rowTable) withLabel(label string, when func(time.Duration) string) {
	if label == "" {
		return
	}
	n := labelWidth
	if t.width > 0 {
		n = min(n, t.width/5)
	}
	t.prefix, t.when = pad(fit(escape(label), n), n, false)+" ", when
	t.digits, t.offset = max(t.digits, labelledDigits), max(t.offset, len(clockLayout))
	t.choose()
}

// omit omits columns until the title has least columns.
func (t *rowTable) omit(least int) {
	if free := t.width - t.fixed(); t.width > 0 && free < least {
		omitColumns(t.cols, t.widths, 1, lineWidth(t.widths, 1)+free-least, 1)
	}
}

// fixed returns the width of everything before the title.
func (t *rowTable) fixed() int {
	return columns.StringWidth(t.prefix) + lineWidth(t.widths, 1) + 1 + len(t.gap)
}

// room returns the width of a title after an indent, 0 if it is unlimited.
func (t *rowTable) room(indent string) int {
	if t.width == 0 {
		return 0
	}
	return max(t.width-t.fixed()-columns.StringWidth(indent), 1)
}

// skipHeader records that the column titles are printed already.
func (t *rowTable) skipHeader() { t.started = true }

// header prints the column titles, once.
func (t *rowTable) header(last string) error {
	if t.started {
		return nil
	}
	t.started = true
	titles := make([]cell, len(t.cols))
	for i, c := range t.cols {
		if c.title != "" {
			titles[i] = cell{c.title, dim}
		}
	}
	return t.write(titles, plainTitle(last, dim))
}

// write prints one row: it pads and cuts the texts, then paints them. A second space
// follows the first column.
func (t *rowTable) write(cells []cell, last title) error {
	var b strings.Builder
	b.WriteString(t.prefix)
	for i, c := range t.cols {
		if t.widths[i] == 0 {
			continue
		}
		if i > 0 {
			b.WriteString(" ")
		}
		b.WriteString(t.paint.paint(pad(cells[i].text, t.widths[i], c.right), cells[i].style))
		if i == 0 {
			b.WriteString(" ")
		}
	}
	if t.width > 0 {
		last = last.fit(t.room(""))
	}
	b.WriteString(t.gap + last.paint(t.paint))
	_, err := t.w.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	return err
}

// end prints a summary.
func (t *rowTable) end(s *summary) error {
	l := lines{w: t.w}
	if t.started && s.label == "" {
		l.printf("\n")
	}
	s.print(&l, t.paint, t.width)
	return l.err
}

// A title is the last column of a line about a message or a call. The name comes
// first, the method of a tool last. All texts are escaped.
type title struct {
	indent, name, args, result, fault, method string
	// style is that of the name, faultStyle that of the failure.
	style, faultStyle style
}

// newTitle returns the title of a row or a call.
func newTitle(t view.Title) title {
	return title{name: escape(t.Name), args: escape(t.Args), result: escape(t.Result), method: escape(t.Method),
		faultStyle: red}
}

// plainTitle returns a title of one text.
func plainTitle(text string, as style) title { return title{name: text, style: as, faultStyle: red} }

// Separators before the parts of a title.
const (
	argsGap   = " "
	resultGap = " → "
	faultGap  = "  "
)

// leastPreview is the width below which a part of a title is left out.
const leastPreview = 6

// fit cuts the title to a width. It omits the method first; then the arguments and the
// result share the space after the name. A failure takes precedence over these.
func (t title) fit(room int) title {
	t.indent = fit(t.indent, room)
	room = max(room-columns.StringWidth(t.indent), 1)
	if t.width() <= room {
		return t
	}
	t.method = ""
	if t.fault != "" {
		// The failure needs the name as context.
		least := min(room/2, columns.StringWidth(t.name))
		if least > 0 {
			least += len(faultGap)
		}
		t.fault = fit(t.fault, max(room-least, 1))
	}
	left := room - part("", t.fault, faultGap)
	t.name = fit(t.name, max(left, 1))
	left -= columns.StringWidth(t.name)
	args, result := part("", t.args, argsGap), part("", t.result, resultGap)
	if args+result > left {
		args = min(args, max(left/2, left-result))
		t.args = preview(t.args, args-len(argsGap))
		t.result = preview(t.result, left-part("", t.args, argsGap)-columns.StringWidth(resultGap))
	}
	return t
}

// preview cuts a text to a width, and returns "" if too little would remain.
func preview(text string, width int) string {
	if width < leastPreview && columns.StringWidth(text) > width {
		return ""
	}
	return fit(text, width)
}

// part returns the width of a text with the texts before it.
func part(before, text, gap string) int {
	if text == "" {
		return 0
	}
	return columns.StringWidth(before) + columns.StringWidth(gap) + columns.StringWidth(text)
}

func (t title) width() int {
	return columns.StringWidth(t.name) + part("", t.args, argsGap) + part("", t.result, resultGap) +
		part("", t.fault, faultGap) + part("", t.method, faultGap)
}

// paint returns the title as printed.
func (t title) paint(p palette) string {
	var b strings.Builder
	b.WriteString(t.indent)
	add := func(gap, text string, as style) {
		if text != "" {
			if b.Len() > len(t.indent) {
				b.WriteString(gap)
			}
			b.WriteString(p.paint(text, as))
		}
	}
	add("", t.name, t.style)
	add(argsGap, t.args, plain)
	if t.result != "" {
		gap := resultGap
		if b.Len() == len(t.indent) {
			gap = strings.TrimLeft(gap, " ")
		}
		b.WriteString(p.paint(gap, dim) + t.result)
	}
	add(faultGap, t.fault, t.faultStyle)
	add(faultGap, t.method, dim)
	return b.String()
}
