package stdio

import (
	"errors"
	"fmt"

	"github.com/mcptap/mcptap/tap"
)

// Config says what to run and between which descriptors.
type Config struct {
	// Command is the argv of the server. Command[0] is looked up in PATH as
	// execvp does, and reaches the server as given.
	Command []string
	// Stdin, Stdout and Stderr are the client's side: descriptors on Unix,
	// handles on Windows. Zero means the process's own.
	Stdin, Stdout, Stderr uintptr
	// Recorder takes what crosses. Nil records nothing.
	Recorder tap.Recorder
	// Open, if set, is called instead of using Recorder once the server is
	// running, so that both start side by side, or with pid 0 when it could not
	// be started. No byte is read from either side before it returns.
	Open func(pid int) tap.Recorder
	// Started, if set, is called once the server runs and signals to the tap
	// reach it, and before the first byte is forwarded.
	Started func(pid int)
	// Warn, if set, is told at most once, in words for a person, that the
	// recorder failed. Forwarding goes on without it.
	Warn func(msg string)
}

// ExitOwnFailure is the status for a failure of the tap itself, as env(1) has
// it. [Run] returns it with an error.
const ExitOwnFailure = 125

// Statuses of a command that could not be started, as env(1) and the shell
// have them.
const (
	exitCannotExec = 126
	exitNotFound   = 127
)

var errNoCommand = errors.New("no server command was given")

// recorder returns the recorder behind its guard, once the server's start has
// been tried.
func (c *Config) recorder(pid int) (r tap.Recorder) {
	if c.Open == nil {
		return tap.Guard(c.Recorder, c.Warn)
	}
	defer func() {
		if v := recover(); v != nil {
			if r = tap.Guard(nil, nil); c.Warn != nil {
				c.Warn(fmt.Sprintf("recording stopped, traffic goes on: %v", v))
			}
		}
	}()
	return tap.Guard(c.Open(pid), c.Warn)
}
