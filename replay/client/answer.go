package client

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A pool has the recorded questions and their answers.
type pool struct {
	all []asked
	// left are the questions that can still be used, by key and by method, in recorded order. The
	// last one of a key is never removed. Of a method, those without an answer come last.
	left map[any][]int
	// held are the live requests whose answers come later in the recording. free releases them
	// when the server waits for answers in another order than recorded.
	held []held
	free bool
}

// An asked is a recorded question in a replay.
type asked struct {
	*question
	asked int // how many times it was asked
	step  int // the step that answers it, -1 for none
}

// A held is a live request that waits for its answer.
type held struct {
	id       []byte
	question int
}

func newPool(plan *Plan) *pool {
	x := &pool{all: make([]asked, len(plan.questions)), left: map[any][]int{}}
	for i := range plan.questions {
		q := &plan.questions[i]
		if x.all[i] = (asked{q, 0, -1}); !q.dropped {
			x.left[q.key] = append(x.left[q.key], i)
		}
	}
	for _, answered := range []bool{true, false} {
		for i, q := range x.all {
			if (q.answer != session.Ref{}) == answered && !q.dropped {
				x.left[q.method] = append(x.left[q.method], i)
			}
		}
	}
	for i := range plan.steps {
		if s := &plan.steps[i]; s.kind == stepAnswer {
			x.all[s.question].step = i
		}
	}
	return x
}

// equal returns the recorded question that is equal by value to a live one, -1 for none.
func (x *pool) equal(m *jsonrpc.Message) int { return x.use(keyOf(m), true) }

// use returns the next unused question of a key or a method, or the last one if reuse is set and
// all are used, -1 for none.
func (x *pool) use(of any, reuse bool) int {
	list := x.left[of]
	for i, n := range list {
		if x.all[n].asked == 0 || reuse && i == len(list)-1 {
			x.left[of] = list[i:]
			x.all[n].asked++
			return n
		}
	}
	return -1
}

// find returns the recorded question for a live one, -1 for none. exact reports whether they are
// equal by value.
func (x *pool) find(m *jsonrpc.Message) (n int, exact bool) {
	if n := x.equal(m); n >= 0 {
		return n, true
	}
	return x.use(m.Method, false), false
}

// take removes the live request held for a recorded question and returns its id, nil for none.
func (x *pool) take(question int) []byte {
	i := slices.IndexFunc(x.held, func(h held) bool { return h.question == question })
	if i < 0 {
		return nil
	}
	id := x.held[i].id
	x.held = slices.Delete(x.held, i, i+1)
	return id
}

// question handles a server request.
func (p *player) question(m *jsonrpc.Message) {
	id := bytes.Clone(m.ID)
	n, exact := p.pool.find(m)
	if m.Method == "ping" && !p.inBatch(n) { // answered immediately, or the server may send nothing else
		if n < 0 || p.pool.all[n].answer == (session.Ref{}) || p.answer(id, &p.pool.all[n]) != nil {
			p.reply(id, "result", []byte("{}"))
		}
		return
	}
	if n < 0 {
		p.opt.Note(Note{Kind: NoteUnknown, Method: m.Method, Subject: jsonrpc.Subject(*m),
			Text: fmt.Sprintf("the server sent %s, which was never recorded", replay.RequestName(m.Method, jsonrpc.Subject(*m)))})
		p.reply(id, "error", []byte(`{"code":-32601,"message":"this request was never recorded"}`))
		return
	}
	if !exact {
		p.relaxed(n, m)
	}
	p.pool.held = append(p.pool.held, held{id, n})
	_ = p.release()
}

// inBatch reports whether the answer to a recorded question is part of a batch.
func (p *player) inBatch(n int) bool {
	if n < 0 {
		return false
	}
	at := p.pool.all[n].step
	return at >= 0 && p.batched(&p.plan.steps[at])
}

// relaxed notes that a server request differs from the recorded one.
func (p *player) relaxed(n int, m *jsonrpc.Message) {
	q := &p.pool.all[n]
	p.opt.Note(Note{Kind: NoteRelaxed, Frame: q.ref, Method: m.Method, Subject: jsonrpc.Subject(*m),
		Text: fmt.Sprintf("the server sent %s, which differs from #%d; it got the recorded response", replay.RequestName(m.Method, jsonrpc.Subject(*m)), q.ref.Seq)})
}

// release answers the held requests whose answers are due in recorded order.
func (p *player) release() error {
	var err error
	p.pool.held = slices.DeleteFunc(p.pool.held, func(h held) bool {
		q := &p.pool.all[h.question]
		if !p.pool.free && (q.step > p.at || q.step == p.at && p.inBatch(h.question)) {
			return false
		}
		if e := p.answer(h.id, q); err == nil {
			err = e
		}
		return true
	})
	return err
}

// answer sends the recorded answer to a live request, if there is one.
func (p *player) answer(id []byte, q *asked) error {
	if q.answer == (session.Ref{}) {
		return nil
	}
	m, err := p.load(q.answer)
	if err != nil {
		return err
	}
	if q.name != "" {
		p.reply(id, "result", lookup(m.Params, "inputResponses", q.name))
		return nil
	}
	out := &Outgoing{raw: m.raw, line: m.line, form: m.form, kind: m.Kind, was: m.Message}
	if q.step >= 0 {
		out.head = p.plan.steps[q.step].head
	}
	if !bytes.Equal(id, m.ID) {
		out.raw, out.line = replay.Rewrite(m.raw, id, "id"), nil
	}
	p.post(out)
	return nil
}

// reply sends a generated response. It does not wait until the server has it.
func (p *player) reply(id []byte, member string, value []byte) {
	p.post(NewOutgoing(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"%s":%s}`, id, member, value)))
}

// maxRounds limits how many times a request is repeated that was not repeated in the recording.
const maxRounds = 32

// A chain is an input_required result whose request is to be repeated (2026-07-28
// basic/patterns/mrtr).
type chain struct {
	state   []byte // in JSON, nil for none
	answers []byte // the inputResponses, nil if nothing was asked
	was     []byte // the recorded state in JSON, nil for none
}

// required handles an input_required result. It reports whether the request stays open, because
// it was repeated immediately: the recording has no request that repeats it.
func (p *player) required(f *pending, a *request, m *jsonrpc.Message) bool {
	c := &chain{state: bytes.Clone(lookup(m.Result, "requestState"))}
	inputs, ok := readObject(lookup(m.Result, "inputRequests"))
	if recorded, err := p.load(a.answer); err == nil && recorded.ResultType == "input_required" {
		if c.was = bytes.Clone(lookup(recorded.Result, "requestState")); a.retry < 0 { // not repeated by the recorded client either
			for _, in := range inputs {
				p.pool.equal(in.request())
			}
			return false
		}
	}
	complete := true
	if ok {
		c.answers, complete = p.inputs(inputs)
	}
	if a.retry >= 0 && p.progress[a.retry] == unsent && p.target.retries() {
		p.chains[a.call] = c
		return false
	}
	if !complete || f.rounds >= maxRounds || isPoll(f.method) {
		return false
	}
	params, err := p.params(a)
	if err != nil {
		return false
	}
	p.sendNew(&pending{id: p.freshID(), method: f.method, request: f.request, rounds: f.rounds + 1}, withChain(params, c))
	return true
}

// inputs answers the requests of an input_required result. complete is false if one of them has
// no recorded answer.
func (p *player) inputs(inputs object) (answers []byte, complete bool) {
	var out object
	complete = true
	for _, in := range inputs {
		m := in.request()
		n, exact := p.pool.find(m)
		var value []byte
		if n >= 0 {
			value = p.recordedInput(&p.pool.all[n])
		}
		if value == nil {
			complete = false
			p.opt.Note(Note{Kind: NoteUnknown, Method: m.Method, Subject: jsonrpc.Subject(*m),
				Text: fmt.Sprintf("the server sent %s, for which no response was recorded", replay.RequestName(m.Method, jsonrpc.Subject(*m)))})
			continue
		}
		if !exact {
			p.relaxed(n, m)
		}
		out = append(out, member{in.name, value})
	}
	return out.bytes(), complete
}

// recordedInput returns the recorded result for a question. It is nil if there is none, or if the
// answer is an error, which inputResponses cannot express.
func (p *player) recordedInput(q *asked) []byte {
	if q.answer == (session.Ref{}) {
		return nil
	}
	m, err := p.load(q.answer)
	if err != nil {
		return nil
	}
	if q.name != "" {
		return bytes.Clone(lookup(m.Params, "inputResponses", q.name))
	}
	return bytes.Clone(m.Result)
}

// keepsState makes a chain use the state of a recorded request if that is not the state that the
// recorded server sent: the client changed or dropped it.
func (c *chain) keepsState(params []byte) {
	sent := lookup(params, "requestState")
	was, _ := textOf(c.was)
	if now, _ := textOf(sent); now != was || (sent == nil) != (c.was == nil) {
		c.state = sent
	}
}

// withChain sets the members of params that a repeated request carries.
func withChain(params []byte, c *chain) []byte {
	o, ok := readObject(params)
	if !ok {
		return params
	}
	for _, x := range []member{{"inputResponses", c.answers}, {"requestState", c.state}} {
		switch {
		case x.value == nil:
			o = o.without(func(n string) bool { return n == x.name })
		case !bytes.Equal(lookup(params, x.name), x.value):
			o = o.set(x.name, x.value)
		}
	}
	return o.bytes()
}
