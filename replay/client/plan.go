package client

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Plan is what the client of a recorded session did. It is immutable.
type Plan struct {
	load      func(seq uint64) (tap.Frame, error) // a frame of the recorded session
	facts     session.Facts
	steps     []step
	requests  []request
	questions []question
	// standing reports that the client opened a GET stream, deletes that it ended the session
	// with a DELETE, http that the session was recorded over HTTP, and sse over HTTP+SSE.
	standing, deletes, http, sse bool
	// fields are the header fields that repeat arguments, by tool.
	fields replay.ParamFields
	// fresh is greater than every number that the client used as an id.
	fresh int64
}

// Requests returns the number of client requests to send.
func (p *Plan) Requests() (n int) {
	for i := range p.steps {
		if s := &p.steps[i]; s.kind == stepSend && s.request >= 0 {
			n++
		}
	}
	return n
}

// Steps returns the number of client messages to send, without responses.
func (p *Plan) Steps() (n int) {
	for i := range p.steps {
		if p.steps[i].kind == stepSend {
			n++
		}
	}
	return n
}

// SSE reports whether the session was recorded over HTTP+SSE (2024-11-05
// basic/transports).
func (p *Plan) SSE() bool { return p.sse }

type stepKind uint8

const (
	stepSend    stepKind = iota // the client sent a message
	stepAnswer                  // the client answered a server request
	stepAwait                   // the response to a request arrived
	stepReceive                 // another message arrived
	stepHangUp                  // the client aborted the exchange of a request
	stepDelete                  // the client ended the session with a DELETE
	stepEnd                     // the client's lane ended
)

// A step is one event of the recording.
type step struct {
	kind     stepKind
	role     session.Role
	batch    bool  // the message is an element of a batch
	refused  bool  // its HTTP response had a failure status
	times    int32 // the number of such messages that arrived in a row
	ref      session.Ref
	head     uint64 // the frame with the head of its HTTP request, 0 for none
	at       time.Duration
	method   string
	call     session.Ref
	request  int // the request, answered request or cancelled request; -1 for none
	question int // the question answered; -1 for none
}

// A request is a recorded client request.
type request struct {
	ref, call session.Ref
	at        time.Duration
	id        string // in JSON
	method    string
	subject   string
	role      session.Role
	// answer is the recorded response, zero for none. took is its latency.
	answer session.Ref
	took   time.Duration
	fails  bool // the response is an error
	// needs are the requests whose results have a value that this one repeats. gives reports
	// that the result of this one has such a value, tasked that the value is a new task.
	needs         []int
	gives, tasked bool
	retry         int  // the request that repeats it after an input_required result, -1 for none
	final         bool // a poll that reported the end of its task
	follows       bool // it has a cursor from the server
	lastPage      bool // it follows a cursor, and the response has none
	modern        bool // it names its own protocol version
	cancelled     bool // the client sent a cancellation
}

// A question is a server request: a JSON-RPC request, or a named entry of an input_required
// result.
type question struct {
	ref, within session.Ref
	name        string
	method      string
	key         replay.Key
	answer      session.Ref // the client message with the answer, zero for none
	dropped     bool        // its call is not played
}

// keyOf returns the key of a server request.
func keyOf(m *jsonrpc.Message) replay.Key { return replay.KeyOf(m, "", new(replay.Options)) }

// A Planner makes a [Plan] from the frames of one session. Use [NewPlanner].
type Planner struct {
	plan     *Plan
	requests map[session.Ref]int
	asked    map[session.Ref]int            // the questions of server requests
	embedded map[session.Ref]map[string]int // the open questions of input_required results, by call and name
	givers   map[string]int                 // the requests whose results have a value, by kind and value
	last     map[session.Ref]int            // the latest request of a call
	byStream map[uint64][]int               // the open requests, by exchange
	paused   map[uint64][]int               // the open requests of streams that ended, by the head of the first exchange
	sent     map[uint64]int                 // the step that sent something other than a request, by exchange
	heads    map[uint64]uint64              // the frames with the heads of open POSTs, 0 for HTTP+SSE
	left     map[uint64]bool                // the open exchanges on which the client has hung up
	marked   map[session.Ref]bool           // the marked calls
}

// NewPlanner returns a Planner. load must return any frame that was added, by its number.
func NewPlanner(load func(seq uint64) (tap.Frame, error)) *Planner {
	return &Planner{
		plan:     &Plan{load: load, fields: replay.ParamFields{}, fresh: 1},
		requests: map[session.Ref]int{}, asked: map[session.Ref]int{}, embedded: map[session.Ref]map[string]int{},
		givers: map[string]int{}, last: map[session.Ref]int{}, byStream: map[uint64][]int{}, heads: map[uint64]uint64{},
		sent: map[uint64]int{}, paused: map[uint64][]int{}, left: map[uint64]bool{}, marked: map[session.Ref]bool{},
	}
}

// Add adds the next frame of the session. If [Planner.Plan] is called with only set, the calls of
// marked frames are played.
func (p *Planner) Add(e *session.Entry, marked bool) {
	f, m := e.Frame, &e.Message
	if marked {
		for call := range e.Calls {
			p.marked[call] = true
		}
	}
	switch f.Lane {
	case tap.Lifecycle:
		p.event(e)
		return
	case tap.Stderr:
		return
	}
	if f.Form == tap.FormEvent && m.Kind == jsonrpc.Other && tap.ParseServerSentEvent(f.Raw).Name == "endpoint" {
		p.plan.sse = true
	}
	if e.Facts != nil && (e.Facts.Era != "" || e.Facts.Dialect != "") {
		p.plan.facts = *e.Facts
	}
	if head, post := p.heads[f.Exchange]; post && f.Lane == tap.ToServer && len(e.Parts) == 0 && !f.Truncated {
		// The body of a POST that is not a message.
		p.sent[f.Exchange] = len(p.plan.steps)
		p.step(step{ref: session.Ref{Seq: f.Seq}, head: head, at: f.At, request: -1, question: -1})
	}
	for i := range e.Parts {
		part := &e.Parts[i]
		x := e.Of(i)
		s := step{role: part.Role, ref: part.Message, at: part.At, method: part.Method, call: part.Call, request: -1, question: -1}
		if f.Lane == tap.ToServer {
			s.batch, s.head = m.Kind == jsonrpc.Batch, p.heads[f.Exchange]
			p.client(f, part, x, s)
		} else {
			p.server(part, x, s)
		}
	}
}

func (p *Planner) step(s step) { p.plan.steps = append(p.plan.steps, s) }

// event adds a lifecycle event.
func (p *Planner) event(entry *session.Entry) {
	f, e := entry.Frame, &entry.Event
	s := step{kind: stepEnd, ref: session.Ref{Seq: f.Seq}, at: f.At, request: -1, question: -1}
	switch {
	case e.Name == tap.EventRequest:
		p.plan.http = true
		if e.Method == "POST" {
			p.heads[f.Exchange] = f.Seq
			if p.plan.sse { // clients of HTTP+SSE omit fields that other transports require
				p.heads[f.Exchange] = 0
			}
		}
		p.plan.standing = p.plan.standing || e.Method == "GET"
		if e.Method == "DELETE" && !p.plan.sse {
			p.plan.deletes = true
			s.kind = stepDelete
			p.step(s)
		}
		if open := p.paused[entry.Resumes]; entry.Resumes > 0 && open != nil {
			p.byStream[f.Exchange] = open
			delete(p.paused, entry.Resumes)
		}
	case e.Name == tap.EventResponse && e.Status >= 400:
		if i, ok := p.sent[f.Exchange]; ok {
			p.plan.steps[i].refused = true
		}
		for _, n := range p.byStream[f.Exchange] { // the client knew this before its next step
			s.kind, s.request, s.call = stepAwait, n, p.plan.requests[n].call
			p.step(s)
		}
	case e.Name == tap.EventEOF && e.Lane == tap.ToServer.String():
		p.step(s)
	case e.Name == tap.EventHangUp:
		p.left[f.Exchange] = true
		p.hangsUp(f.Exchange, s)
	case e.Name == tap.EventEnd:
		switch {
		case p.left[f.Exchange]:
		case e.By == "client" || e.HalfClosed: // the server may still have ended the body
			p.hangsUp(f.Exchange, s)
		default: // the stream may be resumed
			for _, n := range p.byStream[f.Exchange] {
				if p.plan.requests[n].answer == (session.Ref{}) {
					p.paused[p.heads[f.Exchange]] = append(p.paused[p.heads[f.Exchange]], n)
				}
			}
		}
		delete(p.byStream, f.Exchange)
		delete(p.left, f.Exchange)
		delete(p.heads, f.Exchange)
		delete(p.sent, f.Exchange)
	}
}

// hangsUp adds steps for a client that hung up on the unanswered requests of an exchange.
func (p *Planner) hangsUp(exchange uint64, s step) {
	for _, n := range p.byStream[exchange] {
		if r := &p.plan.requests[n]; r.answer == (session.Ref{}) {
			s.kind, s.request, s.call = stepHangUp, n, r.call
			p.step(s)
		}
	}
}

// client adds a client message.
func (p *Planner) client(f *tap.Frame, part *session.Part, m *jsonrpc.Message, s step) {
	switch m.Kind {
	case jsonrpc.Request:
		s.request = p.request(f, part, m)
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		n, ok := p.asked[part.Request]
		if !ok || p.plan.questions[n].answer != (session.Ref{}) {
			return // an answer without a request cannot be repeated
		}
		p.plan.questions[n].answer = part.Message
		s.kind, s.question = stepAnswer, n
	case jsonrpc.Invalid:
		if f.Truncated || len(bytes.TrimSpace(f.Raw)) == 0 {
			return
		}
	default:
		if n, ok := p.requests[part.Call]; ok && part.Role == session.RoleCancel {
			s.request = n
			p.plan.requests[n].cancelled = true
		}
	}
	if f.Exchange > 0 && m.Kind != jsonrpc.Request {
		p.sent[f.Exchange] = len(p.plan.steps)
	}
	p.step(s)
}

// request adds a client request and returns its index.
func (p *Planner) request(f *tap.Frame, part *session.Part, m *jsonrpc.Message) int {
	n := len(p.plan.requests)
	r := request{
		ref: part.Message, call: part.Call, at: part.At, id: string(m.ID), method: m.Method, role: part.Role,
		subject: jsonrpc.Subject(*m), retry: -1, modern: lookup(m.Params, "_meta", metaVersion) != nil,
	}
	if id, err := strconv.ParseInt(r.id, 10, 64); err == nil && id >= p.plan.fresh && id < 1<<40 {
		p.plan.fresh = id + 1
	}
	for _, place := range carried {
		if text, ok := textOf(lookup(m.Params, place.in...)); ok {
			if from, ok := p.givers[place.kind+text]; ok {
				r.needs = append(r.needs, from)
				r.follows = r.follows || place.kind == kindCursor
			}
		}
	}
	for name, q := range p.embedded[part.Call] {
		if lookup(m.Params, "inputResponses", name) != nil {
			p.plan.questions[q].answer = part.Message
			delete(p.embedded[part.Call], name)
		}
	}
	if last, ok := p.last[part.Call]; ok && part.Role == session.RoleRetry && p.plan.requests[last].method == r.method && !isPoll(r.method) {
		p.plan.requests[last].retry = n
	}
	p.last[part.Call] = n
	p.plan.requests = append(p.plan.requests, r)
	p.requests[part.Message] = n
	if f.Exchange > 0 && f.Form != tap.FormText && f.Form != tap.FormBinary { // the end of a WebSocket ends no request
		p.byStream[f.Exchange] = append(p.byStream[f.Exchange], n)
	}
	return n
}

// server adds a server message.
func (p *Planner) server(part *session.Part, m *jsonrpc.Message, s step) {
	if part.Role == session.RoleReplay || m.Kind == jsonrpc.Invalid || m.Kind == jsonrpc.Other {
		return
	}
	s.kind, s.times = stepReceive, 1
	switch m.Kind {
	case jsonrpc.Request:
		p.asked[part.Message] = len(p.plan.questions)
		p.plan.questions = append(p.plan.questions, question{
			ref: part.Message, within: part.Parent, method: m.Method, key: keyOf(m),
		})
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		n, ok := p.requests[part.Request]
		if !ok || part.Role == session.RoleRepeat {
			return
		}
		if s.kind, s.request = stepAwait, n; part.Role != session.RoleLate {
			p.answered(n, part, m)
		}
	}
	if n := len(p.plan.steps); n > 0 && s.kind == stepReceive {
		if last := &p.plan.steps[n-1]; last.kind == stepReceive && last.method == s.method && last.call == s.call {
			last.at = s.at
			last.times++
			return
		}
	}
	p.step(s)
}

// answered adds the response to a request.
func (p *Planner) answered(n int, part *session.Part, m *jsonrpc.Message) {
	r := &p.plan.requests[n]
	r.answer, r.took, r.fails = part.Message, part.Latency, m.Kind == jsonrpc.ErrorResponse
	if r.method == "tools/list" {
		p.plan.fields.Learn(m.Result)
	}
	for _, w := range serverValues(m.Result) {
		p.givers[w.kind+w.text] = n
		r.gives = true
		r.tasked = r.tasked || w.kind == kindTask && !isPoll(r.method)
	}
	if status, ok := textOf(lookup(m.Result, "status")); ok && r.method == "tasks/get" {
		r.final = terminal(status)
	}
	_, more := textOf(lookup(m.Result, "nextCursor"))
	r.lastPage = r.follows && m.Result != nil && !more
	if part.Role != session.RoleInterim {
		return // only an input_required result or a task asks
	}
	inputs, _ := readObject(lookup(m.Result, "inputRequests"))
	for _, in := range inputs {
		if !jsonrpc.Value(in.value).IsObject() {
			continue
		}
		if p.embedded[part.Call] == nil {
			p.embedded[part.Call] = map[string]int{}
		}
		p.embedded[part.Call][in.name] = len(p.plan.questions)
		asked := in.request()
		p.plan.questions = append(p.plan.questions, question{
			ref: part.Message, within: part.Call, name: in.name, method: asked.Method, key: keyOf(asked),
		})
	}
}

// Plan returns the plan. If only is set, it contains the marked calls and what they depend on:
// the opening of the session, and requests whose results have a value that they repeat. The
// Planner must not be used afterwards.
func (p *Planner) Plan(only bool) *Plan {
	if !p.plan.sse { // on HTTP+SSE, responses come on the standing stream
		for _, head := range slices.Sorted(maps.Keys(p.paused)) { // the client saw their streams end
			for _, n := range p.paused[head] {
				r := &p.plan.requests[n]
				p.step(step{kind: stepAwait, ref: r.ref, call: r.call, request: n, question: -1})
			}
		}
	}
	if only {
		p.choose()
	}
	return p.plan
}

// choose removes the steps that are not needed for the marked calls.
func (p *Planner) choose() {
	chosen := map[session.Ref]bool{}
	byCall := map[session.Ref][]int{}
	for i := range p.plan.requests {
		byCall[p.plan.requests[i].call] = append(byCall[p.plan.requests[i].call], i)
	}
	var choose func(call session.Ref)
	choose = func(call session.Ref) {
		if chosen[call] {
			return
		}
		chosen[call] = true
		for _, n := range byCall[call] {
			for _, from := range p.plan.requests[n].needs {
				choose(p.plan.requests[from].call)
			}
		}
	}
	for call := range p.marked {
		choose(call)
	}
	for i := range p.plan.requests {
		if m := p.plan.requests[i].method; m == "initialize" || m == "server/discover" {
			choose(p.plan.requests[i].call)
		}
	}
	for i := range p.plan.questions {
		within := p.plan.questions[i].within
		p.plan.questions[i].dropped = within != (session.Ref{}) && !chosen[within]
	}
	var kept []step
	// A marked call that had no response may get one now, so it is awaited before the client
	// hangs up or leaves, unless the client cancelled it.
	awaited := map[int]bool{}
	for _, s := range p.plan.steps {
		if s.role == session.RoleCancel {
			for _, n := range byCall[s.call] {
				awaited[n] = true
			}
		}
	}
	await := func(at time.Duration, n int) {
		if r := &p.plan.requests[n]; p.marked[r.call] && r.answer == (session.Ref{}) && r.method != methodListen && !awaited[n] {
			awaited[n] = true
			kept = append(kept, step{kind: stepAwait, ref: r.ref, at: at, method: r.method, call: r.call, request: n, question: -1})
		}
	}
	for _, s := range p.plan.steps {
		switch s.kind {
		case stepHangUp:
			await(s.at, s.request)
		case stepEnd:
			for n := range p.plan.requests {
				await(s.at, n)
			}
		}
		opening := s.method == methodInitialized || s.method == "initialized"
		about := chosen[s.call] || s.question >= 0 && chosen[p.plan.questions[s.question].within]
		if about && s.call != (session.Ref{}) || opening || s.kind == stepEnd {
			kept = append(kept, s)
		}
	}
	for n := range p.plan.requests {
		await(p.plan.requests[n].took, n)
	}
	p.plan.steps = kept
}
