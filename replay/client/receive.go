package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// handle takes what the connection tells.
func (p *player) handle(e Event) {
	switch {
	case e.Gone:
		p.lost(e.Err)
	case e.Err != nil && e.On != nil:
		p.refused(e.On, e.Err)
	case e.Err != nil:
		p.opt.Note(Note{Kind: NoteRefused, Text: e.Err.Error()})
	default:
		m := jsonrpc.Peek(e.Raw)
		p.take(e, &m)
	}
}

// take takes a message.
func (p *player) take(e Event, m *jsonrpc.Message) {
	if m.Kind != jsonrpc.Other && m.Kind != jsonrpc.Invalid {
		p.spoken, p.silence = true, 0
	}
	switch m.Kind {
	case jsonrpc.Batch:
		for i := range m.Batch {
			p.take(e, &m.Batch[i])
		}
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		if id := string(m.ID); (id == "" || id == "null") && e.On != nil && len(e.On.ids) > 1 {
			p.refused(e.On, fmt.Errorf("the batch was refused: %s %s", m.ErrorCode, m.ErrorMessage))
			return
		}
		if f := p.flown(e.On, m); f != nil {
			p.landed(f, m)
		}
	case jsonrpc.Notification:
		p.heard(m)
		p.notified(m)
	case jsonrpc.Request:
		p.heard(m)
		p.question(m)
	}
}

// flown finds the request that an answer is for: of several with that id the one
// whose exchange it is on, else the oldest. An error without an id is for the request
// of its exchange.
func (p *player) flown(on *Outgoing, m *jsonrpc.Message) *flight {
	id := string(m.ID)
	if (id == "" || id == "null") && on != nil && len(on.ids) == 1 {
		id = on.ids[0]
	}
	list := p.flights[idKey(id)]
	if len(list) == 0 {
		return nil
	}
	i := max(0, slices.IndexFunc(list, func(f *flight) bool { return f.out == on }))
	f := list[i]
	p.land(f)
	return f
}

// flight is the one of a recorded request that waits, nil for none.
func (p *player) flight(ask int) *flight {
	for _, list := range p.flights {
		for _, f := range list {
			if f.ask == ask {
				return f
			}
		}
	}
	return nil
}

// land takes a request out of those that wait.
func (p *player) land(f *flight) {
	f.over = true
	list := p.flights[idKey(f.id)]
	if i := slices.Index(list, f); i >= 0 {
		list = slices.Delete(list, i, i+1)
	}
	if len(list) == 0 {
		delete(p.flights, idKey(f.id))
	} else {
		p.flights[idKey(f.id)] = list
	}
}

// landed takes the answer to a request.
func (p *player) landed(f *flight, m *jsonrpc.Message) {
	if p.declined(f, m) {
		return
	}
	if f.ask < 0 {
		f.result, f.code = bytes.Clone(m.Result), m.ErrorCode
		return
	}
	a := &p.plan.asks[f.ask]
	if f.method == "initialize" {
		if v, ok := textOf(lookup(m.Result, "protocolVersion")); ok {
			p.agree(jsonrpc.Revision(v))
		}
	}
	if m.ResultType == "input_required" && p.required(f, a, m) {
		return
	}
	if p.asks[f.ask] == waiting {
		p.set(f.ask, answered)
	}
	if status, ok := textOf(lookup(m.Result, "status")); ok && terminal(status) {
		if id, ok := textOf(lookup(m.Result, "taskId")); ok {
			p.ended[id] = true
		}
	}
	if !a.gives {
		return
	}
	if recorded, err := p.load(a.answer); err == nil {
		p.values.learn(recorded.Result, m.Result)
	}
}

// agree takes the revision that the server agreed to.
func (p *player) agree(v jsonrpc.Revision) {
	p.target.agreed = v
	if p.target.changes && v != p.target.speaks {
		p.opt.Note(Note{Kind: NoteVersion, Method: "initialize", Text: fmt.Sprintf("the server speaks %s, not %s", v, p.target.speaks)})
	}
}

// notified looks at a notification for what somebody waits for.
func (p *player) notified(m *jsonrpc.Message) {
	if m.Method != "notifications/subscriptions/acknowledged" {
		return
	}
	id := lookup(m.Params, "_meta", metaPrefix+"subscriptionId")
	for _, f := range p.flights[idKey(string(id))] {
		if f.method != "subscriptions/listen" {
			continue
		}
		if f.acknowledged = true; f.ask >= 0 && p.target.crosses && p.asks[f.ask] == waiting {
			p.set(f.ask, answered)
		}
	}
}

// more reports whether there is something to be sent or waited for.
func (p *player) more() bool {
	for i := p.at + 1; i < len(p.plan.steps); i++ {
		if k := p.plan.steps[i].kind; k == stepSend || k == stepAwait {
			return true
		}
	}
	return false
}

// closed reports whether a call of the recording has its answer by now.
func (p *player) closed(call session.Ref) bool {
	if call == (session.Ref{}) {
		return false
	}
	return p.waits[call] == 0
}

// set changes how far a request is.
func (p *player) set(n int, to progress) {
	call := p.plan.asks[n].call
	if p.asks[n] == waiting {
		if p.waits[call]--; p.waits[call] == 0 {
			delete(p.waits, call)
			p.over(call)
		}
	}
	if p.asks[n] = to; to == waiting {
		p.waits[call]++
	}
}

// A said is a recorded message, its bytes, how it stood on stdio, nil if it did
// not stand there by itself, and the form of its frame.
type said struct {
	*jsonrpc.Message
	raw, line []byte
	form      tap.Form
}

// out is the message as it was sent in a step.
func (m said) out(s *step) *Outgoing {
	return &Outgoing{raw: m.raw, line: m.line, form: m.form, kind: m.Kind, method: m.Method, head: s.head, was: m.Message, refused: s.refused}
}

// load loads a recorded message: of a batch the element.
func (p *player) load(ref session.Ref) (said, error) {
	_, parts, err := p.frame(ref.Seq)
	if err == nil && ref.Index >= len(parts) {
		err = fmt.Errorf("frame %d cannot be read as a batch", ref.Seq)
	}
	if err != nil {
		return said{}, err
	}
	return parts[ref.Index], nil
}

// frame loads a recorded frame, and the messages in it: one, or those of a batch.
func (p *player) frame(seq uint64) (whole said, parts []said, err error) {
	f, err := p.plan.load(seq)
	if err != nil {
		return said{}, nil, err
	}
	if !f.Whole() {
		return said{}, nil, fmt.Errorf("frame %d is too large to be sent again", seq)
	}
	m := jsonrpc.PeekFrame(&f)
	whole = said{&m, bytes.TrimSpace(jsonrpc.Payload(&f)), nil, f.Form}
	if f.Form == tap.FormLine {
		whole.line = f.Raw
	}
	if m.Kind != jsonrpc.Batch {
		return whole, []said{whole}, nil
	}
	var all []json.RawMessage
	if err := json.Unmarshal(whole.raw, &all); err != nil {
		return said{}, nil, fmt.Errorf("frame %d cannot be read as a batch", seq)
	}
	for i := range min(len(all), len(m.Batch)) {
		parts = append(parts, said{&m.Batch[i], all[i], nil, f.Form})
	}
	return whole, parts, nil
}

// fly notes that a request is under way.
func (p *player) fly(f *flight) *flight {
	key := idKey(f.id)
	p.flights[key] = append(p.flights[key], f)
	return f
}

// idKey is an id in the one spelling of it: servers may escape a text otherwise than
// the client did. A text and a number stay different.
func idKey(id string) string {
	if text, ok := textOf([]byte(id)); ok {
		return `"` + text
	}
	return id
}

// A news is something that the server says and that is no answer: of which method,
// and of progress, of which call.
type news struct {
	method string
	call   session.Ref
}

const methodProgress = "notifications/progress"

// expect notes that something had been heard by now in the recording. The progress of
// a call that has its answer comes no more.
func (p *player) expect(s *step) {
	n := news{method: s.method}
	if s.method == methodProgress {
		if n.call = s.call; p.closed(s.call) {
			return
		}
	}
	before := p.due[n]
	if p.due[n] += int(s.times); before <= 0 && p.due[n] > 0 {
		p.behind++
	}
}

// heard counts something that came and is no answer.
func (p *player) heard(m *jsonrpc.Message) {
	n := news{method: m.Method}
	if m.Method == methodProgress {
		call, ok := p.tokens[idKey(string(lookup(m.Params, "progressToken")))]
		if !ok || p.waits[call] == 0 {
			return
		}
		n.call = call
	}
	if p.due[n]--; p.due[n] == 0 {
		p.behind--
	}
}

// over forgets what was expected of a call.
func (p *player) over(call session.Ref) {
	n := news{methodProgress, call}
	if p.due[n] > 0 {
		p.behind--
	}
	delete(p.due, n)
}

// catchUp waits until all that had been heard by now in the recording was heard, or
// the patience ends.
func (p *player) catchUp() {
	if p.behind <= 0 {
		return
	}
	if p.until(func() bool { return p.behind <= 0 }, p.patient) {
		p.patient = p.opt.Patience
		return
	}
	p.patient /= 2
	for n, count := range p.due {
		if count > 0 {
			delete(p.due, n)
		}
	}
	p.behind = 0
}
