package mock

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// ServerOptions are the options of a [Server]. The zero value is valid.
type ServerOptions struct {
	// Note, if not nil, is called for each note of a session. It may be called concurrently
	// and must not block.
	Note func(replay.Note)
	// Over, if not nil, is called for each session that has ended. The same rules apply.
	Over func(*replay.Session)
	// Live, if not nil, answers requests that are not in the recording. The recording must have
	// one session. It is played once; further sessions are refused.
	Live *Live
	// Cut ends each event stream after this number of events, so that the client must resume
	// it; 0 means never. In 2026-07-28 streams cannot be resumed, so the request is lost.
	Cut int
	// Names are host names of the server, in addition to localhost and loopback addresses.
	// AnyAddress allows any IP address as its name, for a server that does not listen on a
	// loopback address.
	Names      []string
	AnyAddress bool
}

// A Server plays the sessions of a recording over HTTP; see the package comment.
type Server struct {
	rec        *Recording
	opt        ServerOptions
	addresses  addresses
	anyAddress bool
	began      time.Time

	mu                sync.Mutex
	sorter            session.Sessions // assigns requests to live sessions, as when recording
	exchanges, frames uint64           // the last numbers passed to the sorter

	// open are the active sessions, leaving those that are ending. byID and byNumber are those
	// with and without a session id.
	open, leaving map[*conversation]struct{}
	byID          map[string]*conversation
	byNumber      map[sessionKey]*conversation
	played        map[*played]int    // how many times each recorded session was started
	refused       map[refusalKey]int // how many times each refusal was played
	pages         *conversation      // plays exchanges that belong to no session
	upgrades      int                // the number of WebSocket requests
	deleted       map[string]deleted
	only          *conversation // the session being recorded, nil for none
	closed        bool
}

// A sessionKey identifies a session without an id by its number in Server.sorter. other is set
// for another recorded session that is played to the client in addition to its own.
type sessionKey struct {
	number int
	other  *played
}

// NewServer returns a Server.
func NewServer(rec *Recording, opt ServerOptions) *Server {
	if opt.Note == nil {
		opt.Note = func(replay.Note) {}
	}
	if opt.Over == nil {
		opt.Over = func(*replay.Session) {}
	}
	s := &Server{
		rec: rec, addresses: rec.addresses, opt: opt, anyAddress: opt.AnyAddress, began: time.Now(),
		open: map[*conversation]struct{}{}, leaving: map[*conversation]struct{}{}, byID: map[string]*conversation{},
		byNumber: map[sessionKey]*conversation{}, played: map[*played]int{}, refused: map[refusalKey]int{},
		deleted: map[string]deleted{},
	}
	a := &s.addresses
	a.hosts = nil
	for _, name := range opt.Names {
		a.hosts = append(a.hosts, strings.ToLower(name))
	}
	a.mcp = cmp.Or(a.mcp, "/mcp")
	if a.sse == "" {
		a.sse, a.post = "/sse", "/message"
	}
	a.param = cmp.Or(a.param, "sessionId")
	a.socket = cmp.Or(a.socket, "/ws")
	return s
}

// Path returns the path for Streamable HTTP.
func (s *Server) Path() string { return s.addresses.mcp }

// EventPath returns the path for HTTP+SSE.
func (s *Server) EventPath() string { return s.addresses.sse }

// SocketPath returns the path for WebSocket.
func (s *Server) SocketPath() string { return s.addresses.socket }

// Recorded returns the path at which the recording was made, or else [Server.Path].
func (s *Server) Recorded() string {
	switch a := &s.rec.addresses; {
	case a.mcp != "":
	case a.sse != "":
		return a.sse
	case a.socket != "":
		return a.socket
	}
	return s.addresses.mcp
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := &s.addresses
	head := headOf(r)
	deadline(w)
	path := a.recorded(r.URL.Path)
	if r.Method != http.MethodPost || path != a.mcp { // the conditions of a message are checked once it is read
		checked := always
		if path == a.mcp || path == a.sse || path == a.socket {
			checked |= replay.NoCredentials
		}
		if s.refuses(w, r, s.conditions(&head, &replay.Claim{})&checked, nil) {
			return
		}
	}
	switch {
	case isUpgrade(r) && (path == a.socket || path == a.mcp):
		s.socket(w, r)
	case path == a.sse && r.Method == http.MethodGet && head.Session == "":
		s.events(w, r)
	case path == a.post && r.Method == http.MethodPost && s.named(r.URL.Query().Get(a.param)) != nil:
		s.postEvents(w, r, s.named(r.URL.Query().Get(a.param)))
	case path == a.mcp && r.Method == http.MethodPost:
		s.post(w, r, &head)
	case path == a.mcp && (r.Method == http.MethodGet || r.Method == http.MethodDelete):
		s.bare(w, r, &head)
	default:
		s.page(w, r, &head)
	}
}

// headOf returns the head of a live request.
func headOf(r *http.Request) replay.Head {
	return replay.ReadHead(append(fieldsOf(r), [2]string{"Host", r.Host}))
}

// fieldsOf returns the header fields of a live request.
func fieldsOf(r *http.Request) (fields [][2]string) {
	for name, values := range r.Header {
		for _, v := range values {
			fields = append(fields, [2]string{name, v})
		}
	}
	return fields
}

// recorded returns the recorded path for a path, or the path itself.
func (a *addresses) recorded(path string) string {
	for _, recorded := range []string{a.mcp, a.sse, a.post, a.socket} {
		if samePath(recorded, path) {
			return recorded
		}
	}
	return path
}

// page plays a response that belongs to no session.
func (s *Server) page(w http.ResponseWriter, r *http.Request, head *replay.Head) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		http.Error(w, "mcptap mock: the request cannot be read: "+err.Error(), http.StatusBadRequest)
		return
	}
	if s.opens(w, r, head, s.pageConversation(), head.LastEventID, body) {
		return
	}
	if s.addresses.recorded(r.URL.Path) == s.addresses.mcp {
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "mcptap mock: method not allowed", http.StatusMethodNotAllowed)
		return
	}
	http.Error(w, "mcptap mock: nothing was recorded here; the session is at "+s.addresses.mcp, http.StatusNotFound)
}

// pageConversation returns the session for exchanges that belong to no session, nil if the server
// is closed.
func (s *Server) pageConversation() *conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pages == nil && !s.closed {
		c := converse(s.rec.pages, nil, s.opt.Note)
		c.srv, c.rec, c.done = s, &played{Script: s.rec.pages, heads: true}, func() {}
		s.pages = c
	}
	return s.pages
}

// opens plays the response to a request without a message, and reports whether one was recorded.
// last is the id of the event after which a stream is resumed, "" for none.
func (s *Server) opens(w http.ResponseWriter, r *http.Request, head *replay.Head, c *conversation, last string, body []byte) bool {
	return s.plays(w, r, head, c, func(play *replay.Session, now time.Duration, x replay.Stream) bool {
		return play.Open(now, x, r.Method, s.target(r), last, body)
	})
}

// plays calls begins to start a response on a new stream, and plays it. It returns the result of
// begins.
func (s *Server) plays(w http.ResponseWriter, r *http.Request, head *replay.Head, c *conversation,
	begins func(*replay.Session, time.Duration, replay.Stream) bool) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	x := c.stream(formUnknown)
	x.played = true
	x.old = c.rec.modernEvents() && !primed(head.Version)
	if c.over || !begins(c.play, c.now(), x.id) {
		delete(c.streams, x.id)
		c.mu.Unlock()
		return false
	}
	c.pump()
	c.mu.Unlock()
	(&reply{w: w, r: r, srv: s, c: c, x: x, primes: primed(head.Version)}).run(0)
	return true
}

// target returns the recorded target for a request.
func (s *Server) target(r *http.Request) string {
	path := s.addresses.recorded(r.URL.Path)
	if path == r.URL.Path {
		path = r.URL.EscapedPath()
	}
	if r.URL.RawQuery != "" {
		path += "?" + r.URL.RawQuery
	}
	return path
}

// modernEvents reports whether the recorded client was of 2025-11-25 or later.
func (p *played) modernEvents() bool { return primed(string(p.facts.Revision)) }

// primed reports whether a client may get an event without data. Older clients consider it an
// invalid message.
func primed(version string) bool { return jsonrpc.Revision(version) >= jsonrpc.Rev20251125 }

// named returns the open session with an id, nil for none.
func (s *Server) named(id string) *conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

// forget removes a session that is about to end. The caller holds the lock.
func (s *Server) forget(c *conversation) {
	if _, goesOn := s.open[c]; goesOn {
		delete(s.open, c)
		s.leaving[c] = struct{}{}
	}
	if c.id != "" {
		delete(s.byID, c.id)
	}
	if s.byNumber[c.number] == c {
		delete(s.byNumber, c.number)
	}
}

// drop removes a session that is over.
func (s *Server) drop(c *conversation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(c)
	delete(s.leaving, c)
}

// modern reports whether a session of 2026-07-28 was recorded.
func (s *Server) modern() bool {
	return slices.ContainsFunc(s.rec.sessions, func(p *played) bool { return p.Opens(true) })
}

// Close ends all sessions and open requests. Later requests are refused.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	var all []*conversation
	for _, some := range []map[*conversation]struct{}{s.open, s.leaving} {
		for c := range some {
			all = append(all, c)
		}
	}
	if s.pages != nil {
		all = append(all, s.pages)
	}
	s.mu.Unlock()
	for _, c := range all {
		c.close()
	}
}

// Serve serves on a listener until the context ends, and then closes the server and the listener.
func Serve(ctx context.Context, l net.Listener, s *Server) error {
	h := &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)}
	stop := context.AfterFunc(ctx, func() {
		s.Close()
		h.Close()
	})
	defer stop()
	err := h.Serve(l)
	s.Close()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// isUpgrade reports whether a request asks for a WebSocket.
func isUpgrade(r *http.Request) bool {
	return r.Method == http.MethodGet && http.CanonicalHeaderKey(r.Header.Get("Upgrade")) == "Websocket"
}

// conditions returns the conditions of a live request that do not depend on sessions.
func (s *Server) conditions(h *replay.Head, c *replay.Claim) replay.Condition {
	host, origin := s.addresses.knows(h)
	if s.anyAddress && isAddress(h.Host) {
		// Any address may belong to this machine, but only the same origin is its own.
		host = true
		origin = origin || strings.EqualFold(hostOf(h.Origin), h.Host)
	}
	return h.Conditions(c, host, origin)
}

// knows reports whether Host names the server, and whether Origin is one of its own. Another
// website can point its name at this server, but cannot change the Host that browsers send.
func (a *addresses) knows(h *replay.Head) (host, origin bool) {
	host = a.host(h.Host)
	if !h.HasOrigin {
		return host, true
	}
	of := hostOf(h.Origin)
	return host, of != "" && a.host(of)
}

// hostOf returns the host and port of an origin, "" for none.
func hostOf(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return ""
	}
	return u.Host
}

// host reports whether a host, with or without a port, names the server.
func (a *addresses) host(hostport string) bool {
	host := bareHost(hostport)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || slices.Contains(a.hosts, host) {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

func bareHost(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

func isAddress(hostport string) bool {
	_, err := netip.ParseAddr(bareHost(hostport))
	return err == nil
}

// required are the conditions in which the specification requires a server to refuse a request,
// with the responses.
var required = map[replay.Condition]struct {
	status, code int
	text         string
}{
	replay.ForeignHost:   {http.StatusForbidden, -32000, "Forbidden: this is not the name of the server; use the URL that mcptap printed"},
	replay.ForeignOrigin: {http.StatusForbidden, -32000, "Forbidden: the request comes from a page of another origin"},
	replay.OverSession:   {http.StatusNotFound, -32001, "Session not found"},
	replay.NoSession:     {http.StatusBadRequest, -32000, "Bad Request: Mcp-Session-Id header is required"},
	replay.WrongVersion:  {http.StatusBadRequest, -32000, "Bad Request: unsupported MCP-Protocol-Version"},
	replay.WrongMethod:   {http.StatusBadRequest, -32020, "Header mismatch: Mcp-Method is missing or does not match the body"},
	replay.WrongName:     {http.StatusBadRequest, -32020, "Header mismatch: Mcp-Name is missing or does not match the body"},
	replay.WrongParam:    {http.StatusBadRequest, -32020, "Header mismatch: %s is missing or does not match the arguments"},
}

// always are the conditions that are refused whatever the recorded server did.
const always = replay.ForeignHost | replay.ForeignOrigin

// refuses refuses a request because of its conditions, as recorded or else as specified, and
// reports whether it did. p is its message, nil for none.
func (s *Server) refuses(w http.ResponseWriter, r *http.Request, all replay.Condition, p *posted) bool {
	for why := range all.All {
		_, rule := required[why]
		tolerated := s.rec.tolerated&why != 0 && always&why == 0
		if s.refusal(w, r, why, p, tolerated || why == replay.NoCredentials) {
			return true
		}
		if rule && !tolerated {
			s.refuse(w, r, why, p)
			return true
		}
	}
	return false
}

// refusal refuses a request as a recorded request was refused for a condition. It reports whether
// there is such a recorded request: one with the same message or, unless exactly is set, with any
// message. Missing credentials are refused as many times as recorded, until a session begins.
func (s *Server) refusal(w http.ResponseWriter, r *http.Request, why replay.Condition, p *posted, exactly bool) bool {
	keys := refusalKeys(r.Method, why, s.key(p))
	if exactly {
		keys = keys[:1]
	}
	for _, k := range keys {
		all := s.rec.refusals[k]
		if len(all) == 0 {
			continue
		}
		s.mu.Lock()
		n := s.refused[k]
		s.refused[k]++
		s.mu.Unlock()
		if n >= len(all) && why == replay.NoCredentials {
			return false
		}
		var id []byte
		if p != nil {
			id = p.claim.ID
		}
		x := all[min(n, len(all)-1)]
		reason := ""
		if why == replay.NoCredentials {
			reason = ", since it has no Authorization"
		}
		s.noteRefused(r, p, x.Frame(), x.Status(), fmt.Sprintf("as recorded for frame %d%s", x.Frame().Seq, reason))
		s.outputs(w, r, x.Outputs(id))
		return true
	}
	return false
}

// noteRefused notes that a request gets an HTTP failure status. For a request without a message,
// and for server/discover, only 401 and 403 are noted, since clients use them to probe for a GET
// stream and for supported revisions.
func (s *Server) noteRefused(r *http.Request, p *posted, frame session.Ref, status int, why string) {
	n := replay.Note{Kind: replay.NoteRefused, Frame: frame, Method: r.Method}
	if p != nil {
		n.Method, n.Subject = p.claim.Method, jsonrpc.Subject(*p.first())
	}
	if (p == nil || p.claim.Method == "server/discover") && status != http.StatusUnauthorized && status != http.StatusForbidden {
		return
	}
	n.Text = fmt.Sprintf("%s gets HTTP %d, %s", cmp.Or(strings.TrimSpace(n.Method+" "+n.Subject), "a message"), status, why)
	s.opt.Note(n)
}

// key returns the key of a message, 0 if it is not needed.
func (s *Server) key(p *posted) replay.Key {
	if p == nil || len(s.rec.refusals) == 0 || p.claim.Kind != jsonrpc.Request && p.claim.Kind != jsonrpc.Notification {
		return 0
	}
	return replay.KeyOf(p.first(), p.variant, &s.rec.opt)
}

// refuse refuses a request for a condition.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, why replay.Condition, p *posted) {
	if s.refusal(w, r, why, p, false) {
		return
	}
	rule := required[why]
	id, code := "null", rule.code
	modern := p != nil && p.claim.Modern
	if p != nil && len(p.claim.ID) > 0 {
		id = string(p.claim.ID)
	}
	text := rule.text
	switch {
	case why == replay.WrongParam:
		text = fmt.Sprintf(text, p.wrongParam)
	case why == replay.WrongVersion && !modern && jsonrpc.EraOf(jsonrpc.Revision(r.Header.Get("Mcp-Protocol-Version"))) == jsonrpc.Modern:
		code = -32602 // its _meta is missing
	case why == replay.WrongVersion && modern:
		code = -32020
	}
	s.noteRefused(r, p, session.Ref{}, rule.status, text)
	plain(w, rule.status, fmt.Appendf(nil, `{"jsonrpc":"2.0","error":{"code":%d,"message":%q},"id":%s}`, code, text, id))
}

// An entry is a live request in the sorter.
type entry struct {
	s        *Server
	exchange uint64
}

// enter adds the head of a request to the sorter. The caller holds the lock.
func (s *Server) enter(r *http.Request) (e entry, number int) {
	s.exchanges++
	e = entry{s, s.exchanges}
	event := tap.Event{Name: tap.EventRequest, Method: r.Method, Target: s.target(r)}
	// Clients can be distinguished by their query.
	event.Target = strings.Replace(event.Target, "?", "%3F", 1)
	conn := fnv.New64a()
	_, _ = io.WriteString(conn, r.RemoteAddr)
	event.Conn = conn.Sum64() | 1
	event.Header = fieldsOf(r)
	return e, e.event(&event)
}

func (e entry) event(event *tap.Event) int {
	e.s.frames++
	return e.s.sorter.Add(&tap.Frame{Seq: e.s.frames, Exchange: e.exchange, Lane: tap.Lifecycle}, event, nil)
}

// message adds the message of the request. The caller holds the lock.
func (e entry) message(p *posted) int {
	e.s.frames++
	f := tap.Frame{Seq: e.s.frames, Exchange: e.exchange, Lane: tap.ToServer, Form: tap.FormBody, Size: int64(len(p.raw))}
	return e.s.sorter.Add(&f, nil, &p.message)
}

// answered adds the response.
func (e entry) answered(status int) {
	if e.s == nil {
		return
	}
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	e.event(&tap.Event{Name: tap.EventResponse, Status: status})
	e.end()
}

// end adds the end of the request. The caller holds the lock.
func (e entry) end() { e.event(&tap.Event{Name: tap.EventEnd}) }

// name gives an id to a session without one. The caller holds the lock.
func (s *Server) name(c *conversation) {
	if s.byNumber[c.number] == c {
		delete(s.byNumber, c.number)
	}
	c.id = rand.Text()
	s.byID[c.id] = c
}
