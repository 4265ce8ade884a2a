package replay

import (
	"cmp"
	"slices"
	"time"
)

// A playState says what a play waits for.
type playState uint8

const (
	playSends  playState = iota // the turn of its step
	playGate                    // the client's answer
	playCancel                  // the client's cancellation
	playParked                  // a stream
	playOver                    // nothing any more
)

// A play is one going-through of the items of a cue.
type play struct {
	cue, item uint32
	// number orders plays by when they began.
	number uint64
	// live is the client's message that it answers, id and token are that one's,
	// stream is where the answer goes.
	live      uint64
	id, token []byte
	key       string // of id
	stream    Stream
	// method and name are the request's, where there are faults.
	method, name string
	// base is when the last event of the play was, or should have been, and baseAt
	// when it was in the recording; acted says that the client did it.
	base, baseAt time.Duration
	acted        bool
	// waived is a cue that the play does not wait for any more.
	waived uint32
	// due is when the next step is due, delayed that a fault has set it.
	due     time.Duration
	delayed bool
	fault   *Fault
	// head is the head of the response that the next step comes with, nil for none.
	head  *Response
	state playState
	// hangs says that the items are those that hang on the cue, carries that they are
	// those of an exchange and come on a stream of their own, which is closed then, alone that only those
	// count which belong to its call; modern that the request is of the era without a
	// handshake, answered that its answer went out.
	hangs, carries, closed, alone, modern, answered bool
	// shell says that only what is beside the messages of an exchange counts.
	shell bool
}

// enlist adds a play that begins now, with something that was at in the recording.
func (s *Session) enlist(p *play, at time.Duration) {
	p.base, p.baseAt, p.acted = s.now, at, true
	s.begun++
	p.number = s.begun
	s.insert(p)
}

// before orders plays by their next item, and those of one item as they began.
func (p *play) before(q *play) int {
	return cmp.Or(cmp.Compare(p.item, q.item), cmp.Compare(p.number, q.number))
}

func (s *Session) insert(p *play) {
	i, _ := slices.BinarySearchFunc(s.plays, p, (*play).before)
	s.plays = slices.Insert(s.plays, i, p)
}

func (s *Session) remove(p *play) {
	if i, ok := slices.BinarySearchFunc(s.plays, p, (*play).before); ok {
		s.plays = slices.Delete(s.plays, i, i+1)
	}
}

// moveTo takes a play to an item.
func (s *Session) moveTo(p *play, item uint32) {
	s.remove(p)
	p.item = item
	s.insert(p)
}

// over ends a play.
func (s *Session) over(p *play) {
	if p.state == playOver {
		return
	}
	s.remove(p)
	p.state, p.item = playOver, 0
	if c := s.returnOf(p); c != 0 && s.streams.hasDuplex {
		s.returns = append(s.returns, c)
	} else if !p.hangs && !p.answered && !p.carries { // else another stream may bring the answer
		s.forgo(p)
	}
	if p.carries && !p.closed && s.streams.played[p.stream] {
		s.outbox = append(s.outbox, Output{Stream: p.stream, Response: p.head, Last: true})
	}
}

// returnOf is the cue at which the recorded client came back for the answer to a request,
// which had not come when its stream ended, 0 for none.
func (s *Session) returnOf(p *play) uint32 {
	answer := s.script.cues[p.cue].answer
	if p.hangs || p.answered || answer == 0 {
		return 0
	}
	if c := s.script.items[answer].cue; s.script.cues[c].kind == cueBare && !s.came(c) {
		return c
	}
	return 0
}

// forgo notes that a request gets no answer: its stream ends without one.
func (s *Session) forgo(p *play) {
	p.answered = true
	if s.streams.answered(p.stream) {
		s.outbox = append(s.outbox, Output{Stream: p.stream, Last: true})
	}
}

// advance moves a play to the next step, through the gates that are open.
func (s *Session) advance(p *play) {
	p.state = playSends
	for p.item != 0 {
		it := &s.script.items[p.item]
		switch {
		case p.alone && it.call != p.cue, p.shell && it.kind < itemHead:
			// of another call, or of the exchange
		case it.kind == itemHead && s.responds(p):
			if p.head = &s.script.responses[s.script.cues[it.cue].response]; p.head.Events && !s.chances.refuse {
				return
			}
			// Any other head comes together with what follows.
		case it.kind == itemWrite, (it.kind == itemData || it.kind == itemEnd) && s.responds(p), it.kind == itemData && p.hangs && s.streams.hasDuplex:
			if !s.ended || !s.beyond(it) {
				return
			}
		case it.kind == itemAnswer:
			if !s.asks.passes(s, p, it) {
				return
			}
		case it.kind == itemCancel:
			if p.state = playCancel; s.ended {
				s.over(p)
			}
			return
		case it.kind == itemLeave:
			s.leaving = true
		}
		s.leave(p)
	}
	if p.carries && !p.closed && !s.ended && s.streams.played[p.stream] && s.stays(p) {
		// Nothing ended the stream, and nothing does but the client.
		if p.head != nil {
			s.outbox = append(s.outbox, Output{Stream: p.stream, Response: p.head})
			p.head = nil
		}
		p.state = playCancel
		return
	}
	s.over(p)
}

// responds reports whether a play is that of a response over HTTP.
func (s *Session) responds(p *play) bool { return p.carries && (p.shell || !s.streams.hasDuplex) }

// stays reports whether a response that was not over at the end of the recording stays
// open: an event stream that has not brought what it is for.
func (s *Session) stays(p *play) bool {
	c := &s.script.cues[p.cue]
	events := s.script.responses[c.response].Events || c.response == 0
	return events && (c.kind == cueBare || c.kind == cueRequest && !p.answered)
}

// leave takes a play behind its item.
func (s *Session) leave(p *play) { s.moveTo(p, s.script.items[p.item].next) }

// owes reports whether the client may be waiting for the next step of a play. On a
// subscription it waits for the acknowledgement only.
func (s *Session) owes(p *play) bool {
	if p.hangs || p.answered {
		return false
	}
	c := &s.script.cues[p.cue]
	return !c.has(cueListens) || p.item == c.first
}

// when returns when the next step of a play is due: as long after the event before it as
// in the recording, which is the step before, of this play or another, or something that
// the client did since, whatever call that was for.
func (s *Session) when(p *play, it *item) time.Duration {
	if p.delayed {
		return p.due
	}
	base, at, acted := p.base, p.baseAt, p.acted
	if said := &s.script.items[s.said]; s.said != 0 && s.said < p.item && said.at >= at && s.saidAt >= base {
		base, at, acted = s.saidAt, said.at, false
	}
	if c := &s.script.cues[it.after]; c.at >= at {
		if came, ok := s.arrived[it.after]; ok && came.at >= base {
			base, at, acted = came.at, c.at, true
		}
	}
	if it.kind != itemWrite { // heads and ends keep no distance of their own
		acted = true
	}
	due := base + s.script.opt.Pace.delay(it.at-at, acted)
	if p.stream != s.wroteOn && p.base < s.wroteAt && !s.streams.hasDuplex {
		// Nothing but time keeps what waits for its turn on several connections in order.
		due = max(due, s.wroteAt+s.script.opt.Pace.rest())
	}
	return due
}

// beyond reports whether a step needed more of the client than it did before it
// ended the session. Answers are owed all the same, and what the server said after
// the end is said.
func (s *Session) beyond(it *item) bool {
	end := s.script.end
	return it.after > s.endedAt && !it.has(itemFinal) && (end == 0 || it.after < end)
}

// outlive is called when the client has ended: what waits for it is over.
func (s *Session) outlive() {
	for _, p := range s.latest() {
		switch p.state {
		case playGate:
			s.unanswered(p)
		case playCancel, playParked:
			s.over(p)
		case playSends:
			if p.item == 0 || s.beyond(&s.script.items[p.item]) {
				s.advance(p)
			}
		}
	}
}

// latest are the plays that are not over, the last one first.
func (s *Session) latest() []*play {
	all := slices.Clone(s.plays)
	slices.SortFunc(all, func(a, b *play) int { return cmp.Compare(b.number, a.number) })
	return all
}

// unanswered ends a play whose client left without an answer.
func (s *Session) unanswered(p *play) {
	method := s.methodOf(p)
	s.note(Note{Kind: NoteLeft, Live: p.live, Method: method, Frame: s.script.items[s.script.items[p.item].ref].message(),
		Text: "the client left without an answer to what the server had asked it, so its " + method + " has none either"})
	s.over(p)
}

// cancel ends a play early, or takes it to where it goes on after the client's
// cancellation in the recording.
func (s *Session) cancel(p *play) {
	rest := 0
	for i := p.item; i != 0; i = s.script.items[i].next {
		switch it := &s.script.items[i]; it.kind {
		case itemWrite:
			rest++
		case itemCancel:
			s.arrive(it.ref)
			p.base, p.baseAt, p.acted = s.now, s.script.items[i].at, true
			s.moveTo(p, s.script.items[i].next)
			s.advance(p)
			return
		}
	}
	if rest > 0 {
		s.note(Note{Kind: NoteCancelled, Live: p.live, Method: s.methodOf(p), Frame: s.script.items[p.item].message(),
			Text: "the client cancelled " + s.methodOf(p) + ", which it had not done in the recording; the rest of it was not sent"})
	}
	p.answered = p.answered || s.streams.hasDuplex // nothing comes back for it
	s.over(p)
}

// methodOf is the method of the recorded request that a play answers.
func (s *Session) methodOf(p *play) string {
	if m, _, err := s.script.message(s.script.cues[p.cue].place); err == nil {
		return m.Method
	}
	return "request"
}
