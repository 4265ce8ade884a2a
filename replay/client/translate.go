package client

import (
	"cmp"
	"fmt"
	"slices"
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
	if p.target.modern() {
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
		p.note(NoteUntold, a, fmt.Sprintf("%s has no counterpart in %s", p.name(a), p.target.speaks))
	}
}

// say sends a recorded request with other words.
func (p *player) say(n int, method string, params []byte) *flight {
	out := newRequest(p.plan.asks[n].id, method, params)
	out.head = p.plan.steps[p.at].head
	return p.launch(n, out)
}

// toModern says a request of the legacy era in 2026-07-28.
func (p *player) toModern(s *step, m *jsonrpc.Message) {
	n := s.ask
	params := m.Params
	switch m.Method {
	case "initialize", "server/discover":
		if p.target.greeted || m.Method == "server/discover" {
			p.set(n, skipped) // a probe, or a handshake once more
			return
		}
		p.target.greeted = true
		f := p.say(n, "server/discover", p.withMeta(nil))
		p.until(func() bool { return f.over }, p.plan.asks[n].took+p.opt.Timeout)
		p.listenForNews()
		return
	case "logging/setLevel":
		p.target.level, _ = textOf(lookup(params, "level"))
	case "resources/subscribe":
		uri, _ := textOf(lookup(params, "uri"))
		p.target.listens[uri] = p.listen(n, fmt.Appendf(nil, `{"notifications":{"resourceSubscriptions":[%s]}}`, quoted(uri)))
		return
	case "resources/unsubscribe":
		uri, _ := textOf(lookup(params, "uri"))
		if f := p.target.listens[uri]; f != nil {
			if !p.hangUp(f) {
				p.sayCancelled(f)
			}
			delete(p.target.listens, uri)
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
	if !p.target.asks(method) || isPoll(method) && !p.becameTask(a) {
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
	meta = meta.set(metaVersion, quoted(string(p.target.speaks))).
		set(metaPrefix+"clientInfo", p.target.info).set(metaPrefix+"clientCapabilities", p.target.capabilities)
	if p.target.level != "" {
		meta = meta.set(metaPrefix+"logLevel", quoted(p.target.level))
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
	if level != "" && level != p.target.level {
		p.target.level = level
		p.own("logging/setLevel", fmt.Appendf(nil, `{"level":%s}`, quoted(level)))
	}
	a := &p.plan.asks[n]
	switch {
	case m.Method == "subscriptions/listen":
		p.subscribe(n, m)
	case a.role == session.RoleRetry && !isPoll(m.Method):
		p.set(n, skipped) // the server asks by itself
	case !p.target.asks(m.Method):
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
	if tasked && p.target.speaks == jsonrpc.Rev20251125 {
		o = o.set("task", []byte(`{}`))
	}
	return o.bytes()
}

// greet opens the session with a handshake, if it is not open, in the place of a
// recorded request, -1 for none.
func (p *player) greet(n int) {
	if p.target.greeted {
		if n >= 0 {
			p.set(n, skipped)
		}
		return
	}
	p.target.greeted = true
	params := fmt.Appendf(nil, `{"protocolVersion":%s,"capabilities":%s,"clientInfo":%s}`,
		quoted(string(p.target.speaks)), p.target.capabilities, p.target.info)
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
	p.put(NewOutgoing([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)))
}

// subscribe subscribes to the resources that a subscription asks for. Changes of
// lists are told unasked.
func (p *player) subscribe(n int, m *jsonrpc.Message) {
	p.set(n, skipped)
	wants, _ := readObject(lookup(m.Params, "notifications"))
	for _, uri := range texts(wants.get("resourceSubscriptions")) {
		p.own("resources/subscribe", fmt.Appendf(nil, `{"uri":%s}`, quoted(uri)))
		p.target.uris[n] = append(p.target.uris[n], uri)
	}
}

// endListen ends what a subscription was translated to.
func (p *player) endListen(n int) {
	for _, uri := range p.target.uris[n] {
		p.own("resources/unsubscribe", fmt.Appendf(nil, `{"uri":%s}`, quoted(uri)))
	}
	delete(p.target.uris, n)
}

// A target knows in which revision the session was recorded and in which it is
// spoken.
type target struct {
	recorded, speaks jsonrpc.Revision
	// crosses says that the two are of different eras, changes that they differ.
	crosses, changes bool
	// agreed is the revision that the live server agreed to in a handshake.
	agreed jsonrpc.Revision

	// info and capabilities are those of the client, as they stand.
	info, capabilities []byte
	level              string // of log messages, "" for not asked for
	greeted            bool   // the session is open
	listens            map[string]*flight
	uris               map[int][]string // of a listen that was recorded, by its ask
}

// begin finds out what is to be spoken.
func (v *target) begin(plan *Plan, revision jsonrpc.Revision) error {
	v.recorded = cmp.Or(plan.facts.Revision, plan.facts.Requested)
	v.speaks = cmp.Or(revision, v.recorded)
	v.listens, v.uris = map[string]*flight{}, map[int][]string{}
	v.changes = v.speaks != v.recorded
	v.crosses = v.changes && plan.facts.Era != "" && jsonrpc.EraOf(revision) != plan.facts.Era
	if v.changes && plan.facts.Dialect != "" {
		return ErrRevision
	}
	if v.crosses || v.modern() || plan.initialize < 0 { // else the server has yet to agree
		v.agreed = v.speaks
	}
	if !v.crosses {
		return nil
	}
	return v.identify(plan)
}

// identify reads who the client is.
func (v *target) identify(plan *Plan) error {
	n, names := plan.initialize, []string{"clientInfo", "capabilities"}
	if plan.facts.Era == jsonrpc.Modern {
		n, names = plan.modern, []string{metaPrefix + "clientInfo", metaPrefix + "clientCapabilities"}
	}
	v.info, v.capabilities = []byte(`{"name":"mcptap","version":"replay"}`), []byte(`{}`)
	if n < 0 {
		return nil
	}
	f, err := plan.load(plan.asks[n].ref.Seq)
	if err != nil {
		return err
	}
	m := jsonrpc.PeekFrame(&f)
	from := m.Params
	if plan.facts.Era == jsonrpc.Modern {
		from = lookup(m.Params, "_meta")
	}
	if x := lookup(from, names[0]); x != nil {
		v.info = x
	}
	if x := lookup(from, names[1]); x != nil {
		v.capabilities = x
	}
	if plan.facts.Era == jsonrpc.Legacy && slices.ContainsFunc(plan.asks, func(a ask) bool { return a.tasked }) {
		// Or the server must not make a task of anything.
		caps, _ := readObject(v.capabilities)
		extensions, _ := readObject(caps.get("extensions"))
		v.capabilities = caps.set("extensions", extensions.set(metaPrefix+"tasks", []byte("{}")).bytes()).bytes()
	}
	return nil
}

// modern reports whether what is spoken has no handshake.
func (v *target) modern() bool { return jsonrpc.EraOf(v.speaks) == jsonrpc.Modern }

// retries reports whether the live server asks by input_required results.
func (v *target) retries() bool { return !v.crosses || v.modern() }

// batches reports whether frames with several messages may be sent (2025-03-26
// basic/index).
func (v *target) batches() bool { return !v.changes || !v.crosses && v.speaks == jsonrpc.Rev20250326 }

// renames reports whether a request names the revision that is spoken.
func (v *target) renames(method string) bool {
	return v.changes && !v.crosses && method == "initialize"
}

// hears reports whether something that was heard in the recording is to be waited
// for.
func (v *target) hears(s *step) bool {
	if !v.crosses {
		return true
	}
	m, ok := jsonrpc.LookupMethod(s.method)
	return ok && m.Server.Has(v.speaks) && s.method != "notifications/subscriptions/acknowledged"
}

// says reports whether a notification of the client's exists in what is spoken.
func (v *target) says(method string) bool {
	if !v.changes {
		return true
	}
	m, ok := jsonrpc.LookupMethod(method)
	return !ok || m.Client.Has(v.speaks)
}

// asks reports whether a request does.
func (v *target) asks(method string) bool {
	if !v.changes {
		return true
	}
	m, ok := jsonrpc.LookupMethod(method)
	return !ok || m.Client.Has(v.speaks) || v.modern() && m.Client.Has(jsonrpc.ExtTasks)
}

// implied are the requests of one era that the other says in another way, or has no
// need of: no word is lost about them.
func implied(method string) bool {
	switch method {
	case "initialize", "server/discover", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "subscriptions/listen":
		return true
	}
	return strings.HasPrefix(method, "notifications/")
}
