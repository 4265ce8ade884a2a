package check

import (
	"slices"
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// rulesCapability are about the use of declared capabilities.
var rulesCapability = []Rule{
	{
		ID: "cap-01", Class: "should@A-B must@C-D", In: "A-D", Side: "client", Transport: "any",
		Text:   "A client sends tools/list and tools/call only to a server that declared tools.",
		Source: "A-D:basic/lifecycle#operation",
		Fix:    "Read the server's capabilities before calling.",
		New:    requires("tools", "request tools/list", "request tools/call"),
	},
	{
		ID: "cap-02", Class: "should@A-B must@C-D", In: "A-D", Side: "client", Transport: "any",
		Text:   "A client sends resource requests only if resources is declared, and resources/subscribe only if resources.subscribe is true.",
		Source: "A-D:basic/lifecycle#operation",
		Fix:    "Read the server's capabilities before calling.",
		New: each(func(m *Message, v *Verdict) {
			names := []string{"resources"}
			if m.Method == "resources/subscribe" && declares(m.Session.Server, "resources") {
				names = append(names, "subscribe")
			}
			v.required(m, m.Session.Server, names...)
		}, "request resources/list", "request resources/templates/list", "request resources/read", "request resources/subscribe", "request resources/unsubscribe"),
	},
	{
		ID: "cap-03", Class: "should@A-B must@C-D", In: "A-D", Side: "client", Transport: "any",
		Text:   "A client sends prompts/list and prompts/get only to a server that declared prompts.",
		Source: "A-D:basic/lifecycle#operation",
		Fix:    "Read the server's capabilities before calling.",
		New:    requires("prompts", "request prompts/list", "request prompts/get"),
	},
	{
		ID: "cap-04", Class: "should@B must@C-D", In: "B-D", Side: "client", Transport: "any",
		Text:   "A client sends completion/complete only to a server that declared completions.",
		Source: "B-D:basic/lifecycle#operation; B-D:server/utilities/completion#capabilities",
		Fix:    "Read the server's capabilities before calling.",
		New:    requires("completions", "request completion/complete"),
	},
	{
		ID: "cap-05", Class: "should@A-B must@C-D observation@E", In: "A-E", Side: "server", Transport: "any",
		Text: "A list_changed notification comes only from a server that declared listChanged for that list, and notifications/resources/updated " +
			"only from one that declared resources.subscribe.",
		Source: "A-D:basic/lifecycle#operation; A-E:server/tools#list-changed-notification, server/resources#list-changed-notification, " +
			"server/resources#capabilities, server/prompts#list-changed-notification",
		Fix: `Declare "listChanged":true, or "subscribe":true for resources.`,
		New: each(func(m *Message, v *Verdict) {
			needed := "listChanged"
			if m.Method == "notifications/resources/updated" {
				needed = "subscribe"
			}
			v.required(m, m.Session.Server, strings.Split(m.Method, "/")[1], needed)
		}, "notification notifications/tools/list_changed", "notification notifications/resources/list_changed",
			"notification notifications/prompts/list_changed", "notification notifications/resources/updated"),
	},
	{
		ID: "cap-06", Class: "should@A-B must@C-D", In: "A-D", Side: "server", Transport: "any",
		Text:   "A server sends sampling/createMessage only to a client that declared sampling.",
		Source: "A-D:basic/lifecycle#operation; A-D:client/sampling#capabilities",
		Fix:    "Check the client's capabilities first.",
		New: each(func(m *Message, v *Verdict) {
			v.required(m, m.Session.Client, "sampling")
		}, "request sampling/createMessage"),
	},
	{
		ID: "cap-07", Class: "should@A-B must@C-D", In: "A-D", Side: "both", Transport: "any",
		Text: "A server sends roots/list only to a client that declared roots; a client sends notifications/roots/list_changed only if it declared " +
			"roots.listChanged.",
		Source: "A-D:basic/lifecycle#operation; A-D:client/roots#capabilities, #implementation-guidelines",
		Fix:    "Check or declare the capability.",
		New: each(func(m *Message, v *Verdict) {
			switch {
			case m.Kind == jsonrpc.Request && m.Lane == tap.ToClient:
				v.required(m, m.Session.Client, "roots")
			case m.Kind == jsonrpc.Notification && m.Lane == tap.ToServer:
				v.required(m, m.Session.Client, "roots", "listChanged")
			}
		}, "request roots/list", "notification notifications/roots/list_changed"),
	},
	{
		ID: "cap-08", Class: "must", In: "C-D", Side: "server", Transport: "any",
		Text:   "A server sends elicitation/create only to a client that declared elicitation; in 2025-11-25 only in a declared mode, where {} means form.",
		Source: "C-D:basic/lifecycle#operation; C-D:client/elicitation#capabilities",
		Fix:    "Check the client's capabilities and modes first.",
		New: each(func(m *Message, v *Verdict) {
			mode, client := modeOf(m.Parameters()), m.Session.Client
			if m.Revision == jsonrpc.Rev20251125 && declares(client, "elicitation") && !declaresMode(client, mode) {
				v.Violate(m.Method, "$.params.mode", "elicitation."+mode+" is not declared")
				return
			}
			v.required(m, client, "elicitation")
		}, "request elicitation/create"),
	},
	{
		ID: "cap-09", Class: "must", In: "D-E", Side: "server", Transport: "any",
		Text:   "Sampling with tools or toolChoice is requested only from a client that declared sampling.tools.",
		Source: "D-E:client/sampling#tools-in-sampling",
		Fix:    "Leave the tools out, or require the capability.",
		New: each(func(m *Message, v *Verdict) {
			if params := m.Parameters(); params.Get("tools") != nil || params.Get("toolChoice") != nil {
				v.requiredOfSampling(m, "tools")
			}
		}, "request sampling/createMessage"),
	},
	{
		ID: "cap-10", Class: "should", In: "D-E", Side: "server", Transport: "any",
		Text:   "includeContext is thisServer or allServers only if the client declared sampling.context.",
		Source: "D-E:client/sampling#capabilities",
		Fix:    "Leave includeContext out.",
		New: each(func(m *Message, v *Verdict) {
			if c := m.Param("includeContext").Decoded(); c == "thisServer" || c == "allServers" {
				v.requiredOfSampling(m, "context")
			}
		}, "request sampling/createMessage"),
	},
	{
		ID: "cap-11", Class: "must", In: "D", Side: "client", Transport: "any",
		Text: "task is in a tools/call only if the server declared tasks.requests.tools.call and the taskSupport of the tool is optional or required; " +
			"a tool that requires it is called with it.",
		Source: "D:basic/utilities/tasks#tool-level-negotiation",
		Fix:    "Follow the taskSupport of the tool.",
		New: each(func(m *Message, v *Verdict) {
			asked := m.Param("task") != nil
			tool := m.tool()
			support := tool.Get("execution", "taskSupport").Decoded()
			switch {
			case m.Session.Server == nil:
				v.Skip("the capabilities are not known")
			case !declares(m.Session.Server, "tasks", "requests", "tools", "call"):
				if asked {
					v.Violate(m.Subject(), "$.params.task", "tasks.requests.tools.call is not declared")
				}
			case tool == nil:
				v.Skip("no list before the call has the tool")
			case asked:
				v.Check(support == "optional" || support == "required", m.Subject(), "$.params.task", "taskSupport is "+describe(tool.Get("execution", "taskSupport")))
			default:
				v.Check(support != "required", m.Subject(), "$.params.task", "missing, and taskSupport is required")
			}
		}, "request tools/call"),
	},
	{
		ID: "cap-12", Class: "must", In: "D", Side: "both", Transport: "any",
		Text:   "tasks/get and tasks/result are sent only to a side that declared tasks, tasks/list and tasks/cancel only to one that declared tasks.list or tasks.cancel.",
		Source: "D:basic/lifecycle#operation; D:basic/utilities/tasks#capabilities",
		Fix:    "Check the capabilities of the other side first.",
		New: each(func(m *Message, v *Verdict) {
			peer := m.Session.Server
			if m.Lane == tap.ToClient {
				peer = m.Session.Client
			}
			needed := []string{"tasks"}
			if m.Method == "tasks/list" || m.Method == "tasks/cancel" {
				needed = append(needed, strings.TrimPrefix(m.Method, "tasks/"))
			}
			v.required(m, peer, needed...)
		}, "request tasks/get", "request tasks/result", "request tasks/list", "request tasks/cancel"),
	},
	{
		ID: "cap-13", Class: "observation@A-D must@E", In: "A-E", Side: "server", Transport: "any",
		Text:   "A server that declared tools, prompts or resources implements its list request.",
		Source: "E:server/tools#capabilities, server/prompts#capabilities, server/resources#capabilities",
		Fix:    "Implement the list method; an empty list is legal.",
		New: each(func(m *Message, v *Verdict) {
			name, _, _ := strings.Cut(m.Request.Method, "/")
			switch {
			case m.Session.Server == nil:
				v.Skip("the capabilities are not known")
			case declares(m.Session.Server, name):
				v.Check(m.ErrorCode != "-32601", m.Request.Method, "$.error.code", "declared, and not implemented: "+m.ErrorCode)
			}
		}, "result tools/list", "error tools/list", "result prompts/list", "error prompts/list", "result resources/list", "error resources/list"),
	},
	{
		ID: "cap-14", Class: "must", In: "A-E", Side: "server", Transport: "any",
		Text: "A server that responds to requests for tools, resources, prompts or (from 2025-03-26) completion with content has declared the capability. " +
			"An empty list does not need it.",
		Source: "A-E:server/tools#capabilities, server/resources#capabilities, server/prompts#capabilities; B-E:server/utilities/completion#capabilities",
		Fix:    "Declare the capability in initialize or server/discover.",
		New: each(func(m *Message, v *Verdict) {
			name, _, _ := strings.Cut(m.Request.Method, "/")
			if name == "completion" {
				name = "completions"
			}
			if hasContent(m) && (name != "completions" || m.Revision >= jsonrpc.Rev20250326) {
				v.required(m, m.Session.Server, name)
			}
		}, append([]string{"result tools/call", "result resources/read", "result prompts/get", "result completion/complete"}, onLists...)...),
	},
	{
		ID: "cap-15", Class: "should", In: "D", Side: "server", Transport: "any",
		Text:   "task is in a sampling/createMessage or elicitation/create only if the client declared it under tasks.requests.",
		Source: "D:basic/utilities/tasks#capability-negotiation",
		Fix:    "Send the plain request.",
		New: each(func(m *Message, v *Verdict) {
			if m.Param("task") != nil {
				v.required(m, m.Session.Client, append([]string{"tasks", "requests"}, strings.Split(m.Method, "/")...)...)
			}
		}, "request sampling/createMessage", "request elicitation/create"),
	},
	{
		ID: "cap-16", Class: "should", In: "C-E", Side: "server", Transport: "any",
		Text:   "A server that embeds resources in the results of tools has declared resources.",
		Source: "C-E:server/tools#embedded-resources",
		Fix:    "Declare resources, or return text or a link.",
		New: each(func(m *Message, v *Verdict) {
			for _, b := range m.allBlocks() {
				if b.kind == "resource" {
					v.required(m, m.Session.Server, "resources")
					return
				}
			}
		}, "result tools/call"),
	},
	{
		ID: "cap-17", Class: "should@A-B must@C-D", In: "A-D", Side: "client", Transport: "any",
		Text:   "A client sends logging/setLevel only to a server that declared logging.",
		Source: "A-D:basic/lifecycle#operation; A-D:server/utilities/logging#capabilities",
		Fix:    "Read the server's capabilities before calling.",
		New:    requires("logging", "request logging/setLevel"),
	},
	{
		ID: "cap-18", Class: "observation", In: "A-E", Side: "server", Transport: "any",
		Text:   "A server declares no feature that clients ask for: no tools, resources, prompts, completions or tasks, and no extensions or experimental features. Clients then do not list its tools.",
		Source: "A-D:basic/lifecycle#capability-negotiation; E:server/discover",
		Fix:    `Declare "tools":{}; some SDKs do so only for tools that are registered before the server connects.`,
		New: each(func(m *Message, v *Verdict) {
			declared := m.Member("capabilities")
			if !declared.IsObject() {
				return // see init-03 and feat-25
			}
			some := slices.ContainsFunc([]string{"tools", "resources", "prompts", "completions", "tasks", "extensions", "experimental"}, func(name string) bool {
				return declares(declared, name)
			})
			v.Check(some, m.Request.Method, "$.result.capabilities", "no tools, resources, prompts or completions: clients do not ask for them")
		}, "result initialize", "result server/discover"),
	},
}

// declares reports whether capabilities have a member.
func declares(capabilities jsonrpc.Value, names ...string) bool {
	v := capabilities.Get(names...)
	return v != nil && !isNull(v) && string(v) != "false"
}

// required judges whether a side has declared what a message requires.
func (v *Verdict) required(m *Message, capabilities jsonrpc.Value, names ...string) {
	if capabilities == nil {
		v.Skip("the capabilities are not known")
		return
	}
	v.Check(declares(capabilities, names...), m.about(), "", strings.Join(names, ".")+" is not declared")
}

// requires returns New for a rule that requests need a server capability.
func requires(name string, on ...string) func(*Session) Hooks {
	return each(func(m *Message, v *Verdict) { v.required(m, m.Session.Server, name) }, on...)
}

// requiredOfSampling judges whether a client that declared sampling also declared a part of it.
// In 2026-07-28 the capabilities are those in the request whose result embeds the message.
func (v *Verdict) requiredOfSampling(m *Message, name string) {
	client := m.Session.Client
	if m.Path != "$" {
		client = nil
		if len(m.Entry.Parts) == 1 {
			if r, ok := m.Session.requests.Get(m.Entry.Parts[0].Request); ok {
				client = metaOf(r.Param("_meta"), "clientCapabilities")
			}
		}
	}
	if client == nil || declares(client, "sampling") { // otherwise see cap-06 and mrtr-04
		v.required(m, client, "sampling", name)
	}
}

// modeOf returns the mode of an elicitation, which is form if none is given.
func modeOf(params jsonrpc.Value) string {
	if params.Get("mode") == nil {
		return "form"
	}
	return params.Get("mode").Decoded()
}

// declaresMode reports whether a client declared a mode of elicitation. Modes that do not exist
// are reported by cli-11.
func declaresMode(client jsonrpc.Value, mode string) bool {
	switch mode {
	case "form":
		return declares(client, "elicitation", "form") || !declares(client, "elicitation", "url")
	case "url":
		return declares(client, "elicitation", "url")
	}
	return true
}

// hasContent reports whether a result has the content of its method, rather than an empty list
// or a failure.
func hasContent(m *Message) bool {
	var values jsonrpc.Value
	switch method := m.Request.Method; method {
	case "resources/read":
		values = m.Member("contents")
	case "prompts/get":
		values = m.Member("messages")
	case "completion/complete":
		values = m.Member("completion").Get("values")
	default:
		l := lists[method]
		if l.key == "" {
			return m.final() && !m.IsError
		}
		values = m.Member(l.member)
	}
	return values.IsArray() && !isEmpty(values)
}
