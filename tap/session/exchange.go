package session

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// exchangeState is the state of an open exchange.
type exchangeState struct {
	Exchange
	conn   uint64
	target string // path and query
	path   string
	head
	// in is its session, nil if that is not known yet.
	in *session
	// first and began are the number and time of its first frame, and early reports that
	// a frame came while in was nil.
	first uint64
	began time.Duration
	early bool
	// opens reports that its request may open a session and has no response yet.
	opens bool
	// ids reports that an event had an id.
	ids bool
	// stream is the one that it begins or resumes.
	stream stream
	// refused is the response, if it refuses the request.
	refused *tap.Event
}

// event handles an event of an exchange.
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
		s.late, s.lateSession = x.Number, x.in.Number
		if x.in.First == 0 {
			x.in.First, x.in.Began = x.first, x.began
		}
	}
	return x.in
}

// request handles the head of a request.
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
	// 2026-07-28 ignores the header.
	if x.id == "" || jsonrpc.EraOf(jsonrpc.Revision(x.version)) == jsonrpc.Modern {
		return
	}
	key := sessionKey(keyID, x.id)
	in := s.named(key)
	if in == nil { // it began before the recording, or the id is invalid
		in = s.begin(SessionID)
		in.Name, in.settled = jsonrpc.Bound(x.id), true
		in.Facts.Requested = jsonrpc.Revision(sane(x.version))
		s.name(in, key)
	}
	s.enter(x, in)
}

// enter assigns an exchange to a session.
func (s *Sessions) enter(x *exchangeState, in *session) {
	x.in = in
	if known, _ := s.exchanges.Get(x.Number); known == x { // else it cannot be distinguished from the next
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

// response handles the head of the final response.
func (s *Sessions) response(x *exchangeState, e *tap.Event) {
	refused := e.Status >= 400
	if x.opens {
		s.opened(x, refused)
	}
	var id string
	for _, h := range e.Header {
		switch {
		case strings.EqualFold(h[0], "mcp-session-id"):
			id = h[1]
		case strings.EqualFold(h[0], "content-type"):
			x.Type = mediaType(h[1])
		case strings.EqualFold(h[0], "content-encoding"):
			x.coded = true
		}
	}
	if in := x.in; in != nil && id != "" && !refused && in.Facts.Era != jsonrpc.Modern {
		s.identify(in, id)
	}
	if x.in == nil && !(x.Type == eventStream && e.Status == 200) { // on a stream the first event decides
		s.follow(x)
	}
}

// opened handles the response to a request that may open a session.
func (s *Sessions) opened(x *exchangeState, refused bool) {
	x.opens = false
	x.in.opening--
	x.in.refused = refused
	if !refused && !x.in.probe {
		s.settle(x.in)
	}
}

// identify handles the id that a server assigns to a session.
func (s *Sessions) identify(in *session, id string) {
	if in.Kind == SessionClient {
		in.Kind, in.Name = SessionID, jsonrpc.Bound(id)
		s.unnameAll(in, keyAgent, keyClient)
	}
	if in.Kind == SessionID {
		s.name(in, sessionKey(keyID, id))
	}
}

// follow finds the session of an exchange that carries no message but opens a stream of the
// session, or deletes it.
func (s *Sessions) follow(x *exchangeState) {
	if x.Method == "DELETE" || x.Method == "GET" && x.events {
		if in := s.before(x); in != nil {
			s.enter(x, in)
		}
	}
}

// Follow returns the session of an exchange that carries no message but opens or ends a
// stream of the session, or is a POST; 0 if there is none. It is for a server, which has no
// response yet.
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

// end handles the end of an exchange.
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

// frame handles a frame of traffic of an exchange.
func (s *Sessions) frame(f *tap.Frame, m *jsonrpc.Message) *session {
	s.http = true
	x, ok := s.exchanges.Get(f.Exchange)
	if !ok { // its head is missing
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
	if f.Lane == tap.ToClient && m != nil {
		switch {
		case m.Kind != jsonrpc.Invalid && m.Kind != jsonrpc.Other:
			x.Answered = true
		case f.Form == tap.FormBody && x.Body == "":
			x.Body = BodyReason(f.Raw)
		}
	}
	s.streamEvent(x, f)
	return s.known(x, f)
}

// maxReason is the maximum length of a reason, in bytes.
const maxReason = 200

// BodyReason returns the reason in a body that carries no message: the error in a JSON
// object, or else the first line, shortened.
func BodyReason(body []byte) string {
	text := bytes.TrimSpace(body[:min(len(body), 64<<10)])
	var reason string
	if v := jsonrpc.Value(text); len(text) > 0 && text[0] == '{' && json.Valid(text) {
		reason = cmp.Or(jsonrpc.FirstOf(v, "error_description", "message", "detail"), jsonrpc.FirstOf(v.Get("error"), "message"),
			jsonrpc.FirstOf(v, "error", "title"))
	}
	if reason == "" {
		reason = string(text)
	}
	reason, _, _ = strings.Cut(strings.TrimPrefix(reason, "mcptap: "), "\n") // by the tap itself
	if reason = strings.TrimSpace(reason); len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + "…"
	}
	return reason
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

// endpoint handles the event that names the URL for the messages of a client of 2024-11-05.
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

// maxKey is the maximum length of a part of a name; a longer one is hashed.
const maxKey = 256

// sessionKey joins the parts of a name unambiguously.
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

// A head has the fields of a request's head by which sessions are recognized.
type head struct {
	id, version, agent string
	credentials        string // fields that identify the user and do not change, unlike cookies
	last               string // the id of the last event that the client received
	events             bool   // it accepts an event stream
	socket             bool   // it requests a WebSocket
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

// splitTarget returns the path of a request's target, and the path with the query, without
// scheme and host.
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

// endpointTarget returns the target that an endpoint event names. It may be relative to
// the target of the stream.
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

// clientKey returns the name and version of a client, "" if it has no name.
func clientKey(info jsonrpc.Value) string {
	var p Party
	if p.refine(info); p.Name == "" {
		return ""
	}
	return p.Name + "\x00" + p.Version
}

// findInitialize finds an initialize among the messages of a frame and returns the
// clientKey. findModern finds a message of 2026-07-28; probe reports that it is a
// server/discover.
func findInitialize(m *jsonrpc.Message) (client string, ok bool) {
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

func findModern(m *jsonrpc.Message) (client string, probe, ok bool) {
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

// MaxSessionEvents is how many of the events with an id are remembered for a
// session: the last ones.
const MaxSessionEvents = 1024

// A seenEvent is an event on the stream of an exchange. A session remembers its events by
// their ids, to recognize a stream that is resumed (2025-11-25
// basic/transports#resumability-and-redelivery), and the events that are repeated on it.
type seenEvent struct {
	exchange uint64
	seq      uint64
	stream   stream
	data     uint64 // a hash
}

// A stream is identified by the exchange that began it and its first frame.
type stream struct{ exchange, first uint64 }

// resume looks up the stream that a request resumes.
func (s *Sessions) resume(x *exchangeState) {
	x.stream = stream{x.Number, x.first}
	if x.in == nil || x.last == "" {
		return
	}
	if old, ok := x.in.events.Get(hashText([]byte(x.last))); ok {
		x.stream, s.resumes = old.stream, old.stream.first
	}
}

// streamEvent handles an event of a stream. If it repeats an earlier one on a stream that was
// resumed, it is a replay.
func (s *Sessions) streamEvent(x *exchangeState, f *tap.Frame) {
	if x.in == nil || f.Lane != tap.ToClient || f.Form != tap.FormEvent || int64(len(f.Raw)) < f.Size {
		return
	}
	e := tap.ParseServerSentEvent(f.Raw)
	if e.ID == "" {
		return
	}
	x.ids = true
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

// refusal returns the response that refused the request before this frame of the client
// came, or nil.
func (s *Sessions) refusal(f *tap.Frame) *tap.Event {
	if x, ok := s.exchanges.Get(f.Exchange); ok && f.Lane == tap.ToServer {
		return x.refused
	}
	return nil
}
