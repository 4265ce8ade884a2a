package view

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"encoding/json"

	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// What an [Answers] keeps.
const (
	// MaxAnswers is how many questions it remembers the last answer to.
	MaxAnswers = 512
	// MaxAnswer is the size in bytes above which an answer is not kept, and
	// MaxAnswerBytes what all of them may have together.
	MaxAnswer      = 256 << 10
	MaxAnswerBytes = 16 << 20
	// MaxChanges is how many changes of one answer are returned.
	MaxChanges = 20
)

// Answers compares each answer with the one before it to the same question: of
// the same side, with the same method and the same params, but for _meta, which
// differs from call to call, and whatever their spelling. Make one with
// [NewAnswers].
type Answers struct {
	// TooLarge counts answers that were not compared because of their size.
	// Forgotten counts those whose question may have been asked before: too many
	// others were asked since to know.
	TooLarge, Forgotten uint64

	asked map[session.Ref]question // the open calls
	last  map[question]*list.Element
	order *list.List // of *answer, the oldest question first
	bytes int
	lost  bool // answers have been forgotten
}

// A question is what two calls have in common when they are the same.
type question [sha256.Size]byte

type answer struct {
	to   question
	ref  session.Ref
	kind jsonrpc.Kind
	raw  []byte
}

// A Delta is what changed from one answer to the next.
type Delta struct {
	// Call names the call, Message its answer, Previous the answer before.
	Call, Message, Previous session.Ref
	// Changes are the first [MaxChanges], none when the two are the same; More
	// counts the others.
	Changes []Change
	More    int
}

// NewAnswers makes an Answers.
func NewAnswers() *Answers {
	return &Answers{asked: map[session.Ref]question{}, last: map[question]*list.Element{}, order: list.New()}
}

// Add takes the next entry and returns what changed with the answers
// in it, of which nothing is said where there was none before.
func (a *Answers) Add(r *session.Entry) (deltas []*Delta) {
	for i := range r.Parts {
		p, m := &r.Parts[i], r.Of(i)
		switch p.Role {
		case session.RoleRequest:
			if q, ok := questionOf(p, m); ok {
				a.asked[p.Call] = q
			}
		case session.RoleResponse, session.RoleLate:
			q, ok := a.asked[p.Call]
			if !ok {
				continue
			}
			if d := a.answered(q, p, m); d != nil {
				deltas = append(deltas, d)
			}
		}
	}
	for _, c := range r.Ended {
		delete(a.asked, c.Ref)
	}
	return deltas
}

// questionOf is false where the params are too large to be known.
func questionOf(p *session.Part, m *jsonrpc.Message) (question, bool) {
	if len(m.Params) > MaxAnswer {
		return question{}, false
	}
	h := sha256.New()
	h.Write([]byte{byte(p.Lane)})
	h.Write([]byte(m.Method + "\x00"))
	if len(m.Params) > 0 {
		v, err := decode(m.Params)
		if err != nil {
			return question{}, false
		}
		if object, ok := v.(map[string]any); ok {
			delete(object, "_meta")
		}
		digest(h, v)
	}
	return question(h.Sum(nil)), true
}

func (a *Answers) answered(q question, p *session.Part, m *jsonrpc.Message) *Delta {
	raw := m.Result
	if p.Kind == jsonrpc.ErrorResponse {
		raw = m.Error
	}
	if len(raw) == 0 || len(raw) > MaxAnswer {
		a.TooLarge++
		return nil
	}
	next := &answer{to: q, ref: p.Message, kind: p.Kind, raw: bytes.Clone(raw)}
	e := a.last[q]
	if e == nil {
		if a.lost {
			a.Forgotten++
		}
		a.last[q] = a.order.PushBack(next)
		a.bytes += len(next.raw)
		a.forget()
		return nil
	}
	before := e.Value.(*answer)
	e.Value = next
	a.order.MoveToBack(e)
	a.bytes += len(next.raw) - len(before.raw)
	a.forget()
	d := &Delta{Call: p.Call, Message: p.Message, Previous: before.ref}
	d.Changes, d.More = Changes(before.tree(), next.tree(), MaxChanges)
	return d
}

// tree is the answer with the name of what it is.
func (a *answer) tree() json.RawMessage {
	name := `{"result":`
	if a.kind == jsonrpc.ErrorResponse {
		name = `{"error":`
	}
	return append(append([]byte(name), a.raw...), '}')
}

// forget drops the answers to what was not asked for the longest time.
func (a *Answers) forget() {
	for a.order.Len() > MaxAnswers || a.bytes > MaxAnswerBytes {
		e := a.order.Front()
		old := a.order.Remove(e).(*answer)
		delete(a.last, old.to)
		a.bytes -= len(old.raw)
		a.lost = true
	}
}
