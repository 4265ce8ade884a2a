package client

import (
	"bytes"
	"fmt"

	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

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
	return a.retry >= 0 && p.asks[a.retry] == unsent && p.voice.retries()
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
