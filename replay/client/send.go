package client

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// send sends a recorded message.
func (p *player) send(s *step) error {
	m, err := p.load(s.ref)
	if err != nil {
		return err
	}
	m = p.edited(s, m)
	switch {
	case s.role == session.RoleCancel && m.Kind == jsonrpc.Notification && s.request >= 0:
		p.cancel(s, m)
	case m.Kind == jsonrpc.Request && s.request >= 0 && p.target.crosses:
		p.translate(s.request, m.Message)
	case m.Kind == jsonrpc.Request && s.request >= 0:
		if out := p.prepared(s, m); out != nil {
			p.launch(s.request, out)
		}
	case m.Kind == jsonrpc.Notification:
		if p.target.hasNotification(m.Method) {
			out := m.out(s)
			out.standing = p.opensStream(m.Method)
			p.put(out)
		}
	default:
		p.put(m.out(s))
	}
	return nil
}

// edited applies [Options].Edit to a recorded message.
func (p *player) edited(s *step, m recordedMessage) recordedMessage {
	if p.opt.Edit == nil || m.Kind != jsonrpc.Request {
		return m
	}
	raw := p.opt.Edit(s.call, s.ref, m.raw)
	if bytes.Equal(raw, m.raw) {
		return m
	}
	now := jsonrpc.Peek(raw)
	return recordedMessage{&now, raw, nil, m.form}
}

// batched reports whether a message is sent in a batch, as recorded.
func (p *player) batched(s *step) bool { return s.batch && p.target.batches() }

// sendBatch sends a batch. Its bytes are the recorded ones unless an element is changed or
// omitted.
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
			out.standing = out.standing || p.opensStream(m.Method)
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

// element returns a message as an element of a batch, nil if it is omitted.
func (p *player) element(s *step, m recordedMessage, batch *Outgoing) []byte {
	m = p.edited(s, m)
	switch {
	case s.kind == stepAnswer:
		p.awaitQuestion(s)
		if id := p.pool.take(s.question); id != nil {
			return replay.Rewrite(m.raw, id, "id")
		}
		return nil
	case m.Kind == jsonrpc.Request && s.request >= 0:
		out := p.prepared(s, m)
		if out == nil {
			return nil
		}
		batch.ids = append(batch.ids, out.ids[0])
		p.depart(s.request, out, batch)
		return out.raw
	case m.Kind == jsonrpc.Notification && !p.target.hasNotification(m.Method):
		return nil
	}
	return m.raw
}

// prepared returns a recorded request as it is to be sent, nil if it is not sent.
func (p *player) prepared(s *step, m recordedMessage) *Outgoing {
	n := s.request
	if !p.target.hasRequest(m.Method) {
		p.untranslated(n)
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
	out.ids = []string{p.plan.requests[n].id}
	if !bytes.Equal(params, m.Params) {
		out.raw, out.line = replay.Rewrite(m.raw, params, "params"), nil
	}
	if p.target.changes && m.Method == "initialize" {
		out.raw, out.line = replay.Rewrite(out.raw, quoted(string(p.target.speaks)), "params", "protocolVersion"), nil
	}
	if p.opt.Edit != nil && out.line == nil {
		out.raw = p.opt.Edit(s.call, s.ref, out.raw)
	}
	return out
}

// ready returns the params of a recorded request with the values of the live server. ok is false
// if the request must not be sent.
func (p *player) ready(n int, params []byte) (out []byte, ok bool) {
	a := &p.plan.requests[n]
	if a.role == session.RoleRetry && !isPoll(a.method) {
		c := p.chains[a.call]
		if c == nil {
			p.note(NoteSkipped, a, p.name(a)+" was not sent again, since the server did not ask for input")
			return nil, false
		}
		delete(p.chains, a.call)
		c.keepsState(params)
		return withChain(params, c), true
	}
	out, lacks := p.values.carry(params)
	if lacks == ended { // the list has fewer pages
		p.learn(a, []byte("{}"))
		return nil, false
	}
	if lacks != "" {
		p.note(NoteSkipped, a, fmt.Sprintf("%s was not sent, since the server sent no %s for it", p.name(a), lacks))
		return nil, false
	}
	if a.method == "tasks/get" && !a.final {
		if id, _ := textOf(lookup(out, "taskId")); p.ended[id] {
			return nil, false // its task ended earlier than in the recording
		}
	}
	return out, true
}

// params returns the params of a recorded request with the values of the live server.
func (p *player) params(a *request) ([]byte, error) {
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

// launch sends a recorded request.
func (p *player) launch(n int, out *Outgoing) *pending {
	f := p.depart(n, out, out)
	p.put(out)
	return f
}

// depart tracks a recorded request that is about to be sent, alone or in a batch.
func (p *player) depart(n int, m, in *Outgoing) *pending {
	p.set(n, waiting)
	if token := lookup(m.raw, "params", "_meta", "progressToken"); token != nil {
		p.tokens[idKey(string(token))] = p.plan.requests[n].call
	}
	return p.track(&pending{id: m.ids[0], method: m.method, request: n, sent: time.Now(), out: in})
}

// newRequest returns a new request; params may be nil.
func newRequest(id, method string, params []byte) *Outgoing {
	raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%s`, id, quoted(method))
	if params != nil {
		raw = append(append(raw, `,"params":`...), params...)
	}
	return NewOutgoing(append(raw, '}'))
}

// sendNew sends a request that was not recorded.
func (p *player) sendNew(f *pending, params []byte) {
	f.out = newRequest(f.id, f.method, params)
	p.put(p.track(f).out)
}

// call sends a request that was not recorded and waits for its result, nil for none.
func (p *player) call(method string, params []byte) []byte {
	f := &pending{id: p.freshID(), method: method, request: -1}
	p.sendNew(f, params)
	if !p.until(func() bool { return f.over }, p.opt.Timeout) && p.ctx.Err() == nil && p.gone == nil {
		p.opt.Note(Note{Kind: NoteTimeout, Method: method, Text: fmt.Sprintf("%s got no response within %v", method, p.opt.Timeout)})
	}
	return f.result
}

func (p *player) freshID() string {
	p.fresh++
	return strconv.FormatInt(p.fresh-1, 10)
}

// opensStream reports whether the GET stream is opened after a notification.
func (p *player) opensStream(method string) bool {
	return method == methodInitialized && (p.plan.standing || !p.plan.http)
}

// cancel sends the cancellation of a request. In 2026-07-28 a client cancels by aborting the
// exchange of the request (basic/transports). If the recorded client sent a notification over
// HTTP nevertheless, the notification is sent.
func (p *player) cancel(s *step, m recordedMessage) {
	if p.progress[s.request] == unsent || p.progress[s.request] == skipped {
		p.endListen(s.request)
		return
	}
	p.outlast(s)
	if p.target.modern() && (!p.plan.http || p.target.crosses) && p.hangUp(p.pending(s.request)) {
		return
	}
	p.put(m.out(s))
}

// abandon aborts the exchange of a request as the client did. This cancels the request in
// 2026-07-28 only. If there is no exchange, or the live session is in a legacy revision, it sends a
// cancellation, unless the recorded client sent one too.
func (p *player) abandon(n int) {
	f := p.pending(n)
	if f == nil {
		p.endListen(n)
		return
	}
	sends := !p.plan.requests[n].cancelled
	if sends && p.target.crosses && !p.target.modern() {
		p.sendCancelled(f)
	}
	if !p.hangUp(f) && sends && p.target.modern() {
		p.sendCancelled(f)
	}
}

// hangUp aborts the exchange of a request. It returns false if there is none.
func (p *player) hangUp(f *pending) bool {
	if f == nil || !p.conn.HangUp(f.out) {
		return false
	}
	p.untrack(f)
	if f.request >= 0 && p.progress[f.request] == waiting {
		p.set(f.request, failed)
	}
	return true
}

// sendCancelled sends a cancellation that was not recorded.
func (p *player) sendCancelled(f *pending) {
	p.put(NewOutgoing(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, f.id)))
}

// post passes a message to the connection. The channel receives once the server has the message.
func (p *player) post(out *Outgoing) <-chan error {
	out.revision = p.target.agreed
	if out.head != 0 {
		out.header = func(usual [][2]string) [][2]string { return p.header(out, usual) }
	}
	sent := p.conn.Send(out)
	out.header, out.was = nil, nil // they may be large
	return sent
}

// put sends a message and handles events until the server has it.
func (p *player) put(out *Outgoing) {
	if p.gone != nil {
		return
	}
	sent := p.post(out)
	timer := time.NewTimer(p.opt.Timeout)
	defer timer.Stop()
	for p.gone == nil {
		select {
		case err := <-sent:
			switch {
			case isUnreachable(err):
				p.lost(err)
			case err != nil && len(out.ids) == 0 && !out.refused:
				p.opt.Note(Note{Kind: NoteRefused, Method: out.method, Text: fmt.Sprintf("%s was refused: %v", out.method, err)})
			}
			return
		case e := <-p.events:
			p.handle(e)
		case <-timer.C:
			return // the missing response is noted later
		case <-p.ctx.Done():
			return
		}
	}
}
