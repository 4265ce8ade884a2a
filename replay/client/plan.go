package client

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Loader returns a frame of the recorded session again, by its number.
type Loader func(seq uint64) (tap.Frame, error)

// A Plan is what the client of a recorded session did. It does not change once it is
// made.
type Plan struct {
	load      Loader
	facts     session.Facts
	steps     []step
	asks      []ask
	questions []question
	// initialize and modern are the requests that say who the client is: the initialize,
	// and the first that says so in its _meta. -1 for none.
	initialize, modern int
	// standing says that the client held a stream open beside those of its
	// requests, or that there was no need to: the session was not on HTTP.
	standing, http, sse bool
	// fields are the arguments that header fields repeat, of tools by their names.
	fields map[string][]headerField
	// fresh is above each number that the client used for an id.
	fresh int64
}

// Requests returns how many requests of the client's are to be sent.
func (p *Plan) Requests() (n int) {
	for i := range p.steps {
		if s := &p.steps[i]; s.kind == stepSend && s.ask >= 0 {
			n++
		}
	}
	return n
}

// Steps returns how many messages of the client's are to be sent, its answers not
// counted.
func (p *Plan) Steps() (n int) {
	for i := range p.steps {
		if p.steps[i].kind == stepSend {
			n++
		}
	}
	return n
}

// Facts are what the recorded session said of itself.
func (p *Plan) Facts() session.Facts { return p.facts }

// SSE reports whether the session was recorded over HTTP+SSE (2024-11-05
// basic/transports).
func (p *Plan) SSE() bool { return p.sse }

// A stepKind says what a step is.
type stepKind uint8

const (
	stepSend   stepKind = iota // the client sent a message
	stepAnswer                 // it answered what the server had asked
	stepAwait                  // the answer to a request of it arrived
	stepHear                   // something else arrived
	stepHangUp                 // it broke off the exchange of a request
	stepEnd                    // its lane ended
)

// A step is one thing that happened in the recording.
type step struct {
	kind     stepKind
	role     session.Role
	batch    bool  // the message is an element of an array
	refused  bool  // by its HTTP status
	times    int32 // that something was heard in a row
	ref      session.Ref
	head     uint64 // the frame with the head of its request of HTTP, 0 for none
	at       time.Duration
	method   string
	call     session.Ref
	ask      int // of a request, of its answer, of what is cancelled; -1 for none
	question int // of an answer; -1 for none
}

// An ask is a request of the client's.
type ask struct {
	ref, call session.Ref
	id        string // as it stands
	method    string
	subject   string
	// answer is the recorded answer, zero for none, which took so long.
	answer session.Ref
	took   time.Duration
	// needs are the asks whose answers gave a value that this one repeats.
	needs []int
	// retry is the ask that repeats it after an input_required result, -1 for none;
	// final says that it is a poll which told that its task had ended.
	retry int
	final bool
	fails bool // its answer was an error
	// tasked says that its answer was a task, gives that it gave a value of any kind.
	tasked, gives bool
	modern        bool // it names its own version
	role          session.Role
}

// A question is what the server asked: a request of its own, or one in an
// input_required result, where it has a name.
type question struct {
	ref, within session.Ref
	name        string
	method      string
	key         replay.Key
	// answer is the client's message with the answer, zero for none.
	answer session.Ref
}

// keyOf returns the key of a server request.
func keyOf(m *jsonrpc.Message) replay.Key { return replay.KeyOf(m, "", new(replay.Options)) }

// A Planner makes a [Plan] of the frames of one session. Make one with
// [NewPlanner].
type Planner struct {
	plan  *Plan
	asks  map[session.Ref]int
	asked map[session.Ref]int // the server's requests, by where they stand
	// embedded are the questions of input_required results that wait for an answer,
	// by their call and name; givers are the asks whose answers gave a value, by the value.
	embedded map[session.Ref]map[string]int
	givers   map[string]int
	last     map[session.Ref]int  // the latest ask of a call
	byStream map[uint64][]int     // the open requests, by their exchange
	paused   map[uint64][]int     // the open requests of streams that ended, by the head of the first exchange
	told     map[uint64]int       // the step that sent what is no request, by its exchange
	heads    map[uint64]uint64    // the frames with the heads of open POSTs, 0 on HTTP+SSE
	marked   map[session.Ref]bool // calls
	words    map[string]string    // methods
}

// NewPlanner begins a plan. Load must return each frame that is added.
func NewPlanner(load Loader) *Planner {
	return &Planner{
		plan: &Plan{load: load, fields: map[string][]headerField{}, initialize: -1, modern: -1, fresh: 1},
		asks: map[session.Ref]int{}, asked: map[session.Ref]int{}, embedded: map[session.Ref]map[string]int{},
		givers: map[string]int{}, last: map[session.Ref]int{}, byStream: map[uint64][]int{}, heads: map[uint64]uint64{}, told: map[uint64]int{}, paused: map[uint64][]int{}, marked: map[session.Ref]bool{}, words: map[string]string{},
	}
}

// word returns a method that is kept, one copy for all that are equal.
func (p *Planner) word(method string) string {
	kept, ok := p.words[method]
	if !ok {
		kept = strings.Clone(method)
		p.words[kept] = kept
	}
	return kept
}

// Add takes the next frame of the session. Marked says that it belongs to what is to
// be played if [Planner.Plan] is asked for only that.
func (p *Planner) Add(e *session.Entry, marked bool) {
	f, m := e.Frame, &e.Message
	if f.Lane == tap.Lifecycle {
		p.event(e)
		return
	}
	if f.Lane == tap.Stderr {
		return
	}
	if f.Form == tap.FormEvent && m.Kind == jsonrpc.Other && tap.ParseServerSentEvent(f.Raw).Name == "endpoint" {
		p.plan.sse = true
	}
	if e.Facts != nil && (e.Facts.Era != "" || e.Facts.Dialect != "") {
		p.plan.facts = *e.Facts
	}
	if _, post := p.heads[f.Exchange]; post && f.Lane == tap.ToServer && len(e.Parts) == 0 && !f.Truncated {
		p.garbage(f)
	}
	for i := range e.Parts {
		part := &e.Parts[i]
		if marked && part.Call != (session.Ref{}) {
			p.marked[part.Call] = true
		}
		x := e.Of(i)
		s := step{role: part.Role, ref: part.Message, at: part.At, method: p.word(part.Method), call: part.Call, ask: -1, question: -1}
		if f.Lane == tap.ToServer {
			s.batch, s.head = m.Kind == jsonrpc.Batch, p.heads[f.Exchange]
			p.client(f, part, x, s)
		} else {
			p.server(part, x, s)
		}
	}
}

// event looks at what happened to the connection.
func (p *Planner) event(entry *session.Entry) {
	f, e := entry.Frame, &entry.Event
	s := step{kind: stepEnd, ref: session.Ref{Seq: f.Seq}, at: f.At, ask: -1, question: -1}
	switch {
	case e.Name == tap.EventRequest:
		p.plan.http = true
		if e.Method == "POST" {
			p.heads[f.Exchange] = 0
		}
		if e.Method == "POST" && !p.plan.sse { // on other transports clients leave out what is needed here
			p.heads[f.Exchange] = f.Seq
		}
		p.plan.standing = p.plan.standing || e.Method == "GET"
		if open := p.paused[entry.Resumes]; entry.Resumes > 0 && open != nil {
			p.byStream[f.Exchange] = open
			delete(p.paused, entry.Resumes)
		}
	case e.Name == tap.EventResponse && e.Status >= 400:
		if i, ok := p.told[f.Exchange]; ok {
			p.plan.steps[i].refused = true
		}
		for _, n := range p.byStream[f.Exchange] { // whatever the client did next, it knew this
			s.kind, s.ask, s.call = stepAwait, n, p.plan.asks[n].call
			p.plan.steps = append(p.plan.steps, s)
		}
	case e.Name == tap.EventEOF && e.Lane == tap.ToServer.String():
		p.plan.steps = append(p.plan.steps, s)
	case e.Name == tap.EventEnd:
		for _, n := range p.byStream[f.Exchange] {
			a := &p.plan.asks[n]
			switch {
			case a.answer != (session.Ref{}):
			case e.By == "client" || e.HalfClosed: // a server may end the body all the same
				s.kind, s.ask, s.call = stepHangUp, n, a.call
				p.plan.steps = append(p.plan.steps, s)
			default: // the stream may be resumed
				p.paused[p.heads[f.Exchange]] = append(p.paused[p.heads[f.Exchange]], n)
			}
		}
		delete(p.byStream, f.Exchange)
		delete(p.heads, f.Exchange)
		delete(p.told, f.Exchange)
	}
}

// client takes a message of the client's.
func (p *Planner) client(f *tap.Frame, part *session.Part, m *jsonrpc.Message, s step) {
	switch m.Kind {
	case jsonrpc.Request:
		s.ask = p.request(f, part, m)
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		n, ok := p.asked[part.Request]
		if !ok || p.plan.questions[n].answer != (session.Ref{}) {
			return // an answer to nothing: nobody can be told it again
		}
		p.plan.questions[n].answer = part.Message
		s.kind, s.question = stepAnswer, n
	case jsonrpc.Invalid:
		if f.Truncated || len(bytes.TrimSpace(f.Raw)) == 0 {
			return
		}
	default:
		if part.Role == session.RoleCancel {
			if n, ok := p.asks[part.Call]; ok {
				s.ask = n
			}
		}
	}
	if f.Exchange > 0 && m.Kind != jsonrpc.Request {
		p.told[f.Exchange] = len(p.plan.steps)
	}
	p.plan.steps = append(p.plan.steps, s)
}

// garbage takes a body of a POST that is not a message.
func (p *Planner) garbage(f *tap.Frame) {
	p.told[f.Exchange] = len(p.plan.steps)
	p.plan.steps = append(p.plan.steps, step{
		ref: session.Ref{Seq: f.Seq}, head: p.heads[f.Exchange], at: f.At, ask: -1, question: -1,
	})
}

// request takes a request of the client's and returns its number.
func (p *Planner) request(f *tap.Frame, part *session.Part, m *jsonrpc.Message) int {
	n := len(p.plan.asks)
	a := ask{
		ref: part.Message, call: part.Call, id: string(m.ID), method: p.word(m.Method), role: part.Role,
		subject: strings.Clone(jsonrpc.Subject(*m)), retry: -1,
	}
	params, _ := readObject(m.Params)
	meta, _ := readObject(params.get("_meta"))
	a.modern = meta.get(metaVersion) != nil
	if m.Method == "initialize" && p.plan.initialize < 0 {
		p.plan.initialize = n
	}
	if a.modern && p.plan.modern < 0 {
		p.plan.modern = n
	}
	if id, err := strconv.ParseInt(a.id, 10, 64); err == nil && id >= p.plan.fresh && id < 1<<40 {
		p.plan.fresh = id + 1
	}
	for _, place := range carried {
		if word, ok := textOf(lookup(m.Params, place.in...)); ok {
			if from, ok := p.givers[place.kind+word]; ok {
				a.needs = append(a.needs, from)
			}
		}
	}
	answers, _ := readObject(params.get("inputResponses"))
	for name, q := range p.embedded[part.Call] {
		if answers.get(name) != nil {
			p.plan.questions[q].answer = part.Message
			delete(p.embedded[part.Call], name)
		}
	}
	if last, ok := p.last[part.Call]; ok && part.Role == session.RoleRetry && p.plan.asks[last].method == a.method && !isPoll(a.method) {
		p.plan.asks[last].retry = n
	}
	p.last[part.Call] = n
	p.plan.asks = append(p.plan.asks, a)
	p.asks[part.Message] = n
	if f.Exchange > 0 && f.Form != tap.FormText && f.Form != tap.FormBinary { // no request ends with a WebSocket
		p.byStream[f.Exchange] = append(p.byStream[f.Exchange], n)
	}
	return n
}

// server takes a message of the server's.
func (p *Planner) server(part *session.Part, m *jsonrpc.Message, s step) {
	if part.Role == session.RoleReplay || m.Kind == jsonrpc.Invalid || m.Kind == jsonrpc.Other {
		return
	}
	s.kind, s.times = stepHear, 1
	switch m.Kind {
	case jsonrpc.Request:
		p.asked[part.Message] = len(p.plan.questions)
		p.plan.questions = append(p.plan.questions, question{
			ref: part.Message, within: part.Parent, method: p.word(m.Method), key: keyOf(m),
		})
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		n, ok := p.asks[part.Request]
		if !ok || part.Role == session.RoleLate || part.Role == session.RoleRepeat {
			return
		}
		s.kind, s.ask = stepAwait, n
		p.answered(n, part, m)
	}
	if n := len(p.plan.steps); n > 0 && s.kind == stepHear {
		if last := &p.plan.steps[n-1]; last.kind == stepHear && last.method == s.method && last.call == s.call {
			last.at = s.at
			last.times++
			return
		}
	}
	p.plan.steps = append(p.plan.steps, s)
}

// answered takes the answer to a request.
func (p *Planner) answered(n int, part *session.Part, m *jsonrpc.Message) {
	a := &p.plan.asks[n]
	a.answer, a.took, a.fails = part.Message, part.Latency, m.Kind == jsonrpc.ErrorResponse
	if a.method == "tools/list" {
		learnFields(p.plan.fields, m.Result)
	}
	for _, w := range words(m.Result) {
		p.givers[w.kind+w.word] = n
		a.gives = true
		a.tasked = a.tasked || w.kind == kindTask && !isPoll(a.method)
	}
	if status, ok := textOf(lookup(m.Result, "status")); ok && a.method == "tasks/get" {
		a.final = terminal(status)
	}
	inputs, _ := readObject(lookup(m.Result, "inputRequests"))
	for _, in := range inputs {
		o, ok := readObject(in.value)
		if !ok {
			continue
		}
		method, _ := textOf(o.get("method"))
		if p.embedded[part.Call] == nil {
			p.embedded[part.Call] = map[string]int{}
		}
		p.embedded[part.Call][in.name] = len(p.plan.questions)
		p.plan.questions = append(p.plan.questions, question{
			ref: part.Message, within: part.Call, name: in.name, method: method,
			key: keyOf(&jsonrpc.Message{Kind: jsonrpc.Request, Method: method, Params: o.get("params")}),
		})
	}
}

// Plan returns what was made. With only, it holds the calls that were marked and
// what they depend on: the opening of the session, and the requests whose answers
// gave a value that they repeat. The Planner must not be used any more.
func (p *Planner) Plan(only bool) *Plan {
	plan := p.plan
	if only {
		p.choose()
	}
	return plan
}

// choose leaves out the steps that are not wanted.
func (p *Planner) choose() {
	wanted := map[session.Ref]bool{}
	var want func(call session.Ref)
	byCall := map[session.Ref][]int{}
	for i := range p.plan.asks {
		byCall[p.plan.asks[i].call] = append(byCall[p.plan.asks[i].call], i)
	}
	want = func(call session.Ref) {
		if wanted[call] {
			return
		}
		wanted[call] = true
		for _, n := range byCall[call] {
			for _, from := range p.plan.asks[n].needs {
				want(p.plan.asks[from].call)
			}
		}
	}
	for call := range p.marked {
		want(call)
	}
	for i := range p.plan.asks {
		if m := p.plan.asks[i].method; m == "initialize" || m == "server/discover" {
			want(p.plan.asks[i].call)
		}
	}
	kept := p.plan.steps[:0]
	for _, s := range p.plan.steps {
		opening := s.method == "notifications/initialized" || s.method == "initialized"
		about := wanted[s.call]
		if s.question >= 0 {
			q := &p.plan.questions[s.question]
			about = about || wanted[q.within]
		}
		if about && s.call != (session.Ref{}) || opening || s.kind == stepEnd {
			kept = append(kept, s)
		}
	}
	p.plan.steps = kept
}
