package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"

	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/view"
)

// columns measures text as terminals outside East Asian locales do, in any locale: a line
// that is too short is better than one that wraps.
var columns = runewidth.Condition{StrictEmojiNeutral: true}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminal returns the terminal that stdout is, or that is behind its pager, or nil.
func (a *app) terminal() *os.File {
	if f, ok := a.stdout.(*os.File); ok && a.screen == nil && isTerminal(f) {
		return f
	}
	return a.screen
}

// width returns the width of a line of stdout, 0 if it is unlimited.
func (a *app) width() int {
	if n, err := strconv.Atoi(a.env("COLUMNS")); err == nil && n > 0 {
		return max(n, 20)
	}
	if f := a.terminal(); f != nil {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return max(n, 20)
		}
		return 80
	}
	return 0
}

func (a *app) checkColor() error {
	switch a.colorFlag {
	case "auto", "always", "never":
		return nil
	}
	return withHint(fmt.Errorf("--color: unknown value %s (want auto, always or never)", quote(a.colorFlag)), "leave it out for auto")
}

// A style is readable on dark and on light terminals. It never has a meaning that the text
// does not have.
type style string

const (
	plain    style = ""
	bold     style = "1"
	dim      style = "2"
	red      style = "31"
	green    style = "32"
	cyan     style = "36"
	magenta  style = "35"
	boldRed  style = "1;31"
	boldCyan style = "1;36"
)

// A palette prints styles if it is on.
type palette struct{ on bool }

// palette returns the palette for stdout.
func (a *app) palette() palette {
	switch a.colorFlag {
	case "always":
		return palette{true}
	case "never":
		return palette{}
	}
	return palette{a.terminal() != nil && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"}
}

// paint returns s in a style. s must be escaped already.
func (p palette) paint(s string, as style) string {
	if !p.on || as == plain || s == "" {
		return s
	}
	return "\x1b[" + string(as) + "m" + s + "\x1b[0m"
}

// fit cuts escaped text to at most width columns. It also cuts long runs of combining
// marks, which take no column.
func fit(s string, width int) string {
	if width <= 0 || len(s) <= width { // no character takes more columns than bytes
		return s
	}
	if most := 8 * width; len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return columns.Truncate(s, width, "…")
}

// pad fills escaped text up to width columns.
func pad(s string, width int, right bool) string {
	n := width - columns.StringWidth(s)
	if n <= 0 {
		return s
	}
	if right {
		return strings.Repeat(" ", n) + s
	}
	return s + strings.Repeat(" ", n)
}

// A lines writer keeps the first error, so that callers need not check every line.
type lines struct {
	w   io.Writer
	err error
}

func (l *lines) printf(format string, args ...any) {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.w, format, args...)
	}
}

// Short names for the functions of package escape.

func hazard(r rune) bool { return safe.Hazard(r) }

func plainASCII(b []byte) int { return safe.ASCII(b) }

func escape(s string) string { return safe.Escape(s) }

func clean(s string) bool { return safe.Clean(s) }

func escapeRune(r rune) string { return safe.EscapeRune(r) }

func appendEscape(dst []byte, r rune) []byte { return safe.AppendEscape(dst, r) }

func encodeJSON(v any) ([]byte, error) { return safe.JSON(v) }

func unquote(token []byte) ([]byte, error) { return safe.Unquote(token) }

// formatSize returns a number of bytes with a unit.
func formatSize(n int64) string { return view.Size(n) }

// formatDuration returns a duration in about three digits.
func formatDuration(d time.Duration) string { return view.Took(d) }

// joinWords joins the words that are not empty.
func joinWords(sep string, words ...string) string { return view.JoinWords(sep, words...) }

// parseSize parses a size such as 64MiB, 1.5 GB, 500k or 4096B. K, M and G are powers of
// 1024.
func parseSize(s string) (int64, error) {
	text := strings.TrimSpace(s)
	end := strings.LastIndexAny(text, "0123456789.") + 1
	number, unit := text[:end], strings.ToLower(strings.TrimSpace(text[end:]))
	factor := map[string]float64{
		"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9,
		"k": 1 << 10, "m": 1 << 20, "g": 1 << 30,
		"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30,
	}[unit]
	v, err := strconv.ParseFloat(number, 64)
	if err == nil && unit == "" && v > 0 {
		return 0, fmt.Errorf("size %s has no unit (such as %sMiB, or %sB for bytes)", quote(s), number, number)
	}
	if err != nil || factor == 0 && v != 0 || v < 0 || math.IsInf(v, 0) || v*factor > 1<<50 || strings.ContainsAny(number, "eExXpP_") {
		return 0, fmt.Errorf("invalid size %s (a number with a unit, such as 64MiB)", quote(s))
	}
	return int64(v * factor), nil
}

// formatOffset returns a time since the start of a recording, always in milliseconds, so
// that a column is easy to compare.
func formatOffset(d time.Duration) string {
	ms := d.Milliseconds()
	s := ms / 1000
	switch {
	case s < 60:
		return fmt.Sprintf("%d.%03ds", s, ms%1000)
	case s < 3600:
		return fmt.Sprintf("%dm%02d.%03ds", s/60, s%60, ms%1000)
	}
	return fmt.Sprintf("%dh%02dm%02d.%03ds", s/3600, s/60%60, s%60, ms%1000)
}

// formatStart returns the start of a recording, without the parts that equal those of now,
// in at most 12 columns.
func formatStart(t, now time.Time) string {
	switch y, m, d := t.Date(); {
	case t.IsZero():
		return "-"
	case y != now.Year():
		return t.Format("2006-01-02")
	case m != now.Month() || d != now.Day():
		return t.Format("Jan _2 15:04")
	}
	return t.Format("15:04:05")
}

// plural returns a count with its noun.
func plural[N int | uint64 | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

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
	cols    []column
	widths  []int // of cols; 0 omits a column
	started bool  // the column titles are printed
}

func newRowTable(w *bufio.Writer, paint palette, width int, info store.Info) rowTable {
	return rowTable{
		w: w, paint: paint, width: width, gap: "  ", when: formatOffset,
		digits: len(strconv.FormatUint(max(info.Frames, 999), 10)), offset: max(len("0.000s"), len(formatOffset(info.Duration))),
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

// setLabel makes rows begin with a label and have the time of day.
func (t *rowTable) setLabel(label string, when func(time.Duration) string) {
	n := labelWidth
	if t.width > 0 {
		n = min(n, t.width/5)
	}
	t.prefix, t.when = pad(fit(escape(label), n), n, false)+" ", when
	t.digits, t.offset = max(t.digits, labelledDigits), max(t.offset, len(clockLayout))
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
