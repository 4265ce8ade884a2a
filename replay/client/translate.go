package client

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// The eras express some things differently (2026-07-28 changelog):
//
//	initialize, notifications/initialized         server/discover, _meta of each request
//	logging/setLevel                              logLevel in _meta
//	resources/subscribe, unsolicited changes      subscriptions/listen
//	server requests                               input_required and a retry
//	task in params, tasks/result                  the server decides what is a task
//	ping, roots/list_changed                      nothing
//
// Requests that exist in only one era are not sent, which is noted.

// translate sends a recorded request in the other era.
func (p *player) translate(n int, m *jsonrpc.Message) {
	if p.target.modern() {
		p.toModern(n, m)
	} else {
		p.toLegacy(n, m)
	}
}

// untranslated notes that a request has no counterpart.
func (p *player) untranslated(n int) {
	a := &p.plan.requests[n]
	p.set(n, skipped)
	switch a.method {
	case "initialize", "server/discover", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", methodListen:
		return // the other era does this in another way, or does not need it
	}
	if !strings.HasPrefix(a.method, "notifications/") {
		p.note(NoteUntranslated, a, fmt.Sprintf("%s has no counterpart in %s", p.name(a), p.target.speaks))
	}
}

// sendAs sends a recorded request with another method or other params.
func (p *player) sendAs(n int, method string, params []byte) *pending {
	out := newRequest(p.plan.requests[n].id, method, params)
	out.head = p.plan.steps[p.at].head
	return p.launch(n, out)
}

// toModern sends a request of the legacy era in 2026-07-28.
func (p *player) toModern(n int, m *jsonrpc.Message) {
	params := m.Params
	switch m.Method {
	case "initialize", "server/discover":
		if p.target.opened || m.Method == "server/discover" {
			p.set(n, skipped) // a probe, or a second handshake
			return
		}
		p.target.opened = true
		f := p.sendAs(n, "server/discover", p.withMeta(nil))
		p.until(func() bool { return f.over }, p.plan.requests[n].took+p.opt.Timeout)
		p.listenForChanges()
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
				p.sendCancelled(f)
			}
			delete(p.target.listens, uri)
		}
	default:
		p.toModernCall(n, m)
		return
	}
	p.untranslated(n)
}

// toModernCall sends any other request.
func (p *player) toModernCall(n int, m *jsonrpc.Message) {
	a := &p.plan.requests[n]
	if m.Method == "tasks/result" {
		p.set(n, skipped) // it came with the answer to tasks/get
		return
	}
	if !p.target.hasRequest(m.Method) || isPoll(m.Method) && !p.becameTask(a) {
		if isPoll(m.Method) && a.role != session.RoleRequest {
			p.set(n, skipped) // the call was answered immediately
			return
		}
		p.untranslated(n)
		return
	}
	params, ok := p.ready(n, m.Params)
	if !ok {
		p.set(n, skipped)
		return
	}
	p.sendAs(n, m.Method, p.withMeta(withoutTask(params)))
}

// becameTask reports whether the live server created the task that a recorded request refers to.
func (p *player) becameTask(a *request) bool {
	m, err := p.load(a.ref)
	if err != nil {
		return false
	}
	id, _ := textOf(lookup(m.Params, "taskId"))
	now, ok := p.values[kindTask+id]
	return ok && now != gone
}

// withMeta adds the _meta members to params that every request has in 2026-07-28 (basic/index).
func (p *player) withMeta(params []byte) []byte {
	o, _ := readObject(params)
	meta, _ := readObject(lookup(params, "_meta"))
	meta = meta.without(func(name string) bool { return name == metaTask })
	meta = meta.set(metaVersion, quoted(string(p.target.speaks))).
		set(jsonrpc.MetaPrefix+"clientInfo", p.target.info).set(jsonrpc.MetaPrefix+"clientCapabilities", p.target.capabilities)
	if p.target.level != "" {
		meta = meta.set(jsonrpc.MetaPrefix+"logLevel", quoted(p.target.level))
	}
	return o.set("_meta", meta.bytes()).bytes()
}

// listenForChanges subscribes to the kinds of changes that the recorded client was notified of
// without a subscription.
func (p *player) listenForChanges() {
	var filters []string
	for _, kind := range []string{"tools", "prompts", "resources"} {
		if slices.ContainsFunc(p.plan.steps, func(s step) bool {
			return s.kind == stepReceive && s.method == "notifications/"+kind+"/list_changed"
		}) {
			filters = append(filters, `"`+kind+`ListChanged":true`)
		}
	}
	if len(filters) > 0 {
		p.listen(-1, []byte(`{"notifications":{`+strings.Join(filters, ",")+`}}`))
	}
}

// listen opens a subscription in place of recorded request n (-1 for none) and waits for its
// acknowledgement.
func (p *player) listen(n int, params []byte) *pending {
	f := &pending{id: p.freshID(), method: methodListen, request: n}
	if n >= 0 {
		f.id = p.plan.requests[n].id
		p.set(n, waiting)
	}
	p.sendNew(f, p.withMeta(params))
	p.until(func() bool { return f.over || f.acknowledged }, p.opt.Timeout)
	return f
}

// toLegacy sends a request of 2026-07-28 in a revision with a handshake.
func (p *player) toLegacy(n int, m *jsonrpc.Message) {
	switch m.Method {
	case "initialize":
		p.set(n, skipped) // the recorded server refused it
		return
	case "server/discover":
		p.handshake(n)
		return
	}
	if p.handshake(-1); p.gone != nil {
		return
	}
	level, _ := textOf(lookup(m.Params, "_meta", jsonrpc.MetaPrefix+"logLevel"))
	if level != "" && level != p.target.level {
		p.target.level = level
		p.call("logging/setLevel", fmt.Appendf(nil, `{"level":%s}`, quoted(level)))
	}
	a := &p.plan.requests[n]
	switch {
	case m.Method == methodListen:
		p.subscribe(n, m)
	case a.role == session.RoleRetry && !isPoll(m.Method):
		p.set(n, skipped) // the server sends requests of its own
	case !p.target.hasRequest(m.Method):
		p.untranslated(n)
	default:
		params, ok := p.ready(n, m.Params)
		if !ok {
			p.set(n, skipped)
			return
		}
		p.sendAs(n, m.Method, p.withoutMeta(params, a.tasked))
	}
}

// withoutMeta removes from params what is specific to 2026-07-28.
func (p *player) withoutMeta(params []byte, tasked bool) []byte {
	o, ok := readObject(params)
	if !ok {
		return params
	}
	o = o.without(func(name string) bool { return name == "inputResponses" || name == "requestState" })
	if meta, ok := readObject(lookup(params, "_meta")); ok {
		meta = meta.without(func(name string) bool { return strings.HasPrefix(name, jsonrpc.MetaPrefix) })
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

// handshake opens the session in place of recorded request n (-1 for none), unless it is open.
func (p *player) handshake(n int) {
	if p.target.opened {
		if n >= 0 {
			p.set(n, skipped)
		}
		return
	}
	p.target.opened = true
	params := fmt.Appendf(nil, `{"protocolVersion":%s,"capabilities":%s,"clientInfo":%s}`,
		quoted(string(p.target.speaks)), p.target.capabilities, p.target.info)
	if n >= 0 {
		f := p.sendAs(n, "initialize", params)
		p.until(func() bool { return f.over }, p.plan.requests[n].took+p.opt.Timeout)
	} else if v, ok := textOf(lookup(p.call("initialize", params), "protocolVersion")); ok {
		p.agree(jsonrpc.Revision(v))
	}
	p.put(NewOutgoing([]byte(`{"jsonrpc":"2.0","method":"` + methodInitialized + `"}`)))
}

// subscribe subscribes to the resources of a subscription. List changes need no subscription.
func (p *player) subscribe(n int, m *jsonrpc.Message) {
	p.set(n, skipped)
	for _, uri := range texts(lookup(m.Params, "notifications", "resourceSubscriptions")) {
		p.call("resources/subscribe", fmt.Appendf(nil, `{"uri":%s}`, quoted(uri)))
		p.target.uris[n] = append(p.target.uris[n], uri)
	}
}

// endListen undoes subscribe.
func (p *player) endListen(n int) {
	for _, uri := range p.target.uris[n] {
		p.call("resources/unsubscribe", fmt.Appendf(nil, `{"uri":%s}`, quoted(uri)))
	}
	delete(p.target.uris, n)
}

// A target is the revision that a session is played in.
type target struct {
	recorded, speaks jsonrpc.Revision
	changes, crosses bool             // whether these differ, and belong to different eras
	agreed           jsonrpc.Revision // by the live server in a handshake

	info, capabilities []byte // of the client, in JSON
	level              string // of log messages, "" for none
	opened             bool   // the session is open
	listens            map[string]*pending
	uris               map[int][]string // of a recorded subscription
}

// begin determines the revision.
func (v *target) begin(plan *Plan, revision jsonrpc.Revision) error {
	v.recorded = cmp.Or(plan.facts.Revision, plan.facts.Requested)
	v.speaks = cmp.Or(revision, v.recorded)
	v.listens, v.uris = map[string]*pending{}, map[int][]string{}
	v.changes = v.speaks != v.recorded
	v.crosses = v.changes && plan.facts.Era != "" && jsonrpc.EraOf(revision) != plan.facts.Era
	if v.changes && plan.facts.Dialect != "" {
		return errRevision
	}
	if v.crosses || v.modern() || !slices.ContainsFunc(plan.requests, isInitialize) { // otherwise the server has yet to agree
		v.agreed = v.speaks
	}
	if !v.crosses {
		return nil
	}
	return v.identify(plan)
}

func isInitialize(a request) bool { return a.method == "initialize" }

// identify reads the client's clientInfo and capabilities.
func (v *target) identify(plan *Plan) error {
	n, in := slices.IndexFunc(plan.requests, isInitialize), []string{"clientInfo", "capabilities"}
	modern := plan.facts.Era == jsonrpc.Modern
	if modern {
		n, in = slices.IndexFunc(plan.requests, func(a request) bool { return a.modern }), []string{jsonrpc.MetaPrefix + "clientInfo", jsonrpc.MetaPrefix + "clientCapabilities"}
	}
	v.info, v.capabilities = []byte(`{"name":"mcptap","version":"replay"}`), []byte(`{}`)
	if n < 0 {
		return nil
	}
	f, err := plan.load(plan.requests[n].ref.Seq)
	if err != nil {
		return err
	}
	from := jsonrpc.Value(jsonrpc.PeekFrame(&f).Params)
	if modern {
		from = from.Get("_meta")
	}
	if x := from.Get(in[0]); x != nil {
		v.info = x
	}
	if x := from.Get(in[1]); x != nil {
		v.capabilities = x
	}
	if plan.facts.Era == jsonrpc.Legacy && slices.ContainsFunc(plan.requests, func(a request) bool { return a.tasked }) {
		// Without this extension the server must not create tasks.
		caps, _ := readObject(v.capabilities)
		extensions, _ := readObject(lookup(v.capabilities, "extensions"))
		v.capabilities = caps.set("extensions", extensions.set(jsonrpc.MetaPrefix+"tasks", []byte("{}")).bytes()).bytes()
	}
	return nil
}

// modern reports whether the revision has no handshake.
func (v *target) modern() bool { return jsonrpc.EraOf(v.speaks) == jsonrpc.Modern }

// retries reports whether the live server may request input with input_required results.
func (v *target) retries() bool { return !v.crosses || v.modern() }

// batches reports whether batches may be sent (2025-03-26 basic/index).
func (v *target) batches() bool { return !v.changes || !v.crosses && v.speaks == jsonrpc.Rev20250326 }

// expects reports whether to expect a message that the recorded server sent.
func (v *target) expects(s *step) bool {
	if !v.crosses {
		return true
	}
	m, ok := jsonrpc.LookupMethod(s.method)
	return ok && m.Server.Has(v.speaks) && s.method != methodAcknowledged
}

// hasNotification reports whether a client notification exists in the revision.
func (v *target) hasNotification(method string) bool {
	m, ok := jsonrpc.LookupMethod(method)
	return !v.changes || !ok || m.Client.Has(v.speaks)
}

// hasRequest reports whether a client request exists in the revision.
func (v *target) hasRequest(method string) bool {
	m, ok := jsonrpc.LookupMethod(method)
	return !v.changes || !ok || m.Client.Has(v.speaks) || v.modern() && m.Client.Has(jsonrpc.ExtTasks)
}
