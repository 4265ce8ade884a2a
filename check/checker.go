package check

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// Limits of a [Checker].
const (
	// maxSessions is how many sessions are judged at the same time: the last ones.
	maxSessions = 256
	// maxRequests is how many requests are remembered until their responses come, of a
	// session, and maxParams how many bytes of the params of one.
	maxRequests = 4096
	maxParams   = 256 << 10
	// maxHeld is how many bytes of params, capabilities and definitions are kept, of all
	// sessions. Beyond that they are not known to the rules.
	maxHeld = 64 << 20
	// maxDefinitions is how many definitions of a list are kept.
	maxDefinitions = 100_000
	// maxExchanges is how many open exchanges are remembered.
	maxExchanges = 4096
)

// A Checker judges the frames of a recording, which are added in order: [Checker.Add] for each,
// and then [Checker.Report].
type Checker struct {
	rules     []*Rule
	results   *results
	sessions  bounded.Map[int, *Session]
	exchanges bounded.Map[uint64, *Exchange]
	// start is the event with which the recording starts, zero if it is missing.
	start tap.Event
	gap   bool
	held  int // bytes, see maxHeld
	last  uint64
	cut   bool // there was no room for all definitions
	// elements are those of the batch in the frame elementsOf.
	elements   []jsonrpc.Value
	elementsOf uint64
	// schemas are loaded when they are needed. Before is how many violations of Must
	// or worse there were before the current message.
	schemas map[jsonrpc.Revision]*protocolSchema
	before  uint64
	// seen reports for each of topics whether the recording shows it.
	seen []bool
	// lost reports for each of topics whether a call of it got no response.
	lost []bool
	// listed has the numbers of the frames with the last lists, by method, and with the last
	// handshake, by "".
	listed map[string]uint64
	// partial reports whether the last page of a list is missing, by method.
	partial map[string]bool
	// revision is the last that a message had.
	revision jsonrpc.Revision
	// offered has all definitions that were offered, by the methods of their lists: see
	// pin.go. OfferedBytes is their size.
	offered      map[string]*offers
	offeredBytes int
	// compiled are the schemas of servers, by hashes of their texts.
	compiled bounded.Map[uint64, *toolSchema]
}

// New returns a checker with some rules.
func New(rules []*Rule) *Checker {
	c := &Checker{
		rules: slices.Clone(rules), results: &results{judgements: map[*Rule]*Judgement{}, findings: map[findingKey]*Finding{}},
		listed: map[string]uint64{}, partial: map[string]bool{}, offered: map[string]*offers{},
		seen: make([]bool, len(topics)), lost: make([]bool, len(topics)),
	}
	// The schema reports what no other rule has reported.
	if i := slices.IndexFunc(c.rules, func(r *Rule) bool { return r.ID == "feat-25" }); i >= 0 {
		last := c.rules[i]
		c.rules = append(slices.Delete(c.rules, i, i+1), last)
	}
	c.sessions.Max, c.exchanges.Max = maxSessions, maxExchanges
	return c
}

// Each sets a function that is called for each violation, with the number of its frame. A
// finding names only the first ones.
func (c *Checker) Each(f func(rule *Rule, frame uint64)) { c.results.each = f }

// Found sets a function that is called for each new finding, which must not be changed.
func (c *Checker) Found(f func(*Finding)) { c.results.found = f }

// A Session is what rules know about a session.
type Session struct {
	// Number is its number, 0 for what belongs to no session.
	Number int
	// Transport is stdio, http, or sse for HTTP+SSE.
	Transport string
	// Start reports that the recording has the session from its first message on.
	Start bool
	// Gap reports that frames are missing.
	Gap bool
	// Facts are what the two sides have reported. May be nil.
	Facts *session.Facts
	// Client and Server are the capabilities that the two sides declared in a handshake or
	// in server/discover; nil as long as they are not known.
	Client, Server jsonrpc.Value
	// Listed are the definitions that the server listed last, by the method of the list, and by
	// name or URI.
	Listed map[string]map[string]jsonrpc.Value

	checker *Checker
	// rules are those at work, the others those of them that have the function.
	rules, watchers, frames, exchanges, calls []*judge
	// selected has the rules that judge messages, by the elements of On, and plans those
	// that judge messages of one kind.
	selected map[string][]*judge
	plans    map[planKey]*plan
	requests bounded.Map[session.Ref, *Request]
	seen     bool
	// toolsChanged reports that the server announced a change and Listed may be outdated.
	toolsChanged bool
}

// A Request is a request that a response or a notification refers to.
type Request struct {
	Ref    session.Ref
	Lane   tap.Lane
	Method string
	// Params are those of the request, nil if they are longer than 256 KiB.
	Params   jsonrpc.Value
	ID       []byte
	asked    map[string]*Request // requests for input in its results, by their keys
	params   members
	Revision jsonrpc.Revision
	Exchange uint64
}

// A Message is one message, or what should be one.
type Message struct {
	*jsonrpc.Message
	Entry   *session.Entry
	Session *Session
	// Part is what it is to its call. It is zero for an embedded message.
	Part session.Part
	Lane tap.Lane
	// Path is the place of an embedded message in its frame, "$" for others.
	Path string
	// Revision is the one in force: of a request of 2026-07-28 its own, of a response that
	// of its request, and otherwise that of the session; "" if it is not known.
	Revision jsonrpc.Revision
	// Request is, for a response, its request; nil if it is not known.
	Request *Request

	// What several rules ask for is read once.
	cut                      bool          // some parts that a rule asked for are left out
	text                     jsonrpc.Value // see Envelope
	readText                 bool
	envelope, params, result members
	blocks                   once[block]
	metas                    once[meta]
}

// Parameters returns the params as a value.
func (m *Message) Parameters() jsonrpc.Value { return jsonrpc.Value(m.Params) }

// Outcome returns the result as a value.
func (m *Message) Outcome() jsonrpc.Value { return jsonrpc.Value(m.Result) }

// Problem returns the error as a value.
func (m *Message) Problem() jsonrpc.Value { return jsonrpc.Value(m.Error) }

// Envelope returns the text of the whole message, nil if the frame is not JSON. It is that of
// the element for a message of a batch, and nil for an embedded message.
func (m *Message) Envelope() jsonrpc.Value {
	if !m.readText {
		m.readText, m.text = true, m.readEnvelope()
	}
	return m.text
}

func (m *Message) readEnvelope() jsonrpc.Value {
	if m.Path != "$" {
		return nil
	}
	text := jsonrpc.Value(bytes.Trim(jsonrpc.Payload(m.Entry.Frame), " \t\r\n"))
	if m.Entry.Message.Kind != jsonrpc.Batch || m.Kind == jsonrpc.Batch {
		return text
	}
	c := m.Session.checker
	if c.elementsOf != m.Entry.Frame.Seq {
		c.elementsOf, c.elements = m.Entry.Frame.Seq, c.elements[:0]
		for _, v := range text.Each {
			c.elements = append(c.elements, v)
		}
	}
	if i := m.Part.Message.Index; i < len(c.elements) {
		return c.elements[i]
	}
	return nil
}

// Subject returns the tool, prompt or URI that a message is about, or else its method, or
// that of its request.
func (m *Message) Subject() string {
	param, method, subject := m.Param, m.Method, ""
	if m.Request != nil {
		param, method = m.Request.Param, m.Request.Method
	}
	switch method {
	case "tools/call", "prompts/get":
		subject = param("name").Decoded()
	case "resources/read":
		subject = param("uri").Decoded()
	}
	return cmp.Or(subject, method)
}

// A judge is a rule at work in a session.
type judge struct {
	Hooks
	rule    *Rule
	verdict Verdict
}

// A plan has the rules that judge messages of one kind: first those that select the kind, or
// the kind and the method, then, after what is embedded, those that select all messages.
type plan struct {
	first, last selection
}

type planKey struct {
	kind, method string
	lane         tap.Lane
	revision     jsonrpc.Revision
}

// A selection has the rules that apply to a message. Unknown are rules that may apply, which
// depends on a revision that is not known.
type selection struct{ rules, unknown []*judge }

// maxPlans is how many plans a session keeps. Methods and revisions may be anything.
const maxPlans = 1024

// plan returns the plan for messages of a kind.
func (s *Session) plan(key planKey) *plan {
	if p := s.plans[key]; p != nil {
		return p
	}
	p := &plan{}
	add := func(to *selection, on string) {
		for _, j := range s.selected[on] {
			switch {
			case !j.rule.binds(key.lane):
			case j.rule.ClassIn(key.revision) != 0:
				to.rules = append(to.rules, j)
			case key.revision == "":
				to.unknown = append(to.unknown, j)
			}
		}
	}
	add(&p.first, key.kind)
	if key.method != "" {
		add(&p.first, key.kind+" "+key.method)
	}
	if key.kind != "invalid" && key.kind != "batch" {
		add(&p.last, "message")
	}
	if len(s.plans) == maxPlans {
		clear(s.plans)
	}
	key.method = strings.Clone(key.method)
	key.revision = jsonrpc.Revision(strings.Clone(string(key.revision)))
	s.plans[key] = p
	return p
}

// at returns the verdict of a judge for a frame.
func (j *judge) at(frame uint64, rev jsonrpc.Revision) *Verdict {
	j.verdict.frame, j.verdict.revision = frame, rev
	return &j.verdict
}

// session returns a session, which it begins if necessary.
func (c *Checker) session(e *session.Entry) *Session {
	if s, ok := c.sessions.Get(e.Session); ok {
		return s
	}
	s := &Session{Number: e.Session, Transport: c.transportOf(e), Gap: c.gap, checker: c}
	s.Listed, s.selected, s.plans = map[string]map[string]jsonrpc.Value{}, map[string][]*judge{}, map[planKey]*plan{}
	s.requests.Max = maxRequests
	for _, r := range c.rules {
		if r.New == nil || !r.applies(s.Transport) {
			continue
		}
		j := &judge{rule: r, Hooks: r.New(s), verdict: Verdict{rule: r, results: c.results, session: s.Number}}
		s.rules = append(s.rules, j)
		add := func(list *[]*judge, has bool) {
			if has {
				*list = append(*list, j)
			}
		}
		add(&s.watchers, j.Watch != nil)
		add(&s.frames, j.Frame != nil)
		add(&s.exchanges, j.Exchange != nil)
		add(&s.calls, j.Call != nil)
		for _, on := range j.On {
			s.selected[on] = append(s.selected[on], j)
		}
	}
	if old, ok := c.sessions.Put(e.Session, s); ok {
		c.end(old)
	}
	return s
}

// transportOf returns the transport of a session that begins with a frame.
func (c *Checker) transportOf(e *session.Entry) string {
	switch {
	case e.Frame.Exchange == 0:
		return "stdio"
	case e.Exchange.Method == "GET" && e.Frame.Form == tap.FormEvent:
		return "sse"
	}
	return "http"
}

// Add judges the next frame.
func (c *Checker) Add(e *session.Entry) {
	c.last = e.Frame.Seq
	c.see(e)
	if e.Frame.Lane == tap.Lifecycle && e.Event.Name == tap.EventGap {
		c.gap = true
		for _, s := range c.sessions.All {
			s.Gap = true
		}
	}
	var x *Exchange
	if e.Frame.Exchange != 0 {
		x = c.exchange(e)
	}
	if e.Event.Name == tap.EventStart {
		c.start = e.Event
	}
	if e.Session == 0 && len(e.Parts) == 0 && e.Frame.Exchange == 0 {
		return // an event of the run, or of a connection
	}
	if _, begun := c.sessions.Get(e.Session); !begun && x != nil && e.Frame.Lane == tap.Lifecycle && x.End == nil {
		return // the transport shows in what follows the head
	}
	s := c.session(e)
	if e.Facts != nil {
		s.Facts = e.Facts
	}
	if x != nil && (x.Session == nil || x.Session.Number == 0) {
		x.Session = s
	}
	for _, j := range s.frames {
		j.Frame(e, j.at(e.Frame.Seq, s.inForce(e.Revision())))
	}
	if e.Message.Kind == jsonrpc.Batch {
		c.message(&Message{Message: &e.Message, Entry: e, Session: s, Lane: e.Frame.Lane, Path: "$", Revision: s.inForce(e.Revision())})
	}
	for i := range e.Parts {
		m := &Message{Message: e.Of(i), Entry: e, Session: s, Part: e.Parts[i], Lane: e.Frame.Lane, Path: "$"}
		if m.Revision = s.inForce(s.revision(m)); m.Revision == "" && x != nil {
			if m.Revision = x.Revision; m.Revision == "" && x.namesNoVersion() {
				m.Revision = c.revision // a header hides it
			}
		}
		if m.Revision != "" {
			c.revision = m.Revision
		}
		if x != nil && m.Lane == tap.ToServer && x.Revision == "" {
			x.Revision = m.Revision
		}
		c.message(m)
		s.learn(m)
	}
	for _, call := range e.Ended {
		if of, ok := c.sessions.Get(call.Session); ok {
			c.call(of, call)
		}
	}
	if x != nil && x.End != nil {
		c.over(x)
		c.exchanges.Delete(x.Number)
	}
}

// exchange returns the exchange of a frame, after the frame.
func (c *Checker) exchange(e *session.Entry) *Exchange {
	n := e.Frame.Exchange
	x, ok := c.exchanges.Get(n)
	if !ok || e.Event.Name == tap.EventRequest {
		x = &Exchange{Number: n}
		if old, ok := c.exchanges.Put(n, x); ok {
			c.over(old)
		}
	}
	if e.Frame.Lane == tap.Lifecycle {
		x.event(e.Frame, &e.Event)
	} else {
		x.carry(e)
	}
	return x
}

// revision returns the revision in force for a message, and remembers requests.
func (s *Session) revision(m *Message) jsonrpc.Revision {
	switch m.Kind {
	case jsonrpc.Request:
		r := &Request{Ref: m.Part.Message, Lane: m.Lane, Method: m.Method, ID: m.ID, Exchange: m.Entry.Frame.Exchange}
		r.Revision = s.declared(m)
		r.Params, r.ID = s.keep(m.Params), append([]byte{}, r.ID...)
		if old, ok := s.requests.Put(r.Ref, r); ok {
			s.release(old.Params)
		}
		return r.Revision
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		if r, ok := s.requests.Get(m.Part.Request); ok {
			m.Request = r
			if r.Method == "initialize" { // it names the revision
				if rev := jsonrpc.Revision(m.Member("protocolVersion").Decoded()); rev != "" {
					return rev
				}
			}
			return r.Revision
		}
	}
	if r, ok := s.requests.Get(m.Part.Call); ok {
		return r.Revision
	}
	return s.declared(m)
}

// inForce returns a revision that a message or a call has, or else that of its session.
func (s *Session) inForce(rev jsonrpc.Revision) jsonrpc.Revision {
	if rev = known(rev); rev == "" && s.Facts != nil {
		rev = known(s.Facts.Revision)
	}
	return rev
}

// declared returns the revision that a message declares, or else that of its session.
func (s *Session) declared(m *Message) jsonrpc.Revision {
	own := m.Param("_meta").Get(jsonrpc.MetaPrefix + "protocolVersion").Decoded()
	switch {
	case own != "":
		return jsonrpc.Revision(own)
	case m.Method == "initialize":
		return jsonrpc.Revision(m.Param("protocolVersion").Decoded())
	case m.Method == "server/discover" && indexOf(m.Entry.Revision()) < 0:
		return jsonrpc.Rev20260728 // the only one that has it
	}
	return m.Entry.Revision()
}

// message hands a message to the rules.
func (c *Checker) message(m *Message) {
	s := m.Session
	for _, j := range s.watchers {
		j.Watch(m)
	}
	if m.Path == "$" {
		c.before = c.results.serious
		if m.Kind != jsonrpc.Invalid && m.Kind != jsonrpc.Batch {
			c.results.messages++
		}
	}
	kind, method := "invalid", ""
	switch m.Kind {
	case jsonrpc.Request, jsonrpc.Notification:
		kind, method = m.Kind.String(), m.Method
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		if kind = "result"; m.Kind == jsonrpc.ErrorResponse {
			kind = "error"
		}
		if m.Request != nil {
			method = m.Request.Method
		}
	case jsonrpc.Batch:
		kind = "batch"
	}
	p := s.plan(planKey{kind, method, m.Lane, m.Revision})
	p.first.judge(m)
	c.embedded(m)
	p.last.judge(m)
}

// judge hands a message to the rules.
func (s selection) judge(m *Message) {
	for _, j := range s.unknown {
		j.at(m.Entry.Frame.Seq, "").Skip("the revision is not known")
	}
	why, method := "", m.Method
	switch {
	case m.Unread:
		why = "the message is too large to be read"
	case m.Entry.Frame.Truncated:
		why = "the frame is truncated"
	}
	if m.Request != nil {
		method = m.Request.Method
	}
	for _, j := range s.rules {
		v := j.at(m.Entry.Frame.Seq, m.Revision)
		if why != "" {
			v.Skip(why)
			continue
		}
		v.method = method
		if j.Message(m, v); m.cut {
			v.Skip(fmt.Sprintf("only the first %d parts of a message are judged", maxParts))
			m.cut = false
		}
	}
}

// embedded hands the requests for input in a result to the rules, and the responses in a
// retry (2026-07-28, basic/patterns/mrtr).
func (c *Checker) embedded(m *Message) {
	if m.Path != "$" || m.Unread {
		return
	}
	switch m.Kind {
	case jsonrpc.Response:
		for name, v := range m.Member("inputRequests").Each {
			method := v.Get("method").Decoded()
			if !v.IsObject() || method == "" {
				continue
			}
			inner := &jsonrpc.Message{Kind: jsonrpc.Request, Method: method, Params: v.Get("params")}
			c.message(&Message{
				Message: inner, Entry: m.Entry, Session: m.Session, Lane: m.Lane, Revision: m.Revision, Path: "$.result.inputRequests." + string(name),
			})
		}
	case jsonrpc.Request:
		c.responses(m)
	}
}

// responses hands the responses in a retry to the rules.
func (c *Checker) responses(m *Message) {
	answers := m.Param("inputResponses")
	if !answers.IsObject() {
		return
	}
	first, ok := m.Session.requests.Get(m.Part.Call)
	if !ok {
		return
	}
	for name, v := range answers.Each {
		asked := first.asked[string(name)]
		if asked == nil {
			continue
		}
		inner := &jsonrpc.Message{Kind: jsonrpc.Response, Result: v}
		c.message(&Message{
			Message: inner, Entry: m.Entry, Session: m.Session, Lane: m.Lane, Revision: m.Revision, Request: asked,
			Path: "$.params.inputResponses." + string(name),
		})
	}
}

// call hands a call to the rules.
func (c *Checker) call(s *Session, call *session.Call) {
	rev := s.inForce(call.Revision)
	for _, j := range s.calls {
		if rev == "" || j.rule.ClassIn(rev) != 0 {
			j.verdict.method = call.Method
			j.Call(call, j.at(call.Ref.Seq, rev))
		}
	}
	if isForgotten(call) {
		c.lose(call.Method)
	}
	s.forget(call.Ref)
	for _, ref := range call.Requests {
		s.forget(ref)
	}
}

// forget removes a request.
func (s *Session) forget(ref session.Ref) {
	if r, ok := s.requests.Get(ref); ok {
		s.release(r.Params)
		s.requests.Delete(ref)
	}
}

// over hands an exchange to the rules.
func (c *Checker) over(x *Exchange) {
	if x.Session == nil {
		return
	}
	if x.Revision == "" {
		x.Revision = c.around(x)
	}
	frame := x.Heads[0]
	if frame == 0 && len(x.Carried) > 0 {
		frame = x.Carried[0].Frame
	}
	for _, j := range x.Session.exchanges {
		if x.Revision == "" || j.rule.ClassIn(x.Revision) != 0 {
			j.Exchange(x, j.at(frame, x.Revision))
		}
	}
}

// around returns the revision of an exchange whose messages do not tell: that of its session.
// One without a session, such as a request for metadata, has that of its header, or else that
// of the last session, or else of the last message, such as an initialize that was refused.
func (c *Checker) around(x *Exchange) jsonrpc.Revision {
	s := x.Session
	if s.Number == 0 {
		if named := Field(x.Request, "MCP-Protocol-Version"); len(named) > 0 {
			return known(jsonrpc.Revision(named[0]))
		}
		s = c.sessions.Newest()
	}
	if s.Facts != nil {
		if rev := cmp.Or(known(s.Facts.Revision), known(s.Facts.Requested)); rev != "" {
			return rev
		}
	}
	return c.revision
}

// end ends a session.
func (c *Checker) end(s *Session) {
	for _, j := range s.rules {
		if j.End != nil {
			rev := jsonrpc.Revision("")
			if s.Facts != nil {
				rev = known(s.Facts.Revision)
			}
			j.End(j.at(c.last, rev))
		}
	}
	for _, r := range s.requests.All {
		s.release(r.Params)
	}
	for _, defs := range s.Listed {
		s.releaseAll(defs)
	}
}

// Report ends the recording and returns the results. Open are the calls that are open, as
// [session.Tracker.Open] returns them.
func (c *Checker) Report(open []*session.Call) *Report {
	for _, call := range open {
		if s, ok := c.sessions.Get(call.Session); ok {
			c.call(s, call)
		}
	}
	for _, x := range c.exchanges.All {
		c.over(x)
	}
	for _, s := range c.sessions.All {
		c.end(s)
	}
	return c.results.report()
}

// learn remembers capabilities and definitions. It is called after the rules have judged the
// message, so these compare with what was known before.
func (s *Session) learn(m *Message) {
	if !s.seen {
		s.seen = true
		s.Start = m.Kind == jsonrpc.Request && (m.Method == "initialize" || m.Method == "server/discover" || m.Method == "ping") ||
			s.Transport == "stdio" && m.Part.Message.Seq <= 2
	}
	switch m.Kind {
	case jsonrpc.Request:
		s.learnRequest(m)
	case jsonrpc.Response:
		if m.Request != nil {
			s.learnResult(m)
		}
	case jsonrpc.Notification:
		s.toolsChanged = s.toolsChanged || m.Method == "notifications/tools/list_changed"
	}
}

func (s *Session) learnRequest(m *Message) {
	if m.Lane != tap.ToServer {
		return
	}
	if m.Method == "initialize" {
		s.release(s.Client)
		s.Client = s.keep(m.Param("capabilities"))
	} else if own := m.Param("_meta").Get(jsonrpc.MetaPrefix + "clientCapabilities"); own != nil {
		s.release(s.Client)
		s.Client = s.keep(own)
	}
}

// learnResult remembers what the result of a known request defines.
func (s *Session) learnResult(m *Message) {
	result := m.Outcome()
	if asked := result.Get("inputRequests"); asked.IsObject() {
		s.learnAsked(m, asked)
	}
	switch m.Request.Method {
	case "initialize", "server/discover":
		s.checker.listed[""] = m.Entry.Frame.Seq
		if name := result.Get("serverInfo", "name"); name.Class() == '"' {
			s.checker.offer(m.Entry.Frame.Seq, ofServer, ofServer, name)
		}
		if text := result.Get("instructions"); text.Class() == '"' && s.checker.offer(m.Entry.Frame.Seq, ofInstructions, ofInstructions, text) == nil {
			s.checker.cut = true
		}
		declared := result.Get("capabilities")
		if declared.IsObject() && s.checker.offer(m.Entry.Frame.Seq, m.Request.Method, ofCapabilities, declared) == nil {
			s.checker.cut = true
		}
		s.release(s.Server)
		s.Server = s.keep(declared)
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		s.define(m)
	}
}

// learnAsked remembers requests for input with the first request of their call.
func (s *Session) learnAsked(m *Message, asked jsonrpc.Value) {
	first, ok := s.requests.Get(m.Part.Call)
	if !ok {
		return
	}
	first.asked = map[string]*Request{}
	for name, v := range asked.Each {
		if len(first.asked) == maxCarried {
			return
		}
		first.asked[string(name)] = &Request{
			Ref: m.Part.Message, Lane: m.Lane, Method: v.Get("method").Decoded(), Params: s.keep(v.Get("params")), Revision: m.Revision,
		}
	}
}

// define remembers the definitions in a page of a list. The first page replaces them.
func (s *Session) define(m *Message) {
	method := strings.Clone(m.Request.Method)
	list, defs := lists[method], s.Listed[method]
	if defs == nil || m.Request.Param("cursor") == nil {
		s.releaseAll(defs)
		defs = map[string]jsonrpc.Value{}
		s.Listed[method] = defs
	}
	s.checker.listed[method] = m.Entry.Frame.Seq
	s.checker.partial[method] = m.Member("nextCursor").Decoded() != ""
	if method == "tools/list" {
		s.toolsChanged = false
	}
	for _, v := range m.Member(list.member).Each {
		if len(defs) == maxDefinitions {
			s.checker.cut = true
			return
		}
		if name := v.Get(list.key).Decoded(); name != "" {
			s.release(defs[name])
			defs[strings.Clone(name)] = s.keep(v)
			if s.checker.offer(m.Entry.Frame.Seq, method, name, v) == nil {
				s.checker.cut = true
			}
		}
	}
}

// keep returns a copy of a value, nil if there is no room for it.
func (s *Session) keep(v jsonrpc.Value) jsonrpc.Value {
	if len(v) == 0 || len(v) > maxParams || s.checker.held+len(v) > maxHeld {
		return nil
	}
	s.checker.held += len(v)
	return append(jsonrpc.Value{}, v...)
}

// release gives back the room of a value.
func (s *Session) release(v jsonrpc.Value) { s.checker.held -= len(v) }

func (s *Session) releaseAll(defs map[string]jsonrpc.Value) {
	for _, v := range defs {
		s.release(v)
	}
}
