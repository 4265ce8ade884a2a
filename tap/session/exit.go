package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/tap"
)

// An Exit is how the server process ended. Its texts are those of the recording; escape them
// before printing.
type Exit struct {
	event  tap.Event
	signal string // the last signal that was forwarded to the server
}

// Add adds the next event of the recording.
func (x *Exit) Add(e *tap.Event) {
	switch e.Name {
	case tap.EventSignal:
		x.signal = e.Signal
	case tap.EventExit, tap.EventSpawnFailed:
		x.event = *e
	}
}

// NotStarted describes why the server could not be started, "" if it was.
func (x *Exit) NotStarted() string {
	if x.event.Name != tap.EventSpawnFailed {
		return ""
	}
	words := []string{"the server could not be started", strings.Join(x.event.Command[:min(len(x.event.Command), 1)], ""), x.event.Error}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ": ")
}

// Failed reports whether the server failed: it exited with an error status, or by a signal that
// the client did not send.
func (x *Exit) Failed() bool {
	return x.Words() != "" && (x.event.Signal == "" || x.event.Signal != x.signal)
}

// Words describes a failure, and a signal that ended the server; "" if it ended by itself.
func (x *Exit) Words() string {
	switch e := &x.event; {
	case e.Name == tap.EventSpawnFailed:
		return x.NotStarted()
	case e.Signal != "" && e.Signal == x.signal:
		return "the client ended the server with " + e.Signal
	case e.Signal != "":
		return "the server was ended by " + e.Signal
	case e.Code != nil && *e.Code != 0:
		return fmt.Sprintf("the server exited with code %d", *e.Code)
	}
	return ""
}

// ending are the signals with which clients end servers. Many servers then exit with an error status.
var ending = map[string]bool{"SIGINT": true, "SIGTERM": true, "SIGHUP": true, "SIGQUIT": true}

// Brief returns how the server failed in a word or two, such as "exit 1", "SIGSEGV" or "not started";
// "" if it did not, or if the client ended it.
func (x *Exit) Brief() string {
	switch e := &x.event; {
	case !x.Failed() || ending[x.signal]:
		return ""
	case e.Name == tap.EventSpawnFailed:
		return "not started"
	case e.Signal != "":
		return e.Signal
	default:
		return fmt.Sprintf("exit %d", *e.Code)
	}
}
