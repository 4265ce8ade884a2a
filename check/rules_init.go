package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// rulesInit are about the handshake of the legacy era.
var rulesInit = []Rule{
	{
		ID: "init-01", Class: "must", In: "A-D", Side: "client", Transport: "any",
		Text:   "The first message of the client in a session is initialize. A server/discover to learn the versions of the server, or a ping, may come before it.",
		Source: "A-D:basic/lifecycle#initialization",
		Fix:    "Send initialize first and wait for its result.",
		New:    initializeFirst,
	},
	{
		ID: "init-02", Class: "must", In: "A-D", Side: "client", Transport: "any",
		Text:   "The params of initialize have a string protocolVersion, an object capabilities, and clientInfo with string name and version.",
		Source: "A-D:basic/lifecycle#initialization; schema InitializeRequest",
		Fix:    "Fill in all three members; empty capabilities are {}.",
		New: eachFrame(func(e *session.Entry, v *Verdict) {
			if eachHandshake(e, func(m *jsonrpc.Message) {
				params := jsonrpc.Value(m.Params)
				rev := params.Get("protocolVersion").Decoded()
				if v.revision = anyLegacy; isHandshakeVersion(rev) {
					v.revision = jsonrpc.Revision(rev)
				}
				legacy := isHandshakeVersion(rev) || rev == "" && metaOf(params.Get("_meta"), "protocolVersion") == nil // else init-12
				if m.Kind == jsonrpc.Request && legacy {
					judgeHandshake(v, "$.params", params, "clientInfo")
				}
			}) {
				v.Skip("the message is too large to be read")
			}
		}),
	},
	{
		ID: "init-03", Class: "client-breaking", In: "A-D", Side: "server", Transport: "any",
		Text:   "The result of initialize has a string protocolVersion, an object capabilities, and serverInfo with string name and version.",
		Source: "A-D:basic/lifecycle#initialization; schema InitializeResult; observed: TypeScript SDK refuses to connect if capabilities is null or serverInfo.version is missing",
		Fix:    "Return all three members; empty capabilities are {}.",
		New: each(func(m *Message, v *Verdict) {
			if m.Outcome().IsObject() { // else rpc-10
				judgeHandshake(v, "$.result", m.Outcome(), "serverInfo")
			}
		}, "result initialize"),
	},
	{
		ID: "init-04", Class: "observation", In: "A-D", Side: "both", Transport: "any",
		Text:   "protocolVersion in initialize is not a known revision, or it is 2026-07-28, which has no initialize.",
		Source: "E:changelog#major-changes 2",
		Fix:    "Send a published revision; open a conversation of 2026-07-28 without initialize.",
		New: eachFrame(func(e *session.Entry, v *Verdict) {
			v.revision = anyLegacy
			eachHandshake(e, func(m *jsonrpc.Message) {
				path, params := "$.params.protocolVersion", jsonrpc.Value(m.Params)
				if m.Kind == jsonrpc.Response {
					path, params = "$.result.protocolVersion", jsonrpc.Value(m.Result)
				}
				switch version := params.Get("protocolVersion").Decoded(); {
				case version == "": // init-02, init-03
				case isHandshakeVersion(version) || version == preRelease:
					v.Hold()
				default:
					v.Observe("", path, "not a version with a handshake: "+version)
				}
			})
		}),
	},
	{
		ID: "init-05", Class: "observation", In: "A-D", Side: "client", Transport: "any",
		Text:   "A client that does not support the version in the response of the server disconnects: it does not continue after an unpublished version.",
		Source: "A-D:basic/lifecycle#version-negotiation; schema InitializeResult",
		Fix:    "Close the connection and report the versions when the version of the response is not in your list.",
		New: func(*Session) Hooks {
			version := "" // version of the last handshake
			return Hooks{Frame: func(e *session.Entry, v *Verdict) {
				v.revision = anyLegacy
				eachHandshake(e, func(m *jsonrpc.Message) {
					version = ""
					if m.Kind == jsonrpc.Response {
						version = jsonrpc.Value(m.Result).Get("protocolVersion").Decoded()
					}
				})
				if version == "" || e.Frame.Lane != tap.ToServer {
					return
				}
				for i := range e.Parts {
					if k := e.Parts[i].Kind; k != jsonrpc.Request && k != jsonrpc.Notification || e.Of(i).Method == "notifications/cancelled" {
						continue
					}
					if isHandshakeVersion(version) || version == preRelease || version == string(jsonrpc.Rev20260728) {
						v.Hold()
					} else {
						v.Observe("", "$.method", e.Of(i).Method+" after the version "+version)
					}
					version = ""
					return
				}
			}}
		},
	},
	{
		ID: "init-06", Class: "must", In: "A-D", Side: "client", Transport: "any",
		Text:   "notifications/initialized follows a successful initialize.",
		Source: "A-D:basic/lifecycle#initialization",
		Fix:    "Send notifications/initialized right after the result.",
		New:    initializedFollows,
	},
	{
		ID: "init-07", Class: "should", In: "A-D", Side: "client", Transport: "any",
		Text:   "The client sends no request but ping before the response to initialize.",
		Source: "A-D:basic/lifecycle#initialization",
		Fix:    "Wait for the result of initialize before the first real request.",
		New: func(s *Session) Hooks {
			open := false // an initialize is open
			began := false
			watch := func(m *Message) {
				switch {
				case m.Method == "initialize" && m.Kind == jsonrpc.Request:
					open, began = true, true
				case m.Request != nil && m.Request.Method == "initialize":
					open = false
				}
			}
			return Hooks{Watch: watch, On: []string{"request"}, Message: func(m *Message, v *Verdict) {
				switch {
				case !began || m.Method == "initialize" || m.Method == "server/discover": // init-01, init-09
				case open && m.Method != "ping" && s.Transport == "http":
					v.Skip("the request may belong to another session")
				case open && m.Method != "ping":
					v.Violate(m.Method, "", m.Method+" before the response to initialize")
				default:
					v.Hold()
				}
			}}
		},
	},
	{
		ID: "init-08", Class: "should", In: "A-D", Side: "server", Transport: "any",
		Text:   "The server sends no request but ping before notifications/initialized. Notifications do not count.",
		Source: "A-D:basic/lifecycle#initialization",
		Fix:    "Send requests for roots, sampling and elicitation only after notifications/initialized.",
		New: func(*Session) Hooks {
			began, done := false, false
			watch := func(m *Message) {
				switch {
				case m.Lane != tap.ToServer:
				case m.Method == "initialize":
					began, done = true, false
				case m.Kind == jsonrpc.Notification && m.Method == "notifications/initialized",
					m.Kind == jsonrpc.Request && m.Method != "ping": // the client omitted it: init-06
					done = true
				}
			}
			return Hooks{Watch: watch, On: []string{"request"}, Message: func(m *Message, v *Verdict) {
				switch {
				case m.Part.Role == session.RoleReplay:
				case !began:
					v.Skip("the handshake is not recorded")
				default:
					v.Check(done || m.Method == "ping", m.Method, "", m.Method+" before notifications/initialized")
				}
			}}
		},
	},
	{
		ID: "init-09", Class: "observation", In: "A-D", Side: "client", Transport: "any",
		Text:   "A second initialize is sent within one session, although the first has not failed.",
		Source: "A-D:basic/lifecycle#initialization",
		Fix:    "Open a new session instead.",
		New: func(*Session) Hooks {
			sent, succeeded := false, false
			watch := func(m *Message) {
				if m.Request != nil && m.Request.Method == "initialize" {
					succeeded = succeeded || m.Kind == jsonrpc.Response
					sent = false
				}
			}
			return Hooks{Watch: watch, On: []string{"request initialize"}, Message: func(m *Message, v *Verdict) {
				switch {
				case sent && !succeeded:
					v.Skip("the first has no response")
				default:
					v.Check(!succeeded, "", "$.method", "a second initialize")
				}
				sent = true
			}}
		},
	},
	{
		ID: "init-10", Class: "must", In: "A-D", Side: "client", Transport: "any",
		Text:   "initialize is never cancelled.",
		Source: "A-D:basic/utilities/cancellation#behavior-requirements",
		Fix:    "Close the connection when initialize times out.",
		New: func(*Session) Hooks {
			id, known := "", false
			watch := func(m *Message) {
				if m.Method == "initialize" && m.Kind == jsonrpc.Request {
					id, known = keyOf(m.ID), true
				}
			}
			return Hooks{Watch: watch, On: []string{onCancelled}, Message: func(m *Message, v *Verdict) {
				target := m.Param("requestId")
				switch {
				case target == nil: // flow-07
				case !known:
					v.Skip("the handshake is not recorded")
				default:
					v.CheckValue(keyOf(target) != id, "", "$.params.requestId", "the id of initialize", target)
				}
			}}
		},
	},
	{
		ID: "init-11", Class: "must", In: "A-D", Side: "both", Transport: "any",
		Text:   "ping is answered with an empty result, in which only _meta is allowed.",
		Source: "A-D:basic/utilities/ping#behavior-requirements",
		Fix:    "Answer ping with {} immediately, even while a tool runs.",
		New: func(s *Session) Hooks {
			initialized := false
			watch := func(m *Message) {
				initialized = initialized || m.Kind == jsonrpc.Response && m.Part.Method == "initialize"
			}
			return Hooks{Watch: watch, On: []string{"result ping", "error ping"}, Message: func(m *Message, v *Verdict) {
				switch {
				case m.Kind == jsonrpc.ErrorResponse && m.Entry.Status() >= 400: // refused by HTTP
				case m.Kind == jsonrpc.ErrorResponse && s.Start && !initialized:
					v.Skip("it came before the initialization")
				case m.Kind == jsonrpc.ErrorResponse:
					v.Violate("", "$.error", "an error instead of an empty result: "+string(m.Error))
				case m.Outcome().IsObject(): // else rpc-10
					for name, value := range m.Outcome().Each {
						if string(name) != "_meta" {
							v.Violate(string(name), "$.result", "not empty: "+string(value))
							return
						}
					}
					v.Hold()
				}
			}}
		},
	},
	{
		ID: "init-12", Class: "observation", In: "E", Side: "both", Transport: "any",
		Text:   "A method is used that 2026-07-28 removed. An initialize of an older revision opens a legacy session and is exempt.",
		Source: "E:changelog#major-changes 2, 4, 5, 6, #minor-changes 11; schema ClientRequest, ClientNotification, ServerNotification",
		Fix:    "Use the counterpart of 2026-07-28: _meta of each request, subscriptions/listen, logLevel in _meta.",
		New: each(func(m *Message, v *Verdict) {
			version := m.Param("protocolVersion").Decoded()
			switch {
			case m.Path != "$", m.Kind == jsonrpc.Request && m.Lane == tap.ToClient: // stdio-07, http-11
			case m.Method == "initialize" && version != "" && version != string(jsonrpc.Rev20260728):
			case m.Kind == jsonrpc.Request && ownVersion(m) == "", m.Kind == jsonrpc.Notification && !isModern(m.Session): // it may belong to a legacy session
			default:
				v.Check(!isRemoved(m.Method, m.Lane), m.Method, "$.method", "removed in 2026-07-28")
			}
		}, "request", "notification"),
	},
	{
		ID: "init-13", Class: "observation", In: "A-D", Side: "both", Transport: "any",
		Text:   "A method is newer than the negotiated revision.",
		Source: "schema ClientRequest, ServerRequest of each revision",
		Fix:    "Check the negotiated version before using the method.",
		New: func(s *Session) Hooks {
			asked := false // whether the client sent anything but probes
			watch := func(m *Message) {
				asked = asked || m.Lane == tap.ToServer && m.Kind == jsonrpc.Request && m.Method != "server/discover"
			}
			return Hooks{Watch: watch, On: []string{"request", "notification"}, Message: func(m *Message, v *Verdict) {
				if m.Method != "server/discover" || asked {
					v.Check(!isNewer(m.Method, m.Revision), m.Method, "$.method", "newer than the negotiated revision")
				}
			}}
		},
	},
	{
		ID: "init-14", Class: "client-breaking", In: "A-D", Side: "server", Transport: "stdio",
		Text:   "initialize is answered.",
		Source: "A-D:basic/lifecycle#initialization",
		Fix:    "Read what the server wrote to stderr: it may wait for something, or not read its stdin.",
		New:    initializeAnswered,
	},
}

// eachHandshake calls f for each initialize request and each result of one in a frame, except in
// the 002 dialect. It reports whether one of them could not be read.
func eachHandshake(e *session.Entry, f func(m *jsonrpc.Message)) (unread bool) {
	for i := range e.Parts {
		p, m := &e.Parts[i], e.Of(i)
		request := p.Kind == jsonrpc.Request && p.Lane == tap.ToServer
		response := p.Kind == jsonrpc.Response && p.Lane == tap.ToClient
		switch {
		case p.Method != "initialize" || !request && !response || e.Facts != nil && e.Facts.Dialect != "":
		case m.Unread || e.Frame.Truncated:
			unread = true
		default:
			f(m)
		}
	}
	return unread
}

// judgeHandshake judges the members common to both messages of a handshake.
func judgeHandshake(v *Verdict, path string, from jsonrpc.Value, party string) {
	v.clean(func() {
		v.need(from.Get("protocolVersion"), aString, "initialize", path+".protocolVersion")
		v.need(from.Get("capabilities"), anObject, "initialize", path+".capabilities")
		if info := from.Get(party); v.need(info, anObject, "initialize", path+"."+party) {
			v.need(info.Get("name"), aString, "initialize", path+"."+party+".name")
			v.need(info.Get("version"), aString, "initialize", path+"."+party+".version")
		}
	})
}

// anyLegacy stands for the revisions with a handshake if the one in force is not known: before
// the handshake, or if its version is none of them.
const anyLegacy = jsonrpc.Rev20251125

// preRelease is a version from before the first revision that SDKs support.
const preRelease = "2024-10-07"

// isHandshakeVersion reports whether a version is a revision with a handshake.
func isHandshakeVersion(version string) bool {
	return slices.Contains(revisions[:4], jsonrpc.Revision(version))
}

// initializeFirst judges init-01. The revision of a message is not known before the handshake, so
// the first message is judged when the handshake arrives, or at the end.
func initializeFirst(s *Session) Hooks {
	var method string
	var frame uint64
	began, judged := false, false
	watch := func(m *Message) {
		if m.Lane != tap.ToServer || began || m.Kind != jsonrpc.Request && m.Kind != jsonrpc.Notification {
			return
		}
		if _, known := jsonrpc.LookupMethod(m.Method); !known || m.Method == "ping" || m.Method == "server/discover" || ownVersion(m) != "" {
			return
		}
		began, method, frame = true, m.Method, m.Entry.Frame.Seq
	}
	judge := func(v *Verdict) {
		if judged = true; s.Transport == "http" || !s.Start || s.Gap {
			v.Skip("the session may have begun before the recording")
			return
		}
		if v.frame = frame; !isHandshakeVersion(string(v.revision)) {
			v.revision = anyLegacy
		}
		v.Violate("", "$.method", method+" before initialize")
	}
	return Hooks{
		Watch: watch, On: []string{"request initialize"},
		Message: func(_ *Message, v *Verdict) {
			switch {
			case judged:
			case method == "initialize":
				judged = true
				v.Hold()
			default:
				judge(v)
			}
		},
		End: func(v *Verdict) {
			if !judged && began && method != "initialize" && (s.Facts == nil || s.Facts.Dialect == "" && s.Facts.Era != jsonrpc.Modern) {
				judge(v)
			}
		},
	}
}

// initializedFollows judges init-06.
func initializedFollows(s *Session) Hooks {
	succeeded, sent := false, false
	var revision jsonrpc.Revision
	var next uint64 // the first other request with a response
	watch := func(m *Message) {
		switch {
		case m.Method == "notifications/initialized":
			sent = true
		case m.Kind == jsonrpc.Response && m.Part.Method == "initialize":
			if isHandshakeVersion(string(m.Revision)) {
				succeeded, revision = true, m.Revision
			}
		case succeeded && next == 0 && m.Kind == jsonrpc.Response && m.Request != nil && m.Request.Lane == tap.ToServer && m.Request.Method != "ping" && m.Request.Method != "initialize":
			next = m.Request.Ref.Seq
		}
	}
	return Hooks{
		Watch: watch,
		End: func(v *Verdict) {
			switch {
			case !succeeded:
			case sent:
				v.Hold()
			case next == 0 || s.Gap:
				v.Skip("the session ended early, or frames are missing")
			default:
				v.frame, v.revision = next, revision
				v.Violate("", "", "notifications/initialized is missing")
			}
		},
	}
}

// initializeAnswered judges init-14.
func initializeAnswered(*Session) Hooks {
	const patience = 5 * time.Second
	var end time.Duration // when the client ended the session, or the last frame
	ended := false
	return Hooks{
		Frame: func(e *session.Entry, _ *Verdict) {
			if !ended {
				end, ended = e.Frame.At, e.Event.Name == tap.EventSignal || e.Event.Name == tap.EventEOF && e.Event.Lane == tap.ToServer.String()
			}
		},
		Call: func(c *session.Call, v *Verdict) {
			if v.revision == "" {
				v.revision = anyLegacy
			}
			switch wait := end - c.At; {
			case c.Method != "initialize" || !v.Rule.binds(other(c.Lane)):
			case !isForgotten(c):
				v.Hold()
			case wait < patience:
				v.Skip("the session ends soon after initialize")
			default:
				v.Violate(c.Method, "", fmt.Sprintf("no response in %v", wait.Round(100*time.Millisecond)))
			}
		},
	}
}

// isNewer reports whether a method is newer than a revision.
func isNewer(method string, rev jsonrpc.Revision) bool {
	known, ok := jsonrpc.LookupMethod(method)
	at := indexOf(rev)
	if !ok || at < 0 {
		return false
	}
	return !slices.ContainsFunc(revisions[:at+1], known.In) && slices.ContainsFunc(revisions[at+1:], known.In)
}

// isRemoved reports whether 2026-07-28 removed a method sent on a lane.
func isRemoved(method string, lane tap.Lane) bool {
	known, _ := jsonrpc.LookupMethod(method)
	if method == "notifications/progress" {
		return lane == tap.ToServer
	}
	return slices.ContainsFunc(revisions[:4], known.In) && !known.In(jsonrpc.Rev20260728) && !known.In(jsonrpc.ExtTasks)
}
