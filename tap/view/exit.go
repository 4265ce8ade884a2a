package view

import (
	"fmt"
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
	return JoinWords(": ", "the server could not be started", strings.Join(x.event.Command[:min(len(x.event.Command), 1)], ""), x.event.Error)
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
