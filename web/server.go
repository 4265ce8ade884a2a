package web

import (
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/internal/term/escape"
)

// Config is what a [Server] needs.
type Config struct {
	Source Source
	// Token is what the first request of a browser must bring; [NewToken] makes
	// one.
	Token string
	// Dir is the data directory, for the commands that the page suggests; "" means that
	// they find it by themselves.
	Dir string
	// Version is that of the program, for the files that it exports.
	Version string
	// Host is the name or address that the server listens on; "" means that of
	// the listener.
	Host string
}

// A Server is the viewer.
type Server struct {
	source Source
	// dir and version: see [Config].
	dir     string
	version string
	guard   *guard
	seen    seenOf
	ctx     context.Context // ends when the server does
	mux     *http.ServeMux
	watch   watch
	// silence is maxSilence, less in tests.
	silence time.Duration
}

// NewServer makes a Server, which ends all that it does when ctx does.
func NewServer(ctx context.Context, c Config) *Server {
	s := &Server{source: c.Source, dir: c.Dir, version: c.Version, guard: newGuard(c.Token, c.Host), ctx: ctx, mux: http.NewServeMux(), silence: maxSilence}
	const api = "GET /api/recordings"
	const frame = api + "/{key}/frames/{seq}"
	s.mux.HandleFunc("GET /assets/{name}", serveAsset)
	s.mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) { writeAsset(w, r, "icon.svg") })
	s.mux.HandleFunc("GET /{$}", s.servePage)
	s.mux.HandleFunc("GET /r/{key}", s.servePage)
	s.mux.HandleFunc("GET /compare", s.servePage)
	s.mux.HandleFunc(api, s.private(s.serveList))
	s.mux.HandleFunc("GET /api/compare", s.private(s.serveCompare))
	s.mux.HandleFunc("GET /api/formats", s.private(s.serveFormats))
	s.mux.HandleFunc("GET /api/filter", s.private(s.serveHelp))
	s.mux.HandleFunc(api+"/{key}/complete", s.private(s.serveComplete))
	s.mux.HandleFunc(api+"/{key}/stats", s.private(s.serveStats))
	s.mux.HandleFunc(api+"/{key}/export", s.private(s.serveExport))
	s.mux.HandleFunc(frame, s.private(s.serveDetail))
	s.mux.HandleFunc(frame+"/bytes", s.private(s.serveBytes))
	s.mux.HandleFunc(frame+"/changes", s.private(s.serveChanges))
	s.mux.HandleFunc(api+"/{key}/stream", s.private(s.serveStream))
	return s
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer s.watch.begin()()
	setHeaders(w.Header())
	if why, status := s.guard.stranger(r); why != "" {
		http.Error(w, why, status)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Serve answers requests until ctx, which [NewServer] was given, ends. It closes
// the listener.
func (s *Server) Serve(l net.Listener) error {
	srv := &http.Server{
		Handler: s, ReadHeaderTimeout: patience, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return s.ctx },
		// What goes wrong on a connection is told to whoever is at its other end.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	stop := context.AfterFunc(s.ctx, func() {
		// Sockets have been told by the end of ctx, and files are short.
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if srv.Shutdown(ctx) != nil {
			srv.Close()
		}
	})
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// URL is the address that a person opens: of a recording, or of the list where
// key is "". Addr is the listener's; session is the only one that is shown at
// first, 0 for all.
func (s *Server) URL(addr net.Addr, key string, session int) string {
	host := addr.String()
	if h, port, err := net.SplitHostPort(host); err == nil {
		if ip := net.ParseIP(h); ip != nil && ip.IsUnspecified() {
			host = net.JoinHostPort("localhost", port)
		}
	}
	u := url.URL{Scheme: "http", Host: host, Path: "/", RawQuery: tokenParam + "=" + url.QueryEscape(s.guard.token)}
	if key != "" {
		u = *u.JoinPath("r", key)
	}
	if session > 0 {
		u.RawQuery += "&q=session:" + strconv.Itoa(session)
	}
	return u.String()
}

// private lets a handler answer those who may look, and pages of this origin.
func (s *Server) private(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		socket := r.Header.Get("Upgrade") != ""
		switch {
		case s.guard.foreign(r, socket):
			http.Error(w, "pages of other origins may not look", http.StatusForbidden)
		case !s.guard.admits(r):
			http.Error(w, "open the URL that mcptap printed", http.StatusUnauthorized)
		default:
			h(w, r)
		}
	}
}

// servePage is the handler of the page itself.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	if !s.guard.admits(r) {
		s.serveLocked(w, r)
		return
	}
	s.guard.remember(w)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	page := template.Must(template.New("page").Parse(string(asset("index.html"))))
	_ = page.Execute(w, s.dir)
}

// serveLocked asks for the token. What else stands in the URL is kept, so that a
// link leads where it should.
func (s *Server) serveLocked(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusUnauthorized)
	q := r.URL.Query()
	q.Del(tokenParam)
	locked := template.Must(template.New("locked").Parse(string(asset("locked.html"))))
	_ = locked.Execute(w, q)
}

// answer sends v as JSON.
func answer(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		fail(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
}

// fail sends what went wrong, which may name recorded things.
func fail(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	b, _ := json.Marshal(struct {
		Problem problem `json:"problem"`
	}{problem{Kind: "request", Text: escape.Escape(err.Error())}})
	_, _ = w.Write(b)
}

// failWith does so for an error of the source.
func failWith(w http.ResponseWriter, err error) {
	p, status := problemOf(err), http.StatusInternalServerError
	if errors.Is(err, fs.ErrNotExist) {
		status = http.StatusNotFound
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	b, _ := json.Marshal(struct {
		Problem *problem `json:"problem"`
	}{p})
	_, _ = w.Write(b)
}

var errNotUTF8 = errors.New("the text is not UTF-8")
