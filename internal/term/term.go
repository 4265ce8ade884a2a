// Package term prints on terminals: styles, widths, tables, units and the pager. Texts must be escaped
// before they are measured or printed; see package internal/term/escape.
package term

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"

	safe "github.com/mcptap/mcptap/internal/term/escape"
)

// columns measures text as terminals outside East Asian locales do, in any locale: a line that is too
// short is better than one that wraps.
var columns = runewidth.Condition{StrictEmojiNeutral: true}

// Width returns the number of columns that escaped text takes.
func Width(s string) int { return columns.StringWidth(s) }

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// ScreenWidth returns the number of columns of a terminal, or 80 if it is unknown.
func ScreenWidth(f *os.File) int {
	if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
		return max(n, MinWidth)
	}
	return 80
}

// MinWidth is the minimum width of a line; narrower terminals wrap.
const MinWidth = 20

// A Style is readable on dark and light terminals. It never carries information that the text lacks.
type Style string

const (
	Plain    Style = ""
	Bold     Style = "1"
	Dim      Style = "2"
	Red      Style = "31"
	Green    Style = "32"
	Cyan     Style = "36"
	Magenta  Style = "35"
	BoldRed  Style = "1;31"
	BoldCyan Style = "1;36"
)

// A Palette applies styles if it is on.
type Palette struct{ On bool }

// Paint returns s in a style. s must already be escaped.
func (p Palette) Paint(s string, as Style) string {
	if !p.On || as == Plain || s == "" {
		return s
	}
	return "\x1b[" + string(as) + "m" + s + "\x1b[0m"
}

// Fit cuts escaped text to at most width columns. It also cuts long runs of combining marks, which
// have no width.
func Fit(s string, width int) string {
	if width <= 0 || len(s) <= width { // no character takes more columns than bytes
		return s
	}
	if most := 8 * width; len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return columns.Truncate(s, width, "…")
}

// Pad pads escaped text to width columns.
func Pad(s string, width int, right bool) string {
	n := width - Width(s)
	if n <= 0 {
		return s
	}
	if right {
		return strings.Repeat(" ", n) + s
	}
	return s + strings.Repeat(" ", n)
}

// A Printer prints lines to W. It keeps the first error, so that callers need not check
// every line.
type Printer struct {
	W io.Writer
	Palette
	Width int // of a line; 0 means unlimited
	Err   error
}

// TextWidth returns the width for lines of prose: at most most columns, and 100 if lines are
// unlimited.
func (l *Printer) TextWidth(most int) int {
	if l.Width == 0 {
		return 100
	}
	return min(l.Width, most)
}

// Printf prints formatted text.
func (l *Printer) Printf(format string, args ...any) {
	if l.Err == nil {
		_, l.Err = fmt.Fprintf(l.W, format, args...)
	}
}

// WriteJSON writes a value as one line of JSON.
func WriteJSON(w io.Writer, v any) error {
	b, err := safe.JSON(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
