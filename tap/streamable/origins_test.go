package streamable

import (
	"net"
	"net/url"
	"testing"
)

// A page of an allowed origin may use the fields that the tap adds, and so may the tap's own.
func TestAllowedOrigins(t *testing.T) {
	u := &upLane{lane: lane{traffic: &traffic{Tap: &Tap{
		extra: "X-Api-Key: 1\r\n", origins: []string{"http://localhost:6274", "https://Inspector.example/"},
		hosts: hosts{own: origin{"http", "127.0.0.1", "8080"}},
	}}}}
	for origin, want := range map[string]bool{
		"http://127.0.0.1:8080": true, "http://localhost:8080": true, "http://localhost:6274": true, "https://inspector.example": true,
		"http://localhost:6275": false, "https://127.0.0.1:8080": false, "https://localhost:6274": false, "http://inspector.example": false,
		"null": false, "": false, "http://127.0.0.1:8080.evil.example": false, "http://evil.example": false,
	} {
		h := parseHead([]byte("GET / HTTP/1.1\r\nOrigin: " + origin + "\r\nSec-Fetch-Site: cross-site\r\n\r\n"))
		if page := u.foreignPage(&h); (page == "") != want {
			t.Errorf("%q: %q", origin, page)
		}
	}
}

// The incomplete heads of many connections share one memory limit.
func TestHeadsShareTheirMemory(t *testing.T) {
	for conns, want := range map[int64]int{0: maxHead, 1: maxHead, 64: maxHead, 128: maxHead / 2, 300: maxHeads / 300, 1 << 20: leastHead} {
		s := new(Tap)
		s.heads.Store(conns)
		if got := s.headLimit(); got != want {
			t.Errorf("with %d connections a head may have %d bytes, want %d", conns, got, want)
		}
	}
}

// A tap in front of itself would connect to itself until there are no descriptors left.
func TestTapInFrontOfItselfIsRefused(t *testing.T) {
	for _, c := range []struct {
		listen, host string
		refused      bool
	}{
		{"127.0.0.1:0", "127.0.0.1", true}, {"127.0.0.1:0", "localhost", true}, {"0.0.0.0:0", "127.0.0.1", true}, {"0.0.0.0:0", "localhost", true},
		{"127.0.0.1:0", "127.0.0.2", false}, {"127.0.0.1:0", "example.com", false},
	} {
		l, err := net.Listen("tcp", c.listen)
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		tap, err := New(Config{Upstream: &url.URL{Scheme: "http", Host: c.host + ":" + port, Path: "/mcp"}, Listener: l, Listen: c.listen})
		if (err != nil) != c.refused {
			t.Errorf("listening on %s for %s: %v", c.listen, c.host, err)
		}
		if err == nil {
			_ = tap.Close()
		} else if l.Addr() != nil {
			_ = l.Close()
		}
	}
}
