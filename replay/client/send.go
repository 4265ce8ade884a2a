package client

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// send sends what the client sent.
func (p *player) send(s *step) error {
	m, err := p.load(s.ref)
	if err != nil {
		return err
	}
	m = p.edited(s, m)
	switch {
	case s.role == session.RoleCancel && m.Kind == jsonrpc.Notification && s.ask >= 0:
		p.cancel(s, m)
	case m.Kind == jsonrpc.Request && s.ask >= 0:
		return p.request(s, m)
	case m.Kind == jsonrpc.Notification:
		p.notify(s, m)
	default:
		p.put(m.out(s))
	}
	return nil
}

// edited is a recorded message as the options make it.
func (p *player) edited(s *step, m said) said {
	if p.opt.Edit == nil || m.Kind != jsonrpc.Request {
		return m
	}
	raw := p.opt.Edit(s.call, m.raw)
	if bytes.Equal(raw, m.raw) {
		return m
	}
	now := jsonrpc.Peek(raw)
	return said{&now, raw, nil, m.form}
}

// batched reports whether a message is sent in one array with others, as it was.
func (p *player) batched(s *step) bool { return s.batch && p.target.batches() }

// sendBatch sends an array of messages: as it was, unless one of them has to be
// another one now or is not to be sent.
func (p *player) sendBatch(s *step) error {
	whole, parts, err := p.frame(s.ref.Seq)
	if err != nil {
		return err
	}
	out := whole.out(s)
	var now [][]byte
	same := true
	for i := p.at; i < len(p.plan.steps) && p.plan.steps[i].ref.Seq == s.ref.Seq; i++ {
		x := &p.plan.steps[i]
		if x.ref.Index >= len(parts) {
			return fmt.Errorf("frame %d cannot be read as a batch", x.ref.Seq)
		}
		m := parts[x.ref.Index]
		if raw := p.element(x, m, out); raw != nil {
			now = append(now, raw)
			same = same && bytes.Equal(raw, m.raw)
			out.standing = out.standing || p.stands(m.Method)
		}
		out.refused = out.refused || x.refused
	}
	if len(now) == 0 {
		return nil
	}
	if !same || len(now) < len(whole.Batch) {
		out.raw, out.line = fmt.Appendf(nil, "[%s]", bytes.Join(now, []byte(","))), nil
	}
	p.put(out)
	return nil
}

// element is a message as an element of a batch, nil if it is not to be sent.
func (p *player) element(s *step, m said, batch *Outgoing) []byte {
	m = p.edited(s, m)
	switch {
	case s.kind == stepAnswer:
		p.awaitQuestion(s)
		if id := p.pool.take(s.question); id != nil {
			return replay.Rewrite(m.raw, id, "id")
		}
		return nil
	case m.Kind == jsonrpc.Request && s.ask >= 0:
		out := p.prepared(s, m)
		if out == nil {
			return nil
		}
		batch.ids = append(batch.ids, out.ids[0])
		p.depart(s.ask, out, batch)
		return out.raw
	case m.Kind == jsonrpc.Notification && !p.target.says(m.Method):
		return nil
	}
	return m.raw
}

// request sends a request, unless it cannot be said or need not be.
func (p *player) request(s *step, m said) error {
	if p.target.crosses {
		return p.translated(s, m.Message)
	}
	if out := p.prepared(s, m); out != nil {
		p.launch(s.ask, out)
	}
	return nil
}

// prepared is a recorded request as it is to be sent, nil if it is not.
func (p *player) prepared(s *step, m said) *Outgoing {
	n := s.ask
	if !p.target.asks(m.Method) {
		p.untold(n)
		return nil
	}
	params, ok := p.ready(n, m.Params)
	if !ok {
		p.set(n, skipped)
		return nil
	}
	if p.target.changes && p.target.speaks != jsonrpc.Rev20251125 {
		params = withoutTask(params)
	}
	out := m.out(s)
	out.ids = []string{p.plan.asks[n].id}
	if !bytes.Equal(params, m.Params) {
		out.raw, out.line = replay.Rewrite(m.raw, params, "params"), nil
	}
	if p.target.renames(m.Method) {
		out.raw, out.line = replay.Rewrite(out.raw, quoted(string(p.target.speaks)), "params", "protocolVersion"), nil
	}
	return out
}

// ready completes the params of a recorded request with what the live server gave.
// It is not ok if the request is not to be sent.
func (p *player) ready(n int, params []byte) (out []byte, ok bool) {
	a := &p.plan.asks[n]
	if a.role == session.RoleRetry && !isPoll(a.method) {
		c := p.chains[a.call]
		if c == nil {
			p.note(NoteSkipped, a, p.name(a)+" was not sent again, since the server did not ask for input")
			return nil, false
		}
		delete(p.chains, a.call)
		return p.withChain(params, c), true
	}
	out, lacks := p.values.carry(params)
	if lacks != "" {
		p.note(NoteSkipped, a, fmt.Sprintf("%s was not sent, since the server gave no %s for it", p.name(a), lacks))
		return nil, false
	}
	if a.method == "tasks/get" && !a.final {
		if id, _ := textOf(lookup(out, "taskId")); p.ended[id] {
			return nil, false // its task has ended earlier than in the recording
		}
	}
	return out, true
}

// launch sends a recorded request.
func (p *player) launch(n int, out *Outgoing) *flight {
	f := p.depart(n, out, out)
	p.put(out)
	return f
}

// depart notes that a recorded request is under way, by itself or in a batch.
func (p *player) depart(n int, m, in *Outgoing) *flight {
	p.set(n, waiting)
	if token := lookup(m.raw, "params", "_meta", "progressToken"); token != nil {
		p.tokens[idKey(string(token))] = p.plan.asks[n].call
	}
	return p.fly(&flight{id: m.ids[0], method: m.method, ask: n, out: in})
}

// newRequest makes a request; params may be nil.
func newRequest(id, method string, params []byte) *Outgoing {
	raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%s`, id, quoted(method))
	if params != nil {
		raw = append(append(raw, `,"params":`...), params...)
	}
	return &Outgoing{raw: append(raw, '}'), kind: jsonrpc.Request, ids: []string{id}, method: method}
}

// ask sends a request that was not recorded so.
func (p *player) ask(f *flight, params []byte) {
	f.out = newRequest(f.id, f.method, params)
	p.put(p.fly(f).out)
}

// own asks for something that was not recorded and waits for the answer, nil if
// there is none or it is an error.
func (p *player) own(method string, params []byte) []byte {
	f := &flight{id: p.freshID(), method: method, ask: -1}
	p.ask(f, params)
	if !p.until(func() bool { return f.over }, p.opt.Timeout) && p.ctx.Err() == nil && p.gone == nil {
		p.opt.Note(Note{Kind: NoteTimeout, Method: method, Text: fmt.Sprintf("%s was not answered within %v", method, p.opt.Timeout)})
	}
	return f.result
}

func (p *player) freshID() string {
	p.fresh++
	return strconv.FormatInt(p.fresh-1, 10)
}

// notify sends a notification.
func (p *player) notify(s *step, m said) {
	if !p.target.says(m.Method) {
		return
	}
	out := m.out(s)
	out.standing = p.stands(m.Method)
	p.put(out)
}

// stands reports whether the stream for what belongs to no request is opened behind a
// notification.
func (p *player) stands(method string) bool {
	return method == methodInitialized && (p.plan.standing || !p.plan.http)
}

// cancel sends the cancellation of a request. Where requests have exchanges of their
// own in 2026-07-28, to break one off is to cancel (basic/transports); a client that
// was recorded there and said so all the same says it again.
func (p *player) cancel(s *step, m said) {
	if p.asks[s.ask] == unsent || p.asks[s.ask] == skipped {
		p.endListen(s.ask)
		return
	}
	if p.target.modern() && (!p.plan.http || p.target.crosses) && p.hangUp(p.flight(s.ask)) {
		return
	}
	p.put(m.out(s))
}

// abandon breaks off a request, as the client did by breaking off its exchange. In
// 2026-07-28 that is to cancel it, before it is not.
func (p *player) abandon(n int) {
	f := p.flight(n)
	if f == nil {
		p.endListen(n)
		return
	}
	if p.target.crosses && !p.target.modern() {
		p.sayCancelled(f)
	}
	if !p.hangUp(f) && p.target.modern() {
		p.sayCancelled(f)
	}
}

// hangUp breaks off the exchange of a request. It is false if it has none.
func (p *player) hangUp(f *flight) bool {
	if f == nil || !p.conn.HangUp(f.out) {
		return false
	}
	p.land(f)
	if f.ask >= 0 && p.asks[f.ask] == waiting {
		p.set(f.ask, failed)
	}
	return true
}

// sayCancelled sends a cancellation that was not recorded so.
func (p *player) sayCancelled(f *flight) {
	p.put(NewOutgoing(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, f.id)))
}

// params are those of a recorded request with the live values.
func (p *player) params(a *ask) ([]byte, error) {
	m, err := p.load(a.ref)
	if err != nil {
		return nil, err
	}
	params, _ := p.values.carry(m.Params)
	if p.target.crosses && p.target.modern() {
		params = p.withMeta(params)
	}
	return params, nil
}

// post hands a message to the connection, which tells once when the server has it.
func (p *player) post(out *Outgoing) <-chan error {
	out.revision = p.target.agreed
	if out.head != 0 {
		out.header = func(usual [][2]string) [][2]string { return p.header(out, usual) }
	}
	sent := p.conn.Send(out)
	out.header, out.was = nil, nil // which may be large
	return sent
}

// put hands a message to the connection and handles what comes until the server has
// it.
func (p *player) put(out *Outgoing) {
	if p.gone != nil {
		return
	}
	sent := p.post(out)
	timer := time.NewTimer(p.opt.Timeout)
	defer timer.Stop()
	for {
		select {
		case err := <-sent:
			var none *unreachable
			switch {
			case errors.As(err, &none):
				p.lost(err)
			case err != nil && len(out.ids) == 0 && !out.refused && p.gone == nil:
				p.opt.Note(Note{Kind: NoteRefused, Method: out.method, Text: fmt.Sprintf("%s was refused: %v", out.method, err)})
			}
			return
		case e := <-p.events:
			p.handle(e)
			if p.gone != nil {
				return
			}
		case <-timer.C:
			return // whoever waits for the answer will tell
		case <-p.ctx.Done():
			return
		}
	}
}
