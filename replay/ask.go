package replay

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// An ask is a request that the server has sent in this session.
type ask struct {
	item uint32
	id   []byte
	key  string
	// until is when the client has to have answered, answered when it did.
	until, answered time.Duration
	done, expired   bool
	// waiting are the plays that go on when it is answered.
	waiting []*play
}

// asks are the requests that the server has sent.
type asks struct {
	// by has the last one of each item, ids those without an answer by their ids,
	// the oldest first; open is how many these are.
	by   map[uint32]*ask
	ids  map[string][]*ask
	open int
	// sent are the recorded ids that have been sent, early the answers that came
	// before what they answer, due those of them whose request has now been sent.
	sent  map[string]bool
	early map[string]*jsonrpc.Message
	due   []*jsonrpc.Message
	// next is the next number to make an id of.
	next int64
	// timed are those that may expire, the first that does at the front, with some
	// that have been answered in between.
	timed []*ask
}

// send notes a request that goes out, and gives it an id: the recorded one, and when
// it is sent again, as its call is played again, a new one.
func (a *asks) send(i uint32, recorded []byte, until time.Duration) *ask {
	if a.by == nil {
		a.by, a.ids, a.sent = map[uint32]*ask{}, map[string][]*ask{}, map[string]bool{}
	}
	x := &ask{item: i, id: bytes.Clone(recorded), until: until}
	if a.by[i] != nil {
		x.id = a.another(recorded)
		x.key = word(x.id)
	} else {
		x.key = word(x.id)
		a.sent[x.key] = true
	}
	if m := a.early[x.key]; m != nil {
		delete(a.early, x.key)
		a.due = append(a.due, m)
	}
	a.by[i] = x
	a.ids[x.key] = append(a.ids[x.key], x)
	a.open++
	if len(a.timed) > 2*a.open+64 {
		a.timed = slices.DeleteFunc(a.timed, func(x *ask) bool { return x.done })
	}
	a.timed = append(a.timed, x)
	return x
}

// another is an id of the same type that the session has not used: no recorded one
// has its number, or ends in it.
func (a *asks) another(recorded []byte) (id []byte) {
	if recorded[0] == '"' {
		id = append(bytes.Clone(recorded[:len(recorded)-1]), '-')
		id = append(strconv.AppendInt(id, a.next, 10), '"')
	} else {
		id = strconv.AppendInt(nil, a.next, 10)
	}
	a.next++
	return id
}

// forget makes a gate not wait for what was not sent this time.
func (a *asks) forget(i uint32) {
	if x := a.by[i]; x != nil {
		x.done = true
	}
}

// answered finds the request that an answer answers, nil for none.
func (a *asks) answered(id []byte) *ask {
	key := word(id)
	waiting := a.ids[key]
	switch {
	case key == "" || len(waiting) == 0:
		return nil
	case len(waiting) == 1:
		delete(a.ids, key)
	default:
		a.ids[key] = waiting[1:]
	}
	a.open--
	return waiting[0]
}

// passes reports whether a gate is open: the request behind it was answered, or
// never sent. Otherwise the play waits for the answer, or ends if that is too
// late.
func (a *asks) passes(s *Session, p *play, gate *item) bool {
	x := a.by[gate.ref]
	switch {
	case x == nil:
		return true
	case x.done:
		if x.answered >= p.base {
			p.base, p.baseAt, p.acted = x.answered, gate.at, true
		}
		return true
	case x.expired:
		s.timedOut(x, p)
		return false
	case s.ended:
		s.unanswered(p)
		return false
	}
	p.state = playGate
	x.waiting = append(x.waiting, p)
	return false
}

// maxEarly is how many answers are kept until they are asked for.
const maxEarly = 64

// keep keeps an answer to what has not been asked. A client that does not look
// what it gets, such as a file, sends all it has at once.
func (a *asks) keep(m *jsonrpc.Message) {
	key := word(m.ID)
	if key == "" || a.sent[key] || a.early[key] != nil || len(a.early) == maxEarly {
		return
	}
	if a.early == nil {
		a.early = map[string]*jsonrpc.Message{}
	}
	a.early[key] = &jsonrpc.Message{
		Kind: m.Kind, ID: bytes.Clone(m.ID), Result: bytes.Clone(m.Result), Error: bytes.Clone(m.Error), ErrorCode: m.ErrorCode,
	}
}

// answerEarly takes the answers that came before what is being asked now.
func (s *Session) answerEarly() {
	for len(s.asks.due) > 0 {
		m := s.asks.due[0]
		s.asks.due = s.asks.due[1:]
		s.answer(m)
	}
}

// expires is when the next request expires that a play waits for.
func (a *asks) expires() (time.Duration, bool) {
	for len(a.timed) > 0 && a.timed[0].done {
		a.timed[0] = nil
		a.timed = a.timed[1:]
	}
	if len(a.timed) == 0 {
		return 0, false
	}
	return a.timed[0].until, true
}

// expire gives up on what has not been answered in time.
func (a *asks) expire(s *Session) {
	for {
		until, ok := a.expires()
		if !ok || until > s.now {
			return
		}
		x := a.timed[0]
		a.timed = a.timed[1:]
		x.expired = true
		for _, p := range x.waiting {
			if p.state == playGate {
				s.timedOut(x, p)
			}
		}
		x.waiting = nil
	}
}

// timedOut ends a play whose client has not answered in time.
func (s *Session) timedOut(x *ask, p *play) {
	n := Note{Kind: NoteTimeout, Live: p.live, Frame: s.script.items[x.item].message()}
	if m, _, err := s.script.message(s.script.items[x.item].place); err == nil {
		n.Method, n.Subject = m.Method, jsonrpc.Subject(m)
	}
	n.Text = fmt.Sprintf("the client has not answered %s (frame %d, id %s) for %v; nothing more is sent for its %s",
		n.Method, n.Frame.Seq, x.id, s.script.opt.GateTimeout, s.methodOf(p))
	s.note(n)
	s.over(p)
}

// answer takes an answer of the client's.
func (s *Session) answer(m *jsonrpc.Message) {
	x := s.asks.answered(m.ID)
	if x == nil {
		if c, fate := s.take(orphan(m)); fate == fateFresh {
			s.arrive(c)
			return
		}
		s.asks.keep(m)
		return
	}
	x.done, x.answered = true, s.now
	recorded, ok := s.script.asked[x.item]
	if ok {
		if answerKey(m) != recorded.said {
			s.answeredOtherwise(x, m, &recorded)
		}
		s.arrive(recorded.cue)
	}
	if task, ok := clientTask(m.Result); ok {
		if s.tasks == nil {
			s.tasks = map[uint32][]byte{}
		}
		s.tasks[x.item] = bytes.Clone(task)
	}
	for _, p := range x.waiting {
		if p.state == playGate {
			s.advance(p)
		}
	}
	x.waiting = nil
}

// answeredOtherwise notes in what an answer is not the recorded one.
func (s *Session) answeredOtherwise(x *ask, m *jsonrpc.Message, recorded *answer) {
	c := &s.script.cues[recorded.cue]
	n := Note{Kind: NoteAnswer, Frame: c.message()}
	if asked, _, err := s.script.message(s.script.items[x.item].place); err == nil {
		n.Method, n.Subject = asked.Method, jsonrpc.Subject(asked)
	}
	n.Text = fmt.Sprintf("the client answered %s otherwise than in frame %d; the session went on as recorded", n.Method, c.seq)
	before, _, err := s.script.message(c.place)
	if err != nil {
		s.note(n)
		return
	}
	if before.Kind == m.Kind {
		member, a, b := "result", before.Result, m.Result
		if m.Kind == jsonrpc.ErrorResponse {
			member, a, b = "error", before.Error, m.Error
		}
		n.differ(answered(a), answered(b), member)
	}
	s.note(n)
}
