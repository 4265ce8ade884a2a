package diff

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// headers are the header fields of the protocol on HTTP, such as "request mcp-method".
type headers map[string]bool

// maxHeaders is the maximum number of headers.
const maxHeaders = 64

// A traffic describes the exchanges of one kind that carry no client request, such as those of a
// notification or a stream. It has the first exchange with each status.
type traffic map[int]session.Ref

// maxTraffic is the maximum number of kinds of exchanges, and of statuses per kind.
const maxTraffic = 64

// refusal returns the status with which all exchanges were refused, 0 if there is no such single
// status.
func (t traffic) refusal() int {
	for status := range t {
		if len(t) == 1 && status >= 400 {
			return status
		}
	}
	return 0
}

// An exchange is an HTTP exchange that is open.
type exchange struct {
	calls []*call
	kind  string // the kind if it has no call; "" if it is not compared
}

// event adds an event of the tap.
func (s *Session) event(entry *session.Entry) {
	f, e := entry.Frame, &entry.Event
	s.signalled = s.signalled || e.Name == tap.EventSignal
	s.left = s.left || e.Name == tap.EventEOF && e.Lane == tap.ToServer.String()
	if e.Name == tap.EventExit && !s.signalled {
		s.exitedWith(f, e)
	}
	if f.Exchange == 0 {
		return
	}
	switch e.Name {
	case tap.EventRequest:
		s.headers.add("request", e.Header)
		s.exchange(f.Exchange).kind = streamKind(e)
	case tap.EventResponse:
		if e.Status < 200 && e.Status != 101 {
			return
		}
		s.headers.add("response", e.Header)
		for _, u := range s.exchange(f.Exchange).calls {
			u.http, u.media = e.Status, mediaType(e.Header)
		}
	case tap.EventEnd:
		for _, c := range entry.CutOff {
			s.cut(c)
		}
		s.over(f, s.exchange(f.Exchange), entry.Status())
		delete(s.exchanges, f.Exchange)
	}
}

// firstSignal is the first exit status with which shells and containers report that a signal
// ended a program. Such a signal is attributed to the client.
const firstSignal = 128

// exitedWith records how a server exited to which the client sent no signal.
func (s *Session) exitedWith(f *tap.Frame, e *tap.Event) {
	how := "after " + e.Signal
	if e.Code != nil && e.Signal == "" && *e.Code >= 0 && *e.Code < firstSignal {
		s.exit, s.exited = *e.Code, session.Ref{Seq: f.Seq}
		how = "with status " + strconv.Itoa(*e.Code)
	}
	if s.open > 0 && !s.left {
		s.died = "the server exited " + how
	}
}

// compareExits reports a server that exited with a failure status on the second side only. The
// reverse is not reported: a mock of a server that failed exits with 0.
func (e *engine) compareExits() {
	if e.a.exited == (session.Ref{}) || e.b.exited == (session.Ref{}) || e.a.exit != 0 || e.b.exit == 0 || e.opt.Marked {
		return
	}
	e.report(&where{in: InSession, by: tap.ToClient, refA: e.a.exited, refB: e.b.exited}, &finding{
		class: Behaviour, kind: Changed, path: jsontree.Path{jsontree.To("exit")}, old: strconv.Itoa(e.a.exit), new: strconv.Itoa(e.b.exit),
		what: fmt.Sprintf("the server exited with status %d instead of 0", e.b.exit)})
}

// exchange returns an open exchange.
func (s *Session) exchange(number uint64) *exchange {
	x := s.exchanges[number]
	if x == nil {
		x = &exchange{}
		s.exchanges[number] = x
	}
	return x
}

// resumes is the kind of an exchange that resumes a stream.
const resumes = "the GET that resumes a stream"

// mediaType returns the media type of a body, "none" if the head has none.
func mediaType(fields [][2]string) string {
	for _, f := range fields {
		if strings.EqualFold(f[0], "Content-Type") {
			name, _, _ := strings.Cut(f[1], ";")
			return strings.ToLower(strings.TrimSpace(bounded(name)))
		}
	}
	return "none"
}

// streamKind returns the kind of an exchange without a client message.
func streamKind(e *tap.Event) string {
	switch e.Method {
	case "GET":
		for _, field := range e.Header {
			if strings.EqualFold(field[0], "Last-Event-ID") {
				return resumes
			}
		}
		return "the GET of a stream"
	case "DELETE":
		return "the DELETE of the session"
	}
	return ""
}

// over adds the end of an exchange.
func (s *Session) over(f *tap.Frame, x *exchange, status int) {
	if status == 0 || x.kind == "" || len(x.calls) > 0 {
		return
	}
	t := s.traffic[x.kind]
	if t == nil && len(s.traffic) < maxTraffic {
		t = traffic{}
		s.traffic[x.kind] = t
	}
	if _, known := t[status]; !known && t != nil && len(t) < maxTraffic {
		t[status] = session.Ref{Seq: f.Seq}
	}
}

func (h headers) add(whose string, fields [][2]string) {
	for _, f := range fields {
		name := strings.ToLower(f[0])
		if strings.HasPrefix(name, "mcp-") && len(name) < 100 && len(h) < maxHeaders {
			if strings.HasPrefix(name, "mcp-param-") {
				name = "mcp-param-*"
			}
			h[whose+" "+name] = true
		}
	}
}

// unanswered reports a call that has a response on one side only.
func (e *engine) unanswered(w *where, p *pair) {
	if p.a.embedded || p.b.embedded {
		if p.a.embedded != p.b.embedded || p.a.request.part != p.b.request.part {
			return // 2025-11-25 has no answer to the elicitations in an error
		}
	}
	f := &finding{class: Breaking, kind: Removed, what: "no response"}
	answered, lost, v := p.a, p.b, &f.a
	if p.b.answered() {
		f.class, f.kind, f.what = Behaviour, Added, "has a response"
		answered, lost, v = p.b, p.a, &f.b
		if e.opt.Lost != nil && !lost.refused {
			f.class = Timing // the recorded client did not wait for it
		}
	} else if how := lost.ending(); how != "" {
		f.what = how
	}
	why, known := e.opt.Lost[p.a.ref]
	switch {
	case known && f.kind == Removed && p.up == nil:
		f.reason = why
	case e.goodbye(answered, p):
		return
	case f.kind == Removed && lost.refused && !answered.worked():
		f.class, f.what = Behaviour, "different failure: "+lost.ending()
	case lost.status == session.CallCancelled:
		if f.kind == Removed {
			f.class, f.what = Behaviour, "cancelled without a response"
			if waited := p.b.own; waited-p.a.own > e.opt.Slower && float64(waited) > e.opt.Ratio*float64(p.a.own) {
				f.class, f.what = Breaking, "no response until it was cancelled"
			}
		}
	case p.one().method == "subscriptions/listen" || p.up != nil:
		f.class = Behaviour
	}
	if f.what == "no response" && f.reason == "" {
		f.reason = e.b.died
	}
	w.part = answered.answer.part
	f.path = jsontree.Path{jsontree.To(w.part.String())}
	if *v = e.value(&answered.answer); e.err == nil {
		e.report(w, f)
	}
}

// goodbye reports whether a response is the result of a subscription over HTTP after the client's
// last request. The client ends a subscription by closing the stream. Whether the server still
// sends a result depends on timing (2026-07-28 basic/patterns/subscriptions).
func (e *engine) goodbye(answered *call, p *pair) bool {
	s := e.a
	if answered == p.b {
		s = e.b
	}
	return answered.method == "subscriptions/listen" && answered.worked() &&
		(p.a.exchange != 0 || p.b.exchange != 0) && answered.answer.ref().Seq > s.asked
}

// ending describes how a call without a response ended, "" if this is unknown.
func (u *call) ending() string {
	switch {
	case u.refused:
		if u.http == 200 {
			return "a response that is not JSON-RPC"
		}
		return "refused with HTTP " + strconv.Itoa(u.http)
	case u.hungUp || u.cancel != nil:
		return "cancelled"
	case u.cutOff:
		return "cut off"
	case u.brokenOff:
		return "lost"
	}
	return ""
}

// endedDifferently reports a call without a response on both sides that ended in different ways.
// If both were refused, compareHTTP compares the statuses. Cancellations are reported by
// compareCancel.
func (e *engine) endedDifferently(w *where, p *pair) {
	old, now := p.a.ending(), p.b.ending()
	if p.a.refused == p.b.refused || old == "cancelled" || now == "cancelled" {
		return
	}
	const none = "no response"
	e.report(w, &finding{class: Behaviour, kind: Changed, path: statusPath, what: cmp.Or(now, none) + " instead of " + cmp.Or(old, none)})
}

// statusPath is the path for differences in the HTTP status.
var statusPath = jsontree.Path{jsontree.To("http"), jsontree.To("status")}

// compareHTTP compares the HTTP statuses of the responses if both sides have one.
func (e *engine) compareHTTP(p *pair) {
	a, b := p.a.http, p.b.http
	if a == 0 || b == 0 || p.a.otherExchange || p.b.otherExchange || p.a.answered() != p.b.answered() {
		return
	}
	e.compareMedia(p)
	if a == b || a/100 == 2 && b/100 == 2 && e.a.sse != e.b.sse { // a POST of HTTP+SSE gets 202
		return
	}
	f := &finding{class: Behaviour, kind: Changed, path: statusPath,
		what: "the HTTP status is " + strconv.Itoa(b) + " instead of " + strconv.Itoa(a)}
	if e.cross && p.a.answerKind == jsonrpc.ErrorResponse && p.b.answerKind == jsonrpc.ErrorResponse {
		f.expected("in 2026-07-28 errors have their own HTTP status", pageHTTP)
	}
	e.report(p.of(InResponse, tap.ToClient, p.a.answer.ref(), p.b.answer.ref()), f)
}

// compareMedia compares the media types of the bodies that contain the responses. A client must
// support both media types that a server may choose (2025-11-25 basic/transports).
func (e *engine) compareMedia(p *pair) {
	supported := func(media string) bool { return media == "application/json" || media == "text/event-stream" }
	a, b := p.a.media, p.b.media
	if a == b || supported(a) && supported(b) || !p.a.answered() || p.a.http/100 != 2 || p.b.http/100 != 2 {
		return
	}
	f := &finding{class: Behaviour, kind: Changed, path: jsontree.Path{jsontree.To("http"), jsontree.To("content-type")}, old: a, new: b,
		what: "the media type of the response changed"}
	if supported(a) {
		f.class, f.reason = Breaking, "clients refuse it"
	}
	e.report(p.of(InResponse, tap.ToClient, p.a.answer.ref(), p.b.answer.ref()), f)
}

// compareTraffic compares the refusals of exchanges without a call, for the kinds that both sides
// have. The number of such exchanges depends on timing. A 405 is not breaking, because a client
// must support a server without a GET stream or a DELETE (2025-11-25 basic/transports).
func (e *engine) compareTraffic() {
	refused := func(kind Kind, what, format string, t, other traffic) {
		for _, status := range slices.Sorted(maps.Keys(t)) {
			if _, both := other[status]; both || status < 400 {
				continue
			}
			f := &finding{class: Breaking, kind: kind, path: statusPath, what: what + fmt.Sprintf(format, status)}
			w := &where{in: InSession, by: tap.ToClient, refB: t[status]}
			if kind == Removed {
				w.refA, w.refB = w.refB, w.refA
			}
			if kind == Removed || status == 405 {
				f.class = Behaviour
			}
			e.report(w, f)
		}
	}
	for _, kind := range sortedKeys(e.a.traffic) {
		a, b := e.a.traffic[kind], e.b.traffic[kind]
		from, to := a.refusal(), b.refusal()
		switch {
		case b == nil:
		case from != 0 && to != 0 && from != to:
			e.report(&where{in: InSession, by: tap.ToClient, refA: a[from], refB: b[to]}, &finding{class: Behaviour, kind: Changed,
				path: statusPath, what: fmt.Sprintf("%s is refused with HTTP %d instead of %d", kind, to, from)})
		default:
			refused(Added, kind, " is refused with HTTP %d", b, a)
			refused(Removed, kind, " is no longer refused with HTTP %d", a, b)
		}
	}
}

// compareHeaders compares the MCP header fields if both sides have some.
func (e *engine) compareHeaders() {
	a, b := e.a.headers, e.b.headers
	if len(a) == 0 || len(b) == 0 {
		return
	}
	for _, name := range sortedKeys(a) {
		if !b[name] {
			e.header(name, Removed)
		}
	}
	for _, name := range sortedKeys(b) {
		if !a[name] {
			e.header(name, Added)
		}
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// header reports a header field that only one side has.
func (e *engine) header(name string, kind Kind) {
	whose, field, _ := strings.Cut(name, " ")
	has, lacks := e.revA, e.revB
	f := &finding{class: Behaviour, kind: kind, path: jsontree.Path{jsontree.To("http"), jsontree.To(whose), jsontree.To(field)}}
	f.what = "the header field is no longer sent"
	if kind == Added {
		has, lacks = e.revB, e.revA
		f.what = "the header field is new"
	}
	switch {
	case !known(has) || !known(lacks):
	case field == "mcp-session-id" && has < rev2026 && lacks >= rev2026:
		f.class, f.reason, f.page = Expected, "2026-07-28 has no sessions", pageHTTP
	case field == "mcp-protocol-version" && has >= revJun25 && lacks < revJun25:
		f.class, f.reason, f.page = Expected, "new in 2025-06-18", "2025-06-18/basic/transports#protocol-version-header"
	case has >= rev2026 && lacks < rev2026:
		f.class, f.reason = Expected, "new in 2026-07-28"
		f.page = pageHTTP + "#standard-request-headers"
	}
	by := tap.ToServer
	if whose == "response" {
		by = tap.ToClient
	}
	e.report(&where{in: InSession, by: by}, f)
}
