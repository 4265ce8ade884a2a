package replay

import (
	"time"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A Session plays a script to one client, from the top. Times are offsets on a
// clock of the caller's that does not go backwards. Its methods must not be called
// by several goroutines at once.
//
// After Attach, Receive, Open, Detach or End, and whenever the time has come that Due
// names, the caller takes what is to be written with Next until there is nothing
// more, and the notes with Notes.
type Session struct {
	script *Script
	keyer  keyer
	now    time.Duration
	// live counts the client's messages. Of the last one, stream is where it came from,
	// variant what its head said beside it, carries the carriers whose steps it has
	// brought, and matched the frame of the first recorded request that fits it.
	live    uint64
	stream  Stream
	variant string
	carries []uint32
	matched uint64
	// can is what the client can be asked.
	can capabilities

	// arrived are the triggers that have come, and how. reached is the last trigger of the
	// recording that the client has come to, missing are the requests before it that
	// have not come, although they were under way together with one that has.
	arrived  map[uint32]arrival
	reached  uint32
	missing  []uint32
	requests int
	// returns are the triggers at which the recorded client came back for answers that this
	// one waits for, which has one stream for everything.
	returns []uint32
	cursors map[key]*cursor

	// replies are those that are not over, in the order of their next steps. bound finds
	// the last reply to a trigger that other steps refer to.
	replies []*reply
	bound   map[uint32]*reply

	patience patience
	// said is the last step that was written, and when.
	said   uint32
	saidAt time.Duration
	// wroteOn is the stream of the step that was written last, and wroteAt when that was.
	wroteOn Stream
	wroteAt time.Duration
	// rest is until when nothing may follow a notification.
	rest time.Duration

	questions questions
	tasks     map[uint32][]byte
	streams   streams
	chances   chances

	// outbox is what is to be written before all else, held what a fault holds
	// back until something else has been written, or until a time.
	outbox []Output
	held   *Output
	heldTo time.Duration

	// begun counts the replies.
	begun uint64

	// ended reports that the client's lane is over, and endedAt how far it had come;
	// leaving that the server is to leave, abrupt that it does not end its stream before,
	// left that it has.
	ended, leaving, abrupt, left bool
	endedAt                      uint32
	notes                        []Note
}

// NewSession begins a session.
func (s *Script) NewSession() *Session {
	return &Session{
		script: s, keyer: newKeyer(&s.opt), can: canAnything,
		cursors: map[key]*cursor{}, arrived: map[uint32]arrival{}, bound: map[uint32]*reply{}, tasks: map[uint32][]byte{},
		questions: questions{
			by: map[uint32]*question{}, ids: map[string][]*question{}, sent: map[string]bool{}, early: map[string]*jsonrpc.Message{},
		},
		streams:  streams{due: map[Stream]int{}, played: map[Stream]bool{}},
		patience: patience{span: firstPatience}, chances: newChances(&s.opt),
	}
}

// An Input is a message of the client's.
type Input struct {
	// Stream is where the responses to it go: a stream of its own, or one that was
	// attached.
	Stream Stream
	// Raw is the message as it stood on the wire.
	Raw []byte
	// Variant is what the head of its HTTP request says beside it; see [Head.Variant].
	Variant string
}

// A Reception says what became of an [Input].
type Reception struct {
	// Requests is how many responses are to be expected.
	Requests int
	// Played reports that the response comes as it was recorded over HTTP: its head, and
	// what follows until its end.
	Played bool
}

// Receive takes a message of the client's, which came at now.
func (s *Session) Receive(now time.Duration, in Input) (x Reception) {
	s.tick(now)
	if s.left {
		return x
	}
	s.live++
	s.stream, s.variant, s.carries, s.matched = in.Stream, in.Variant, s.carries[:0], 0
	s.streams.expect(in.Stream) // so that no answer is the last before all is read
	if m := jsonrpc.Peek(in.Raw); m.Kind != jsonrpc.Batch {
		x.Requests = s.message(in.Stream, &m, in.Raw)
	} else {
		for i, at := range elements(in.Raw, len(m.Batch)) {
			x.Requests += s.message(in.Stream, &m.Batch[i], at.of(in.Raw))
		}
		if m.Reason != "" {
			s.note(Note{Kind: NoteMiss, Text: "the client sent a " + m.Reason})
		}
	}
	s.expected(in.Stream, x.Requests)
	x.Played = s.streams.played[in.Stream]
	return x
}

// Open takes a request of HTTP that carries no message, and reports whether its response
// is played: its head, and what follows until its end. Last is the event behind which a
// stream is to go on, "" for none.
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
			s.carry(s.loop(key)) // what it goes on with was played again
			return true
		case t != 0 && s.again(t):
			return true
		}
	}
	return false
}

// Refuse takes a message of so many bytes that has not come yet, and reports whether it is
// refused: as one of that length was which the recorded server did not wait for. It may come
// again and be taken then, unless it was refused for its length.
func (s *Session) Refuse(now time.Duration, stream Stream, length int64) bool {
	s.tick(now)
	if s.left {
		return false
	}
	s.stream, s.carries = stream, s.carries[:0]
	switch t, fate := s.take(earlyKey(length)); {
	case fate == fateFresh:
		s.arrive(t)
	case t != 0 && s.script.responses[s.script.triggers[t].response].Status == 413:
		s.carry(t)
	}
	return s.streams.played[stream]
}

// again plays a request without a message again: one that was refused is refused again; a
// stream goes on that another request has begun.
func (s *Session) again(t uint32) bool {
	x := &s.script.triggers[t]
	if x.response == 0 {
		return false
	}
	r := &s.script.responses[x.response]
	if !r.Events || r.Status >= 300 {
		s.carry(t)
		return true
	}
	s.streams.markPlayed(s.stream)
	s.outbox = append(s.outbox, Output{Stream: s.stream, Response: r})
	s.adopt()
	return true
}

// adopt gives a stream what was to come on those that the client has closed.
func (s *Session) adopt() {
	for _, r := range s.replies {
		if r.state == replyParked && r.carries && s.script.triggers[r.trigger].kind == triggerBare {
			r.stream, r.state = s.stream, replySends
		}
	}
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
	if !s.came(0) {
		s.arrived[0] = arrival{at: s.now}
		s.hang(0, s.script.triggers[0].at)
		s.passOver(0)
	}
}

// arrive notes that the client has done what it did in the recording, and plays
// what came after it then. It reports whether that is the first time.
func (s *Session) arrive(t uint32) bool {
	if s.came(t) {
		return false
	}
	s.arrived[t] = arrival{s.live, s.now}
	if s.script.triggers[t].kind == triggerRequest {
		s.requests++
	} else if s.script.triggers[t].carrier == t {
		s.carry(t)
	}
	s.reach(t)
	if s.script.triggers[t].kind != triggerRequest {
		s.shell(t)
	}
	s.hang(t, s.script.triggers[t].at)
	s.passOver(t)
	return true
}

// carry plays the response to an exchange that is not about a request.
func (s *Session) carry(t uint32) {
	x := &s.script.triggers[t]
	if s.script.inbound {
		return // see shell
	}
	if !s.streams.hasDuplex && !s.carried(t) {
		return
	}
	r := &reply{trigger: t, step: x.first, live: s.live, stream: s.stream, answered: true, carries: true}
	s.begins(r, x.at)
}

// shell plays the response to an exchange that only brought what the client sent: what the
// server sends comes on the stream for everything.
func (s *Session) shell(t uint32) {
	carrier := s.script.triggers[t].carrier
	if !s.script.inbound || !s.streams.hasDuplex || s.stream == s.streams.duplex || !s.carried(carrier) {
		return
	}
	x := &s.script.triggers[carrier]
	r := &reply{trigger: carrier, step: x.first, live: s.live, stream: s.stream, answered: true, carries: true, shell: true}
	s.begins(r, x.at)
}

// carried notes that the steps of a carrier come on the stream of the last message. It
// reports false where others do already.
func (s *Session) carried(t uint32) bool {
	if s.streams.played[s.stream] {
		return false
	}
	s.streams.markPlayed(s.stream)
	s.carries = append(s.carries, t)
	return true
}

// passOver does on one stream for everything what a client of HTTP does between a message
// and its next, and returns the last trigger that comes to.
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

// An arrival says how a trigger came: with which of the client's messages, and when.
type arrival struct {
	live uint64
	at   time.Duration
}

// came reports whether the client has done what a trigger is.
func (s *Session) came(t uint32) bool {
	_, ok := s.arrived[t]
	return ok
}

// usedBy is with which of the client's messages a trigger came, 0 if it has not come.
func (s *Session) usedBy(t uint32) uint64 { return s.arrived[t].live }

// hang plays what hangs on a trigger.
func (s *Session) hang(t uint32, at time.Duration) {
	if first := s.script.triggers[t].hang; first != 0 {
		r := &reply{trigger: t, step: first, hangs: true, live: s.live}
		s.begins(r, at)
	}
}

// reach notes how far the client has come. A request that it has passed over, and that
// waited for its answer when the recorded client came here, is on its way, and so is the
// answer to what it was asked: what was recorded after it waits for it.
func (s *Session) reach(t uint32) {
	for i, m := range s.missing {
		if m == t {
			s.missing = append(s.missing[:i], s.missing[i+1:]...)
			break
		}
	}
	if t <= s.reached {
		return
	}
	for u := s.reached + 1; u < t && int(u) < len(s.script.triggers); u++ {
		if !s.came(u) && s.onItsWay(&s.script.triggers[u], t) {
			s.missing = append(s.missing, u)
		}
	}
	s.reached = t
	s.patience.again(s.now)
}

// onItsWay reports whether a trigger that has not come may still come when the client has done
// what it did later.
func (s *Session) onItsWay(x *trigger, later uint32) bool {
	switch {
	case x.answer == 0:
		return false
	case x.kind == triggerAnswer:
		asked := s.questions.by[x.answer]
		return asked != nil && !asked.done && !asked.expired
	}
	return x.kind == triggerRequest && !x.has(triggerListens) && s.script.steps[x.answer].after >= later
}

// awaits returns the trigger that a step waits for, 0 for none.
func (s *Session) awaits(r *reply, st *step) uint32 {
	if st.kind != stepMessage && s.free(r, st) {
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
			continue // a person may have to think about the answer, and the client about this
		}
		return m
	}
	return 0
}

// free reports whether a step that is no message waits for nothing but its turn: all but
// the end of a stream on which something may still come.
func (s *Session) free(r *reply, st *step) bool {
	return st.kind != stepEnd || r.answered && s.script.triggers[r.trigger].kind != triggerBare
}

// End reports that the client sends nothing more. What belongs to calls that are
// open is still played, as far as it needs nothing of the client.
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

// Done reports whether nothing will be written any more.
func (s *Session) Done() bool {
	return s.left || s.ended && len(s.replies) == 0 && len(s.outbox) == 0 && s.held == nil
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
	return s.script.unasked(s.came, most)
}

// BeginsAgain reports whether a message is what the recorded session began with and
// has come as often as it did there: its client begins anew.
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

// Matched is the number of the frame with the recorded request that the last message got
// the response of, 0 if there is none. Of a batch it is that of the first.
func (s *Session) Matched() uint64 { return s.matched }
