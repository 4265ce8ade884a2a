package replay

import (
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A Session plays a script to one client, from the start. Times are offsets on the caller's
// monotonic clock. Its methods must not be called concurrently.
//
// After each call that passes client input, and at the time returned by [Session.Due], the
// caller calls [Session.Next] until there is nothing more to write, and then [Session.Notes].
type Session struct {
	script *Script
	keyer  keyer
	now    time.Duration

	// live counts the client's messages. The other fields describe the last one: its stream,
	// the variant of its HTTP head, the carriers whose steps it started, and the frame of the
	// first recorded request that matched it.
	live    uint64
	stream  Stream
	variant string
	carries []uint32
	matched uint64

	can capabilities // what the client can be asked

	// arrived are the triggers that have arrived. reached is the latest recorded trigger that
	// the client has reached. missing are earlier triggers that may still arrive (see reach).
	arrived  map[uint32]arrival
	reached  uint32
	missing  []uint32
	requests int
	// returns are the triggers at which the recorded client resumed a stream to get answers.
	// The live client, which has one stream for everything, waits for those answers.
	returns []uint32
	cursors map[Key]*cursor

	// replies are the open replies, in the order of their next steps. bound has the last reply
	// to each request.
	replies []*reply
	bound   map[uint32]*reply
	begun   uint64 // the number of replies so far

	patience  patience
	wrote     uint32        // the last step written
	wroteBase time.Duration // and the time from which later steps are timed
	wroteOn   Stream        // the stream of the last write
	wroteAt   time.Duration // and when it happened
	rest      time.Duration // until when nothing may follow a notification

	questions questions
	tasks     map[uint32][]byte
	streams   streams
	chances   chances

	// outbox is written before everything else. held is what a fault holds back until
	// something else has been written, or until heldTo.
	outbox []Output
	held   *Output
	heldTo time.Duration

	// ended reports that the client's lane has ended; endedAt is the trigger it had reached.
	// leaving reports that the server is about to leave, abrupt that it does so without ending
	// its stream, left that it has left.
	ended, leaving, abrupt, left bool
	endedAt                      uint32
	notes                        []Note
}

// NewSession starts a session.
func (s *Script) NewSession() *Session {
	return &Session{
		script: s, keyer: newKeyer(&s.opt), can: canAnything,
		cursors: map[Key]*cursor{}, arrived: map[uint32]arrival{}, bound: map[uint32]*reply{}, tasks: map[uint32][]byte{},
		questions: questions{
			by: map[uint32]*question{}, sent: map[string]bool{}, early: map[string]*jsonrpc.Message{}, next: s.nextID,
		},
		streams:  streams{due: map[Stream]int{}, played: map[Stream]bool{}},
		patience: patience{span: firstPatience}, chances: newChances(&s.opt),
	}
}

// An Input is a message from the client.
type Input struct {
	// Stream is where the responses go: a stream for this message, or an attached one.
	Stream Stream
	Raw    []byte // as on the wire
	// Variant is the variant of the head of its HTTP request; see [Head.Variant].
	Variant string
}

// A Reception describes how a session handles an [Input].
type Reception struct {
	// Requests is the number of responses to expect.
	Requests int
	// Played reports that the response is played as it was recorded over HTTP, from its
	// head to its end.
	Played bool
}

// Receive handles a message from the client.
func (s *Session) Receive(now time.Duration, in Input) (x Reception) {
	s.tick(now)
	if s.left {
		return x
	}
	s.live++
	s.stream, s.variant, s.carries, s.matched = in.Stream, in.Variant, s.carries[:0], 0
	s.streams.expect(in.Stream) // so that no answer counts as the last before the batch is read
	if m := jsonrpc.Peek(in.Raw); m.Kind != jsonrpc.Batch {
		x.Requests = s.message(in.Stream, &m, in.Raw)
	} else {
		for i, e := range elements(in.Raw, len(m.Batch)) {
			x.Requests += s.message(in.Stream, &m.Batch[i], e.Raw())
		}
		if m.Reason != "" {
			s.note(Note{Kind: NoteMiss, Text: "the client sent a " + m.Reason})
		}
	}
	s.expected(in.Stream, x.Requests)
	x.Played = s.streams.played[in.Stream]
	return x
}

// Open handles an HTTP request without a message, and reports whether its response is played,
// from its head to its end. last is the id of the event after which a stream is resumed, ""
// for none.
func (s *Session) Open(now time.Duration, stream Stream, method, target, last string, body []byte) bool {
	s.tick(now)
	if s.left {
		return false
	}
	s.stream, s.carries = stream, s.carries[:0]
	for _, key := range bareKeys(method, target, last, body) {
		t, fate := s.take(key)
		switch {
		case fate == fateFresh:
			s.arrive(t)
			return s.streams.played[stream]
		case t != 0 && last != "":
			s.carry(s.loop(key)) // what it resumes was played again
			return true
		case t != 0 && s.replayBare(t):
			return true
		}
	}
	return false
}

// Refuse handles the head of a message of a given length, and reports whether the message is
// refused before its body is read, because the recorded server did so for that length. A message
// that is sent again is refused again only if the status is 413.
func (s *Session) Refuse(now time.Duration, stream Stream, length int64) bool {
	s.tick(now)
	if s.left {
		return false
	}
	s.stream, s.carries = stream, s.carries[:0]
	switch t, fate := s.take(earlyKey(length)); {
	case fate == fateFresh:
		s.arrive(t)
	case t != 0 && s.script.triggers[t].response.Status == 413:
		s.carry(t)
	}
	return s.streams.played[stream]
}

// replayBare plays the response to a request without a message another time: a refusal is
// repeated, a stream continues where the previous request left it.
func (s *Session) replayBare(t uint32) bool {
	r := s.script.triggers[t].response
	if r == nil {
		return false
	}
	if !r.Events || r.Status >= 300 {
		s.carry(t)
		return true
	}
	s.streams.markPlayed(s.stream)
	s.outbox = append(s.outbox, Output{Stream: s.stream, Response: r})
	for _, r := range s.replies { // of streams that the client has closed
		if r.state == replyParked && r.carries && s.script.triggers[r.trigger].kind == triggerBare {
			r.stream, r.state = s.stream, replySends
		}
	}
	return true
}

// message handles one message and returns the number of responses to expect.
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

// tick advances the clock.
func (s *Session) tick(now time.Duration) { s.now = max(s.now, now) }

// begin starts playing when the first stream opens.
func (s *Session) begin() {
	if !s.came(0) {
		s.arrived[0] = arrival{at: s.now}
		s.hang(0)
		s.passOver(0)
	}
}

// An arrival is the live message with which a trigger arrived, and the time.
type arrival struct {
	live uint64
	at   time.Duration
}

// came reports whether a trigger has arrived.
func (s *Session) came(t uint32) bool {
	_, ok := s.arrived[t]
	return ok
}

// arrive handles the first arrival of a trigger and plays what followed it.
func (s *Session) arrive(n uint32) {
	if s.came(n) {
		return
	}
	t := &s.script.triggers[n]
	s.arrived[n] = arrival{s.live, s.now}
	if t.kind == triggerRequest {
		s.requests++
	} else if t.carrier == n {
		s.carry(n)
	}
	s.reach(n)
	if t.kind != triggerRequest {
		s.shell(n)
	}
	s.hang(n)
	s.passOver(n)
}

// carry plays the response of an exchange without a client request.
func (s *Session) carry(t uint32) {
	if !s.script.inbound && (s.streams.hasDuplex || s.carried(t)) {
		s.begins(&reply{trigger: t, step: s.script.triggers[t].first, stream: s.stream, answered: true, carries: true})
	}
}

// shell plays the response of an exchange that carries client messages only. Server messages
// come on the duplex stream.
func (s *Session) shell(t uint32) {
	n := s.script.triggers[t].carrier
	if s.script.inbound && s.streams.hasDuplex && s.stream != s.streams.duplex && s.carried(n) {
		s.begins(&reply{trigger: n, step: s.script.triggers[n].first, stream: s.stream, answered: true, carries: true, shell: true})
	}
}

// carried assigns the steps of a carrier to the stream of the last message. It returns false
// if the stream is already played.
func (s *Session) carried(t uint32) bool {
	if s.streams.played[s.stream] {
		return false
	}
	s.streams.markPlayed(s.stream)
	s.carries = append(s.carries, t)
	return true
}

// hang plays the steps that hang off a trigger.
func (s *Session) hang(t uint32) {
	if first := s.script.triggers[t].hang; first != 0 {
		s.begins(&reply{trigger: t, step: first, hangs: true})
	}
}

// passOver passes over the triggers between a client message and the next one that only HTTP
// clients cause, if one stream carries everything. It returns the last trigger passed.
func (s *Session) passOver(t uint32) uint32 {
	for ; s.streams.hasDuplex && int(t)+1 < len(s.script.triggers); t++ {
		switch next := t + 1; {
		case !s.playable(next):
			s.reached = max(s.reached, next)
		case s.script.triggers[next].kind != triggerBare:
			return t
		case s.script.triggers[next].opens && !s.came(next) && !s.script.inbound:
			s.arrived[next] = arrival{s.live, s.now}
			s.reached = max(s.reached, next)
			s.carry(next)
		}
	}
	return t
}

// reach records how far the client has progressed. A request that it skipped may still arrive if
// the recorded client was waiting for its answer at this point, and so may an answer that the
// client owes. Steps recorded after those wait for them.
func (s *Session) reach(t uint32) {
	s.missing = slices.DeleteFunc(s.missing, func(m uint32) bool { return m == t })
	if t <= s.reached {
		return
	}
	for u := s.reached + 1; u < t && int(u) < len(s.script.triggers); u++ {
		if !s.came(u) && s.onItsWay(&s.script.triggers[u], t) {
			s.missing = append(s.missing, u)
		}
	}
	s.reached = t
	s.patience.until = s.now + s.patience.span
}

// onItsWay reports whether a trigger that has not arrived may still arrive after a later one.
func (s *Session) onItsWay(x *trigger, later uint32) bool {
	switch {
	case x.answer == 0:
		return false
	case x.kind == triggerAnswer:
		asked := s.questions.by[x.answer]
		return asked != nil && !asked.done && !asked.expired
	}
	return x.kind == triggerRequest && !x.listens && s.script.steps[x.answer].after >= later
}

// awaits returns the trigger that a step waits for, 0 for none.
func (s *Session) awaits(r *reply, st *step) uint32 {
	// Steps that are not messages do not wait, except the end of a stream that may carry more.
	if st.kind != stepMessage && (st.kind != stepEnd || r.answered && s.script.triggers[r.trigger].kind != triggerBare) {
		return 0
	}
	if st.after > max(s.reached, r.waived) {
		return st.after
	}
	for _, m := range s.missing {
		if m > st.after || m <= r.waived || m == r.trigger {
			continue
		}
		if s.script.triggers[m].kind == triggerAnswer && s.owes(r) {
			continue // the client may wait for this step while its user considers the answer
		}
		return m
	}
	return 0
}

// End tells the session that the client sends nothing more. Steps of open calls are still played
// if they need nothing more from the client.
func (s *Session) End(now time.Duration) {
	s.tick(now)
	if s.ended {
		return
	}
	s.ended, s.endedAt = true, s.passOver(s.reached)
	if end := s.script.end; end != 0 {
		s.arrive(end)
	}
	s.reached, s.missing = ^uint32(0), nil
	s.outlive()
}

// Done reports whether nothing more will be written.
func (s *Session) Done() bool {
	return s.left || s.ended && len(s.replies) == 0 && len(s.outbox) == 0 && s.held == nil
}

// Notes returns the notes since the previous call.
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

// Requests returns the number of recorded requests that the client has sent.
func (s *Session) Requests() int { return min(s.requests, s.Recorded()) }

// Recorded returns the number of recorded requests.
func (s *Session) Recorded() int { return s.script.Requests() }

// BeginsAgain reports whether a message starts a new session: it opens the recorded session and
// has already arrived as many times as it was recorded.
func (s *Session) BeginsAgain(in Input) bool {
	first := s.script.opening
	if first == 0 || !s.came(first) {
		return false
	}
	m := jsonrpc.Peek(in.Raw)
	if m.Kind != jsonrpc.Request {
		return false
	}
	k := s.keyer.key(&m)
	q, cur := s.queue(k.variant(in.Variant))
	if len(q) == 0 {
		q, cur = s.queue(k.exact)
	}
	return len(q) > 0 && q[0] == first && s.skipUsed(q, cur) == 0
}

// Matched returns the frame number of the recorded request that matched the last message, or the
// first request of a batch; 0 for none.
func (s *Session) Matched() uint64 { return s.matched }
