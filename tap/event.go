package tap

import (
	"encoding/json"
	"slices"
	"time"
)

// An Event is something that the tap observed about the run. It is recorded as JSON in the Raw of a
// [Lifecycle] frame. Which fields are set depends on Name.
type Event struct {
	// Name reports what happened; see the Event constants.
	Name string `json:"event"`
	// Transport is "stdio" or "http" (start).
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
	// Error is a failure in words (spawn_failed, gap, broken, disconnect, end). On a
	// request it is why the rest of its head is missing: it is not HTTP/1, ended too
	// early, or is too large. Such a request has no Method, Target and Header. On an
	// end it is which side broke off the exchange, and where; then, after semicolons,
	// what was not recorded, and why.
	Error string `json:"error,omitempty"`

	// Listen is the address that the tap listens on, Upstream the origin that it
	// forwards to (start of an HTTP recording).
	Listen   string `json:"listen,omitempty"`
	Upstream string `json:"upstream,omitempty"`
	// Conn numbers the client's connections from 1 (connect, disconnect,
	// request).
	Conn uint64 `json:"conn,omitempty"`
	// Remote is the client's address (connect).
	Remote string `json:"remote,omitempty"`
	// Proto is the version of HTTP, such as "HTTP/1.1" (request, response).
	Proto string `json:"proto,omitempty"`
	// Method and Target are the request line's: the target as it was sent, with
	// its query (request).
	Method string `json:"method,omitempty"`
	Target string `json:"target,omitempty"`
	// Status and Reason are the status line's (response). A status below 200
	// is an interim response; more follow.
	Status int    `json:"status,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Header has the fields in their order and spelling, each a name and a
	// value (request, response). Secret values are masked.
	Header [][2]string `json:"header,omitempty"`
	// Masked names what was replaced by pseudonyms, each once. An entry of one word is
	// a header field in its original spelling (request, response), or a trailer field
	// (end). The others are "target NAME", a parameter of the target, such as "target
	// code" (request); "body NAME", a member of a JSON body or a parameter of a form,
	// such as "body access_token" (end); and "endpoint NAME", a parameter of the URL in
	// the first event of an HTTP+SSE server, such as "endpoint sessionId" (end). A body
	// that could not be masked was not recorded, which Error reports (end).
	Masked []string `json:"masked,omitempty"`
	// Trailer has the fields after a chunked body (end).
	Trailer [][2]string `json:"trailer,omitempty"`
	// By is the side that did it: client, server or tap. The tap itself responds when
	// the upstream cannot be reached (response, end, rewrite, disconnect, hang_up).
	By string `json:"by,omitempty"`
	// HalfClosed reports that the client hung up by closing its side of the connection
	// before the end of the response, whichever side then ended the response (end).
	HalfClosed bool `json:"half_closed,omitempty"`
	// Coding is the content coding that was decoded, or that could not be decoded,
	// which Error reports (end).
	Coding string `json:"coding,omitempty"`
	// What names what was rewritten, such as "header Host" or "event
	// endpoint"; Before is what it was, After what was forwarded (rewrite).
	What   string `json:"what,omitempty"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// FirstByte is the offset from the request's first byte to the response's,
	// in nanoseconds (end).
	FirstByte time.Duration `json:"first_byte_ns,omitempty"`
	// BytesUp and BytesDown are the bytes of the bodies as they crossed, their
	// codings included (end).
	BytesUp   uint64 `json:"bytes_up,omitempty"`
	BytesDown uint64 `json:"bytes_down,omitempty"`
	// KeepsSecrets reports that nothing is masked (start).
	KeepsSecrets bool `json:"keeps_secrets,omitempty"`
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

	EventConnect    = "connect"    // a client's connection was accepted
	EventDisconnect = "disconnect" // it ended
	EventRequest    = "request"    // the head of a request
	EventResponse   = "response"   // the head of a response
	EventRewrite    = "rewrite"    // the tap changed what it forwarded
	EventHangUp     = "hang_up"    // the client ended its connection while a response was due
	EventEnd        = "end"        // an exchange is over
)

// EndWithinEvent is what [Event].Error of an [EventEnd] contains if an event stream ended
// properly, but its last event has no blank line: clients ignore such an event (WHATWG HTML,
// server-sent events, "interpreting an event stream").
const EndWithinEvent = "the response ended within an event"

// EndWithinMessage is what Error contains if the last WebSocket message of the server is incomplete.
const EndWithinMessage = "the last WebSocket message from the server is incomplete"

// Encode returns the event as one JSON object without a newline.
func (e Event) Encode() []byte {
	b, err := json.Marshal(e)
	if err != nil {
		panic(err) // cannot happen: all fields can be encoded
	}
	return b
}

// ParseEvent reads the event in a [Lifecycle] frame's Raw.
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

// A Header describes a recording. It is known before the first frame.
type Header struct {
	// ID identifies the recording: random lower-case hex.
	ID string `json:"id"`
	// Label is the name that the user gave it, or one derived from the command.
	Label string `json:"label"`
	// Start is the wall clock at offset zero, in UTC.
	Start time.Time `json:"start"`
	// Transport is "stdio" or "http".
	Transport string `json:"transport"`
	// Command is the argv of the server.
	Command []string `json:"command,omitempty"`
	// Upstream is the origin, or the URL, that an HTTP tap forwards to.
	Upstream string `json:"upstream,omitempty"`
	// Dir is the working directory of the run.
	Dir string `json:"dir,omitempty"`
	// Program is the program that recorded it, with its version.
	Program string `json:"program,omitempty"`
	// Platform is GOOS/GOARCH.
	Platform string `json:"platform,omitempty"`
	// ReplayOf is the id of the recording whose client was replayed, "" for a real
	// client.
	ReplayOf string `json:"replay_of,omitempty"`
}

// failedStatus reports whether the status of an HTTP response to a request with the given
// method is a failure. Statuses of 400 and above are, except those that the specification
// expects (basic/transports, basic/authorization):
//
//   - 401, 404 and 405 to a request that carries no message (GET, HEAD, OPTIONS, DELETE):
//     clients look for metadata that a server may not have, ask for a stream that it may
//     not offer, or end a session that it may not let them end.
//
// A POST that is answered with 401 has no valid token; one that is answered with 404 or 405 has
// a dead session, the wrong URL, or requests an unknown method. An unknown method, "", counts as POST.
func failedStatus(method string, status int) bool {
	if status == 401 || status == 404 || status == 405 {
		return !slices.Contains([]string{"GET", "HEAD", "OPTIONS", "DELETE"}, method)
	}
	return status >= 400
}

// IsError reports whether an event is an error: the server could not be started, it ended
// with a failure status or on a signal other than those that ask it to end, a lane broke,
// frames were not recorded, or an HTTP response has a failure status (from 400 on, except
// 401, 404 and 405 to a request that carries no message). method is the method of the
// request that the event is about, if any. An exchange that was broken off is not an
// error; its calls report the consequences.
func (e *Event) IsError(method string) bool {
	switch e.Name {
	case "": // not an event
		return true
	case EventSpawnFailed, EventBroken, EventGap:
		return true
	case EventExit:
		return !e.askedToEnd()
	case EventResponse:
		return failedStatus(method, e.Status)
	}
	return false
}

// askedToEnd reports whether a server ended successfully, or because of one of the
// signals with which clients end servers.
func (e *Event) askedToEnd() bool {
	if !slices.Contains([]string{"", "SIGTERM", "SIGINT", "SIGHUP"}, e.Signal) {
		return false
	}
	return e.Signal != "" || e.Code == nil || slices.Contains([]int{0, 128 + 1, 128 + 2, 128 + 15}, *e.Code)
}

// Failed reports whether an event is a failure: an error, or the end of an
// exchange or a connection that was broken off.
func (e *Event) Failed(method string) bool { return e.IsError(method) || e.Error != "" }
