package diff

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// message adds a message.
func (s *Session) message(a *arrived) {
	if a.p.Role == session.RoleReplay {
		return // what a server repeats depends on when the stream broke
	}
	if a.p.Call == a.p.Message {
		s.begin(a)
		return
	}
	u := s.byRef[a.p.Call]
	if a.marked {
		u.mark()
	}
	switch a.p.Role {
	case session.RoleOrphan:
		if !s.answersEarly(a) {
			s.note(a, u)
		}
	case session.RoleRetry:
		if u != nil {
			s.retry(a, u)
		}
	case session.RoleInterim:
		if u != nil {
			s.interim(a, u)
		}
	case session.RoleResponse:
		if u != nil {
			s.response(a, u)
		}
	default:
		s.note(a, u)
	}
}

// begin adds the first request of a call.
func (s *Session) begin(a *arrived) {
	p := a.p
	u := &call{
		ref: p.Message, lane: p.Lane, method: s.intern(p.Method), subject: s.intern(jsonrpc.Subject(*a.m)), at: p.At,
		exchange: p.Exchange,
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
		s.asked, s.firstRequest = p.Message.Seq, cmp.Or(s.firstRequest, p.Message)
		s.open++
	}
	if parent := s.byRef[p.Parent]; parent != nil {
		u.parent, u.guess, u.alone = parent, p.Guess, s.open == 1
		parent.asked = append(parent.asked, u)
		parent.wait(p.At, 1)
	} else {
		s.calls = append(s.calls, u)
	}
	if a.marked {
		u.mark()
	}
	s.carried(u)
	s.opening.asked(s, u, v)
}

// carried records the HTTP exchange of a call.
func (s *Session) carried(u *call) {
	if u.exchange != 0 {
		x := s.exchange(u.exchange)
		x.calls = append(x.calls, u)
	}
}

// maxEarly is the maximum number of early requests of the server.
const maxEarly = 1024

// answersEarly reports whether the message is the response to an early server request, and adds
// it if so.
func (s *Session) answersEarly(a *arrived) bool {
	u := s.early[string(a.m.ID)]
	if u == nil || a.p.Lane != tap.ToServer {
		return false
	}
	delete(s.early, string(a.m.ID))
	delete(s.byRef, u.ref) // the tracker considers it unanswered
	s.response(a, u)
	u.status, u.end = session.CallDone, a.p.At
	if a.m.Kind == jsonrpc.ErrorResponse {
		u.status = session.CallError
	}
	u.own += u.end - u.at
	return true
}

// retry adds a further request of a call, which has the answers to requests of the server.
func (s *Session) retry(a *arrived, u *call) {
	u.exchange = a.p.Exchange
	s.carried(u)
	retry, v := s.payload(a, params, u.method)
	if a.p.Method == u.method && len(u.retries) < session.MaxCallRefs { // not a poll of a task
		u.retries = append(u.retries, retry)
	}
	for key, answer := range v.Get("inputResponses").All() {
		if q := u.openQuestion(key); q != nil {
			q.answer = s.inside(a, params, answer, jsontree.To("inputResponses"), jsontree.To(key))
			q.answerKind, q.status = jsonrpc.Response, session.CallDone
		}
	}
	if u.waits > 0 && u.status == session.CallInputRequired {
		u.status = session.CallPending
		u.wait(a.p.At, -1)
	}
}

// openQuestion returns the unanswered embedded request with a key of inputRequests, nil if
// there is none.
func (u *call) openQuestion(key string) *call {
	for _, q := range u.asked {
		within := q.request.oddity().within
		if q.embedded && !q.answered() && within[len(within)-2].Name == key {
			return q
		}
	}
	return nil
}

// interim adds a result that does not end its call.
func (s *Session) interim(a *arrived, u *call) {
	all, v := s.payload(a, result, u.method)
	s.embedded(a, u, v, result)
	switch {
	case a.m.ResultType == "input_required":
		u.status = session.CallInputRequired
		if len(u.states) < session.MaxCallRefs {
			u.states = append(u.states, v.Get("requestState").Exists())
		}
		u.wait(a.p.At, 1)
	case u.task != nil || a.p.Method != u.method:
	case a.m.ResultType == "task":
		u.task = &all
	case v.Get("task").Exists():
		task := s.inside(a, result, v.Get("task"), jsontree.To("task"))
		u.task = &task
	}
}

// embedded adds the inputRequests in a result or in a notification of a task. Polls of a task
// repeat those without an answer.
func (s *Session) embedded(a *arrived, u *call, v jsontree.Value, p part) {
	for key, r := range v.Get("inputRequests").All() {
		if len(u.asked) >= session.MaxCallRefs*4 || u.openQuestion(key) != nil {
			continue
		}
		v, err := jsontree.Parse(r.Raw())
		if err == nil {
			s.ask(a, u, s.intern(bounded(v.Get("method").Text())), p, v.Get("params"), jsontree.To("inputRequests"), jsontree.To(key), jsontree.To("params"))
		}
	}
}

// ask adds a server request that is embedded in a message, with its params.
func (s *Session) ask(a *arrived, u *call, method string, p part, v jsontree.Value, within ...jsontree.Step) {
	q := &call{
		ref: a.p.Message, lane: tap.ToClient, method: method, at: a.p.At, parent: u, embedded: true, marked: a.marked,
		status: session.CallPending, request: s.inside(a, p, v, within...),
	}
	q.request.there = v.Exists()
	q.request.value, q.request.spelled = s.bare(params, method, v)
	q.subject = s.intern(jsonrpc.Subject(jsonrpc.Message{Kind: jsonrpc.Request, Method: method, Params: v.Raw()}))
	s.setKeys(q, v)
	u.asked = append(u.asked, q)
}

// response adds the response that ends a call.
func (s *Session) response(a *arrived, u *call) {
	p := result
	if a.m.Kind == jsonrpc.ErrorResponse {
		p = fault
	}
	var v jsontree.Value
	u.answer, v = s.payload(a, p, u.method)
	u.answerKind, u.code, u.failed = a.m.Kind, bounded(a.m.ErrorCode), a.m.IsError
	u.otherExchange = a.p.Exchange != u.exchange
	if u.method != a.p.Method && a.p.Method == "tasks/get" {
		s.taskEnded(a, u, result, v)
	}
	if next := v.Get("nextCursor"); next.Kind() == jsontree.String {
		u.next = next.Hash()
	}
	s.opening.answered(s, u, a, v)
	if u.code == urlElicitation {
		s.elicitations(a, u, v)
	}
}

// urlElicitation is the code of an error that refers the user to a web page (2025-11-25
// client/elicitation).
const urlElicitation = "-32042"

// elicitations adds the elicitations in such an error.
func (s *Session) elicitations(a *arrived, u *call, v jsontree.Value) {
	full, err := jsontree.Parse(v.Raw())
	if err != nil {
		return
	}
	all := elements(full.Get("data", "elicitations"))
	for i, e := range all[:min(len(all), session.MaxCallRefs)] {
		s.ask(a, u, "elicitation/create", fault, e, jsontree.To("data"), jsontree.To("elicitations"), jsontree.Step{Kind: jsontree.Element, Index: i})
	}
}

// taskEnded adds the end of a task of the 2026-07-28 extension, whose result or error is part of
// a poll response or of a notification.
func (s *Session) taskEnded(a *arrived, u *call, p part, v jsontree.Value) {
	name := "result"
	if !v.Get(name).Exists() {
		name = "error"
	}
	full, err := jsontree.Parse(v.Get(name).Raw())
	if err != nil { // also if there is neither
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

// note adds any other message.
func (s *Session) note(a *arrived, u *call) {
	if u != nil && u.hungUp && a.p.Late && a.p.Lane == tap.ToClient {
		return // it depends on when the server noticed that its client hung up
	}
	p := params
	switch a.m.Kind {
	case jsonrpc.Response:
		p = result
	case jsonrpc.ErrorResponse:
		p = fault
	}
	n := note{lane: a.p.Lane, kind: a.m.Kind, role: a.p.Role, method: s.intern(a.p.Method), late: a.p.Late, guess: a.p.Guess}
	var v jsontree.Value
	n.payload, v = s.payload(a, p, n.method)
	invalid := a.m.Kind == jsonrpc.Invalid
	if invalid && a.p.Exchange != 0 && s.exchange(a.p.Exchange).kind == resumes && string(bytes.TrimSpace(jsonrpc.Payload(a.f))) == "{}" {
		return // the event store of the TypeScript SDK repeats the empty event that began a stream
	}
	if a.p.Exchange != 0 && a.p.Lane == tap.ToServer && !invalid {
		kind := "the POST of an answer"
		if a.m.Kind == jsonrpc.Notification {
			kind = "the POST of " + bounded(a.m.Method)
		}
		s.exchange(a.p.Exchange).kind = kind
	}
	if invalid {
		n.value = jsontree.HashString(string(bytes.TrimSpace(jsonrpc.Payload(a.f))))
		n.spelled = n.value
	}
	switch {
	case u == nil && invalid:
		s.addInvalid(n)
	case u == nil:
		s.loose = append(s.loose, n)
	case a.p.Role == session.RoleCancel:
		u.cancel = &n
	case p != params:
		u.repeats = append(u.repeats, n)
	case a.p.Method == "notifications/tasks/status" || a.p.Method == "notifications/tasks":
		// Their number depends on timing. Only the requests and results in them are compared.
		s.embedded(a, u, v, params)
		if !u.answered() {
			s.taskEnded(a, u, params, v)
		}
	default:
		u.notes = append(u.notes, n)
	}
}

// maxInvalid is the maximum number of invalid frames that are kept. The last one represents all
// further frames, because a server may write millions of them to its stdout.
const maxInvalid = 10_000

func (s *Session) addInvalid(n note) {
	if s.invalid++; s.invalid <= maxInvalid {
		s.rest = len(s.loose)
		s.loose = append(s.loose, n)
		return
	}
	rest := &s.loose[s.rest]
	rest.value = jsontree.Mix(rest.value, n.value)
	rest.spelled = rest.value
}

// settle adds the outcome of a call.
func (s *Session) settle(c *session.Call) {
	u := s.byRef[c.Ref]
	if u == nil {
		return
	}
	if u.lane == tap.ToServer {
		s.open--
	}
	u.status, u.state = c.Status, c.State(true)
	if c.Notes&session.NoteCutOff != 0 {
		s.cut(c)
	}
	u.probe = c.Notes&session.NoteProbe != 0
	u.stateLost = c.Notes&session.NoteStateLost != 0
	u.refused, u.hungUp, u.brokenOff = c.Notes&session.NoteRefused != 0, c.Notes&session.NoteHungUp != 0, c.Notes&session.NoteStreamEnded != 0 && !c.Status.Settled()
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

// join joins calls that belong together, and removes the opening from the list of calls.
func (s *Session) join() {
	s.opening.settle()
	for _, u := range s.opening.handshakes() {
		if u != nil {
			u.joined = true
		}
	}
	s.joinPages()
	s.joinElicited()
	s.calls = slices.DeleteFunc(s.calls, func(u *call) bool { return u.joined })
}

// joinPages joins the pages of a list, including a page that failed. This checks cursors without
// comparing them.
func (s *Session) joinPages() {
	waiting := map[uint64]*call{} // by method and next cursor
	for _, u := range s.calls {
		of := jsontree.HashString(u.method)
		head := u
		if first := waiting[jsontree.Mix(of, u.cursor)]; first != nil && u.cursor != 0 {
			if !u.worked() { // the client may try again
				if first.broken == nil {
					first.broken = u
				}
				continue
			}
			delete(waiting, jsontree.Mix(of, u.cursor))
			first.absorb(u)
			first.pages = append(first.pages, u.answer)
			first.next, first.broken = u.next, nil
			head = first
		}
		if head.next != 0 && head.worked() {
			waiting[jsontree.Mix(of, head.next)] = head
		}
	}
	for _, u := range s.calls {
		if u.broken != nil {
			u.absorb(u.broken)
		}
	}
}

// joinElicited joins a call that failed with urlElicitation and the next equal call. In
// 2026-07-28 the two are one call.
func (s *Session) joinElicited() {
	waiting := map[uint64]*call{}
	for _, u := range s.calls {
		if u.joined {
			continue
		}
		head := u
		if first := waiting[u.key]; first != nil && u.at >= first.end {
			delete(waiting, u.key)
			first.absorb(u)
			first.asked = append(first.asked, u.asked...)
			first.answer, first.answerKind, first.code, first.failed = u.answer, u.answerKind, u.code, u.failed
			first.status, first.http, first.end = u.status, u.http, u.end
			head = first
		}
		if head.code == urlElicitation && head.answerKind == jsonrpc.ErrorResponse {
			waiting[u.key] = head
		}
	}
}

// mark marks u and the calls in which it is nested. u may be nil.
func (u *call) mark() {
	for ; u != nil; u = u.parent {
		u.marked = true
	}
}

// absorb adds the messages of another call to u.
func (u *call) absorb(other *call) {
	u.notes = append(u.notes, other.notes...)
	u.repeats = append(u.repeats, other.repeats...)
	u.own += other.own
	u.marked = u.marked || other.marked
	other.joined = true
}
