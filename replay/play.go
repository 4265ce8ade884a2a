package replay

import (
	"cmp"
	"slices"
	"time"
)

// A playState says what a play waits for.
type playState uint8

const (
	playMoves  playState = iota // nothing: it is being moved on
	playReady                   // its step is due, or nearly so
	playLater                   // the time of its step
	playSoft                    // the client to come as far as it had
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
	// short has the id, if it is.
	short [16]byte
	// older and newer are its neighbours among those with the same id.
	older, newer *play
	stream       Stream
	// method and name are the request's, where there are faults.
	method, name string
	// base is when the last event of the play was, or should have been, and baseAt
	// when it was in the recording; acted says that the client did it.
	base, baseAt time.Duration
	acted        bool
	// waived is a cue that the play does not wait for any more.
	waived uint32
	// due is when the next step is due, delayed that a fault has had its say.
	due     time.Duration
	delayed bool
	fault   *Fault
	// age changes with the state, at is its place among the plays.
	age   uint32
	at    int
	state playState
	// hangs says that the items are those that hang on the cue, modern that the
	// request is of the era without a handshake, answered that its answer went out,
	// verbatim that the request was the recorded one but for its id, so that its token
	// need not be known before somebody asks.
	hangs, modern, answered, verbatim bool
}

// enlist adds a play that begins now, with something that was at in the recording.
func (s *Session) enlist(p *play, at time.Duration) {
	p.base, p.baseAt, p.acted = s.now, at, true
	p.at = len(s.plays)
	s.begun++
	p.number = s.begun
	s.plays = append(s.plays, p)
}

// move changes what a play waits for, and takes it out of wherever it waits.
func (p *play) move(state playState) {
	p.state = state
	p.age++
}

// over ends a play.
func (s *Session) over(p *play) {
	if p.state == playOver {
		return
	}
	p.move(playOver)
	p.item = 0
	last := len(s.plays) - 1
	s.plays[p.at] = s.plays[last]
	s.plays[p.at].at = p.at
	s.plays[last] = nil
	s.plays = s.plays[:last]
	s.open.remove(p)
	if !p.hangs && !p.answered {
		s.forgo(p)
	}
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
	p.move(playMoves)
	for {
		if p.item == 0 {
			break
		}
		it := &s.script.items[p.item]
		switch it.kind {
		case itemWrite:
			if s.ended && s.beyond(it) {
				s.leave(p)
				continue
			}
			s.schedule(p)
			return
		case itemAnswer:
			if !s.asks.passes(s, p, it) {
				return
			}
		case itemCancel:
			p.move(playCancel)
			if s.ended {
				s.over(p)
			}
			return
		case itemLeave:
			s.leaving = true
		}
		s.leave(p)
	}
	s.over(p)
}

// leave takes a play behind its item.
func (s *Session) leave(p *play) { p.item = s.script.items[p.item].next }

// schedule puts a play whose next item is a step to where it waits for its turn.
func (s *Session) schedule(p *play) {
	it := &s.script.items[p.item]
	if it.after > max(s.reached, p.waived) {
		p.move(playSoft)
		// Nobody waits for what comes on a subscription, but for its acknowledgement.
		if c := &s.script.cues[p.cue]; p.hangs || p.answered || c.has(cueListens) && p.item != c.first {
			s.soft.push(int64(it.after), p)
		} else {
			s.owed.push(int64(it.after), p)
		}
		return
	}
	if !p.delayed {
		s.time(p, it)
	}
	if p.due > s.now+s.script.opt.Pace.window() {
		p.move(playLater)
		s.later.push(int64(p.due), p)
		return
	}
	p.move(playReady)
	s.ready.push(int64(p.item), p)
	if it.has(itemBatched) {
		if s.heads == nil {
			s.heads = map[uint32]*play{}
		}
		s.heads[p.item] = p
	}
}

// time finds out when a step is due: as long after the event before it as in the
// recording, which is the step before, or something that the client did since,
// whatever call that was for.
func (s *Session) time(p *play, it *item) {
	base, at, acted := p.base, p.baseAt, p.acted
	if c := &s.script.cues[it.after]; c.at >= at {
		if came, ok := s.arrived.of(it.after); ok && came.at >= base {
			base, at, acted = came.at, c.at, true
		}
	}
	p.due = base + s.script.opt.Pace.delay(it.at-at, acted)
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
		case playReady, playLater:
			if s.beyond(&s.script.items[p.item]) {
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
			p.item = s.script.items[i].next
			s.advance(p)
			return
		}
	}
	if rest > 0 {
		s.note(Note{Kind: NoteCancelled, Live: p.live, Method: s.methodOf(p), Frame: s.script.items[p.item].message(),
			Text: "the client cancelled " + s.methodOf(p) + ", which it had not done in the recording; the rest of it was not sent"})
	}
	s.over(p)
}

// methodOf is the method of the recorded request that a play answers.
func (s *Session) methodOf(p *play) string {
	if m, _, err := s.script.message(s.script.cues[p.cue].place); err == nil {
		return m.Method
	}
	return "request"
}
