package mocktest

import (
	"net"
	"net/http"

	"github.com/mcptap/mcptap/mock"
	"github.com/mcptap/mcptap/replay"
)

// URL is that of the mock for a client of Streamable HTTP, at the recorded path or at
// /mcp; see [mock.Server] for how the sessions of several clients are told apart.
func (m *Mock) URL() string {
	m.t.Helper()
	return m.listen() + m.server.Path()
}

// EventsURL is that of the mock for a client of HTTP+SSE, which was what HTTP was in
// 2024-11-05.
func (m *Mock) EventsURL() string {
	m.t.Helper()
	return m.listen() + m.server.EventPath()
}

// listen begins to serve, unless it has begun, and returns the origin.
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

// played counts what a session has been asked for.
func (m *Mock) played(s *replay.Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.coverage.Add(s)
}
