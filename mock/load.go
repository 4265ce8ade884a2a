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

// A Recording is what can be played of a recording: the scripts of its sessions, with
// their payloads.
type Recording struct {
	*replay.Script // of the first session
	opt            replay.Options
	sessions       []*played
	// pages are the exchanges that belong to no session, refusals those that were
	// refused for their circumstances.
	pages    *replay.Script
	refusals map[refusalKey][]replay.Refusal
	// early reports that the server may have refused a message before all of it had come.
	early bool
	// upgrades are the requests for a WebSocket, in order: nil for one that was granted, else
	// the exchange that refused it. subprotocols are those that the server agreed on.
	upgrades     []*replay.Exchange
	subprotocols []string
	// tolerated are the conditions in which the server still took a message.
	tolerated replay.Condition
	addresses addresses
	problems  []Problem
	// beyond is how many problems there are beside those.
	beyond int
}

// A Problem is something in a recording that cannot be as it was: a mistake of a person
// who edited it, as a rule.
type Problem struct {
	// Frame is the number of the frame, Text what is wrong with it.
	Frame uint64
	Text  string
}

// maxProblems is how many problems are kept.
const maxProblems = 20

// Problems returns the first problems of a recording, and how many others there are.
func (r *Recording) Problems() (first []Problem, more int) { return r.problems, r.beyond }

// A played is a session of a recording.
type played struct {
	*replay.Script
	number int
	facts  session.Facts
	kind   session.SessionKind
	// path is where its messages were sent to, "" when that is not known. heads
	// says that it was recorded with the heads of its exchanges.
	path  string
	heads bool
	// again are the DELETEs of the session that the server took when it was over.
	again []*replay.Exchange
	// bye is the close frame with which the server ended its WebSocket, nil for none.
	bye []byte
	// accepted is how a message was taken that nothing answers, and opened how the stream
	// of HTTP+SSE began, nil if that is not known; endpoint is the event that it began with.
	accepted, opened *replay.Response
	endpoint         []byte
}

// nameless reports whether the server gave out no session id.
func (p *played) nameless() bool { return p.heads && p.kind == session.SessionClient }

// A refusalKey is what was refused, and why. Without a key it is any message, and without
// a method any request.
type refusalKey struct {
	method string
	why    replay.Condition
	key    replay.Key
}

// addresses are those of the recorded server. The paths are "" for what was not recorded.
type addresses struct {
	// mcp, sse, post and socket are the paths of Streamable HTTP, of the event
	// stream of HTTP+SSE and what the client sends there, and of WebSocket; param is how
	// the post path names the session.
	mcp, sse, post, socket, param string
	// hosts are the server's names, beside those of every machine, and origins the
	// recorded server's.
	hosts, origins []string
}

// Scripts returns the scripts of the sessions, in the order in which they appeared
// in the recording.
func (r *Recording) Scripts() []*replay.Script {
	var all []*replay.Script
	for _, p := range r.sessions {
		all = append(all, p.Script)
	}
	return all
}

// Only leaves of a recording the session with that number, from 1 in the order in
// which the sessions appeared (see [session.Sessions]). It reports whether there is one
// in which something was said.
func (r *Recording) Only(number int) bool {
	for _, p := range r.sessions {
		if p.number == number {
			r.sessions, r.Script = []*played{p}, p.Script
			return true
		}
	}
	return false
}

// Load makes scripts of the frames of a recording, whose Raw must be whole. The
// payloads of a large one go into a temporary file, so that memory is needed for an
// index only. The error is that of the frames, or of the file.
func Load(frames iter.Seq2[tap.Frame, error], opt replay.Options) (*Recording, error) {
	l := &loader{
		rec: &Recording{opt: opt, refusals: map[refusalKey][]replay.Refusal{}}, pages: replay.NewBuilder(opt),
		building: map[int]*building{}, open: map[uint64]*exchange{},
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

// A loader makes a Recording, frame by frame: it tells the sessions apart, and what
// belongs to none.
type loader struct {
	rec      *Recording
	tracker  session.Tracker
	pages    *replay.Builder
	building map[int]*building
	inOrder  []*building
	// http says that there are exchanges, heads that those of their requests are
	// there too; open are those that are not over.
	http, heads bool
	open        map[uint64]*exchange
	// refused are the refusals with the sessions that they are of, kept bounds what is
	// held of pages.
	refused []refused
	kept    int
}

// A building is a session on its way into a script.
type building struct {
	played
	b *replay.Builder
	// took says that the server took a request of it, deleted that the client ended it.
	took, deleted bool
}

// An exchange is a recorded one that is not over.
type exchange struct {
	replay.Exchange
	session    int
	conditions replay.Condition
	key        replay.Key
	why        replay.Condition
	claimed    bool
	// closed reports that a side has closed the WebSocket.
	closed bool
	// held are its frames before its session is known, early those of a response that
	// began before the request had ended.
	held, early []held
}

// A held frame belongs to an exchange whose session is not known yet.
type held struct {
	frame tap.Frame
	event tap.Event
	parts []session.Part
}

func (h *held) entry() *session.Entry {
	return &session.Entry{Frame: &h.frame, Event: h.event, Message: jsonrpc.PeekFrame(&h.frame), Parts: h.parts}
}

type refused struct {
	method string
	why    replay.Condition
	key    replay.Key
	b      *building
	x      *replay.Exchange
}

const (
	// onlySession is the number of the session of a recording without exchanges.
	onlySession = 1
	// maxHeld is how many bytes are held of an exchange whose session is not known, and
	// maxKept how many there may be of pages.
	maxHeld = 256 << 10
	maxKept = 16 << 20
	// maxRefusals is how many refusals are told apart.
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
	case !l.http, !l.heads && f.Lane != tap.Lifecycle: // lines, or messages alone, as people write them by hand
		l.session(onlySession).b.Add(e, nil)
	case f.Exchange != 0:
		l.exchange(e)
	case e.Event.Name == tap.EventStart:
		l.rec.addresses.names(&e.Event)
	}
}

// inspect looks for what cannot be as it was.
func (l *loader) inspect(e *session.Entry) {
	problem := func(format string, args ...any) {
		if len(l.rec.problems) == maxProblems {
			l.rec.beyond++
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
		if of.Kind != jsonrpc.Response && of.Kind != jsonrpc.ErrorResponse {
			continue
		}
		if of.Kind == jsonrpc.ErrorResponse && of.Result != nil && string(of.Result) != "null" {
			problem("the response with the id %s has both a result and an error", jsonrpc.Bound(string(of.ID)))
		}
		switch p.Role {
		case session.RoleOrphan:
			if id := string(of.ID); id != "" && id != "null" {
				problem("the response with the id %s answers no request", jsonrpc.Bound(id))
			}
		case session.RoleRepeat:
			problem("the response with the id %s answers frame %d, which has a response", jsonrpc.Bound(string(of.ID)), p.Request.Seq)
		}
	}
}

// session is the one with that number, which is made if need be.
func (l *loader) session(number int) *building {
	x := l.building[number]
	if x == nil {
		x = &building{played: played{number: number}, b: replay.NewBuilder(l.rec.opt)}
		l.building[number] = x
		l.inOrder = append(l.inOrder, x)
	}
	return x
}

// exchange takes a frame of an exchange.
func (l *loader) exchange(e *session.Entry) {
	f := e.Frame
	if e.Event.Name == tap.EventRequest {
		l.open[f.Exchange] = &exchange{Exchange: replay.Exchange{
			Number: f.Exchange, Method: e.Event.Method, Target: e.Event.Target, Head: replay.ReadHead(e.Event.Header),
		}}
	}
	x := l.open[f.Exchange]
	switch {
	case x == nil && e.Session == 0:
		return
	case x == nil: // its head is not there
		l.session(e.Session).b.Add(e, nil)
		return
	case e.Session != 0:
		x.session = e.Session
	}
	if l.early(x, e) {
		return
	}
	claims := f.Lane == tap.ToServer && !x.claimed
	if claims {
		x.claimed = true
		first := e.Of(0)
		x.Claim = replay.ReadClaim(first)
		x.key = replay.KeyOf(first, x.Head.Variant(&x.Claim), &l.rec.opt)
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

// early keeps a frame of a response that began before the message of its request had
// ended, as where the server refuses a body by its head. It is played behind that.
func (l *loader) early(x *exchange, e *session.Entry) bool {
	response := e.Frame.Lane == tap.ToClient || isAnswer(&e.Event)
	if x.claimed || x.Method != http.MethodPost || !response || !l.holds(len(x.early), e.Frame) {
		return false
	}
	x.early = append(x.early, hold(e))
	return true
}

// late takes the frames that early has kept.
func (l *loader) late(x *exchange) {
	for i := range x.early {
		l.take(x, x.early[i].entry())
	}
	x.early = nil
}

// holds reports whether a frame may be held, behind n others of its exchange.
func (l *loader) holds(n int, f *tap.Frame) bool {
	if n > 0 && (len(f.Raw) > maxHeld || l.kept+len(f.Raw) > maxKept) {
		return false
	}
	l.kept += len(f.Raw)
	return true
}

func hold(e *session.Entry) held {
	h := held{*e.Frame, e.Event, slices.Clone(e.Parts)}
	h.frame.Raw = bytes.Clone(e.Frame.Raw)
	return h
}

// isAnswer reports whether an event is the head of a response that is no interim one.
func isAnswer(e *tap.Event) bool {
	return e.Name == tap.EventResponse && (e.Status >= 200 || e.Status == http.StatusSwitchingProtocols)
}

// judge finds out for what a request was refused, if it was.
func (l *loader) judge(x *exchange, e *tap.Event) {
	host, origin := l.rec.addresses.knows(&x.Head)
	x.conditions = x.Head.Conditions(&x.Claim, host, origin)
	b := l.building[x.session]
	over := b == nil || b.deleted || !b.took
	nameless := b != nil && b.took && (b.kind == session.SessionClient || b.kind == session.SessionEndpoint)
	x.why = x.Blame(e.Status, x.conditions&^l.rec.tolerated, over, nameless)
	l.rec.early = l.rec.early || x.Method == http.MethodPost && x.Claim.Kind == jsonrpc.Invalid && e.Status >= 400
	if x.Head.Socket && x.why == 0 {
		l.upgrade(x, e)
	}
	if e.Status >= 400 || b == nil {
		return
	}
	b.took = true
	switch {
	case x.Method == http.MethodPost && x.claimed:
		l.rec.tolerated |= x.conditions
		if x.Claim.Kind != jsonrpc.Request && b.accepted == nil && e.Status >= 200 && e.Status < 300 {
			r := replay.ReadResponse(e)
			b.accepted = &r
		}
	case x.Method == http.MethodDelete && e.Status < 300:
		if b.deleted && len(b.again) < maxRefusals {
			b.again = append(b.again, &x.Exchange)
		}
		b.deleted = true
	}
}

// upgrade takes the response to a request for a WebSocket.
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

// take gives a frame to the session of its exchange, with those before it if the session
// has just become known.
func (l *loader) take(x *exchange, e *session.Entry) {
	f := e.Frame
	if isAnswer(&e.Event) {
		l.judge(x, &e.Event)
	}
	if x.session == 0 {
		if l.holds(len(x.held), f) {
			x.held = append(x.held, hold(e))
		}
		return
	}
	s := l.session(x.session)
	now, kept := l.tracker.Sessions.Session(x.session)
	if kept {
		s.kind = now.Kind
		s.facts = now.Facts
	}
	path, _, _ := strings.Cut(x.Target, "?")
	s.heads = true
	duplex := s.kind == session.SessionEndpoint || s.kind == session.SessionSocket
	switch {
	case s.kind == session.SessionSocket:
		l.rec.addresses.socket = cmp.Or(l.rec.addresses.socket, path)
	case s.kind == session.SessionEndpoint:
		l.rec.addresses.endpoint(x, f)
	case x.Method == http.MethodPost && f.Lane == tap.ToServer:
		l.rec.addresses.mcp = cmp.Or(l.rec.addresses.mcp, path)
	}
	if s.path == "" && f.Lane == tap.ToServer {
		s.path = path
	}
	if duplex && (s.kind == session.SessionSocket || x.Method != http.MethodPost) {
		leaves := f.Lane == tap.Lifecycle
		switch {
		case f.Form == tap.FormClose && f.Lane == tap.ToServer:
			x.closed = true
			return
		case f.Form == tap.FormClose && !x.closed: // what follows is the connection's end
			x.closed, leaves = true, true
			s.bye = append([]byte{}, f.Raw...)
		case isEndpoint(f):
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
		one := *f
		one.Exchange = 0 // there is one stream for everything
		entry := *e
		entry.Frame = &one
		if leaves {
			one.Lane = tap.Lifecycle
			entry.Event = tap.Event{Name: tap.EventEOF, Lane: tap.ToClient.String(), By: "server", Error: e.Event.Error}
		}
		s.b.Add(&entry, nil)
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

// isEndpoint reports whether a frame is the event of HTTP+SSE that names where to send
// messages.
func isEndpoint(f *tap.Frame) bool {
	return f.Form == tap.FormEvent && tap.ParseServerSentEvent(f.Raw).Name == "endpoint"
}

// refuse keeps what was refused for a condition.
func (l *loader) refuse(x *exchange, b *building) {
	if len(l.refused) < maxRefusals {
		l.refused = append(l.refused, refused{x.Method, x.why, x.key, b, &x.Exchange})
	}
}

// page takes an exchange that belongs to no session.
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

// recording returns what was made.
func (l *loader) recording() *Recording {
	for _, number := range slices.Sorted(maps.Keys(l.open)) {
		x := l.open[number]
		if l.late(x); x.session == 0 {
			l.page(x)
		}
	}
	if len(l.inOrder) == 0 {
		l.session(onlySession)
	}
	r := l.rec
	for _, x := range l.inOrder {
		x.Script = x.b.Script()
		if x.Requests() > 0 || x.Steps() > 0 || len(l.inOrder) == 1 {
			r.sessions = append(r.sessions, &x.played)
		}
	}
	if len(r.sessions) == 0 {
		r.sessions = append(r.sessions, &l.inOrder[0].played)
	}
	r.pages = l.pages.Script()
	for i := range l.refused {
		x := &l.refused[i]
		refusal := replay.Refusal{Exchange: x.x, Script: r.pages}
		if x.b != nil {
			refusal.Script = x.b.Script
		}
		for _, k := range []refusalKey{{x.method, x.why, x.key}, {x.method, x.why, 0}, {"", x.why, 0}} {
			r.refusals[k] = append(r.refusals[k], refusal)
		}
	}
	r.Script = r.sessions[0].Script
	return r
}

// names learns what the recorded server was called.
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

// endpoint learns the paths of HTTP+SSE.
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

// stands reports whether a client that uses a path means a recorded one, in which a
// pseudonym stands for any segment.
func stands(recorded, path string) bool {
	if recorded == path {
		return true
	}
	a, b := strings.Split(recorded, "/"), strings.Split(path, "/")
	return len(a) == len(b) && slices.EqualFunc(a, b, func(a, b string) bool {
		return a == b || isPseudonym(a) && b != ""
	})
}

// isPseudonym reports whether package redact may have put text in the place of a secret.
func isPseudonym(text string) bool {
	return strings.HasPrefix(text, "masked:") || strings.HasPrefix(text, "redacted-")
}
