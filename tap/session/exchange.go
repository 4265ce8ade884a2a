package session

import (
	"crypto/sha256"
	"net/url"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// exchangeState is what is known of an exchange that is open.
type exchangeState struct {
	Exchange
	conn   uint64
	target string // path and query
	path   string
	head
	// in is its session, nil as long as that is not known.
	in *session
	// first and began are of its first frame, and early reports that a frame of it
	// came while in was nil.
	first uint64
	began time.Duration
	early bool
	// opens reports that its request may open a session, and that its response has
	// not begun.
	opens bool
	// stream is the one that it begins or goes on with.
	stream stream
	// refused is the status line of a response that refuses the request, nil for none.
	refused *tap.Event
}

// event takes an event of an exchange.
func (s *Sessions) event(f *tap.Frame, e *tap.Event) *session {
	s.http = true
	if e.Name == tap.EventRequest {
		s.request(f, e)
	}
	x, ok := s.exchanges.Get(f.Exchange)
	if !ok {
		return nil
	}
	if e.Name == tap.EventResponse {
		if x.Status = e.Status; e.Status >= 400 {
			x.refused = &tap.Event{Name: e.Name, Status: e.Status, Reason: jsonrpc.Bound(e.Reason), By: e.By}
		}
	}
	switch {
	case e.Name == tap.EventResponse && (e.Status >= 200 || e.Status == 101):
		s.response(x, e)
	case e.Name == tap.EventEnd:
		s.end(x)
	}
	return s.known(x, f)
}

// known returns the session of an exchange after another frame.
func (s *Sessions) known(x *exchangeState, f *tap.Frame) *session {
	switch {
	case x.in == nil:
		x.early = true
	case x.early:
		x.early = false
		s.late, s.lateIs = x.Number, x.in.Number
		if x.in.First == 0 {
			x.in.First, x.in.Began = x.first, x.began
		}
	}
	return x.in
}

// request takes the head of a request.
func (s *Sessions) request(f *tap.Frame, e *tap.Event) {
	x := &exchangeState{
		Exchange: Exchange{Number: f.Exchange, Method: jsonrpc.Bound(e.Method), Target: jsonrpc.Bound(e.Target)}, conn: e.Conn, head: readHead(e.Header),
		first: f.Seq, began: f.At,
	}
	x.path, x.target = splitTarget(e.Target)
	s.ready()
	if old, ok := s.exchanges.Put(f.Exchange, x); ok && old.opens {
		s.opened(old, true)
	}
	defer s.resume(x)
	if in := s.named(sessionKey(keyTarget, x.target)); in != nil && in.Kind == SessionEndpoint {
		s.enter(x, in)
		return
	}
	// In 2026-07-28 the header is to be ignored.
	if x.id == "" || jsonrpc.EraOf(jsonrpc.Revision(x.version)) == jsonrpc.Modern {
		return
	}
	key := sessionKey(keyID, x.id)
	in := s.named(key)
	if in == nil { // it began before the recording, or never
		in = s.begin(SessionID)
		in.Name, in.settled = jsonrpc.Bound(x.id), true
		in.Facts.Requested = jsonrpc.Revision(sane(x.version))
		s.name(in, key)
	}
	s.enter(x, in)
}

// enter makes an exchange one of a session.
func (s *Sessions) enter(x *exchangeState, in *session) {
	x.in = in
	if known, _ := s.exchanges.Get(x.Number); known == x { // otherwise it cannot be distinguished from the next
		in.Exchanges++
	}
	if in.path == "" {
		in.path = x.path
	}
	if in.agent == "" {
		in.agent = x.agent
	}
	if x.conn != 0 {
		s.conns.Put(x.conn, in)
	}
	if in.Kind == SessionClient {
		s.name(in, sessionKey(keyAgent, in.path, x.agent, x.credentials))
	}
}

// response takes the head of the final response.
func (s *Sessions) response(x *exchangeState, e *tap.Event) {
	refused := e.Status >= 400
	if x.opens {
		s.opened(x, refused)
	}
	var id string
	stream := false
	for _, h := range e.Header {
		switch {
		case strings.EqualFold(h[0], "mcp-session-id"):
			id = h[1]
		case strings.EqualFold(h[0], "content-type"):
			stream = mediaIsStream(h[1])
		}
	}
	if in := x.in; in != nil && id != "" && !refused && in.Facts.Era != jsonrpc.Modern {
		s.identify(in, id)
	}
	if x.in == nil && !(stream && e.Status == 200) { // on a stream the first event decides
		s.follow(x)
	}
}

// opened notes what became of a request that may open a session.
func (s *Sessions) opened(x *exchangeState, refused bool) {
	x.opens = false
	x.in.opening--
	if !refused && !x.in.probe {
		s.settle(x.in)
	}
}

// identify notes the id that a server gives a session.
func (s *Sessions) identify(in *session, id string) {
	key := sessionKey(keyID, id)
	if in.Kind == SessionClient {
		in.Kind, in.Name = SessionID, jsonrpc.Bound(id)
		s.unnameAll(in, keyAgent, keyClient)
	}
	if in.Kind == SessionID {
		s.name(in, key)
	}
}

// follow finds the session of an exchange that carries no message but opens a
// stream of it, or deletes it.
func (s *Sessions) follow(x *exchangeState) {
	if x.Method == "DELETE" || x.Method == "GET" && x.events {
		if in := s.before(x); in != nil {
			s.enter(x, in)
		}
	}
}

// Follow returns the session that an exchange goes on with which carries no message: if it
// opens or ends a stream, or posts something; 0 if there is none. It is for a server, which
// sees no response.
func (s *Sessions) Follow(exchange uint64) int {
	x, ok := s.exchanges.Get(exchange)
	if !ok {
		return 0
	}
	if x.in == nil {
		s.follow(x)
	}
	if in := s.before(x); x.in == nil && x.Method == "POST" && in != nil {
		s.enter(x, in)
	}
	if x.in == nil {
		return 0
	}
	return x.in.Number
}

// end takes the end of an exchange.
func (s *Sessions) end(x *exchangeState) {
	s.exchanges.Delete(x.Number)
	if x.opens {
		s.opened(x, true)
	}
	in := x.in
	if in == nil {
		return
	}
	switch {
	case in.Kind == SessionSocket,
		in.Kind == SessionEndpoint && x.Method == "GET",
		x.Method == "DELETE" && x.Status >= 200 && x.Status < 300:
		in.Over = true
	}
}

// frame takes a frame of an exchange that carries traffic.
func (s *Sessions) frame(f *tap.Frame, m *jsonrpc.Message) *session {
	s.http = true
	x, ok := s.exchanges.Get(f.Exchange)
	if !ok { // its head is not there
		x = &exchangeState{Exchange: Exchange{Number: f.Exchange}}
	}
	if x.in == nil {
		s.decide(x, f, m)
	}
	if f.Lane == tap.ToServer && m != nil {
		for m := range m.All {
			x.Asks = x.Asks || m.Kind == jsonrpc.Request
			x.Carries = x.Carries || m.Kind != jsonrpc.Invalid && m.Kind != jsonrpc.Other
		}
	}
	s.occurs(x, f)
	return s.known(x, f)
}

// decide finds the session of an exchange by its first message, or by the
// endpoint event of HTTP+SSE.
func (s *Sessions) decide(x *exchangeState, f *tap.Frame, m *jsonrpc.Message) {
	switch {
	case m == nil || m.Kind == jsonrpc.Other:
		if x.Method == "GET" && f.Lane == tap.ToClient && f.Form == tap.FormEvent {
			s.endpoint(x, f)
		}
	case f.Lane == tap.ToServer && m.Kind != jsonrpc.Invalid:
		s.enter(x, s.opens(x, f, m))
	default:
		if in := s.before(x); in != nil {
			s.enter(x, in)
		}
	}
}

// endpoint takes the event that names the URL to which a client of 2024-11-05 sends
// its messages.
func (s *Sessions) endpoint(x *exchangeState, f *tap.Frame) {
	e := tap.ParseServerSentEvent(f.Raw)
	if e.Name != "endpoint" || len(e.Data) == 0 {
		return
	}
	target := endpointTarget(x.target, string(e.Data))
	in := s.left(x, "")
	if in == nil {
		in = s.begin(SessionEndpoint)
	}
	in.Kind, in.Name = SessionEndpoint, jsonrpc.Bound(target)
	s.unnameAll(in, keyAgent, keyClient)
	s.settle(in)
	s.name(in, sessionKey(keyTarget, target))
	s.enter(x, in)
}

// The first letters of the names in Sessions.names.
const (
	keyOnly   = "o" // the one session of a recording without exchanges
	keyID     = 'i' // a session id
	keyTarget = 't' // the target of the requests of HTTP+SSE
	keyClient = 'c' // a path, a client and its credentials
	keyAgent  = 'a' // a path, a program and its credentials
)

// maxKey is how long a part of a name may be; of a longer one it has a hash.
const maxKey = 256

// sessionKey joins the parts of a name so that different parts make different names.
func sessionKey(letter byte, parts ...string) string {
	var b strings.Builder
	b.WriteByte(letter)
	for _, p := range parts {
		if len(p) > maxKey {
			sum := sha256.Sum256([]byte(p))
			p = "\x01" + string(sum[:])
		}
		b.WriteString(strings.ReplaceAll(p, "\x00", "\x00\x00"))
		b.WriteString("\x00.")
	}
	return b.String()
}

// head are those of a request's head by which sessions are known.
type head struct {
	id, version, agent string
	credentials        string // what identifies the user and stays the same, unlike cookies
	last               string // the last event that it has of a stream
	events             bool   // it asks for an event stream
	socket             bool   // it asks for a WebSocket
}

func readHead(header [][2]string) (x head) {
	for _, h := range header {
		name, value := h[0], h[1]
		switch strings.ToLower(name) {
		case "mcp-session-id":
			x.id = value
		case "mcp-protocol-version":
			x.version = value
		case "user-agent":
			x.agent = value
		case "last-event-id":
			x.last = value
		case "accept":
			x.events = x.events || strings.Contains(value, "text/event-stream")
		case "upgrade":
			x.socket = x.socket || strings.EqualFold(value, "websocket")
		case "authorization", "x-api-key", "api-key":
			x.credentials += value + "\n"
		}
	}
	return x
}

// splitTarget returns the path of a request's target, and the path with the
// query: without scheme and host, if it has these.
func splitTarget(target string) (path, whole string) {
	whole = target
	if u, err := url.Parse(target); err == nil {
		whole = localPart(u)
	}
	path, _, _ = strings.Cut(whole, "?")
	return path, whole
}

func localPart(u *url.URL) string {
	whole := u.EscapedPath()
	if u.RawQuery != "" {
		whole += "?" + u.RawQuery
	}
	return whole
}

// endpointTarget returns the target that an endpoint event names, which came on
// a stream that was asked for with another target.
func endpointTarget(stream, data string) string {
	base, err := url.Parse(stream)
	if err != nil {
		base = &url.URL{Path: "/"}
	}
	u, err := base.Parse(strings.TrimSpace(data))
	if err != nil {
		return data
	}
	return localPart(u)
}

// clientKey is what a client calls itself; "" where it does not.
func clientKey(info jsonrpc.Value) string {
	var p Party
	if p.refine(info); p.Name == "" {
		return ""
	}
	return p.Name + "\x00" + p.Version
}

// saysInitialize finds, among the messages of a frame, an initialize and what its
// client calls itself. saysModern finds one of 2026-07-28; probe reports that it is a
// server/discover.
func saysInitialize(m *jsonrpc.Message) (client string, ok bool) {
	for r := range m.All {
		if asks(r) && r.Method == "initialize" {
			params := jsonrpc.Value(r.Params)
			if client = clientKey(params.Get("clientInfo")); client == "" {
				client = clientKey(params.Get("client")) // the 002 dialect
			}
			return client, true
		}
	}
	return "", false
}

func saysModern(m *jsonrpc.Message) (client string, probe, ok bool) {
	for r := range m.All {
		if !asks(r) {
			continue
		}
		if r.Method == "server/discover" {
			probe, ok = true, true
		}
		meta := jsonrpc.Value(r.Params).Get("_meta")
		if jsonrpc.EraOf(jsonrpc.Revision(meta.Get(jsonrpc.MetaPrefix+"protocolVersion").Text())) != jsonrpc.Modern {
			continue
		}
		return clientKey(meta.Get(jsonrpc.MetaPrefix + "clientInfo")), probe, true
	}
	return "", probe, ok
}

// asks reports whether a message is a request or a notification.
func asks(m *jsonrpc.Message) bool {
	return m.Kind == jsonrpc.Request || m.Kind == jsonrpc.Notification
}

// MaxSessionEvents is how many of the events with an id are remembered of a
// session: the last ones.
const MaxSessionEvents = 1024

// A seenEvent is an event that came on the stream of an exchange. Those of a session
// are remembered by their ids, so that a stream that is resumed can be distinguished from
// one that begins (2025-11-25 basic/transports#resumability-and-redelivery), and what is
// sent on it once more from what is new.
type seenEvent struct {
	exchange uint64
	seq      uint64
	stream   stream
	data     uint64 // a hash
}

// A stream is known by the exchange that began it and its first frame.
type stream struct{ exchange, first uint64 }

// resume looks for the stream that a request asks to go on with.
func (s *Sessions) resume(x *exchangeState) {
	x.stream = stream{x.Number, x.first}
	if x.in == nil || x.last == "" {
		return
	}
	if old, ok := x.in.events.Get(hashText([]byte(x.last))); ok {
		x.stream, s.resumes = old.stream, old.stream.first
	}
}

// occurs takes an event of a stream. One that came before, and comes once more on
// a stream that was resumed, is a replay.
func (s *Sessions) occurs(x *exchangeState, f *tap.Frame) {
	if x.in == nil || f.Lane != tap.ToClient || f.Form != tap.FormEvent || int64(len(f.Raw)) < f.Size {
		return
	}
	e := tap.ParseServerSentEvent(f.Raw)
	if e.ID == "" {
		return
	}
	id, data := hashText([]byte(e.ID)), hashText(e.Data)
	if old, ok := x.in.events.Get(id); ok && x.last != "" && old.exchange != x.Number && old.data == data {
		s.replays = old.seq
		return
	}
	x.in.events.Max = MaxSessionEvents
	x.in.events.Put(id, seenEvent{exchange: x.Number, seq: f.Seq, stream: x.stream, data: data})
}

// stream returns the exchange that began the stream that an exchange carries.
func (s *Sessions) stream(exchange uint64) uint64 {
	if x, ok := s.exchanges.Get(exchange); ok {
		return x.stream.exchange
	}
	return exchange
}

// refusal is, of a frame from the client, the response that refused the request before, nil
// for none.
func (s *Sessions) refusal(f *tap.Frame) *tap.Event {
	if x, ok := s.exchanges.Get(f.Exchange); ok && f.Lane == tap.ToServer {
		return x.refused
	}
	return nil
}

// Resumes returns, after the head of a request that asks to go on with a stream,
// the first frame of the exchange that began that stream; 0 if it does not, or if
// that is not known.
func (s *Sessions) Resumes() uint64 { return s.resumes }

// Replays returns, after an event that came before and was sent once more on a
// stream that was resumed, the frame in which it came first; 0 after any other.
func (s *Sessions) Replays() uint64 { return s.replays }
