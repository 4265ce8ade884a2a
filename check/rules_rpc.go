package check

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// rulesRPC are about JSON-RPC messages: ids, responses and errors.
var rulesRPC = []Rule{
	{
		ID: "rpc-01", Class: "client-breaking", In: "A-E", Side: "both", Transport: "any",
		Text:   `Every message (in 2025-03-26 every member of a batch) is a JSON object whose jsonrpc is exactly the string "2.0".`,
		Source: "A:basic/messages; B-E:basic/index#messages; JSON-RPC 2.0 s4, s5",
		Fix:    `Put "jsonrpc":"2.0" (a string) into every message.`,
		New: each(func(m *Message, v *Verdict) {
			text := m.Envelope
			if isEmptyBatch(m) && m.Revision == "" { // otherwise rpc-17 and rpc-19
				v.Violate("", "$", "an empty batch: []")
				return
			}
			if !text.IsObject() {
				return // an embedded request, or not a message at all: see stdio-01 and http-49
			}
			if m.Kind == jsonrpc.Invalid && (len(text.Members("id", "method", "result", "error")) == 0 || !jsonrpc.Valid(text, jsonrpc.MaxDepth)) {
				return // likewise
			}
			got := text.Get("jsonrpc")
			v.Check(got.Decoded() == "2.0", "", "$.jsonrpc", describe(got))
		}, "message", "invalid"),
	},
	{
		ID: "rpc-02", Class: "must@B-E observation@A", In: "A-E", Side: "both", Transport: "any",
		Text:   "The bytes of a message are valid UTF-8.",
		Source: "B-D:basic/transports; E:basic/transports/index#messages; RFC 8259 s8.1; observed: SDKs silently replace the bad byte",
		Fix:    "Encode output as UTF-8; check console code pages and byte strings that are cut in the middle of a character.",
		New: each(func(m *Message, v *Verdict) {
			if text := m.Envelope; text != nil {
				i := notUTF8(text)
				if i < 0 {
					v.Hold()
					return
				}
				v.Violate(m.Subject(), "$", fmt.Sprintf("not UTF-8: 0x%02X after %q", text[i], text[max(0, i-20):i]))
			}
		}, "message"),
	},
	{
		ID: "rpc-03", Class: "client-breaking", In: "A-E", Side: "both", Transport: "any",
		Text:   "A request has an id, which is a string or an integer: no fraction, boolean, object or array. A message with the method of a request counts as one.",
		Source: "A:basic/messages#requests; B-E:basic/index#requests; schema RequestId; observed: servers do not answer an id of 1.5",
		Fix:    "Use an integer counter or a string as the request id.",
		New: each(func(m *Message, v *Verdict) {
			id := m.Top("id")
			switch {
			case m.Kind == jsonrpc.Notification:
				known, _ := jsonrpc.LookupMethod(m.Method)
				if m.Path == "$" && known.Kind == jsonrpc.Request && known.In(m.Revision) {
					v.Violate(m.Method, "$.id", "missing")
				}
			case isMethodOfNotification(m) || m.Method == "" || id == nil || id.Class() == 'n': // rpc-11, rpc-04
			default:
				v.CheckValue(id.Class() == '"' || isInteger(id), m.Method, "$.id", "neither a string nor an integer", id)
			}
		}, "request", "notification", "invalid"),
	},
	{
		ID: "rpc-04", Class: "client-breaking", In: "A-E", Side: "both", Transport: "any",
		Text:   "The id of a request is never null. A message with a method and a null id is neither a request nor a notification.",
		Source: "A:basic/messages#requests; B-E:basic/index#requests; observed: servers do not answer it",
		Fix:    "Give the request an id, or leave id out altogether to send a notification.",
		New: each(func(m *Message, v *Verdict) {
			id := m.Top("id")
			if m.Method != "" && id != nil && !isMethodOfNotification(m) { // else rpc-11
				v.Check(id.Class() != 'n', m.Method, "$.id", "null")
			}
		}, "request", "invalid"),
	},
	{
		ID: "rpc-05", Class: "must", In: "A-D", Side: "both", Transport: "any",
		Text: "A sender never uses the id of a request twice within one session. The two directions count separately, and 1 and \"1\" differ. " +
			"A message that is sent again because the server refused it by an HTTP error, or never got it, is exempt.",
		Source: "A:basic/messages#requests; B-D:basic/index#requests",
		Fix:    "Use one id counter per session and never reset it on reconnect.",
		New:    idsUsedOnce,
	},
	{
		ID: "rpc-06", Class: "must", In: "E", Side: "client", Transport: "any",
		Text:   "The id of a request differs from that of each request of the client that still waits for its response.",
		Source: "E:basic/index#requests",
		Fix:    "Use one id counter; release an id only after its response.",
		New: func(s *Session) Hooks {
			var given cancelledIDs
			return Hooks{Watch: given.watch, On: []string{"request"}, Message: func(m *Message, v *Verdict) {
				if m.Path != "$" {
					return
				}
				switch cancelled := given.take(m); {
				case m.Part.Clash == session.Ref{} || cancelled:
					v.Hold()
				case s.Transport != "stdio":
					v.Skip("several clients may share the session")
				default:
					v.Violate("", "$.id", "that of a request that is still open: "+string(m.ID))
				}
			}}
		},
	},
	{
		ID: "rpc-07", Class: "client-breaking", In: "A-E", Side: "both", Transport: "any",
		Text:   "A response carries the id, with the same value and JSON type, of a request that the other side sent and that is still open.",
		Source: "A:basic/messages#responses; B-E:basic/index#responses",
		Fix:    "Copy the id from the request as it is; do not turn it into a string or a float. Do not answer notifications.",
		New: each(func(m *Message, v *Verdict) {
			switch m.Part.Role {
			case session.RoleOrphan:
				if !m.Session.Start || m.Session.Gap {
					v.Skip("requests from before the recording are not known")
					return
				}
				if noID := m.ID == nil || string(m.ID) == "null"; noID && m.Kind == jsonrpc.ErrorResponse {
					return // rpc-16
				}
				v.Violate("", "$.id", "no open request has this id: "+describe(m.ID))
			case session.RoleResponse, session.RoleInterim, session.RoleLate:
				v.Hold()
			}
		}, "result", "error"),
	},
	{
		ID: "rpc-08", Class: "client-breaking", In: "A-E", Side: "both", Transport: "any",
		Text:   "A response has exactly one of result and error; the other is absent, not null.",
		Source: "A:basic/messages#responses; B-C:basic/index#responses; D-E: JSON-RPC 2.0 s5, schema JSONRPCResultResponse/JSONRPCErrorResponse; observed: TypeScript SDK drops a response with both, even with a null error",
		Fix:    "Leave the unused member out; tell the serializer to skip nulls.",
		New: each(func(m *Message, v *Verdict) {
			result, err := m.Top("result"), m.Top("error")
			switch {
			case hasNoOutcome(m):
				v.Violate(m.Subject(), "$.result", "the response has neither result nor error")
			case m.Kind == jsonrpc.Invalid || m.Path != "$":
			case result != nil && err != nil && result.Class() == 'n':
				v.Violate(m.Subject(), "$.result", "the response has both result and error, the result is null")
			case result != nil && err != nil:
				v.Violate(m.Subject(), "$.error", "the response has both result and error: "+string(err))
			default:
				v.Hold()
			}
		}, "result", "error", "invalid"),
	},
	{
		ID: "rpc-09", Class: "client-breaking", In: "A-E", Side: "both", Transport: "any",
		Text:   "error is an object with an integer code and a string message.",
		Source: "A:basic/messages#responses; B-C:basic/index#responses; D-E:basic/index#error-responses; schema Error; observed: TypeScript SDK drops the response, Go SDK closes the connection on a code that is not an integer",
		Fix:    "Send an integer code and a text; put application codes such as E1 into data.",
		New: each(func(m *Message, v *Verdict) {
			found := m.Problem().Members("code", "message")
			switch code := found["code"]; {
			case !m.Problem().IsObject():
				v.Violate(m.Subject(), "$.error", string(m.Error))
			case !isInteger(code):
				v.Violate(m.Subject(), "$.error.code", describe(code))
			default:
				v.Check(found["message"].Class() == '"', m.Subject(), "$.error.message", describe(found["message"]))
			}
		}, "error"),
	},
	{
		ID: "rpc-10", Class: "client-breaking", In: "A-E", Side: "both", Transport: "any",
		Text:   "result is a JSON object, not an array, a scalar or null.",
		Source: "A:basic/index#protocol-layers; B-C:basic/index#responses; D-E:basic/index#result-responses; schema Result",
		Fix:    "Wrap the value in the result object of the method; an empty result is {}.",
		New: each(func(m *Message, v *Verdict) {
			if m.Path == "$" { // else mrtr-07
				v.CheckValue(m.Outcome().IsObject(), m.Subject(), "$.result", "not an object", m.Outcome())
			}
		}, "result"),
	},
	{
		ID: "rpc-11", Class: "must", In: "A-E", Side: "both", Transport: "any",
		Text:   "A notification carries no id.",
		Source: "A:basic/messages#notifications; B-E:basic/index#notifications",
		Fix:    "Send notifications with the notification call of the SDK, without an id.",
		New: each(func(m *Message, v *Verdict) {
			if isMethodOfNotification(m) {
				id := m.Top("id")
				v.CheckValue(id == nil, m.Method, "$.id", "a notification with an id", id)
			}
		}, "notification", "request", "invalid"),
	},
	{
		ID: "rpc-12", Class: "must", In: "A-E", Side: "both", Transport: "http",
		Text:   "Nothing is sent in reply to a notification: a POST of notifications that is accepted gets no JSON-RPC body.",
		Source: "B-E:basic/index#notifications; A: JSON-RPC 2.0 s4.1",
		Fix:    "Return nothing from notification handlers.",
		New: eachExchange(func(x *Exchange, v *Verdict) {
			if !x.Has(tap.ToServer, jsonrpc.Notification) || x.Has(tap.ToServer, jsonrpc.Request, jsonrpc.Response, jsonrpc.ErrorResponse, jsonrpc.Invalid) ||
				x.Response == nil || x.Response.Status >= 300 || x.Response.Status < 200 {
				return
			}
			for _, c := range x.Carried {
				if c.Lane == tap.ToServer {
					v.frame = c.Frame
				} else if c.Role == session.RoleOrphan {
					v.frame = c.Frame
					v.Violate(x.Carried[0].Method, "", "a reply to a notification: "+c.Kind.String())
					return
				}
			}
			v.Hold()
		}),
	},
	{
		ID: "rpc-13", Class: "must", In: "A-E", Side: "both", Transport: "any",
		Text:   "A request gets at most one response. An event that is delivered again on a stream that was resumed is exempt.",
		Source: "JSON-RPC 2.0 s5; B-D:basic/transports#resumability-and-redelivery",
		Fix:    "Send the response in one place only; a timeout handler and a worker must not both answer.",
		New: each(func(m *Message, v *Verdict) {
			switch m.Part.Role {
			case session.RoleRepeat:
				if m.Entry.Exchange.Method == "GET" {
					v.Skip("it may be an event that is delivered again")
					return
				}
				v.Violate(m.Part.Method, "$.id", "a second response: "+string(m.ID))
			case session.RoleResponse, session.RoleInterim:
				v.Hold()
			}
		}, "result", "error"),
	},
	{
		ID: "rpc-14", Class: "observation", In: "A-E", Side: "both", Transport: "stdio",
		Text:   "A request has no response although the client ended the session cleanly and did not cancel the request.",
		Source: "JSON-RPC 2.0 s5",
		Fix:    "Make sure every code path of the handler answers, especially after exceptions.",
		New:    answeredAtEnd(true), // the other case is stdio-12
	},
	{
		ID: "rpc-15", Class: "client-breaking", In: "A-E", Side: "both", Transport: "any",
		Text:   "params, if present, is an object, not an array or null.",
		Source: "schema JSONRPCRequest/JSONRPCNotification; observed: servers do not answer a request with null or [], clients drop a notification with null",
		Fix:    "Send {} or leave params out.",
		New: each(func(m *Message, v *Verdict) {
			if m.Path == "$" && m.Params != nil {
				v.CheckValue(m.Parameters().IsObject(), m.Method, "$.params", "not an object", m.Parameters())
			}
		}, "request", "notification"),
	},
	{
		ID: "rpc-16", Class: "observation", In: "A-E", Side: "both", Transport: "any",
		Text:   "An error response has no id, or a null id. A missing id is legal in 2025-11-25 and later if the request could not be read, and from 2025-03-26 in the body of an HTTP refusal.",
		Source: "D-E:basic/index#error-responses; B-D:basic/transports#sending-messages-to-the-server; schema JSONRPCError/JSONRPCErrorResponse; observed: TypeScript SDK cannot match it and the call times out, Go SDK closes the connection",
		Fix:    "Answer with the id of the request whenever it could be read, and do not answer notifications.",
		New: func(*Session) Hooks {
			var unread [tap.Lanes]bool // whether the last message of a lane could not be read
			watch := func(m *Message) { unread[m.Lane] = m.Kind == jsonrpc.Invalid }
			return Hooks{Watch: watch, On: []string{"error"}, Message: func(m *Message, v *Verdict) {
				switch id := m.Top("id"); {
				case id == nil && m.Entry.Status() >= 400 && m.Revision != jsonrpc.Rev20241105,
					id == nil && unread[other(m.Lane)] && m.Revision >= jsonrpc.Rev20251125:
					v.Hold()
				default:
					v.Check(id != nil && id.Class() != 'n', "", "$.id", describe(id))
				}
			}}
		},
	},
	{
		ID: "rpc-17", Class: "client-breaking@C-E observation@A", In: "A,C-E", Side: "both", Transport: "any",
		Text:   "No message is a JSON array (a batch).",
		Source: "C:changelog#major-changes 1; C-D:basic/transports#stdio, #sending-messages-to-the-server; E:basic/transports/stdio, E:basic/transports/streamable-http#sending-messages; schema JSONRPCMessage; observed: TypeScript SDK drops it",
		Fix:    "Send messages one by one.",
		New: each(func(m *Message, v *Verdict) {
			switch {
			case m.Kind == jsonrpc.Batch, isEmptyBatch(m):
				v.Violate("", "$", "a batch: "+string(m.Envelope))
			case m.Entry.Message.Kind != jsonrpc.Batch && m.Kind != jsonrpc.Invalid:
				v.Hold()
			}
		}, "batch", "invalid", "message"),
	},
	{
		ID: "rpc-18", Class: "must", In: "B", Side: "client", Transport: "any",
		Text:   "initialize is not part of a batch.",
		Source: "B:basic/lifecycle#initialization",
		Fix:    "Send initialize as a single message.",
		New: each(func(m *Message, v *Verdict) {
			v.Check(m.Entry.Message.Kind != jsonrpc.Batch, "", "$[*].method", "initialize in a batch")
		}, "request initialize"),
	},
	{
		ID: "rpc-19", Class: "must", In: "B", Side: "both", Transport: "any",
		Text:   "A batch is not empty, and it holds either only requests and notifications or only responses.",
		Source: "B:basic/transports#stdio, #sending-messages-to-the-server; schema JSONRPCBatchRequest/JSONRPCBatchResponse; JSON-RPC 2.0 s6",
		Fix:    "Split mixed batches; send nothing instead of [].",
		New: each(func(m *Message, v *Verdict) {
			if isEmptyBatch(m) {
				v.Violate("", "$", "an empty batch: []")
			}
			if m.Kind != jsonrpc.Batch {
				return
			}
			var calls, outcomes bool
			for i := range m.Batch {
				k := m.Batch[i].Kind
				calls = calls || k == jsonrpc.Request || k == jsonrpc.Notification
				outcomes = outcomes || k == jsonrpc.Response || k == jsonrpc.ErrorResponse
			}
			v.CheckValue(!calls || !outcomes, "", "$", "requests and responses in one batch", m.Envelope)
		}, "batch", "invalid"),
	},
	{
		ID: "rpc-20", Class: "observation", In: "A-E", Side: "both", Transport: "any",
		Text:   "An object has two members with the same name; parsers keep different ones.",
		Source: "RFC 8259 s4; E:basic/patterns/mrtr#server-requirements-basic-workflow",
		Fix:    "Build messages with a JSON library instead of string concatenation.",
		New: func(*Session) Hooks {
			w := &walk{}
			return Hooks{On: []string{"message"}, Message: func(m *Message, v *Verdict) {
				text := m.Envelope
				if text == nil {
					return
				}
				w.twice = func(name []byte) { v.Violate(m.Subject(), w.path(), "two members with this name: "+string(name)) }
				v.clean(func() { w.value(text) })
			}}
		},
	},
	{
		ID: "rpc-21", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "An error code from -32099 to -32020 is one of -32020, -32021 and -32022.",
		Source: "E:basic/index#error-codes",
		Fix:    "Use -32602 or -32603, or an application code outside -32768 to -32000.",
		New: eachModernError(func(code int, m *Message, v *Verdict) {
			if code != -32042 { // rpc-22
				v.Check(!isReserved(code), m.Subject(), "$.error.code", "a reserved code: "+m.ErrorCode)
			}
		}),
	},
	{
		ID: "rpc-22", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "The codes -32002 and -32042 are not emitted.",
		Source: "E:basic/index#error-codes",
		Fix:    "Answer a missing resource with -32602; ask for URL elicitation with an input_required result.",
		New: eachModernError(func(code int, m *Message, v *Verdict) {
			v.Check(code != -32002 && code != -32042, m.Subject(), "$.error.code", "a code of older revisions: "+m.ErrorCode)
		}),
	},
	{
		ID: "rpc-23", Class: "observation", In: "E", Side: "both", Transport: "any",
		Text:   "A new implementation does not use the codes -32019 to -32000.",
		Source: "E:basic/index#error-codes",
		Fix:    "Move private codes outside -32768 to -32000.",
		New: eachModernError(func(code int, m *Message, v *Verdict) {
			if code != -32002 { // rpc-22
				v.Check(code < -32019 || code > -32000, m.Subject(), "$.error.code", "a reserved code: "+m.ErrorCode)
			}
		}),
	},
	{
		ID: "rpc-24", Class: "observation", In: "A-E", Side: "both", Transport: "any",
		Text:   "A method is unknown to the revision in force and to every negotiated extension, or is sent in a direction that the revision does not list.",
		Source: "schema ClientRequest, ClientNotification, ServerRequest, ServerNotification",
		Fix:    "Check the spelling and the direction; declare private methods as an experimental capability or an extension.",
		New:    each(methodIsKnown, "request", "notification"),
	},
	{
		ID: "rpc-25", Class: "must", In: "C-E", Side: "both", Transport: "any",
		Text: "A key of _meta has an optional prefix of labels with dots between and one slash, and a name. A label begins with a letter, ends with a letter or digit and has hyphens only inside; " +
			"the name is empty or begins and ends with a letter or digit, with - _ . inside.",
		Source: "C-E:basic/index#_meta; schema MetaObject",
		Fix:    "Rename the key, for example to com.example/my-key.",
		New: eachMetaKey(func(_, path, key string, _ jsonrpc.Value, _ *Message, v *Verdict) {
			v.Check(validMetaKey(key), key, path, "not a valid key")
		}),
	},
	{
		ID: "rpc-26", Class: "observation", In: "C-E", Side: "both", Transport: "any",
		Text:   "A key uses a prefix of _meta that is reserved for MCP, but no schema or known extension defines it.",
		Source: "C-E:basic/index#_meta",
		Fix:    "Use a prefix from your own domain.",
		New: eachMetaKey(func(_, path, key string, _ jsonrpc.Value, m *Message, v *Verdict) {
			name, ours := strings.CutPrefix(key, jsonrpc.MetaPrefix)
			v.Check(!reservedPrefix(key, m.Revision) || ours && slices.Contains(knownMeta, name), key, path, "a reserved prefix")
		}),
	},
	{
		ID: "rpc-27", Class: "must", In: "E", Side: "both", Transport: "any",
		Text:   "traceparent, tracestate and baggage in _meta have the formats of W3C Trace Context and W3C Baggage.",
		Source: "E:basic/index#_meta (OpenTelemetry trace context); W3C Trace Context s3.2",
		Fix:    "Fill the value from the OpenTelemetry propagator instead of building it by hand.",
		New: eachMetaKey(func(_, path, key string, value jsonrpc.Value, _ *Message, v *Verdict) {
			switch key {
			case "traceparent", "tracestate", "baggage":
				if isMasked(value) {
					v.Skip("the value is masked")
					return
				}
				v.CheckValue(validTrace(key, value), key, path+"."+key, "not in the format of W3C", value)
			}
		}),
	},
	{
		ID: "rpc-28", Class: "client-breaking", In: "A-E", Side: "both", Transport: "any",
		Text:   "_meta, wherever it appears, is an object.",
		Source: "schema Result, Request, Notification; observed: TypeScript SDK drops a response with a null _meta, servers do not answer such a request",
		Fix:    "Leave an empty _meta out.",
		New: each(func(m *Message, v *Verdict) {
			for _, meta := range m.allMetas() {
				v.CheckValue(meta.IsObject(), meta.subject, meta.path, "not an object", meta.Value)
			}
		}, "request", "notification", "result"),
	},
	{
		ID: "rpc-29", Class: "client-breaking", In: "A-E", Side: "both", Transport: "any",
		Text:   "A message has no member besides jsonrpc, id, method, params, result and error. The schemas allow others, but SDKs drop such a message.",
		Source: "observed: TypeScript SDK drops it, Go SDK accepts it",
		Fix:    "Move the extra data into _meta.",
		New: each(func(m *Message, v *Verdict) {
			more := maxExtra
			text := m.Envelope
			if !text.IsObject() {
				return // embedded, or stdio-10
			}
			for name, value := range text.Each {
				switch string(name) {
				case "jsonrpc", "id", "method", "params", "result", "error":
				default:
					if more--; more < 0 {
						return
					}
					v.Violate(string(name), "$", "an extra member: "+string(value))
				}
			}
			if more == maxExtra {
				v.Hold()
			}
		}, "message"),
	},
	{
		ID: "rpc-30", Class: "observation", In: "A-E", Side: "both", Transport: "any",
		Text:   "A number is an integer outside -(2^53-1) to 2^53-1; JavaScript peers change it.",
		Source: "RFC 8259 s6",
		Fix:    "Send large integers as strings.",
		New: each(func(m *Message, v *Verdict) {
			text := m.Envelope
			if text == nil {
				return
			}
			more := maxExtra
			if hasLongNumber(text) {
				w := &walk{}
				w.number = func(x jsonrpc.Value) {
					if isUnsafe(x) && more > 0 {
						more--
						v.Violate(m.Subject(), w.path(), "not exact in JavaScript: "+string(x))
					}
				}
				w.value(text)
			}
			if more == maxExtra {
				v.Hold()
			}
		}, "message"),
	},
	{
		ID: "rpc-31", Class: "observation", In: "A-E", Side: "both", Transport: "any",
		Text:   "A string contains an escaped lone surrogate: it is not valid Unicode, and parsers replace it or fail.",
		Source: "RFC 8259 s8.2",
		Fix:    "Cut texts at code point boundaries.",
		New: each(func(m *Message, v *Verdict) {
			if text := m.Envelope; text != nil {
				half := loneSurrogate(text)
				v.Check(half == "", m.Subject(), "$", "a lone surrogate: "+half)
			}
		}, "message"),
	},
	{
		ID: "rpc-32", Class: "observation", In: "A-E", Side: "both", Transport: "any",
		Text:   "An unknown method is answered with -32601. Requests before the initialization and HTTP refusals are exempt.",
		Source: "JSON-RPC 2.0 s5.1; exemption E:basic/transports/stdio#backward-compatibility",
		Fix:    "Let the default case of the dispatcher answer -32601.",
		New: func(s *Session) Hooks {
			initialized := false
			watch := func(m *Message) {
				initialized = initialized || m.Kind == jsonrpc.Response && (m.Part.Method == "initialize" || isModern(s))
			}
			return Hooks{Watch: watch, On: []string{"error"}, Message: func(m *Message, v *Verdict) {
				if m.Request == nil || m.Entry.Status() >= 400 && m.ErrorCode != "-32601" {
					return
				}
				if _, known := jsonrpc.LookupMethod(m.Request.Method); known {
					return
				}
				if s.Start && !initialized {
					v.Skip("it came before the initialization")
					return
				}
				v.Check(m.ErrorCode == "-32601", m.Request.Method, "$.error.code", m.ErrorCode+" instead of -32601")
			}}
		},
	},
	{
		ID: "rpc-33", Class: "observation", In: "A-E", Side: "both", Transport: "any",
		Text:   "A message is larger than common limits: 4 MiB for the body of a POST (TypeScript SDK), 10 MiB for a line (TypeScript SDK).",
		Source: "observed: TypeScript SDK answers 413, or ends the connection; Go SDK takes lines of 16 MiB",
		Fix:    "Page the list, or return a resource link instead of the data.",
		New: eachFrame(func(e *session.Entry, v *Verdict) {
			limit := 10 << 20
			switch {
			case len(e.Parts) == 0:
				return
			case e.Frame.Form == tap.FormBody && e.Frame.Lane == tap.ToServer:
				limit = 4 << 20
			case e.Frame.Form != tap.FormLine:
				return
			}
			size := max(e.Frame.Size, int64(len(e.Frame.Raw)))
			if size <= int64(limit) {
				v.Hold()
				return
			}
			v.Observe(e.Parts[0].Method, "", fmt.Sprintf("%d bytes", size))
		}),
	},
}

// describe returns a value as written, or "missing".
func describe(v jsonrpc.Value) string {
	if v == nil {
		return "missing"
	}
	return string(v)
}

// maxExtra limits the members or values of a message that are reported.
const maxExtra = 8

// isMethodOfNotification reports whether the method of a message belongs to a known notification.
func isMethodOfNotification(m *Message) bool {
	known, ok := jsonrpc.LookupMethod(m.Method)
	return ok && known.Kind == jsonrpc.Notification && strings.HasPrefix(m.Method, "notifications/")
}

// isEmptyBatch reports whether an invalid message is [].
func isEmptyBatch(m *Message) bool { return m.Kind == jsonrpc.Invalid && m.Reason == "empty batch" }

// hasNoOutcome reports whether an invalid message of the server is a response without result or
// error.
func hasNoOutcome(m *Message) bool {
	if m.Kind != jsonrpc.Invalid || m.Lane != tap.ToClient {
		return false
	}
	found := m.Envelope.Members("id", "method", "result", "error")
	return len(found) == 1 && (found["id"].Class() == '"' || found["id"].Class() == '0')
}

// idsUsedOnce judges rpc-05.
func idsUsedOnce(s *Session) Hooks {
	type use struct {
		content  [sha256.Size]byte
		answered bool
	}
	var used [tap.Lanes]bounded.Map[string, use]
	var given cancelledIDs
	watch := func(m *Message) {
		given.watch(m)
		switch {
		case m.Kind == jsonrpc.Request && m.Method == "initialize": // another session
			used = [tap.Lanes]bounded.Map[string, use]{}
		case m.Request != nil && m.Entry.Status() < 400 && s.Transport != "stdio":
			if u := used[m.Request.Lane].At(keyOf(m.Request.ID)); u != nil {
				u.answered = true
			}
		}
	}
	return Hooks{Watch: watch, On: []string{"request"}, Message: func(m *Message, v *Verdict) {
		if len(m.ID) == 0 || m.Part.Role == session.RoleReplay {
			return
		}
		var content [sha256.Size]byte
		if s.Transport != "stdio" {
			content = sha256.Sum256(append([]byte(m.Method+"\x00"), m.Params...))
		}
		ids, key := &used[m.Lane], keyOf(m.ID)
		ids.Max = maxRequests
		old, again := ids.Get(key)
		ids.Put(key, use{content: content})
		x := m.exchange()
		cancelled := given.take(m)
		switch {
		case !again && s.Transport == "stdio" && m.Part.Clash != session.Ref{} && !cancelled:
			v.Violate("", "$.id", "that of a request that is open since before the initialize: "+string(m.ID))
		case !again:
			v.Hold()
		case s.Transport != "stdio" && !old.answered && old.content == content:
			v.Skip("the request may have been sent again")
		case s.Transport == "http" && (x == nil || len(field(x.Request, sessionField)) == 0):
			v.Skip("the session of the request is not known")
		default:
			v.Violate("", "$.id", "used for an earlier request: "+string(m.ID))
		}
	}}
}

// cancelledIDs holds the ids of requests that their senders cancelled.
type cancelledIDs [tap.Lanes]bounded.Map[string, bool]

func (g *cancelledIDs) watch(m *Message) {
	if m.Method == "notifications/cancelled" {
		g[m.Lane].Max = maxRequests
		g[m.Lane].Put(keyOf(m.Param("requestId")), true)
	}
}

// take reports whether a request with the id of m was cancelled, and forgets it.
func (g *cancelledIDs) take(m *Message) bool {
	key := keyOf(m.ID)
	_, cancelled := g[m.Lane].Get(key)
	g[m.Lane].Delete(key)
	return cancelled
}

// eachModernError returns New for a rule about error codes in 2026-07-28. Older servers may
// answer a request of that revision with any code.
func eachModernError(judge func(code int, m *Message, v *Verdict)) func(*Session) Hooks {
	return each(func(m *Message, v *Verdict) {
		code, err := strconv.Atoi(m.ErrorCode)
		switch {
		case err != nil: // rpc-09
		case !isModern(m.Session):
			v.Skip("the server has not shown that it implements the revision")
		default:
			judge(code, m, v)
		}
	}, "error")
}

// isReserved reports whether 2026-07-28 reserves an error code without defining it.
func isReserved(code int) bool { return code >= -32099 && code < -32022 }

// eachMetaKey returns New for a rule about the keys of _meta.
func eachMetaKey(judge func(subject, path, key string, value jsonrpc.Value, m *Message, v *Verdict)) func(*Session) Hooks {
	return each(func(m *Message, v *Verdict) {
		for _, meta := range m.allMetas() {
			if !meta.IsObject() {
				continue // rpc-28
			}
			for key, value := range meta.Each {
				judge(meta.subject, meta.path, string(key), value, m, v)
			}
		}
	}, "request", "notification", "result")
}

// methodIsKnown judges rpc-24.
func methodIsKnown(m *Message, v *Verdict) {
	known, ok := jsonrpc.LookupMethod(m.Method)
	modern := m.Revision == jsonrpc.Rev20260728
	senders := known.Client
	if m.Lane == tap.ToClient {
		senders = known.Server
	}
	switch {
	case m.Path != "$": // mrtr-03
	case m.Revision == "":
		v.Skip("the revision is not known")
	case senders.Has(m.Revision), modern && senders.Has(jsonrpc.ExtTasks):
		v.Hold()
	case modern && m.Kind == jsonrpc.Request && m.Lane == tap.ToClient: // stdio-07, http-11
	case isNewer(m.Method, m.Revision): // init-13
	case modern && isRemoved(m.Method, m.Lane): // init-12
	case ok && known.In(m.Revision):
		v.Violate(m.Method, "$.method", "not a method in this direction, "+m.Lane.String())
	case m.Session.Client == nil || m.Session.Server == nil:
		v.Skip("the capabilities are not known")
	case hasPrivate(m.Session.Client) || hasPrivate(m.Session.Server):
		v.Skip("the method may belong to an extension")
	default:
		v.Violate(m.Method, "$.method", "an unknown method")
	}
}

// hasPrivate reports whether capabilities declare experimental features or extensions.
func hasPrivate(capabilities jsonrpc.Value) bool {
	return !isEmpty(capabilities.Get("experimental")) || !isEmpty(capabilities.Get("extensions"))
}
