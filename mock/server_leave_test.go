package mock

import (
	"runtime"
	"testing"

	"github.com/mcptap/mcptap/replay"
)

// counts returns how many sessions of a server are open, and how many are ending.
func (s *Server) counts() (talks, leaving int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open), len(s.leaving)
}

// The number of open sessions is limited. A session that its client has ended does not count. Each
// session is ended once.
func TestServerLimitsSessions(t *testing.T) {
	const beyond = 50
	ended := make(chan struct{}, 2*maxConversations)
	rec, err := Load(each(benchFrames(1)), replay.Options{Pace: replay.Instant})
	if err != nil {
		t.Fatal(err)
	}
	srv, url := served(t, rec, ServerOptions{Over: func(*replay.Session) { ended <- struct{}{} }})
	gone := begun(t, url, "/mcp")
	if res, body := ask(t, url, testRequest{"DELETE", "/mcp", []string{gone}, ""}); res.StatusCode != 200 {
		t.Error(res.Status, body)
	}
	<-ended
	for range maxConversations + beyond {
		srv.mu.Lock()
		srv.begin(srv.rec.sessions[0], true)
		srv.mu.Unlock()
	}
	for range beyond {
		<-ended
	}
	if talks, _ := srv.counts(); talks != maxConversations {
		t.Errorf("%d sessions, want %d", talks, maxConversations)
	}
	srv.Close()
	for range maxConversations {
		<-ended
	}
	for talks, leaving := 1, 1; talks+leaving > 0; runtime.Gosched() {
		talks, leaving = srv.counts()
	}
}
