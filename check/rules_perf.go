package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// rulesPerformance are about time, size and repetition.
var rulesPerformance = []Rule{
	{
		ID: "perf-01", Class: "observation", In: "A-E", Side: "server", Transport: "any",
		Text:   "A request takes longer than 60 seconds, the default timeout of the TypeScript SDK. Requests during which the server sends a request to the client are exempt.",
		Source: "B-D:basic/lifecycle#timeouts; E:basic/patterns/cancellation#timeouts",
		Fix:    "Send progress, use a task, or raise the timeout of the client.",
		New: calls(func(c *session.Call, params jsonrpc.Value, v *Verdict) {
			took := c.FirstAnswer - c.At
			v.Check(took <= time.Minute, aboutCall(c, params), "", "took "+took.Round(time.Second).String())
		}),
	},
	{
		ID: "perf-02", Class: "observation", In: "A-E", Side: "server", Transport: "any",
		Text:   "A request with a progressToken gets no progress although it takes longer than 10 seconds.",
		Source: "A-D:basic/utilities/progress#behavior-requirements; E:basic/patterns/progress#behavior-requirements",
		Fix:    "Report progress.",
		New: calls(func(c *session.Call, params jsonrpc.Value, v *Verdict) {
			took := c.FirstAnswer - c.At
			if params.Get("_meta").Get("progressToken") != nil && took > 10*time.Second {
				v.Check(c.Counts[session.RoleProgress] > 0, aboutCall(c, params), "", "no progress in "+took.Round(time.Second).String())
			}
		}),
	},
	{
		ID: "perf-03", Class: "observation", In: "A-E", Side: "both", Transport: "any",
		Text:   "Progress or log notifications come in a flood: more than 50 in a second for one request.",
		Source: "A-D:basic/utilities/progress#implementation-notes; E:basic/patterns/progress#implementation-notes; A-E:server/utilities/logging#implementation-considerations",
		Fix:    "Limit the rate, for example to four a second.",
		New:    floods,
	},
	{
		ID: "perf-04", Class: "observation", In: "A-D", Side: "both", Transport: "any",
		Text:   "ping is sent more than once a second: five within four seconds.",
		Source: "A-D:basic/utilities/ping#implementation-considerations",
		Fix:    "Ping every 10 s or more.",
		New: func(*Session) Hooks {
			var times [tap.Lanes][5]time.Duration // of the last five pings
			var count [tap.Lanes]int
			return Hooks{On: []string{"request ping"}, Message: func(m *Message, v *Verdict) {
				last, n := &times[m.Lane], &count[m.Lane]
				last[*n%5] = m.Entry.Frame.At
				if *n++; *n >= 5 {
					first := last[*n%5]
					v.Check(m.Entry.Frame.At-first > 4*time.Second, "ping", "$.method", fmt.Sprintf("five in %v", m.Entry.Frame.At-first))
				}
			}}
		},
	},
	{
		ID: "perf-05", Class: "observation", In: "A-E", Side: "server", Transport: "any",
		Text:   "tools/list is larger than 50 KB in all: it fills the context of the model before the first call.",
		Source: "A-E:server/tools#listing-tools",
		Fix:    "Shorten descriptions and schemas, or offer fewer tools.",
		New: func(*Session) Hooks {
			size := 0
			return Hooks{On: []string{"result tools/list"}, Message: func(m *Message, v *Verdict) {
				if m.Request.Param("cursor") == nil {
					size = 0
				}
				if size += len(m.Member("tools")); m.Member("nextCursor") == nil {
					v.Check(size <= 50_000, "tools/list", "$.result.tools", fmt.Sprintf("%d KB", size/1000))
				}
			}}
		},
	},
	{
		ID: "perf-06", Class: "observation", In: "A-E", Side: "server", Transport: "any",
		Text:   "A single result is larger than 100 KB: many hosts cut it, and it fills the context of the model.",
		Source: "A-E:server/tools#tool-result",
		Fix:    "Page the result, or return a resource link.",
		New: each(func(m *Message, v *Verdict) {
			v.Check(len(m.Result) <= 100_000, m.Subject(), "$.result", fmt.Sprintf("%d KB", len(m.Result)/1000))
		}, "result tools/call", "result resources/read", "result prompts/get"),
	},
	{
		ID: "perf-07", Class: "observation", In: "E", Side: "client", Transport: "any",
		Text:   "A request is repeated, with the same parameters, within ttlMs of its result and without a change notification in between.",
		Source: "E:server/utilities/caching#time-to-live-ttl-field, #freshness-calculation",
		Fix:    "Keep the result until it is stale.",
		New:    freshRequests,
	},
	{
		ID: "perf-08", Class: "observation", In: "A-D", Side: "client", Transport: "any",
		Text:   "The same list is fetched more than five times in a session with the same answer and without a list_changed.",
		Source: "A-D:server/tools#list-changed-notification",
		Fix:    "Fetch once and rely on list_changed.",
		New:    repeatedLists,
	},
}

// calls returns New for a rule about how long the server takes for a request.
func calls(judge func(c *session.Call, params jsonrpc.Value, v *Verdict)) func(*Session) Hooks {
	return func(s *Session) Hooks {
		return Hooks{Call: func(c *session.Call, v *Verdict) {
			if c.Lane != tap.ToServer || c.FirstAnswer == 0 || c.Method == "subscriptions/listen" || c.Method == "tasks/result" || len(c.Nested) > 0 {
				return
			}
			var params jsonrpc.Value
			if r, ok := s.requests.Get(c.Ref); ok {
				params = r.Params
			}
			judge(c, params, v)
		}}
	}
}

// aboutCall returns the tool of a call, or else its method.
func aboutCall(c *session.Call, params jsonrpc.Value) string {
	if name := params.Get("name").Decoded(); c.Method == "tools/call" && name != "" {
		return name
	}
	return c.Method
}

// floods judges perf-03.
func floods(*Session) Hooks {
	type key struct {
		call session.Ref
		lane tap.Lane
	}
	type window struct {
		begin time.Duration
		count int
	}
	windows := bounded.Map[key, window]{Max: maxRequests}
	return Hooks{
		On: []string{onProgress, onLog},
		Message: func(m *Message, v *Verdict) {
			k := key{m.Part.Call, m.Lane}
			w, ok := windows.Get(k)
			if now := m.Entry.Frame.At; !ok || now-w.begin >= time.Second {
				if ok && w.count <= 50 {
					v.Hold()
				}
				w = window{begin: now}
			}
			w.count++
			windows.Put(k, w)
			if w.count == 51 {
				v.Violate(m.Method, "$.method", "more than 50 in a second")
			}
		},
	}
}

// sameRequest identifies a request by its method and its parameters without _meta.
func sameRequest(method string, params jsonrpc.Value) string {
	return method + "\x00" + jsonrpc.Bound(params.Get("cursor").Decoded()) + "\x00" + jsonrpc.Bound(params.Get("uri").Decoded())
}

// freshRequests judges perf-07.
func freshRequests(*Session) Hooks {
	fresh := bounded.Map[string, time.Duration]{Max: maxRequests} // the time until which results are fresh
	return Hooks{
		Watch: func(m *Message) {
			switch {
			case m.Kind == jsonrpc.Notification && m.Lane == tap.ToClient && changes[m.Method] != "":
				fresh = bounded.Map[string, time.Duration]{Max: maxRequests}
			case m.Request == nil || m.Path != "$":
			case m.Kind == jsonrpc.ErrorResponse:
				fresh.Delete(sameRequest(m.Request.Method, m.Request.Params))
			case m.Kind == jsonrpc.Response:
				if ms, ok := number(m.Member("ttlMs")); ok && ms > 0 && m.ResultType == "complete" && isCacheable(m.Request.Method) {
					fresh.Put(sameRequest(m.Request.Method, m.Request.Params), m.Entry.Frame.At+time.Duration(min(ms, 1e12))*time.Millisecond)
				}
			}
		},
		On: []string{"request"},
		Message: func(m *Message, v *Verdict) {
			if until, ok := fresh.Get(sameRequest(m.Method, m.Parameters())); ok && isCacheable(m.Method) && m.Lane == tap.ToServer {
				left := until - m.Entry.Frame.At
				v.Check(left <= 0, m.Subject(), "$.method", fmt.Sprintf("%v before the result is stale", left.Round(time.Millisecond)))
			}
		},
	}
}

// isCacheable reports whether results of a method have ttlMs (2026-07-28).
func isCacheable(method string) bool {
	return lists[method].key != "" || method == "resources/read" || method == "server/discover"
}

// repeatedLists judges perf-08.
func repeatedLists(*Session) Hooks {
	type list struct {
		digest [32]byte
		count  int
	}
	known := map[string]list{}
	return Hooks{
		Watch: func(m *Message) {
			if strings.HasSuffix(changes[m.Method], "ListChanged") {
				clear(known)
			}
			if m.Kind != jsonrpc.Response || m.Request == nil || lists[m.Request.Method].changed == "" || m.Request.Param("cursor") != nil {
				return
			}
			now, l := listDigest(m.Member(lists[m.Request.Method].member)), known[m.Request.Method]
			if l.digest != now {
				l = list{digest: now}
			}
			l.count++
			known[m.Request.Method] = l
		},
		On: []string{"request tools/list", "request prompts/list", "request resources/list"},
		Message: func(m *Message, v *Verdict) {
			if m.Param("cursor") == nil {
				n := known[m.Method].count
				v.Check(n < 5, m.Method, "$.method", "again after five equal answers")
			}
		},
	}
}
