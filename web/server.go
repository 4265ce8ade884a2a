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
	"sync/atomic"
	"time"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap/filter"
)

// Config configures a [Server].
type Config struct {
	Source Source
	// Token is the token that the first request of a browser must carry: see [NewToken].
	Token string
	// Dir is the data directory for the commands that the page suggests; "" if they find it
	// without --dir.
	Dir string
	// Version is the version of the program, for exported files.
	Version string
	// Host is the name or address that the server listens on; "" means loopback.
	Host string
}

// A Server is the viewer.
type Server struct {
	source  Source
	dir     string
	version string
	guard   *guard
	seen    seenOf
	ctx     context.Context // ends with the server
	mux     *http.ServeMux
	watch   watch
	judging chan struct{} // has one element during a check
	silence time.Duration // maxSilence, less in tests
}

// NewServer returns a Server, which ends with ctx.
func NewServer(ctx context.Context, c Config) *Server {
	s := &Server{
		source: c.Source, dir: c.Dir, version: c.Version, guard: newGuard(c.Token, c.Host), ctx: ctx,
		mux: http.NewServeMux(), judging: make(chan struct{}, 1), silence: maxSilence,
	}
	s.mux.HandleFunc("GET /assets/{name}", serveAsset)
	s.mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) { writeAsset(w, r, "icon.svg") })
	for _, path := range []string{"/{$}", "/r/{key}", "/compare"} {
		s.mux.HandleFunc("GET "+path, s.servePage)
	}
	const recording = "/recordings/{key}"
	for path, h := range map[string]handler{
		"/compare":                          s.serveCompare,
		"/formats":                          s.serveFormats,
		"/filter":                           s.serveHelp,
		"/recordings":                       s.serveList,
		recording + "/complete":             s.serveComplete,
		recording + "/stats":                whole(s, measure),
		recording + "/findings":             whole(s, s.judge),
		recording + "/export":               s.serveExport,
		recording + "/stream":               s.serveStream,
		recording + "/frames/{seq}":         s.serveDetail,
		recording + "/frames/{seq}/bytes":   s.serveBytes,
		recording + "/frames/{seq}/changes": s.serveChanges,
	} {
		s.mux.HandleFunc("GET /api"+path, s.private(h))
	}
	return s
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer s.watch.begin()()
	setHeaders(w.Header())
	if why, status := s.guard.refuse(r); why != "" {
		http.Error(w, why, status)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Serve serves requests until the context of [NewServer] ends. It closes the listener.
func (s *Server) Serve(l net.Listener) error {
	srv := &http.Server{
		Handler: s, ReadHeaderTimeout: patience, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return s.ctx },
		// Clients see the errors of their connections.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	stop := context.AfterFunc(s.ctx, func() {
		// The sockets were closed when ctx ended, and other responses are short.
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

// URL returns the URL to open: of a recording, or of the list if key is "". addr is the listener's
// address. If session is not 0, the page initially shows only that session.
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

// A handler responds to a request, or returns an error for the page.
type handler func(http.ResponseWriter, *http.Request) error

// private restricts a handler to pages of this origin and requests with access.
func (s *Server) private(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.guard.foreign(r):
			http.Error(w, "pages of other origins have no access", http.StatusForbidden)
		case !s.guard.admits(r):
			http.Error(w, "open the URL that mcptap printed", http.StatusUnauthorized)
		default:
			if err := h(w, r); err != nil {
				problemOf(err).send(w)
			}
		}
	}
}

// servePage sends the page, or a form for the token if the request has no access.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	if s.guard.admits(r) {
		s.guard.remember(w)
		execute(w, http.StatusOK, "index.html", s.dir)
		return
	}
	// The form keeps the other parameters, so that links still work.
	q := r.URL.Query()
	q.Del(tokenParam)
	execute(w, http.StatusUnauthorized, "locked.html", q)
}

// execute sends a template among the assets.
func execute(w http.ResponseWriter, status int, name string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = template.Must(template.New(name).Parse(string(asset(name)))).Execute(w, data)
}

// respond sends v as JSON.
func respond(w http.ResponseWriter, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
	return nil
}

// A problem is an error for the page.
type problem struct {
	// Kind is deleted, unreadable, filter or request.
	Kind string `json:"kind"`
	Text string `json:"text"`
	// From and To delimit the invalid part of a filter, in UTF-16 code units. Help explains how to
	// correct it.
	From int    `json:"from,omitempty"`
	To   int    `json:"to,omitempty"`
	Help string `json:"help,omitempty"`

	status int // HTTP status
}

// Error implements error.
func (p *problem) Error() string { return p.Text }

// refuse returns the error for a request that cannot be served.
func refuse(status int, err error) error {
	return &problem{Kind: "request", Text: escape.String(err.Error()), status: status}
}

// problemOf describes an error from a request, the source or the filter.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if fe, ok := errors.AsType[*filter.Error](err); ok {
		return &problem{
			Kind: "filter", Text: escape.String(fe.Problem), Help: escape.String(fe.Help),
			From: utf16Len(fe.Query[:fe.Pos]), To: utf16Len(fe.Query[:fe.Pos+fe.Len]), status: http.StatusBadRequest,
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &problem{Kind: "deleted", Text: "The recording no longer exists.", status: http.StatusNotFound}
	}
	return &problem{Kind: "unreadable", Text: escape.String(err.Error()), status: http.StatusInternalServerError}
}

func (p *problem) send(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.status)
	b, _ := json.Marshal(map[string]*problem{"problem": p})
	_, _ = w.Write(b)
}

// watchedFor is how long a page counts as open after a request. The list of recordings
// polls at least every eight seconds; the page of a recording has a socket.
const watchedFor = 10 * time.Second

// A watch tracks whether a page is open.
type watch struct {
	busy atomic.Int64 // open requests and sockets
	last atomic.Int64 // when one of them last ended, in Unix nanoseconds
}

// begin records a request, and returns a function that records its end.
func (w *watch) begin() (end func()) {
	w.busy.Add(1)
	return func() {
		w.last.Store(time.Now().UnixNano())
		w.busy.Add(-1)
	}
}

// open reports whether a page is open.
func (w *watch) open(now time.Time) bool {
	return w.busy.Load() > 0 || now.Sub(time.Unix(0, w.last.Load())) < watchedFor
}

// WaitUnwatched returns when no page has been open for some seconds, or ctx ends. This leaves time to
// open a URL that was just printed.
func (s *Server) WaitUnwatched(ctx context.Context) {
	s.watch.begin()()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for s.watch.open(time.Now()) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
