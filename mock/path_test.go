package mock

import (
	"testing"

	"github.com/mcptap/mcptap/replay"
)

// A recorded path with a pseudonym matches the paths of clients, which contain the secret itself.
func TestSamePath(t *testing.T) {
	for _, c := range []struct {
		recorded, path string
		want           bool
	}{
		{"/mcp", "/mcp", true}, {"/mcp", "/sse", false}, {"/mcp", "/mcp/x", false},
		{"/mcp/s/masked:1a2b3c4d5e6f/mcp", "/mcp/s/NTM4ZDk2/mcp", true},
		{"/mcp/s/masked:1a2b3c4d5e6f/mcp", "/mcp/s/masked:1a2b3c4d5e6f/mcp", true},
		{"/mcp/s/masked:1a2b3c4d5e6f/mcp", "/mcp/s//mcp", false},
		{"/mcp/s/masked:1a2b3c4d5e6f/mcp", "/mcp/s/NTM4ZDk2/sse", false},
		{"/mcp/s/masked:1a2b3c4d5e6f/mcp", "/mcp/s/a/b/mcp", false},
	} {
		if got := samePath(c.recorded, c.path); got != c.want {
			t.Errorf("%s for %s: %v", c.recorded, c.path, got)
		}
	}
}

// A web page from another machine cannot use a mock that listens on all addresses, although any
// address may belong to the mock.
func TestOriginsOfAnyAddress(t *testing.T) {
	s := NewServer(loaded(t, nil, replay.Options{}), ServerOptions{AnyAddress: true, Names: []string{"box.example"}})
	for _, c := range []struct {
		host, origin string
		foreign      bool
	}{
		{"192.168.1.5:8080", "http://192.168.1.5:8080", false}, {"192.168.1.5:8080", "http://192.168.1.6:8080", true},
		{"192.168.1.5:8080", "http://[2001:db8::1]", true}, {"192.168.1.5:8080", "http://localhost:6274", false},
		{"192.168.1.5:8080", "http://127.0.0.1:6274", false}, {"192.168.1.5:8080", "http://box.example", false},
		{"192.168.1.5:8080", "https://evil.example", true}, {"192.168.1.5:8080", "null", true},
	} {
		h := replay.Head{Host: c.host, Origin: c.origin, HasOrigin: true}
		if got := s.conditions(&h, &replay.Claim{})&replay.ForeignOrigin != 0; got != c.foreign {
			t.Errorf("a page of %s at %s is foreign: %v", c.origin, c.host, got)
		}
	}
}
