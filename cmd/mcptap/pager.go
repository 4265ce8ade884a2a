package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

func addNoPager(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "no-pager", false, "do not send the output to $PAGER")
}

// pagerCommand returns the command of the pager, "" for none. set reports whether the
// environment has PAGER at all.
func pagerCommand(pager string, set bool) string {
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

// paged runs a command whose output goes to the pager, if stdout is a terminal.
func (a *app) paged(off bool, run func() error) error {
	screen := a.terminal()
	_, set := os.LookupEnv("PAGER")
	command := pagerCommand(a.env("PAGER"), set)
	if off || screen == nil || command == "" {
		return run()
	}
	p := &pager{command: command, screen: screen}
	stdout, was := a.stdout, a.screen
	a.stdout, a.screen = p, screen
	err := run()
	a.stdout, a.screen = stdout, was
	if errors.Is(err, syscall.EPIPE) { // the person has seen enough
		err = nil
	}
	return errors.Join(err, p.wait())
}

// A pager is a program that shows what is written to it. The first Write starts it.
type pager struct {
	command string
	screen  *os.File
	cmd     *exec.Cmd
	in      io.WriteCloser
}

// Write implements [io.Writer].
func (p *pager) Write(b []byte) (int, error) {
	if p.in == nil {
		if err := p.start(); err != nil {
			return 0, fmt.Errorf("pager %s: %w", quote(p.command), err)
		}
	}
	return p.in.Write(b)
}

func (p *pager) start() (err error) {
	args := []string{"sh", "-c", p.command}
	if runtime.GOOS == "windows" {
		args = strings.Fields(p.command)
	}
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = p.screen, os.Stderr
	if _, set := os.LookupEnv("LESS"); !set {
		p.cmd.Env = append(os.Environ(), "LESS=FRX") // as git does
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	return p.cmd.Start()
}

// wait returns when the person has left the pager.
func (p *pager) wait() error {
	if p.in == nil || p.cmd.Process == nil {
		return nil
	}
	p.in.Close()
	interrupts := make(chan os.Signal, 1) // Ctrl-C is for the pager
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	var failed *exec.ExitError
	if err := p.cmd.Wait(); errors.As(err, &failed) && failed.ExitCode() == 127 {
		return withHint(fmt.Errorf("pager %s: not found", quote(p.command)),
			"set PAGER to another program, or pass --no-pager")
	}
	return nil
}
