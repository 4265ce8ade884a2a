package view

import (
	"bytes"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Line is what one line of a list says about a frame, or about one message of
// a batch. Its texts come from the wire as they are; they must be escaped where
// they are shown.
type Line struct {
	// Part says what it is to which call. Of a frame that carries no message,
	// and of a batch as a whole, only Message, Lane, At and Exchange are set.
	Part session.Part
	// Kind is the name of a [jsonrpc.Kind], stderr, or the name of an event of the
	// run ("life" where that cannot be read).
	Kind string
	// Sort is what sort of frame it is that carries no message, as [OtherWords]
	// has it; "" for all others, and where that is not known.
	Sort string
	// ID is the id as it stands on the wire, nil when there is none.
	ID []byte
	// Method is the method, of a response that of its request.
	Method string
	// About is what it is about; of a response without words of its own, what
	// its request is about.
	About string
	// Failed reports whether it is a failure; Fault is that failure in words. Error
	// reports whether it counts as an error, which a batch leaves to its messages.
	Failed, Error bool
	Fault         string
	// Torn says that bytes of the frame are missing.
	Torn bool
	// Size is the frame's, in bytes, and Took how long it took to arrive.
	Size int64
	Took time.Duration
	// Resumes is as [Row] has it.
	Resumes uint64
	// Ended are the calls that such a frame ended: see [session.Pairing.AddEvent].
	Ended []Ended
}

// Ended is a call that an HTTP exchange ended.
type Ended struct {
	Call    session.Ref
	Notes   session.Notes
	Settled bool
}

// Line describes the frame as a whole.
func (r *Row) Line() Line {
	f := r.Frame
	l := Line{
		Part: session.Part{Message: session.Ref{Seq: f.Seq}, Lane: f.Lane, At: f.At, Exchange: f.Exchange},
		Torn: f.Truncated, Size: f.Size, Took: f.Took,
	}
	switch {
	case f.Lane == tap.Lifecycle:
		r.event(&l)
	case f.Lane == tap.Stderr:
		l.Kind, l.About = tap.Stderr.String(), beginning(f.Raw)
	case r.Message.Kind == jsonrpc.Batch:
		l.Part.Kind = jsonrpc.Batch
		l.Kind, l.About = jsonrpc.Batch.String(), jsonrpc.Subject(r.Message)
		l.Failed = r.Errors() > 0
	case len(r.Parts) == 0: // it does not mean to be a message
		l.Part.Kind = r.Message.Kind
		l.Kind, l.About = r.Message.Kind.String(), beginning(jsonrpc.Payload(f))
		if r.Message.Kind == jsonrpc.Other {
			r.other(&l)
		}
	default:
		return r.MessageLine(0)
	}
	return l
}

// event describes an event of the run.
func (r *Row) event(l *Line) {
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
	l.About, l.Fault = r.words(l.Ended)
}

// other describes what carries no message.
func (r *Row) other(l *Line) {
	sort, about := OtherWords(r.Frame)
	l.Sort = sort
	if about != "" {
		l.About = about
	}
}

// MessageLine describes one message of the frame, by its place in Parts.
func (r *Row) MessageLine(i int) Line {
	f, m, p := r.Frame, r.Of(i), r.Parts[i]
	l := Line{
		Part: p, Kind: m.Kind.String(), ID: m.ID, Method: m.Method, Failed: m.IsFailure() && p.Role != session.RoleReplay, Torn: f.Truncated, Size: f.Size, Took: f.Took,
		About: jsonrpc.Subject(*m),
	}
	l.Error = l.Failed
	switch m.Kind {
	case jsonrpc.Invalid:
		l.Fault, l.About = m.Reason, ""
		if r.Message.Kind != jsonrpc.Batch {
			l.About = beginning(jsonrpc.Payload(f))
		}
	case jsonrpc.ErrorResponse:
		l.Method, l.Fault, l.About = p.Method, l.About, r.to[i].Subject
	case jsonrpc.Response:
		l.Method = p.Method
		if m.IsError {
			l.Fault, l.About = strings.TrimSpace("isError "+l.About), ""
		}
		if l.About == "" {
			l.About = r.to[i].Subject
		}
	}
	return l
}

// keep makes a line that may outlive its row.
func (l Line) keep() Line {
	l.ID = bytes.Clone(l.ID)
	l.Method, l.About, l.Fault = strings.Clone(l.Method), strings.Clone(l.About), strings.Clone(l.Fault)
	return l
}

// maxBeginning is how much of a frame that is not a message stands in a line, in
// bytes.
const maxBeginning = 1000

// beginning is the beginning of some bytes, without the end of the line.
func beginning(raw []byte) string {
	return string(bytes.TrimRight(raw[:min(len(raw), maxBeginning)], "\r\n"))
}

// Errors is how many errors the frame is, as [session.Tally] counts them: at most one,
// but for a batch.
func (r *Row) Errors() uint64 {
	switch {
	case r.Frame.Lane == tap.Lifecycle && r.Event.IsError(r.Exchange.Method):
		return 1
	case len(r.Parts) == 0 || r.Parts[0].Role == session.RoleReplay:
		return 0
	}
	errors, _ := r.Message.Failures()
	return errors
}
