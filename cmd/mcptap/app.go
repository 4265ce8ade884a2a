package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// An app holds what a command uses of its surroundings: streams, environment, clock.
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

	// noted lists the arguments that noteLabel has reported.
	noted []string

	// The persistent flags.
	dirFlag   string
	colorFlag string
}

// heapGoal is the memory limit of a command, unless GOMEMLIMIT sets another. The data
// that commands hold has lower bounds, so that a process stays below 1 GB for any
// recording.
const heapGoal = 640 << 20

// The exit codes.
const (
	exitNegative    = 1   // a negative result
	exitFailure     = 2   // usage or run-time error
	exitTap         = 125 // mcptap stdio itself failed, before it started the server
	exitNotFound    = 127 // mcptap stdio did not find the server's command
	exitInterrupted = 130 // Ctrl-C
	exitPipe        = 141 // the reader of stdout went away, as the shell counts SIGPIPE
)

// An exitCode is an error that has been reported, or needs no report. The process exits
// with it.
type exitCode int

func (exitCode) Error() string { return "exit" }

// A coded error carries the exit code of the process.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

// hintFor returns the hint for an error, or "".
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

// hintFor prints the hint for an error, if any.
func (a *app) hintFor(err error) {
	if hint := hintFor(err); hint != "" {
		a.say("hint: " + hint)
	}
}

// version is set by the linker for releases: -ldflags "-X main.version=1.2.3".
var version string

// programVersion returns the release, or else what the build information records.
func programVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if revision == "" {
		return "devel"
	}
	return "devel-" + revision + dirty
}

// afterEcho calls fn, which lets the second signal end the process, a moment after the first one.
// Ctrl-C below timeout(1) and other wrappers arrives twice: from the terminal and from the wrapper.
func afterEcho(fn func()) { time.AfterFunc(250*time.Millisecond, fn) }

// endSignals returns the signals that end a server, in addition to Ctrl-C. Under nohup,
// SIGHUP is ignored.
func endSignals() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{syscall.SIGTERM}
	}
	return []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
}
