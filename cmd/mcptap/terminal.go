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
	return withHint(fmt.Errorf("--color: unknown value %s (want auto, always or never)", quote(a.colorFlag)),
		"leave it out for auto")
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
	if err != nil || factor == 0 && v != 0 || v < 0 || math.IsInf(v, 0) || v*factor > 1<<50 ||
		strings.ContainsAny(number, "eExXpP_") {
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

// ask asks a question on the terminal, and reports whether the answer is yes.
func (a *app) ask(question string) bool {
	fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(a.stdin).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
