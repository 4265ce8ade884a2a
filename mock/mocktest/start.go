package mocktest

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"os"
	"sync"
	"testing"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/mock"
	"github.com/mcptap/mcptap/mock/recorded"
	"github.com/mcptap/mcptap/replay"
)

// maxUnasked is how many requests are named that a client has not asked for.
const maxUnasked = 20

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
	// noting is held while the test is told something, which must not be when it is
	// over.
	noting sync.Mutex
	over   bool

	server *mock.Server
	origin string // of the server
}

// Start makes a mock of a recording, relative to the test's directory. When the
// test ends, so do the sessions that are open then.
//
// Each request that was not recorded fails the test, as does a client that does not
// answer what the server asks; see [Strict] and [Verify] for more. A file that
// cannot be played, or an option that makes no sense, ends the test at once.
func Start(t testing.TB, file string, opts ...Option) *Mock {
	t.Helper()
	var c config
	for _, o := range opts {
		if err := o(&c); err != nil {
			t.Fatalf("mocktest: %v", err)
		}
	}
	rec, err := recorded.Load(context.Background(), file, c.replay)
	if err != nil {
		t.Fatalf("mocktest: %v", err)
	}
	if c.session > 0 && !rec.Only(c.session) {
		t.Fatalf("mocktest: %s has no session %d", file, c.session)
	}
	if rec.Empty() {
		t.Fatalf("mocktest: %s holds nothing that could be played", file)
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

// Pipe starts a session in the test's own process. The client reads from r and
// writes to w; it ends the session by closing w.
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

// Command is the command line that a client starts the server with; see the package
// comment.
func (m *Mock) Command() []string {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.command != nil {
		return append([]string(nil), m.command...)
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
	return append([]string(nil), m.command...)
}

// accept takes the relays that clients have started.
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
			// Anybody on this machine may have dialled.
			said := make([]byte, len(secret))
			if _, err := io.ReadFull(c, said); err != nil || string(said) != secret {
				c.Close()
				return
			}
			m.serve(c, c)
		}()
	}
}

// serve plays a session, unless the test is over. The others are closed with it.
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

// note takes what there is to say of a session.
func (m *Mock) note(n replay.Note) {
	m.noting.Lock()
	defer m.noting.Unlock()
	switch {
	case m.over:
	case m.config.fails(n.Kind):
		m.t.Errorf("mock of %s: %s", m.file, escape.Escape(n.Text))
	case n.Kind == replay.NoteRelaxed: // nothing inexact in silence
		m.t.Logf("mock of %s: %s", m.file, escape.Escape(n.Text))
	}
}

// end ends the sessions, also those whose clients do not read. A request that was
// answered has been noted before.
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
	m.mu.Lock() // of a client whose session ends late
	defer m.mu.Unlock()
	if m.config.verify {
		for _, n := range m.coverage.Unasked(maxUnasked) {
			m.t.Errorf("mock of %s: %s", m.file, escape.Escape(n.Text))
		}
		if asked, all := m.coverage.Asked(), m.coverage.Recorded(); asked < all {
			m.t.Logf("mock of %s: %d of the %d recorded requests were asked for", m.file, asked, all)
		}
	}
}
