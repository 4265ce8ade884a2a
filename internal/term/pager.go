package term

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"

	"github.com/mcptap/mcptap/internal/hint"
)

// PagerCommand returns the command of the pager, or "" for none. set reports whether PAGER is set in
// the environment, even if empty.
func PagerCommand(pager string, set bool) string {
	switch {
	case pager == "cat":
		return ""
	case pager == "" && !set:
		if _, err := exec.LookPath("less"); err == nil {
			return "less"
		}
	}
	return pager
}

// A Pager is a program that displays its input. The first Write starts it.
type Pager struct {
	Command string
	Screen  *os.File
	cmd     *exec.Cmd
	in      io.WriteCloser
}

// Write implements [io.Writer].
func (p *Pager) Write(b []byte) (int, error) {
	if p.in == nil {
		if err := p.start(); err != nil {
			return 0, fmt.Errorf("pager %s: %w", Quote(p.Command), err)
		}
	}
	return p.in.Write(b)
}

func (p *Pager) start() (err error) {
	args := []string{"sh", "-c", p.Command}
	if runtime.GOOS == "windows" {
		args = strings.Fields(p.Command)
	}
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = p.Screen, os.Stderr
	if _, set := os.LookupEnv("LESS"); !set {
		p.cmd.Env = append(os.Environ(), "LESS=FRX") // as git does
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	return p.cmd.Start()
}

// Wait waits until the user quits the pager.
func (p *Pager) Wait() error {
	if p.in == nil || p.cmd.Process == nil {
		return nil
	}
	p.in.Close()
	interrupts := make(chan os.Signal, 1) // Ctrl-C is for the pager
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	var failed *exec.ExitError
	if err := p.cmd.Wait(); errors.As(err, &failed) && failed.ExitCode() == 127 {
		return hint.With(fmt.Errorf("pager %s: not found", Quote(p.Command)),
			"set PAGER to another program, or pass --no-pager")
	}
	return nil
}
