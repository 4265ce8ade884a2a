package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
)

// terminal returns the terminal that stdout or its pager writes to, or nil.
func (a *app) terminal() *os.File {
	if f, ok := a.stdout.(*os.File); ok && a.screen == nil && term.IsTerminal(f) {
		return f
	}
	return a.screen
}

// width returns the line width of stdout, 0 if it is unlimited.
func (a *app) width() int {
	if n, err := strconv.Atoi(a.env("COLUMNS")); err == nil && n > 0 {
		return max(n, term.MinWidth)
	}
	if f := a.terminal(); f != nil {
		return term.ScreenWidth(f)
	}
	return 0
}

func (a *app) checkColor() error {
	switch a.colorFlag {
	case "auto", "always", "never":
		return nil
	}
	return hint.With(fmt.Errorf("--color: unknown value %s (want auto, always or never)", term.Quote(a.colorFlag)),
		"leave it out for auto")
}

// palette returns the palette for stdout.
func (a *app) palette() term.Palette {
	switch a.colorFlag {
	case "always":
		return term.Palette{On: true}
	case "never":
		return term.Palette{}
	}
	return term.Palette{On: a.terminal() != nil && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"}
}

// printer returns a printer for stdout; w is stdout or a buffer in front of it.
func (a *app) printer(w io.Writer) *term.Printer {
	return &term.Printer{W: w, Palette: a.palette(), Width: a.width()}
}

// ask asks a question on the terminal, and reports whether the answer is yes.
func (a *app) ask(question string) bool {
	fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(a.stdin).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// paged runs a command whose output goes to the pager, if stdout is a terminal.
func (a *app) paged(off bool, run func() error) error {
	screen := a.terminal()
	_, set := os.LookupEnv("PAGER")
	command := term.PagerCommand(a.env("PAGER"), set)
	if off || screen == nil || command == "" {
		return run()
	}
	p := &term.Pager{Command: command, Screen: screen}
	stdout, was := a.stdout, a.screen
	a.stdout, a.screen = p, screen
	err := run()
	a.stdout, a.screen = stdout, was
	if errors.Is(err, syscall.EPIPE) { // the user quit the pager
		err = nil
	}
	return errors.Join(err, p.Wait())
}
