package replay

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap/session"
)

// A prospect is what the plays of a session come to at a moment.
type prospect struct {
	// next is the play whose step is to be written next, when it is due, and nil for
	// none.
	next *play
	due  time.Duration
	// later is when another step may be next, if any.
	later time.Duration
	any   bool
	// owed is the first cue that is missing, or that an answer waits for; 0 for none.
	owed uint32
}

// survey looks at the plays, in the order of their steps. The first whose step is due, or
// nearly so, is next: the others wait for it.
func (s *Session) survey() (x prospect) {
	window := s.script.opt.Pace.window()
	for _, p := range s.plays {
		if p.state != playSends {
			continue
		}
		it := &s.script.items[p.item]
		if c := s.awaits(p, it); c != 0 {
			if (s.owes(p) || c <= s.reached) && (x.owed == 0 || c < x.owed) {
				x.owed = c
			}
			if x.owed != 0 && it.after > max(s.reached, s.patience.waived) {
				break // and so do all that follow
			}
			continue
		}
		due := s.when(p, it)
		if due <= s.now+window {
			x.next, x.due = p, due
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
	if until, any := s.asks.expires(); any {
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
	s.asks.expire(s)
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
	case s.held != nil && (s.now >= s.heldTo || s.ended && len(s.plays) == 0):
		out, s.held = *s.held, nil
		return out, true, nil
	case s.mayLeave():
		s.left = true
		return Output{Stream: s.streams.duplex, Leave: true}, true, nil
	}
	return Output{}, false, nil
}

// mayLeave reports whether the server leaves, as it did in the recording: when all
// that was asked for then has been asked for, and nothing is under way.
func (s *Session) mayLeave() bool {
	if !s.leaving || s.left || s.requests < s.script.requests || s.held != nil {
		return false
	}
	for _, p := range s.plays {
		if p.state != playCancel && p.state != playParked {
			return false
		}
	}
	return true
}

// release writes the step of a play, and moves the play on.
func (s *Session) release(p *play) (out Output, ok bool, err error) {
	it := &s.script.items[p.item]
	if it.kind != itemWrite {
		return s.transport(p, it)
	}
	if s.unfit(p, p.item) {
		s.pass(p)
		return out, false, nil
	}
	if it.has(itemBatched) {
		if out, ok, err = s.batch(p, it); ok || err != nil {
			return s.headed(p, out), ok, err
		}
	}
	stream, ok := s.route(p, it)
	if !ok && !p.modern && !s.ended {
		p.state = playParked
		return out, false, nil
	}
	if !ok || s.streams.hasDuplex && it.has(itemRepeat) {
		s.pass(p)
		return out, false, nil
	}
	out = Output{Stream: stream, Line: it.has(itemLine), Form: it.form, Frame: it.message()}
	if out.Raw, err = s.bytes(p, p.item); err != nil {
		return out, false, fmt.Errorf("frame %d: %w", it.seq, err)
	}
	if out.Whole, err = it.whole.load(s.script.spool); err != nil {
		return out, false, fmt.Errorf("frame %d: %w", it.seq, err)
	}
	target := s.answers(p, it)
	if s.chances.faults != nil && !s.fault(p, it, &out, target) {
		return Output{}, false, nil
	}
	out.Last = target != nil && s.streams.answered(target.stream)
	if p.fault != nil && p.fault.Kind == FaultDuplicate {
		s.twice(&out)
	}
	s.written(p, it, target)
	return s.headed(p, out), true, nil
}

// answers returns the play of the request that a step answers, nil where it answers
// none, or one that has its answer.
func (s *Session) answers(p *play, it *item) *play {
	if !it.has(itemFinal) || p.hangs {
		return nil
	}
	if it.call != p.cue {
		p = s.bound[it.call]
	}
	if p == nil || p.answered {
		return nil
	}
	return p
}

// transport writes what an exchange has beside its messages.
func (s *Session) transport(p *play, it *item) (out Output, ok bool, err error) {
	out = Output{Stream: p.stream, Form: it.form, Frame: it.message()}
	if p.hangs {
		out.Stream = s.streams.duplex
	}
	switch it.kind {
	case itemHead:
		// headed adds it.
	case itemData:
		if out.Whole, err = it.place.load(s.script.spool); err != nil {
			return out, false, fmt.Errorf("frame %d: %w", it.seq, err)
		}
	case itemEnd:
		p.closed = true
		out.Last, out.Abort = true, it.has(itemAbort)
		delete(s.streams.played, p.stream)
	}
	if s.script.opt.Pace.kind == paceRecorded {
		s.written(p, it, nil)
	} else {
		s.pass(p)
	}
	return s.headed(p, out), true, nil
}

// headed adds the head that a step comes with. What follows then comes next.
func (s *Session) headed(p *play, out Output) Output {
	out.Response, p.head = p.head, nil
	return out
}

// written moves a play on behind a step that has been written. The next one is due
// from when this one was, unless that is long ago: timers are late a little each
// time, which must not add up.
func (s *Session) written(p *play, it *item, target *play) {
	const slack = 20 * time.Millisecond
	s.answerEarly()
	if p.base = p.due; s.now-p.due > slack || s.script.opt.Pace.kind == paceBrisk {
		p.base = s.now // a distance in brisk keeps things apart, however late the first is
	}
	p.baseAt, p.acted, p.delayed, p.fault = it.at, false, false, nil
	s.wroteOn, s.wroteAt = p.stream, s.now
	if p.item > s.said {
		s.said, s.saidAt = p.item, p.base
	}
	if target != nil {
		target.answered = true
	}
	if it.has(itemNote) {
		s.rest = s.now + s.script.opt.Pace.rest()
	}
	s.leave(p)
	s.advance(p)
}

// pass moves a play on behind a step that is not written, or that counts for nothing.
func (s *Session) pass(p *play) {
	p.delayed, p.fault = false, nil
	s.leave(p)
	s.advance(p)
}

// batch writes a whole batch, if all its messages are to be written now.
func (s *Session) batch(p *play, it *item) (out Output, ok bool, err error) {
	b := s.script.batches[it.seq]
	group := s.group(&b, p)
	if group == nil || s.chances.faults != nil {
		return out, false, nil // one by one
	}
	stream, ok := s.route(p, it)
	if !ok {
		return out, false, nil
	}
	out = Output{Stream: stream, Line: b.line, Form: it.form, Frame: session.Ref{Seq: it.seq}}
	if out.Whole, err = b.whole.load(s.script.spool); err != nil {
		return out, false, err
	}
	frame, err := b.place.load(s.script.spool)
	if err != nil {
		return out, false, err
	}
	from := 0
	for i, q := range group {
		at := &s.script.items[b.first+uint32(i)]
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
		at := &s.script.items[b.first+uint32(i)]
		target := s.answers(q, at)
		if target != nil && s.streams.answered(target.stream) {
			out.Last = true
		}
		s.written(q, at, target)
	}
	return out, true, nil
}

// group finds the plays that the messages of a batch are the next steps of, nil
// unless all of them are to be written now, and on one stream.
func (s *Session) group(b *batch, p *play) []*play {
	at := map[uint32]*play{} // by their next step
	for _, q := range s.plays {
		if q.state != playSends || q.item < b.first || q.item > b.last {
			continue
		}
		if it := &s.script.items[q.item]; s.awaits(q, it) == 0 && s.when(q, it) <= s.now+s.script.opt.Pace.window() {
			at[q.item] = q
		}
	}
	at[p.item] = p // of several whose next step it is
	group := make([]*play, b.last-b.first+1)
	stream, routed := s.route(p, &s.script.items[p.item])
	for i := range group {
		n := b.first + uint32(i)
		it := &s.script.items[n]
		q := at[n]
		if q == nil || s.unfit(q, n) {
			return nil
		}
		if to, ok := s.route(q, it); ok != routed || to != stream {
			return nil
		}
		group[i] = q
		if at[it.next] == nil { // one play may have several
			at[it.next] = q
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
	// waits is the cue that is waited for, until a time; 0 for none.
	waits uint32
	until time.Duration
	// waived is the last cue that some answer was not held back for.
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
	s.note(Note{Kind: NoteOrder, Frame: s.script.cues[owed].message(),
		Text: fmt.Sprintf("went on without frame %d, which the client had sent by then in the recording", s.script.cues[owed].seq)})
	w.span /= 2
	w.waits, w.waived = 0, max(w.waived, owed)
	for _, p := range s.plays {
		if p.state == playSends && s.awaits(p, &s.script.items[p.item]) == owed {
			p.waived = owed
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
