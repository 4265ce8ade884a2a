package mock

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/mcptap/mcptap/replay"
)

// ServerOptions say how a [Server] serves. The zero value is ready.
type ServerOptions struct {
	// Note gets what there is to say of the sessions, and must not block. Several
	// goroutines may call it at once.
	Note func(replay.Note)
	// Over gets each session when it is over, for which the same holds.
	Over func(*replay.Session)
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
	rec  *Recording
	site site
	opt  ServerOptions

	mu sync.Mutex
	// talks are the sessions that go on, leaving those that are being ended, which takes
	// as long as the recording is being read.
	talks, leaving map[*talk]struct{}
	// byID finds sessions by the ids that they were given, byConn by the address of
	// a connection that was used for them, byClient the last one of a client.
	byID, byConn, byClient map[string]*talk
	played                 map[*played]int
	closed                 bool
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
		rec: rec, site: rec.site, opt: opt, talks: map[*talk]struct{}{}, leaving: map[*talk]struct{}{}, played: map[*played]int{},
		byID: map[string]*talk{}, byConn: map[string]*talk{}, byClient: map[string]*talk{},
	}
	s.site.hosts = nil // the recorded server's names are not ours
	for _, name := range opt.Names {
		s.site.hosts = append(s.site.hosts, strings.ToLower(name))
	}
	s.site.anyAddress = opt.AnyAddress
	s.site.mcp = first(s.site.mcp, "/mcp")
	if s.site.sse == "" {
		s.site.sse, s.site.post = "/sse", "/message"
	}
	s.site.param = first(s.site.param, "sessionId")
	s.site.socket = first(s.site.socket, "/ws")
	return s
}

// Path is the path of the URL that a client of Streamable HTTP is to use, EventPath
// that of HTTP+SSE, and SocketPath that of WebSocket.
func (s *Server) Path() string { return s.site.mcp }

// EventPath is documented at Path.
func (s *Server) EventPath() string { return s.site.sse }

// SocketPath is documented at Path.
func (s *Server) SocketPath() string { return s.site.socket }

// Recorded is the path on which the recording was made, the first of the three if it
// was on none.
func (s *Server) Recorded() string {
	switch {
	case s.rec.site.mcp != "":
	case s.rec.site.sse != "":
		return s.site.sse
	case s.rec.site.socket != "":
		return s.site.socket
	}
	return s.site.mcp
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := fieldsOf(r)
	path := s.site.recordedPath(r.URL.Path)
	socket := isUpgrade(r)
	if r.Method != http.MethodPost || path != s.site.mcp { // a message is guarded when it has been read
		guarded := always
		if path == s.site.mcp || path == s.site.sse || path == s.site.socket {
			guarded |= noCredentials
		}
		if s.refuses(w, r, s.site.circumstances(&f, &replay.Claim{})&guarded, replay.Claim{}, nil) {
			return
		}
	}
	switch {
	case socket && (path == s.site.socket || path == s.site.mcp):
		s.socket(w, r)
	case path == s.site.sse && r.Method == http.MethodGet && f.session == "":
		s.events(w, r)
	case path == s.site.post && r.Method == http.MethodPost && s.talkOf(r.URL.Query().Get(s.site.param)) != nil:
		s.postEvents(w, r, s.talkOf(r.URL.Query().Get(s.site.param)))
	case path == s.site.mcp && r.Method == http.MethodPost:
		s.post(w, r, &f)
	case path == s.site.mcp && r.Method == http.MethodGet:
		s.get(w, r, &f)
	case path == s.site.mcp && r.Method == http.MethodDelete:
		s.delete(w, r, &f)
	default:
		s.page(w, r)
	}
}

// recordedPath is the path of the recording that a path stands for, itself if it stands
// for none.
func (s *site) recordedPath(path string) string {
	for _, recorded := range []string{s.mcp, s.sse, s.post, s.socket} {
		if samePath(recorded, path) {
			return recorded
		}
	}
	return path
}

// recordedPage finds what was recorded at a URL, nil for nothing.
func (s *site) recordedPage(method string, u *url.URL) *fixed {
	if f := s.pages[method+" "+u.RequestURI()]; f != nil {
		return f
	}
	for name, f := range s.pages {
		of, target, _ := strings.Cut(name, " ")
		path, query, _ := strings.Cut(target, "?")
		if of == method && query == u.RawQuery && strings.Contains(path, pseudonymPrefix) && samePath(path, u.EscapedPath()) {
			return f
		}
	}
	return nil
}

// samePath reports whether a client that uses a path means a recorded one, in which a
// pseudonym stands for any segment.
func samePath(recorded, path string) bool {
	if recorded == path {
		return true
	}
	a, b := strings.Split(recorded, "/"), strings.Split(path, "/")
	return len(a) == len(b) && slices.EqualFunc(a, b, func(a, b string) bool {
		return a == b || strings.HasPrefix(a, pseudonymPrefix) && b != ""
	})
}

// pseudonymPrefix begins what package streamable records in the place of a secret.
const pseudonymPrefix = "masked:"

// page plays what else was recorded.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	if f := s.site.recordedPage(r.Method, r.URL); f != nil {
		s.fixed(w, r, f)
		return
	}
	if s.site.recordedPath(r.URL.Path) == s.site.mcp {
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "mcptap mock: no such method here", http.StatusMethodNotAllowed)
		return
	}
	http.Error(w, "mcptap mock: nothing was recorded here; the session is at "+s.site.mcp, http.StatusNotFound)
}

// talkOf finds a session that is alive by its id.
func (s *Server) talkOf(id string) *talk {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

// Close ends all sessions, and each request that is under way. Later ones are
// refused.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	var all []*talk
	for _, talks := range []map[*talk]struct{}{s.talks, s.leaving} {
		for t := range talks {
			all = append(all, t)
		}
	}
	s.mu.Unlock()
	for _, t := range all {
		t.end()
	}
}

// Serve serves a [Server] or a [Front] on a listener until the context ends, and closes
// both.
func Serve(ctx context.Context, l net.Listener, s interface {
	http.Handler
	Close()
}) error {
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
