package replay

import (
	"cmp"
	"slices"
	"time"
)

// A replyState says what a reply waits for.
type replyState uint8

const (
	replySends  replyState = iota // the turn of its step
	replyGate                     // the client's answer
	replyCancel                   // the client's cancellation
	replyParked                   // a stream
	replyOver                     // nothing any more
)

// A reply is one going-through of the steps of a trigger.
type reply struct {
	trigger, step uint32
	// number orders replies by when they began.
	number uint64
	// live is the client's message that it answers, id and token are that one's,
	// stream is where the answer goes.
	live      uint64
	id, token []byte
	key       string // of id
	stream    Stream
	// method and name are the request's, where there are faults.
	method, name string
	// base is when the last event of the reply was, or should have been, and baseAt
	// when it was in the recording; acted reports that the client did it.
	base, baseAt time.Duration
	acted        bool
	// waived is a trigger that the reply does not wait for any more.
	waived uint32
	// due is when the next step is due, delayed that a fault has set it.
	due     time.Duration
	delayed bool
	fault   *Fault
	// head is the head of the response that the next step comes with, nil for none.
	head  *Response
	state replyState
	// hangs reports that the steps are those that hang on the trigger, carries that they are
	// those of an exchange and come on a stream of their own, which is closed then, alone that only those
	// count which belong to its call; modern that the request is of the era without a
	// handshake, answered that its answer went out.
	hangs, carries, closed, alone, modern, answered bool
	// shell reports that only what is beside the messages of an exchange counts.
	shell bool
}

// begins adds a reply that begins now, with something that was at in the recording, and
// takes it to its first step.
func (s *Session) begins(r *reply, at time.Duration) {
	r.base, r.baseAt, r.acted = s.now, at, true
	s.begun++
	r.number = s.begun
	s.insert(r)
	s.advance(r)
}

// before orders replies by their next step, and those of one step as they began.
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

// moveTo takes a reply to a step.
func (s *Session) moveTo(r *reply, step uint32) {
	s.remove(r)
	r.step = step
	s.insert(r)
}

// over ends a reply.
func (s *Session) over(r *reply) {
	if r.state == replyOver {
		return
	}
	s.remove(r)
	r.state, r.step = replyOver, 0
	if t := s.returnOf(r); t != 0 && s.streams.hasDuplex {
		s.returns = append(s.returns, t)
	} else if !r.hangs && !r.answered && !r.carries { // else another stream may bring the answer
		s.forgo(r)
	}
	if r.carries && !r.closed && s.streams.played[r.stream] {
		s.outbox = append(s.outbox, Output{Stream: r.stream, Response: r.head, Last: true})
	}
}

// returnOf is the trigger at which the recorded client came back for the answer to a
// request, which had not come when its stream ended, 0 for none.
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

// forgo notes that a request gets no answer: its stream ends without one.
func (s *Session) forgo(r *reply) {
	r.answered = true
	if s.streams.answered(r.stream) {
		s.outbox = append(s.outbox, Output{Stream: r.stream, Last: true})
	}
}

// advance moves a reply to the next step, through the gates that are open.
func (s *Session) advance(r *reply) {
	r.state = replySends
	for r.step != 0 {
		st := &s.script.steps[r.step]
		switch {
		case r.alone && st.call != r.trigger, r.shell && st.kind < stepHead:
			// of another call, or of the exchange
		case st.kind == stepHead && s.responds(r):
			if r.head = &s.script.responses[s.script.triggers[st.trigger].response]; r.head.Events {
				return
			}
			// Any other head comes together with what follows.
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
				s.over(r)
			}
			return
		case st.kind == stepLeave:
			s.leaving, s.abrupt = true, st.has(stepAbort)
		}
		s.leave(r)
	}
	if r.carries && !r.closed && !s.ended && s.streams.played[r.stream] && s.stays(r) {
		// Nothing ended the stream, and nothing does but the client.
		if r.head != nil {
			s.outbox = append(s.outbox, Output{Stream: r.stream, Response: r.head})
			r.head = nil
		}
		r.state = replyCancel
		return
	}
	s.over(r)
}

// responds reports whether a reply is that of a response over HTTP.
func (s *Session) responds(r *reply) bool { return r.carries && (r.shell || !s.streams.hasDuplex) }

// stays reports whether a response that was not over at the end of the recording stays
// open: an event stream that has not brought what it is for.
func (s *Session) stays(r *reply) bool {
	t := &s.script.triggers[r.trigger]
	events := s.script.responses[t.response].Events || t.response == 0
	return events && (t.kind == triggerBare || t.kind == triggerRequest && !r.answered)
}

// leave takes a reply behind its step.
func (s *Session) leave(r *reply) { s.moveTo(r, s.script.steps[r.step].next) }

// owes reports whether the client may be waiting for the next step of a reply. On a
// subscription it waits for the acknowledgement only.
func (s *Session) owes(r *reply) bool {
	if r.hangs || r.answered {
		return false
	}
	t := &s.script.triggers[r.trigger]
	return !t.has(triggerListens) || r.step == t.first
}

// when returns when the next step of a reply is due: as long after the event before it as
// in the recording, which is the step before, of this reply or another, or something that
// the client did since, whatever call that was for.
func (s *Session) when(r *reply, st *step) time.Duration {
	if r.delayed {
		return r.due
	}
	base, at, acted := r.base, r.baseAt, r.acted
	if said := &s.script.steps[s.said]; s.said != 0 && s.said < r.step && said.at >= at && s.saidAt >= base {
		base, at, acted = s.saidAt, said.at, false
	}
	if t := &s.script.triggers[st.after]; t.at >= at {
		if came, ok := s.arrived[st.after]; ok && came.at >= base {
			base, at, acted = came.at, t.at, true
		}
	}
	if st.kind != stepMessage { // heads and ends keep no distance of their own
		acted = true
	}
	due := base + s.script.opt.Pace.delay(st.at-at, acted)
	if r.stream != s.wroteOn && r.base < s.wroteAt && !s.streams.hasDuplex {
		// Nothing but time keeps what waits for its turn on several connections in order.
		due = max(due, s.wroteAt+s.script.opt.Pace.apart(st.at-s.script.steps[s.said].at))
	}
	return due
}

// beyond reports whether a step needed more of the client than it did before it
// ended the session. Answers are owed all the same, and what the server said after
// the end is said.
func (s *Session) beyond(st *step) bool {
	end := s.script.end
	return st.after > s.endedAt && !st.has(stepFinal) && (end == 0 || st.after < end)
}

// outlive is called when the client has ended: what waits for it is over.
func (s *Session) outlive() {
	for _, r := range s.latest() {
		switch r.state {
		case replyGate:
			s.unanswered(r)
		case replyCancel, replyParked:
			s.over(r)
		case replySends:
			if r.step == 0 || s.beyond(&s.script.steps[r.step]) {
				s.advance(r)
			}
		}
	}
}

// latest are the replies that are not over, the last one first.
func (s *Session) latest() []*reply {
	all := slices.Clone(s.replies)
	slices.SortFunc(all, func(a, b *reply) int { return cmp.Compare(b.number, a.number) })
	return all
}

// unanswered ends a reply whose client left without an answer.
func (s *Session) unanswered(r *reply) {
	method := s.methodOf(r)
	s.note(Note{Kind: NoteLeft, Live: r.live, Method: method, Frame: s.script.steps[s.script.steps[r.step].ref].message(),
		Text: "the client left without an answer to what the server had asked it, so its " + method + " has none either"})
	s.over(r)
}

// cancel ends a reply early, or takes it to where it goes on after the client's
// cancellation in the recording.
func (s *Session) cancel(r *reply) {
	rest := 0
	for i := r.step; i != 0; i = s.script.steps[i].next {
		switch st := &s.script.steps[i]; st.kind {
		case stepMessage:
			rest++
		case stepCancel:
			s.arrive(st.ref)
			r.base, r.baseAt, r.acted = s.now, s.script.steps[i].at, true
			s.moveTo(r, s.script.steps[i].next)
			s.advance(r)
			return
		}
	}
	if rest > 0 && !s.wasCancelled(r) {
		s.note(Note{Kind: NoteCancelled, Live: r.live, Method: s.methodOf(r), Frame: s.script.steps[r.step].message(),
			Text: "the client cancelled " + s.methodOf(r) + ", which it had not done in the recording; the rest of it was not sent"})
	}
	r.answered = r.answered || s.streams.hasDuplex // nothing comes back for it
	s.over(r)
}

// wasCancelled reports whether the client has cancelled as it did in the recording. One of
// HTTP may say so and hang up.
func (s *Session) wasCancelled(r *reply) bool {
	for i := s.script.triggers[r.trigger].first; i != 0 && i < r.step; i = s.script.steps[i].next {
		if s.script.steps[i].kind == stepCancel {
			return true
		}
	}
	return false
}

// methodOf is the method of the recorded request that a reply answers.
func (s *Session) methodOf(r *reply) string {
	if m, err := s.script.message(s.script.triggers[r.trigger].place); err == nil {
		return m.Method
	}
	return "request"
}
