package check

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// Limits of a [Checker].
const (
	// maxSessions limits the sessions judged at the same time, to the most recent ones.
	maxSessions = 256
	// maxRequests limits the requests per session that are remembered until their responses
	// arrive, and maxParams the bytes of params kept of each.
	maxRequests = 4096
	maxParams   = 256 << 10
	// maxHeld limits the bytes of params, capabilities and definitions kept for all sessions.
	// Rules do not see anything beyond it.
	maxHeld = 64 << 20
	// maxDefinitions limits the definitions kept of a list.
	maxDefinitions = 100_000
	// maxExchanges limits the open exchanges that are remembered.
	maxExchanges = 4096
	// maxCompiled limits the compiled schemas of servers that are kept.
	maxCompiled = 256
)

// A Checker judges the frames of a recording: call [Checker.Add] for each frame, in order, and
// then [Checker.Report].
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
	cut   bool // some definitions were dropped
	// schemas are loaded on demand. before is the number of violations of class Must or worse
	// before the current message.
	schemas map[jsonrpc.Revision]*protocolSchema
	before  uint64
	// seen reports, for each of topics, whether the recording shows it.
	seen []bool
	// lost reports, for each of topics, whether one of its calls got no response.
	lost []bool
	// answered reports that the server sent a message.
	answered bool
	// listed has the frame numbers of the last lists, by method, and of the last handshake,
	// under "".
	listed map[string]uint64
	// partial reports whether the last page of a list is missing, by method.
	partial map[string]bool
	// revision is the revision of the last message that had one.
	revision jsonrpc.Revision
	// offered has the distinct definitions that were offered, by list method and name: see
	// pin.go. Definitions with the same name are ordered by when they were last offered.
	// offeredBytes is their size, and dropped reports that some were not kept.
	offered      map[string]map[string][]offer
	offeredBytes int
	dropped      bool
	// compiled has the compiled schemas of servers, by the hashes of their texts.
	compiled bounded.Map[uint64, *toolSchema]
}

// New returns a checker for some rules.
func New(rules []*Rule) *Checker {
	c := &Checker{
		rules: slices.Clone(rules), results: &results{judgements: map[*Rule]*Judgement{}, findings: map[findingKey]*Finding{}},
		listed: map[string]uint64{}, partial: map[string]bool{}, offered: map[string]map[string][]offer{}, schemas: map[jsonrpc.Revision]*protocolSchema{},
		seen: make([]bool, len(topics)), lost: make([]bool, len(topics)),
	}
	// feat-25 reports only what no other rule has reported.
	if i := slices.IndexFunc(c.rules, func(r *Rule) bool { return r.ID == "feat-25" }); i >= 0 {
		last := c.rules[i]
		c.rules = append(slices.Delete(c.rules, i, i+1), last)
	}
	c.sessions.Max, c.exchanges.Max, c.compiled.Max = maxSessions, maxExchanges, maxCompiled
	return c
}

// Each sets a function that is called for each violation, with its frame number. (A finding
// names only its first frames.)
func (c *Checker) Each(f func(rule *Rule, frame uint64)) { c.results.each = f }

// Found sets a function that is called for each new finding, which f must not change.
func (c *Checker) Found(f func(*Finding)) { c.results.found = f }

// A judge is a rule applied to a session.
type judge struct {
	Hooks
	verdict Verdict
}

// at returns the verdict of a judge for a frame.
func (j *judge) at(frame uint64, rev jsonrpc.Revision) *Verdict {
	j.verdict.frame, j.verdict.revision = frame, rev
	return &j.verdict
}

// session returns a session, creating it if necessary.
func (c *Checker) session(e *session.Entry) *Session {
	if s, ok := c.sessions.Get(e.Session); ok {
		return s
	}
	s := &Session{Number: e.Session, Transport: transportOf(e), Gap: c.gap, checker: c}
	s.Listed, s.selected = map[string]map[string]jsonrpc.Value{}, map[string][]*judge{}
	s.requests.Max = maxRequests
	for _, r := range c.rules {
		if r.New == nil || !r.applies(s.Transport) {
			continue
		}
		j := &judge{r.New(s), Verdict{Judgement: c.results.of(r), results: c.results, session: s.Number}}
		s.rules = append(s.rules, j)
		if j.Watch != nil {
			s.watchers = append(s.watchers, j)
		}
		if j.Frame != nil {
			s.frames = append(s.frames, j)
		}
		for _, on := range j.On {
			s.selected[on] = append(s.selected[on], j)
		}
	}
	if old, ok := c.sessions.Put(e.Session, s); ok {
		c.end(old)
	}
	return s
}

// transportOf returns the transport of a session whose first frame is e.
func transportOf(e *session.Entry) string {
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
	c.results.places = c.results.places[:0]
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
		return // the frames after the head show the transport
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
	text := jsonrpc.Value(bytes.Trim(jsonrpc.Payload(e.Frame), " \t\r\n"))
	texts := []jsonrpc.Value{text} // of the messages, by index
	if e.Message.Kind == jsonrpc.Batch {
		c.message(&Message{Message: &e.Message, Entry: e, Session: s, Lane: e.Frame.Lane, Path: "$", Revision: s.inForce(e.Revision()), Envelope: text})
		texts = texts[:0]
		for _, v := range text.Each {
			texts = append(texts, v)
		}
	}
	for i := range e.Parts {
		m := &Message{Message: e.Of(i), Entry: e, Session: s, Part: e.Parts[i], Lane: e.Frame.Lane, Path: "$"}
		if k := m.Part.Message.Index; k < len(texts) {
			m.Envelope = texts[k]
		}
		if m.Revision = s.inForce(s.revision(m)); m.Revision == "" && x != nil {
			if m.Revision = x.Revision; m.Revision == "" && x.namesNoVersion() {
				m.Revision = c.revision // the header holds no valid version
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

// exchange returns the exchange of a frame, updated with the frame.
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

// message passes a message to the rules.
func (c *Checker) message(m *Message) {
	s := m.Session
	for _, j := range s.watchers {
		j.Watch(m)
	}
	if m.Path == "$" {
		c.before = c.results.serious
		if m.Kind != jsonrpc.Invalid && m.Kind != jsonrpc.Batch {
			c.results.Messages++
		}
	}
	kind := m.Kind.String()
	switch m.Kind {
	case jsonrpc.Response:
		kind = "result"
	case jsonrpc.Other:
		kind = jsonrpc.Invalid.String()
	}
	s.judge(m, kind)
	if m.Kind == jsonrpc.Batch || kind == jsonrpc.Invalid.String() {
		return
	}
	s.judge(m, kind+" "+m.about())
	c.embedded(m)
	s.judge(m, "message")
}

// judge passes a message to the rules that select its kind, or its kind and method.
func (s *Session) judge(m *Message, on string) {
	why, method := "", m.about()
	switch {
	case m.Unread:
		why = "the message is too large to be read"
	case m.Entry.Frame.Truncated:
		why = "the frame is truncated"
	}
	for _, j := range s.selected[on] {
		if !j.verdict.Rule.binds(m.Lane) {
			continue
		}
		v := j.at(m.Entry.Frame.Seq, m.Revision)
		switch judged := v.judged(); {
		case !judged && m.Revision == "":
			v.Skip("the revision is not known")
		case !judged:
		case why != "":
			v.Skip(why)
		default:
			v.method = method
			if j.Message(m, v); m.cut {
				v.Skip(fmt.Sprintf("only the first %d parts of a message are judged", maxParts))
				m.cut = false
			}
		}
	}
}

// embedded passes the input requests in a result, and the input responses in a retry, to the
// rules (2026-07-28, basic/patterns/mrtr).
func (c *Checker) embedded(m *Message) {
	if m.Path != "$" || m.Unread {
		return
	}
	hand := func(inner jsonrpc.Message, request *Request, path string) {
		c.message(&Message{Message: &inner, Entry: m.Entry, Session: m.Session, Lane: m.Lane, Revision: m.Revision, Request: request, Path: path})
	}
	switch m.Kind {
	case jsonrpc.Response:
		for name, v := range m.Member("inputRequests").Each {
			if method := v.Get("method").Decoded(); method != "" {
				hand(jsonrpc.Message{Kind: jsonrpc.Request, Method: method, Params: v.Get("params")}, nil, "$.result.inputRequests."+string(name))
			}
		}
	case jsonrpc.Request:
		if answers := m.Param("inputResponses"); answers.IsObject() {
			for name, v := range answers.Each {
				if asked := m.asked(string(name)); asked != nil {
					hand(jsonrpc.Message{Kind: jsonrpc.Response, Result: v}, asked, "$.params.inputResponses."+string(name))
				}
			}
		}
	}
}

// call passes a call to the rules.
func (c *Checker) call(s *Session, call *session.Call) {
	rev := s.inForce(call.Revision)
	for _, j := range s.rules {
		if j.Call != nil && (rev == "" || j.verdict.Rule.ClassIn(rev) != 0) {
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

// over passes a completed exchange to the rules.
func (c *Checker) over(x *Exchange) {
	if x.Session == nil {
		return
	}
	if x.Revision == "" {
		x.Revision = c.around(x)
	}
	frame := x.frame()
	for _, j := range x.Session.rules {
		if j.Exchange != nil && (x.Revision == "" || j.verdict.Rule.ClassIn(x.Revision) != 0) {
			j.Exchange(x, j.at(frame, x.Revision))
		}
	}
}

// around returns the revision of an exchange whose messages do not have one: that of its
// session. Without a session, as for a metadata request, it is that of the header, or else of
// the last session, or else of the last message, such as a refused initialize.
func (c *Checker) around(x *Exchange) jsonrpc.Revision {
	s := x.Session
	if s.Number == 0 {
		if named := field(x.Request, versionField); len(named) > 0 {
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
			j.End(j.at(c.last, s.inForce("")))
		}
	}
	for _, r := range s.requests.All {
		s.release(r.Params)
	}
	for _, defs := range s.Listed {
		s.releaseAll(defs)
	}
}

// Report ends the recording and returns the results. open are the open calls, as returned by
// [session.Tracker.Open].
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
