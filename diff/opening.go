package diff

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// An opening holds the messages in which client and server describe themselves.
type opening struct {
	initialize, discover *call
	// tried is the latest initialize request, or else the first server/discover, with or
	// without a response.
	tried *call
	// meta is the _meta of the client's first request with a protocol version, serverInfo the
	// first one in a result (2026-07-28 basic/index).
	meta, serverInfo payload
	levels           map[string]*call // the first request with each logLevel in _meta
}

// maxLevels is the maximum number of log levels.
const maxLevels = 64

// asked adds a request.
func (o *opening) asked(s *Session, u *call, v jsontree.Value) {
	meta := v.Get("_meta")
	if level := bounded(meta.Get(metaPrefix + "logLevel").Text()); level != "" && o.levels[level] == nil && len(o.levels) < maxLevels {
		o.levels[level] = u
	}
	if u.lane != tap.ToServer {
		return
	}
	if u.method == "initialize" || u.method == "server/discover" && o.tried == nil {
		o.tried = u
	}
	if !o.meta.there && meta.Get(metaPrefix+"protocolVersion").Exists() {
		o.meta = s.at(u.ref, params)
		o.meta.there, o.meta.odd = true, &oddity{within: jsontree.Path{jsontree.To("_meta")}}
	}
}

// answered adds a response.
func (o *opening) answered(s *Session, u *call, a *arrived, v jsontree.Value) {
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

// settle sets the opening for a session that was never opened.
func (o *opening) settle() {
	switch {
	case o.initialize != nil || o.discover != nil || o.tried == nil:
	case o.tried.method == "initialize":
		o.initialize = o.tried
	default:
		o.discover = o.tried
	}
}

// handshakes returns the calls that open the session. Either may be nil.
func (o *opening) handshakes() [2]*call { return [...]*call{o.initialize, o.discover} }

// ref returns a message that names the revision.
func (o *opening) ref() session.Ref {
	for _, u := range o.handshakes() {
		if u != nil {
			return u.ref
		}
	}
	return o.meta.ref()
}

// A document describes client and server. It comes from a handshake, or from server/discover and
// the _meta of requests and results (2026-07-28 basic/versioning).
type document [len(documentPaths)]documentMember

// documentPaths are the paths of the members of a document.
var documentPaths = [...][2]string{
	{"client", "info"}, {"client", "capabilities"},
	{"server", "info"}, {"server", "capabilities"}, {"server", "instructions"}, {"server", "supportedVersions"},
}

type documentMember struct {
	value  jsontree.Value
	ref    session.Ref // the message that contains it
	stated bool        // known; if the value is absent, the side has none
}

// greetingMembers are the members of a handshake and of server/discover that are part of the
// document.
var greetingMembers = map[string]bool{
	"protocolVersion": true, "mcpVersion": true, "capabilities": true, "clientCapabilities": true, "serverCapabilities": true,
	"clientInfo": true, "client": true, "serverInfo": true, "server": true, "instructions": true, "supportedVersions": true,
}

func (e *engine) document(s *Session) document {
	o := &s.opening
	if u := o.initialize; u != nil && s.era() != jsonrpc.Modern {
		in, out, answer, worked := e.value(&u.request), e.value(&u.answer), u.answer.ref(), u.worked()
		client, info := either(in, "clientInfo", "client"), either(out, "serverInfo", "server")
		return document{
			{client, u.ref, client.Exists()},
			{either(in, "capabilities", "clientCapabilities"), u.ref, true},
			{info, answer, info.Exists()},
			{either(out, "capabilities", "serverCapabilities"), answer, worked},
			{out.Get("instructions"), answer, worked},
			{jsontree.Value{}, answer, worked},
		}
	}
	meta, info := e.value(&o.meta), e.value(&o.serverInfo)
	client := meta.Get(metaPrefix + "clientInfo")
	d := document{
		{client, o.meta.ref(), client.Exists()},
		{meta.Get(metaPrefix + "clientCapabilities"), o.meta.ref(), o.meta.there},
		{info, o.serverInfo.ref(), info.Exists()},
	}
	if u := o.discover; u != nil {
		out := e.value(&u.answer)
		for i, path := range documentPaths[3:] {
			d[3+i] = documentMember{out.Get(path[1]), u.answer.ref(), u.worked()}
		}
	}
	return d
}

// either returns the first of the named members that exists.
func either(v jsontree.Value, names ...string) jsontree.Value {
	for _, name := range names {
		if m := v.Get(name); m.Exists() {
			return m
		}
	}
	return jsontree.Value{}
}

// compareOpening compares the revisions, the documents, and the rest of the handshakes.
func (e *engine) compareOpening() {
	marked := func(u *call) bool { return u != nil && u.marked }
	opensA, opensB := e.a.opening.handshakes(), e.b.opening.handshakes()
	if e.opt.Marked && !slices.ContainsFunc(opensA[:], marked) && !slices.ContainsFunc(opensB[:], marked) {
		return
	}
	e.compareRevisions()
	e.compareExits()
	a, b := e.document(e.a), e.document(e.b)
	for i, path := range documentPaths {
		if x, y := a[i], b[i]; e.err == nil && x.stated && y.stated {
			w := &where{in: InSession, part: result, by: tap.ToClient, refA: x.ref, refB: y.ref, of: ofGreeting}
			if path[0] == "client" {
				w.part, w.by = params, tap.ToServer
				w.anyForm = x.value.Get("elicitation").Len() == 0 || y.value.Get("elicitation").Len() == 0
			}
			e.tree(w, jsontree.Path{jsontree.To(path[0]), jsontree.To(path[1])}, x.value, y.value)
		}
	}
	for i := range opensA {
		p := &pair{a: opensA[i], b: opensB[i], opens: true}
		if both := p.a != nil && p.b != nil; e.err == nil && (both || !e.cross && (p.a != nil || p.b != nil)) {
			matchInside([]*pair{p}, nil, nil, nil)
			e.comparePair(p)
		}
	}
}

// compareRevisions compares the negotiated revisions.
func (e *engine) compareRevisions() {
	if e.compareNames() {
		return
	}
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
		f.page = pageVersioning
	}
	e.report(w, f)
}

// compareNames compares whether the protocol versions in two handshakes look like revisions, and
// reports whether the sessions differ in this respect.
func (e *engine) compareNames() (differ bool) {
	a, b := e.a.opening.initialize, e.b.opening.initialize
	if a == nil || b == nil || e.cross || e.a.facts.Dialect != "" || e.b.facts.Dialect != "" {
		return false
	}
	named := func(v jsontree.Value) bool {
		_, err := time.Parse(time.DateOnly, v.Text())
		return err == nil || strings.HasPrefix(v.Text(), "DRAFT-")
	}
	compare := func(by tap.Lane, x, y payload, who string) {
		v, w := e.value(&x).Get("protocolVersion"), e.value(&y).Get("protocolVersion")
		if named(v) == named(w) || e.err != nil {
			return
		}
		f := &finding{class: Behaviour, kind: Changed, path: jsontree.Path{jsontree.To(x.part.String()), jsontree.To("protocolVersion")}, a: v, b: w,
			what: "the " + who + " now names a revision"}
		if !named(w) {
			f.what = "the " + who + " names no known revision"
			if by == tap.ToClient {
				f.class, f.reason = Breaking, "clients end the session"
			}
		}
		differ = true
		e.report(&where{in: InSession, part: x.part, by: by, refA: x.ref(), refB: y.ref()}, f)
	}
	compare(tap.ToServer, a.request, b.request, "client")
	if a.worked() && b.worked() {
		compare(tap.ToClient, a.answer, b.answer, "server")
	}
	return differ
}

// Interests are the notifications that a client requests, as its era does this.
type interests struct {
	levels, resources map[string]*call
	listens           []*call
	calls             []*call // the other calls
}

// equate compares the interests of two clients of different eras, and returns the other calls.
// Notifications on a subscription are compared with unsolicited ones.
func (e *engine) equate(as, bs []*call) (restA, restB []*call) {
	e.subscribed = map[string]bool{}
	a, b := e.interests(e.a, &e.looseA, as, bs), e.interests(e.b, &e.looseB, bs, as)
	if e.opt.Marked || e.err != nil {
		return a.calls, b.calls
	}
	e.compareInterests(a.levels, b.levels, finding{what: "each request sets the log level",
		reason: "2026-07-28 has no logging/setLevel", page: "2026-07-28/server/utilities/logging"},
		func(level string, in jsonrpc.Revision) string {
			if jsonrpc.EraOf(in) == jsonrpc.Modern {
				return "" // reported with the request
			}
			return "only the session in " + string(in) + " sets the log level " + quoted(level)
		})
	e.compareInterests(a.resources, b.resources, finding{what: "resources are subscribed to with subscriptions/listen",
		reason: "2026-07-28 has no resources/subscribe", page: pageSubscriptions},
		func(uri string, in jsonrpc.Revision) string {
			return "only the session in " + string(in) + " subscribes to " + quoted(uri)
		})
	p, f := &pair{}, &finding{kind: Added, what: "notifications require a subscription"}
	f.expected("up to 2025-11-25 they need no subscription", pageSubscriptions)
	switch {
	case len(b.listens) > 0 && len(b.resources) == 0:
		p.b = b.listens[0]
	case len(a.listens) > 0 && len(a.resources) == 0:
		p.a, f.kind = a.listens[0], Removed
	default:
		return a.calls, b.calls
	}
	refA, refB := p.refs()
	e.report(p.of(InCall, tap.ToServer, refA, refB), f)
	return a.calls, b.calls
}

// interests splits the calls of a session into requests for notifications and other calls. Methods
// that the other session uses too count as other calls. It adds the notifications on the
// subscriptions of the session to those that belong to no call.
func (e *engine) interests(s *Session, loose *[]note, units, others []*call) *interests {
	x := &interests{levels: map[string]*call{}, resources: map[string]*call{}}
	modern := s.era() == jsonrpc.Modern
	if modern {
		x.levels = s.opening.levels
	}
	used := map[string]bool{}
	for _, u := range others {
		used[u.method] = used[u.method] || u.interest()
	}
	add := func(to map[string]*call, key string, u *call) { to[key] = cmp.Or(to[key], u) }
	for _, u := range units {
		if !u.interest() || used[u.method] || modern != (u.method == "subscriptions/listen") {
			x.calls = append(x.calls, u)
			continue
		}
		v := e.value(&u.request)
		switch u.method {
		case "logging/setLevel":
			add(x.levels, bounded(v.Get("level").Text()), u)
		case "resources/subscribe":
			add(x.resources, u.name, u)
		case "subscriptions/listen":
			x.listens = append(x.listens, u)
			for name, m := range v.Get("notifications").All() {
				if kind, ok := strings.CutSuffix(name, "ListChanged"); ok && m.True() {
					e.subscribed["notifications/"+kind+"/list_changed"] = true
				}
				for _, uri := range elements(m) {
					add(x.resources, bounded(uri.Text()), u)
					e.subscribed["notifications/resources/updated "+uri.Text()] = true
				}
			}
			for _, n := range u.notes {
				if n.late = false; n.method != "notifications/subscriptions/acknowledged" {
					*loose = append(slices.Clip(*loose), n)
				}
			}
		}
	}
	return x
}

// interest reports whether a call requests notifications.
func (u *call) interest() bool {
	switch u.method {
	case "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return u.worked()
	case "subscriptions/listen":
		return u.worked() || !u.answered()
	}
	return false
}

// compareInterests compares interests of one kind. one describes an interest that only the client
// in the given revision has; "" means that it is not reported.
func (e *engine) compareInterests(a, b map[string]*call, both finding, one func(key string, in jsonrpc.Revision) string) {
	both.class, both.kind, both.same = Expected, Changed, true
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, key := range sortedKeys(keys) {
		p, f := &pair{a: a[key], b: b[key]}, both
		switch {
		case p.a == nil:
			f = finding{class: Behaviour, kind: Added, what: one(key, e.revB)}
		case p.b == nil:
			f = finding{class: Behaviour, kind: Removed, what: one(key, e.revA)}
		}
		if refA, refB := p.refs(); f.what != "" {
			e.report(p.of(InCall, tap.ToServer, refA, refB), &f)
		}
	}
}

// needsSubscription reports whether a notification requires a subscription in 2026-07-28. Earlier
// it was unsolicited.
func needsSubscription(method string) bool {
	return strings.HasSuffix(method, "/list_changed") && method != "notifications/roots/list_changed" || method == "notifications/resources/updated"
}

// unsubscribed reports whether n requires a subscription that the client of 2026-07-28 does not
// have.
func (e *engine) unsubscribed(n *note, v jsontree.Value) bool {
	key := n.method
	if key == "notifications/resources/updated" {
		key += " " + v.Get("uri").Text()
	}
	return needsSubscription(n.method) && !e.subscribed[key]
}
