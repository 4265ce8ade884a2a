package replay

import (
	"bytes"
	"fmt"
	"time"

	"github.com/mcptap/mcptap/tap/session"
)

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
	if e, any := s.ready.front(); any {
		sooner(max(e.play.due, s.rest))
	}
	if e, any := s.later.front(); any {
		sooner(time.Duration(e.key) - s.script.opt.Pace.window())
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
	s.patience.watch(s)
	s.patience.expire(s)
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
		p := s.turn()
		if p == nil {
			break
		}
		if out, ok, err = s.release(p); ok || err != nil {
			s.unhold(ok)
			return out, ok, err
		}
		s.patience.watch(s)
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

// turn returns the play whose step is to be written now, nil for none.
func (s *Session) turn() *play {
	window := s.script.opt.Pace.window()
	for {
		e, ok := s.later.front()
		if !ok || time.Duration(e.key) > s.now+window {
			break
		}
		s.later.drop()
		s.schedule(e.play)
	}
	e, ok := s.ready.front()
	if !ok || e.play.due > s.now || s.rest > s.now {
		return nil
	}
	s.ready.drop()
	return e.play
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
	if s.unfit(p, p.item) {
		s.pass(p)
		return out, false, nil
	}
	if it.has(itemBatched) {
		if out, ok, err = s.batch(p, it); ok || err != nil {
			return out, ok, err
		}
	}
	stream, ok := s.route(p, it)
	if !ok && !p.modern && !s.ended {
		p.move(playParked)
		s.parked = append(s.parked, p)
		return out, false, nil
	}
	if !ok {
		s.pass(p)
		return out, false, nil
	}
	raw, err := s.bytes(p, p.item)
	if err != nil {
		return out, false, fmt.Errorf("frame %d: %w", it.seq, err)
	}
	out = Output{Stream: stream, Raw: raw, Line: it.has(itemLine), Frame: s.script.items[p.item].message()}
	final := it.has(itemFinal) && !p.hangs && !p.answered
	if s.chances.faults != nil && !s.fault(p, it, &out, final) {
		return Output{}, false, nil
	}
	out.Last = final && s.streams.answered(p.stream)
	if p.fault != nil && p.fault.Kind == FaultDuplicate {
		s.twice(&out)
	}
	s.written(p, it, final)
	return out, true, nil
}

// written moves a play on behind a step that has been written. The next one is due
// from when this one was, unless that is long ago: timers are late a little each
// time, which must not add up.
func (s *Session) written(p *play, it *item, final bool) {
	const slack = 20 * time.Millisecond
	s.answerEarly()
	if p.base = p.due; s.now-p.due > slack {
		p.base = s.now
	}
	p.baseAt, p.acted, p.delayed, p.fault = it.at, false, false, nil
	p.answered = p.answered || final
	if it.has(itemNote) {
		s.rest = s.now + s.script.opt.Pace.rest()
	}
	s.leave(p)
	s.advance(p)
}

// pass moves a play on behind a step that is not written.
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
	frame, err := b.place.load(s.script.spool)
	if err != nil {
		return out, false, err
	}
	var raw []byte
	from := 0
	for i, q := range group {
		at := &s.script.items[b.first+uint32(i)]
		part, err := s.bytes(q, b.first+uint32(i))
		if err != nil {
			return out, false, err
		}
		start := int(at.place.off - b.place.off)
		raw = append(append(raw, frame[from:start]...), part...)
		from = start + int(at.place.size)
	}
	raw = append(raw, frame[from:]...)
	out = Output{Stream: stream, Raw: raw, Line: b.line, Frame: session.Ref{Seq: it.seq}}
	for i, q := range group {
		at := &s.script.items[b.first+uint32(i)]
		final := at.has(itemFinal) && !q.hangs && !q.answered
		if final && s.streams.answered(q.stream) {
			out.Last = true
		}
		s.written(q, at, final)
	}
	return out, true, nil
}

// group finds the plays that the messages of a batch are the next steps of, nil
// unless all of them are to be written now, and on one stream.
func (s *Session) group(b *batch, p *play) []*play {
	group := make([]*play, b.last-b.first+1)
	then := map[uint32]*play{} // one play may have several
	stream, routed := s.route(p, &s.script.items[p.item])
	for i := range group {
		n := b.first + uint32(i)
		it := &s.script.items[n]
		q := s.heads[n]
		if n == p.item {
			q = p // of several whose next step it is
		}
		if q == nil || q.item != n || q != p && q.state != playReady {
			q = then[n]
		}
		if q == nil || s.unfit(q, n) {
			return nil
		}
		if to, ok := s.route(q, it); ok != routed || to != stream {
			return nil
		}
		group[i], then[it.next] = q, q
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
