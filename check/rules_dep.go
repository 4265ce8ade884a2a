package check

import (
	"slices"
	"strings"

	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// rulesDeprecated are about what is deprecated or private.
var rulesDeprecated = []Rule{
	{
		ID: "dep-01", Class: "observation", In: "B-E", Side: "server", Transport: "http",
		Text:   "The HTTP+SSE transport is in use, which is deprecated since 2025-03-26.",
		Source: "B-D:basic/transports#backwards-compatibility; E:deprecated",
		Fix:    "Move to Streamable HTTP.",
		New: each(func(m *Message, v *Verdict) {
			v.Check(m.Session.Transport != "sse", "", "", "HTTP+SSE is deprecated")
		}, "result initialize"),
	},
	{
		ID: "dep-02", Class: "observation", In: "E", Side: "both", Transport: "any",
		Text:   "Roots, sampling or logging is in use, which is deprecated in 2026-07-28 and still supported.",
		Source: "E:deprecated; E:client/roots, client/sampling, server/utilities/logging",
		Fix:    "Use tool parameters, a model API of your own, and stderr or OpenTelemetry.",
		New: each(func(m *Message, v *Verdict) {
			switch level := m.Param("_meta").Get(logLevelMember); {
			case level != nil:
				v.Violate("logging", "$.params._meta['"+logLevelMember+"']", "deprecated: "+string(level))
			case slices.Contains([]string{"roots/list", "sampling/createMessage", "notifications/message"}, m.Method):
				v.Violate(m.Method, m.Path, "deprecated in 2026-07-28")
			default:
				v.Hold()
			}
		}, "request", onLog),
	},
	{
		ID: "dep-03", Class: "should", In: "D-E", Side: "server", Transport: "any",
		Text:   "The values thisServer and allServers of includeContext are avoided.",
		Source: "D-E:client/sampling#capabilities; E:deprecated",
		Fix:    "Leave includeContext out.",
		New: each(func(m *Message, v *Verdict) {
			context := m.Param("includeContext").Decoded()
			if m.Session.Client != nil && m.Session.Client.Get("sampling", "context") == nil {
				return // see cap-10
			}
			v.Check(context != "thisServer" && context != "allServers", "includeContext", m.root()+".includeContext", context)
		}, "request sampling/createMessage"),
	},
	{
		ID: "dep-04", Class: "observation", In: "A-E", Side: "both", Transport: "any",
		Text:   "Messages are in a dialect that is not MCP: mcpVersion in initialize, or methods such as tools/invoke, tools/changed, shutdown and exit.",
		Source: "A-E:schema",
		Fix:    "Follow the schema of the specification.",
		New: eachFrame(func(e *session.Entry, v *Verdict) {
			v.revision = "" // the dialect has no revision
			for i := range e.Parts {
				m := e.Of(i)
				params, result := jsonrpc.Value(m.Params), jsonrpc.Value(m.Result)
				method, known := jsonrpc.LookupMethod(m.Method)
				switch {
				case params.Get("mcpVersion") != nil || result.Get("mcpVersion") != nil:
					v.Violate("mcpVersion", "", "a member of another dialect")
				case known && method.In(jsonrpc.Dialect) && !slices.ContainsFunc(revisions, method.In):
					v.Violate(m.Method, "$.method", "a method of another dialect")
				case m.Method != "":
					v.Hold()
				}
			}
		}),
	},
	{
		ID: "dep-05", Class: "observation", In: "A-E", Side: "server", Transport: "any",
		Text:   "An error code with another meaning is used: -32001 for a missing resource, -32002 for a failed tool.",
		Source: "E:basic/index#error-codes",
		Fix:    "Use codes outside -32768 to -32000.",
		New: each(func(m *Message, v *Verdict) {
			collides := m.ErrorCode == "-32001" && m.Request.Method == "resources/read" || m.ErrorCode == "-32002" && m.Request.Method == "tools/call"
			v.Check(!collides, m.Request.Method, "$.error.code", "a code with another meaning: "+m.ErrorCode)
		}, "error resources/read", "error tools/call"),
	},
	{
		ID: "dep-06", Class: "observation", In: "A-E", Side: "both", Transport: "any",
		Text:   "The name of a member is a near miss of a known one, such as next_cursor, input_schema or is_error, and will be ignored.",
		Source: "A-E:schema",
		Fix:    "Correct the spelling.",
		New:    each(spelling, "request", "result"),
	},
	{
		ID: "dep-07", Class: "observation", In: "E", Side: "client", Transport: "http",
		Text:   "A client registers by Dynamic Client Registration, which is deprecated in 2026-07-28.",
		Source: "E:deprecated; E:basic/authorization/client-registration#dynamic-client-registration",
		Fix:    "Use a Client ID Metadata Document.",
		New: oauth(func(q oauthRequest, v *Verdict) {
			v.Check(q.kind != "register", "", "", "Dynamic Client Registration is deprecated")
		}),
	},
}

// spelled maps known member names, in lower case without separators, to their spelling.
var spelled = func() map[string]string {
	names := map[string]string{}
	for name := range strings.FieldsSeq(`nextCursor inputSchema outputSchema isError structuredContent protocolVersion clientInfo serverInfo
		mimeType uriTemplate readOnlyHint destructiveHint idempotentHint openWorldHint resourceTemplates requestedSchema maxTokens systemPrompt stopReason listChanged`) {
		names[strings.ToLower(name)] = name
	}
	return names
}()

// spelledAs returns the known name that a name probably stands for, or "".
func spelledAs(name []byte) string {
	return spelled[strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '-':
			return -1
		case 'A' <= r && r <= 'Z':
			r |= 0x20
		}
		return r
	}, string(name))]
}

// spelledLists are the lists in results whose elements are checked.
var spelledLists = []string{"tools", "resources", "resourceTemplates", "content", "contents"}

// spelling judges dep-06 in the params or the result, and in the elements of its lists.
func spelling(m *Message, v *Verdict) {
	body, path := m.Outcome(), "$.result"
	if m.Kind == jsonrpc.Request {
		body, path = m.Parameters(), m.root()
	}
	var check func(object jsonrpc.Value, place string)
	check = func(object jsonrpc.Value, place string) {
		if !object.IsObject() {
			return
		}
		for name, value := range object.Each {
			if string(name) == "annotations" && strings.HasSuffix(place, "[*]") {
				check(value, place+".annotations")
			} else if known := spelledAs(name); known != "" && known != string(name) && object.Get(known) == nil {
				v.Violate(string(name), path+place+"."+string(name), "instead of "+known)
			}
		}
	}
	v.clean(func() {
		check(body, "")
		for _, list := range spelledLists {
			if elements := m.Member(list); elements.IsArray() {
				for _, one := range elements.Each {
					check(one, "."+list+"[*]")
				}
			}
		}
	})
}
