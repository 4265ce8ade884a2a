package view

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Row is the row of a list for a frame, or for one message of a batch. Its texts are
// those of the wire; escape them before printing.
type Row struct {
	// Part assigns it to a call. For a frame that carries no message, and for a batch as
	// a whole, only Message, Lane, At and Exchange are set.
	Part session.Part
	// Messages are its messages: of a batch as a whole all of them. They are valid until
	// the next frame is added.
	Messages []session.Part
	// Session is the number of the session of its HTTP exchange, 0 if there is none or
	// it is not known yet.
	Session int
	// Kind is the name of a [jsonrpc.Kind], stderr, or the name of an event of the
	// run ("lifecycle" where that cannot be read).
	Kind string
	// Sort is the sort of a frame without a message, as [OtherWords] returns it; "" for others.
	Sort string
	// ID is the id as on the wire, nil if there is none.
	ID []byte
	// Method is the method; for a response that of its request, for a head that refuses a
	// request that of the request.
	Method string
	// About is the subject of the message, or that of the request of a response.
	About string
	// Subject is the subject of the request, also for a response, and Preview a shortened form of
	// the arguments or the result: see [jsonrpc.Preview]. Both are "" without a message.
	Subject, Preview string
	// Failed reports whether it is a failure, which Fault describes. Error reports
	// whether it counts as an error; a batch does not, but its messages may.
	Failed, Error bool
	Fault         string
	// NoNewline reports that a message on stdio was held up because its newline is missing, which
	// Fault describes: the receiver cannot read it before the stream ends.
	NoNewline bool
	// Truncated reports that bytes of the frame are missing, Unread that it was too large
	// to be read; see [jsonrpc.Message.Unread].
	Truncated, Unread bool
	// Size is the frame's, in bytes, and Took how long it took to arrive.
	Size int64
	Took time.Duration
	// HTTP is the method and the target of the exchange, for a message and for the head and
	// the end of a response; for a message to the client, with the status.
	HTTP string
	// Resumes is as in [session.Entry].
	Resumes uint64
	// Alike is the open request that is meant: for a response without a request one with the same
	// digits in its id, or else of the same exchange; for a line that is not a message, but holds
	// the response to a request, that one. An [AlikeFinder] finds it; NewRow leaves it nil.
	Alike *session.Call
	// Refuses is the request that the head of a response refuses, zero for others.
	Refuses session.Ref
	// Ended are the calls that an event of HTTP ended: see [session.Pairing.AddEvent].
	Ended []Ended
}

// An Ended is a call that ended with an HTTP exchange.
type Ended struct {
	Call    session.Ref
	Notes   session.Notes
	Settled bool
}

// NewRow describes the frame as a whole.
func NewRow(r *session.Entry) Row {
	f := r.Frame
	if len(r.Parts) > 0 && r.Message.Kind != jsonrpc.Batch {
		return NewMessageRow(r, 0)
	}
	l := newRow(r)
	l.Part = session.Part{Message: session.Ref{Seq: f.Seq}, Lane: f.Lane, At: f.At, Exchange: f.Exchange}
	l.Messages = r.Parts
	switch {
	case f.Lane == tap.Lifecycle:
		l.event(r)
	case f.Lane == tap.Stderr:
		l.Kind, l.About = tap.Stderr.String(), beginning(f.Raw)
	case r.Message.Kind == jsonrpc.Batch:
		l.Part.Kind = jsonrpc.Batch
		l.Kind, l.About = jsonrpc.Batch.String(), jsonrpc.Subject(r.Message)
		l.Failed = r.Errors() > 0
	default: // not a message
		l.Part.Kind = r.Message.Kind
		l.Kind, l.About = r.Message.Kind.String(), beginning(jsonrpc.Payload(f))
		if r.Message.Kind == jsonrpc.Other {
			l.other(r)
		}
	}
	return l
}

// newRow returns a Row with the fields of the frame.
func newRow(r *session.Entry) Row {
	f := r.Frame
	l := Row{Truncated: f.Truncated, Size: f.Size, Took: f.Took}
	if f.Exchange != 0 {
		l.Session = r.Session
	}
	ends := r.Event.Name == tap.EventResponse || r.Event.Name == tap.EventEnd
	if x := &r.Exchange; (len(r.Parts) > 0 || ends) && x.Method != "" {
		l.HTTP = x.Method + " " + x.Target
		if f.Lane == tap.ToClient && x.Status != 0 {
			l.HTTP += " " + strconv.Itoa(x.Status)
		}
	}
	return l
}

// Plumbing reports whether a frame only shows how HTTP carries messages that have rows of
// their own, and nothing went wrong: connections, rewritten fields, heads of requests, heads
// of responses and ends of exchanges with a message, pings, events without data, and the body
// of a 202 where no response is due, such as "Accepted" in HTTP+SSE. An exchange without a
// message is left with one row, the head of its response; a stream that was opened by a GET
// also has its end, and its beginning if it resumes another.
func Plumbing(r *session.Entry) bool {
	if r.Frame.Lane != tap.Lifecycle {
		sort, _ := OtherWords(r.Frame)
		return len(r.Parts) == 0 && (sort == "priming" || sort == "comment" || sort == "ping" || sort == "pong" ||
			sort == "body" && r.Exchange.Carries && r.Exchange.Status == 202 && !r.Exchange.Accepted)
	}
	if r.Failed || r.Event.Error != "" && r.Event.Name != tap.EventEnd {
		return false
	}
	switch r.Event.Name {
	case tap.EventConnect, tap.EventDisconnect, tap.EventRewrite:
		return true
	case tap.EventRequest:
		return r.Resumes == 0
	case tap.EventResponse:
		return r.Event.Status < 200 && r.Event.Status != 101 || r.Exchange.Carries && r.Event.Status < 300
	case tap.EventHangUp:
		return len(r.Waiting)+len(r.Ended) == 0
	case tap.EventEnd:
		return r.Exchange.Method != "GET" || r.Exchange.Status >= 300
	}
	return false
}

// event describes an event of the run.
func (l *Row) event(r *session.Entry) {
	if r.Event.Name == "" {
		l.Kind, l.About, l.Failed, l.Fault = tap.Lifecycle.String(), beginning(r.Frame.Raw), true, "not an event"
		l.Error = true
		return
	}
	l.Kind, l.Failed, l.Resumes = r.Event.Name, r.Failed, r.Resumes
	l.Error = r.Errors() > 0
	for _, c := range r.Ended {
		l.Ended = append(l.Ended, Ended{c.Ref, c.Notes, c.Status.Settled()})
	}
	l.Refuses, l.Method, l.Subject = r.Refuses.Ref, r.Refuses.Method, r.Refuses.Subject
	l.About, l.Fault = wordsOf(r, l.Ended)
}

// other describes a frame that carries no message.
func (l *Row) other(r *session.Entry) {
	sort, about := OtherWords(r.Frame)
	l.Sort = sort
	if r.NoMessage() {
		l.Failed, l.Error, l.Fault = true, true, "not JSON-RPC"
	}
	if about != "" {
		l.About = about
	}
}

// NewMessageRow describes one message of the frame, by its index in Parts.
func NewMessageRow(r *session.Entry, i int) Row {
	f, m, p := r.Frame, r.Of(i), r.Parts[i]
	l := newRow(r)
	l.Part, l.Messages, l.Unread = p, r.Parts[i:i+1], m.Unread
	l.Kind, l.ID, l.Method, l.About = m.Kind.String(), m.ID, m.Method, jsonrpc.Subject(*m)
	l.Failed = m.IsFailure() && p.Role != session.RoleReplay && !r.Declines()
	l.Error = l.Failed
	l.Subject = l.About
	switch m.Kind {
	case jsonrpc.Invalid:
		l.Fault, l.About, l.Subject = m.Reason, "", ""
		if r.Message.Kind != jsonrpc.Batch {
			l.About = beginning(jsonrpc.Payload(f))
		}
	case jsonrpc.Request, jsonrpc.Notification:
		l.Preview = jsonrpc.Preview(*m)
	case jsonrpc.ErrorResponse:
		l.Method, l.Fault, l.About, l.Subject = p.Method, l.About, p.Subject, p.Subject
	case jsonrpc.Response:
		l.Method, l.Subject = p.Method, p.Subject
		if !m.IsError {
			l.Preview = jsonrpc.Preview(*m)
		}
		if m.IsError {
			l.Fault, l.About = strings.TrimSpace("isError "+l.About), ""
		}
		if l.About == "" {
			l.About = p.Subject
		}
	}
	// A Took of zero means that the stream ended at the same time, or that bare messages were imported.
	if m.Kind != jsonrpc.Invalid && f.Exchange == 0 && f.Took > 0 && !f.Truncated && !bytes.HasSuffix(f.Raw, []byte("\n")) {
		l.NoNewline, l.Fault = true, JoinWords(", ", l.Fault, NoNewlineWords)
	}
	return l
}

// A Title names a message or a call. The most distinctive part comes first. Its
// texts are those of the wire.
type Title struct {
	// For a tool call Name is the tool, for a notification its kind, and Method is the
	// method. For others Name is the method and the subject, and Method is "". Over HTTP
	// Method begins with the request line and the status.
	Name, Method string
	// Args are the arguments, and Result is what a response holds; "" for none.
	Args, Result string
}

// NewTitle returns the title of a request, and of its response, without arguments and
// result.
func NewTitle(method, subject string) Title {
	switch {
	case subject == "":
	case targetOf(method) == targetTool:
		return Title{Name: subject, Method: method}
	case strings.HasSuffix(method, "/list"): // the subject is a cursor
		return Title{Name: method, Args: subject}
	}
	return Title{Name: JoinWords(" ", method, subject)}
}

// Arguments returns a preview of the arguments of a request, "" if it cannot be read. frame returns a
// frame by its number.
func Arguments(frame func(seq uint64) (tap.Frame, error), ref session.Ref) string {
	f, err := frame(ref.Seq)
	if err != nil {
		return ""
	}
	m := jsonrpc.PeekFrame(&f)
	if m.Kind == jsonrpc.Batch && ref.Index < len(m.Batch) {
		m = m.Batch[ref.Index]
	}
	return jsonrpc.Preview(m)
}

// maxArguments limits the calls whose arguments AddArguments reads.
const maxArguments = 20

// AddArguments sets the arguments of the first of the calls that statistics list. frame returns a frame
// by its number.
func AddArguments(frame func(seq uint64) (tap.Frame, error), calls []session.StatsCall) {
	for i := range calls[:min(len(calls), maxArguments)] {
		calls[i].Arguments = Arguments(frame, calls[i].Ref)
	}
}

// Title returns the title of the row.
func (l *Row) Title() Title {
	t := l.title()
	if l.Part.Lane == tap.Lifecycle && l.Kind == tap.EventResponse && l.Method == "" {
		t.Name = JoinWords(" ", l.HTTP, t.Name)
		return t
	}
	t.Method = JoinWords(" · ", l.HTTP, t.Method)
	return t
}

func (l *Row) title() Title {
	p := &l.Part
	switch p.Kind {
	case jsonrpc.Request:
		t := NewTitle(l.Method, l.Subject)
		t.Args = JoinWords(" ", t.Args, l.Preview)
		return t
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		t := NewTitle(l.Method, l.Subject)
		t.Args, t.Result = "", l.Preview
		return t
	case jsonrpc.Notification:
		return l.notification()
	}
	if l.Kind == tap.EventResponse && l.Part.Lane == tap.Lifecycle && l.Method != "" {
		return NewTitle(l.Method, l.Subject)
	}
	return Title{Name: strings.TrimSpace(l.Method + " " + l.About)}
}

// notification returns the title of a notification. It names a call by its frame, because
// ids and progress tokens are other numbers.
func (l *Row) notification() Title {
	call := l.Part.Call.Seq
	switch {
	case jsonrpc.IsCancelled(l.Method) && call > 0:
		return Title{Name: fmt.Sprintf("cancels #%d", call), Args: l.Preview, Method: l.Method}
	case jsonrpc.IsCancelled(l.Method):
		return Title{Name: JoinWords(" ", "cancels id", l.About), Method: l.Method}
	case jsonrpc.IsProgress(l.Method) && call > 0:
		return Title{Name: fmt.Sprintf("progress of #%d", call), Args: l.Preview, Method: l.Method}
	case jsonrpc.IsProgress(l.Method):
		return Title{Name: JoinWords(" ", "progress of token", l.About), Method: l.Method}
	case l.Method == "notifications/message":
		return Title{Name: JoinWords(" ", "log", l.About), Method: l.Method}
	}
	return Title{Name: JoinWords(" ", strings.TrimPrefix(l.Method, "notifications/"), l.About)}
}

// Answer returns the first message that is the response to a known request.
func (l *Row) Answer() (session.Part, bool) {
	for _, p := range l.Messages {
		if p.Request != (session.Ref{}) && p.Role != session.RoleReplay {
			return p, true
		}
	}
	return session.Part{}, false
}

// keep returns a row that remains valid when the next frame is added.
func (l Row) keep() Row {
	l.ID, l.Messages = bytes.Clone(l.ID), slices.Clone(l.Messages)
	return l
}

// maxBeginning is the maximum number of bytes of a frame without a message in a line.
const maxBeginning = 1000

// beginning returns the beginning of some bytes, without the end of the line.
func beginning(raw []byte) string {
	return string(bytes.TrimRight(raw[:min(len(raw), maxBeginning)], "\r\n"))
}

// OtherWords describes a frame that carries no message: its sort, which is body, bytes, ping,
// pong, close, event, priming, comment or endpoint, and what it is about, not escaped. about
// is "" if the payload shows it; both are "" for a line on stdio and for an event that is not
// whole.
func OtherWords(f *tap.Frame) (sort, about string) {
	switch f.Form {
	case tap.FormEvent:
		if f.Whole() {
			sort, about = sseWords(f.Raw)
			return sort, beginning([]byte(about))
		}
	case tap.FormBody:
		return "body", ""
	case tap.FormBytes:
		return "bytes", ""
	case tap.FormPing:
		return "ping", ""
	case tap.FormPong:
		return "pong", ""
	case tap.FormClose:
		// A status code and a text, or nothing (RFC 6455, 5.5.1).
		if len(f.Raw) >= 2 {
			code := binary.BigEndian.Uint16(f.Raw)
			return "close", JoinWords(": ", JoinWords(" ", strconv.Itoa(int(code)), closeCodes[code]), beginning(f.Raw[2:]))
		}
		return "close", "without a status"
	}
	return "", ""
}

// closeCodes are the meanings of the most common codes (RFC 6455, 7.4.1).
var closeCodes = map[uint16]string{
	1000: "normal closure", 1001: "going away", 1002: "protocol error", 1003: "unsupported data", 1007: "invalid data",
	1008: "policy violation", 1009: "message too big", 1010: "extension missing", 1011: "server error",
}

// sseWords describes a server-sent event. With an id and no data a server gives the
// client an id to resume from (2025-11-25, transports, "Sending Messages to the
// Server"); comments alone keep a connection open.
func sseWords(raw []byte) (sort, about string) {
	e := tap.ParseServerSentEvent(raw)
	retry := ""
	if e.Retry != "" {
		retry = "reconnect after " + e.Retry + " ms"
	}
	switch {
	case len(e.Data) > 0:
		if e.Name == "endpoint" { // of HTTP+SSE: the URL for the client's POST requests
			return e.Name, beginning(e.Data)
		}
		return "event", JoinWords(": ", e.Name, beginning(e.Data))
	case e.HasID && e.ID != "":
		return "priming", JoinWords(", ", "no data, resume from id "+e.ID, retry)
	case e.Comments != nil:
		return "comment", JoinWords(", ", beginning(e.Comments), retry)
	}
	return "event", JoinWords(", ", "no data", e.Name, retry)
}
