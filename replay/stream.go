package replay

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Stream names a way to the client. The transport chooses the names; each must
// be used for one stream of the session only.
type Stream uint64

// A StreamKind says what an attached stream carries.
type StreamKind uint8

const (
	// Duplex carries everything, both ways: stdio, a WebSocket, the event stream
	// of HTTP+SSE.
	Duplex StreamKind = iota
	// Standing carries what belongs to no request: the GET stream of Streamable
	// HTTP.
	Standing
)

// An Output is what is to be written next: one message, in a write of its own, or what a
// response over HTTP has beside its messages.
type Output struct {
	// Stream is where it goes.
	Stream Stream
	// Response is the recorded head of the response, which comes first; nil for none.
	Response *Response
	// Raw is the message. It is empty when there is none: there may be only a head, bytes
	// that are no message, or an end.
	Raw []byte
	// Whole has the event or the body in which the message was recorded, as it was; or
	// bytes of a response that are no message. Form is what it was.
	Whole []byte
	Form  tap.Form
	// Line reports that Raw is a line of stdio, with the terminator that it had.
	// Otherwise it is the message alone.
	Line bool
	// Last reports that nothing more comes on the stream, which is that of a message
	// that the client sent; Abort that it is broken off.
	Last, Abort bool
	// Leave reports that the server leaves.
	Leave bool
	// Status is the status of HTTP with which the message is refused, 0 for none.
	Status int
	// Frame names the recorded message, zero for one that was made up.
	Frame session.Ref
}

// streams are those of one session.
type streams struct {
	duplex, standing       Stream
	hasDuplex, hasStanding bool
	// due are how many answers are due on the other ones, but for those that are
	// played as they were recorded, to their end.
	due    map[Stream]int
	played map[Stream]bool
}

// markPlayed notes that a stream is played as it was recorded.
func (t *streams) markPlayed(stream Stream) {
	t.played[stream] = true
	delete(t.due, stream)
}

// Attach opens a stream that is not the reply to one message. At most one of each
// kind is open at a time: a second takes the place of the first.
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

// Resume reports that the client reads a stream again that it had closed.
func (s *Session) Resume(now time.Duration, stream Stream) {
	s.tick(now)
	for _, r := range s.replies {
		if r.state == replyParked && r.stream == stream {
			r.state = replySends
		}
	}
}

// Detach reports that the client has closed a stream. In the era without a handshake
// that cancels what was asked on it (2026-07-28 basic/patterns/cancellation); in
// the other it means nothing, and what belongs there still goes there, for the
// transport to keep until the client asks for it.
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
	for _, r := range s.replies { // what comes on a stream that was opened waits for the client to open it again
		if r.stream == stream && r.carries && r.state == replySends && s.script.triggers[r.trigger].kind == triggerBare {
			r.state = replyParked
		}
	}
	asked := func(r *reply) bool { return r.stream == stream && r.modern && !r.hangs }
	if !slices.ContainsFunc(s.replies, asked) {
		return
	}
	for _, r := range s.latest() {
		if r.state != replyOver && asked(r) {
			s.cancel(r)
		}
	}
}

// expect notes that an answer is due on a stream.
func (t *streams) expect(stream Stream) {
	if t.hasDuplex {
		return
	}
	t.due[stream]++
}

// expected takes back one that was expected while a message was being taken in. If
// it was the last one due, the last answer that waits to be written is the last on
// the stream; where requests get none at all, the stream ends without.
func (s *Session) expected(stream Stream, requests int) {
	if s.streams.played[stream] {
		delete(s.streams.due, stream)
		return
	}
	if !s.streams.answered(stream) {
		return
	}
	for i := len(s.outbox) - 1; i >= 0; i-- {
		if s.outbox[i].Stream == stream {
			s.outbox[i].Last = true
			return
		}
	}
	if requests > 0 {
		s.outbox = append(s.outbox, Output{Stream: stream, Last: true})
	}
}

// answered notes that an answer has gone out, or will not, and reports whether it
// was the last one due.
func (t *streams) answered(stream Stream) (last bool) {
	n, ok := t.due[stream]
	if !ok {
		return false
	}
	if n > 1 {
		t.due[stream] = n - 1
		return false
	}
	delete(t.due, stream)
	return true
}

// route finds the stream for a step. Without one it waits, or is lost: nothing
// comes in the era without a handshake but on the stream of its request.
func (s *Session) route(r *reply, st *step) (stream Stream, ok bool) {
	t := &s.streams
	switch {
	case t.hasDuplex && !r.shell:
		return t.duplex, true
	case r.carries:
		return r.stream, true
	}
	if stream, ok := s.subscribed(r, st); ok {
		return stream, true
	}
	if _, due := t.due[r.stream]; due && !r.hangs && !st.has(stepGeneral) {
		return r.stream, true
	}
	return t.standing, t.hasStanding
}

// subscribed finds the stream of the subscription that a step names, whatever call it
// belongs to (2026-07-28 basic/patterns/subscriptions).
func (s *Session) subscribed(r *reply, st *step) (Stream, bool) {
	for _, x := range s.script.patchesOf(st) {
		if x.kind != patchID || x.ref == r.trigger && !r.hangs || !s.script.triggers[x.ref].has(triggerListens) {
			continue
		}
		if q := s.bound[x.ref]; q != nil {
			_, due := s.streams.due[q.stream]
			return q.stream, due
		}
	}
	return 0, false
}

// An Owed is a request of the client's that has had no answer: its id as it stands, and
// the stream on which the answer would go.
type Owed struct {
	Stream Stream
	ID     []byte
}

// Owed returns the requests that have had no answer, in the order in which they came.
// After Next has failed, they get no answer unless the caller sends one.
func (s *Session) Owed() (all []Owed) {
	for _, r := range slices.Backward(s.latest()) {
		if !r.hangs && !r.answered {
			all = append(all, Owed{r.stream, slices.Clone(r.id)})
		}
	}
	for _, out := range s.outbox { // answers of our own, which may suppose what cannot be read
		if len(out.Raw) > 0 && out.Frame.Seq == 0 {
			m := jsonrpc.Peek(out.Raw)
			all = append(all, Owed{out.Stream, slices.Clone(m.ID)})
		}
	}
	return all
}

// A Refusal is a recorded exchange that the server answered for something that is not in
// the message.
type Refusal struct {
	Exchange *Exchange
	Script   *Script
}

// Outputs returns what was recorded of the response, with the id of the live request in
// the place of the recorded one; nil leaves it. The error is that of the spool.
func (r Refusal) Outputs(id []byte) (all []Output, err error) {
	s := r.Script
	var head *Response
	for i := s.triggers[r.Exchange.carrier].first; i != 0; i = s.steps[i].next {
		st := &s.steps[i]
		out := Output{Response: head, Form: st.form, Frame: st.message()}
		head = nil
		switch st.kind {
		case stepHead:
			head = &s.responses[s.triggers[st.trigger].response]
			continue
		case stepData:
			out.Whole, err = st.place.load(s.spool)
		case stepMessage:
			out.Raw, err = st.place.load(s.spool)
			if err == nil && st.has(stepFinal) && len(id) > 0 && string(jsonrpc.Peek(out.Raw).ID) != "null" {
				out.Raw = Rewrite(out.Raw, id, "id")
			}
			if err == nil {
				out.Whole, err = st.whole.load(s.spool)
			}
		case stepEnd:
			out.Last, out.Abort = true, st.has(stepAbort)
		default:
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("frame %d: %w", st.seq, err)
		}
		all = append(all, out)
	}
	if head != nil {
		all = append(all, Output{Response: head, Last: true})
	}
	return all, nil
}

// Continue goes on, on a stream that the recorded server closed before it had answered,
// with what it sent when the client came back for it: this client cannot. It reports
// whether there is anything.
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
