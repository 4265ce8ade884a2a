package tap

import (
	"encoding/json"
	"time"
)

// An Event is what the tap saw of the run itself. It travels as JSON in the Raw
// of a [Life] frame. Which fields are set depends on Name.
type Event struct {
	// Name says what happened; see the Event constants.
	Name string `json:"event"`
	// Transport is "stdio" (start).
	Transport string `json:"transport,omitempty"`
	// Command is the server's argv (start, spawn_failed).
	Command []string `json:"command,omitempty"`
	// Dir is the working directory (start).
	Dir string `json:"dir,omitempty"`
	// PID is the server's process id (start).
	PID int `json:"pid,omitempty"`
	// Lane names the byte stream concerned (eof, broken).
	Lane string `json:"lane,omitempty"`
	// Bytes counts bytes: those that arrived but could not be delivered
	// (broken), or those that crossed unrecorded (gap).
	Bytes uint64 `json:"bytes,omitempty"`
	// From and To are the first and last frame number that a gap covers.
	From uint64 `json:"from,omitempty"`
	To   uint64 `json:"to,omitempty"`
	// Signal is a signal's name such as "SIGTERM": forwarded to the server
	// (signal), or the one that ended it (exit).
	Signal string `json:"signal,omitempty"`
	// Code is the server's exit status, or the status that the tap itself
	// returned (exit, spawn_failed).
	Code *int `json:"code,omitempty"`
	// Error is a failure in words (spawn_failed, gap, broken).
	Error string `json:"error,omitempty"`
}

// The names of events.
const (
	EventStart       = "start"        // the server process was started
	EventSpawnFailed = "spawn_failed" // it could not be started
	EventEOF         = "eof"          // one lane ended
	EventBroken      = "broken"       // one lane's receiver went away
	EventSignal      = "signal"       // a signal was forwarded to the server
	EventExit        = "exit"         // the server process ended
	EventGap         = "gap"          // frames crossed while nothing could be recorded
)

// Encode returns the event as one JSON object without a newline.
func (e Event) Encode() []byte {
	b, err := json.Marshal(e)
	if err != nil { // strings and numbers only: cannot happen
		panic(err)
	}
	return b
}

// ParseEvent reads the event in a [Life] frame's Raw.
func ParseEvent(raw []byte) (Event, error) {
	var e Event
	err := json.Unmarshal(raw, &e)
	return e, err
}

// A Range is an inclusive range of frame numbers.
type Range struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// A Header is what is known of a recording before its first frame.
type Header struct {
	// ID names the recording: lower-case hex, made at random.
	ID string `json:"id"`
	// Label is the name that the person gave it, or one made from the command.
	Label string `json:"label"`
	// Start is the wall clock at offset zero, in UTC.
	Start time.Time `json:"start"`
	// Transport is "stdio".
	Transport string `json:"transport"`
	// Command is the argv of the server.
	Command []string `json:"command,omitempty"`
	// Dir is the working directory of the run.
	Dir string `json:"dir,omitempty"`
	// Program is the program that recorded it, with its version.
	Program string `json:"program,omitempty"`
	// Platform is GOOS/GOARCH.
	Platform string `json:"platform,omitempty"`
}
