package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// columns measures as terminals do outside of East Asian locales, whatever the
// locale here is: a table that is one column short is better than one that
// wraps.
var columns = runewidth.Condition{StrictEmojiNeutral: true}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminal returns the terminal that stdout is or leads to, or nil.
func (a *app) terminal() *os.File {
	if f, ok := a.stdout.(*os.File); ok && a.screen == nil && isTerminal(f) {
		return f
	}
	return a.screen
}

// width returns how many columns a line of stdout may have, 0 for any number.
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
	return withHint(fmt.Errorf("--color: %s is none of auto, always, never", quote(a.colorFlag)), "leave it out for auto")
}

// A style is a way to stand out, on dark and on light. None of them carries a
// meaning that the text does not say as well.
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

// A palette paints, or does not.
type palette struct{ on bool }

// palette returns the colours for stdout: on a terminal that has them, for a
// person who wants them.
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

// fit cuts escaped text to at most width columns. An endless run of combining
// marks, which takes none, is cut as well.
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

// A lines writer remembers the first failure, so that a long listing need not
// check every line.
type lines struct {
	w   io.Writer
	err error
}

func (l *lines) printf(format string, args ...any) {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.w, format, args...)
	}
}
