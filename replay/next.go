package replay

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap/session"
)

// A prospect is what the replies of a session come to at a moment.
type prospect struct {
	// next is the reply whose step is to be written next, when it is due, and nil for
	// none.
	next *reply
	due  time.Duration
	// later is when another step may be next, if any.
	later time.Duration
	any   bool
	// owed is the first trigger that is missing, or that an answer waits for; 0 for none.
	owed uint32
}

// survey looks at the replies, in the order of their steps. The first whose step is due, or
// nearly so, is next: the others wait for it.
func (s *Session) survey() (x prospect) {
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
				break // and so do all that follow
			}
			continue
		}
		due := s.when(r, st)
		if due <= s.now+window {
			x.next, x.due = r, due
			break
		}
		if at := due - window; !x.any || at < x.later {
			x.later, x.any = at, true
		}
	}
	s.returns = slices.DeleteFunc(s.returns, s.came)
	if x.owed == 0 && len(s.returns) > 0 {
		x.owed = s.returns[0]
	}
	return x
}

// Due returns when Next has to be called again, if nothing else happens before;
// ok is false when nothing will be due then.
func (s *Session) Due() (at time.Duration, ok bool) {
	if s.Done() {
		return 0, false
	}
	if len(s.outbox) > 0 || s.mayLeave() {
		return s.now, true
	}
	sooner := func(t time.Duration) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	x := s.survey()
	if x.next != nil {
		sooner(max(x.due, s.rest))
	}
	if x.any {
		sooner(x.later)
	}
	if s.patience.waits != 0 {
		sooner(s.patience.until)
	}
	if until, any := s.questions.expires(); any {
		sooner(until)
	}
	if s.held != nil {
		sooner(s.heldTo)
	}
	return at, ok
}

// Next returns what is to be written now; ok is false when there is nothing more
// at present. The error is that of the spool.
func (s *Session) Next(now time.Duration) (out Output, ok bool, err error) {
	s.tick(now)
	if s.left {
		return Output{}, false, nil
	}
	s.questions.expire(s)
	for {
		if len(s.outbox) > 0 {
			out = s.outbox[0]
			s.outbox[0] = Output{}
			if s.outbox = s.outbox[1:]; len(s.outbox) == 0 {
				s.outbox = nil
			}
			s.left = out.Leave
			return out, true, nil
		}
		x := s.survey()
		if x.next == nil && s.patience.watch(s, x.owed) {
			continue
		}
		if x.next == nil || x.due > s.now || s.rest > s.now {
			break
		}
		x.next.due = x.due
		if out, ok, err = s.release(x.next); ok || err != nil {
			s.unhold(ok)
			return out, ok, err
		}
	}
	switch {
	case s.held != nil && (s.now >= s.heldTo || s.ended && len(s.replies) == 0):
		out, s.held = *s.held, nil
		return out, true, nil
	case s.mayLeave():
		s.left = true
		return Output{Stream: s.streams.duplex, Leave: true, Abort: s.abrupt}, true, nil
	}
	return Output{}, false, nil
}

// mayLeave reports whether the server leaves, as it did in the recording: when all
// that was asked for then has been asked for, and nothing is under way.
func (s *Session) mayLeave() bool {
	if !s.leaving || s.left || s.requests < s.script.requests || s.held != nil {
		return false
	}
	for _, r := range s.replies {
		if r.state != replyCancel && r.state != replyParked {
			return false
		}
	}
	return true
}

// release writes the step of a reply, and moves the reply on.
func (s *Session) release(r *reply) (out Output, ok bool, err error) {
	st := &s.script.steps[r.step]
	if st.kind != stepMessage {
		return s.transport(r, st)
	}
	if s.unfit(r, r.step) {
		s.pass(r)
		return out, false, nil
	}
	if st.has(stepBatched) {
		if out, ok, err = s.batch(r, st); ok || err != nil {
			return s.headed(r, out), ok, err
		}
	}
	stream, ok := s.route(r, st)
	if !ok && !r.modern && !s.ended {
		r.state = replyParked
		return out, false, nil
	}
	if !ok || s.streams.hasDuplex && st.has(stepRepeat) {
		s.pass(r)
		return out, false, nil
	}
	out = Output{Stream: stream, Line: st.has(stepLine), Form: st.form, Frame: st.message()}
	if s.chances.faults != nil && !s.strikes(r, st, &out) {
		return Output{}, false, nil
	}
	if out.Raw, err = s.bytes(r, r.step); err != nil {
		return out, false, fmt.Errorf("frame %d: %w", st.seq, err)
	}
	if out.Whole, err = st.whole.load(s.script.spool); err != nil {
		return out, false, fmt.Errorf("frame %d: %w", st.seq, err)
	}
	target := s.answers(r, st)
	if r.fault != nil && !s.spoil(r, st, &out, target) {
		return Output{}, false, nil
	}
	out.Last = target != nil && s.streams.answered(target.stream)
	if r.fault != nil && r.fault.Kind == FaultDuplicate {
		s.twice(&out)
	}
	s.written(r, st, target)
	return s.headed(r, out), true, nil
}

// answers returns the reply of the request that a step answers, nil where it answers
// none, or one that has its answer.
func (s *Session) answers(r *reply, st *step) *reply {
	if !st.has(stepFinal) || r.hangs {
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

// transport writes what an exchange has beside its messages.
func (s *Session) transport(r *reply, st *step) (out Output, ok bool, err error) {
	out = Output{Stream: r.stream, Form: st.form, Frame: st.message()}
	if r.hangs {
		out.Stream = s.streams.duplex
	}
	switch st.kind {
	case stepHead:
		// headed adds it.
	case stepData:
		if out.Whole, err = st.place.load(s.script.spool); err != nil {
			return out, false, fmt.Errorf("frame %d: %w", st.seq, err)
		}
	case stepEnd:
		r.closed = true
		out.Last, out.Abort = true, st.has(stepAbort)
		delete(s.streams.played, r.stream)
	}
	if s.script.opt.Pace.kind == paceRecorded {
		s.written(r, st, nil)
	} else {
		s.pass(r)
	}
	return s.headed(r, out), true, nil
}

// headed adds the head that a step comes with. What follows then comes next.
func (s *Session) headed(r *reply, out Output) Output {
	out.Response, r.head = r.head, nil
	return out
}

// written moves a reply on behind a step that has been written. The next one is due
// from when this one was, unless that is long ago: timers are late a little each
// time, which must not add up.
func (s *Session) written(r *reply, st *step, target *reply) {
	const slack = 20 * time.Millisecond
	s.answerEarly()
	if r.base = r.due; s.now-r.due > slack || s.script.opt.Pace.kind == paceBrisk {
		r.base = s.now // a distance in brisk keeps things apart, however late the first is
	}
	r.baseAt, r.acted, r.delayed, r.fault = st.at, false, false, nil
	s.wroteOn, s.wroteAt = r.stream, s.now
	if r.step > s.said {
		s.said, s.saidAt = r.step, r.base
	}
	if target != nil {
		target.answered = true
	}
	if st.has(stepNote) {
		s.rest = s.now + s.script.opt.Pace.rest()
	}
	s.leave(r)
	s.advance(r)
}

// pass moves a reply on behind a step that is not written, or that counts for nothing.
func (s *Session) pass(r *reply) {
	r.delayed, r.fault = false, nil
	s.leave(r)
	s.advance(r)
}

// batch writes a whole batch, if all its messages are to be written now.
func (s *Session) batch(r *reply, st *step) (out Output, ok bool, err error) {
	b := s.script.batches[st.seq]
	group := s.group(&b, r)
	if group == nil || s.chances.faults != nil {
		return out, false, nil // one by one
	}
	stream, ok := s.route(r, st)
	if !ok {
		return out, false, nil
	}
	out = Output{Stream: stream, Line: b.line, Form: st.form, Frame: session.Ref{Seq: st.seq}}
	if out.Whole, err = b.whole.load(s.script.spool); err != nil {
		return out, false, err
	}
	frame, err := b.place.load(s.script.spool)
	if err != nil {
		return out, false, err
	}
	from := 0
	for i, q := range group {
		at := &s.script.steps[b.first+uint32(i)]
		part, err := s.bytes(q, b.first+uint32(i))
		if err != nil {
			return out, false, err
		}
		start := int(at.place.off - b.place.off)
		out.Raw = append(append(out.Raw, frame[from:start]...), part...)
		from = start + int(at.place.size)
	}
	out.Raw = append(out.Raw, frame[from:]...)
	for i, q := range group {
		at := &s.script.steps[b.first+uint32(i)]
		target := s.answers(q, at)
		if target != nil && s.streams.answered(target.stream) {
			out.Last = true
		}
		s.written(q, at, target)
	}
	return out, true, nil
}

// group finds the replies that the messages of a batch are the next steps of, nil
// unless all of them are to be written now, and on one stream.
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
	at[r.step] = r // of several whose next step it is
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
		if at[st.next] == nil { // one reply may have several
			at[st.next] = q
		}
	}
	return group
}

// unhold lets go of what a fault has held back, behind what is being written.
func (s *Session) unhold(written bool) {
	if written && s.held != nil {
		s.outbox = append(s.outbox, *s.held)
		s.held = nil
	}
}

// keep copies an output, to be written later.
func (o Output) keep() Output {
	o.Raw = bytes.Clone(o.Raw)
	return o
}

// firstPatience is how long a request waits at first for its answer while the client
// has not come as far as it had in the recording. It must be long enough for a
// client on a busy machine, as else the order of what it gets depends on the time.
const firstPatience = 500 * time.Millisecond

// patience says how long an answer is held back until the client sends what it had
// sent by then in the recording. A client that waits for the answer first would
// never send it. Each time it was in vain, the next time is half as long, so such a
// client is held up for a second in all; as long as the client comes on, the time
// starts anew.
type patience struct {
	span time.Duration
	// waits is the trigger that is waited for, until a time; 0 for none.
	waits uint32
	until time.Duration
	// waived is the last trigger that some answer was not held back for.
	waived uint32
}

// watch takes what is waited for first, and lets the answers go that have waited for it
// long enough: then it reports true.
func (w *patience) watch(s *Session, owed uint32) bool {
	if owed != w.waits {
		w.waits, w.until = owed, s.now+w.span
	}
	if owed == 0 || s.now < w.until {
		return false
	}
	s.note(Note{Kind: NoteOrder, Frame: s.script.triggers[owed].message(),
		Text: fmt.Sprintf("went on without frame %d, which the client had sent by then in the recording", s.script.triggers[owed].seq)})
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

// again starts the time anew.
func (w *patience) again(now time.Duration) { w.until = now + w.span }
