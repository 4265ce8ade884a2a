package diff

import (
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// An opening is where a session says who talks to whom, in whichever revision.
type opening struct {
	initialize, discover *unit
	// tried is the latest initialize that was asked, without one a server/discover,
	// whatever became of it: the opening of a session that was never opened.
	tried *unit
	// meta is the _meta of the client's first request that has a version,
	// serverInfo what the first result says of the server (2026-07-28
	// basic/index).
	meta, serverInfo payload
}

// asked takes a request of the client.
func (o *opening) asked(s *Session, u *unit, v jsontree.Value) {
	if u.lane == tap.ToServer && (u.method == "initialize" || u.method == "server/discover" && o.tried == nil) {
		o.tried = u
	}
	meta := v.Get("_meta")
	if u.lane != tap.ToServer || o.meta.there || !meta.Get(metaPrefix+"protocolVersion").Exists() {
		return
	}
	o.meta = s.at(u.ref, params)
	o.meta.there, o.meta.odd = true, &oddity{within: jsontree.Path{jsontree.To("_meta")}}
}

// answered takes an answer.
func (o *opening) answered(s *Session, u *unit, a *arrived, v jsontree.Value) {
	if u.lane != tap.ToServer || a.m.Kind != jsonrpc.Response {
		return
	}
	switch {
	case u.method == "initialize":
		o.initialize = u
	case u.method == "server/discover" && o.discover == nil:
		o.discover = u
	}
	if info := v.Get("_meta", metaPrefix+"serverInfo"); info.Exists() && !o.serverInfo.there {
		o.serverInfo = s.inside(a, result, info, jsontree.To("_meta"), jsontree.To(metaPrefix+"serverInfo"))
	}
}

// settle takes what was only tried, where nothing came of it.
func (o *opening) settle() {
	switch {
	case o.initialize != nil || o.discover != nil || o.tried == nil:
	case o.tried.method == "initialize":
		o.initialize = o.tried
	default:
		o.discover = o.tried
	}
}

// A greeting is what a side of a session says of itself when it opens, in
// whichever revision. What is not known is absent.
type greeting struct {
	info, capabilities       jsontree.Value
	instructions, versions   jsontree.Value
	infoRef, capabilitiesRef session.Ref
	// told reports that the capabilities were asked for.
	told bool
}

// compareOpening compares who talks to whom, in which revision, and what they
// say they can. A handshake says the same as server/discover and the _meta of
// requests and results (2026-07-28 basic/versioning).
func (e *engine) compareOpening() {
	if e.opt.Marked && !e.openingMarked() {
		return
	}
	e.compareRevisions()
	clientA, serverA := e.greetings(e.a)
	clientB, serverB := e.greetings(e.b)
	if e.err != nil {
		return
	}
	e.compareGreetings("client", tap.ToServer, clientA, clientB)
	e.compareGreetings("server", tap.ToClient, serverA, serverB)
	e.compareHandshakes(e.a.opening.initialize, e.b.opening.initialize)
	e.compareHandshakes(e.a.opening.discover, e.b.opening.discover)
}

func (e *engine) openingMarked() bool {
	for _, o := range []*opening{&e.a.opening, &e.b.opening} {
		for _, u := range []*unit{o.initialize, o.discover} {
			if u != nil && u.marked {
				return true
			}
		}
	}
	return false
}

// compareRevisions compares what was agreed on.
func (e *engine) compareRevisions() {
	if e.revA == e.revB || e.revA == "" || e.revB == "" {
		return
	}
	f := &finding{class: Expected, kind: Changed, path: jsontree.Path{jsontree.To("revision")}, old: string(e.revA), new: string(e.revB),
		reason: "the client asks for another revision"}
	w := &where{in: InSession, by: tap.ToServer}
	w.refA, w.refB = e.a.opening.ref(), e.b.opening.ref()
	if a, b := &e.a.facts, &e.b.facts; !e.cross && a.Requested == b.Requested && a.Revision != "" && b.Revision != "" {
		f.class, f.reason = Behaviour, "the client asks for the same revision"
		w.by = tap.ToClient
	}
	if e.cross {
		f.what = "one session opens with a handshake, the other without"
		f.page = "2026-07-28/basic/versioning"
	}
	e.report(w, f)
}

// ref is a message in which the revision stands.
func (o *opening) ref() session.Ref {
	switch {
	case o.initialize != nil:
		return o.initialize.ref
	case o.discover != nil:
		return o.discover.ref
	}
	return o.meta.ref()
}

// greetings reads what both sides of a session say.
func (e *engine) greetings(s *Session) (client, server greeting) {
	o := &s.opening
	if o.initialize != nil && jsonrpc.EraOf(s.revision()) != jsonrpc.Modern {
		in, out := e.value(&o.initialize.request), e.value(&o.initialize.answer)
		client = greeting{info: either(in, "clientInfo", "client"), capabilities: either(in, "capabilities", "clientCapabilities"), told: true}
		server = greeting{info: either(out, "serverInfo", "server"), capabilities: either(out, "capabilities", "serverCapabilities"),
			instructions: out.Get("instructions"), told: o.initialize.worked()}
		client.infoRef, server.infoRef = o.initialize.ref, o.initialize.answer.ref()
		client.capabilitiesRef, server.capabilitiesRef = client.infoRef, server.infoRef
		return client, server
	}
	meta := e.value(&o.meta)
	client = greeting{info: meta.Get(metaPrefix + "clientInfo"), capabilities: meta.Get(metaPrefix + "clientCapabilities"),
		infoRef: o.meta.ref(), capabilitiesRef: o.meta.ref(), told: o.meta.there}
	server = greeting{info: e.value(&o.serverInfo), infoRef: o.serverInfo.ref()}
	if o.discover != nil {
		out := e.value(&o.discover.answer)
		server.capabilities, server.instructions, server.versions = out.Get("capabilities"), out.Get("instructions"), out.Get("supportedVersions")
		server.capabilitiesRef, server.told = o.discover.answer.ref(), o.discover.worked()
	}
	return client, server
}

func either(v jsontree.Value, names ...string) jsontree.Value {
	for _, name := range names {
		if m := v.Get(name); m.Exists() {
			return m
		}
	}
	return jsontree.Value{}
}

// compareGreetings compares what one side says in both sessions.
func (e *engine) compareGreetings(who string, by tap.Lane, a, b greeting) {
	part := params
	if by == tap.ToClient {
		part = result
	}
	w := &where{in: InSession, part: part, by: by, refA: a.infoRef, refB: b.infoRef, of: ofGreeting}
	if a.info.Exists() && b.info.Exists() {
		e.tree(w, jsontree.Path{jsontree.To(who), jsontree.To("info")}, a.info, b.info)
	}
	if !a.told || !b.told {
		return
	}
	told := *w
	told.refA, told.refB = a.capabilitiesRef, b.capabilitiesRef
	at := jsontree.Path{jsontree.To(who), jsontree.To("capabilities")}
	if a.capabilities.Kind() == jsontree.Object && b.capabilities.Kind() == jsontree.Object && !a.capabilities.Opaque() && !b.capabilities.Opaque() {
		union(a.capabilities, b.capabilities, func(name string, x, y jsontree.Value) {
			if name == "elicitation" && who == "client" {
				e.compareElicitation(&told, at.With(jsontree.To(name)), x, y)
				return
			}
			e.tree(&told, at.With(jsontree.To(name)), x, y)
		})
	} else {
		e.tree(&told, at, a.capabilities, b.capabilities)
	}
	if by == tap.ToClient {
		e.tree(&told, jsontree.Path{jsontree.To(who), jsontree.To("instructions")}, a.instructions, b.instructions)
		e.tree(&told, jsontree.Path{jsontree.To(who), jsontree.To("supportedVersions")}, a.versions, b.versions)
	}
}

// compareElicitation compares a capability of which {} means {"form":{}}
// (2025-11-25 client/elicitation).
func (e *engine) compareElicitation(w *where, path jsontree.Path, a, b jsontree.Value) {
	if a.Kind() != jsontree.Object || b.Kind() != jsontree.Object {
		e.tree(w, path, a, b)
		return
	}
	union(a, b, func(name string, x, y jsontree.Value) {
		if other := a.Len() * b.Len(); name != "form" || other != 0 {
			e.tree(w, path.With(jsontree.To(name)), x, y)
		}
	})
}

// compareHandshakes compares what else stands in the messages that open a
// session, and the notifications that belong to them.
func (e *engine) compareHandshakes(a, b *unit) {
	p := &pair{a: a, b: b}
	switch {
	case e.err != nil || a == nil && b == nil:
		return
	case a == nil || b == nil:
		if !e.cross { // else the other one says the same
			e.oneSided(p, map[bool]Kind{true: Added, false: Removed}[a == nil])
		}
		return
	}
	e.compareHandshake(p)
	p.restA, p.restB = cancelNotes(a.notes, b.notes)
	e.compareNotes(p)
	e.compareOrder(p)
	e.timed.add(p)
}

// compareHandshake compares the messages of two handshakes, but for what
// compareGreetings does.
func (e *engine) compareHandshake(p *pair) {
	type half struct {
		in   Place
		by   tap.Lane
		a, b payload
	}
	halves := []half{{InRequest, tap.ToServer, p.a.request, p.b.request}}
	if p.a.worked() && p.b.worked() {
		halves = append(halves, half{InAnswer, tap.ToClient, p.a.answer, p.b.answer})
	} else {
		e.compareAnswer(p)
	}
	for _, x := range halves {
		v, w, ok := e.load(&x.a, &x.b)
		if !ok {
			return
		}
		at := p.of(x.in, x.by, x.a.ref(), x.b.ref())
		at.part = x.a.part
		if v.Opaque() || w.Opaque() {
			e.tree(at, jsontree.Path{jsontree.To(at.part.String())}, v, w)
			continue
		}
		union(v, w, func(name string, v, w jsontree.Value) {
			path := jsontree.Path{jsontree.To(at.part.String()), jsontree.To(name)}
			switch {
			case greetingMembers[name]:
			case name == "_meta":
				e.compareMeta(at, path, v, w)
			default:
				e.tree(at, path, v, w)
			}
		})
	}
}

// greetingMembers are those that compareGreetings compares.
var greetingMembers = map[string]bool{
	"protocolVersion": true, "mcpVersion": true, "capabilities": true, "clientCapabilities": true, "serverCapabilities": true,
	"clientInfo": true, "client": true, "serverInfo": true, "server": true, "instructions": true, "supportedVersions": true,
}
