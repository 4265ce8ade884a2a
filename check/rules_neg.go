package check

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// rulesNegotiation are about the negotiation of 2026-07-28.
var rulesNegotiation = []Rule{
	{
		ID: "neg-01", Class: "must", In: "E", Side: "client", Transport: "any",
		Text:   "Every request has io.modelcontextprotocol/protocolVersion, a string, in its _meta.",
		Source: "E:basic/index#_meta",
		Fix:    "Put the version into _meta of every request.",
		New:    eachModernRequest(func(m *Message, v *Verdict) { checkMeta(m, v, "protocolVersion", '"') }),
	},
	{
		ID: "neg-02", Class: "must", In: "E", Side: "client", Transport: "any",
		Text:   "Every request has io.modelcontextprotocol/clientCapabilities, an object, in its _meta.",
		Source: "E:basic/index#_meta",
		Fix:    "Put the capabilities into _meta of every request; none is {}.",
		New:    eachModernRequest(func(m *Message, v *Verdict) { checkMeta(m, v, "clientCapabilities", '{') }),
	},
	{
		ID: "neg-03", Class: "should", In: "E", Side: "client", Transport: "any",
		Text:   "Every request has io.modelcontextprotocol/clientInfo in its _meta, with string name and version.",
		Source: "E:basic/index#_meta; schema RequestMetaObject, Implementation",
		Fix:    "Add clientInfo with name and version.",
		New: eachModernRequest(func(m *Message, v *Verdict) {
			info := metaOf(m.Param("_meta"), "clientInfo")
			if !info.IsObject() {
				v.Violate("", metaPath+"clientInfo", describe(info))
				return
			}
			for _, name := range []string{"name", "version"} {
				v.Check(info.Get(name).Class() == '"', "", metaPath+"clientInfo."+name, describe(info.Get(name)))
			}
		}),
	},
	{
		ID: "neg-04", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "A request that lacks the capabilities in _meta is refused with -32602, and on HTTP with status 400.",
		Source: "E:basic/index#_meta; E:basic/transports/streamable-http#server-validation; E:basic/versioning#backward-compatibility-with-initialization-based-versions",
		Fix:    "Check the two keys before dispatching.",
		New: each(func(m *Message, v *Verdict) {
			// A request without the version may be handled as one of an older revision.
			if m.Request == nil || m.Request.Params == nil || metaOf(m.Request.Param("_meta"), "protocolVersion").Decoded() != string(jsonrpc.Rev20260728) ||
				metaOf(m.Request.Param("_meta"), "clientCapabilities") != nil {
				return
			}
			switch {
			case m.Kind == jsonrpc.Response && isModern(m.Session):
				v.Violate(m.Request.Method, "$.result", "a result instead of the error -32602")
			case m.Kind == jsonrpc.Response:
				v.Skip("the server has not shown that it implements the revision")
			case m.ErrorCode != "-32602":
				v.Skip("the request was refused for another reason")
			default:
				checkStatus(m.Entry, v)
			}
		}, "result", "error"),
	},
	{
		ID: "neg-05", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "The error -32022 has data with supported (an array of strings) and requested (the version of the request), and on HTTP the status is 400.",
		Source: "E:basic/versioning#protocol-version-negotiation; E:basic/transports/streamable-http#protocol-version-header; schema UnsupportedProtocolVersionError",
		Fix:    "Return -32022 with both members of data.",
		New: func(s *Session) Hooks {
			return eachError("-32022", s, func(r *Request, e *session.Entry, m *jsonrpc.Message, v *Verdict) {
				version := metaOf(r.Param("_meta"), "protocolVersion").Decoded()
				if jsonrpc.EraOf(jsonrpc.Revision(version)) != jsonrpc.Modern {
					return
				}
				v.revision = jsonrpc.Rev20260728 // the revision that defines the error
				data := jsonrpc.Value(m.Error).Get("data").Members("supported", "requested")
				switch supported, requested := data["supported"], data["requested"]; {
				case !isStrings(supported):
					v.Violate("", "$.error.data.supported", describe(supported))
				case requested.Decoded() != version:
					v.Violate("", "$.error.data.requested", "not the version of the request: "+describe(requested))
				default:
					checkStatus(e, v)
				}
			})
		},
	},
	{
		ID: "neg-06", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "A server that has answered requests of 2026-07-28 also implements server/discover.",
		Source: "E:server/discover; E:basic/versioning#protocol-version-negotiation",
		Fix:    "Register a handler for server/discover.",
		New: func(*Session) Hooks {
			modern, refused, frame := false, false, uint64(0)
			return Hooks{On: []string{"result", "error server/discover"}, Message: func(m *Message, v *Verdict) {
				switch {
				case m.Request == nil:
					return
				case m.Kind == jsonrpc.ErrorResponse:
					if m.ErrorCode != "-32601" {
						return
					}
					refused, frame = true, m.Entry.Frame.Seq
				case m.Request.Method == "server/discover":
					v.Hold()
				case m.ResultType != "": // only servers of this revision send it
					modern = true
				}
				if modern && refused {
					refused, v.frame = false, frame
					v.Violate("", "$.error.code", "server/discover is not implemented: -32601")
				}
			}}
		},
	},
	{
		ID: "neg-07", Class: "client-breaking", In: "E", Side: "server", Transport: "any",
		Text:   "The result of server/discover has supportedVersions, an array of strings, and an object capabilities.",
		Source: "E:server/discover#discoverresult; schema DiscoverResult; observed: TypeScript SDK cannot negotiate without supportedVersions",
		Fix:    "Return both members.",
		New: each(func(m *Message, v *Verdict) {
			if !m.Outcome().IsObject() {
				return // rpc-10
			}
			versions, capabilities := m.Member("supportedVersions"), m.Member("capabilities")
			v.Check(isStrings(versions), "", "$.result.supportedVersions", describe(versions))
			v.Check(capabilities.IsObject(), "", "$.result.capabilities", describe(capabilities))
		}, "result server/discover"),
	},
	{
		ID: "neg-08", Class: "should", In: "E", Side: "server", Transport: "any",
		Text:   "Every result has io.modelcontextprotocol/serverInfo in its _meta.",
		Source: "E:basic/index#_meta",
		Fix:    "Add serverInfo to the _meta of every result.",
		New: each(func(m *Message, v *Verdict) {
			if m.Request != nil && m.Outcome().IsObject() {
				v.Check(metaOf(m.Member("_meta"), "serverInfo") != nil, "", "$.result._meta."+jsonrpc.MetaPrefix+"serverInfo", "missing")
			}
		}, "result"),
	},
	{
		ID: "neg-09", Class: "client-breaking", In: "E", Side: "server", Transport: "any",
		Text:   "Every result has a string resultType.",
		Source: "E:basic/index#result-responses, #resulttype; schema Result; observed: TypeScript SDK rejects a result without it",
		Fix:    `Add "resultType":"complete".`,
		New: each(func(m *Message, v *Verdict) {
			if m.Request != nil && m.Outcome().IsObject() {
				kind := m.Member("resultType")
				v.Check(kind.Class() == '"', m.Request.Method, "$.result.resultType", describe(kind))
			}
		}, "result"),
	},
	{
		ID: "neg-10", Class: "client-breaking", In: "E", Side: "server", Transport: "any",
		Text:   "resultType is complete, input_required, or a value of an extension that both sides advertise.",
		Source: "E:basic/index#resulttype; observed: TypeScript SDK fails the call on an unknown value",
		Fix:    "Use a core value, or declare the extension.",
		New: each(func(m *Message, v *Verdict) {
			if m.Request == nil || m.Member("resultType").Class() != '"' { // neg-09
				return
			}
			switch own := metaOf(m.Request.Param("_meta"), "clientCapabilities").Get("extensions"); {
			case m.ResultType == "task": // ext-01
			case m.ResultType == "complete", m.ResultType == "input_required":
				v.Hold()
			case m.Request.Params == nil || len(own) > 2 && m.Session.Server == nil: // longer than {}
				v.Skip("the extensions are not known")
			case sharesExtension(own, m.Session.Server.Get("extensions")):
				v.Skip("the value may be of an extension")
			default:
				v.Violate(m.Request.Method, "$.result.resultType", "an unknown value: "+m.ResultType)
			}
		}, "result"),
	},
	{
		ID: "neg-11", Class: "should", In: "E", Side: "server", Transport: "any",
		Text:   "The error that a server without older revisions returns to initialize names its versions.",
		Source: "E:basic/versioning#backward-compatibility-with-initialization-based-versions",
		Fix:    "List the supported versions in the message and in data.",
		New: func(s *Session) Hooks {
			modern := false // answered requests of 2026-07-28 before the initialize
			hooks := eachError("", s, func(r *Request, _ *session.Entry, m *jsonrpc.Message, v *Verdict) {
				if r.Method != "initialize" || m.ErrorCode != "-32022" && !modern {
					return
				}
				v.revision = jsonrpc.Rev20260728
				listed := jsonrpc.Value(m.Error).Get("data", "supported")
				v.Check(isStrings(listed) && len(listed) > 2 || dates.Match(m.Error), "", "$.error", "names no version: "+m.ErrorMessage)
			})
			hooks.Watch = func(*Message) { modern = modern || isModern(s) }
			return hooks
		},
	},
	{
		ID: "neg-12", Class: "should", In: "E", Side: "client", Transport: "any",
		Text:   "After one of the errors of 2026-07-28 (-32020, -32021, or -32022 with a list of versions) the client does not fall back to initialize. A list with older versions only is exempt.",
		Source: "E:basic/transports/stdio#backward-compatibility; E:basic/transports/streamable-http#backward-compatibility; E:basic/versioning#protocol-version-negotiation",
		Fix:    "Read data.supported before deciding on a fallback.",
		New:    noFallback,
	},
	{
		ID: "neg-13", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "The error -32021 has data.requiredCapabilities, an object, and on HTTP the status is 400.",
		Source: "E:basic/index#_meta; schema MissingRequiredClientCapabilityError",
		Fix:    "List the missing capabilities in data.requiredCapabilities.",
		New: each(func(m *Message, v *Verdict) {
			if m.ErrorCode != "-32021" {
				return
			}
			required := m.Problem().Get("data", "requiredCapabilities")
			if !required.IsObject() {
				v.Violate("", "$.error.data.requiredCapabilities", describe(required))
				return
			}
			checkStatus(m.Entry, v)
		}, "error"),
	},
	{
		ID: "neg-14", Class: "must", In: "E", Side: "both", Transport: "any",
		Text:   "Identifiers in capabilities.extensions follow the grammar of the keys of _meta and have a prefix.",
		Source: "E:basic/versioning#extension-negotiation; schema ServerCapabilities, ClientCapabilities",
		Fix:    "Name the extension your.domain/name.",
		New: eachExtension(func(path, id string, _ jsonrpc.Value, v *Verdict) {
			v.Check(strings.Contains(id, "/") && validMetaKey(id), id, path, "not a valid name with a prefix")
		}),
	},
	{
		ID: "neg-15", Class: "must", In: "E", Side: "both", Transport: "any",
		Text:   "The value of each entry in capabilities.extensions is an object.",
		Source: "E:basic/versioning#extension-negotiation; schema ServerCapabilities, ClientCapabilities",
		Fix:    "Write {} instead of true or null.",
		New: eachExtension(func(path, id string, settings jsonrpc.Value, v *Verdict) {
			v.CheckValue(settings.IsObject(), id, path+"[*]", "", settings)
		}),
	},
	{
		ID: "neg-16", Class: "must", In: "E", Side: "both", Transport: "any",
		Text:   "A method of the tasks extension is used only if the peer advertised it: the client in that very request, the server in server/discover.",
		Source: "E:basic/versioning#extension-negotiation; E:basic/index#_meta",
		Fix:    "Check the extensions of the peer; otherwise stay with core behaviour or return -32021.",
		New: each(func(m *Message, v *Verdict) {
			peer := m.Session.Server
			if m.Lane == tap.ToClient {
				peer = nil
				if r, ok := m.Session.requests.Get(m.Part.Call); ok {
					peer = metaOf(r.Param("_meta"), "clientCapabilities")
				}
			}
			if peer == nil {
				v.Skip("the capabilities of the peer are not known")
				return
			}
			v.Check(peer.Get("extensions", tasksExtension) != nil, m.Method, "$.method", "the other side does not declare the tasks extension")
		}, "request tasks/get", "request tasks/update", "request tasks/cancel", "notification notifications/tasks"),
	},
	{
		ID: "neg-17", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "Capabilities are taken from the request itself: no -32021 to a request that declares the capabilities that the error names.",
		Source: "E:basic/index#statelessness, #_meta",
		Fix:    "Read the capabilities from the _meta of the current request.",
		New: each(func(m *Message, v *Verdict) {
			required := m.Problem().Get("data", "requiredCapabilities")
			if m.ErrorCode != "-32021" || !required.IsObject() { // neg-13
				return
			}
			if m.Request == nil || m.Request.Params == nil {
				v.Skip("the request is not known")
				return
			}
			declared := metaOf(m.Request.Param("_meta"), "clientCapabilities")
			v.CheckValue(len(required) <= 2 || !covers(declared, required, maxWalk), m.Subject(), "$.error.data.requiredCapabilities", "the request declares them", required)
		}, "error"),
	},
}

// metaPath is the path prefix of the protocol's _meta members in a request.
const metaPath = "$.params._meta." + jsonrpc.MetaPrefix

// metaOf returns a member that the protocol defines, from a _meta.
func metaOf(meta jsonrpc.Value, name string) jsonrpc.Value {
	return meta.Get(jsonrpc.MetaPrefix + name)
}

// ownVersion returns the version that a request declares, "" if there is none.
func ownVersion(m *Message) string { return metaOf(m.Param("_meta"), "protocolVersion").Decoded() }

// isModern reports whether the server answered requests of 2026-07-28 without a handshake since
// then.
func isModern(s *Session) bool {
	return s.Facts != nil && s.Facts.Era == jsonrpc.Modern && s.Facts.Revision == jsonrpc.Rev20260728
}

// eachModernRequest returns New for a rule about client requests. A request without a version
// counts as 2026-07-28 if the rest of the session, or the header, does.
func eachModernRequest(judge func(m *Message, v *Verdict)) func(*Session) Hooks {
	return each(func(m *Message, v *Verdict) {
		var header []string
		if x := m.exchange(); x != nil {
			header = field(x.Request, versionField)
		}
		switch {
		case ownVersion(m) != "":
		case len(header) > 0 && header[0] != string(jsonrpc.Rev20260728):
			return // part of a legacy session
		case len(header) == 0 && !isModern(m.Session):
			v.Skip("the request may be of an older revision")
			return
		}
		judge(m, v)
	}, "request")
}

// checkMeta judges the type of a member of a request's _meta.
func checkMeta(m *Message, v *Verdict, name string, class byte) {
	value := metaOf(m.Param("_meta"), name)
	v.Check(value.Class() == class, m.Method, metaPath+name, describe(value))
}

// checkStatus judges whether the HTTP status of an error is 400.
func checkStatus(e *session.Entry, v *Verdict) {
	v.Check(e.Frame.Exchange == 0 || e.Status() == 400, "HTTP status", "$.error.code", strconv.Itoa(e.Status())+" instead of 400")
}

// isStrings reports whether a value is an array of strings.
func isStrings(v jsonrpc.Value) bool {
	for _, x := range v.Each {
		if x.Class() != '"' {
			return false
		}
	}
	return v.IsArray()
}

// sharesExtension reports whether two extension objects have a member in common that may define
// values of resultType. Known extensions define only "task".
func sharesExtension(a, b jsonrpc.Value) bool {
	names := map[string]bool{}
	for name := range a.Each {
		names[string(name)] = true
	}
	for name := range b.Each {
		if known := string(name) == tasksExtension || string(name) == extensionUI; names[string(name)] && !known {
			return true
		}
	}
	return false
}

// covers reports whether declared capabilities have all that are required.
func covers(declared, required jsonrpc.Value, depth int) bool {
	if !required.IsObject() || !declared.IsObject() || depth == 0 {
		return string(required) == string(declared)
	}
	members := map[string]jsonrpc.Value{}
	for name, v := range declared.Each {
		members[string(name)] = v
	}
	for name, v := range required.Each {
		if !covers(members[string(name)], v, depth-1) {
			return false
		}
	}
	return true
}

// eachError returns the hooks of a rule about server errors with a code, or with any code if it
// is "", in any revision.
func eachError(code string, s *Session, judge func(r *Request, e *session.Entry, m *jsonrpc.Message, v *Verdict)) Hooks {
	return Hooks{Frame: func(e *session.Entry, v *Verdict) {
		for i := range e.Parts {
			p, m := &e.Parts[i], e.Of(i)
			if p.Lane != tap.ToClient || m.Kind != jsonrpc.ErrorResponse || code != "" && m.ErrorCode != code || m.Unread || e.Frame.Truncated {
				continue
			}
			if r, ok := s.requests.Get(p.Request); ok && r.Params != nil {
				judge(r, e, m, v)
			}
		}
	}}
}

// dates matches a version in a text.
var dates = regexp.MustCompile(`\b20[0-9]{2}-[0-9]{2}-[0-9]{2}\b`)

// eachExtension returns New for a rule about declared extensions.
func eachExtension(judge func(path, id string, settings jsonrpc.Value, v *Verdict)) func(*Session) Hooks {
	return each(func(m *Message, v *Verdict) {
		path, declared := metaPath+"clientCapabilities", metaOf(m.Param("_meta"), "clientCapabilities")
		if m.Kind == jsonrpc.Response {
			path, declared = "$.result.capabilities", m.Member("capabilities")
		}
		if extensions := declared.Get("extensions"); extensions.IsObject() {
			for id, settings := range extensions.Each {
				judge(path+".extensions", string(id), settings, v)
			}
		}
	}, "request", "result server/discover")
}

// noFallback judges neg-12.
func noFallback(s *Session) Hooks {
	code := "" // of the last error, if it identifies the server as modern
	hooks := eachError("", s, func(r *Request, _ *session.Entry, m *jsonrpc.Message, _ *Verdict) {
		if jsonrpc.EraOf(jsonrpc.Revision(metaOf(r.Param("_meta"), "protocolVersion").Decoded())) != jsonrpc.Modern {
			return
		}
		switch code = ""; m.ErrorCode {
		case "-32020", "-32021":
			code = m.ErrorCode
		case "-32022":
			for _, version := range jsonrpc.Value(m.Error).Get("data", "supported").Each {
				if jsonrpc.EraOf(jsonrpc.Revision(version.Decoded())) == jsonrpc.Modern {
					code = m.ErrorCode
				}
			}
		}
	})
	learn := hooks.Frame
	hooks.Frame = func(e *session.Entry, v *Verdict) {
		learn(e, v)
		for i := range e.Parts {
			p := &e.Parts[i]
			if p.Lane != tap.ToServer || p.Kind != jsonrpc.Request || code == "" {
				continue
			}
			v.revision = jsonrpc.Rev20260728
			v.Check(p.Method != "initialize", "", "$.method", "initialize after "+code)
			code = ""
		}
	}
	return hooks
}
