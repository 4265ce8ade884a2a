package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcptap/mcptap/internal/hint"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/text"
)

// An app holds everything a command may use from outside: streams, environment, clock.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) string
	environ        []string // all variables, as NAME=value
	now            func() time.Time
	zone           *time.Location

	// screen is the terminal behind the pager of stdout, if any.
	screen *os.File

	// ctx is cancelled by Ctrl-C. temp lists directories to remove at the end.
	ctx  context.Context
	temp []string

	// noted are the arguments that noteLabel has reported.
	noted []string

	// The persistent flags.
	dirFlag   string
	colorFlag string
}

// heapGoal is the memory limit of a command, unless GOMEMLIMIT sets another. The data
// that commands hold has lower bounds, so that a process stays below 1 GB for any
// recording.
const heapGoal = 640 << 20

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
		// A host waits for the server behind this: no signal handling but the
		// tap's own, and none of the other commands is even built.
		return a.finish(a.execute(context.Background(), newStdioRoot(a), args), exitTap)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // the second Ctrl-C ends us at once
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

// The exit codes.
const (
	exitNo          = 1   // a negative answer
	exitFailure     = 2   // usage or run-time error
	exitTap         = 125 // mcptap stdio itself failed, before it started the server
	exitNotFound    = 127 // mcptap stdio did not find the server's command
	exitInterrupted = 130 // Ctrl-C
	exitPipe        = 141 // the reader of stdout went away, as the shell counts SIGPIPE
)

// finish reports an error and returns its exit code; nothing else does either. failure
// is the code of an error without one.
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
		return exitPipe // `| head` has seen enough: nothing to say
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

// say writes one line to stderr. The line may hold recorded text.
func (a *app) say(line string) {
	fmt.Fprintf(a.stderr, "mcptap: %s\n", safe.String(line))
}

// messages returns the texts of an error, one per joined error, each once.
func messages(err error) (all []string) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			for _, text := range messages(e) {
				if !slices.Contains(all, text) { // both writing and flushing may fail
					all = append(all, text)
				}
			}
		}
		return all
	}
	return []string{strings.ReplaceAll(err.Error(), "\n", "; ")}
}

// hintFor prints the advice of an error, if any.
func (a *app) hintFor(err error) {
	if hint := hintFor(err); hint != "" {
		a.say("hint: " + hint)
	}
}

// An exitCode is an error that has been reported, or needs no report. The process exits
// with it.
type exitCode int

func (exitCode) Error() string { return "exit" }

// A coded error sets the exit code of the process.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

// hintFor returns the advice of an error, or "".
func hintFor(err error) string {
	var wrong *text.Error
	switch advice := hint.Of(err); {
	case advice != "":
		return advice
	case errors.As(err, &wrong):
		return wrong.Hint
	case errors.Is(err, text.ErrNewer):
		return "update mcptap"
	case errors.Is(err, store.ErrNewer):
		return "update mcptap, see `mcptap version`"
	case errors.Is(err, store.ErrLive):
		return "end the client that runs it first"
	}
	return ""
}
