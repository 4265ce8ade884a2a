package replay

import (
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Stream identifies a byte stream to the client. The transport chooses the numbers. Each
// number must be used for only one stream of the session.
type Stream uint64

// A StreamKind is what an attached stream carries.
type StreamKind uint8

const (
	// Duplex carries everything, both ways: stdio, a WebSocket, the event stream of
	// HTTP+SSE.
	Duplex StreamKind = iota
	// Standing carries messages that belong to no request: the GET stream of Streamable HTTP.
	Standing
)

// An Output is the next thing to write: one message, in its own write, or a part of a response
// over HTTP.
type Output struct {
	Stream Stream
	// Response is the recorded head of the response, which is written first; nil for none.
	Response *Response
	// Raw is the message, empty for none.
	Raw []byte
	// Whole is the recorded event or body that contained the message, or bytes of a response
	// that are not a message. Form is its form.
	Whole []byte
	Form  tap.Form
	// Line reports that Raw is a line of stdio with its recorded terminator. Otherwise Raw
	// is the message alone.
	Line bool
	// Last reports that nothing more is written to the stream of a client message, Abort that
	// the stream is cut off.
	Last, Abort bool
	// Left reports, with Last, that the recorded client left the stream and resumed it. For a
	// client that stays, [Session.Continue] plays the rest on the same stream.
	Left bool
	// Leave reports that the server ends the session.
	Leave bool
	// Status is the HTTP status with which the client's message is refused, 0 for none.
	Status int
	// Frame is the recorded message, zero for a message that was not recorded.
	Frame session.Ref
}

// streams are the streams of one session.
type streams struct {
	duplex, standing       Stream
	hasDuplex, hasStanding bool
	// due counts the answers due on the other streams, except those in played, which are
	// played to their end as recorded.
	due    map[Stream]int
	played map[Stream]bool
}

// markPlayed marks a stream as played.
func (t *streams) markPlayed(stream Stream) {
	t.played[stream] = true
	delete(t.due, stream)
}

// Attach opens a stream that is not the response to one message. A second stream of a kind
// replaces the first.
func (s *Session) Attach(now time.Duration, stream Stream, kind StreamKind) {
	s.tick(now)
	if kind == Duplex {
		s.streams.duplex, s.streams.hasDuplex = stream, true
	} else {
		s.streams.standing, s.streams.hasStanding = stream, true
	}
	s.begin()
	for _, r := range s.replies {
		if r.state == replyParked && !r.carries {
			r.state = replySends
		}
	}
}

// Resume tells the session that the client reads a stream again after closing it.
func (s *Session) Resume(now time.Duration, stream Stream) {
	s.tick(now)
	for _, r := range s.replies {
		if r.state == replyParked && r.stream == stream {
			r.state = replySends
		}
	}
}

// Detach tells the session that the client has closed a stream. In the stateless era this
// cancels the requests on it (2026-07-28 basic/patterns/cancellation). In the legacy era it
// cancels nothing: the transport keeps what is sent there until the client resumes the stream.
func (s *Session) Detach(now time.Duration, stream Stream) {
	if s.streams.hasDuplex && stream == s.streams.duplex {
		s.End(now)
		return
	}
	s.tick(now)
	if s.streams.hasStanding && stream == s.streams.standing {
		s.streams.hasStanding = false
		return
	}
	delete(s.streams.played, stream)
	for _, r := range s.replies { // a GET stream waits until the client opens it again
		if r.stream == stream && r.carries && r.state == replySends && s.script.triggers[r.trigger].kind == triggerBare {
			r.state = replyParked
		}
	}
	for _, r := range s.latest() {
		if r.stream == stream && r.modern && !r.hangs && r.state != replyOver {
			s.cancel(r)
		}
	}
}

// expect counts an answer that is due on a stream.
func (t *streams) expect(stream Stream) {
	if !t.hasDuplex {
		t.due[stream]++
	}
}

// expected undoes the expect of [Session.Receive]. If no other answer is due, the last answer
// in the outbox is the last on the stream; if the outbox has none, the stream ends.
func (s *Session) expected(stream Stream, requests int) {
	if s.streams.played[stream] {
		delete(s.streams.due, stream)
		return
	}
	if !s.streams.answered(stream) {
		return
	}
	for i := range slices.Backward(s.outbox) {
		if s.outbox[i].Stream == stream {
			s.outbox[i].Last = true
			return
		}
	}
	if requests > 0 {
		s.outbox = append(s.outbox, Output{Stream: stream, Last: true})
	}
}

// answered counts an answer that has been written or never will be. It reports whether it was
// the last one due on the stream.
func (t *streams) answered(stream Stream) (last bool) {
	n, ok := t.due[stream]
	if n > 1 {
		t.due[stream] = n - 1
		return false
	}
	delete(t.due, stream)
	return ok
}

// route returns the stream for a step. If there is none, the step waits, or, in the stateless
// era, is dropped: there everything is sent on the stream of its request.
func (s *Session) route(r *reply, st *step) (stream Stream, ok bool) {
	t := &s.streams
	switch {
	case t.hasDuplex && !r.shell:
		return t.duplex, true
	case r.carries:
		return r.stream, true
	}
	for _, x := range st.edits {
		// A message that names another subscription goes to the stream of that subscription
		// (2026-07-28 basic/patterns/subscriptions).
		if x.kind == editID && (x.about != r.trigger || r.hangs) && s.script.triggers[x.about].listens {
			if q := s.bound[x.about]; q != nil {
				if _, due := t.due[q.stream]; due {
					return q.stream, true
				}
				break
			}
		}
	}
	if _, due := t.due[r.stream]; due && !r.hangs && !st.general {
		return r.stream, true
	}
	return t.standing, t.hasStanding
}

// A Refusal is a recorded exchange that the server refused because of its head.
type Refusal struct {
	Exchange *Exchange
	Script   *Script
}

// Frame returns the first recorded frame of the request.
func (r Refusal) Frame() session.Ref { return r.Script.triggers[r.Exchange.carrier].ref }

// Status returns the recorded HTTP status.
func (r Refusal) Status() int { return r.Exchange.response.Status }

// Outputs returns the recorded response, with the recorded id replaced by the id of the live
// request unless that is nil.
func (r Refusal) Outputs(id []byte) (all []Output) {
	s := r.Script
	var head *Response
	for i := s.triggers[r.Exchange.carrier].first; i != 0; i = s.steps[i].next {
		st := &s.steps[i]
		out := Output{Response: head, Form: st.form, Frame: st.ref}
		switch st.kind {
		case stepHead:
			head = s.triggers[st.trigger].response
			continue
		case stepData:
			out.Whole = st.raw
		case stepMessage:
			out.Raw, out.Whole = st.raw, st.whole
			if st.final && len(id) > 0 && string(jsonrpc.Peek(out.Raw).ID) != "null" {
				out.Raw = Rewrite(out.Raw, id, nameID...)
			}
		case stepEnd:
			out.Last, out.Abort = true, st.abort
		default:
			continue
		}
		head = nil
		all = append(all, out)
	}
	if head != nil {
		all = append(all, Output{Response: head, Last: true})
	}
	return all
}

// Continue plays, on a stream that the recorded server closed before its answer, what the
// recorded client received when it resumed the stream, for a client that cannot resume. It
// reports whether there is anything to play.
func (s *Session) Continue(stream Stream) bool {
	for _, r := range s.bound {
		if t := s.returnOf(r); t != 0 && r.stream == stream {
			s.stream = stream
			s.arrive(t)
			return true
		}
	}
	return false
}
