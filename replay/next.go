package replay

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap/session"
)

// A prospect is the result of a survey of the replies.
type prospect struct {
	next  *reply // the reply whose step is next, nil for none
	due   time.Duration
	later time.Duration // when another step may be next
	owed  uint32        // the first trigger that is missing or that an answer waits for, 0 for none
}

// never is later than any time.
const never = time.Duration(math.MaxInt64)

// survey scans the replies in the order of their steps. The first one that is due, or nearly
// due, is next. The others wait for it.
func (s *Session) survey() (x prospect) {
	x.later = never
	window := s.script.opt.Pace.window()
	for _, r := range s.replies {
		if r.state != replySends {
			continue
		}
		st := &s.script.steps[r.step]
		if t := s.awaits(r, st); t != 0 {
			if (s.owes(r) || t <= s.reached) && (x.owed == 0 || t < x.owed) {
				x.owed = t
			}
			if x.owed != 0 && st.after > max(s.reached, s.patience.waived) {
				break // all that follow wait too
			}
			continue
		}
		due := s.when(r, st)
		if due <= s.now+window {
			x.next, x.due = r, due
			break
		}
		x.later = min(x.later, due-window)
	}
	s.returns = slices.DeleteFunc(s.returns, s.came)
	if x.owed == 0 && len(s.returns) > 0 {
		x.owed = s.returns[0]
	}
	return x
}

// Due returns when [Session.Next] must be called if nothing else happens first. ok is false if
// nothing will become due.
func (s *Session) Due() (at time.Duration, ok bool) {
	if s.Done() {
		return 0, false
	}
	if len(s.outbox) > 0 || s.mayLeave() {
		return s.now, true
	}
	x := s.survey()
	at = min(x.later, s.questions.expires(), s.noteOverdue())
	if x.next != nil {
		at = min(at, max(x.due, s.rest))
	}
	if s.patience.waits != 0 {
		at = min(at, s.patience.until)
	}
	if s.held != nil {
		at = min(at, s.heldTo)
	}
	return at, at != never
}

// Next returns the next thing to write now. ok is false if there is nothing more to write yet.
func (s *Session) Next(now time.Duration) (out Output, ok bool) {
	s.tick(now)
	if s.left {
		return Output{}, false
	}
	s.questions.expire(s)
	s.noteOverdue()
	for {
		if len(s.outbox) > 0 {
			out = s.outbox[0]
			s.outbox = s.outbox[1:]
			s.left = out.Leave
			return out, true
		}
		x := s.survey()
		if x.next == nil && s.patience.watch(s, x.owed) {
			continue
		}
		if x.next == nil || x.due > s.now || s.rest > s.now {
			break
		}
		x.next.due = x.due
		if out, ok = s.release(x.next); ok {
			if s.held != nil { // something has been written
				s.outbox = append(s.outbox, *s.held)
				s.held = nil
			}
			return out, true
		}
	}
	if s.ended && len(s.replies) == 0 {
		s.noteOrphans()
	}
	switch {
	case s.held != nil && (s.now >= s.heldTo || s.ended && len(s.replies) == 0):
		out, s.held = *s.held, nil
		return out, true
	case s.mayLeave():
		s.left = true
		return Output{Stream: s.streams.duplex, Leave: true, Abort: s.abrupt}, true
	}
	return Output{}, false
}

// mayLeave reports whether the server may end the session as recorded: all recorded requests
// have arrived and no reply is in progress.
func (s *Session) mayLeave() bool {
	return s.leaving && !s.left && s.requests >= s.script.requests && s.held == nil &&
		!slices.ContainsFunc(s.replies, func(r *reply) bool { return r.state != replyCancel && r.state != replyParked })
}

// release writes the current step of a reply and moves the reply on. ok is false if there is
// nothing to write.
func (s *Session) release(r *reply) (out Output, ok bool) {
	st := &s.script.steps[r.step]
	if st.kind != stepMessage {
		return s.transport(r, st), true
	}
	if s.unfit(r, r.step) {
		s.pass(r)
		return out, false
	}
	if st.batch != nil {
		if out, ok = s.batch(r, st); ok {
			return s.headed(r, out), true
		}
	}
	stream, ok := s.route(r, st)
	if !ok && !r.modern && !s.ended {
		r.state = replyParked
		return out, false
	}
	if !ok || s.streams.hasDuplex && st.repeat {
		s.pass(r)
		return out, false
	}
	out = Output{Stream: stream, Line: st.line, Form: st.form, Frame: st.ref}
	if len(s.chances.faults) > 0 && !s.strikes(r, st, &out) {
		return Output{}, false
	}
	out.Raw, out.Whole = s.bytes(r, r.step), st.whole
	target := s.answers(r, st)
	if r.fault != nil && !s.spoil(r, st, &out, target) {
		return Output{}, false
	}
	out.Last = target != nil && s.streams.answered(target.stream)
	if r.fault != nil && r.fault.Kind == FaultDuplicate {
		s.outbox = append(s.outbox, out)
		out.Last = false
	}
	s.written(r, st, target)
	return s.headed(r, out), true
}

// answers returns the reply of the request that a step answers, nil if the step is not an answer
// or the request already has its answer.
func (s *Session) answers(r *reply, st *step) *reply {
	if !st.final || r.hangs {
		return nil
	}
	if st.call != r.trigger {
		r = s.bound[st.call]
	}
	if r == nil || r.answered {
		return nil
	}
	return r
}

// transport writes a step that is not a message.
func (s *Session) transport(r *reply, st *step) Output {
	out := Output{Stream: r.stream, Form: st.form, Frame: st.ref}
	if r.hangs {
		out.Stream = s.streams.duplex
	}
	switch st.kind {
	case stepData:
		out.Whole = st.raw
	case stepEnd:
		r.closed = true
		out.Last, out.Abort = true, st.abort
		delete(s.streams.played, r.stream)
	}
	if pace := s.script.opt.Pace; pace != Brisk && pace != Instant {
		s.written(r, st, nil)
	} else {
		s.pass(r)
	}
	return s.headed(r, out)
}

// headed adds the response head to be written with a step.
func (s *Session) headed(r *reply, out Output) Output {
	out.Response, r.head = r.head, nil
	return out
}

// written moves a reply past a step that has been written.
func (s *Session) written(r *reply, st *step, target *reply) {
	const slack = 20 * time.Millisecond
	s.answerEarly()
	// The next step is timed from when this one was due, not written: timers are always a
	// little late, and the delays must not add up. Brisk gaps are minimums.
	if r.base = r.due; s.now-r.due > slack || s.script.opt.Pace == Brisk {
		r.base = s.now
	}
	r.baseAt, r.acted = st.at, false
	s.wroteOn, s.wroteAt = r.stream, s.now
	if r.step > s.wrote {
		s.wrote, s.wroteBase = r.step, r.base
	}
	if target != nil {
		target.answered = true
	}
	if st.notice && s.script.opt.Pace == Brisk {
		s.rest = s.now + briskLeast
	}
	s.pass(r)
}

// pass moves a reply past a step.
func (s *Session) pass(r *reply) {
	r.delayed, r.fault = false, nil
	s.leave(r)
	s.advance(r)
}

// batch writes a whole batch if all of its messages can be written now.
func (s *Session) batch(r *reply, st *step) (out Output, ok bool) {
	b := st.batch
	group := s.group(b, r)
	stream, ok := s.route(r, st)
	if group == nil || !ok || len(s.chances.faults) > 0 {
		return out, false
	}
	out = Output{Stream: stream, Line: b.line, Form: st.form, Whole: b.whole, Frame: session.Ref{Seq: st.ref.Seq}}
	from, start := 0, begin(b.raw)
	for i, e := range elements(b.raw, len(group)) {
		at := start + e.Offset()
		out.Raw = append(append(out.Raw, b.raw[from:at]...), s.bytes(group[i], b.first+uint32(i))...)
		from = at + len(e.Raw())
	}
	out.Raw = append(out.Raw, b.raw[from:]...)
	for i, q := range group {
		at := &s.script.steps[b.first+uint32(i)]
		target := s.answers(q, at)
		if target != nil && s.streams.answered(target.stream) {
			out.Last = true
		}
		s.written(q, at, target)
	}
	return out, true
}

// group returns the replies whose next steps are the messages of a batch, nil unless all of
// them can be written now and on one stream.
func (s *Session) group(b *batch, r *reply) []*reply {
	at := map[uint32]*reply{} // by their next step
	for _, q := range s.replies {
		if q.state != replySends || q.step < b.first || q.step > b.last {
			continue
		}
		if st := &s.script.steps[q.step]; s.awaits(q, st) == 0 && s.when(q, st) <= s.now+s.script.opt.Pace.window() {
			at[q.step] = q
		}
	}
	at[r.step] = r // wins over other replies with the same next step
	group := make([]*reply, b.last-b.first+1)
	stream, routed := s.route(r, &s.script.steps[r.step])
	for i := range group {
		n := b.first + uint32(i)
		st := &s.script.steps[n]
		q := at[n]
		if q == nil || s.unfit(q, n) {
			return nil
		}
		if to, ok := s.route(q, st); ok != routed || to != stream {
			return nil
		}
		group[i] = q
		if at[st.next] == nil { // one reply may own several messages
			at[st.next] = q
		}
	}
	return group
}

// firstPatience is how long an answer is first held back for a client that has not progressed as
// far as the recorded one. It must suffice for a client on a busy machine, or else the order of
// messages would depend on timing.
const firstPatience = 500 * time.Millisecond

// A patience limits how long answers are held back until the client sends what it had sent by
// then in the recording. A client that waits for the answer first would never send it. Each
// expired wait halves the next one, so such a client is held up for one second in total.
// Progress of the client restarts the wait.
type patience struct {
	span   time.Duration
	waits  uint32 // the trigger that answers wait for, 0 for none
	until  time.Duration
	waived uint32 // the last trigger that an answer stopped waiting for
}

// watch sets the trigger that answers wait for. When the time is up, it releases the answers
// and returns true.
func (w *patience) watch(s *Session, owed uint32) bool {
	if owed != w.waits {
		w.waits, w.until = owed, s.now+w.span
	}
	if owed == 0 || s.now < w.until {
		return false
	}
	ref := s.script.triggers[owed].ref
	s.note(Note{Kind: NoteOrder, Frame: ref,
		Text: fmt.Sprintf("continued without frame %d, which the recorded client had sent by then", ref.Seq)})
	w.span /= 2
	w.waits, w.waived = 0, max(w.waived, owed)
	for _, r := range s.replies {
		if r.state == replySends && s.awaits(r, &s.script.steps[r.step]) == owed {
			r.waived = owed
		}
	}
	s.missing = slices.DeleteFunc(s.missing, func(m uint32) bool { return m == owed })
	if slices.Contains(s.returns, owed) {
		s.arrive(owed)
	}
	return true
}
