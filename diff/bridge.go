package diff

import (
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A bridge compares what the two eras say in different ways, outside of calls:
// how much is logged, and what the client asks to be notified of.
type bridge struct {
	e *engine
	// legacyFirst reports that the legacy session is the first one.
	legacyFirst bool
	legacy      *Session
	modern      *Session

	levels        []*unit // logging/setLevel
	subscriptions []*unit // resources/subscribe
	listens       []*unit // subscriptions/listen
	// wanted are the kinds of notification that the modern client asked for, uris
	// the resources.
	wanted map[string]bool
	uris   map[string]*unit
}

// equate compares what calls of one era have no counterpart in the other, and
// returns the other calls.
func (e *engine) equate(as, bs []*unit) (restA, restB []*unit) {
	x := bridge{e: e, legacyFirst: jsonrpc.EraOf(e.revA) == jsonrpc.Legacy, wanted: map[string]bool{}, uris: map[string]*unit{}}
	if x.legacyFirst {
		x.legacy, x.modern = e.a, e.b
	} else {
		x.legacy, x.modern = e.b, e.a
	}
	restA, restB = x.pick(e.a, as, bs), x.pick(e.b, bs, as)
	if e.opt.Marked {
		return restA, restB
	}
	x.readListens()
	x.compareLevels()
	x.compareSubscriptions()
	x.compareNews()
	return restA, restB
}

// pick takes the calls that the bridge compares out of those of a session: the ones
// whose methods the other session does not use.
func (x *bridge) pick(s *Session, units, others []*unit) (rest []*unit) {
	used := map[string]bool{}
	for _, u := range others {
		if u.bridged() {
			used[u.method] = true
		}
	}
	for _, u := range units {
		list := &x.levels
		switch u.method {
		case "resources/subscribe":
			list = &x.subscriptions
		case "subscriptions/listen":
			list = &x.listens
		}
		modern := list == &x.listens
		switch {
		case !u.bridged() || used[u.method] || modern != (s == x.modern):
			rest = append(rest, u)
		case u.method != "resources/unsubscribe":
			*list = append(*list, u)
		}
	}
	return rest
}

// bridged reports whether a call is one that the bridge may compare.
func (u *unit) bridged() bool {
	switch u.method {
	case "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return u.worked()
	case "subscriptions/listen":
		return u.worked() || !u.answered()
	}
	return false
}

// readListens reads what the modern client asks to be notified of.
func (x *bridge) readListens() {
	for _, u := range x.listens {
		v := x.e.value(&u.request)
		for name, m := range v.Get("notifications").All() {
			if m.True() {
				x.wanted[name] = true
			}
			for _, uri := range elements(m) {
				if x.uris[uri.Text()] == nil {
					x.uris[uri.Text()] = u
				}
			}
		}
	}
}

// at makes the place of a call of the legacy session and one of the modern one,
// of which one may be nil.
func (x *bridge) at(legacy, modern *unit) *where {
	p := &pair{a: legacy, b: modern}
	if !x.legacyFirst {
		p.a, p.b = p.b, p.a
	}
	a, b := p.refs()
	return p.of(InCall, tap.ToServer, a, b)
}

// kind is the one of what only the legacy session has, or only the modern one.
func (x *bridge) kind(legacy bool) Kind {
	if legacy == x.legacyFirst {
		return Removed
	}
	return Added
}

// compareLevels compares logging/setLevel with the level in each request's
// _meta (2026-07-28 server/utilities/logging).
func (x *bridge) compareLevels() {
	for _, u := range x.levels {
		level := x.level(u)
		w := x.at(u, x.modern.levels[level])
		if x.modern.levels[level] != nil {
			x.e.report(w, &finding{class: Expected, kind: Changed, same: true, what: "the level of log messages is asked for in each request",
				reason: "there is no logging/setLevel in 2026-07-28", page: "2026-07-28/server/utilities/logging"})
			continue
		}
		x.e.report(w, &finding{class: Behaviour, kind: x.kind(true), what: "log messages from level " + quoted(level) + " on are not asked for"})
	}
}

func (x *bridge) level(u *unit) string {
	return bounded(x.e.value(&u.request).Get("level").Text())
}

// compareSubscriptions compares resources/subscribe with the resources that
// subscriptions/listen asks for (2026-07-28 basic/patterns/subscriptions).
func (x *bridge) compareSubscriptions() {
	const page = "2026-07-28/basic/patterns/subscriptions"
	seen := map[string]bool{}
	for _, u := range x.subscriptions {
		listen := x.uris[u.name]
		seen[u.name] = true
		if listen != nil {
			x.e.report(x.at(u, listen), &finding{class: Expected, kind: Changed, same: true, what: "resources are subscribed to with subscriptions/listen",
				reason: "there is no resources/subscribe in 2026-07-28", page: page})
			continue
		}
		x.e.report(x.at(u, nil), &finding{class: Behaviour, kind: x.kind(true), what: "only the session in " + string(x.legacy.revision()) + " subscribes to it"})
	}
	for _, uri := range sortedKeys(x.uris) {
		if !seen[uri] {
			x.e.report(x.at(nil, x.uris[uri]), &finding{class: Behaviour, kind: x.kind(false), what: "only the session in 2026-07-28 subscribes to " + quoted(uri)})
		}
	}
	if len(x.listens) > 0 && len(x.uris) == 0 {
		x.e.report(x.at(nil, x.listens[0]), &finding{class: Expected, kind: x.kind(false), same: true, what: "what is to be told of is asked for",
			reason: "up to 2025-11-25 the server tells unasked", page: page})
	}
}

// news reports whether a notification is one that comes on a subscription in
// 2026-07-28.
func news(method string) bool {
	return strings.HasSuffix(method, "/list_changed") && method != "notifications/roots/list_changed" ||
		method == "notifications/resources/updated"
}

// compareNews compares the notifications of changes, which come unasked in one
// era and on a subscription in the other.
func (x *bridge) compareNews() {
	loose := x.e.looseA
	if !x.legacyFirst {
		loose = x.e.looseB
	}
	var old, rest, now []note
	for _, n := range loose {
		if news(*n.method) {
			old = append(old, n)
		} else {
			rest = append(rest, n)
		}
	}
	if x.legacyFirst {
		x.e.looseA = rest
	} else {
		x.e.looseB = rest
	}
	for _, u := range x.listens {
		for _, n := range u.notes {
			if *n.method != "notifications/subscriptions/acknowledged" {
				n.late = false
				now = append(now, n)
			}
		}
	}
	restOld, restNow := cancelNotes(old, now)
	for _, n := range restOld {
		x.oneNews(n, true)
	}
	for _, n := range restNow {
		x.oneNews(n, false)
	}
}

// oneNews reports a notification that only one session has. That is expected of
// what the modern client did not ask for.
func (x *bridge) oneNews(n *note, legacy bool) {
	v := x.e.value(&n.payload)
	f := &finding{class: Behaviour, kind: x.kind(legacy), path: jsontree.Path{jsontree.To("params")}}
	w := &where{in: InNotification, part: params, method: *n.method, message: *n.method, by: n.lane}
	if f.kind == Removed {
		f.a, w.refA = v, n.ref()
	} else {
		f.b, w.refB = v, n.ref()
	}
	if legacy && !x.asked(*n.method, v) {
		f.class, f.same, f.reason = Expected, true, "in 2026-07-28 it only comes when it is asked for"
		f.page = "2026-07-28/basic/patterns/subscriptions"
	}
	x.e.report(w, f)
}

// asked reports whether the modern client asks to be notified of a change.
func (x *bridge) asked(method string, v jsontree.Value) bool {
	switch method {
	case "notifications/tools/list_changed":
		return x.wanted["toolsListChanged"]
	case "notifications/prompts/list_changed":
		return x.wanted["promptsListChanged"]
	case "notifications/resources/list_changed":
		return x.wanted["resourcesListChanged"]
	}
	return x.uris[v.Get("uri").Text()] != nil
}
