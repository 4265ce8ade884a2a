package check

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

const sourceListChanged = "A-E:server/tools#list-changed-notification, server/resources#list-changed-notification, server/prompts#list-changed-notification"

// rulesDrift are about definitions that change.
var rulesDrift = []Rule{
	{
		ID: "drift-01", Class: "should", In: "A-E", Side: "server", Transport: "any",
		Text:   "A server that declared listChanged announces a changed list. Only lists of one page are compared.",
		Source: sourceListChanged,
		Fix:    "Send list_changed when the list changes.",
		New:    changesAnnounced,
	},
	{
		ID: "drift-02", Class: "observation", In: "A-E", Side: "server", Transport: "any",
		Text:   "The definition of a tool or prompt changes within a session: what the user approved is not what runs. Definitions in one list, with its pages, are not compared.",
		Source: sourceListChanged,
		Fix:    "Review the change and pin it again, or find out why the server changed it.",
		New:    definitionsChange,
	},
	{
		ID: "drift-03", Class: "observation", In: "A-E", Side: "server", Transport: "any",
		Text:   "serverInfo or the capabilities differ between two sessions of the same revision.",
		Source: "A-D:basic/lifecycle#initialization; E:server/discover",
		Fix:    "Check for a deployment, or for two servers behind one address.",
		New: each(func(m *Message, v *Verdict) {
			var other *Session
			for _, s := range m.Session.checker.sessions.All {
				if s != m.Session && s.Server != nil && s.Facts != nil && s.Facts.Revision == m.Revision && m.Revision != "" {
					other = s
				}
			}
			if other == nil {
				return
			}
			info, f := m.Member("serverInfo"), other.Facts
			name, version := info.Get("name").Decoded(), info.Get("version").Decoded()
			same := info == nil || name == f.Server.Name && version == f.Server.Version
			if !same {
				v.Violate("serverInfo", "$.result.serverInfo", name+" "+version+" instead of "+f.Server.Name+" "+f.Server.Version)
			}
			switch own := m.Member("capabilities"); {
			case digest(own) != digest(other.Server):
				v.Violate("capabilities", "$.result.capabilities", "differ from another session: "+string(own))
			case same:
				v.Hold()
			}
		}, "result initialize"),
	},
}

// digest identifies a value, regardless of the order of its members.
func digest(v jsonrpc.Value) [32]byte {
	return sha256.Sum256(canonical(v))
}

// listDigest identifies a list, regardless of the order of its elements.
func listDigest(list jsonrpc.Value) (sum [32]byte) {
	for _, v := range list.Each {
		for i, b := range digest(v) {
			sum[i] ^= b
		}
	}
	return sum
}

// changesAnnounced judges drift-01. The notification may also follow the list.
func changesAnnounced(s *Session) Hooks {
	type list struct {
		digest    [32]byte
		announced bool
		pending   uint64 // the frame of a change that was not announced yet
	}
	known := map[string]*list{}
	wanted := map[string]bool{}                        // requested by a subscription of 2026-07-28
	gets := bounded.Map[uint64, bool]{Max: maxStreams} // open streams for notifications on HTTP
	settle := func(method string, l *list, v *Verdict) {
		if l.pending != 0 {
			v.frame = l.pending
			v.Violate(method, "$.result."+lists[method].member, "changed without "+lists[method].changed)
			l.pending = 0
		}
	}
	return Hooks{
		Frame: func(e *session.Entry, _ *Verdict) {
			switch {
			case e.Event.Name == tap.EventResponse && e.Exchange.Method == "GET" && mediaType(&e.Event) == eventStream:
				gets.Put(e.Frame.Exchange, true)
			case e.Event.Name == tap.EventEnd:
				gets.Delete(e.Frame.Exchange)
			}
		},
		Watch: func(m *Message) {
			if m.Method == "subscriptions/listen" {
				for method, l := range lists {
					wanted[method] = wanted[method] || m.Parameters().Get("notifications", changes[l.changed]).IsTrue()
				}
			}
		},
		On: []string{"result tools/list", "result prompts/list", "result resources/list", "notification"},
		Message: func(m *Message, v *Verdict) {
			if m.Kind == jsonrpc.Notification {
				for method, l := range known {
					if lists[method].changed != m.Method {
						continue
					}
					if l.announced = true; l.pending != 0 {
						l.pending = 0
						v.Hold()
					}
				}
				return
			}
			method := m.Request.Method
			member := lists[method].member
			elements := m.Member(member)
			if !elements.IsArray() || m.Member("nextCursor") != nil || m.Request.Param("cursor") != nil {
				return
			}
			now, l := listDigest(elements), known[method]
			if l == nil {
				known[method] = &list{digest: now}
				return
			}
			settle(method, l, v)
			switch {
			case l.digest == now || l.announced:
				v.Hold()
			case !s.Server.Get(member, "listChanged").IsTrue():
			case m.Revision == jsonrpc.Rev20260728 && !wanted[method], m.Revision != jsonrpc.Rev20260728 && s.Transport == "http" && gets.Len() == 0:
				v.Skip("no stream was open for the notification")
			default:
				l.pending = m.Entry.Frame.Seq
			}
			l.digest, l.announced = now, false
		},
		End: func(v *Verdict) {
			for method, l := range known {
				settle(method, l, v)
			}
		},
	}
}

// maxVersions limits the definitions with the same name in a list that are compared.
const maxVersions = 4

// definitionsChange judges drift-02. A list may have several definitions with the same name,
// which feat-03 reports: each is compared with those in the previous list.
func definitionsChange(*Session) Hooks {
	type definition struct {
		whole [32]byte
		text  jsonrpc.Value // nil if it was too large
	}
	type definitions struct {
		list        int // the number of the list that has now
		before, now []definition
	}
	begun := map[string]int{}                                   // number of lists started, by method
	known := bounded.Map[string, definitions]{Max: maxRequests} // by list and name
	return Hooks{
		On: []string{"result tools/list", "result prompts/list"},
		Message: func(m *Message, v *Verdict) {
			method := strings.Clone(m.Request.Method)
			member := lists[method].member
			if m.Request.Param("cursor") == nil {
				begun[method]++
			}
			for _, one := range m.Member(member).Each {
				name := strings.Clone(one.Get("name").Decoded())
				if !one.IsObject() || name == "" {
					continue // see feat-01 and type-10
				}
				now := definition{digest(one), m.Session.checker.offer(m.Entry.Frame.Seq, method, name, one)}
				all, _ := known.Get(member + " " + name)
				if all.list != begun[method] {
					all = definitions{list: begun[method], before: all.now}
				}
				if len(all.now) == maxVersions {
					continue
				}
				all.now = append(all.now, now)
				known.Put(member+" "+name, all)
				switch {
				case len(all.before) == 0:
				case slices.ContainsFunc(all.before, func(d definition) bool { return d.whole == now.whole }):
					v.Hold()
				default:
					before := all.before[min(len(all.now), len(all.before))-1]
					where, what := changed(before.text, now.text)
					v.Violate(name, "$.result."+member+"[*]"+where, what)
				}
			}
		},
	}
}

// changed returns which part of a definition changed, and how. It looks first at the text that
// models read.
func changed(old, now jsonrpc.Value) (where, what string) {
	if old == nil || now == nil {
		return "", "its definition changed"
	}
	if a, b := whole(old.Get("description")), whole(now.Get("description")); a != b {
		return ".description", change(a, b)
	}
	for _, name := range []string{"inputSchema", "arguments"} {
		if a, b := old.Get(name), now.Get(name); digest(a) != digest(b) {
			return "." + name, change(string(canonical(a)), string(canonical(b)))
		}
	}
	return "", change(string(canonical(old)), string(canonical(now)))
}
