package replay

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap/session"
)

// A replyState is what a reply waits for.
type replyState uint8

const (
	replySends  replyState = iota // the turn of its step
	replyGate                     // the client's answer to a nested request
	replyCancel                   // the client's cancellation
	replyParked                   // a stream
	replyOver                     // nothing, it has ended
)

// A reply is one pass through the steps of a trigger.
type reply struct {
	trigger, step uint32
	number        uint64 // orders replies by their start
	// live is the number of the client message that it answers. id and token are those of that
	// message, key is the canonical id, and stream is where the answer goes.
	live      uint64
	id, token []byte
	key       string
	stream    Stream
	// method and name are those of the live request.
	method, name string
	// base is when the last event of the reply happened, or was due, and baseAt when it
	// happened in the recording. acted reports that the client caused it.
	base, baseAt time.Duration
	acted        bool
	waived       uint32 // the last trigger that the reply no longer waits for
	// due is when the next step is due. delayed reports that a fault set it.
	due     time.Duration
	delayed bool
	fault   *Fault
	head    *Response // the response head to be written with the next step, nil for none
	state   replyState

	hangs    bool   // its steps are those that hang off the trigger
	carries  bool   // its steps are those of an exchange, on a stream of their own
	closed   bool   // that stream has ended
	alone    bool   // only the steps of its own call are played
	shell    bool   // only the steps that are not messages are played
	modern   bool   // the request is of the stateless era
	level    string // its logLevel
	answered bool   // its answer has been written
}

// begins starts a reply at its first step.
func (s *Session) begins(r *reply) {
	s.begun++
	r.number, r.live = s.begun, s.live
	r.base, r.baseAt, r.acted = s.now, s.script.triggers[r.trigger].at, true
	s.insert(r)
	s.advance(r)
}

// before orders replies by their next step, then by their start.
func (r *reply) before(q *reply) int {
	return cmp.Or(cmp.Compare(r.step, q.step), cmp.Compare(r.number, q.number))
}

func (s *Session) insert(r *reply) {
	i, _ := slices.BinarySearchFunc(s.replies, r, (*reply).before)
	s.replies = slices.Insert(s.replies, i, r)
}

func (s *Session) remove(r *reply) {
	if i, ok := slices.BinarySearchFunc(s.replies, r, (*reply).before); ok {
		s.replies = slices.Delete(s.replies, i, i+1)
	}
}

// moveTo moves a reply to a step.
func (s *Session) moveTo(r *reply, step uint32) {
	s.remove(r)
	r.step = step
	s.insert(r)
}

// leave moves a reply past its step.
func (s *Session) leave(r *reply) { s.moveTo(r, s.script.steps[r.step].next) }

// over ends a reply.
func (s *Session) over(r *reply) {
	if r.state == replyOver {
		return
	}
	s.remove(r)
	r.state, r.step = replyOver, 0
	t := s.returnOf(r)
	if t != 0 && s.streams.hasDuplex {
		s.returns = append(s.returns, t)
	} else if !r.hangs && !r.answered && !r.carries { // otherwise the answer may come on another stream
		s.forgo(r)
	}
	if r.carries && !r.closed && s.streams.played[r.stream] {
		if t != 0 {
			delete(s.streams.played, r.stream)
		}
		s.outbox = append(s.outbox, Output{Stream: r.stream, Response: r.head, Last: true, Left: t != 0})
	}
}

// returnOf returns the trigger at which the recorded client resumed a stream for an answer that
// had not arrived when its stream ended, 0 for none.
func (s *Session) returnOf(r *reply) uint32 {
	answer := s.script.triggers[r.trigger].answer
	if r.hangs || r.answered || answer == 0 {
		return 0
	}
	if t := s.script.steps[answer].trigger; s.script.triggers[t].kind == triggerBare && !s.came(t) {
		return t
	}
	return 0
}

// forgo ends a request that gets no answer.
func (s *Session) forgo(r *reply) {
	r.answered = true
	if s.streams.answered(r.stream) {
		s.outbox = append(s.outbox, Output{Stream: r.stream, Last: true})
	}
}

// advance moves a reply to its next step to write, passing open gates.
func (s *Session) advance(r *reply) {
	r.state = replySends
	for r.step != 0 {
		st := &s.script.steps[r.step]
		switch {
		case r.alone && st.call != r.trigger, r.shell && st.kind < stepHead:
			// not a step of this reply
		case st.kind == stepHead && s.responds(r):
			if r.head = s.script.triggers[st.trigger].response; r.head.Events {
				return
			}
			// Any other head is written together with what follows.
		case st.kind == stepMessage, (st.kind == stepData || st.kind == stepEnd) && s.responds(r), st.kind == stepData && r.hangs && s.streams.hasDuplex:
			if !s.ended || !s.beyond(st) {
				return
			}
		case st.kind == stepAnswer:
			if !s.questions.passes(s, r, st) {
				return
			}
		case st.kind == stepCancel:
			if r.state = replyCancel; s.ended {
				s.uncancelled(r)
			}
			r.due = s.now + st.at - s.script.triggers[r.trigger].at + cancelGrace
			return
		case st.kind == stepLeave:
			s.leaving, s.abrupt = true, st.abort
		}
		s.leave(r)
	}
	if r.carries && !r.closed && !s.ended && s.streams.played[r.stream] && s.stays(r) {
		// Only the client ends the stream.
		if r.head != nil {
			s.outbox = append(s.outbox, Output{Stream: r.stream, Response: r.head})
			r.head = nil
		}
		r.state = replyCancel
		return
	}
	s.over(r)
}

// responds reports whether a reply plays a response over HTTP.
func (s *Session) responds(r *reply) bool { return r.carries && (r.shell || !s.streams.hasDuplex) }

// stays reports whether a response without a recorded end stays open: it is an event stream
// that has not carried an answer. A stream that the recorded client left and then resumed for the
// answer does not stay: see [Output.Left].
func (s *Session) stays(r *reply) bool {
	t := &s.script.triggers[r.trigger]
	return (t.response == nil || t.response.Events) && (t.kind == triggerBare || t.kind == triggerRequest && !r.answered && s.returnOf(r) == 0)
}

// owes reports whether the client may be waiting for the next step of a reply. On a
// subscription it waits only for the acknowledgement.
func (s *Session) owes(r *reply) bool {
	t := &s.script.triggers[r.trigger]
	return !r.hangs && !r.answered && (!t.listens || r.step == t.first)
}

// when returns when the next step of a reply is due: after the recorded event that precedes it,
// by a delay that depends on the pace. That event is the previous step, of this reply or
// another, or something the client did since then, for any call.
func (s *Session) when(r *reply, st *step) time.Duration {
	if r.delayed {
		return r.due
	}
	base, at, acted := r.base, r.baseAt, r.acted
	if last := &s.script.steps[s.wrote]; s.wrote != 0 && s.wrote < r.step && last.at >= at && s.wroteBase >= base {
		base, at, acted = s.wroteBase, last.at, false
	}
	if t := &s.script.triggers[st.after]; t.at >= at {
		if came, ok := s.arrived[st.after]; ok && came.at >= base {
			base, at, acted = came.at, t.at, true
		}
	}
	if st.kind != stepMessage { // heads and ends add no gap at the brisk pace
		acted = true
	}
	due := base + s.script.opt.Pace.delay(st.at-at, acted)
	if r.stream != s.wroteOn && r.base < s.wroteAt && !s.streams.hasDuplex {
		// Across connections, only time preserves the order.
		due = max(due, s.wroteAt+s.script.opt.Pace.apart(st.at-s.script.steps[s.wrote].at))
	}
	return due
}

// beyond reports whether a step was recorded after a trigger that the client did not reach
// before it ended the session. It is false for answers, and for what the server sent after the
// recorded end.
func (s *Session) beyond(st *step) bool {
	end := s.script.end
	return st.after > s.endedAt && !st.final && (end == 0 || st.after < end)
}

// outlive ends the replies that wait for a client whose lane has ended.
func (s *Session) outlive() {
	for _, r := range s.latest() {
		switch r.state {
		case replyGate:
			s.unanswered(r)
		case replyCancel:
			s.uncancelled(r)
		case replyParked:
			s.over(r)
		case replySends:
			if r.step == 0 || s.beyond(&s.script.steps[r.step]) {
				s.advance(r)
			}
		}
	}
}

// latest returns the open replies, latest first.
func (s *Session) latest() []*reply {
	return slices.SortedFunc(slices.Values(s.replies), func(a, b *reply) int { return cmp.Compare(b.number, a.number) })
}

// unanswered ends a reply whose client left without sending the answer that it waits for.
func (s *Session) unanswered(r *reply) {
	asked := &s.script.steps[s.script.steps[r.step].about]
	s.noteRequest(NoteLeft, r, asked.ref, "the client left without responding to "+RequestName(names(asked.raw))+", so ", " has no response either")
	s.over(r)
}

// cancelGrace is how much later than recorded a client may cancel before this is noted.
const cancelGrace = time.Second

// awaitsCancel reports whether a request gets no response and waits for its cancellation.
func (s *Session) awaitsCancel(r *reply) bool {
	t := &s.script.triggers[r.trigger]
	return r.state == replyCancel && r.step != 0 && !r.answered && !t.listens && t.kind == triggerRequest
}

// noteOverdue notes the requests whose cancellation is overdue, and returns when the next
// cancellation becomes overdue.
func (s *Session) noteOverdue() time.Duration {
	next := never
	for _, r := range s.replies {
		switch t := &s.script.triggers[r.trigger]; {
		case !s.awaitsCancel(r) || r.due == 0:
		case r.due > s.now:
			next = min(next, r.due)
		default:
			r.due = 0
			n := Note{Kind: NoteSilence, Live: r.live, Frame: t.ref, Waits: true}
			n.Method, n.Subject = s.namesOf(r)
			n.Text = fmt.Sprintf("%s (frame %d) was cancelled in the recording, and gets no response until the client cancels it", RequestName(n.Method, n.Subject), t.ref.Seq)
			s.note(n)
		}
	}
	return next
}

// uncancelled ends a reply whose client left without sending the cancellation that it waits for.
func (s *Session) uncancelled(r *reply) {
	if s.awaitsCancel(r) {
		s.noteRequest(NoteLeft, r, s.script.triggers[r.trigger].ref, "the client did not cancel ", ", which was cancelled in the recording and had no response")
	}
	s.over(r)
}

// noteRequest notes something about the request of a reply. The text is the name of the request
// between before and after.
func (s *Session) noteRequest(kind NoteKind, r *reply, ref session.Ref, before, after string) {
	n := Note{Kind: kind, Live: r.live, Frame: ref}
	n.Method, n.Subject = s.namesOf(r)
	n.Text = before + RequestName(n.Method, n.Subject) + after
	s.note(n)
}

// cancel ends a reply early, or moves it to where it continued after the client's cancellation
// in the recording.
func (s *Session) cancel(r *reply) {
	rest := false
	for i := r.step; i != 0; i = s.script.steps[i].next {
		switch st := &s.script.steps[i]; st.kind {
		case stepMessage:
			rest = true
		case stepCancel:
			s.arrive(st.about)
			r.base, r.baseAt, r.acted = s.now, st.at, true
			s.moveTo(r, st.next)
			s.advance(r)
			return
		}
	}
	// An HTTP client may send a cancellation, as recorded, and then hang up.
	if rest && !s.script.triggers[r.trigger].cancelled {
		s.noteRequest(NoteCancelled, r, s.script.steps[r.step].ref,
			"the client cancelled ", ", unlike in the recording; the rest of the call was not sent")
	}
	r.answered = r.answered || s.streams.hasDuplex // it gets no answer
	s.over(r)
}

// namesOf returns the method and the subject of the recorded request that a reply answers.
func (s *Session) namesOf(r *reply) (method, subject string) {
	return names(s.script.triggers[r.trigger].raw)
}
