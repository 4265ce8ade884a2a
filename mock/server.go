package mock

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// ServerOptions say how a [Server] serves. The zero value is ready.
type ServerOptions struct {
	// Note gets what there is to say of the sessions, and must not block. Several
	// goroutines may call it at once.
	Note func(replay.Note)
	// Over gets each session when it is over, for which the same holds.
	Over func(*replay.Session)
	// Live, if set, is asked for what is not in the recording, whose one session is
	// played once then: further ones are refused.
	Live *Live
	// Cut ends each event stream after so many events, so that the client has to
	// resume it; 0 never does. In 2026-07-28, where nothing can be resumed, the
	// request is lost.
	Cut int
	// Names are hosts by which clients may call the server, beside localhost and
	// the addresses of loopback. AnyAddress lets them call it by any IP address,
	// since it listens on others too.
	Names      []string
	AnyAddress bool
}

// A Server plays the sessions of a recording over HTTP; see the package comment. It
// is an [http.Handler].
type Server struct {
	rec        *Recording
	opt        ServerOptions
	addresses  addresses
	anyAddress bool
	began      time.Time

	mu sync.Mutex
	// sorter tells the clients' sessions apart, as those of the recording were; exchanges
	// counts what it was given.
	sorter            session.Sessions
	exchanges, frames uint64
	// open are the sessions that go on, leaving those that are being ended. byID finds
	// them by the ids that they were given, byNumber those that were given none.
	open, leaving map[*conversation]struct{}
	byID          map[string]*conversation
	byNumber      map[sessionKey]*conversation
	// played counts how often each recorded session was begun, refused how often what
	// was refused.
	played  map[*played]int
	refused map[refusalKey]int
	pages   *conversation
	// upgrades counts the requests for a WebSocket. deleted are sessions that were deleted
	// more than once.
	upgrades int
	deleted  map[string]deleted
	// only is the session that is recorded, nil if there was none.
	only   *conversation
	closed bool
}

// A sessionKey is what a client without a session id does, by its number in Server.sorter.
// Other is set where it plays a recorded session beside its own.
type sessionKey struct {
	number int
	other  *played
}

// NewServer makes a Server. The recording must stay open as long as it serves.
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
	a.hosts = nil // the recorded server's names are not ours
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

// Path is the path of the URL that a client of Streamable HTTP is to use, EventPath
// that of HTTP+SSE, and SocketPath that of WebSocket.
func (s *Server) Path() string { return s.addresses.mcp }

// EventPath is documented at Path.
func (s *Server) EventPath() string { return s.addresses.sse }

// SocketPath is documented at Path.
func (s *Server) SocketPath() string { return s.addresses.socket }

// Recorded is the path on which the recording was made, the first of the three if it
// was on none.
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
	if r.Method != http.MethodPost || path != a.mcp { // a message is guarded when it has been read
		guarded := always
		if path == a.mcp || path == a.sse || path == a.socket {
			guarded |= replay.NoCredentials
		}
		if s.refuses(w, r, s.conditions(&head, &replay.Claim{})&guarded, nil) {
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

// headOf reads the head of a live request.
func headOf(r *http.Request) replay.Head {
	fields := [][2]string{{"Host", r.Host}}
	for name, values := range r.Header {
		for _, v := range values {
			fields = append(fields, [2]string{name, v})
		}
	}
	return replay.ReadHead(fields)
}

// recorded is the path of the recording that a path stands for, itself if it stands
// for none.
func (a *addresses) recorded(path string) string {
	for _, recorded := range []string{a.mcp, a.sse, a.post, a.socket} {
		if stands(recorded, path) {
			return recorded
		}
	}
	return path
}

// page plays what else was recorded.
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
		http.Error(w, "mcptap mock: no such method here", http.StatusMethodNotAllowed)
		return
	}
	http.Error(w, "mcptap mock: nothing was recorded here; the session is at "+s.addresses.mcp, http.StatusNotFound)
}

// pageConversation plays what belongs to no session, nil when the server is closed.
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

// opens plays the response to a request that carries no message, and reports whether one
// was recorded. Last is the event behind which a stream is to go on, "" for none.
func (s *Server) opens(w http.ResponseWriter, r *http.Request, head *replay.Head, c *conversation, last string, body []byte) bool {
	return s.plays(w, r, head, c, func(play *replay.Session, now time.Duration, x replay.Stream) bool {
		return play.Open(now, x, r.Method, s.target(r), last, body)
	})
}

// plays plays a response that a session begins on a stream, and reports whether it does.
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

// target is the recorded target that a request stands for.
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

// primed reports whether a client may get an event that says nothing but its id: the
// older ones take it for a broken message.
func primed(version string) bool { return jsonrpc.Revision(version) >= jsonrpc.Rev20251125 }

// named finds a session that is alive by its id.
func (s *Server) named(id string) *conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

// forget takes that a session is about to be ended. The caller holds the lock.
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

// drop forgets a session that is over.
func (s *Server) drop(c *conversation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(c)
	delete(s.leaving, c)
}

// modern reports whether there is a session of 2026-07-28 to play.
func (s *Server) modern() bool {
	return slices.ContainsFunc(s.rec.sessions, func(p *played) bool { return p.Opens(true) })
}

// Close ends all sessions, and each request that is under way. Later ones are
// refused.
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

// Serve serves a [Server] on a listener until the context ends, and closes both.
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

// conditions are those of a live request, as far as they do not depend on sessions.
func (s *Server) conditions(h *replay.Head, c *replay.Claim) replay.Condition {
	host, origin := s.addresses.knows(h)
	if s.anyAddress && isAddress(h.Host) {
		// A page at any other address is one of another machine's, though any address may
		// name this one.
		host = true
		origin = origin || strings.EqualFold(hostOf(h.Origin), h.Host)
	}
	return h.Conditions(c, host, origin)
}

// knows reports whether a request is for a name of the server's, and from a page of its
// own. A page elsewhere can make its own name lead here, but not change the Host that the
// browser sends.
func (a *addresses) knows(h *replay.Head) (host, origin bool) {
	host = a.host(h.Host)
	if !h.HasOrigin {
		return host, true
	}
	of := hostOf(h.Origin)
	return host, of != "" && a.host(of)
}

// hostOf is the host and port of an origin, "" for none.
func hostOf(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return ""
	}
	return u.Host
}

// host reports whether a host, with or without a port, is a name of the server's.
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

// ruled are the conditions for which the specification tells a server to refuse
// a request, with the words for it; always are those that no server may overlook,
// whatever the recorded one did.
var ruled = map[replay.Condition]struct {
	status, code int
	text         string
}{
	replay.ForeignHost:   {http.StatusForbidden, -32000, "Forbidden: this is not the name of the server; use the URL that mcptap printed"},
	replay.ForeignOrigin: {http.StatusForbidden, -32000, "Forbidden: the request comes from a page of another origin"},
	replay.OverSession:   {http.StatusNotFound, -32001, "Session not found"},
	replay.NoSession:     {http.StatusBadRequest, -32000, "Bad Request: Mcp-Session-Id header is required"},
	replay.WrongVersion:  {http.StatusBadRequest, -32000, "Bad Request: unsupported MCP-Protocol-Version"},
	replay.WrongMethod:   {http.StatusBadRequest, -32020, "Header mismatch: Mcp-Method does not name the method of the body"},
	replay.WrongName:     {http.StatusBadRequest, -32020, "Header mismatch: Mcp-Name does not name what the body does"},
}

const always = replay.ForeignHost | replay.ForeignOrigin

// refuses answers a request that is refused for its conditions, as recorded or
// else as the specification says, and reports whether it is. P is its message, nil for
// none.
func (s *Server) refuses(w http.ResponseWriter, r *http.Request, all replay.Condition, p *posted) bool {
	for why := range all.All {
		_, rule := ruled[why]
		tolerated := s.rec.tolerated&why != 0 && always&why == 0
		if s.refusal(w, r, why, p, tolerated) {
			return true
		}
		if rule && !tolerated {
			s.refuse(w, r, why, p)
			return true
		}
	}
	return false
}

// refusal answers a request as one was that was refused for a condition, and reports
// whether there is one: with the same message, or where exactly is not asked for, any.
func (s *Server) refusal(w http.ResponseWriter, r *http.Request, why replay.Condition, p *posted, exactly bool) bool {
	keys := []refusalKey{{r.Method, why, s.key(p)}, {r.Method, why, 0}, {"", why, 0}}
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
		var id []byte
		if p != nil {
			id = p.claim.ID
		}
		s.refusedAs(w, r, all[min(n, len(all)-1)], id)
		return true
	}
	return false
}

// refusedAs answers a request as a recorded one, with the id of its message, nil for none.
func (s *Server) refusedAs(w http.ResponseWriter, r *http.Request, as replay.Refusal, id []byte) {
	s.outputs(w, r, as.Outputs(id))
}

// key is what a message is matched by, zero where nothing that was refused is.
func (s *Server) key(p *posted) replay.Key {
	if p == nil || len(s.rec.refusals) == 0 || p.claim.Kind != jsonrpc.Request && p.claim.Kind != jsonrpc.Notification {
		return 0
	}
	return replay.KeyOf(p.first(), p.variant, &s.rec.opt)
}

// refuse answers a request that is refused for a condition.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, why replay.Condition, p *posted) {
	if s.refusal(w, r, why, p, false) {
		return
	}
	rule := ruled[why]
	id, code := "null", rule.code
	modern := p != nil && p.claim.Modern
	if p != nil && len(p.claim.ID) > 0 {
		id = string(p.claim.ID)
	}
	switch {
	case why == replay.WrongVersion && !modern && jsonrpc.EraOf(jsonrpc.Revision(r.Header.Get("Mcp-Protocol-Version"))) == jsonrpc.Modern:
		code = -32602 // its _meta is missing
	case why == replay.WrongVersion && modern:
		code = -32020
	}
	text, err := json.Marshal(rule.text)
	if err != nil { // a string: cannot happen
		panic(err)
	}
	body := `{"jsonrpc":"2.0","error":{"code":` + strconv.Itoa(code) + `,"message":` + string(text) + `},"id":` + id + `}`
	plain(w, rule.status, []byte(body))
}

// An entry is a live request as package session takes it.
type entry struct {
	s        *Server
	exchange uint64
}

// enter takes the head of a request. The caller holds the lock.
func (s *Server) enter(r *http.Request) (e entry, number int) {
	s.exchanges++
	e = entry{s, s.exchanges}
	event := tap.Event{Name: tap.EventRequest, Method: r.Method, Target: s.target(r)}
	// Clients that are the same in all else can keep apart by a query of their own.
	event.Target = strings.Replace(event.Target, "?", "%3F", 1)
	conn := fnv.New64a()
	_, _ = io.WriteString(conn, r.RemoteAddr)
	event.Conn = conn.Sum64() | 1
	for name, values := range r.Header {
		for _, v := range values {
			event.Header = append(event.Header, [2]string{name, v})
		}
	}
	return e, e.event(&event)
}

func (e entry) event(event *tap.Event) int {
	e.s.frames++
	return e.s.sorter.Add(&tap.Frame{Seq: e.s.frames, Exchange: e.exchange, Lane: tap.Lifecycle}, event, nil)
}

// message takes the message of the request. The caller holds the lock.
func (e entry) message(p *posted) int {
	e.s.frames++
	f := tap.Frame{Seq: e.s.frames, Exchange: e.exchange, Lane: tap.ToServer, Form: tap.FormBody, Size: int64(len(p.raw))}
	return e.s.sorter.Add(&f, nil, &p.message)
}

// answered takes the status that the request is answered with.
func (e entry) answered(status int) {
	if e.s == nil {
		return
	}
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	e.event(&tap.Event{Name: tap.EventResponse, Status: status})
	e.end()
}

// end takes the end of the request. The caller holds the lock.
func (e entry) end() { e.event(&tap.Event{Name: tap.EventEnd}) }

// name gives a session an id that began without. The caller holds the lock.
func (s *Server) name(c *conversation) {
	if s.byNumber[c.number] == c {
		delete(s.byNumber, c.number)
	}
	c.id = rand.Text()
	s.byID[c.id] = c
}
