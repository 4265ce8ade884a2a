package check

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

const (
	sourceProgress  = "A-D:basic/utilities/progress#progress-flow; E:basic/patterns/progress#progress-flow"
	sourceCancelled = "A-D:basic/utilities/cancellation#behavior-requirements; E:basic/patterns/cancellation#behavior-requirements"
	onProgress      = "notification notifications/progress"
	onCancelled     = "notification notifications/cancelled"
	onLog           = "notification notifications/message"
)

// rulesFlow are about progress, cancellation, timeouts, pagination and log messages.
var rulesFlow = []Rule{
	{
		ID: "flow-01", Class: "must", In: "A-E", Side: "both", Transport: "any",
		Text:   "progressToken is a string or an integer, in the request and in the notification.",
		Source: sourceProgress + "; schema ProgressToken",
		Fix:    "Use the request id or a counter as the token.",
		New: each(func(m *Message, v *Verdict) {
			token, path := m.Param("_meta").Get("progressToken"), "$.params._meta.progressToken"
			if m.Kind == jsonrpc.Notification {
				token, path = m.Param("progressToken"), "$.params.progressToken"
			}
			if m.Kind == jsonrpc.Request && token == nil || m.hasBadParams() {
				return
			}
			v.Check(token.Class() == '"' || isInteger(token), m.Method, path, describe(token))
		}, "request", onProgress),
	},
	{
		ID: "flow-02", Class: "must", In: "A-E", Side: "both", Transport: "any",
		Text:   "A progress token is unique among the active requests of its sender.",
		Source: sourceProgress,
		Fix:    "Give every request its own token.",
		New: func(s *Session) Hooks {
			hasID := false // the session has an id, so it has only one client
			watch := func(m *Message) { hasID = hasID || field(m.head(), sessionField) != nil }
			return Hooks{Watch: watch, Call: func(c *session.Call, v *Verdict) {
				r, ok := s.requests.Get(c.Ref)
				if !ok || r.Param("_meta").Get("progressToken") == nil {
					return
				}
				switch clash := c.Notes&session.NoteTokenClash != 0; {
				case clash && s.Transport == "http" && !hasID:
					v.Skip("the requests may be those of several clients")
				default:
					v.Check(!clash, c.Method, "$.params._meta.progressToken", "another active request has it: "+string(r.Param("_meta").Get("progressToken")))
				}
			}}
		},
	},
	{
		ID: "flow-03", Class: "must", In: "A-E", Side: "both", Transport: "any",
		Text:   "A progress notification names a token that the other side gave in a request.",
		Source: "A-D:basic/utilities/progress#behavior-requirements; E:basic/patterns/progress#behavior-requirements",
		Fix:    "Send progress only when the request has a token, and echo it unchanged.",
		New: each(func(m *Message, v *Verdict) {
			if token := m.Param("progressToken"); token.Class() == '"' || isInteger(token) { // else flow-01
				m.refers(v, session.RoleProgress, "$.params.progressToken", "no request has this token", token)
			}
		}, onProgress),
	},
	{
		ID: "flow-04", Class: "must", In: "A-E", Side: "both", Transport: "any",
		Text:   "progress increases with each notification for a token, within one stream.",
		Source: sourceProgress,
		Fix:    "Report a growing count; leave out updates without progress.",
		New:    progressIncreases,
	},
	{
		ID: "flow-05", Class: "must", In: "A-E", Side: "both", Transport: "any",
		Text:   "Progress stops with the response.",
		Source: "A-D:basic/utilities/progress#behavior-requirements; E:basic/patterns/progress#implementation-notes",
		Fix:    "Await pending progress notifications before responding.",
		New:    progressStops,
	},
	{
		ID: "flow-06", Class: "must", In: "A-E", Side: "both", Transport: "any",
		Text:   "notifications/cancelled names a request of the same sender. Crossing with the response is not a violation.",
		Source: sourceCancelled,
		Fix:    "Copy the id of the request that is to be cancelled, with its JSON type.",
		New: each(func(m *Message, v *Verdict) {
			if id := m.Param("requestId"); id != nil && (m.Revision != jsonrpc.Rev20260728 || m.Lane != tap.ToClient) { // else flow-07 and flow-08
				m.refers(v, session.RoleCancel, "$.params.requestId", "no request of the sender has this id", id)
			}
		}, onCancelled),
	},
	{
		ID: "flow-07", Class: "must", In: "A-E", Side: "both", Transport: "any",
		Text:   "notifications/cancelled has a requestId.",
		Source: "schema CancelledNotification, CancelledNotificationParams",
		Fix:    "Add requestId.",
		New: each(func(m *Message, v *Verdict) {
			if m.hasBadParams() {
				return
			}
			id := m.Param("requestId")
			v.Check(id != nil && id.Class() != 'n', "", "$.params.requestId", describe(id))
		}, onCancelled),
	},
	{
		ID: "flow-08", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "A server sends notifications/cancelled only for the id of a subscriptions/listen.",
		Source: "E:basic/patterns/cancellation",
		Fix:    "Answer other requests with a result or an error.",
		New:    cancelsListen,
	},
	{
		ID: "flow-09", Class: "should", In: "A-E", Side: "both", Transport: "any",
		Text:   "No response is sent for a request after it is cancelled; one within a second may have been in transit.",
		Source: "A-D:basic/utilities/cancellation#behavior-requirements; E:basic/transports/stdio#cancellation, E:basic/patterns/cancellation#behavior-requirements",
		Fix:    "Check the cancel flag before sending.",
		New:    silentAfterCancel,
	},
	{
		ID: "flow-10", Class: "must", In: "D", Side: "both", Transport: "any",
		Text:   "A request that became a task is cancelled with tasks/cancel, not notifications/cancelled.",
		Source: "D:basic/utilities/cancellation#behavior-requirements; schema CancelledNotificationParams",
		Fix:    "Send tasks/cancel with the id of the task.",
		New: cancelledAsTask(func(m *Message) bool {
			return m.Part.Role == session.RoleInterim && m.Request != nil && m.Request.Param("task") != nil && m.Outcome().Get("task", "taskId") != nil
		}),
	},
	{
		ID: "flow-11", Class: "must", In: "A-E", Side: "server", Transport: "any",
		Text:   "notifications/message comes only from servers that declare logging.",
		Source: "A-E:server/utilities/logging#capabilities",
		Fix:    "Declare logging, or log to stderr.",
		New: each(func(m *Message, v *Verdict) {
			if m.Session.Server == nil {
				v.Skip("the capabilities of the server are not known")
				return
			}
			v.Check(m.Session.Server.Get("logging") != nil, "logging", "$.method", "logging is not declared")
		}, onLog),
	},
	{
		ID: "flow-12", Class: "must", In: "A-E", Side: "both", Transport: "any",
		Text:   "A log level is one of debug, info, notice, warning, error, critical, alert and emergency.",
		Source: "A-E:server/utilities/logging#log-levels; schema LoggingLevel",
		Fix:    "Map warn to warning and fatal to critical.",
		New: each(func(m *Message, v *Verdict) {
			level, path := m.Param("level"), "$.params.level"
			switch {
			case m.hasBadParams():
				return
			case m.Kind == jsonrpc.Notification:
			case m.Revision == jsonrpc.Rev20260728: // it has no logging/setLevel: see init-12
				path = "$.params._meta['" + logLevelMember + "']"
				if level = m.Param("_meta").Get(logLevelMember); level == nil {
					return
				}
			case m.Method != "logging/setLevel":
				return
			}
			v.Check(slices.Contains(logLevels, level.Decoded()), m.Method, path, describe(level))
		}, onLog, "request"),
	},
	{
		ID: "flow-13", Class: "observation", In: "A-D", Side: "server", Transport: "any",
		Text:   "A log message is below the level last set with logging/setLevel.",
		Source: "schema SetLevelRequest",
		Fix:    "Filter by the level that was set.",
		New: func(*Session) Hooks {
			level := -1 // none was set
			return Hooks{
				Watch: func(m *Message) {
					if m.Kind == jsonrpc.Response && m.Request != nil && m.Request.Method == "logging/setLevel" {
						level = slices.Index(logLevels, m.Request.Param("level").Decoded())
					}
				},
				On: []string{onLog},
				Message: func(m *Message, v *Verdict) {
					own := m.Param("level").Decoded()
					if i := slices.Index(logLevels, own); i >= 0 && level >= 0 {
						v.Check(i >= level, m.Param("logger").Decoded(), "$.params.level", own+" instead of "+logLevels[level])
					}
				},
			}
		},
	},
	{
		ID: "flow-14", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "notifications/message is sent only for a request whose _meta has io.modelcontextprotocol/logLevel, at or above that level, on its stream and before its response.",
		Source: "E:server/utilities/logging#per-request-log-level",
		Fix:    "Read the level from the request; without it send no log messages.",
		New:    logsRequested,
	},
	{
		ID: "flow-15", Class: "observation", In: "A-E", Side: "server", Transport: "any",
		Text:   "A log message has something that looks like a credential.",
		Source: "A-E:server/utilities/logging#security",
		Fix:    "Redact secrets before logging.",
		New: each(func(m *Message, v *Verdict) {
			if what, known := findCredential(m.Params, v); known {
				v.Check(what == "", m.Param("logger").Decoded(), "$.params.data", "looks like a credential, "+what)
			}
		}, onLog),
	},
	{
		ID: "flow-16", Class: "must", In: "A-E", Side: "both", Transport: "any",
		Text:   "progress is present and a number, and so is total if it is present.",
		Source: "schema ProgressNotification, ProgressNotificationParams",
		Fix:    "Send numbers, not strings or percentages with a sign.",
		New: each(func(m *Message, v *Verdict) {
			if m.hasBadParams() {
				return
			}
			v.clean(func() {
				v.need(m.Param("progress"), aNumber, "progress", "$.params.progress")
				v.want(m.Param("total"), aNumber, "total", "$.params.total")
			})
		}, onProgress),
	},
	{
		ID: "flow-17", Class: "observation", In: "A-E", Side: "both", Transport: "any",
		Text:   "progress is greater than total.",
		Source: sourceProgress,
		Fix:    "Leave total out when it is only a guess.",
		New: each(func(m *Message, v *Verdict) {
			progress, ok := number(m.Param("progress"))
			total, both := number(m.Param("total"))
			if ok && both {
				v.Check(progress <= total, m.aboutRequest(), "$.params.progress", fmt.Sprintf("%v of %v", progress, total))
			}
		}, onProgress),
	},
	{
		ID: "flow-18", Class: "observation", In: "A-E", Side: "client", Transport: "any",
		Text:   "The same tools/call is sent again while the outcome of the first is unknown, and the tool is marked neither readOnlyHint nor idempotentHint: the effect may happen twice.",
		Source: sourceCancelled + "; schema ToolAnnotations",
		Fix:    "Ask the server for the state first, or pass an idempotency key as an argument.",
		New:    repeatedCalls,
	},
	{
		ID: "flow-19", Class: "observation", In: "A-E", Side: "server", Transport: "any",
		Text:   "The last progress notification is sent together with the response, less than a millisecond before it; clients may drop it. That is not a loss if it reports the total.",
		Source: sourceProgress,
		Fix:    "Do not rely on the last progress message; put the final state into the result.",
		New: func(*Session) Hooks {
			type progress struct {
				at    time.Duration
				whole bool // progress equals the total
			}
			last := bounded.Map[session.Ref, progress]{Max: maxRequests} // by call
			return Hooks{
				Watch: func(m *Message) {
					if m.Part.Role == session.RoleProgress && !m.Part.Late {
						done, _ := number(m.Param("progress"))
						total, ok := number(m.Param("total"))
						last.Put(m.Part.Call, progress{m.Entry.Frame.At, ok && done >= total})
					}
				},
				On: []string{"result", "error"},
				Message: func(m *Message, v *Verdict) {
					if p, ok := last.Get(m.Part.Call); ok && m.Part.Role == session.RoleResponse {
						gap := m.Entry.Frame.At - p.at
						v.Check(gap >= time.Millisecond || p.whole, m.Subject(), "$", fmt.Sprintf("%v after the last progress", gap.Round(time.Microsecond)))
						last.Delete(m.Part.Call)
					}
				},
			}
		},
	},
}

// logLevelMember is the member of _meta that requests log messages.
const logLevelMember = jsonrpc.MetaPrefix + "logLevel"

// logLevels are the levels, least severe first.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// maxSearched limits the bytes of a message that are searched for a credential.
const maxSearched = 16 << 10

// credential matches the forms of well-known secrets.
var credential = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----|\b(AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[0-9A-Za-z]{36,}|\bgithub_pat_[0-9A-Za-z_]{22,}|` +
	`\bglpat-[0-9A-Za-z_-]{20,}|\bxox[abprs]-[0-9A-Za-z-]{20,}|\bsk-[0-9A-Za-z_-]{32,}|\bAIza[0-9A-Za-z_-]{35}\b|` +
	`\beyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{10,}|\b[Bb]earer [0-9A-Za-z._~+/-]{24,}=*`)

// Every match of credential contains one of the literals in credentialParts. Most texts contain
// none, and searching for literals is faster than matching the expression.
var credentialParts = [][]byte{
	[]byte("-----BEGIN "), []byte("AKIA"), []byte("ASIA"), []byte("ghp_"), []byte("gho_"), []byte("ghu_"), []byte("ghs_"), []byte("ghr_"), []byte("github_pat_"),
	[]byte("glpat-"), []byte("xox"), []byte("sk-"), []byte("AIza"), []byte("eyJ"), []byte("earer "),
}

// findCredential returns the start of something that looks like a credential in a text, or "".
// It skips the verdict if it found none and did not search the whole text.
func findCredential(text []byte, v *Verdict) (what string, known bool) {
	searched := text[:min(len(text), maxSearched)]
	if slices.ContainsFunc(credentialParts, func(part []byte) bool { return bytes.Contains(searched, part) }) {
		what = hideCredential(credential.FindString(string(searched)))
	}
	if what == "" && len(text) > maxSearched {
		v.Skip("only the first 16 KiB of a message are searched")
		return "", false
	}
	return what, true
}

// hideCredential returns the start of a secret, because a finding must not disclose it.
func hideCredential(text string) string {
	if i := strings.IndexByte(text, ' '); i >= 0 && strings.HasPrefix(strings.ToLower(text), "bearer") {
		return text[:i+5] + "…"
	}
	if text == "" || strings.HasPrefix(text, "-----") {
		return text
	}
	return text[:min(len(text), 8)] + "…"
}

// hasBadParams reports whether the params of a message are not an object, which rpc-15 reports.
func (m *Message) hasBadParams() bool { return m.Params != nil && !m.Parameters().IsObject() }

// number returns the value of a number.
func number(v jsonrpc.Value) (float64, bool) {
	if v.Class() != '0' {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(v), 64)
	return n, err == nil
}

// aboutRequest returns the method of the request that a notification belongs to.
func (m *Message) aboutRequest() string {
	if r, ok := m.Session.requests.Get(m.Part.Call); ok {
		return r.Method
	}
	return ""
}

// progressIncreases judges flow-04.
func progressIncreases(*Session) Hooks {
	type key struct {
		call     session.Ref
		exchange uint64
		token    string
	}
	last := bounded.Map[key, string]{Max: maxRequests}
	return Hooks{
		Watch: func(m *Message) {
			if m.Part.Role == session.RoleRetry { // another request; its progress starts over
				last.Delete(key{m.Part.Call, m.Entry.Frame.Exchange, string(m.Param("_meta").Get("progressToken"))})
			}
		},
		On: []string{onProgress},
		Message: func(m *Message, v *Verdict) {
			progress, token := m.Param("progress"), m.Param("progressToken")
			if progress.Class() != '0' || len(progress) > maxText || m.Part.Role != session.RoleProgress || m.Part.Guess || len(token) > maxText {
				return // see flow-03 and flow-16
			}
			k := key{m.Part.Call, m.Entry.Frame.Exchange, string(token)}
			before, known := last.Get(k)
			last.Put(k, string(progress))
			if order, ok := compareNumbers(before, string(progress)); known && ok {
				v.Check(order < 0, m.aboutRequest(), "$.params.progress", string(progress)+" after "+before)
			}
		},
	}
}

// progressStops judges flow-05.
func progressStops(*Session) Hooks {
	answered := bounded.Map[session.Ref, uint64]{Max: maxRequests} // the exchange of the response, by call
	return Hooks{
		Watch: func(m *Message) {
			asked := m.Request == nil || m.Request.Param("_meta") != nil
			if m.Path == "$" && m.Part.Role == session.RoleResponse && asked {
				answered.Put(m.Part.Call, m.Entry.Frame.Exchange)
			}
		},
		On: []string{onProgress},
		Message: func(m *Message, v *Verdict) {
			exchange, over := answered.Get(m.Part.Call)
			switch {
			case m.Part.Role != session.RoleProgress || m.Part.Guess:
			case !m.Part.Late:
				v.Hold()
			case !over: // it was cancelled
			case exchange != m.Entry.Frame.Exchange:
				v.Skip("the order of two streams is not known")
			default:
				v.Violate("", "$.method", "progress after the response")
			}
		},
	}
}

// cancelsListen judges flow-08.
func cancelsListen(s *Session) Hooks {
	listens := bounded.Map[session.Ref, bool]{Max: maxRequests}
	return Hooks{
		Watch: func(m *Message) {
			if m.Kind == jsonrpc.Request && m.Method == "subscriptions/listen" && m.Path == "$" {
				listens.Put(m.Part.Message, true)
			}
		},
		On: []string{onCancelled},
		Message: func(m *Message, v *Verdict) {
			_, ok := listens.Get(m.Part.Call)
			switch id := m.Param("requestId"); {
			case id == nil: // see flow-07
			case ok:
				v.Hold()
			case m.Part.Role == session.RoleUnmatched && (!s.Start || s.Gap):
				v.Skip("requests from before the recording are not known")
			default:
				v.Violate("", "$.params.requestId", "not the id of a subscriptions/listen: "+string(id))
			}
		},
	}
}

// silentAfterCancel judges flow-09.
func silentAfterCancel(*Session) Hooks {
	cancelled := bounded.Map[session.Ref, time.Duration]{Max: maxRequests} // by request
	return Hooks{
		Watch: func(m *Message) {
			if m.Method == "notifications/cancelled" && m.Part.Role == session.RoleCancel && !m.Part.Late {
				if _, again := cancelled.Get(m.Part.Call); !again {
					cancelled.Put(m.Part.Call, m.Entry.Frame.At)
				}
			}
		},
		On: []string{"result", "error"},
		Message: func(m *Message, v *Verdict) {
			at, ok := cancelled.Get(m.Part.Call)
			if !ok || m.Path != "$" || m.Part.Role != session.RoleLate {
				return
			}
			after := m.Entry.Frame.At - at
			v.Check(after <= time.Second, m.Subject(), "$", fmt.Sprintf("a response %v after the cancellation", after.Round(time.Millisecond)))
		},
	}
}

// refers judges whether value in a notification with a role refers to a request.
func (m *Message) refers(v *Verdict, role session.Role, path, words string, value jsonrpc.Value) {
	switch {
	case m.Part.Role != role && m.Part.Role != session.RoleUnmatched:
	case m.Part.Role != role && (!m.Session.Start || m.Session.Gap):
		v.Skip("requests from before the recording are not known")
	default:
		v.CheckValue(m.Part.Role == role, "", path, words, value)
	}
}

// cancelledAsTask returns New for a rule that requests that became tasks, according to some
// results, are not cancelled by a notification.
func cancelledAsTask(shows func(result *Message) bool) func(*Session) Hooks {
	return func(*Session) Hooks {
		tasks := bounded.Map[session.Ref, bool]{Max: maxRequests} // calls
		return Hooks{
			Watch: func(m *Message) {
				if m.Kind == jsonrpc.Response && shows(m) {
					tasks.Put(m.Part.Call, true)
				}
			},
			On: []string{onCancelled},
			Message: func(m *Message, v *Verdict) {
				if _, ok := tasks.Get(m.Part.Call); ok || m.Part.Role == session.RoleCancel {
					v.CheckValue(!ok, m.aboutRequest(), "$.params.requestId", "the request became a task", m.Param("requestId"))
				}
			},
		}
	}
}

// listening is the level that stands for a subscription.
const listening = -2

// logsRequested judges flow-14. On stdio a log message does not name its request.
func logsRequested(s *Session) Hooks {
	open := bounded.Map[session.Ref, int]{Max: maxRequests} // levels of open requests on stdio
	streams := bounded.Map[uint64, int]{Max: maxRequests}   // levels by exchange, -1 for none
	return Hooks{
		Watch: func(m *Message) {
			switch {
			case m.Path != "$":
			case m.Kind == jsonrpc.Request && m.Lane == tap.ToServer:
				level := slices.Index(logLevels, m.Param("_meta").Get(logLevelMember).Decoded())
				if m.Method == "subscriptions/listen" {
					level = listening
				}
				if m.Entry.Frame.Exchange != 0 {
					streams.Put(m.Entry.Frame.Exchange, level)
				} else if level >= 0 {
					open.Put(m.Part.Message, level)
				}
			case m.Kind == jsonrpc.Response || m.Kind == jsonrpc.ErrorResponse:
				open.Delete(m.Part.Request)
			}
		},
		On: []string{onLog},
		Message: func(m *Message, v *Verdict) {
			own := m.Param("level").Decoded()
			rank := slices.Index(logLevels, own)
			if rank < 0 {
				return // see flow-12
			}
			asked, known := -1, true
			if m.Entry.Frame.Exchange != 0 {
				asked, known = streams.Get(m.Entry.Frame.Exchange)
			}
			for _, level := range open.All {
				if asked < 0 || level < asked {
					asked = level
				}
			}
			switch {
			case !known || s.Gap || m.Entry.Frame.Exchange == 0 && !s.Start:
				v.Skip("requests from before the recording are not known")
			case asked == listening: // see sub-04
			case asked < 0:
				v.Violate(m.Param("logger").Decoded(), "$.method", "no request asks for log messages")
			default:
				v.Check(rank >= asked, m.Param("logger").Decoded(), "$.params.level", own+" instead of "+logLevels[asked])
			}
		},
	}
}

// repeatedCalls judges flow-18.
func repeatedCalls(s *Session) Hooks {
	open := bounded.Map[uint64, uint64]{Max: maxRequests} // frames of calls with unknown outcome, by name and arguments
	keys := bounded.Map[uint64, uint64]{Max: maxRequests} // the reverse of open
	return Hooks{
		Exchange: func(x *Exchange, _ *Verdict) {
			if x.Response == nil || x.Response.Status < 400 || x.Response.Status >= 500 {
				return
			}
			for _, c := range x.Carried { // the server refused it
				if key, ok := keys.Get(c.Frame); ok {
					open.Delete(key)
				}
			}
		},
		Watch: func(m *Message) {
			if (m.Kind == jsonrpc.Response || m.Kind == jsonrpc.ErrorResponse) && m.Request != nil && m.Request.Method == "tools/call" {
				open.Delete(callKey(m.Request.Param("name"), m.Request.Param("arguments")))
			}
		},
		On: []string{"request tools/call"},
		Message: func(m *Message, v *Verdict) {
			key := callKey(m.Param("name"), m.Param("arguments"))
			if m.Param("inputResponses") != nil || m.Param("requestState") != nil || m.Part.Role != session.RoleRequest {
				return
			}
			_, again := open.Get(key)
			open.Put(key, m.Part.Message.Seq)
			keys.Put(m.Part.Message.Seq, key)
			if !again {
				return
			}
			tool := m.tool()
			if tool == nil {
				v.Skip("no list before the call has the tool")
				return
			}
			hints := tool.Get("annotations")
			v.Check(hints.Get("readOnlyHint").IsTrue() || hints.Get("idempotentHint").IsTrue(), m.Subject(), "$.params", "the same call again")
		},
	}
}

// callKey returns a hash of a tool and its arguments.
func callKey(name, arguments jsonrpc.Value) uint64 {
	return maphash.Bytes(seed, name)*31 + maphash.Bytes(seed, arguments)
}
