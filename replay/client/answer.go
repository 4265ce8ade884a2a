package client

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A pool has what the client was asked in the recording, and what it said.
type pool struct {
	plan *Plan
	all  []asked
	// byKey and byMethod are those that are left to be used, in recorded order; a
	// key's last one stays. steps are where they were answered.
	byKey    map[replay.Key][]int
	byMethod map[string][]int
	// held are the live requests whose answers come later in the recording. They are
	// free if the server waits for something else first.
	held []held
	free bool
}

// An asked is a recorded question in a replay.
type asked struct {
	*question
	asked int // how often it was asked
	step  int // in which it is answered, -1 for none
}

// A held is a live request that waits for its answer.
type held struct {
	id       []byte
	question int
}

func newPool(plan *Plan) *pool {
	x := &pool{plan: plan, all: make([]asked, len(plan.questions)), byKey: map[replay.Key][]int{}, byMethod: map[string][]int{}}
	for i := range plan.questions {
		q := &plan.questions[i]
		x.all[i] = asked{q, 0, -1}
		x.byKey[q.key] = append(x.byKey[q.key], i)
		x.byMethod[q.method] = append(x.byMethod[q.method], i)
	}
	for i := range plan.steps {
		if s := &plan.steps[i]; s.kind == stepAnswer {
			x.all[s.question].step = i
		}
	}
	return x
}

func (x *pool) at(n int) *asked { return &x.all[n] }

// find returns the recorded question that a live one is, -1 for none. Exact says
// that it is the same by value.
func (x *pool) find(m *jsonrpc.Message) (n int, exact bool) {
	key := keyOf(m)
	list := x.byKey[key]
	for i, n := range list {
		if x.all[n].asked == 0 || i == len(list)-1 {
			x.byKey[key] = list[i:]
			x.all[n].asked++
			return n, true
		}
	}
	list = x.byMethod[m.Method]
	for i, n := range list {
		if x.all[n].asked == 0 {
			x.byMethod[m.Method] = list[i:]
			x.all[n].asked++
			return n, false
		}
	}
	return -1, false
}

// take stops holding the live request that a recorded question is, and returns its
// id, nil for none.
func (x *pool) take(question int) []byte {
	i := slices.IndexFunc(x.held, func(h held) bool { return h.question == question })
	if i < 0 {
		return nil
	}
	id := x.held[i].id
	x.held = slices.Delete(x.held, i, i+1)
	return id
}

// question takes a request of the server's.
func (p *player) question(m *jsonrpc.Message) {
	id := bytes.Clone(m.ID)
	n, exact := p.pool.find(m)
	if m.Method == "ping" && !p.inBatch(n) { // a server that waits for the answer may say nothing else
		if n < 0 || p.pool.at(n).answer == (session.Ref{}) || p.answer(id, p.pool.at(n)) != nil {
			p.reply(id, "result", []byte("{}"))
		}
		return
	}
	if n < 0 {
		p.opt.Note(Note{Kind: NoteUnknown, Method: m.Method, Subject: jsonrpc.Subject(*m),
			Text: fmt.Sprintf("the server asked %s, which was never recorded", phrase(m))})
		p.reply(id, "error", []byte(`{"code":-32601,"message":"this request was never recorded"}`))
		return
	}
	if !exact {
		p.relaxed(n, m)
	}
	p.pool.held = append(p.pool.held, held{id, n})
	_ = p.release()
}

// inBatch reports whether the answer to a recorded question is sent with others.
func (p *player) inBatch(n int) bool {
	if n < 0 {
		return false
	}
	at := p.pool.at(n).step
	return at >= 0 && p.batched(&p.plan.steps[at])
}

// relaxed notes that the server asked something else.
func (p *player) relaxed(n int, m *jsonrpc.Message) {
	q := p.pool.at(n)
	p.opt.Note(Note{Kind: NoteRelaxed, Frame: q.ref, Method: m.Method, Subject: jsonrpc.Subject(*m),
		Text: fmt.Sprintf("the server asked %s otherwise than in #%d, and got the answer to that", phrase(m), q.ref.Seq)})
}

// phrase names a live request.
func phrase(m *jsonrpc.Message) string {
	if s := jsonrpc.Subject(*m); s != "" {
		return m.Method + " " + s
	}
	return m.Method
}

// release answers what is held and may be answered: in the recorded order.
func (p *player) release() error {
	var err error
	p.pool.held = slices.DeleteFunc(p.pool.held, func(h held) bool {
		q := p.pool.at(h.question)
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

// answer says to a live request what the client said in the recording: nothing, if
// it said nothing.
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

// reply sends an answer that was not recorded so.
func (p *player) reply(id []byte, member string, value []byte) {
	// Nothing waits for it to arrive: the server's next message will tell.
	p.post(NewOutgoing(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"%s":%s}`, id, member, value)))
}

// maxRounds is how often one request is repeated that was not recorded so.
const maxRounds = 32

// A chain is an input_required result whose request is to be repeated (2026-07-28
// basic/patterns/mrtr).
type chain struct {
	state   []byte // as it stands, nil for none
	answers []byte // the inputResponses, nil if nothing was asked
}

// required takes an input_required result. It reports whether the request goes on
// waiting: it was repeated at once, because the recorded client did not do so.
func (p *player) required(f *flight, a *ask, m *jsonrpc.Message) bool {
	o, _ := readObject(m.Result)
	c := &chain{state: bytes.Clone(o.get("requestState"))}
	complete := true
	if inputs, ok := readObject(o.get("inputRequests")); ok {
		c.answers, complete = p.inputs(inputs)
	}
	if p.repeats(f.ask) {
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
	p.ask(&flight{id: p.freshID(), method: f.method, ask: f.ask, rounds: f.rounds + 1}, p.withChain(params, c))
	return true
}

// inputs answers the requests of an input_required result. Complete is false if
// there is one that was never recorded.
func (p *player) inputs(inputs object) (answers []byte, complete bool) {
	var out object
	complete = true
	for _, in := range inputs {
		method, _ := textOf(lookup(in.value, "method"))
		m := &jsonrpc.Message{Kind: jsonrpc.Request, Method: method, Params: lookup(in.value, "params")}
		n, exact := p.pool.find(m)
		var value []byte
		if n >= 0 {
			value = p.recordedInput(p.pool.at(n))
		}
		if value == nil {
			complete = false
			p.opt.Note(Note{Kind: NoteUnknown, Method: method, Subject: jsonrpc.Subject(*m),
				Text: fmt.Sprintf("the server asked %s, to which no answer was recorded", phrase(m))})
			continue
		}
		if !exact {
			p.relaxed(n, m)
		}
		out = append(out, member{in.name, value})
	}
	return out.bytes(), complete
}

// recordedInput is what the client said to a question, nil for nothing, and for an
// error, which cannot be said there.
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

// repeats reports whether the recorded client repeats a request after this one.
func (p *player) repeats(n int) bool {
	a := &p.plan.asks[n]
	return a.retry >= 0 && p.asks[a.retry] == unsent && p.target.retries()
}

// withChain puts what a retry carries into the params of its request.
func (p *player) withChain(params []byte, c *chain) []byte {
	o, ok := readObject(params)
	if !ok {
		return params
	}
	for _, x := range []member{{"inputResponses", c.answers}, {"requestState", c.state}} {
		switch {
		case x.value == nil:
			o = o.without(func(n string) bool { return n == x.name })
		case !bytes.Equal(o.get(x.name), x.value):
			o = o.set(x.name, x.value)
		}
	}
	return o.bytes()
}
