package replay

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A question is a server request that was sent in this session.
type question struct {
	step uint32
	id   []byte
	key  string // the canonical id
	// until is the deadline for the client's answer, answered when it arrived.
	until, answered time.Duration
	done, expired   bool
	waiting         []*reply // the replies that wait for the answer
}

// questions are the server requests of a session.
type questions struct {
	by    map[uint32]*question        // the last one of each step
	open  []*question                 // those without an answer, oldest first
	sent  map[string]bool             // the recorded ids that have been sent
	early map[string]*jsonrpc.Message // answers that came before their requests
	due   []*jsonrpc.Message          // early answers whose requests have been sent
	next  int64                       // the number of the next generated id
}

// send adds a request that is being sent and gives it an id: the recorded one, or a new one if
// its call is being replayed.
func (a *questions) send(i uint32, recorded []byte, until time.Duration) *question {
	x := &question{step: i, id: bytes.Clone(recorded), until: until}
	if a.by[i] != nil {
		x.id = a.another(recorded)
	}
	x.key = canonical(x.id)
	if a.by[i] == nil {
		a.sent[x.key] = true
	}
	if m := a.early[x.key]; m != nil {
		delete(a.early, x.key)
		a.due = append(a.due, m)
	}
	a.by[i] = x
	a.open = append(a.open, x)
	return x
}

// another returns an unused id of the same type. Its number occurs in no recorded id.
func (a *questions) another(recorded []byte) (id []byte) {
	if recorded[0] == '"' {
		id = fmt.Appendf(nil, `%s-%d"`, recorded[:len(recorded)-1], a.next)
	} else {
		id = strconv.AppendInt(nil, a.next, 10)
	}
	a.next++
	return id
}

// forget makes gates not wait for a request that is not sent.
func (a *questions) forget(i uint32) {
	if x := a.by[i]; x != nil {
		x.done = true
	}
}

// answered removes the request with an id from the open ones and returns it, nil for none.
func (a *questions) answered(id []byte) *question {
	key := canonical(id)
	i := slices.IndexFunc(a.open, func(x *question) bool { return x.key == key })
	if key == "" || i < 0 {
		return nil
	}
	x := a.open[i]
	a.open = slices.Delete(a.open, i, i+1)
	return x
}

// passes reports whether a gate is open: its request was answered or never sent. Otherwise it
// makes the reply wait for the answer, or end if it is too late for one.
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

// maxEarly is the maximum number of early answers kept. A client that does not wait for requests,
// such as a file, sends all of its answers immediately.
const maxEarly = 64

// keep stores an answer whose request has not been sent yet.
func (a *questions) keep(m *jsonrpc.Message) {
	key := canonical(m.ID)
	if key == "" || a.sent[key] || a.early[key] != nil || len(a.early) == maxEarly {
		return
	}
	a.early[key] = &jsonrpc.Message{
		Kind: m.Kind, ID: bytes.Clone(m.ID), Result: bytes.Clone(m.Result), Error: bytes.Clone(m.Error), ErrorCode: m.ErrorCode,
	}
}

// noteOrphans notes the early answers whose requests were never sent, except those that the
// recorded client sent as well.
func (s *Session) noteOrphans() {
	for _, key := range slices.Sorted(maps.Keys(s.questions.early)) {
		m := s.questions.early[key]
		if s.script.orphans[key] {
			continue
		}
		s.note(Note{Kind: NoteResponse, Text: fmt.Sprintf("the client responded with the id %s, which no request of the server had", m.ID)})
	}
	clear(s.questions.early)
}

// answerEarly handles the early answers whose requests have been sent.
func (s *Session) answerEarly() {
	for len(s.questions.due) > 0 {
		m := s.questions.due[0]
		s.questions.due = s.questions.due[1:]
		s.answer(m)
	}
}

// expires returns when the next request expires.
func (a *questions) expires() time.Duration {
	for _, x := range a.open {
		if !x.done && !x.expired {
			return x.until
		}
	}
	return never
}

// expire ends the replies that wait for requests that have expired.
func (a *questions) expire(s *Session) {
	for _, x := range a.open {
		if x.done || x.expired {
			continue
		}
		if x.until > s.now {
			return
		}
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
	st := &s.script.steps[x.step]
	n := Note{Kind: NoteTimeout, Live: r.live, Frame: st.ref}
	n.Method, n.Subject = names(st.raw)
	n.Text = fmt.Sprintf("the client has not responded to %s (frame %d, id %s) for %v; no further messages of its %s are sent",
		n.Method, n.Frame.Seq, x.id, s.script.opt.GateTimeout, RequestName(s.namesOf(r)))
	s.note(n)
	s.over(r)
}

// answer handles a response from the client.
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
		if answerKey(m) != asked.answerKey {
			s.noteAnswer(asked, m)
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

// noteAnswer notes how an answer differs from the recorded one.
func (s *Session) noteAnswer(asked *step, m *jsonrpc.Message) {
	t := &s.script.triggers[asked.answer]
	n := Note{Kind: NoteResponse, Frame: t.ref}
	n.Method, n.Subject = names(asked.raw)
	n.Text = fmt.Sprintf("the client's response to %s differs from frame %d; the session continued as recorded", n.Method, t.ref.Seq)
	switch before := jsonrpc.Peek(t.raw); {
	case before.Kind != m.Kind && m.Kind == jsonrpc.ErrorResponse:
		n.Text += ": an error instead of a result"
	case before.Kind != m.Kind:
		n.Text += ": a result instead of an error"
	default:
		member, a, b := "result", before.Result, m.Result
		if m.Kind == jsonrpc.ErrorResponse {
			member, a, b = "error", before.Error, m.Error
		}
		n.differ(answered(a), answered(b), member)
	}
	s.note(n)
}
