// Package listing prints the frames and calls of recordings: as tables, as lines of JSON, and single
// frames in full.
package listing

import (
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/view"
)

// A Printer prints the items of a listing as they arrive, and a summary.
type Printer interface {
	Item(i *view.Item) error
	End(s *Summary) error
	// SkipHeader omits the column titles.
	SkipHeader()
}

// A rowTable prints rows as they arrive. Its columns have fixed widths, because later rows are
// unknown; a title takes the rest of the line.
type rowTable struct {
	*term.Printer
	digits  int                        // width of the frame numbers
	offset  int                        // width of the times
	when    func(time.Duration) string // formats the time at an offset
	prefix  string                     // precedes each row
	gap     string                     // precedes the title
	choose  func()                     // sets cols and widths
	cols    []term.Column
	widths  []int // of cols; 0 omits a column
	started bool  // the column titles were printed
}

func newRowTable(l *term.Printer, info store.Info) rowTable {
	return rowTable{
		Printer: l, gap: "  ", when: term.Offset,
		digits: len(strconv.FormatUint(max(info.Frames, 999), 10)),
		offset: max(len("0.000s"), len(term.Offset(info.Duration))),
	}
}

const (
	// labelWidth is the width of a recording's label, and labelledDigits the minimum width of the
	// frame numbers after it.
	labelWidth     = 14
	labelledDigits = 5
	clockLayout    = "15:04:05.000"
)

// Clock returns a function that formats the time of day at an offset from start.
func Clock(start time.Time, zone *time.Location) func(time.Duration) string {
	return func(d time.Duration) string { return start.Add(d).In(zone).Format(clockLayout) }
}

// WithLabel prepares for rows of several recordings: if label is not empty, rows start with it and
// show the time of day.
func (t *rowTable) WithLabel(label string, when func(time.Duration) string) {
	if label == "" {
		return
	}
	n := labelWidth
	if t.Width > 0 {
		n = min(n, t.Width/5)
	}
	t.prefix, t.when = term.Pad(term.Fit(safe.String(label), n), n, false)+" ", when
	t.digits, t.offset = max(t.digits, labelledDigits), max(t.offset, len(clockLayout))
	t.choose()
}

// omit omits columns until the title is at least least columns wide.
func (t *rowTable) omit(least int) {
	if free := t.Width - t.fixed(); t.Width > 0 && free < least {
		term.OmitColumns(t.cols, t.widths, 1, term.LineWidth(t.widths, 1)+free-least, 1)
	}
}

// fixed returns the width of everything before the title.
func (t *rowTable) fixed() int {
	return term.Width(t.prefix) + term.LineWidth(t.widths, 1) + 1 + len(t.gap)
}

// room returns the width of a title after an indent, 0 if it is unlimited.
func (t *rowTable) room(indent string) int {
	if t.Width == 0 {
		return 0
	}
	return max(t.Width-t.fixed()-term.Width(indent), 1)
}

// SkipHeader records that the column titles were already printed.
func (t *rowTable) SkipHeader() { t.started = true }

// header prints the column titles, once.
func (t *rowTable) header(last string) error {
	if t.started {
		return nil
	}
	t.started = true
	titles := make([]term.Cell, len(t.cols))
	for i, c := range t.cols {
		if c.Title != "" {
			titles[i] = term.Cell{Text: c.Title, Style: term.Dim}
		}
	}
	return t.write(titles, plainTitle(last, term.Dim))
}

// write prints a row: it pads and cuts the texts, then paints them. Two spaces follow the first
// column.
func (t *rowTable) write(cells []term.Cell, last title) error {
	var b strings.Builder
	b.WriteString(t.prefix)
	for i, c := range t.cols {
		if t.widths[i] == 0 {
			continue
		}
		if i > 0 {
			b.WriteString(" ")
		}
		b.WriteString(t.Paint(term.Pad(cells[i].Text, t.widths[i], c.Right), cells[i].Style))
		if i == 0 {
			b.WriteString(" ")
		}
	}
	if t.Width > 0 {
		last = last.fit(t.room(""))
	}
	b.WriteString(t.gap + last.paint(t.Palette))
	t.Printf("%s\n", strings.TrimRight(b.String(), " "))
	return t.Err
}

// End prints a summary.
func (t *rowTable) End(s *Summary) error {
	if t.started && s.Label == "" {
		t.Printf("\n")
	}
	s.print(t.Printer)
	return t.Err
}

// A title is the last column of a line about a message or a call. The name comes first, and the
// method of a tool call last. All texts are escaped.
type title struct {
	indent, name, args, result, fault, method string
	// style is the style of the name, and faultStyle that of the failure.
	style, faultStyle term.Style
}

// newTitle returns the title of a row or a call.
func newTitle(t view.Title) title {
	return title{name: safe.String(t.Name), args: safe.String(t.Args), result: safe.String(t.Result), method: safe.String(t.Method),
		faultStyle: term.Red}
}

// plainTitle returns a title that is a single text.
func plainTitle(text string, as term.Style) title {
	return title{name: text, style: as, faultStyle: term.Red}
}

// Separators before the parts of a title.
const (
	argsGap   = " "
	resultGap = " → "
	faultGap  = "  "
)

// leastPreview is the width below which a part of a title is omitted.
const leastPreview = 6

// fit cuts the title to a width. It omits the method first; then the arguments and the result share
// the space after the name. A failure takes precedence over both.
func (t title) fit(room int) title {
	t.indent = term.Fit(t.indent, room)
	room = max(room-term.Width(t.indent), 1)
	if t.width() <= room {
		return t
	}
	t.method = ""
	if t.fault != "" && t.width() > room {
		if client, ok := strings.CutPrefix(t.name, "initialize "); ok { // it is less important than the failure
			t.name, t.args = "initialize", client
		}
		t.fault = view.Cause(t.fault)
		// The failure needs the name as context.
		least := min(room/2, term.Width(t.name))
		if least > 0 {
			least += len(faultGap)
		}
		t.fault = term.Fit(t.fault, max(room-least, 1))
	}
	left := room - part("", t.fault, faultGap)
	t.name = term.Fit(t.name, max(left, 1))
	left -= term.Width(t.name)
	args, result := part("", t.args, argsGap), part("", t.result, resultGap)
	if args+result > left {
		args = min(args, max(left/2, left-result))
		t.args = preview(t.args, args-len(argsGap))
		t.result = preview(t.result, left-part("", t.args, argsGap)-term.Width(resultGap))
	}
	return t
}

// preview cuts a text to a width, and returns "" if too little would remain.
func preview(text string, width int) string {
	if width < leastPreview && term.Width(text) > width {
		return ""
	}
	return term.Fit(text, width)
}

// part returns the width of a text and the gap before it.
func part(before, text, gap string) int {
	if text == "" {
		return 0
	}
	return term.Width(before) + term.Width(gap) + term.Width(text)
}

func (t title) width() int {
	return term.Width(t.name) + part("", t.args, argsGap) + part("", t.result, resultGap) +
		part("", t.fault, faultGap) + part("", t.method, faultGap)
}

// paint returns the title as printed.
func (t title) paint(p term.Palette) string {
	var b strings.Builder
	b.WriteString(t.indent)
	add := func(gap, text string, as term.Style) {
		if text != "" {
			if b.Len() > len(t.indent) {
				b.WriteString(gap)
			}
			b.WriteString(p.Paint(text, as))
		}
	}
	add("", t.name, t.style)
	add(argsGap, t.args, term.Plain)
	if t.result != "" {
		gap := resultGap
		if b.Len() == len(t.indent) {
			gap = strings.TrimLeft(gap, " ")
		}
		b.WriteString(p.Paint(gap, term.Dim) + t.result)
	}
	add(faultGap, t.fault, t.faultStyle)
	add(faultGap, t.method, term.Dim)
	return b.String()
}
