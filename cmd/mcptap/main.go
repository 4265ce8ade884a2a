package main

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcptap/mcptap/store"
)

func main() {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(heapGoal)
	}
	a := &app{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		env: os.Getenv, environ: os.Environ(), now: time.Now, zone: time.Local,
	}
	if slices.Contains([]string{"ls", "show", "stats"}, commandIn(os.Args[1:])) {
		store.GiveWay() // a reader must not slow down a tap
	}
	os.Exit(a.run(os.Args[1:]))
}

// run executes one command line and returns the exit code.
func (a *app) run(args []string) int {
	if commandIn(args) == "stdio" {
		// A host is waiting for the server: only the tap handles signals, and the other
		// commands are not even built.
		return a.finish(a.execute(context.Background(), newStdioRoot(a), args), exitTap)
	}
	// Writing to a pipe without a reader then returns EPIPE. Dying of the signal would leave
	// behind the temporary copy of a text or a bundle.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, func() { afterEcho(stop) }) // the second Ctrl-C kills us
	defer stop()
	err := a.execute(ctx, newRoot(a), args)
	a.removeTemp()
	var code exitCode
	if err != nil && ctx.Err() != nil && !errors.As(err, &code) {
		err = ctx.Err()
	}
	return a.finish(err, exitFailure)
}

// commandIn returns the name of the command, which persistent flags may precede.
func commandIn(args []string) string {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--dir" || arg == "--color":
			i++
		case strings.HasPrefix(arg, "--dir=") || strings.HasPrefix(arg, "--color="):
		default:
			return arg
		}
	}
	return ""
}

// finish reports an error and returns its exit code; only finish does either. failure is
// the code for an error that has none.
func (a *app) finish(err error, failure int) int {
	var code exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe):
		return exitPipe // `| head` has read enough: report nothing
	}
	for _, text := range messages(err) {
		a.say(text)
	}
	a.hintFor(err)
	var c coded
	if errors.As(err, &c) {
		return c.code
	}
	return failure
}
