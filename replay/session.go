package replay

import (
	"time"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A Session plays a script to one client, from the top. Times are offsets on a
// clock of the caller's that does not go backwards. Its methods must not be called
// by several goroutines at once.
//
// After Attach, Receive, Detach or End, and whenever the time has come that Due
// names, the caller takes what is to be written with Next until there is nothing
// more, and the notes with Notes.
type Session struct {
	script *Script
	keyer  keyer
	now    time.Duration
	// live counts the client's messages. matched is the cue of the first request of
	// the last one, 0 for none.
	live    uint64
	matched uint32
	// can is what the client can be asked.
	can capabilities

	// arrived are the cues that have come, and how. reached is the last cue of the
	// recording that the client has come to.
	arrived  arrivals
	reached  uint32
	requests int
	cursors  map[cursorKey]*cursor
	// front is where to look for the first request that has not come.
	front uint32

	// plays are those that are not over, in no order. open finds them by the live
	// id, bound the last play of a cue that other steps refer to.
	plays []*play
	open  openPlays
	bound map[uint32]*play

	// ready are the plays whose step is due, or nearly so, by the step; later
	// those with a step that is due later, by that time; owed and soft those that
	// wait for the client to come to a cue, by the cue: owed if the client may be
	// waiting for the answer. Parked are those that wait for a stream which takes
	// what belongs to no request.
	ready, later, owed, soft heap
	parked                   []*play
	patience                 patience
	// heads finds the plays whose step is a message of a batch, by the step.
	heads map[uint32]*play
	// rest is until when nothing may follow a notification.
	rest time.Duration

	asks    asks
	tasks   map[uint32][]byte
	streams streams
	chances chances

	// outbox is what is to be written before all else, held what a fault holds
	// back until something else has been written, or until a time.
	outbox []Output
	held   *Output
	heldTo time.Duration

	// begun counts the plays.
	begun uint64

	// ended says that the client's lane is over, and endedAt how far it had come;
	// leaving that the server is to leave, left that it has.
	ended, leaving, left bool
	endedAt              uint32
	notes                []Note
	window               window
	wrap                 []byte
}

// NewSession begins a session.
func (s *Script) NewSession() *Session {
	x := &Session{
		script: s, keyer: keyer{hasher{seeds: s.seeds}, s.opt.Ignore}, can: canAnything,
		cursors:  map[cursorKey]*cursor{},
		patience: patience{span: firstPatience}, chances: newChances(&s.opt),
	}
	return x
}

// Receive takes a message of the client's, as it stood on the wire, which came at
// now. Stream is where the answers to it go: a stream of its own, or one that was
// attached. It returns how many answers are to be expected there: the number of
// requests in the message.
func (s *Session) Receive(now time.Duration, stream Stream, raw []byte) (requests int) {
	s.tick(now)
	if s.left {
		return 0
	}
	s.live++
	s.matched = 0
	s.streams.expect(stream) // so that no answer is the last before all is read
	if s.straight(stream, raw) {
		requests = 1
	} else if m := jsonrpc.Peek(raw); m.Kind != jsonrpc.Batch {
		requests = s.message(stream, &m, raw)
	} else {
		w := into(raw, begin(raw))
		for i := range m.Batch {
			at, ok := w.element()
			if !ok {
				break
			}
			w.i = skip(raw, at)
			requests += s.message(stream, &m.Batch[i], raw[at:w.i])
		}
		if m.Reason != "" {
			s.note(Note{Kind: NoteMiss, Text: "the client sent a " + m.Reason})
		}
	}
	s.expected(stream, requests)
	s.patience.watch(s)
	return requests
}

// message takes one message, which stands in raw.
func (s *Session) message(stream Stream, m *jsonrpc.Message, raw []byte) int {
	switch m.Kind {
	case jsonrpc.Request:
		s.streams.expect(stream)
		s.request(stream, m, raw)
		return 1
	case jsonrpc.Notification:
		s.notification(m)
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		s.answer(m)
	default:
		s.invalid(stream, m, raw)
	}
	return 0
}

// tick moves the session's clock.
func (s *Session) tick(now time.Duration) { s.now = max(s.now, now) }

// begin opens the session when its first stream does.
func (s *Session) begin() {
	if !s.arrived.come(0) {
		s.arrived.add(0, arrival{at: s.now})
		s.hang(0, s.script.cues[0].at)
	}
}

// arrive notes that the client has done what it did in the recording, and plays
// what came after it then. It reports whether that is the first time.
func (s *Session) arrive(c uint32) bool {
	if s.arrived.come(c) {
		return false
	}
	s.arrived.add(c, arrival{s.live, s.now})
	if s.script.cues[c].kind == cueRequest {
		s.requests++
	}
	s.reach(c)
	s.hang(c, s.script.cues[c].at)
	return true
}

// usedBy is with which of the client's messages a cue came, 0 if it has not come.
func (s *Session) usedBy(c uint32) uint64 {
	how, _ := s.arrived.of(c)
	return how.live
}

// hang plays what hangs on a cue.
func (s *Session) hang(c uint32, at time.Duration) {
	if first := s.script.cues[c].hang; first != 0 {
		p := &play{cue: c, item: first, hangs: true, live: s.live}
		s.enlist(p, at)
		s.advance(p)
	}
}

// reach notes how far the client has come, and lets go of what waited for that.
func (s *Session) reach(c uint32) {
	if c <= s.reached {
		return
	}
	s.reached = c
	s.patience.again(s.now)
	for _, h := range []*heap{&s.owed, &s.soft} {
		for e, ok := h.front(); ok && e.key <= int64(c); e, ok = h.front() {
			h.drop()
			s.schedule(e.play)
		}
	}
}

// End says that the client sends nothing more. What belongs to calls that are
// open is still played, as far as it needs nothing of the client.
func (s *Session) End(now time.Duration) {
	s.tick(now)
	if s.ended {
		return
	}
	s.ended, s.endedAt = true, s.reached
	if end := s.script.end; end != 0 {
		s.arrive(end)
	}
	s.reach(^uint32(0))
	s.outlive()
}

// Done reports whether nothing will be written any more.
func (s *Session) Done() bool {
	return s.left || s.ended && len(s.plays) == 0 && len(s.outbox) == 0 && s.held == nil
}

// Notes returns what there is to say since it was called last.
func (s *Session) Notes() []Note {
	notes := s.notes
	s.notes = nil
	return notes
}

// note adds a note.
func (s *Session) note(n Note) {
	if n.Live == 0 {
		n.Live = s.live
	}
	s.notes = append(s.notes, n)
}

// Requests returns how many of the recorded requests have been asked for, and
// Recorded how many there are.
func (s *Session) Requests() int { return min(s.requests, s.Recorded()) }

// Recorded returns how many requests the script has.
func (s *Session) Recorded() int { return s.script.Requests() }

// Unasked names the recorded requests that the client has not asked for, at most
// so many.
func (s *Session) Unasked(most int) []Note {
	return s.script.unasked(s.arrived.come, most)
}
