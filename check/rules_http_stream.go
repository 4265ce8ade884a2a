package check

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// rulesStream are about event streams, of Streamable HTTP and HTTP+SSE.
var rulesStream = []Rule{
	{
		ID: "http-08", Class: "should", In: "B-E", Side: "server", Transport: "http",
		Text:   "The event stream of a POST ends after the response to its request; one that is open 5 seconds later is reported. In 2026-07-28 it does not end before the response.",
		Source: sourceSending,
		Fix:    "Close the stream after the response.",
		New:    streamable(streamEnds),
	},
	{
		ID: "http-09", Class: "should", In: "B-D", Side: "server", Transport: "http",
		Text:   "The server does not close the stream of a POST before the response. In 2025-11-25 it may after an event with an id, if the client can resume the stream.",
		Source: "B-D:basic/transports#sending-messages-to-the-server",
		Fix:    "Keep the stream open, or (2025-11-25) send an event with an id, and retry, before closing it.",
		New:    streamCarriesResponse,
	},
	{
		ID: "http-10", Class: "should@B-D must@E", In: "B-E", Side: "server", Transport: "http",
		Text:   "Notifications on the stream of a request belong to that request: no progress with the token of another request.",
		Source: "B-D:basic/transports#sending-messages-to-the-server; E:basic/transports/streamable-http#receiving-messages",
		Fix:    "Send each notification on the stream of its own request.",
		New:    progressOnStream,
	},
	{
		ID: "http-11", Class: "must", In: "E", Side: "server", Transport: "http",
		Text:   "No JSON-RPC request is sent on any event stream.",
		Source: "E:basic/transports/streamable-http#receiving-messages",
		Fix:    "Return an input_required result instead.",
		New: each(func(m *Message, v *Verdict) {
			if m.Path == "$" && m.Entry.Frame.Form == tap.FormEvent {
				v.Check(m.Kind != jsonrpc.Request, m.Method, "$", "a request on an event stream")
			}
		}, "message"),
	},
	{
		ID: "http-14", Class: "must", In: "B-D", Side: "server", Transport: "http",
		Text:   "No JSON-RPC response is sent on the stream of a GET, unless the GET resumes the stream of that request.",
		Source: sourceStreams,
		Fix:    "Send the response on the stream of its own POST.",
		New:    responseOnGET,
	},
	{
		ID: "http-16", Class: "must", In: "B-D", Side: "server", Transport: "http",
		Text:   "Event ids are unique across all streams of a session, except where an event is delivered again.",
		Source: sourceResuming,
		Fix:    "Put the id of the stream into the id of the event.",
		New:    eventIDs,
	},
	{
		ID: "http-17", Class: "must", In: "B-D", Side: "server", Transport: "http",
		Text:   "A resumed stream replays only events of the stream that Last-Event-ID came from.",
		Source: sourceResuming,
		Fix:    "Look up the stream by the event id before replaying.",
		New:    replayedEvents,
	},
	{
		ID: "http-18", Class: "should", In: "D", Side: "server", Transport: "http",
		Text:   "A POST stream whose events carry ids starts with an event that has an id and empty data.",
		Source: "D:basic/transports#sending-messages-to-the-server",
		Fix:    "Send an id with an empty data line as the first event.",
		New:    primingEvent,
	},
	{
		ID: "http-19", Class: "must", In: "D", Side: "client", Transport: "http",
		Text:   "A reconnect with Last-Event-ID waits at least the last retry milliseconds; 10 % less is tolerated for clocks.",
		Source: "D:basic/transports#sending-messages-to-the-server",
		Fix:    "Honour retry before reconnecting.",
		New:    reconnectWaits,
	},
	{
		ID: "http-38", Class: "observation", In: "E", Side: "both", Transport: "http",
		Text:   "An event has an id, or a request has Last-Event-ID: streams cannot be resumed in 2026-07-28.",
		Source: "E:basic/transports/streamable-http#receiving-messages; E:changelog#major-changes",
		Fix:    "Leave event ids out.",
		New: eachFrame(func(e *session.Entry, v *Verdict) {
			switch {
			case e.Revision() != jsonrpc.Rev20260728:
			case e.Event.Name == tap.EventRequest && field(&e.Event, "Last-Event-ID") != nil:
				v.Violate("Last-Event-ID", "", "a stream cannot be resumed")
			case e.Frame.Form == tap.FormEvent:
				event := tap.ParseServerSentEvent(e.Frame.Raw)
				v.Check(!event.HasID, "id", "", "an event has the id "+event.ID)
			}
		}),
	},
	{
		ID: "http-41", Class: "observation", In: "E", Side: "server", Transport: "http",
		Text:   "An event stream of a server on another machine, with messages before the response, carries X-Accel-Buffering: no; without it a proxy may hold them back. A proxy may also have removed it.",
		Source: "E:basic/transports/streamable-http#receiving-messages",
		Fix:    "Set the header on every answer with an event stream.",
		New: streamable(func(x *Exchange, v *Verdict) {
			if !x.streams() || !x.Has(tap.ToClient, jsonrpc.Notification) {
				return
			}
			if upstream := x.Session.upstream(v); upstream != nil && !isLoopback(upstream) {
				v.Check(strings.EqualFold(strings.Join(field(x.Response, "X-Accel-Buffering"), ""), "no"), "X-Accel-Buffering", "", fieldText(x.Response, "X-Accel-Buffering"))
			}
		}),
	},
	{
		ID: "http-42", Class: "must", In: "A-E", Side: "server", Transport: "sse",
		Text:   "The first event on the stream of HTTP+SSE is an endpoint event with a URI.",
		Source: "A:basic/transports#http-with-sse",
		Fix:    "Send event: endpoint first.",
		New: endpointEvent(func(e *tap.ServerSentEvent, _ *Session, v *Verdict) {
			u, err := url.Parse(string(e.Data))
			v.CheckValue(e.Name == "endpoint" && err == nil && u.Path != "", "endpoint", "", "the first event is not an endpoint with a URI", e.Data)
		}),
	},
	{
		ID: "http-44", Class: "must", In: "A-E", Side: "server", Transport: "sse",
		Text:   "Server messages of HTTP+SSE are events on the stream of the GET, not bodies of responses.",
		Source: "A:basic/transports#http-with-sse",
		Fix:    "Send event: message.",
		New: each(func(m *Message, v *Verdict) {
			if m.Path == "$" && m.Entry.Status() < 400 {
				v.Check(m.Entry.Frame.Form == tap.FormEvent, m.Subject(), "$", "in the body of a response")
			}
		}, "message"),
	},
	{
		ID: "http-48", Class: "client-breaking", In: "A-E", Side: "server", Transport: "http",
		Text:   "An event stream is ill-formed: data that is not a message, a message in an event that is not named message, or no blank line after the last event.",
		Source: "WHATWG HTML 9.2.6; observed: the TypeScript SDK ignores events with another name",
		Fix:    "Send each message as one event without a name or named message, with a blank line after it.",
		New:    eventForm,
	},
	{
		ID: "http-51", Class: "client-breaking", In: "A-E", Side: "server", Transport: "sse",
		Text:   "The endpoint event names the origin of the server, if any. Clients refuse another one.",
		Source: "A:basic/transports#http-with-sse; observed: TypeScript SDK refuses it",
		Fix:    "Send a relative URI, or fix the base URL of the server behind the proxy.",
		New: endpointEvent(func(e *tap.ServerSentEvent, s *Session, v *Verdict) {
			u, err := url.Parse(string(e.Data))
			if err != nil || e.Name != "endpoint" || u.Path == "" {
				return // see http-42
			}
			if u.Host == "" {
				v.Hold()
			} else if upstream := s.upstream(v); upstream != nil {
				v.Check(origin(u) == origin(upstream), "endpoint", "", origin(u)+" instead of "+origin(upstream))
			}
		}),
	},
	{
		ID: "http-53", Class: "observation", In: "B-E", Side: "server", Transport: "http",
		Text:   "An event stream is silent for longer than 60 seconds without a comment line; intermediaries and clients cut idle connections.",
		Source: "E:basic/transports/streamable-http#receiving-messages",
		Fix:    "Send a comment line every 15 to 30 s.",
		New: func(s *Session) Hooks {
			last := bounded.Map[uint64, time.Duration]{Max: maxStreams} // by exchange
			return Hooks{Frame: func(e *session.Entry, v *Verdict) {
				begins := e.Event.Name == tap.EventResponse && mediaType(&e.Event) == eventStream
				at, open := last.Get(e.Frame.Exchange)
				over := e.Event.Name == tap.EventEnd && open
				if !begins && !over && e.Frame.Form != tap.FormEvent {
					return
				}
				if open {
					silence := e.Frame.At - at
					v.Check(silence <= time.Minute, e.Exchange.Method, "", fmt.Sprintf("silent for %v", silence.Round(time.Second)))
				}
				if last.Put(e.Frame.Exchange, e.Frame.At); over {
					last.Delete(e.Frame.Exchange)
				}
			}}
		},
	},
}

// streamCut is the finding text for a stream that ended without its response.
const streamCut = "the stream ended without the response"

// streamEnds judges http-08.
func streamEnds(x *Exchange, v *Verdict) {
	if !x.carriesRequest() || !x.streams() || x.HungUp != 0 {
		return
	}
	last, over := time.Duration(0), true
	for _, c := range x.Carried {
		switch {
		case c.Lane == tap.ToServer && c.Kind == jsonrpc.Request:
			over = over && c.Method != "subscriptions/listen"
		case c.Lane == tap.ToClient && (c.Role == session.RoleResponse || c.Role == session.RoleInterim):
			last = c.At
		}
	}
	if !over || len(x.Carried) == maxCarried || last == 0 && (x.Revision != jsonrpc.Rev20260728 || x.Has(tap.ToClient, jsonrpc.ErrorResponse)) {
		return // see http-09
	}
	switch {
	case x.End == nil:
		v.Skip("the recording ends before the stream")
	case last == 0 && x.End.By != "server":
	case last == 0:
		v.Violate(x.about(), "", streamCut)
	default:
		v.Check(x.Times[2]-last < 5*time.Second, x.about(), "", fmt.Sprintf("open for %v after the response", (x.Times[2]-last).Round(time.Millisecond)))
	}
}

// streamCarriesResponse judges http-09.
func streamCarriesResponse(s *Session) Hooks {
	cancelled := bounded.Map[uint64, bool]{Max: maxStreams} // exchanges
	resumable := bounded.Map[uint64, bool]{Max: maxStreams}
	heads := bounded.Map[uint64, uint64]{Max: maxStreams}    // the heads of requests, by exchange
	resuming := bounded.Map[uint64, uint64]{Max: maxStreams} // the heads of streams, by exchange of a GET
	status := bounded.Map[uint64, int]{Max: maxStreams}      // status of the last GET that resumed a stream, by head
	hooks := streamable(func(x *Exchange, v *Verdict) {
		if !x.carriesRequest() || !x.streams() || x.HungUp != 0 || x.End == nil || x.End.By != "server" || len(x.Carried) == maxCarried {
			return
		}
		for _, c := range x.Carried {
			if c.Lane == tap.ToClient && (c.Kind == jsonrpc.Response || c.Kind == jsonrpc.ErrorResponse) {
				v.Hold()
				return
			}
		}
		if _, ok := cancelled.Get(x.Number); ok {
			return
		}
		if _, ok := resumable.Get(x.Number); ok {
			if x.Revision == jsonrpc.Rev20251125 {
				v.Hold()
			} else {
				v.Skip("the stream may be resumed")
			}
			return
		}
		v.Violate(x.about(), "", streamCut)
	})(s)
	hooks.Call = func(c *session.Call, v *Verdict) {
		r, ok := s.requests.Get(c.Ref)
		if !ok || c.Answer != (session.Ref{}) && c.Answer != c.Cancel {
			return
		}
		head, _ := heads.Get(r.Exchange)
		if n, ok := status.Get(head); ok && n >= 400 && n != 401 && n != 403 && n != 404 {
			v.Violate(c.Method, "", fmt.Sprintf(streamCut+", and the server refused to resume it with HTTP %d", n))
		}
	}
	hooks.Frame = func(e *session.Entry, _ *Verdict) {
		if e.Frame.Form == tap.FormEvent && tap.ParseServerSentEvent(e.Frame.Raw).ID != "" {
			resumable.Put(e.Frame.Exchange, true)
		}
		if e.Event.Name == tap.EventRequest {
			heads.Put(e.Frame.Exchange, e.Frame.Seq)
		}
		if e.Resumes != 0 && e.Event.Name == tap.EventRequest {
			resuming.Put(e.Frame.Exchange, e.Resumes)
		}
		if first, ok := resuming.Get(e.Frame.Exchange); ok && e.Event.Name == tap.EventResponse && e.Event.By != "tap" {
			status.Put(first, e.Event.Status)
		}
		noteCancelled(s, e, &cancelled)
	}
	return hooks
}

// noteCancelled records the exchanges of the requests that a frame cancels.
func noteCancelled(s *Session, e *session.Entry, cancelled *bounded.Map[uint64, bool]) {
	for _, p := range e.Parts {
		if p.Role == session.RoleCancel {
			if r, ok := s.requests.Get(p.Call); ok {
				cancelled.Put(r.Exchange, true)
			}
		}
	}
}

// progressOnStream judges http-10.
func progressOnStream(s *Session) Hooks {
	calls := bounded.Map[uint64, session.Ref]{Max: maxStreams} // of exchanges with a single request
	return Hooks{
		Watch: func(m *Message) {
			if m.Kind != jsonrpc.Request || m.Lane != tap.ToServer || m.Path != "$" || m.Entry.Frame.Form != tap.FormBody {
				return
			}
			if _, batch := calls.Get(m.Entry.Frame.Exchange); batch || m.Part.Call == (session.Ref{}) {
				calls.Put(m.Entry.Frame.Exchange, session.Ref{})
				return
			}
			calls.Put(m.Entry.Frame.Exchange, m.Part.Call)
		},
		On: []string{onProgress},
		Message: func(m *Message, v *Verdict) {
			own, ok := calls.Get(m.Entry.Frame.Exchange)
			request, known := s.requests.Get(m.Part.Call)
			if !ok || own == (session.Ref{}) || m.Part.Role != session.RoleProgress || m.Part.Guess || m.Part.Late || !known {
				return
			}
			if request.Params.Get("task") != nil || m.Part.State == session.StateWorking {
				return // a task may report its progress on another stream
			}
			v.CheckValue(m.Part.Call == own, request.Method, "$.params.progressToken", "the token of another request", m.Param("progressToken"))
		},
	}
}

// eventIDs judges http-16.
func eventIDs(s *Session) Hooks {
	seen := bounded.Map[string, uint64]{Max: maxEvents}
	return Hooks{Frame: func(e *session.Entry, v *Verdict) {
		if e.Frame.Form != tap.FormEvent || s.Transport != "http" || s.Number == 0 || e.Replays > 0 || !v.judged() {
			return
		}
		id := strings.Clone(jsonrpc.Bound(tap.ParseServerSentEvent(e.Frame.Raw).ID))
		if id == "" {
			return
		}
		first, again := seen.Get(id)
		seen.Put(id, e.Frame.Seq)
		x := s.checker.exchangeOf(e)
		switch {
		case !again:
			v.Hold()
		case x == nil || x.Request == nil || field(x.Request, "Last-Event-ID") != nil:
			v.Skip("the stream was resumed")
		default:
			v.Violate("id", "", fmt.Sprintf("id %s, which event %d had", id, first))
		}
	}}
}

// responseOnGET judges http-14.
func responseOnGET(s *Session) Hooks {
	roots := bounded.Map[uint64, uint64]{Max: maxStreams} // first frames of streams, by exchange
	return Hooks{
		Frame: func(e *session.Entry, _ *Verdict) { noteRoot(e, &roots) },
		On:    []string{"result", "error"},
		Message: func(m *Message, v *Verdict) {
			x := m.exchange()
			if s.Transport != "http" || m.Entry.Frame.Form != tap.FormEvent || x == nil || x.Request == nil || x.Request.Method != "GET" {
				return
			}
			if resumed, ok := roots.Get(x.Number); ok && m.Request != nil {
				if root, ok := roots.Get(m.Request.Exchange); ok && root != resumed && field(x.Request, "Last-Event-ID") != nil {
					v.Violate(m.Subject(), "$", "a response of another stream than the one that is resumed")
					return
				}
			}
			v.Check(field(x.Request, "Last-Event-ID") != nil, m.Subject(), "$", "a response on the stream of a GET")
		},
	}
}

// noteRoot records which stream the exchange of a request continues.
func noteRoot(e *session.Entry, roots *bounded.Map[uint64, uint64]) {
	if e.Event.Name != tap.EventRequest {
		return
	}
	if e.Resumes != 0 {
		roots.Put(e.Frame.Exchange, e.Resumes)
	} else if field(&e.Event, "Last-Event-ID") == nil {
		roots.Put(e.Frame.Exchange, e.Frame.Seq)
	}
}

// replayedEvents judges http-17.
func replayedEvents(s *Session) Hooks {
	roots := bounded.Map[uint64, uint64]{Max: maxStreams} // first frames of streams, by exchange
	events := bounded.Map[uint64, uint64]{Max: maxEvents} // the same, by frame number of an event
	return Hooks{Frame: func(e *session.Entry, v *Verdict) {
		noteRoot(e, &roots)
		x := s.checker.exchangeOf(e)
		if e.Frame.Form != tap.FormEvent || x == nil || x.Request == nil || !v.judged() {
			return
		}
		root, ok := roots.Get(e.Frame.Exchange)
		if !ok && field(x.Request, "Last-Event-ID") == nil {
			root, ok = x.Heads[0], true
		}
		if e.Replays == 0 {
			if ok {
				events.Put(e.Frame.Seq, root)
			}
			return
		}
		first, known := events.Get(e.Replays)
		if !ok || !known {
			v.Skip("the original stream is not in the recording")
			return
		}
		v.Check(first == root, "id", "", fmt.Sprintf("event %d, which another stream carried", e.Replays))
	}}
}

// primingEvent judges http-18.
func primingEvent(s *Session) Hooks {
	begun := bounded.Map[uint64, bool]{Max: maxStreams} // streams that were primed or judged
	return Hooks{Frame: func(e *session.Entry, v *Verdict) {
		if e.Frame.Form != tap.FormEvent || e.Exchange.Method != "POST" || e.Revision() != jsonrpc.Rev20251125 || s.Transport != "http" {
			return
		}
		event := tap.ParseServerSentEvent(e.Frame.Raw)
		if !event.HasID && event.Data == nil {
			return // a comment
		}
		judged, ok := begun.Get(e.Frame.Exchange)
		switch {
		case !ok && event.ID != "" && len(event.Data) == 0:
			v.Hold()
		case !judged && event.ID != "":
			v.Violate("id", "", "no empty event with an id comes before "+event.ID)
		case !ok:
			begun.Put(e.Frame.Exchange, false)
			return
		}
		begun.Put(e.Frame.Exchange, true)
	}}
}

// reconnectWaits judges http-19.
func reconnectWaits(s *Session) Hooks {
	type stream struct {
		retry, ended time.Duration
	}
	streams := bounded.Map[uint64, stream]{Max: maxStreams} // by first frame
	roots := bounded.Map[uint64, uint64]{Max: maxStreams}
	return Hooks{Frame: func(e *session.Entry, v *Verdict) {
		x := s.checker.exchangeOf(e)
		if x == nil || s.Transport != "http" || e.Revision() != jsonrpc.Rev20251125 {
			return
		}
		root, ok := roots.Get(x.Number)
		if !ok {
			root = x.Heads[0]
		}
		at, _ := streams.Get(root)
		switch {
		case e.Event.Name == tap.EventRequest && e.Resumes != 0:
			roots.Put(x.Number, e.Resumes)
			at, ok := streams.Get(e.Resumes)
			if ok && at.retry > 0 && at.ended > 0 {
				wait := e.Frame.At - at.ended
				v.Check(wait >= at.retry*9/10, "retry", "", fmt.Sprintf("%v instead of %v", wait.Round(time.Millisecond), at.retry))
			}
		case e.Event.Name == tap.EventEnd && e.Event.By == "server" && x.HungUp == 0:
			if at.retry > 0 {
				at.ended = e.Frame.At
				streams.Put(root, at)
			}
		case e.Frame.Form == tap.FormEvent:
			if ms, err := strconv.ParseUint(tap.ParseServerSentEvent(e.Frame.Raw).Retry, 10, 31); err == nil {
				at.retry = time.Duration(ms) * time.Millisecond
				streams.Put(root, at)
			}
		}
	}}
}

// endpointEvent returns New for a rule about the first event of a stream of HTTP+SSE.
func endpointEvent(judge func(e *tap.ServerSentEvent, s *Session, v *Verdict)) func(*Session) Hooks {
	return func(s *Session) Hooks {
		first := true
		return Hooks{Frame: func(e *session.Entry, v *Verdict) {
			if e.Frame.Form != tap.FormEvent || !first {
				return
			}
			event := tap.ParseServerSentEvent(e.Frame.Raw)
			if event.Name == "" && event.Data == nil {
				return // a comment
			}
			first = false
			if x := s.checker.exchangeOf(e); x != nil && x.Request != nil {
				judge(&event, s, v)
			} else {
				v.Skip("the recording began later")
			}
		}}
	}
}

// eventForm judges http-48.
func eventForm(s *Session) Hooks {
	return Hooks{Frame: func(e *session.Entry, v *Verdict) {
		if e.Event.Name == tap.EventEnd && strings.Contains(e.Event.Error, tap.EndWithinEvent) {
			v.Violate("", "", "no blank line after the last event, so clients ignore it")
		}
		if e.Frame.Form != tap.FormEvent || e.Frame.Lane != tap.ToClient {
			return
		}
		x := s.checker.exchangeOf(e)
		event := tap.ParseServerSentEvent(e.Frame.Raw)
		data := jsonrpc.Value(strings.TrimSpace(string(event.Data[:min(len(event.Data), maxValidated)])))
		switch {
		case len(data) == 0 || event.Name == "endpoint":
		case e.Frame.Truncated || !e.Frame.Whole():
			v.Skip("the frame is truncated or too large to be read")
		case event.Name != "" && event.Name != "message":
			if data.Get("jsonrpc") != nil {
				v.Violate(event.Name, "", "a message in an event named "+event.Name)
			}
		case isNoMessage(data) && x != nil && x.carriesRequest() && jsonrpc.Valid(data, jsonrpc.MaxDepth): // a GET stream may carry other events
			v.Violate("", "$", "not a message: "+string(data))
		case data.IsObject() || data.IsArray() || !jsonrpc.Valid(data, jsonrpc.MaxDepth):
			v.Hold() // see http-49 if it is not valid JSON
		default:
			v.Violate("", "$", "not a message: "+string(data))
		}
	}}
}
