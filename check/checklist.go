package check

import (
	"slices"
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A ChecklistItem is a topic of the checklist for testing a client or a server, with what the
// recording shows of it.
type ChecklistItem struct {
	Topic string `json:"topic"`
	// State is right, wrong (one of its rules is violated, not only as an observation, or one
	// of its calls got no response) or not seen.
	State string `json:"state"`
	// Rules are the violated rules.
	Rules []string `json:"rules,omitempty"`
}

// The topics of the checklist. A topic is seen if a message with one of its methods crossed, or
// if its function reports so. A finding belongs to the first topic that lists its rule, or else
// to the topic of its method.
var topics = []struct {
	name    string
	methods []string // or method prefixes that end in a slash
	rules   []string // or families
	seen    func(e *session.Entry, m *jsonrpc.Message, p *session.Part) bool
}{
	{name: "handshake", methods: []string{"initialize", "server/discover"}, rules: []string{"init", "neg"}},
	{name: "capabilities", rules: []string{"cap"}, methods: []string{"initialize", "server/discover"}},
	{name: "errors", rules: []string{"rpc-09", "rpc-16", "rpc-21", "rpc-22", "rpc-23", "rpc-32", "feat-09", "feat-12", "feat-16", "dep-05"},
		seen: func(_ *session.Entry, m *jsonrpc.Message, _ *session.Part) bool {
			return m.Kind == jsonrpc.ErrorResponse || m.IsError
		}},
	{name: "cancellation", methods: []string{"notifications/cancelled"}, rules: []string{"flow-06", "flow-07", "flow-08", "flow-09", "flow-10", "init-10", "http-39"},
		seen: func(e *session.Entry, _ *jsonrpc.Message, _ *session.Part) bool {
			return e.Event.Name == tap.EventHangUp && len(e.Ended) > 0
		}},
	{name: "progress", methods: []string{"notifications/progress"}, rules: []string{"flow-01", "flow-02", "flow-03", "flow-04", "flow-05", "flow-16", "flow-17", "flow-19"}},
	{name: "timeouts", rules: []string{"rpc-14", "perf-01", "perf-02"}, // seen if a call was slow
		seen: func(e *session.Entry, _ *jsonrpc.Message, p *session.Part) bool {
			return p != nil && p.Latency > slowCall
		}},
	{name: "shutdown", rules: []string{"stdio-05", "stdio-06", "stdio-12", "stdio-13", "http-26"},
		seen: func(e *session.Entry, _ *jsonrpc.Message, _ *session.Part) bool {
			return e.Event.Name == tap.EventExit || e.Event.Name == tap.EventRequest && e.Event.Method == "DELETE"
		}},
	{name: "recovery after an interruption", rules: []string{"http-14", "http-15", "http-16", "http-17", "http-19", "http-23", "http-24", "http-40"},
		seen: func(e *session.Entry, _ *jsonrpc.Message, _ *session.Part) bool {
			return e.Resumes != 0 || e.Replays != 0
		}},
	{name: "authorization", rules: []string{"auth", "http-45", "http-46", "http-47"},
		seen: func(e *session.Entry, _ *jsonrpc.Message, _ *session.Part) bool {
			return e.Event.Name == tap.EventResponse && (e.Event.Status == 401 || e.Event.Status == 403)
		}},
	{name: "tools", methods: []string{"tools/"}},
	{name: "resources", methods: []string{"resources/"}},
	{name: "prompts", methods: []string{"prompts/"}},
	{name: "completion", methods: []string{"completion/"}},
	{name: "logging", methods: []string{"logging/", "notifications/message"}, rules: []string{"flow-11", "flow-12", "flow-13", "flow-14", "flow-15"}},
	{name: "sampling", methods: []string{"sampling/"}},
	{name: "elicitation", methods: []string{"elicitation/"}, rules: []string{"cli-02", "cli-03", "cli-04", "cli-05", "cli-06", "cli-07"}},
	{name: "roots", methods: []string{"roots/"}, rules: []string{"cli-01", "cli-15"}},
	{name: "input required", rules: []string{"mrtr"},
		seen: func(_ *session.Entry, m *jsonrpc.Message, _ *session.Part) bool {
			return m.ResultType == "input_required"
		}},
	{name: "tasks", methods: []string{"tasks/"}, rules: []string{"task", "ext"}},
	{name: "subscriptions", methods: []string{"subscriptions/", "resources/subscribe"}, rules: []string{"sub"}},
}

// slowCall is the duration from which a call shows how a client handles slow calls.
const slowCall = 10e9

func matches(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return n == name || strings.HasSuffix(n, "/") && strings.HasPrefix(name, n) })
}

// see records which topics an entry shows.
func (c *Checker) see(e *session.Entry) {
	for i := range e.Parts {
		c.answered = c.answered || e.Frame.Lane == tap.ToClient && e.Of(i).Kind != jsonrpc.Invalid
	}
	for i := range topics {
		t := &topics[i]
		if c.seen[i] {
			continue
		}
		if len(e.Parts) == 0 {
			c.seen[i] = t.seen != nil && t.seen(e, &e.Message, nil)
			continue
		}
		for j := range e.Parts {
			m, p := e.Of(j), &e.Parts[j]
			if m.Method != "" && matches(t.methods, m.Method) || t.seen != nil && t.seen(e, m, p) {
				c.seen[i] = true
			}
			if m.ResultType == "input_required" {
				for _, asked := range jsonrpc.Value(m.Result).Get("inputRequests").Each {
					c.seen[i] = c.seen[i] || matches(t.methods, asked.Get("method").Decoded())
				}
			}
		}
	}
}

// lose records the topics of a call that got no response.
func (c *Checker) lose(method string) {
	for i := range topics {
		c.lost[i] = c.lost[i] || matches(topics[i].methods, method)
	}
}

// Checklist returns what the recording shows of each topic. It must be called after
// [Checker.Report].
func (c *Checker) Checklist(r *Report) []ChecklistItem {
	items := make([]ChecklistItem, len(topics))
	for i := range topics {
		items[i] = ChecklistItem{Topic: topics[i].name, State: "not seen"}
		if c.seen[i] && (c.answered || topics[i].methods == nil) { // a request without a response does not count
			items[i].State = "right"
		}
	}
	wrong := func(i int, f *Finding) {
		items[i].State = "wrong"
		if !slices.Contains(items[i].Rules, f.Rule.ID) {
			items[i].Rules = append(items[i].Rules, f.Rule.ID)
		}
	}
	for _, f := range r.Findings {
		if i := topicOf(f); i >= 0 && f.Class > Observation {
			wrong(i, f)
		}
		if !slices.Contains(lostCalls, f.Rule.ID) || strings.HasPrefix(f.Rule.ID, "http-") && !strings.HasPrefix(f.Text, streamCut) {
			continue
		}
		for i, t := range topics {
			own := f.method != "" && matches(t.methods, f.method) || f.Rule.ID == "rpc-07" && c.lost[i] || strings.HasPrefix(f.Text, streamCut) && matches(t.methods, f.Subject)
			own = own || f.Rule.ID == "http-09" && slices.Contains(t.rules, "http-17") // recovery
			if c.seen[i] && (own || f.Rule.ID != "feat-08" && (t.name == "errors" || t.name == "timeouts")) {
				wrong(i, f)
			}
		}
	}
	return items
}

// lostCalls are the rules that show that a call got no response, or none that its client can
// use, or that the tool does not accept its arguments.
var lostCalls = []string{"rpc-07", "rpc-14", "stdio-12", "http-08", "http-09", "feat-08"}

func topicOf(f *Finding) int {
	family, _, _ := strings.Cut(f.Rule.ID, "-")
	for i := range topics {
		if slices.Contains(topics[i].rules, f.Rule.ID) || slices.Contains(topics[i].rules, family) {
			return i
		}
	}
	for i := range topics {
		if f.method != "" && matches(topics[i].methods, f.method) {
			return i
		}
	}
	return -1
}
