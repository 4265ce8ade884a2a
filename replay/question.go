package replay

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A question is a request that the server has sent in this session.
type question struct {
	step uint32
	id   []byte
	key  string
	// until is when the client has to have answered, answered when it did.
	until, answered time.Duration
	done, expired   bool
	// waiting are the replies that go on when it is answered.
	waiting []*reply
}

// questions are the requests that the server has sent.
type questions struct {
	// by has the last one of each step, ids those without an answer by their ids,
	// the oldest first; open is how many these are.
	by   map[uint32]*question
	ids  map[string][]*question
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
	timed []*question
}

// send notes a request that goes out, and gives it an id: the recorded one, and when
// it is sent again, as its call is played again, a new one.
func (a *questions) send(i uint32, recorded []byte, until time.Duration) *question {
	x := &question{step: i, id: bytes.Clone(recorded), until: until}
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
		a.timed = slices.DeleteFunc(a.timed, func(x *question) bool { return x.done })
	}
	a.timed = append(a.timed, x)
	return x
}

// another is an id of the same type that the session has not used: no recorded one
// has its number, or ends in it.
func (a *questions) another(recorded []byte) (id []byte) {
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
func (a *questions) forget(i uint32) {
	if x := a.by[i]; x != nil {
		x.done = true
	}
}

// answered finds the request that an answer answers, nil for none.
func (a *questions) answered(id []byte) *question {
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
// never sent. Otherwise the reply waits for the answer, or ends if that is too
// late.
func (a *questions) passes(s *Session, r *reply, gate *step) bool {
	x := a.by[gate.about]
	switch {
	case x == nil:
		return true
	case x.done:
		if x.answered >= r.base {
			r.base, r.baseAt, r.acted = x.answered, gate.at, true
		}
		return true
	case x.expired:
		s.timedOut(x, r)
		return false
	case s.ended:
		s.unanswered(r)
		return false
	}
	r.state = replyGate
	x.waiting = append(x.waiting, r)
	return false
}

// maxEarly is how many answers are kept until they are asked for.
const maxEarly = 64

// keep keeps an answer to what has not been asked. A client that does not look
// what it gets, such as a file, sends all it has at once.
func (a *questions) keep(m *jsonrpc.Message) {
	key := word(m.ID)
	if key == "" || a.sent[key] || a.early[key] != nil || len(a.early) == maxEarly {
		return
	}
	a.early[key] = &jsonrpc.Message{
		Kind: m.Kind, ID: bytes.Clone(m.ID), Result: bytes.Clone(m.Result), Error: bytes.Clone(m.Error), ErrorCode: m.ErrorCode,
	}
}

// answerEarly takes the answers that came before what is being asked now.
func (s *Session) answerEarly() {
	for len(s.questions.due) > 0 {
		m := s.questions.due[0]
		s.questions.due = s.questions.due[1:]
		s.answer(m)
	}
}

// expires is when the next request expires that a reply waits for.
func (a *questions) expires() (time.Duration, bool) {
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
func (a *questions) expire(s *Session) {
	for {
		until, ok := a.expires()
		if !ok || until > s.now {
			return
		}
		x := a.timed[0]
		a.timed = a.timed[1:]
		x.expired = true
		for _, r := range x.waiting {
			if r.state == replyGate {
				s.timedOut(x, r)
			}
		}
		x.waiting = nil
	}
}

// timedOut ends a reply whose client has not answered in time.
func (s *Session) timedOut(x *question, r *reply) {
	n := Note{Kind: NoteTimeout, Live: r.live, Frame: s.script.steps[x.step].ref}
	n.Method, n.Subject = names(s.script.steps[x.step].raw)
	n.Text = fmt.Sprintf("the client has not answered %s (frame %d, id %s) for %v; nothing more is sent for its %s",
		n.Method, n.Frame.Seq, x.id, s.script.opt.GateTimeout, s.methodOf(r))
	s.note(n)
	s.over(r)
}

// answer takes an answer of the client's.
func (s *Session) answer(m *jsonrpc.Message) {
	x := s.questions.answered(m.ID)
	if x == nil {
		if t, fate := s.take(orphan(m)); fate == fateFresh {
			s.arrive(t)
			return
		}
		s.questions.keep(m)
		return
	}
	x.done, x.answered = true, s.now
	if asked := &s.script.steps[x.step]; asked.answer != 0 {
		if answerKey(m) != asked.said {
			s.answeredOtherwise(asked, m)
		}
		s.arrive(asked.answer)
	}
	if task, ok := clientTask(m.Result); ok {
		s.tasks[x.step] = bytes.Clone(task)
	}
	for _, r := range x.waiting {
		if r.state == replyGate {
			s.advance(r)
		}
	}
	x.waiting = nil
}

// answeredOtherwise notes how an answer differs from the recorded one.
func (s *Session) answeredOtherwise(asked *step, m *jsonrpc.Message) {
	t := &s.script.triggers[asked.answer]
	n := Note{Kind: NoteAnswer, Frame: t.ref}
	n.Method, n.Subject = names(asked.raw)
	n.Text = fmt.Sprintf("the client answered %s otherwise than in frame %d; the session went on as recorded", n.Method, t.ref.Seq)
	if before := jsonrpc.Peek(t.raw); before.Kind == m.Kind {
		member, a, b := "result", before.Result, m.Result
		if m.Kind == jsonrpc.ErrorResponse {
			member, a, b = "error", before.Error, m.Error
		}
		n.differ(answered(a), answered(b), member)
	}
	s.note(n)
}
