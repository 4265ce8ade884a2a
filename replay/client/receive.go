package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// handle handles an event of the connection.
func (p *player) handle(e Event) {
	switch {
	case e.Gone:
		p.lost(e.Err)
	case e.Err != nil:
		p.refused(e.On, e.Err)
	default:
		m := jsonrpc.Peek(e.Raw)
		p.take(e, &m)
	}
}

// take handles a message.
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
		p.response(e.On, m)
	case jsonrpc.Notification:
		p.count(m)
		p.notified(m)
	case jsonrpc.Request:
		p.count(m)
		p.question(m)
	}
}

// response handles a response. If several open requests have its id, it answers the one on whose
// exchange it came, or else the oldest. A response without an id answers the request of its
// exchange.
func (p *player) response(on *Outgoing, m *jsonrpc.Message) {
	id := string(m.ID)
	if (id == "" || id == "null") && on != nil {
		switch len(on.ids) {
		case 0:
		case 1:
			id = on.ids[0]
		default:
			p.refused(on, fmt.Errorf("the batch was refused: %s %s", m.ErrorCode, m.ErrorMessage))
			return
		}
	}
	list := p.open[idKey(id)]
	if len(list) == 0 {
		return
	}
	f := list[max(0, slices.IndexFunc(list, func(f *pending) bool { return f.out == on }))]
	p.untrack(f)
	if p.declined(f, m) {
		return
	}
	if f.request < 0 {
		f.result = bytes.Clone(m.Result)
		return
	}
	a := &p.plan.requests[f.request]
	if f.method == "initialize" {
		if v, ok := textOf(lookup(m.Result, "protocolVersion")); ok {
			p.agree(jsonrpc.Revision(v))
		}
	}
	if m.ResultType == "input_required" && p.required(f, a, m) {
		return
	}
	if p.progress[f.request] == waiting {
		p.set(f.request, answered)
	}
	if status, ok := textOf(lookup(m.Result, "status")); ok && terminal(status) {
		if id, ok := textOf(lookup(m.Result, "taskId")); ok {
			p.ended[id] = true
		}
	}
	if a.lastPage {
		p.cursors[f.request] = bytes.Clone(lookup(m.Result, "nextCursor"))
	}
	p.learn(a, m.Result)
}

// learn maps the values in the recorded result of a request to those of the live one, which is
// nil if there is none.
func (p *player) learn(a *request, live []byte) {
	if !a.gives {
		return
	}
	if recorded, err := p.load(a.answer); err == nil {
		p.values.learn(recorded.Result, live)
	}
}

// track adds a request that is being sent.
func (p *player) track(f *pending) *pending {
	p.open[idKey(f.id)] = append(p.open[idKey(f.id)], f)
	return f
}

// untrack removes a request that has a response or will have none.
func (p *player) untrack(f *pending) {
	f.over = true
	key := idKey(f.id)
	p.open[key] = slices.DeleteFunc(p.open[key], func(x *pending) bool { return x == f })
	if len(p.open[key]) == 0 {
		delete(p.open, key)
	}
}

// pending returns the open request for a recorded one, nil for none.
func (p *player) pending(n int) *pending {
	for _, list := range p.open {
		for _, f := range list {
			if f.request == n {
				return f
			}
		}
	}
	return nil
}

// agree stores the revision that the server agreed to.
func (p *player) agree(v jsonrpc.Revision) {
	p.target.agreed = v
	if p.target.changes && v != p.target.speaks {
		p.opt.Note(Note{Kind: NoteVersion, Method: "initialize", Text: fmt.Sprintf("the server speaks %s, not %s", v, p.target.speaks)})
	}
}

// notified handles the acknowledgement of a subscription.
func (p *player) notified(m *jsonrpc.Message) {
	if m.Method != methodAcknowledged {
		return
	}
	id := lookup(m.Params, "_meta", jsonrpc.MetaPrefix+"subscriptionId")
	for _, f := range p.open[idKey(string(id))] {
		if f.method != methodListen {
			continue
		}
		if f.acknowledged = true; f.request >= 0 && p.target.crosses && p.progress[f.request] == waiting {
			p.set(f.request, answered)
		}
	}
}

// more reports whether later steps send or await something.
func (p *player) more() bool {
	return p.at < len(p.plan.steps) && slices.ContainsFunc(p.plan.steps[p.at+1:], func(s step) bool {
		return s.kind == stepSend || s.kind == stepAwait
	})
}

// closed reports whether a recorded call has its response.
func (p *player) closed(call session.Ref) bool {
	return call != (session.Ref{}) && p.waits[call] == 0
}

// set changes the state of a recorded request.
func (p *player) set(n int, to progress) {
	call := p.plan.requests[n].call
	if p.progress[n] == waiting {
		if p.waits[call]--; p.waits[call] == 0 {
			delete(p.waits, call)
			delete(p.due, news{methodProgress, call}) // nothing more is expected for it
		}
	}
	switch p.progress[n] = to; to {
	case waiting:
		p.waits[call]++
	case skipped, failed:
		p.learn(&p.plan.requests[n], nil)
	}
}

// A recordedMessage is a recorded message with its bytes, its line on stdio (nil for none), and
// the form of its frame.
type recordedMessage struct {
	*jsonrpc.Message
	raw, line []byte
	form      tap.Form
}

// out returns the message as a step sends it.
func (m recordedMessage) out(s *step) *Outgoing {
	return &Outgoing{raw: m.raw, line: m.line, form: m.form, kind: m.Kind, method: m.Method, head: s.head, was: m.Message, refused: s.refused}
}

// load loads a recorded message.
func (p *player) load(ref session.Ref) (recordedMessage, error) {
	_, parts, err := p.frame(ref.Seq)
	if err == nil && ref.Index >= len(parts) {
		err = fmt.Errorf("frame %d cannot be read as a batch", ref.Seq)
	}
	if err != nil {
		return recordedMessage{}, err
	}
	return parts[ref.Index], nil
}

// frame loads a recorded frame and its messages: one, or those of a batch.
func (p *player) frame(seq uint64) (whole recordedMessage, parts []recordedMessage, err error) {
	f, err := p.plan.load(seq)
	if err != nil {
		return recordedMessage{}, nil, err
	}
	if !f.Whole() {
		return recordedMessage{}, nil, fmt.Errorf("frame %d is too large to be sent again", seq)
	}
	m := jsonrpc.PeekFrame(&f)
	whole = recordedMessage{&m, bytes.TrimSpace(jsonrpc.Payload(&f)), nil, f.Form}
	if f.Form == tap.FormLine {
		whole.line = f.Raw
	}
	if m.Kind != jsonrpc.Batch {
		return whole, []recordedMessage{whole}, nil
	}
	var all []json.RawMessage
	if err := json.Unmarshal(whole.raw, &all); err != nil {
		return recordedMessage{}, nil, fmt.Errorf("frame %d cannot be read as a batch", seq)
	}
	for i := range min(len(all), len(m.Batch)) {
		parts = append(parts, recordedMessage{&m.Batch[i], all[i], nil, f.Form})
	}
	return whole, parts, nil
}

// idKey returns an id in a canonical spelling, since servers may escape a string differently. A
// string and a number remain different.
func idKey(id string) string {
	if text, ok := textOf([]byte(id)); ok {
		return `"` + text
	}
	return id
}

// A news identifies a server message other than a response: by its method and, for progress, its
// call.
type news struct {
	method string
	call   session.Ref
}

const (
	methodProgress     = "notifications/progress"
	methodListen       = "subscriptions/listen"
	methodAcknowledged = "notifications/subscriptions/acknowledged"
)

// expect adds messages that had arrived by now in the recording. A call that has its response
// gets no more progress.
func (p *player) expect(s *step) {
	n := news{method: s.method}
	if s.method == methodProgress {
		if n.call = s.call; p.closed(s.call) {
			return
		}
	}
	p.due[n] += int(s.times)
}

// count counts a message that is not a response.
func (p *player) count(m *jsonrpc.Message) {
	n := news{method: m.Method}
	if m.Method == methodProgress {
		call, ok := p.tokens[idKey(string(lookup(m.Params, "progressToken")))]
		if !ok || p.waits[call] == 0 {
			return
		}
		n.call = call
	}
	p.due[n]--
}

// caughtUp reports whether all expected messages have arrived.
func (p *player) caughtUp() bool {
	for _, n := range p.due {
		if n > 0 {
			return false
		}
	}
	return true
}

// catchUp waits for all expected messages, until the patience runs out.
func (p *player) catchUp() {
	if p.caughtUp() {
		return
	}
	if p.until(p.caughtUp, p.patient) {
		p.patient = p.opt.Patience
		return
	}
	p.patient /= 2
	maps.DeleteFunc(p.due, func(_ news, n int) bool { return n > 0 })
}
