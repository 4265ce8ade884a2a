package check

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// Sources of many rules.
const (
	sourceSending  = "B-D:basic/transports#sending-messages-to-the-server; E:basic/transports/streamable-http#sending-messages"
	sourceStreams  = "B-D:basic/transports#listening-for-messages-from-the-server"
	sourceSessions = "B-D:basic/transports#session-management"
	sourceResuming = "B-D:basic/transports#resumability-and-redelivery"
)

// rulesHTTP are about Streamable HTTP, HTTP+SSE and their headers.
var rulesHTTP = []Rule{
	{
		ID: "http-01", Class: "must", In: "B-E", Side: "client", Transport: "http",
		Text:   "Client messages travel by POST to the MCP endpoint, never in the body of another method.",
		Source: sourceSending,
		Fix:    "Use POST.",
		New: streamable(func(x *Exchange, v *Verdict) {
			if x.carriesMessage() {
				v.Check(x.Request.Method == "POST", x.Request.Method, "", "messages in its body")
			}
		}),
	},
	{
		ID: "http-02", Class: "must", In: "B-E", Side: "client", Transport: "http",
		Text:   "The Accept header of every POST lists both application/json and text/event-stream; */* alone does not list them.",
		Source: sourceSending,
		Fix:    "Send Accept: application/json, text/event-stream.",
		New: streamable(func(x *Exchange, v *Verdict) {
			if x.Request.Method == "POST" && x.carriesMessage() {
				v.Check(x.accepts("application/json") && x.accepts(eventStream), "Accept", "", fieldText(x.Request, "Accept"))
			}
		}),
	},
	{
		ID: "http-03", Class: "observation", In: "B-E", Side: "client", Transport: "http",
		Text:   "The Content-Type of a POST is not application/json. The specification does not require it explicitly, but servers answer 415.",
		Source: "RFC 9110 s8.3",
		Fix:    "Send Content-Type: application/json.",
		New: streamable(func(x *Exchange, v *Verdict) {
			if x.Request.Method == "POST" && x.carriesMessage() {
				v.Check(mediaType(x.Request) == "application/json", "Content-Type", "", fieldText(x.Request, "Content-Type"))
			}
		}),
	},
	{
		ID: "http-04", Class: "must", In: "E", Side: "client", Transport: "http",
		Text:   "The body of a POST is a request or a notification, never a response.",
		Source: "E:basic/transports/streamable-http#sending-messages",
		Fix:    "Answer requests for input with a retry of the request.",
		New: each(func(m *Message, v *Verdict) {
			if m.Path != "$" || m.Entry.Frame.Form != tap.FormBody {
				return
			}
			isResponse := m.Kind == jsonrpc.Response || m.Kind == jsonrpc.ErrorResponse
			v.Check(!isResponse, m.Subject(), "$", "a response by POST")
		}, "message"),
	},
	{
		ID: "http-05", Class: "must", In: "B-E", Side: "server", Transport: "http",
		Text:   "An accepted POST of only notifications or responses is answered with 202 and no body.",
		Source: sourceSending,
		Fix:    "Answer 202 with an empty body, not 200, 204 or a text such as Accepted.",
		New: streamable(func(x *Exchange, v *Verdict) {
			if !x.carriesOther() || !x.answered(2) || x.Has(tap.ToClient, jsonrpc.ErrorResponse) {
				return // see http-06
			}
			body := x.Others > 0 || x.Has(tap.ToClient, jsonrpc.Request, jsonrpc.Notification, jsonrpc.Response, jsonrpc.Invalid)
			text := fmt.Sprintf("answered %d", x.Response.Status)
			if body {
				text += " with a body"
			}
			v.Check(x.Response.Status == 202 && !body, x.about(), "", text)
		}),
	},
	{
		ID: "http-06", Class: "must", In: "B-E", Side: "server", Transport: "http",
		Text:   "A notification or response that is not accepted gets an HTTP error status: a JSON-RPC error does not come with a 2xx status.",
		Source: sourceSending,
		Fix:    "Answer 400 or another error status.",
		New: streamable(func(x *Exchange, v *Verdict) {
			if x.carriesOther() && x.byServer() && x.Has(tap.ToClient, jsonrpc.ErrorResponse) {
				v.Check(x.Response.Status >= 400, x.about(), "", fmt.Sprintf("a JSON-RPC error with the status %d", x.Response.Status))
			}
		}),
	},
	{
		ID: "http-07", Class: "must", In: "B-E", Side: "server", Transport: "http",
		Text:   "A 2xx answer to a POST with a request has the Content-Type application/json or text/event-stream; parameters are allowed. With 202 common clients ignore the body.",
		Source: sourceSending,
		Fix:    "Set the content type; do not answer a request with 202.",
		New: streamable(func(x *Exchange, v *Verdict) {
			if !x.carriesRequest() || !x.answered(2) {
				return
			}
			media := mediaType(x.Response)
			text := fmt.Sprintf("answered %d, Content-Type %s", x.Response.Status, fieldText(x.Response, "Content-Type"))
			if x.Response.Status == 202 && x.Has(tap.ToClient, jsonrpc.Response, jsonrpc.ErrorResponse) {
				v.violate(ClientBreaking, x.about(), "", "the response comes with the status 202, so clients ignore it")
				return
			}
			v.Check(media == "application/json" || media == eventStream, x.about(), "", text)
		}),
	},
	{
		ID: "http-12", Class: "must", In: "B-D", Side: "client", Transport: "http",
		Text:   "The Accept header of a GET lists text/event-stream.",
		Source: sourceStreams,
		Fix:    "Send Accept: text/event-stream.",
		New: streamable(func(x *Exchange, v *Verdict) {
			if x.Request.Method == "GET" {
				v.Check(x.accepts(eventStream), "Accept", "", fieldText(x.Request, "Accept"))
			}
		}),
	},
	{
		ID: "http-13", Class: "must", In: "B-D", Side: "server", Transport: "http",
		Text:   "A GET that accepts text/event-stream is answered with that type or with 405, unless it is refused for another reason.",
		Source: sourceStreams,
		Fix:    "Answer 405 when there is no stream to offer, not 404 or a page.",
		New: streamable(func(x *Exchange, v *Verdict) {
			if x.Request.Method != "GET" || !x.accepts(eventStream) || !x.byServer() {
				return
			}
			switch status := x.Response.Status; {
			case slices.Contains([]int{400, 401, 403, 406, 409, 429}, status), status >= 500, status/100 == 3,
				status == 404 && field(x.Request, sessionField) != nil:
				return
			default:
				media := mediaType(x.Response)
				v.Check(status == 405 || status/100 == 2 && media == eventStream, "GET", "", strings.TrimSpace(fmt.Sprintf("answered %d %s", status, media)))
			}
		}),
	},
	{
		ID: "http-27", Class: "must", In: "C-D", Side: "client", Transport: "http",
		Text:   "MCP-Protocol-Version is on every request after initialization; its value should be the negotiated one.",
		Source: "C-D:basic/transports#protocol-version-header; C-D:basic/lifecycle#version-negotiation",
		Fix:    "Send the negotiated version in the header, also on GET and DELETE.",
		New:    versionHeader,
	},
	{
		ID: "http-28", Class: "must", In: "C-E", Side: "server", Transport: "http",
		Text:   "An invalid MCP-Protocol-Version is answered with 400. Only values that are not a version at all are judged.",
		Source: "C-D:basic/transports#protocol-version-header; E:basic/transports/streamable-http#protocol-version-header",
		Fix:    "Check the header against the list of supported versions.",
		New: streamable(func(x *Exchange, v *Verdict) {
			values := field(x.Request, versionField)
			if len(values) != 1 || strings.Contains(values[0], ",") || versionForm.MatchString(values[0]) || !x.byServer() {
				return // see http-52
			}
			v.Check(x.Response.Status/100 != 2, versionField, "", fmt.Sprintf("%d to %q", x.Response.Status, values[0]))
		}),
	},
	{
		ID: "http-29", Class: "observation", In: "D-E", Side: "server", Transport: "http",
		Text:   "A server on a loopback address accepts a request with a foreign Origin.",
		Source: "A-D:basic/transports#security-warning; E:basic/transports/streamable-http",
		Fix:    "Allow only known origins; this stops DNS rebinding.",
		New: streamable(func(x *Exchange, v *Verdict) {
			origin, err := url.Parse(strings.Join(field(x.Request, "Origin"), ""))
			if err != nil || origin.Host == "" || isLoopback(origin) || !x.byServer() {
				return
			}
			if upstream := x.Session.upstream(v); upstream != nil && isLoopback(upstream) {
				v.Check(x.Response.Status/100 != 2, "Origin", "", fmt.Sprintf("%d to %s", x.Response.Status, origin))
			}
		}),
	},
	{
		ID: "http-30", Class: "must", In: "E", Side: "client", Transport: "http",
		Text:   "MCP-Protocol-Version is on the POST of every request and equals the version in _meta of the body.",
		Source: "E:basic/transports/streamable-http#protocol-version-header, #sending-messages",
		Fix:    "Set the header from the same value as _meta.",
		New: each(func(m *Message, v *Verdict) {
			if own := ownVersion(m); own != "" {
				m.compareField(v, versionField, own)
			}
		}, "request"),
	},
	{
		ID: "http-31", Class: "must", In: "E", Side: "client", Transport: "http",
		Text:   "Mcp-Method is on the POST of every request and equals method, case included.",
		Source: "E:basic/transports/streamable-http#standard-request-headers, #case-sensitivity",
		Fix:    "Copy method into the header.",
		New:    each(func(m *Message, v *Verdict) { m.compareField(v, "Mcp-Method", m.Method) }, "request"),
	},
	{
		ID: "http-32", Class: "must", In: "E", Side: "client", Transport: "http",
		Text:   "Mcp-Name is on tools/call and prompts/get, with params.name, and on resources/read, with params.uri, after =?base64?...?= is decoded.",
		Source: "E:basic/transports/streamable-http#standard-request-headers, #value-encoding",
		Fix:    "Copy the name or URI into the header.",
		New: each(func(m *Message, v *Verdict) {
			if name := m.named(); name != "" {
				m.compareField(v, "Mcp-Name", name)
			}
		}, "request tools/call", "request prompts/get", "request resources/read"),
	},
	{
		ID: "http-33", Class: "must", In: "E", Side: "client", Transport: "http",
		Text:   "Mcp-Name and Mcp-Param-* values with non-ASCII or control characters, and values that look like the marker itself, are sent as =?base64?...?= in lower case, with valid base64 of UTF-8.",
		Source: "E:basic/transports/streamable-http#value-encoding",
		Fix:    "Encode such values.",
		New: streamable(func(x *Exchange, v *Verdict) {
			left := maxParamFields
			for _, f := range x.Request.Header {
				if !isEncodedField(f[0]) {
					continue
				}
				if left--; left < 0 {
					return
				}
				if !fieldMasked(x.Request, f[0]) {
					_, ok := decodeField(f[1])
					v.Check(ok, f[0], "", f[1])
				}
			}
		}),
	},
	{
		ID: "http-34", Class: "must", In: "E", Side: "client", Transport: "http",
		Text:   "Mcp-Param-NAME is present for each argument that is not null and whose schema has x-mcp-header, absent otherwise, and equal in value.",
		Source: "E:basic/transports/streamable-http#custom-headers-from-tool-parameters, #client-behavior",
		Fix:    "Mirror the annotated arguments; list the tools again after -32020.",
		New:    each(paramFields, "request tools/call"),
	},
	{
		ID: "http-35", Class: "must", In: "E", Side: "server", Transport: "http",
		Text:   "A required header that is missing or contradicts the body is refused with 400 and -32020: the request does not get a 2xx answer.",
		Source: "E:basic/transports/streamable-http#server-validation, #protocol-version-header",
		Fix:    "Compare headers and body before dispatching.",
		New:    contradictionRefused,
	},
	{
		ID: "http-36", Class: "must", In: "E", Side: "server", Transport: "http",
		Text:   "An unknown method is answered with 404, and with -32601 in the body.",
		Source: "E:basic/transports/streamable-http#protocol-version-header",
		Fix:    "Send status 404 together with the JSON-RPC error.",
		New: each(func(m *Message, v *Verdict) {
			if status := m.Entry.Status(); m.ErrorCode == "-32601" && status != 0 && status != 101 {
				v.Check(status == 404, m.Subject(), "$.error.code", fmt.Sprintf("the status %d instead of 404", status))
			}
		}, "error"),
	},
	{
		ID: "http-37", Class: "should", In: "E", Side: "server", Transport: "http",
		Text:   "A server that supports no version before 2026-07-28 issues no session id.",
		Source: "E:basic/transports/streamable-http#earlier-streamable-http-revisions",
		Fix:    "Do not set Mcp-Session-Id.",
		New: func(s *Session) Hooks {
			only := false // whether server/discover lists only modern versions
			hooks := streamable(func(x *Exchange, v *Verdict) {
				if only && x.byServer() {
					v.Check(field(x.Response, sessionField) == nil, sessionField, "", "issued on "+x.about())
				}
			})(s)
			hooks.Watch = func(m *Message) {
				versions := m.Member("supportedVersions")
				if m.Request == nil || m.Request.Method != "server/discover" || !versions.IsArray() {
					return
				}
				only = true
				for _, version := range versions.Each {
					only = only && jsonrpc.EraOf(jsonrpc.Revision(version.Decoded())) == jsonrpc.Modern
				}
			}
			return hooks
		},
	},
	{
		ID: "http-39", Class: "observation", In: "E", Side: "client", Transport: "http",
		Text:   "notifications/cancelled is sent by POST; closing the response stream is the signal.",
		Source: "E:basic/patterns/cancellation#transport-specific-cancellation; E:basic/transports/streamable-http#cancellation",
		Fix:    "Close the stream instead.",
		New: each(func(m *Message, v *Verdict) {
			if m.Entry.Frame.Form == tap.FormBody {
				v.Check(m.Method != "notifications/cancelled", m.Method, "$", "sent by POST")
			}
		}, "notification"),
	},
	{
		ID: "http-40", Class: "must", In: "E", Side: "client", Transport: "http",
		Text:   "A request whose response stream broke is sent again under a new id.",
		Source: "E:changelog#major-changes; E:basic/index#requests",
		Fix:    "Use a new id for the retry.",
		New:    newIDAfterLoss,
	},
	{
		ID: "http-45", Class: "must", In: "B-E", Side: "client", Transport: "http",
		Text:   "There is no access token in the query of a request URI. Other names that look like keys are an observation.",
		Source: "B-D:basic/authorization#token-requirements; E:basic/authorization/index#token-requirements; RFC 6750 s2.3",
		Fix:    "Repeat the field Authorization in every request.",
		New: eachExchange(func(x *Exchange, v *Verdict) {
			if x.Request == nil || x.Session.Number == 0 {
				return
			}
			_, query, _ := strings.Cut(x.Request.Target, "?")
			for part := range strings.SplitSeq(query, "&") {
				name, _, _ := strings.Cut(part, "=")
				switch lower := strings.ToLower(name); {
				case lower == "access_token":
					v.Violate(name, "", "a token in the query")
					return
				case slices.Contains([]string{"api_key", "apikey", "api-key", "token", "auth_token", "key"}, lower):
					v.Observe(name, "", "may be a key in the query")
					return
				}
			}
			v.Hold()
		}),
	},
	{
		ID: "http-46", Class: "must", In: "B-E", Side: "client", Transport: "http",
		Text:   "Once a request with Authorization was accepted, every request of that client to the endpoint carries it.",
		Source: "B-D:basic/authorization#token-requirements; E:basic/authorization/index#token-requirements",
		Fix:    "Add the header to GET and DELETE as well.",
		New:    authorized,
	},
	{
		ID: "http-47", Class: "should", In: "C-E", Side: "server", Transport: "http",
		Text:   "A 401 names the metadata of the protected resource, in resource_metadata of WWW-Authenticate. From 2025-11-25 on, a well-known URI may be used instead.",
		Source: "C:basic/authorization#authorization-server-location; D:basic/authorization#protected-resource-metadata-discovery-requirements; E:basic/authorization/authorization-server-discovery#protected-resource-metadata-discovery-requirements",
		Fix:    "Send WWW-Authenticate: Bearer with resource_metadata.",
		New: refusals(func(x *Exchange, v *Verdict) {
			bearer, _ := x.challenge()
			switch {
			case x.Response.Status != 401 || bearer == nil: // see auth-01; another scheme is the server's choice
			case bearer["resource_metadata"] == "" && x.Revision != jsonrpc.Rev20250618:
				v.Skip("the server may have a well-known URI")
			default:
				v.Check(bearer["resource_metadata"] != "", "resource_metadata", "", "missing")
			}
		}),
	},
	{
		ID: "http-49", Class: "client-breaking", In: "A-E", Side: "both", Transport: "http",
		Text:   "A body or event that should hold a message is valid JSON: no NaN, comments, byte order mark or trailing text. The body that answers a request with 200 and application/json has a message.",
		Source: "A:basic/messages; B-E:basic/index#messages; RFC 8259",
		Fix:    "Serialize with a JSON library; map NaN and infinity to null. Put the result into a JSON-RPC response.",
		New:    bodyIsJSON,
	},
	{
		ID: "http-50", Class: "observation", In: "B-E", Side: "server", Transport: "http",
		Text:   "A POST is answered with a redirect that clients turn into a GET, losing the body.",
		Source: "WHATWG Fetch (HTTP-redirect fetch); RFC 9110 s15.4",
		Fix:    "Use the final URL, with or without its trailing slash, in the configuration of the client.",
		New: streamable(func(x *Exchange, v *Verdict) {
			if x.Request.Method == "POST" && x.carriesMessage() && x.answered(3) {
				v.Check(x.Response.Status > 303, "POST", "", fmt.Sprintf("answered %d, which becomes a GET", x.Response.Status))
			}
		}),
	},
	{
		ID: "http-52", Class: "observation", In: "C-E", Side: "client", Transport: "http",
		Text:   "MCP-Protocol-Version, the session id or an Mcp-* header is sent twice or as a list.",
		Source: "RFC 9110 s5.3",
		Fix:    "Set the header in one place; look for a proxy or wrapper that adds it again.",
		New: streamable(func(x *Exchange, v *Verdict) {
			seen := map[string]bool{}
			for _, f := range x.Request.Header {
				name := strings.ToLower(f[0])
				if !strings.HasPrefix(name, "mcp-") {
					continue
				}
				list := (name == "mcp-protocol-version" || name == "mcp-method") && strings.Contains(f[1], ",")
				v.Check(!seen[name] && !list, f[0], "", "twice, or a list: "+f[1])
				seen[name] = true
			}
		}),
	},
	{
		ID: "http-54", Class: "observation", In: "A-E", Side: "server", Transport: "http",
		Text:   "A server on another machine answers authorized requests over plain HTTP.",
		Source: "C-D:basic/authorization#communication-security; E:basic/authorization/security-considerations#communication-security; RFC 6750 s5.3",
		Fix:    "Serve HTTPS.",
		New: eachExchange(func(x *Exchange, v *Verdict) {
			if x.Session.Number == 0 || field(x.Request, "Authorization") == nil || !x.answered(2) {
				return
			}
			if upstream := x.Session.upstream(v); upstream != nil {
				v.Check(upstream.Scheme != "http" || isLoopback(upstream), upstream.Host, "", "plain HTTP: "+origin(upstream))
			}
		}),
	},
	{
		ID: "http-55", Class: "observation", In: "A-E", Side: "server", Transport: "http",
		Text:   "A POST with a request fails with a page or plain text, or with 5xx and no body, where clients look for JSON-RPC.",
		Source: "B-D:basic/transports#sending-messages-to-the-server",
		Fix:    "Answer with a JSON-RPC error, and check the proxy in front.",
		New: streamable(func(x *Exchange, v *Verdict) {
			if !x.carriesRequest() || !x.answered(4, 5) {
				return
			}
			status, media := x.Response.Status, mediaType(x.Response)
			if status == 401 || status == 403 || status == 429 || status == 404 && field(x.Request, sessionField) != nil {
				return
			}
			switch {
			case x.Has(tap.ToClient, jsonrpc.ErrorResponse):
				v.Hold()
			case strings.HasPrefix(media, "text/"):
				v.Violate(x.about(), "", fmt.Sprintf("answered %d %s", status, media))
			case status >= 500 && x.End != nil && x.Others == 0:
				v.Violate(x.about(), "", fmt.Sprintf("answered %d without a body", status))
			}
		}),
	},
	{
		ID: "http-56", Class: "observation", In: "A-E", Side: "both", Transport: "http",
		Text:   "A body is truncated: it ends before its Content-Length, or a chunked body has no last chunk.",
		Source: "RFC 9112 s8",
		Fix:    "Look at the side that closed first; check the timeouts and size limits of proxies.",
		New: eachExchange(func(x *Exchange, v *Verdict) {
			if x.End == nil {
				return
			}
			first, _, _ := strings.Cut(x.End.Error, ";")
			cut := x.End.By == "server" && strings.HasSuffix(first, "within the response") || x.End.By == "client" && strings.HasSuffix(first, "within the request")
			v.Check(!cut, x.End.By, "", first)
		}),
	},
}

// The names of header fields, and the type of event streams.
const (
	eventStream  = "text/event-stream"
	sessionField = "Mcp-Session-Id"
	versionField = "MCP-Protocol-Version"
)

// versionForm matches a protocol version.
var versionForm = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2}|DRAFT-.*)$`)

// maxStreams limits the streams, and maxEvents the events, that a rule remembers.
const (
	maxStreams = 1024
	maxEvents  = 8192
)

// streamable returns New for a rule about exchanges of Streamable HTTP whose request is known.
func streamable(judge func(x *Exchange, v *Verdict)) func(*Session) Hooks {
	return eachExchange(func(x *Exchange, v *Verdict) {
		if x.Session.Transport == "http" && x.Session.Number != 0 && x.isStreamable() {
			judge(x, v)
		}
	})
}

// isStreamable reports whether the head of the request is known and does not request another protocol.
func (x *Exchange) isStreamable() bool {
	return x.Request != nil && x.Request.Method != "" && field(x.Request, "Upgrade") == nil
}

// versionHeader judges http-27.
func versionHeader(s *Session) Hooks {
	since := uint64(0) // the frame of the response to initialize
	return streamable(func(x *Exchange, v *Verdict) {
		if x.carriesInitialize() {
			since = x.Heads[1]
		}
		if x.carriesInitialize() || s.Facts == nil || s.Facts.Revision == "" || x.Heads[0] < since {
			return
		}
		values := field(x.Request, versionField)
		switch {
		case len(values) == 0:
			v.Violate(versionField, "", "missing on "+x.Request.Method)
		case !strings.Contains(values[0], ",") && versionForm.MatchString(values[0]) && values[0] != string(s.Facts.Revision): // for others see http-52
			v.violate(Should, versionField+": "+values[0], "", fmt.Sprintf("%s instead of %s", values[0], s.Facts.Revision))
		default:
			v.Hold()
		}
	})(s)
}

// maxParamFields limits the Mcp-Param fields of a request that are judged, and maxParamDepth the
// depth of the arguments that they repeat.
const (
	maxParamFields = 64
	maxParamDepth  = 16
)

// annotated calls fn for each argument of a tool that a header field repeats.
func annotated(tool, arguments jsonrpc.Value, fn func(header string, argument jsonrpc.Value)) {
	left := maxParamFields // also limits how often arguments are searched
	var walk func(schema, arguments jsonrpc.Value, depth int)
	walk = func(schema, arguments jsonrpc.Value, depth int) {
		for name, property := range schema.Get("properties").Each {
			header := property.Get("x-mcp-header").Decoded()
			nested := property.Get("properties") != nil && depth < maxParamDepth
			if header == "" && !nested {
				continue
			}
			if left--; left < 0 {
				return
			}
			argument := arguments.Get(string(name))
			if header != "" {
				fn("Mcp-Param-"+header, argument)
			}
			if nested {
				walk(property, argument, depth+1)
			}
		}
	}
	walk(tool.Get("inputSchema"), arguments, 0)
}

// isNothing reports whether an argument is missing or null, and is not repeated in the header.
func isNothing(argument jsonrpc.Value) bool { return argument == nil || isNull(argument) }

// paramFault returns how a header field contradicts an argument that is not null, "" if it does
// not. It reports false if that cannot be judged.
func paramFault(head *tap.Event, header string, argument jsonrpc.Value) (fault string, ok bool) {
	values := field(head, header)
	switch {
	case len(values) == 0:
		return "missing", true
	case fieldMasked(head, header) || len(argument) > jsonrpc.MaxSubject:
		return "", false
	}
	got, ok := decodeField(values[0])
	text := string(argument)
	if argument.Class() == '"' {
		text = argument.Decoded()
	}
	order, numbers := compareNumbers(got, text)
	if !ok || got == text || argument.Class() == '0' && numbers && order == 0 { // not ok: see http-33
		return "", ok
	}
	return got + ", and the argument is " + text, true
}

// paramFields judges http-34.
func paramFields(m *Message, v *Verdict) {
	head := m.head()
	if head == nil {
		return
	}
	annotated(m.currentTool(v), m.Param("arguments"), func(header string, argument jsonrpc.Value) {
		if isNothing(argument) {
			v.Check(field(head, header) == nil, header, "", "present without the argument")
		} else if fault, ok := paramFault(head, header, argument); ok {
			v.Check(fault == "", header, "", fault)
		} else {
			v.Skip("the value is masked, long or not encoded correctly")
		}
	})
}

// contradictionRefused judges http-35.
func contradictionRefused(s *Session) Hooks {
	broken := bounded.Map[uint64, [2]string]{Max: maxStreams} // field and what is wrong with it, by exchange
	hooks := streamable(func(x *Exchange, v *Verdict) {
		what, ok := broken.Get(x.Number)
		if !ok || !x.byServer() {
			return
		}
		v.Check(x.Response.Status/100 != 2, what[0], "", fmt.Sprintf("%d although the header is %s", x.Response.Status, what[1]))
		broken.Delete(x.Number)
	})(s)
	hooks.Watch = func(m *Message) {
		head := m.head()
		if m.Kind != jsonrpc.Request || m.Revision != jsonrpc.Rev20260728 || head == nil || field(head, versionField) == nil {
			return
		}
		own := ownVersion(m)
		for _, f := range [][2]string{{versionField, own}, {"Mcp-Method", m.Method}, {"Mcp-Name", m.named()}} {
			if wrong := contradicts(head, f[0], f[1]); f[1] != "" && wrong != "" {
				broken.Put(m.Entry.Frame.Exchange, [2]string{f[0], strings.Clone(wrong)})
				return
			}
		}
		if m.Method != "tools/call" || s.toolsChanged {
			return
		}
		annotated(m.tool(), m.Param("arguments"), func(header string, argument jsonrpc.Value) {
			if fault, _ := paramFault(head, header, argument); fault != "" && !isNothing(argument) {
				broken.Put(m.Entry.Frame.Exchange, [2]string{header, fault})
			}
		})
	}
	return hooks
}

// newIDAfterLoss judges http-40.
func newIDAfterLoss(s *Session) Hooks {
	lost := bounded.Map[string, string]{Max: maxRequests} // ids by method and params
	key := func(method string, params jsonrpc.Value) string {
		name := params.Get("name").Decoded() + params.Get("uri").Decoded()
		return method + "\x00" + name + "\x00" + string(params.Get("arguments"))
	}
	return Hooks{
		Call: func(c *session.Call, _ *Verdict) {
			if r, ok := s.requests.Get(c.Ref); ok && c.Lost() && c.Lane == tap.ToServer && len(r.Params) < maxText*10 {
				lost.Put(key(c.Method, r.Params), string(c.ID))
			}
		},
		On: []string{"request"},
		Message: func(m *Message, v *Verdict) {
			if m.Path != "$" {
				return
			}
			if id, ok := lost.Get(key(m.Method, m.Parameters())); ok {
				v.CheckValue(id != string(m.ID), m.Subject(), "$.id", "the id of the lost request", m.ID)
			}
		},
	}
}

// answersInJSON reports whether the server answered a JSON-RPC request with 200 and a JSON body.
func (x *Exchange) answersInJSON() bool {
	return x.isStreamable() && x.carriesRequest() && x.byServer() && x.Response.Status == 200 && mediaType(x.Response) == "application/json"
}

// isNoMessage reports whether a value is an object without a member that would make it a message.
func isNoMessage(v jsonrpc.Value) bool {
	return v.IsObject() && len(v.Members("id", "method", "result", "error")) == 0
}

// authorized judges http-46.
func authorized(s *Session) Hooks {
	since := uint64(0)
	conns := bounded.Map[uint64, bool]{Max: maxStreams} // connections that have carried the header
	ids := bounded.Map[string, bool]{Max: 16}           // session ids
	return streamable(func(x *Exchange, v *Verdict) {
		id := strings.Clone(strings.Join(field(x.Request, sessionField), ""))
		if field(x.Request, "Authorization") != nil {
			if x.answered(2) {
				if conns.Put(x.Request.Conn, true); since == 0 {
					since = x.Heads[1]
				}
				if id != "" {
					ids.Put(id, true)
				}
			}
			v.Hold()
			return
		}
		if since == 0 || x.Heads[0] <= since {
			return
		}
		_, sameConn := conns.Get(x.Request.Conn)
		_, sameID := ids.Get(id)
		if !sameConn && !sameID {
			v.Skip("the request may be that of another client")
			return
		}
		v.Violate("Authorization", "", "missing on "+x.Request.Method)
	})(s)
}

// bodyIsJSON judges http-49. Truncated bodies are left to http-56.
func bodyIsJSON(s *Session) Hooks {
	cancelled := bounded.Map[uint64, bool]{Max: maxStreams} // exchanges
	exchange := func(x *Exchange, v *Verdict) {
		if !x.answersInJSON() || x.Others > 0 || x.End == nil || x.End.By != "server" || x.End.Error != "" || x.End.Coding != "" || x.HungUp != 0 {
			return
		}
		_, ok := cancelled.Get(x.Number)
		if !ok && !slices.ContainsFunc(x.Carried, func(c Carried) bool { return c.Lane == tap.ToClient }) {
			v.Violate(x.about(), "$", "the body is empty")
		}
	}
	return Hooks{Exchange: exchange, Frame: func(e *session.Entry, v *Verdict) {
		noteCancelled(s, e, &cancelled)
		form, x := e.Frame.Form, s.checker.exchangeOf(e)
		if e.Frame.Lane != tap.ToServer && e.Frame.Lane != tap.ToClient || form != tap.FormBody && form != tap.FormEvent {
			return
		}
		whole := !e.Frame.Truncated && e.Frame.Whole()
		answer := form == tap.FormBody && e.Frame.Lane == tap.ToClient && whole && x != nil && x.answersInJSON()
		text, subject, reason := jsonrpc.Value(bytes.TrimSpace(e.Frame.Raw)), e.Exchange.Method, e.Message.Reason
		switch {
		case answer && (e.Message.Kind == jsonrpc.Other || isNoMessage(text)) && jsonrpc.Valid(text, jsonrpc.MaxDepth):
			v.Violate(x.about(), "$", "not a message: "+string(text))
			return
		case e.Message.Kind != jsonrpc.Other:
		case !answer || field(x.Response, "Content-Encoding") != nil: // the body may not have been decoded
			return
		default:
			subject, reason = x.about(), jsonrpc.Peek(text).Reason
		}
		switch {
		case e.Frame.Truncated || e.Message.Unread:
			v.Skip("the frame is truncated or too large to be read")
		case strings.HasPrefix(reason, "not JSON: ends"):
			v.Skip("the text is cut off")
		case strings.HasPrefix(reason, "not JSON"), strings.Contains(reason, "byte order mark"), reason == "blank":
			v.Violate(subject, "$", reason)
		default:
			v.Hold()
		}
	}}
}
