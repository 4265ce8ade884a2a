package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/rawtalk"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/streamable"
)

// All raw conversations of tap/streamable, which define what crosses and what is recorded, with a store:
// see [tapped.settle].
func TestTalksAreStored(t *testing.T) {
	files, err := filepath.Glob("../../tap/streamable/testdata/talk/*.txt")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d conversations, %v", len(files), err)
	}
	compared := 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			k := rawtalk.Parse(t, file)
			s := &rawtalk.Stage{T: t, Up: rawtalk.Listen(t)}
			r := startTapped(t, "http://"+s.Up.Addr().String()+"/mcp", func(c *streamable.Config) {
				c.RewriteAuth = k.Set["rewrite-auth"]
				if k.Set["header"] {
					c.Header = [][2]string{{"X-Extra", "s3cret-of-the-tap"}, {"x-more", "2"}}
				}
			})
			s.Tap = r.Addr().String()
			s.Ended = func() { r.seen.wait(len(s.Got)) }
			s.Client = s.Connect()
			for _, st := range k.Steps {
				s.Play(st)
			}
			s.HangUp()
			_, n := r.settle(s.Got)
			compared += n
		})
	}
	if compared < 100 {
		t.Errorf("only %d bodies were compared", compared)
	}
}

// A wiretap keeps the bytes read from the connections that it makes or accepts, above TLS.
type wiretap struct {
	mu    sync.Mutex
	conns []*wiredConn
}

type wiredConn struct {
	net.Conn
	mu   sync.Mutex
	got  []byte
	over chan struct{} // closed when nothing more will be read
	end  sync.Once
}

// Read implements [net.Conn].
func (c *wiredConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got = append(c.got, p[:n]...)
	if err != nil {
		c.end.Do(func() { close(c.over) })
	}
	return n, err
}

// Close implements [net.Conn].
func (c *wiredConn) Close() error {
	c.end.Do(func() { close(c.over) })
	return c.Conn.Close()
}

func (w *wiretap) add(c net.Conn) net.Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	wired := &wiredConn{Conn: c, over: make(chan struct{})}
	w.conns = append(w.conns, wired)
	return wired
}

// got returns what each connection has read until its end, in the order of their start.
func (w *wiretap) got() (all [][]byte) {
	w.mu.Lock()
	conns := w.conns
	w.mu.Unlock()
	for _, c := range conns {
		<-c.over
		c.mu.Lock()
		all = append(all, bytes.Clone(c.got))
		c.mu.Unlock()
	}
	return all
}

// A scene is a server and a client of the torture test. Everything that they send must be the same in
// each run.
type scene struct {
	name   string
	server func(*act) http.HandlerFunc
	client func(*act)
	// exchanges is the number of exchanges, whose bodies can all be compared.
	exchanges int
	large     bool // slow
	// check checks the recording, in addition to what is checked for every scene.
	check func(t *testing.T, x *exchanges, frames []tap.Frame)
}

// An act is one run of a scene, directly or through a tap.
type act struct {
	t    *testing.T
	url  string
	http *http.Client
	dial func() (net.Conn, error)
	// turn lets client and server take turns: each sends only after it has seen what the other side
	// did before.
	turn chan struct{}
}

// yield passes the turn to the other side, and await waits for it. The timeout is for a test that has
// already failed.
func (a *act) yield() {
	select {
	case a.turn <- struct{}{}:
	case <-time.After(rawtalk.Patience):
		a.t.Error("the other side is not waiting")
	}
}

func (a *act) await() {
	select {
	case <-a.turn:
	case <-time.After(rawtalk.Patience):
		a.t.Error("nothing arrives")
	}
}

// must fails the run of a client on an error.
func (a *act) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// do sends a request and returns the response, whose body has not been read.
func (a *act) do(method, path string, body io.Reader, header ...string) *http.Response {
	a.t.Helper()
	req, err := http.NewRequest(method, a.url+path, body)
	a.must(err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := a.http.Do(req)
	a.must(err)
	return resp
}

// A stand is a server for a scene, and what it received.
type stand struct {
	t       *testing.T
	scene   *scene
	tls     *tls.Config // of the server and of the tap; nil for none
	server  *httptest.Server
	current *act
	wires   *wiretap
	mu      sync.Mutex
}

func newStand(t *testing.T, sc *scene, conf *tls.Config) *stand {
	t.Helper()
	s := &stand{t: t, scene: sc, tls: conf}
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", "Sat, 01 Aug 2026 00:00:00 GMT")
		s.mu.Lock()
		a := s.current
		s.mu.Unlock()
		sc.server(a)(w, r)
	}))
	s.server.Config.MaxHeaderBytes = 1 << 20
	l := s.server.Listener
	if conf != nil {
		l = tls.NewListener(l, conf)
	}
	s.server.Listener = standListener{l, s}
	s.server.Start()
	t.Cleanup(s.server.Close)
	return s
}

// A standListener adds the wiretap of the current run to the connections that it accepts.
type standListener struct {
	net.Listener
	s *stand
}

// Accept implements [net.Listener].
func (l standListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	return l.s.wires.add(c), nil
}

// run plays the scene against a server, or a tap, at an address, and returns what both ends received.
func (s *stand) run(addr string) []rawtalk.Got {
	s.t.Helper()
	clients, servers := new(wiretap), new(wiretap)
	dial := func() (net.Conn, error) {
		c, err := net.Dial("tcp", addr)
		if err == nil && s.tls != nil {
			c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
		}
		if err != nil {
			return nil, err
		}
		return clients.add(c), nil
	}
	tr := &http.Transport{DisableCompression: true, ExpectContinueTimeout: rawtalk.Patience,
		DialContext:    func(context.Context, string, string) (net.Conn, error) { return dial() },
		DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return dial() }}
	scheme := "http://"
	if s.tls != nil {
		scheme = "https://"
	}
	a := &act{t: s.t, url: scheme + addr, http: &http.Client{Transport: tr}, dial: dial, turn: make(chan struct{})}
	s.mu.Lock()
	s.current, s.wires = a, servers
	s.mu.Unlock()
	s.scene.client(a)
	tr.CloseIdleConnections()
	down, up := clients.got(), servers.got()
	if len(down) != len(up) {
		s.t.Fatalf("%d connections of the client, %d to the server", len(down), len(up))
	}
	got := make([]rawtalk.Got, len(down))
	for i := range got {
		got[i] = rawtalk.Got{Server: up[i], Client: down[i]}
	}
	return got
}

// play plays the scene directly and through a tap, and compares every byte.
func (s *stand) play() {
	t := s.t
	t.Helper()
	addr := s.server.Listener.Addr().String()
	direct := s.run(addr)
	scheme := "http://"
	if s.tls != nil {
		scheme = "https://"
	}
	r := startTapped(t, scheme+addr, func(c *streamable.Config) {
		if s.tls != nil {
			c.ServerTLS, c.ClientTLS = s.tls, &tls.Config{InsecureSkipVerify: true}
		}
	})
	through := s.run(r.Addr().String())
	if len(direct) != len(through) {
		t.Fatalf("%d connections became %d", len(direct), len(through))
	}
	for i := range direct {
		// The client sends the host that it dialled, which the tap replaces with the server's.
		sameBytes(t, "the server", through[i].Server, direct[i].Server)
		sameBytes(t, "the client", through[i].Client, direct[i].Client)
	}
	frames, compared := r.settle(through)
	if compared != 2*s.scene.exchanges {
		t.Errorf("%d bodies were compared, want %d", compared, 2*s.scene.exchanges)
	}
	x := exchangesOf(t, frames)
	for _, e := range x.order {
		if e.end == nil || e.end.Error != "" && s.scene.check == nil {
			t.Errorf("exchange %d ended with %+v", e.n, e.end)
		}
	}
	if s.scene.check != nil {
		s.scene.check(t, x, frames)
	}
}

func sameBytes(t *testing.T, who string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	n := 0
	for n < min(len(got), len(want)) && got[n] == want[n] {
		n++
	}
	t.Errorf("%s got %d bytes instead of %d; from %d on %.200q instead of %.200q", who, len(got), len(want), n, got[n:], want[n:])
}

// Each scene, in the clear and with TLS on both sides of the tap.
func TestTorture(t *testing.T) {
	cert := httptest.NewUnstartedServer(nil)
	cert.StartTLS()
	defer cert.Close()
	conf := &tls.Config{Certificates: cert.TLS.Certificates}
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) { newStand(t, &s, nil).play() })
		if !s.large {
			t.Run(s.name+", TLS", func(t *testing.T) { newStand(t, &s, conf).play() })
		}
	}
}
