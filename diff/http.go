package diff

import (
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

// headers are the header fields of the protocol that were seen on HTTP, each
// with whose they are before it, such as "request mcp-method".
type headers map[string]bool

// maxHeaders bounds them.
const maxHeaders = 64

// A traffic is what is known of exchanges that bring no request of the client's: those
// of one notification, of answers, of streams, of the end of a session.
type traffic struct {
	first map[int]session.Ref // the first of each status
}

// maxTraffic is the maximum number of kinds of exchanges, and of statuses, that are
// distinguished.
const maxTraffic = 64

// An exchange is one that is open.
type exchange struct {
	calls []*call
	// kind names what it is where it brings no call, "" for what does not count.
	kind string
}

// event takes an event of the run: of those of HTTP, status, fields and the end.
func (s *Session) event(entry *session.Entry) {
	f, e := entry.Frame, &entry.Event
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
			u.http = e.Status
		}
	case tap.EventEnd:
		s.over(f, s.exchange(f.Exchange), entry.Status())
		delete(s.exchanges, f.Exchange)
	}
}

// exchange finds an exchange that is open.
func (s *Session) exchange(number uint64) *exchange {
	x := s.exchanges[number]
	if x == nil {
		x = &exchange{}
		s.exchanges[number] = x
	}
	return x
}

// streamKind names an exchange without a message of the client's by its head.
func streamKind(e *tap.Event) string {
	switch e.Method {
	case "GET":
		for _, field := range e.Header {
			if strings.EqualFold(field[0], "Last-Event-ID") {
				return "the GET that resumes a stream"
			}
		}
		return "the GET of a stream"
	case "DELETE":
		return "the DELETE of the session"
	}
	return ""
}

// over takes the end of an exchange.
func (s *Session) over(f *tap.Frame, x *exchange, status int) {
	if status == 0 || x.kind == "" || len(x.calls) > 0 {
		return
	}
	t := s.traffic[x.kind]
	if t == nil {
		if len(s.traffic) == maxTraffic {
			return
		}
		t = &traffic{first: map[int]session.Ref{}}
		s.traffic[x.kind] = t
	}
	if _, known := t.first[status]; !known && len(t.first) < maxTraffic {
		t.first[status] = session.Ref{Seq: f.Seq}
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

// What HTTP has on calls that are not answered, and on exchanges that bring none.

// unanswered reports a call that has an answer on one side only.
func (e *engine) unanswered(w *where, p *pair) {
	if p.a.embedded || p.b.embedded {
		if p.a.embedded != p.b.embedded || p.a.request.part != p.b.request.part {
			return // what a user was sent to do is not answered in 2025-11-25
		}
	}
	f := &finding{class: Breaking, kind: Removed, what: "it is not answered"}
	answered, other := p.a, p.b
	if p.b.answered() {
		f.class, f.kind, f.what = Behaviour, Added, "it is answered"
		answered, other = p.b, p.a
	} else if how := other.ending(); how != "" {
		f.what = "it is " + how
	}
	why, lost := e.opt.Lost[p.a.ref]
	switch {
	case lost && f.kind == Removed && p.up == nil:
		f.reason = why
	case e.goodbye(answered, p):
		return
	case f.kind == Removed && other.refused && !answered.worked():
		f.class, f.what = Behaviour, "it fails in another way: it is "+other.ending()
	case other.status == session.CallCancelled:
		if f.kind == Removed {
			f.class, f.what = Behaviour, "it was cancelled and not answered"
		}
	case p.one().method == "subscriptions/listen" || p.up != nil:
		f.class = Behaviour
	}
	w.part = answered.answer.part
	f.path = jsontree.Path{jsontree.To(w.part.String())}
	v := &f.a
	if f.kind == Added {
		v = &f.b
	}
	if *v = e.value(&answered.answer); e.err == nil {
		e.report(w, f)
	}
}

// goodbye reports whether the answer to a subscription on HTTP is the last thing that
// happened: a client ends it by leaving, and whether the server still says that it is
// over is chance (2026-07-28 basic/patterns/subscriptions).
func (e *engine) goodbye(answered *call, p *pair) bool {
	s := e.a
	if answered == p.b {
		s = e.b
	}
	return answered.method == "subscriptions/listen" && answered.worked() &&
		(p.a.exchange != 0 || p.b.exchange != 0) && answered.answer.ref().Seq > s.asked
}

// ending says how a call ended that was not answered, "" if nothing tells.
func (u *call) ending() string {
	switch {
	case u.refused:
		return "refused with HTTP " + strconv.Itoa(u.http)
	case u.hungUp || u.cancel != nil:
		return "cancelled"
	case u.brokenOff:
		return "broken off"
	}
	return ""
}

// lostOtherwise reports a call that neither side answers, each in a way of its own.
// Where both were refused their statuses are compared, and that one was cancelled is
// reported by itself.
func (e *engine) lostOtherwise(w *where, p *pair) {
	old, new := p.a.ending(), p.b.ending()
	if p.a.refused == p.b.refused || old == "cancelled" || new == "cancelled" {
		return
	}
	if old == "" {
		old = "without an answer"
	}
	if new == "" {
		new = "without an answer"
	}
	e.report(w, &finding{class: Behaviour, kind: Changed, path: jsontree.Path{jsontree.To("http"), jsontree.To("status")},
		what: "it is " + new + " instead of " + old})
}

// compareHTTP compares the HTTP status of the answers, where both sides have
// one.
func (e *engine) compareHTTP(p *pair) {
	a, b := p.a.http, p.b.http
	if a == b || a == 0 || b == 0 || p.a.elsewhere || p.b.elsewhere || p.a.answered() != p.b.answered() {
		return
	}
	f := &finding{class: Behaviour, kind: Changed, path: jsontree.Path{jsontree.To("http"), jsontree.To("status")},
		what: "the HTTP status is " + strconv.Itoa(b) + " instead of " + strconv.Itoa(a)}
	if e.cross && p.a.answerKind == jsonrpc.ErrorResponse && p.b.answerKind == jsonrpc.ErrorResponse {
		f.class, f.same = Expected, true
		f.reason = "2026-07-28 gives errors a status of their own"
		f.page = "2026-07-28/basic/transports/streamable-http"
	}
	e.report(p.of(InAnswer, tap.ToClient, p.a.answer.ref(), p.b.answer.ref()), f)
}

// compareTraffic compares what became of exchanges that bring no call, where both
// sides have some of a kind: how many there are is a matter of time. A client must
// cope with a server that has no stream of its own and ends no sessions (2025-11-25
// basic/transports).
func (e *engine) compareTraffic() {
	for _, kind := range sortedKeys(e.a.traffic) {
		b := e.b.traffic[kind]
		if b == nil {
			continue
		}
		a := e.a.traffic[kind]
		for _, status := range refusals(b) {
			if _, both := a.first[status]; !both {
				f := &finding{class: Breaking, kind: Added, what: fmt.Sprintf("%s is refused with HTTP %d", kind, status)}
				if status == 405 {
					f.class = Behaviour
				}
				e.refusal(f, session.Ref{}, b.first[status])
			}
		}
		for _, status := range refusals(a) {
			if _, both := b.first[status]; !both {
				e.refusal(&finding{class: Behaviour, kind: Removed, what: fmt.Sprintf("%s is not refused with HTTP %d any more", kind, status)},
					a.first[status], session.Ref{})
			}
		}
	}
}

func (e *engine) refusal(f *finding, a, b session.Ref) {
	f.path = jsontree.Path{jsontree.To("http"), jsontree.To("status")}
	e.report(&where{in: InSession, by: tap.ToClient, refA: a, refB: b}, f)
}

// refusals are the statuses that are one, in order.
func refusals(t *traffic) (all []int) {
	for status := range t.first {
		if status >= 400 {
			all = append(all, status)
		}
	}
	slices.Sort(all)
	return all
}

// compareHeaders compares which header fields of the protocol were used on HTTP,
// where both sides did.
func (e *engine) compareHeaders() {
	if len(e.a.headers) == 0 || len(e.b.headers) == 0 {
		return
	}
	for _, name := range sortedKeys(e.a.headers) {
		if !e.b.headers[name] {
			e.header(name, Removed)
		}
	}
	for _, name := range sortedKeys(e.b.headers) {
		if !e.a.headers[name] {
			e.header(name, Added)
		}
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// header reports a header field that only one side has, named as in headers.
func (e *engine) header(name string, kind Kind) {
	whose, field, _ := strings.Cut(name, " ")
	has, lacks := e.revA, e.revB
	f := &finding{class: Behaviour, kind: kind, path: jsontree.Path{jsontree.To("http"), jsontree.To(whose), jsontree.To(field)}}
	f.what = "the header field is not sent any more"
	if kind == Added {
		has, lacks = e.revB, e.revA
		f.what = "the header field is new"
	}
	switch {
	case !known(has) || !known(lacks):
	case field == "mcp-session-id" && has < rev2026 && lacks >= rev2026:
		f.class, f.reason, f.page = Expected, "2026-07-28 has no sessions", "2026-07-28/basic/transports/streamable-http"
	case field == "mcp-protocol-version" && has >= revJun25 && lacks < revJun25:
		f.class, f.reason, f.page = Expected, "it is new in 2025-06-18", "2025-06-18/basic/transports#protocol-version-header"
	case has >= rev2026 && lacks < rev2026:
		f.class, f.reason = Expected, "it is new in 2026-07-28"
		f.page = "2026-07-28/basic/transports/streamable-http#standard-request-headers"
	}
	by := tap.ToServer
	if whose == "response" {
		by = tap.ToClient
	}
	e.report(&where{in: InSession, by: by}, f)
}
