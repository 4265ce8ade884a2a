package client

import (
	"fmt"
	"strings"

	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// What the eras say in different ways, from one to the other:
//
//	initialize, notifications/initialized      server/discover, _meta of each request
//	logging/setLevel                           logLevel in _meta
//	resources/subscribe, what comes unasked    subscriptions/listen
//	requests of the server                     input_required and a retry
//	task in params, tasks/result               what the server makes a task
//	ping, roots/list_changed                   nothing
//
// (2026-07-28 changelog). Whatever else only one of them has is not said, and noted.

// translated says a recorded request in the other era.
func (p *player) translated(s *step, m *jsonrpc.Message) error {
	if p.voice.modern() {
		p.toModern(s, m)
	} else {
		p.toLegacy(s, m)
	}
	return nil
}

// untold notes that a request has no counterpart.
func (p *player) untold(n int) {
	a := &p.plan.asks[n]
	p.set(n, skipped)
	if !implied(a.method) {
		p.note(NoteUntold, a, fmt.Sprintf("%s has no counterpart in %s", p.name(a), p.voice.speaks))
	}
}

// say sends a recorded request with other words.
func (p *player) say(n int, method string, params []byte) *flight {
	a := &p.plan.asks[n]
	raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%s`, a.id, quoted(method))
	if params != nil {
		raw = append(append(raw, `,"params":`...), params...)
	}
	return p.launch(n, &outgoing{raw: append(raw, '}'), kind: jsonrpc.Request, ids: []string{a.id}, method: method, head: p.plan.steps[p.at].head})
}

// toModern says a request of the legacy era in 2026-07-28.
func (p *player) toModern(s *step, m *jsonrpc.Message) {
	n := s.ask
	params := m.Params
	switch m.Method {
	case "initialize", "server/discover":
		if p.voice.greeted || m.Method == "server/discover" {
			p.set(n, skipped) // a probe, or a handshake once more
			return
		}
		p.voice.greeted = true
		f := p.say(n, "server/discover", p.withMeta(nil))
		p.until(func() bool { return f.over }, p.plan.asks[n].took+p.opt.Timeout)
		p.listenForNews()
		return
	case "logging/setLevel":
		p.voice.level, _ = textOf(lookup(params, "level"))
	case "resources/subscribe":
		uri, _ := textOf(lookup(params, "uri"))
		p.voice.listens[uri] = p.listen(n, fmt.Appendf(nil, `{"notifications":{"resourceSubscriptions":[%s]}}`, quoted(uri)))
		return
	case "resources/unsubscribe":
		uri, _ := textOf(lookup(params, "uri"))
		if f := p.voice.listens[uri]; f != nil {
			if !p.hangUp(f) {
				p.sayCancelled(f)
			}
			delete(p.voice.listens, uri)
		}
	default:
		p.toModernCall(n, m)
		return
	}
	p.untold(n)
}

// toModernCall says any other request.
func (p *player) toModernCall(n int, m *jsonrpc.Message) {
	a := &p.plan.asks[n]
	method := m.Method
	if method == "tasks/result" {
		p.set(n, skipped) // it came with the answer to tasks/get
		return
	}
	if !p.voice.asks(method) || isPoll(method) && !p.becameTask(a) {
		if isPoll(method) && a.role != session.RoleRequest {
			p.set(n, skipped) // the call was answered at once
			return
		}
		p.untold(n)
		return
	}
	params, ok := p.ready(n, m.Params)
	if !ok {
		p.set(n, skipped)
		return
	}
	p.say(n, method, p.withMeta(withoutTask(params)))
}

// becameTask reports whether a task that a recorded request is about exists.
func (p *player) becameTask(a *ask) bool {
	m, err := p.load(a.ref)
	if err != nil {
		return false
	}
	id, _ := textOf(lookup(m.Params, "taskId"))
	now, ok := p.values[kindTask+id]
	return ok && now != gone
}

// withMeta puts into params what each request says in 2026-07-28 (basic/index).
func (p *player) withMeta(params []byte) []byte {
	o, _ := readObject(params)
	meta, _ := readObject(o.get("_meta"))
	meta = meta.without(func(name string) bool { return name == metaTask })
	meta = meta.set(metaVersion, quoted(string(p.voice.speaks))).
		set(metaPrefix+"clientInfo", p.voice.info).set(metaPrefix+"clientCapabilities", p.voice.capabilities)
	if p.voice.level != "" {
		meta = meta.set(metaPrefix+"logLevel", quoted(p.voice.level))
	}
	return o.set("_meta", meta.bytes()).bytes()
}

// listenForNews asks to be told of the changes that the recorded client was told of
// unasked.
func (p *player) listenForNews() {
	var wants []string
	for _, kind := range []string{"tools", "prompts", "resources"} {
		for i := range p.plan.steps {
			if p.plan.steps[i].kind == stepHear && p.plan.steps[i].method == "notifications/"+kind+"/list_changed" {
				wants = append(wants, `"`+kind+`ListChanged":true`)
				break
			}
		}
	}
	if len(wants) > 0 {
		p.listen(-1, []byte(`{"notifications":{`+strings.Join(wants, ",")+`}}`))
	}
}

// listen opens a subscription in the place of a recorded request, -1 for none, and
// waits until it is acknowledged.
func (p *player) listen(n int, params []byte) *flight {
	f := &flight{id: p.freshID(), method: "subscriptions/listen", ask: n}
	if n >= 0 {
		f.id = p.plan.asks[n].id
		p.set(n, waiting)
	}
	p.ask(f, p.withMeta(params))
	p.until(func() bool { return f.over || f.acknowledged }, p.opt.Timeout)
	return f
}

// toLegacy says a request of 2026-07-28 in a revision with a handshake.
func (p *player) toLegacy(s *step, m *jsonrpc.Message) {
	n := s.ask
	switch {
	case m.Method == "initialize":
		p.set(n, skipped) // it was refused
		return
	case m.Method == "server/discover":
		p.greet(n)
		return
	}
	if p.greet(-1); p.gone != nil {
		return
	}
	level, _ := textOf(lookup(m.Params, "_meta", metaPrefix+"logLevel"))
	if level != "" && level != p.voice.level {
		p.voice.level = level
		p.own("logging/setLevel", fmt.Appendf(nil, `{"level":%s}`, quoted(level)))
	}
	a := &p.plan.asks[n]
	switch {
	case m.Method == "subscriptions/listen":
		p.subscribe(n, m)
	case a.role == session.RoleRetry && !isPoll(m.Method):
		p.set(n, skipped) // the server asks by itself
	case !p.voice.asks(m.Method):
		p.untold(n)
	default:
		params, ok := p.ready(n, m.Params)
		if !ok {
			p.set(n, skipped)
			return
		}
		p.say(n, m.Method, p.withoutMeta(params, a.tasked))
	}
}

// withoutMeta takes out of params what only 2026-07-28 says.
func (p *player) withoutMeta(params []byte, tasked bool) []byte {
	o, ok := readObject(params)
	if !ok {
		return params
	}
	o = o.without(func(name string) bool { return name == "inputResponses" || name == "requestState" })
	if meta, ok := readObject(o.get("_meta")); ok {
		meta = meta.without(func(name string) bool { return strings.HasPrefix(name, metaPrefix) })
		o = o.set("_meta", meta.bytes())
		if len(meta) == 0 {
			o = o.without(func(name string) bool { return name == "_meta" })
		}
	}
	if tasked && p.voice.speaks == jsonrpc.Rev20251125 {
		o = o.set("task", []byte(`{}`))
	}
	return o.bytes()
}

// greet opens the session with a handshake, if it is not open, in the place of a
// recorded request, -1 for none.
func (p *player) greet(n int) {
	if p.voice.greeted {
		if n >= 0 {
			p.set(n, skipped)
		}
		return
	}
	p.voice.greeted = true
	params := fmt.Appendf(nil, `{"protocolVersion":%s,"capabilities":%s,"clientInfo":%s}`,
		quoted(string(p.voice.speaks)), p.voice.capabilities, p.voice.info)
	if n >= 0 {
		f := p.say(n, "initialize", params)
		p.until(func() bool { return f.over }, p.plan.asks[n].took+p.opt.Timeout)
	} else {
		result := p.own("initialize", params)
		if v, ok := textOf(lookup(result, "protocolVersion")); ok {
			p.agree(jsonrpc.Revision(v))
		}
	}
	if p.gone != nil {
		return
	}
	p.put(&outgoing{raw: []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), kind: jsonrpc.Notification, method: "notifications/initialized"})
	p.conn.opened(p.ctx, p.voice.agreed, true)
}

// subscribe subscribes to the resources that a subscription asks for. Changes of
// lists are told unasked.
func (p *player) subscribe(n int, m *jsonrpc.Message) {
	p.set(n, skipped)
	wants, _ := readObject(lookup(m.Params, "notifications"))
	for _, uri := range texts(wants.get("resourceSubscriptions")) {
		p.own("resources/subscribe", fmt.Appendf(nil, `{"uri":%s}`, quoted(uri)))
		p.voice.uris[n] = append(p.voice.uris[n], uri)
	}
}

// endListen ends what a subscription was translated to.
func (p *player) endListen(n int) {
	for _, uri := range p.voice.uris[n] {
		p.own("resources/unsubscribe", fmt.Appendf(nil, `{"uri":%s}`, quoted(uri)))
	}
	delete(p.voice.uris, n)
}
