package mock

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Recording has the scripts of the sessions of a recording.
type Recording struct {
	*replay.Script // of the first session
	opt            replay.Options
	sessions       []*played
	pages          *replay.Script // the exchanges that belong to no session
	refusals       map[refusalKey][]replay.Refusal
	early          bool // a message may have been refused before its body was sent
	// upgrades are the WebSocket requests, in order: nil for a granted one, otherwise the
	// exchange. subprotocols are those that the server accepted.
	upgrades     []*replay.Exchange
	subprotocols []string
	tolerated    replay.Condition   // the conditions in which the server accepted a message
	fields       replay.ParamFields // of the tools whose header fields are checked
	addresses    addresses
	problems     []Problem
	more         int // the number of further problems
}

// A Problem is an inconsistency in a recording, usually an editing mistake.
type Problem struct {
	Frame uint64 // its number
	Text  string
}

// maxProblems is the maximum number of problems kept.
const maxProblems = 20

// Problems returns the first problems of a recording, and the number of further ones.
func (r *Recording) Problems() (first []Problem, more int) { return r.problems, r.more }

// A played is a session of a recording.
type played struct {
	*replay.Script
	number     int
	facts      session.Facts
	kind       session.SessionKind
	path       string             // the path to which its messages were sent, "" if unknown
	heads      bool               // it was recorded with the heads of its exchanges
	deletes    []*replay.Exchange // the successful DELETEs after the first
	closeFrame []byte             // the frame with which the server closed the WebSocket, nil for none
	// accepted is the response to a POST without a request, opened the response head of the
	// HTTP+SSE stream. Both are nil if unknown. endpoint is the endpoint event of that stream.
	accepted, opened *replay.Response
	endpoint         []byte
}

// nameless reports whether the server assigned no session id.
func (p *played) nameless() bool { return p.heads && p.kind == session.SessionClient }

// A refusalKey identifies a refused message and the condition. A key of 0 stands for any message, a
// method of "" for any request.
type refusalKey struct {
	method string
	why    replay.Condition
	key    replay.Key
}

// addresses are the paths and names of the recorded server. Unknown paths are "".
type addresses struct {
	// mcp is the path of Streamable HTTP, sse and post are those of HTTP+SSE, socket that of
	// WebSocket. param is the query parameter of post that names the session.
	mcp, sse, post, socket, param string
	hosts, origins                []string
}

// Scripts returns the scripts of the sessions, in recorded order.
func (r *Recording) Scripts() (all []*replay.Script) {
	for _, p := range r.sessions {
		all = append(all, p.Script)
	}
	return all
}

// Only removes all sessions except the one with the given number, counted from 1 in recorded order
// (see [session.Sessions]). It reports whether there is such a session with messages.
func (r *Recording) Only(number int) bool {
	for _, p := range r.sessions {
		if p.number == number {
			r.sessions, r.Script = []*played{p}, p.Script
			return true
		}
	}
	return false
}

// Load makes scripts from the frames of a recording. The Raw of the frames must be complete. Load
// returns the first error in frames.
func Load(frames iter.Seq2[tap.Frame, error], opt replay.Options) (*Recording, error) {
	l := &loader{
		rec:   &Recording{opt: opt, refusals: map[refusalKey][]replay.Refusal{}, fields: replay.ParamFields{}},
		pages: replay.NewBuilder(opt), building: map[int]*building{}, open: map[uint64]*exchange{}, unlisted: map[string]bool{},
	}
	for f, err := range frames {
		if err == nil && !f.Whole() {
			err = fmt.Errorf("frame %d: %w", f.Seq, io.ErrUnexpectedEOF)
		}
		if err != nil {
			return nil, err
		}
		l.add(&f)
	}
	return l.recording(), nil
}

// A loader builds a Recording. It separates the sessions, and the exchanges that belong to none.
type loader struct {
	rec      *Recording
	tracker  session.Tracker
	pages    *replay.Builder
	building map[int]*building
	inOrder  []*building
	// http reports that there are exchanges, heads that their request heads were recorded.
	http, heads bool
	open        map[uint64]*exchange
	refused     []refused
	// unlisted are the tools that were called successfully before a tools/list result had them.
	unlisted map[string]bool
	kept     int // bytes held
}

// A building is a session being loaded.
type building struct {
	played
	b               *replay.Builder
	served, deleted bool // the server accepted a request, the client ended the session
}

// An exchange is a recorded exchange that has not ended.
type exchange struct {
	replay.Exchange
	session    int
	conditions replay.Condition
	wrongParam bool   // a Mcp-Param field of the head contradicts the message
	unlisted   string // the tool that it calls, if it has not been listed, "" otherwise
	key        replay.Key
	why        replay.Condition
	claimed    bool
	closed     bool // one side has closed the WebSocket
	// unsent reports that the tap itself responded: the request did not reach the server.
	unsent bool
	// held are the frames from before the session is known, early those of a response that
	// began before the request had ended.
	held, early []held
}

// A held is a frame to be added later.
type held struct {
	frame tap.Frame
	event tap.Event
	parts []session.Part
}

func (h *held) entry() *session.Entry {
	return &session.Entry{Frame: &h.frame, Event: h.event, Message: jsonrpc.PeekFrame(&h.frame), Parts: h.parts}
}

// A refused is an exchange that was refused for a condition, with its session, nil for none.
type refused struct {
	why replay.Condition
	key replay.Key
	b   *building
	x   *replay.Exchange
}

const (
	onlySession = 1         // the session of a recording without exchanges
	maxHeld     = 256 << 10 // bytes of a held frame, except the first of its exchange
	maxKept     = 16 << 20  // bytes of all held frames, except the first ones
	maxRefusals = 4096
)

// add adds the next frame.
func (l *loader) add(f *tap.Frame) {
	e := l.tracker.Add(f)
	l.inspect(e)
	switch {
	case f.Exchange != 0:
		l.http = true
		l.heads = l.heads || e.Event.Name == tap.EventRequest
	case f.Lane == tap.Lifecycle:
		l.http = l.http || e.Event.Transport == "http" || e.Event.Name == tap.EventConnect
	}
	switch {
	case !l.http, !l.heads && f.Lane != tap.Lifecycle: // stdio, or messages written by hand
		l.session(onlySession).b.Add(e, nil)
	case f.Exchange != 0:
		l.exchange(e)
	case e.Event.Name == tap.EventStart:
		l.rec.addresses.names(&e.Event)
	}
}

// inspect records the problems of a frame.
func (l *loader) inspect(e *session.Entry) {
	problem := func(format string, args ...any) {
		if len(l.rec.problems) == maxProblems {
			l.rec.more++
			return
		}
		l.rec.problems = append(l.rec.problems, Problem{e.Frame.Seq, fmt.Sprintf(format, args...)})
	}
	switch m := &e.Message; {
	case e.Frame.Lane != tap.ToClient && e.Frame.Lane != tap.ToServer || e.Replays > 0 || e.Frame.Truncated:
		return
	case m.Kind == jsonrpc.Invalid:
		problem("not a message: %s", m.Reason)
		return
	}
	for i, p := range e.Parts {
		of := e.Of(i)
		if !isResponse(of) {
			continue
		}
		id := jsonrpc.Bound(string(of.ID))
		if of.Kind == jsonrpc.ErrorResponse && of.Result != nil && string(of.Result) != "null" {
			problem("the response with the id %s has both a result and an error", id)
		}
		if p.Method == "tools/list" {
			l.rec.fields.Learn(of.Result)
		}
		switch {
		case p.Role == session.RoleOrphan && id != "" && id != "null":
			problem("the response with the id %s has no request", id)
		case p.Role == session.RoleRepeat:
			problem("the response with the id %s is a second response to frame %d", id, p.Request.Seq)
		}
	}
}

// session returns the session with a number, which it creates if necessary.
func (l *loader) session(number int) *building {
	x := l.building[number]
	if x == nil {
		x = &building{played: played{number: number}, b: replay.NewBuilder(l.rec.opt)}
		l.building[number] = x
		l.inOrder = append(l.inOrder, x)
	}
	return x
}

// exchange adds a frame of an exchange.
func (l *loader) exchange(e *session.Entry) {
	f := e.Frame
	if e.Event.Name == tap.EventRequest {
		l.open[f.Exchange] = &exchange{Exchange: replay.Exchange{
			Number: f.Exchange, Method: e.Event.Method, Target: e.Event.Target, Head: replay.ReadHead(e.Event.Header),
		}}
	}
	x := l.open[f.Exchange]
	if x == nil {
		if e.Session != 0 { // the head is missing
			l.session(e.Session).b.Add(e, nil)
		}
		return
	}
	if e.Session != 0 {
		x.session = e.Session
	}
	if x.unsent || l.unsent(x, e) {
		return
	}
	// A response may begin before its request has ended, for example if the server refuses a
	// body because of the head. It is played after the request.
	response := f.Lane == tap.ToClient || isAnswer(&e.Event)
	if !x.claimed && x.Method == http.MethodPost && response && l.hold(&x.early, e) {
		return
	}
	claims := f.Lane == tap.ToServer && !x.claimed
	if claims {
		x.claimed = true
		first := e.Of(0)
		x.Claim = replay.ReadClaim(first)
		x.key = replay.KeyOf(first, x.Head.Variant(&x.Claim), &l.rec.opt)
		x.wrongParam = l.rec.fields.Wrong(&x.Head, first) != ""
		if _, listed := l.rec.fields[x.Claim.Name]; !listed && x.Claim.Method == "tools/call" {
			x.unlisted = x.Claim.Name
		}
		l.take(x, e)
	}
	l.late(x)
	if claims {
		return
	}
	l.take(x, e)
	if e.Event.Name == tap.EventEnd {
		delete(l.open, f.Exchange)
		if x.session == 0 {
			l.page(x)
		}
	}
}

// unsent removes an exchange if an event shows that the tap itself responded, as it does if the
// server cannot be reached. It reports whether it did.
func (l *loader) unsent(x *exchange, e *session.Entry) bool {
	if !isAnswer(&e.Event) || e.Event.By != "tap" {
		return false
	}
	x.unsent, x.held, x.early = true, nil, nil
	if b := l.building[x.session]; b != nil {
		b.b.Refuse(&x.Exchange)
	}
	return true
}

// late adds the frames of an early response.
func (l *loader) late(x *exchange) {
	for i := range x.early {
		l.take(x, x.early[i].entry())
	}
	x.early = nil
}

// hold appends a frame to those held for later, and reports whether there was room.
func (l *loader) hold(to *[]held, e *session.Entry) bool {
	f := e.Frame
	if len(*to) > 0 && (len(f.Raw) > maxHeld || l.kept+len(f.Raw) > maxKept) {
		return false
	}
	l.kept += len(f.Raw)
	h := held{*f, e.Event, slices.Clone(e.Parts)}
	h.frame.Raw = bytes.Clone(f.Raw)
	*to = append(*to, h)
	return true
}

// isAnswer reports whether an event is the head of a final response.
func isAnswer(e *tap.Event) bool {
	return e.Name == tap.EventResponse && (e.Status >= 200 || e.Status == http.StatusSwitchingProtocols)
}

// judge determines why a request was refused, if it was.
func (l *loader) judge(x *exchange, e *tap.Event) {
	host, origin := l.rec.addresses.knows(&x.Head)
	x.conditions = x.Head.Conditions(&x.Claim, host, origin)
	if x.wrongParam {
		x.conditions |= replay.WrongParam
	}
	b := l.building[x.session]
	over := b == nil || b.deleted || !b.served
	nameless := b != nil && b.served && (b.kind == session.SessionClient || b.kind == session.SessionEndpoint)
	x.why = x.Blame(e.Status, x.conditions&^l.rec.tolerated, over, nameless)
	l.rec.early = l.rec.early || x.Method == http.MethodPost && x.Claim.Kind == jsonrpc.Invalid && e.Status >= 400
	if x.Head.Socket && x.why == 0 {
		l.upgrade(x, e)
	}
	if e.Status >= 400 || b == nil {
		return
	}
	b.served = true
	switch {
	case x.Method == http.MethodPost && x.claimed:
		l.rec.tolerated |= x.conditions
		if x.unlisted != "" {
			l.unlisted[x.unlisted] = true
		}
		if x.Claim.Kind != jsonrpc.Request && b.accepted == nil && e.Status >= 200 && e.Status < 300 {
			r := replay.ReadResponse(e)
			b.accepted = &r
		}
	case x.Method == http.MethodDelete && e.Status < 300:
		if b.deleted && len(b.deletes) < maxRefusals {
			b.deletes = append(b.deletes, &x.Exchange)
		}
		b.deleted = true
	}
}

// upgrade adds the response to a request for a WebSocket.
func (l *loader) upgrade(x *exchange, e *tap.Event) {
	if e.Status != http.StatusSwitchingProtocols && x.session == 0 {
		l.rec.upgrades = append(l.rec.upgrades, &x.Exchange)
		return
	}
	l.rec.upgrades = append(l.rec.upgrades, nil)
	for _, h := range e.Header {
		if strings.EqualFold(h[0], "Sec-WebSocket-Protocol") && !slices.Contains(l.rec.subprotocols, h[1]) {
			l.rec.subprotocols = append(l.rec.subprotocols, h[1])
		}
	}
}

// take adds a frame to the session of its exchange, or holds it until the session is known.
func (l *loader) take(x *exchange, e *session.Entry) {
	f := e.Frame
	if isAnswer(&e.Event) {
		l.judge(x, &e.Event)
	}
	if x.session == 0 {
		l.hold(&x.held, e)
		return
	}
	s := l.session(x.session)
	if now, kept := l.tracker.Sessions.Session(x.session); kept {
		s.kind, s.facts = now.Kind, now.Facts
	}
	path, _, _ := strings.Cut(x.Target, "?")
	s.heads = true
	duplex := s.kind == session.SessionEndpoint || s.kind == session.SessionSocket
	switch a := &l.rec.addresses; {
	case s.kind == session.SessionSocket:
		a.socket = cmp.Or(a.socket, path)
	case s.kind == session.SessionEndpoint:
		a.endpoint(x, f)
	case x.Method == http.MethodPost && f.Lane == tap.ToServer:
		a.mcp = cmp.Or(a.mcp, path)
	}
	if s.path == "" && f.Lane == tap.ToServer {
		s.path = path
	}
	if duplex && (s.kind == session.SessionSocket || x.Method != http.MethodPost) {
		if s.kind == session.SessionSocket { // add what was sent before the session was known
			for i := range x.held {
				if h := &x.held[i]; h.frame.Lane != tap.Lifecycle {
					s.onStream(x, h.entry())
				}
			}
			x.held = nil
		}
		s.onStream(x, e)
		return
	}
	x.Inbound = duplex
	for i := range x.held {
		s.b.Add(x.held[i].entry(), &x.Exchange)
	}
	x.held = nil
	s.b.Add(e, &x.Exchange)
	if isAnswer(&e.Event) && x.why != 0 {
		s.b.Refuse(&x.Exchange)
		l.refuse(x, s)
	}
}

// onStream adds a frame of the duplex stream of HTTP+SSE or a WebSocket.
func (s *building) onStream(x *exchange, e *session.Entry) {
	f := *e.Frame
	leaves := f.Lane == tap.Lifecycle
	switch {
	case f.Form == tap.FormClose && f.Lane == tap.ToServer:
		x.closed = true
		return
	case f.Form == tap.FormClose && !x.closed: // what follows is the end of the connection
		x.closed, leaves = true, true
		s.closeFrame = append([]byte{}, f.Raw...)
	case f.Form == tap.FormEvent && tap.ParseServerSentEvent(f.Raw).Name == "endpoint":
		s.endpoint = bytes.Clone(f.Raw)
		for i := range x.held {
			if h := &x.held[i]; isAnswer(&h.event) {
				r := replay.ReadResponse(&h.event)
				s.opened = &r
			}
		}
		return
	case f.Lane == tap.Lifecycle && (e.Event.Name != tap.EventEnd || e.Event.By != "server" || e.Event.HalfClosed):
		return
	}
	f.Exchange = 0
	entry := *e
	entry.Frame = &f
	if leaves {
		f.Lane = tap.Lifecycle
		entry.Event = tap.Event{Name: tap.EventEOF, Lane: tap.ToClient.String(), By: "server", Error: e.Event.Error}
	}
	s.b.Add(&entry, nil)
}

// refuse stores an exchange that was refused for a condition.
func (l *loader) refuse(x *exchange, b *building) {
	if len(l.refused) < maxRefusals {
		l.refused = append(l.refused, refused{x.why, x.key, b, &x.Exchange})
	}
}

// page adds an exchange that belongs to no session.
func (l *loader) page(x *exchange) {
	x.Page = true
	for i := range x.held {
		l.pages.Add(x.held[i].entry(), &x.Exchange)
	}
	if x.why != 0 {
		l.pages.Refuse(&x.Exchange)
		l.refuse(x, nil)
	}
}

// recording returns the Recording.
func (l *loader) recording() *Recording {
	for _, number := range slices.Sorted(maps.Keys(l.open)) {
		x := l.open[number]
		if l.late(x); x.session == 0 && !x.unsent {
			l.page(x)
		}
	}
	if len(l.inOrder) == 0 {
		l.session(onlySession)
	}
	r := l.rec
	for tool := range l.unlisted {
		delete(r.fields, tool)
	}
	for _, x := range l.inOrder {
		x.Script = x.b.Script()
		if !x.Empty() {
			r.sessions = append(r.sessions, &x.played)
		}
	}
	if len(r.sessions) == 0 {
		r.sessions = append(r.sessions, &l.inOrder[0].played)
	}
	r.pages = l.pages.Script()
	for _, x := range l.refused {
		refusal := replay.Refusal{Exchange: x.x, Script: r.pages}
		if x.b != nil {
			refusal.Script = x.b.Script
		}
		for _, k := range refusalKeys(x.x.Method, x.why, x.key) {
			r.refusals[k] = append(r.refusals[k], refusal)
		}
	}
	r.Script = r.sessions[0].Script
	return r
}

// refusalKeys returns the keys of a refusal, strictest first.
func refusalKeys(method string, why replay.Condition, key replay.Key) []refusalKey {
	return []refusalKey{{method, why, key}, {method, why, 0}, {"", why, 0}}
}

// names adds the host names and origins of the recorded server.
func (a *addresses) names(e *tap.Event) {
	for _, text := range []string{"http://" + e.Listen, e.Upstream} {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			continue
		}
		a.hosts = append(a.hosts, strings.ToLower(u.Hostname()))
		a.origins = append(a.origins, u.Scheme+"://"+u.Host)
	}
}

// endpoint reads the paths of HTTP+SSE from the endpoint event.
func (a *addresses) endpoint(x *exchange, f *tap.Frame) {
	if a.sse != "" || f.Lane != tap.ToClient || f.Form != tap.FormEvent {
		return
	}
	e := tap.ParseServerSentEvent(f.Raw)
	base, err := url.Parse(x.Target)
	if e.Name != "endpoint" || err != nil {
		return
	}
	u, err := base.Parse(strings.TrimSpace(string(e.Data)))
	if err != nil {
		return
	}
	a.sse, a.post = base.Path, u.Path
	for name := range u.Query() {
		if strings.Contains(strings.ToLower(strings.ReplaceAll(name, "_", "")), "sessionid") {
			a.param = name
		}
	}
}

// samePath reports whether a path matches a recorded one, in which pseudonyms match any segment.
func samePath(recorded, path string) bool {
	return slices.EqualFunc(strings.Split(recorded, "/"), strings.Split(path, "/"), func(a, b string) bool {
		masked := strings.HasPrefix(a, "masked:") || strings.HasPrefix(a, "redacted-")
		return a == b || masked && b != ""
	})
}
