package diff

import (
	"slices"
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// part takes one message.
func (s *Session) part(a *arrived) {
	if a.p.Role == session.RoleReplay {
		return // how much a server sends again depends on when the stream broke
	}
	u := s.byRef[a.p.Call]
	if a.p.Call == a.p.Message {
		s.begin(a)
		return
	}
	if u != nil {
		u.marked = u.marked || a.marked
	}
	switch a.p.Role {
	case session.RoleOrphan:
		if !s.answersEarly(a) {
			s.note(a, u)
		}
	case session.RoleRetry:
		s.again(a, u)
	case session.RoleInterim:
		s.interim(a, u)
	case session.RoleResponse:
		s.response(a, u)
	default:
		s.note(a, u)
	}
}

// begin takes the first request of a call.
func (s *Session) begin(a *arrived) {
	p := a.p
	u := &unit{
		ref: p.Message, lane: p.Lane, method: s.word(p.Method), subject: s.word(jsonrpc.Subject(*a.m)), at: p.At,
		exchange: p.Exchange, marked: a.marked,
	}
	var v jsontree.Value
	u.request, v = s.payload(a, params, u.method)
	s.setKeys(u, v)
	if strings.HasSuffix(u.method, "/list") {
		u.cursor = v.Get("cursor").Hash()
	}
	s.byRef[u.ref] = u
	if a.early && u.lane == tap.ToClient && len(s.early) < maxEarly {
		s.early[string(a.m.ID)] = u
	}
	if u.lane == tap.ToServer {
		s.asked = p.Message.Seq
		s.open++
	}
	if parent := s.byRef[p.Parent]; parent != nil {
		u.parent, u.guess, u.alone = parent, p.Guess, s.open == 1
		parent.asked = append(parent.asked, u)
		parent.wait(p.At, 1)
	} else {
		s.units = append(s.units, u)
	}
	s.carried(u)
	s.opening.asked(s, u, v)
}

// carried notes which HTTP exchange a call is asked in, if any.
func (s *Session) carried(u *unit) {
	if u.exchange != 0 {
		x := s.exchange(u.exchange)
		x.calls = append(x.calls, u)
	}
}

// carriedNote notes in which HTTP exchange the client says what is no call, if any.
func (s *Session) carriedNote(a *arrived) {
	if a.p.Exchange == 0 || a.p.Lane != tap.ToServer || a.m.Kind == jsonrpc.Invalid {
		return
	}
	kind := "the POST of an answer"
	if a.m.Kind == jsonrpc.Notification {
		kind = "the POST of " + bounded(a.m.Method)
	}
	s.exchange(a.p.Exchange).kind = kind
}

// maxEarly bounds the early requests of the server.
const maxEarly = 1024

// answersEarly takes the response to an early request of the server, and reports
// whether it is one.
func (s *Session) answersEarly(a *arrived) bool {
	u := s.early[string(a.m.ID)]
	if u == nil || a.p.Lane != tap.ToServer {
		return false
	}
	delete(s.early, string(a.m.ID))
	delete(s.byRef, u.ref) // what the tracker knows of it is that it has no response
	s.response(a, u)
	u.status, u.end = session.CallDone, a.p.At
	if a.m.Kind == jsonrpc.ErrorResponse {
		u.status = session.CallError
	}
	u.own += u.end - u.at
	return true
}

// again takes a further request of a call: the answers in it are to what the
// server asked, and the server goes on.
func (s *Session) again(a *arrived, u *unit) {
	if u == nil {
		return
	}
	u.exchange = a.p.Exchange
	s.carried(u)
	_, v := s.payload(a, params, u.method)
	open := map[string]*unit{}
	for _, q := range u.asked {
		if q.embedded && !q.answered() && open[q.embeddedKey()] == nil {
			open[q.embeddedKey()] = q
		}
	}
	for key, answer := range v.Get("inputResponses").All() {
		if q := open[key]; q != nil && !q.answered() {
			q.answer = s.inside(a, params, answer, jsontree.To("inputResponses"), jsontree.To(key))
			q.answerKind, q.status = jsonrpc.Response, session.CallDone
		}
	}
	if u.waits > 0 && u.status == session.CallInputRequired {
		u.status = session.CallPending
		u.wait(a.p.At, -1)
	}
}

// embeddedKey is the key in inputRequests.
func (u *unit) embeddedKey() string {
	within := u.request.oddity().within
	return within[len(within)-2].Name
}

// inside is the payload of a value inside a message.
func (s *Session) inside(a *arrived, p part, v jsontree.Value, within ...jsontree.Step) payload {
	x := s.at(a.p.Message, p)
	x.there, x.value, x.spelled, x.odd = true, v.Hash(), v.Spelled(), &oddity{within: within}
	return x
}

// interim takes an answer that does not end its call.
func (s *Session) interim(a *arrived, u *unit) {
	if u == nil {
		return
	}
	all, v := s.payload(a, result, u.method)
	requests := v.Get("inputRequests")
	if requests.Exists() {
		s.embedded(a, u, requests, result, jsontree.To("inputRequests"))
	}
	switch {
	case a.m.ResultType == "input_required":
		u.status = session.CallInputRequired
		u.wait(a.p.At, 1)
	case u.task != nil || a.p.Method != u.method:
	case a.m.ResultType == "task":
		u.task = &all
	case v.Get("task").Exists():
		task := s.inside(a, result, v.Get("task"), jsontree.To("task"))
		u.task = &task
	}
}

// embedded takes the requests that a result, or the news of a task, carries.
// Polls of a task repeat those that were not answered.
func (s *Session) embedded(a *arrived, u *unit, requests jsontree.Value, p part, at jsontree.Step) {
	for key, r := range requests.All() {
		if len(u.asked) >= session.MaxCallRefs*4 || u.asks(key) {
			continue
		}
		v, err := jsontree.Parse(r.Raw())
		if err == nil {
			s.ask(a, u, s.word(bounded(v.Get("method").Text())), p, v.Get("params"), at, jsontree.To(key), jsontree.To("params"))
		}
	}
}

// ask takes one request of the server that stands in a message, with its params.
func (s *Session) ask(a *arrived, u *unit, method string, p part, v jsontree.Value, within ...jsontree.Step) {
	q := &unit{
		ref: a.p.Message, lane: tap.ToClient, method: method, at: a.p.At, parent: u, embedded: true, marked: a.marked,
		status: session.CallPending, request: s.inside(a, p, v, within...),
	}
	q.request.there = v.Exists()
	q.request.value, q.request.spelled = s.bare(params, method, v)
	q.subject = s.word(jsonrpc.Subject(jsonrpc.Message{Kind: jsonrpc.Request, Method: method, Params: v.Raw()}))
	s.setKeys(q, v)
	u.asked = append(u.asked, q)
}

// asks reports whether a key of inputRequests is open.
func (u *unit) asks(key string) bool {
	for _, q := range u.asked {
		if q.embedded && !q.answered() && q.embeddedKey() == key {
			return true
		}
	}
	return false
}

// response takes the answer that ends a call.
func (s *Session) response(a *arrived, u *unit) {
	if u == nil {
		return
	}
	p := result
	if a.m.Kind == jsonrpc.ErrorResponse {
		p = fault
	}
	var v jsontree.Value
	u.answer, v = s.payload(a, p, u.method)
	u.answerKind, u.code, u.failed = a.m.Kind, bounded(a.m.ErrorCode), a.m.IsError
	u.elsewhere = a.p.Exchange != u.exchange
	if u.method != a.p.Method && a.p.Method == "tasks/get" {
		s.taskEnded(a, u, result, v)
	}
	if next := v.Get("nextCursor"); next.Kind() == jsontree.String {
		u.next = next.Hash()
	}
	s.opening.answered(s, u, a, v)
	if u.code == "-32042" {
		s.elicitations(a, u, v)
	}
}

// taskEnded takes the end of a task of the extension: its result or error
// stands inside the answer to a poll, or in the news of it.
func (s *Session) taskEnded(a *arrived, u *unit, p part, v jsontree.Value) {
	name := "result"
	if !v.Get(name).Exists() {
		name = "error"
	}
	full, err := jsontree.Parse(v.Get(name).Raw())
	if err != nil { // or neither is there
		return
	}
	u.answer, u.answerKind = s.inside(a, p, full, jsontree.To(name)), jsonrpc.Response
	if name == "error" {
		u.answerKind, u.code = jsonrpc.ErrorResponse, bounded(string(full.Get("code").Raw()))
		return
	}
	u.answer.value, u.answer.spelled = s.bare(result, u.method, full)
	u.failed = full.Get("isError").True()
}

// elicitations takes what an error asks the user to do first (2025-11-25
// client/elicitation).
func (s *Session) elicitations(a *arrived, u *unit, v jsontree.Value) {
	full, err := jsontree.Parse(v.Raw())
	if err != nil {
		return
	}
	i := 0
	for _, e := range full.Get("data", "elicitations").All() {
		if i == session.MaxCallRefs {
			return
		}
		s.ask(a, u, "elicitation/create", fault, e, jsontree.To("data"), jsontree.To("elicitations"), jsontree.Step{Kind: jsontree.Element, Index: i})
		i++
	}
}

// note takes any other message.
func (s *Session) note(a *arrived, u *unit) {
	p := params
	switch a.m.Kind {
	case jsonrpc.Response:
		p = result
	case jsonrpc.ErrorResponse:
		p = fault
	}
	n := note{lane: a.p.Lane, kind: a.m.Kind, role: a.p.Role, method: s.shared(a.p.Method), late: a.p.Late, guess: a.p.Guess}
	var v jsontree.Value
	n.payload, v = s.payload(a, p, *n.method)
	s.carriedNote(a)
	if a.m.Kind == jsonrpc.Invalid {
		n.value = jsontree.HashString(string(a.f.Raw))
		n.spelled = n.value
		if u == nil && s.flooded(&n) {
			return
		}
	}
	switch {
	case u == nil:
		s.loose = append(s.loose, n)
	case a.p.Role == session.RoleCancel:
		u.cancel = &n
	case a.m.Kind == jsonrpc.Response || a.m.Kind == jsonrpc.ErrorResponse:
		u.repeats = append(u.repeats, n)
	case a.p.Method == "notifications/tasks/status" || a.p.Method == "notifications/tasks":
		s.taskNews(a, u, v)
	default:
		u.notes = append(u.notes, n)
	}
}

// maxInvalid is how many frames that are no message are kept apart. A server that
// floods its stdout has millions of them, and the rest count as one.
const maxInvalid = 10_000

// flooded counts a frame that is no message, and reports whether it was added to
// the last one that is kept.
func (s *Session) flooded(n *note) bool {
	s.invalid++
	if s.invalid == maxInvalid {
		s.rest = len(s.loose) // n comes there
	}
	if s.invalid <= maxInvalid {
		return false
	}
	rest := &s.loose[s.rest]
	rest.value = jsontree.Mix(rest.value, n.value)
	rest.spelled = rest.value
	return true
}

// taskNews takes a notification of a task's status. How often there is one
// depends on timing, so only what it asks for or brings counts.
func (s *Session) taskNews(a *arrived, u *unit, v jsontree.Value) {
	if requests := v.Get("inputRequests"); requests.Exists() {
		s.embedded(a, u, requests, params, jsontree.To("inputRequests"))
	}
	if !u.answered() {
		s.taskEnded(a, u, params, v)
	}
}

// settle takes what the tracker knows of a call when it is over, or at the end.
func (s *Session) settle(c *session.Call) {
	u := s.byRef[c.Ref]
	if u == nil {
		return
	}
	if u.lane == tap.ToServer {
		s.open--
	}
	u.status = c.Status
	u.probe = c.Notes&session.NoteProbe != 0
	u.refused, u.hungUp, u.brokenOff = c.Notes&session.NoteRefused != 0, c.Notes&session.NoteHungUp != 0, c.Notes&session.NoteStreamEnded != 0
	if !c.Status.Settled() {
		return
	}
	u.end = c.End
	if u.waits > 0 {
		u.waits = 1
		u.wait(c.End, -1)
	}
	u.own += c.End - c.At
	if u.parent != nil && u.parent.waits > 0 {
		u.parent.wait(c.End, -1)
	}
}

// join makes one call of those that are one for the person: the pages of a list,
// and a call with the one that repeats it when the user has done what its error
// asked for. It also takes the opening out of the list.
func (s *Session) join() {
	s.opening.settle()
	for _, u := range s.opening.handshakes() {
		if u != nil {
			u.joined = true
		}
	}
	s.joinPages()
	s.joinElicited()
	s.units = slices.DeleteFunc(s.units, func(u *unit) bool { return u.joined })
}

// joinPages joins a list with the pages that it was asked for with the cursors
// it gave. That wires cursors up without comparing them.
func (s *Session) joinPages() {
	waiting := map[uint64]*unit{}
	for _, u := range s.units {
		of := jsontree.HashString(u.method)
		head := u
		if u.cursor != 0 && u.worked() {
			if first := waiting[jsontree.Mix(of, u.cursor)]; first != nil {
				delete(waiting, jsontree.Mix(of, u.cursor))
				first.absorb(u)
				first.pages = append(first.pages, u.answer)
				first.own += u.own
				first.next = u.next
				head = first
			}
		}
		if head.next != 0 && head.worked() {
			waiting[jsontree.Mix(of, head.next)] = head
		}
	}
}

// joinElicited joins a call that was refused until the user visits a page with
// the next one that asks for the same (2025-11-25 client/elicitation): in
// 2026-07-28 the two are one chain.
func (s *Session) joinElicited() {
	waiting := map[uint64]*unit{}
	for _, u := range s.units {
		if first := waiting[u.key]; first != nil && !u.joined && u.at >= first.end {
			delete(waiting, u.key)
			first.absorb(u)
			first.asked = append(first.asked, u.asked...)
			first.answer, first.answerKind, first.code, first.failed = u.answer, u.answerKind, u.code, u.failed
			first.status, first.http, first.end = u.status, u.http, u.end
			first.own += u.own
			if first.code == "-32042" {
				waiting[u.key] = first
			}
			continue
		}
		if u.code == "-32042" && u.answerKind == jsonrpc.ErrorResponse && !u.joined {
			waiting[u.key] = u
		}
	}
}

// absorb takes over what belongs to another call.
func (u *unit) absorb(other *unit) {
	u.notes = append(u.notes, other.notes...)
	u.repeats = append(u.repeats, other.repeats...)
	u.marked = u.marked || other.marked
	other.joined = true
}
