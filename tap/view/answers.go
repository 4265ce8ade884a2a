package view

import (
	"bytes"
	"encoding/json"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// Limits of [Answers].
const (
	// MaxAnswers is how many questions it remembers the last answer to.
	MaxAnswers = 512
	// MaxAnswer is the size in bytes above which an answer is not kept, and MaxAnswerBytes
	// the limit for all answers.
	MaxAnswer      = 256 << 10
	MaxAnswerBytes = 16 << 20
	// MaxChanges is how many changes of one answer are returned.
	MaxChanges = 20
)

// Answers compares each answer with the one before it to the same question: a request of the
// same side with the same method and equal params, except for _meta, which differs between
// calls. Make one with [NewAnswers].
type Answers struct {
	// TooLarge counts answers that were not compared because of their size. Forgotten
	// counts those that were not compared because an earlier answer may have been
	// dropped.
	TooLarge, Forgotten uint64

	asked map[session.Ref]question // the open calls
	last  bounded.Map[question, *answer]
	bytes int
	lost  bool // answers have been forgotten
}

// A question identifies equal requests. Params is a hash.
type question struct {
	lane      tap.Lane
	method    string
	hasParams bool
	params    uint64
}

type answer struct {
	ref  session.Ref
	kind jsonrpc.Kind
	raw  []byte
}

// A Delta has the changes from one answer to the next.
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
	return &Answers{asked: map[session.Ref]question{}, last: bounded.Map[question, *answer]{Max: MaxAnswers}}
}

// Add adds the next entry and returns the changes of the answers in it that have an answer
// before.
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

// questionOf returns the question of a request; ok is false if the params are too large
// or not JSON.
func questionOf(p *session.Part, m *jsonrpc.Message) (q question, ok bool) {
	if len(m.Params) > MaxAnswer {
		return question{}, false
	}
	params := []byte("null")
	if len(m.Params) > 0 {
		params = m.Params
	}
	v, err := jsontree.Parse(params)
	if err != nil {
		return question{}, false
	}
	v.Remove(func(at jsontree.Path, _ jsontree.Value) bool { return len(at) == 1 }, "_meta")
	return question{p.Lane, m.Method, len(m.Params) > 0, v.Hash()}, true
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
	next := &answer{ref: p.Message, kind: p.Kind, raw: bytes.Clone(raw)}
	before, ok := a.last.Get(q)
	a.keep(q, before, next)
	if !ok {
		return nil
	}
	d := &Delta{Call: p.Call, Message: p.Message, Previous: before.ref}
	d.Changes, d.More = Changes(before.tree(), next.tree(), MaxChanges)
	return d
}

// tree returns the answer as an object with a member result or error.
func (a *answer) tree() json.RawMessage {
	name := `{"result":`
	if a.kind == jsonrpc.ErrorResponse {
		name = `{"error":`
	}
	return append(append([]byte(name), a.raw...), '}')
}

// keep keeps an answer in place of the one before it, and drops those to the questions that
// were asked longest ago.
func (a *Answers) keep(q question, before, next *answer) {
	if before == nil && a.lost {
		a.Forgotten++
	}
	dropped, full := a.last.Put(q, next)
	a.bytes += next.size() - before.size() - dropped.size()
	a.lost = a.lost || full
	for q, old := range a.last.All {
		if a.bytes <= MaxAnswerBytes {
			break
		}
		a.last.Delete(q)
		a.bytes -= old.size()
		a.lost = true
	}
}

// size is the length of an answer, 0 for none.
func (a *answer) size() int {
	if a == nil {
		return 0
	}
	return len(a.raw)
}
