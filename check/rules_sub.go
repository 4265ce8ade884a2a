package check

import (
	"strings"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// rulesSubscription are about subscriptions of 2026-07-28.
var rulesSubscription = []Rule{
	{
		ID: "sub-01", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "The first message of a subscription is notifications/subscriptions/acknowledged.",
		Source: "E:basic/patterns/subscriptions#acknowledgment",
		Fix:    "Send the acknowledgment before anything else.",
		New: eachChange(func(m *Message, l *listen, _ *listens, v *Verdict) {
			if l == nil || l.began {
				return
			}
			l.began = true
			v.Check(m.Method == acknowledged, "", "$.method", m.Method+" before the acknowledgment")
		}),
	},
	{
		ID: "sub-02", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "Every notification of a subscription has io.modelcontextprotocol/subscriptionId in its _meta, equal in value and JSON type to the id of the listen request.",
		Source: "E:basic/index#_meta; E:basic/patterns/subscriptions#receiving-notifications",
		Fix:    "Copy the id of the listen request.",
		New: eachChange(func(m *Message, l *listen, all *listens, v *Verdict) {
			id := metaOf(m.Param("_meta"), "subscriptionId")
			const path = metaPath + "subscriptionId"
			switch {
			case l != nil:
				v.Check(l.key == keyOf(id), m.Method, path, "not the id of the listen request: "+describe(id))
			case m.Entry.Frame.Exchange != 0 || id == nil && m.Method != acknowledged && all.open == 0: // sub-07
			case !m.Session.Start || m.Session.Gap:
				v.Skip("requests from before the recording are not known")
			case m.Method == acknowledged || all.any || isModern(m.Session):
				v.Violate(m.Method, path, "not the id of a listen request: "+describe(id))
			}
		}),
	},
	{
		ID: "sub-03", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "Only requested notification types and URIs are sent, sub-resources of a requested URI included, and the acknowledged filter is a subset of the request.",
		Source: "E:basic/patterns/subscriptions#opening-a-stream, #acknowledgment; schema ResourceUpdatedNotificationParams",
		Fix:    "Filter by the request.",
		New:    eachChange(wasRequested),
	},
	{
		ID: "sub-04", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "No progress or log notifications are sent on a listen stream.",
		Source: "E:server/utilities/logging#per-request-log-level; E:basic/transports/streamable-http#receiving-messages",
		Fix:    "Send them on the stream of their own request.",
		New: func(s *Session) Hooks {
			var all listens
			return Hooks{Watch: all.watch, On: []string{"notification"}, Message: func(m *Message, v *Verdict) {
				if all.of(m) != nil {
					v.Check(m.Method != "notifications/progress" && m.Method != "notifications/message", m.Method, "$.method", "on a listen stream")
				}
			}}
		},
	},
	{
		ID: "sub-05", Class: "observation", In: "E", Side: "server", Transport: "http",
		Text:   "The server ends a subscription with neither a result of the listen request nor notifications/cancelled.",
		Source: "E:basic/patterns/subscriptions#graceful-closure; E:basic/patterns/cancellation",
		Fix:    "Send the result of the listen request before closing.",
		New: func(*Session) Hooks {
			return Hooks{Call: func(c *session.Call, v *Verdict) {
				switch ended := c.Notes&session.NoteStreamEnded != 0 && c.End != 0; {
				case c.Method != "subscriptions/listen":
				case c.Status == session.CallDone:
					v.Hold()
				case c.Status.Settled() || !ended || c.StreamEnd.By == "client" || c.StreamEnd.By == "tap":
				case c.StreamEnd.Error != "":
					v.Skip("the connection was lost")
				default:
					v.Observe("", "", "the stream ended")
				}
			}}
		},
	},
	{
		ID: "sub-06", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   `The result of a listen request has resultType "complete" and the subscriptionId in _meta.`,
		Source: "schema SubscriptionsListenResult; E:basic/patterns/subscriptions#graceful-closure",
		Fix:    "Add both.",
		New: each(func(m *Message, v *Verdict) {
			if !m.Outcome().IsObject() {
				return // rpc-10
			}
			id := metaOf(m.Member("_meta"), "subscriptionId")
			v.Check(keyOf(id) == keyOf(m.Request.ID), "", "$.result._meta."+jsonrpc.MetaPrefix+"subscriptionId", "not the id of the request: "+describe(id))
			if m.ResultType != "" { // else neg-09
				v.Check(m.ResultType == "complete", "", "$.result.resultType", m.ResultType)
			}
		}, "result subscriptions/listen"),
	},
	{
		ID: "sub-07", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "No list_changed or resources/updated is sent outside a subscription. A legacy session of the same server is exempt.",
		Source: "E:basic/patterns/subscriptions#opening-a-stream",
		Fix:    "Send it on a listen stream only.",
		New: eachChange(func(m *Message, l *listen, all *listens, v *Verdict) {
			x := m.exchange()
			id := metaOf(m.Param("_meta"), "subscriptionId")
			switch {
			case m.Method == acknowledged:
			case l != nil:
				v.Hold()
			case m.Entry.Frame.Exchange == 0 && (id != nil || all.open > 0): // sub-02
			case !isModern(m.Session) && (x == nil || x.Revision != jsonrpc.Rev20260728) || m.Session.Gap || m.Entry.Frame.Exchange == 0 && !m.Session.Start || m.Entry.Frame.Exchange != 0 && (x == nil || x.Request == nil):
				v.Skip("the request of the stream is not known, or it may be of an older revision")
			default:
				v.Violate(m.Method, "$.method", "outside of a subscription")
			}
		}),
	},
}

const acknowledged = "notifications/subscriptions/acknowledged"

// changes maps the notifications of a subscription to the members of its filter.
var changes = map[string]string{
	"notifications/tools/list_changed":     "toolsListChanged",
	"notifications/prompts/list_changed":   "promptsListChanged",
	"notifications/resources/list_changed": "resourcesListChanged",
	"notifications/resources/updated":      "resourceSubscriptions",
	acknowledged:                           "",
}

// maxListens limits the listen requests that are remembered.
const maxListens = 256

// A listen is a listen request.
type listen struct {
	key   string // map key for its id
	began bool   // a notification of the subscription was seen
	over  bool
	ref   session.Ref
}

// listens are the listen requests of a session.
type listens struct {
	byID       bounded.Map[string, *listen]
	byExchange bounded.Map[uint64, *listen]
	open       int
	any        bool // there was at least one
}

func (all *listens) watch(m *Message) {
	switch {
	case m.Path != "$":
	case m.Kind == jsonrpc.Request && m.Method == "subscriptions/listen" && m.Lane == tap.ToServer:
		l := &listen{key: keyOf(m.ID), ref: m.Part.Message}
		all.byID.Max, all.byExchange.Max = maxListens, maxListens
		if m.Entry.Frame.Exchange != 0 {
			all.byExchange.Put(m.Entry.Frame.Exchange, l)
		} else {
			all.byID.Put(l.key, l)
		}
		all.open++
		all.any = true
	case m.Request != nil && m.Request.Method == "subscriptions/listen":
		all.end(m.Request.ID)
	case m.Method == "notifications/cancelled":
		all.end(m.Param("requestId"))
	}
}

// end ends a subscription, on stdio.
func (all *listens) end(id []byte) {
	if l, ok := all.byID.Get(keyOf(id)); ok && !l.over {
		l.over = true
		all.open--
	}
}

// of returns the listen request that a notification belongs to: on HTTP that of its stream, on
// stdio the one with its subscriptionId.
func (all *listens) of(m *Message) *listen {
	if m.Entry.Frame.Exchange != 0 {
		l, _ := all.byExchange.Get(m.Entry.Frame.Exchange)
		return l
	}
	id := metaOf(m.Param("_meta"), "subscriptionId")
	if id == nil {
		return nil
	}
	l, _ := all.byID.Get(keyOf(id))
	return l
}

// eachChange returns New for a rule about the notifications of subscriptions; l is nil for a
// notification that belongs to none.
func eachChange(judge func(m *Message, l *listen, all *listens, v *Verdict)) func(*Session) Hooks {
	return func(*Session) Hooks {
		var all listens
		return Hooks{Watch: all.watch, On: []string{"notification"}, Message: func(m *Message, v *Verdict) {
			if _, ok := changes[m.Method]; ok {
				judge(m, all.of(m), &all, v)
			}
		}}
	}
}

// wasRequested judges sub-03.
func wasRequested(m *Message, l *listen, _ *listens, v *Verdict) {
	if l == nil {
		return // sub-02, sub-07
	}
	r, ok := m.Session.requests.Get(l.ref)
	if !ok || r.Params == nil {
		v.Skip("the listen request is no longer known")
		return
	}
	filter := r.Param("notifications")
	switch m.Method {
	case acknowledged:
		isSubset(m.Param("notifications"), filter, v)
	case "notifications/resources/updated":
		uri := m.Param("uri")
		for _, requested := range filter.Get("resourceSubscriptions").Each {
			if text := requested.Decoded(); text != "" && strings.HasPrefix(uri.Decoded(), text) {
				v.Hold()
				return
			}
		}
		if isMasked(uri) { // a masked sub-resource shares no prefix
			v.Skip("the URI is masked")
			return
		}
		v.Violate(m.Method, "$.params.uri", "not requested: "+describe(uri))
	default:
		v.Check(filter.Get(changes[m.Method]).IsTrue(), m.Method, "$.method", "not requested")
	}
}

// isSubset judges whether an acknowledged filter is a subset of the request.
func isSubset(granted, requested jsonrpc.Value, v *Verdict) {
	const path = "$.params.notifications."
	uris := map[string]bool{}
	for _, uri := range requested.Get("resourceSubscriptions").Each {
		uris[uri.Decoded()] = true
	}
	for _, name := range changes {
		switch value := granted.Get(name); {
		case name == "resourceSubscriptions":
			for _, uri := range value.Each {
				v.CheckValue(uris[uri.Decoded()], name, path+name+"[*]", "not requested", uri)
			}
		case value.IsTrue():
			v.Check(requested.Get(name).IsTrue(), name, path+name, "not requested: true")
		}
	}
}
