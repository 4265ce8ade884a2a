package mock

import (
	"runtime"
	"testing"

	"github.com/mcptap/mcptap/replay"
)

// counts are how many sessions of a server go on, and how many are being ended.
func (s *Server) counts() (talks, leaving int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.talks), len(s.leaving)
}

// No more sessions are kept than there may be, however long it takes to end the others,
// and one that its client has ended does not count.
func TestServerKeepsSoManySessions(t *testing.T) {
	var over, all int
	ended := make(chan struct{}, 2*maxTalks)
	_, srv, url, goOn := halfServed(t, twoHalves(), ServerOptions{Over: func(*replay.Session) { ended <- struct{}{} }})
	begin := func(n int) {
		srv.mu.Lock()
		defer srv.mu.Unlock()
		for range n {
			srv.begin(srv.rec.sessions[0], true)
		}
		all += n
	}
	is := func(wantTalks, wantLeaving int) {
		t.Helper()
		if talks, leaving := srv.counts(); talks != wantTalks || leaving != wantLeaving {
			t.Fatalf("%d sessions and %d that are being ended, want %d and %d", talks, leaving, wantTalks, wantLeaving)
		}
	}
	begin(maxTalks - 1)
	gone := begun(t, url, "/mcp")
	all++
	if res, body := ask(t, url, askedTo("DELETE", gone)); res.StatusCode != 200 {
		t.Error(res.Status, body)
	}
	is(maxTalks-1, 1)
	begin(50)
	is(maxTalks, 1+49)
	goOn()
	for range 1 + 49 {
		<-ended
		over++
	}
	for leaving := 1; leaving > 0; runtime.Gosched() {
		_, leaving = srv.counts()
	}
	is(maxTalks, 0)
	begin(50) // and as many when all has been read
	srv.Close()
	for ; over < all; over++ {
		<-ended
	}
	for talks, leaving := 1, 1; talks+leaving > 0; runtime.Gosched() {
		talks, leaving = srv.counts()
	}
}
