package mocktest

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/mock"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/replay"
)

// maxUnrequested is the maximum number of unsent requests that are reported.
const maxUnrequested = 20

// A Mock plays the server of a recording, until the test ends.
type Mock struct {
	t        testing.TB
	file     string
	config   config
	rec      *mock.Recording
	ctx      context.Context
	sessions sync.WaitGroup

	mu       sync.Mutex
	closers  []io.Closer
	coverage *replay.Coverage
	command  []string
	// noting guards over, after which nothing may be reported to the test.
	noting sync.Mutex
	over   bool

	server *mock.Server
	origin string // of server
}

// Start starts a mock of the recording in file. A relative path is relative to the directory of the
// test. Sessions that are open at the end of the test are closed.
//
// Each request that was not recorded fails the test, as does a client that does not answer a
// server request; see also [Strict] and [Verify]. If the file cannot be played, or an option is
// invalid, Start calls t.Fatalf.
func Start(t testing.TB, file string, opts ...Option) *Mock {
	t.Helper()
	var c config
	for _, o := range opts {
		if err := o(&c); err != nil {
			t.Fatalf("mocktest: %v", err)
		}
	}
	rec, err := mock.Load(recording.Frames(context.Background(), file), c.replay)
	if err != nil {
		t.Fatalf("mocktest: %v", err)
	}
	if c.session > 0 && !rec.Only(c.session) {
		t.Fatalf("mocktest: %s has no session %d", file, c.session)
	}
	if rec.Empty() {
		t.Fatalf("mocktest: %s has nothing to play", file)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &Mock{t: t, file: file, config: c, rec: rec, ctx: ctx, coverage: replay.NewCoverage(rec.Scripts()...)}
	t.Cleanup(func() {
		t.Helper()
		cancel()
		m.end()
	})
	return m
}

// Pipe starts a session in the test process. The client reads from r and writes to w. It ends the
// session by closing w.
func (m *Mock) Pipe() (r io.ReadCloser, w io.WriteCloser) {
	m.t.Helper()
	r, out, err := os.Pipe()
	if err != nil {
		m.t.Fatalf("mocktest: %v", err)
	}
	in, w, err := os.Pipe()
	if err != nil {
		m.t.Fatalf("mocktest: %v", err)
	}
	m.serve(in, out, r, w)
	return r, w
}

// Command returns the command line that starts the server; see the package comment.
func (m *Mock) Command() []string {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.command != nil {
		return slices.Clone(m.command)
	}
	self, err := os.Executable()
	if err != nil {
		m.t.Fatalf("mocktest: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		m.t.Fatalf("mocktest: %v", err)
	}
	m.closers = append(m.closers, l)
	secret := rand.Text()
	m.command = []string{self, relayArgument, l.Addr().String(), secret}
	go m.accept(l, secret)
	return slices.Clone(m.command)
}

// accept serves the relays that clients start.
func (m *Mock) accept(l net.Listener, secret string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return // the test is over
		}
		m.mu.Lock()
		m.closers = append(m.closers, c)
		m.mu.Unlock()
		go func() {
			// Other programs on this machine may connect too.
			got := make([]byte, len(secret))
			if _, err := io.ReadFull(c, got); err != nil || string(got) != secret {
				c.Close()
				return
			}
			m.serve(c, c)
		}()
	}
}

// serve plays a session, unless the test is over. in, out and others are closed at the end of the
// test.
func (m *Mock) serve(in io.ReadCloser, out io.WriteCloser, others ...io.Closer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closers = append(append(m.closers, in, out), others...)
	if m.ctx.Err() != nil {
		return
	}
	m.sessions.Go(func() {
		session, err := mock.Stdio(m.ctx, m.rec.Script, in, out, m.note)
		out.Close()
		m.played(session)
		if err != nil && m.ctx.Err() == nil {
			m.t.Errorf("mock of %s: %v", m.file, err)
		}
	})
}

// note reports a note of a session.
func (m *Mock) note(n replay.Note) {
	m.noting.Lock()
	defer m.noting.Unlock()
	switch {
	case m.over:
	case m.config.fails(n.Kind):
		m.t.Errorf("mock of %s: %s", m.file, escape.String(n.Text))
	case n.Kind == replay.NoteResponse:
		m.t.Logf("mock of %s: %s", m.file, escape.String(n.Deviation()))
	case n.Kind == replay.NoteRelaxed:
		m.t.Logf("mock of %s: %s", m.file, escape.String(n.Text))
	}
}

// end ends the sessions. When it returns, all notes have been reported.
func (m *Mock) end() {
	m.t.Helper()
	m.mu.Lock()
	server := m.server
	for _, c := range m.closers {
		c.Close()
	}
	m.mu.Unlock()
	if server != nil {
		server.Close()
	}
	m.sessions.Wait()
	m.noting.Lock()
	defer m.noting.Unlock()
	m.over = true
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.config.verify {
		for _, n := range m.coverage.Unrequested(maxUnrequested) {
			m.t.Errorf("mock of %s: %s", m.file, escape.String(n.Text))
		}
		if asked, all := m.coverage.Sent(), m.coverage.Recorded(); asked < all {
			m.t.Logf("mock of %s: %d of the %d recorded requests were sent", m.file, asked, all)
		}
	}
}

// URL returns the URL for a Streamable HTTP client, with the recorded path or /mcp. Package mock
// describes how sessions are assigned to several clients.
func (m *Mock) URL() string {
	m.t.Helper()
	return m.listen() + m.server.Path()
}

// EventsURL returns the URL for an HTTP+SSE client (the transport of 2024-11-05).
func (m *Mock) EventsURL() string {
	m.t.Helper()
	return m.listen() + m.server.EventPath()
}

// listen starts the HTTP server, unless it has started, and returns its origin.
func (m *Mock) listen() string {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server != nil {
		return m.origin
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		m.t.Fatalf("mocktest: %v", err)
	}
	m.origin = "http://" + l.Addr().String()
	m.server = mock.NewServer(m.rec, mock.ServerOptions{Note: m.note, Over: m.played})
	h := &http.Server{Handler: m.server}
	m.sessions.Go(func() {
		_ = h.Serve(l) // until it is closed
	})
	m.closers = append(m.closers, h)
	return m.origin
}

// played adds a session to the coverage.
func (m *Mock) played(s *replay.Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.coverage.Add(s)
}

// relayArgument is the first of the three arguments that make the test binary a relay.
const relayArgument = "mcptap-mocktest-relay"

// The relay runs in init, before any test, so that tests need no TestMain for it.
func init() {
	if len(os.Args) == 4 && os.Args[1] == relayArgument {
		os.Exit(relay(os.Args[2], os.Args[3]))
	}
}

// relay sends its secret to the mock, and then relays stdin and stdout.
func relay(addr, secret string) int {
	c, err := net.Dial("tcp", addr)
	if err == nil {
		_, err = io.WriteString(c, secret)
	}
	if err != nil {
		os.Stderr.WriteString("mocktest: the test of this mock has ended: " + err.Error() + "\n")
		return 1
	}
	go func() {
		_, _ = io.Copy(c, os.Stdin)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	if _, err := io.Copy(os.Stdout, c); err != nil {
		return 1
	}
	return 0
}
