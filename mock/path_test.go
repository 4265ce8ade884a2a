package mock

import (
	"net/url"
	"testing"

	"github.com/mcptap/mcptap/replay"
)

// A path that was recorded with a pseudonym in it stands for those of clients, which
// have the secret itself.
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

// A page of another machine may not use a mock that listens on all addresses, though any
// address may be the mock's.
func TestOriginsOfAnyAddress(t *testing.T) {
	s := &site{anyAddress: true, hosts: []string{"box.example"}}
	for _, c := range []struct {
		host, origin string
		foreign      bool
	}{
		{"192.168.1.5:8080", "http://192.168.1.5:8080", false}, {"192.168.1.5:8080", "http://192.168.1.6:8080", true},
		{"192.168.1.5:8080", "http://[2001:db8::1]", true}, {"192.168.1.5:8080", "http://localhost:6274", false},
		{"192.168.1.5:8080", "http://127.0.0.1:6274", false}, {"192.168.1.5:8080", "http://box.example", false},
		{"192.168.1.5:8080", "https://evil.example", true}, {"192.168.1.5:8080", "null", true},
	} {
		f := fields{host: c.host, origin: c.origin, hasOrigin: true}
		if got := s.circumstances(&f, &replay.Claim{})&foreignOrigin != 0; got != c.foreign {
			t.Errorf("a page of %s at %s is foreign: %v", c.origin, c.host, got)
		}
	}
}

// A page whose path was recorded with a pseudonym is found for any client.
func TestPagesWithPseudonyms(t *testing.T) {
	page := &fixed{}
	s := &site{pages: map[string]*fixed{"GET /.well-known/x/masked:1a2b3c4d5e6f?a=b": page}}
	for target, want := range map[string]*fixed{
		"/.well-known/x/8f14e45f?a=b": page, "/.well-known/x/masked:1a2b3c4d5e6f?a=b": page, "/.well-known/x/8f14e45f": nil, "/.well-known/y/8f14e45f?a=b": nil,
	} {
		u, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.recordedPage("GET", u); got != want {
			t.Errorf("%s: %v", target, got)
		}
		if s.recordedPage("POST", u) != nil {
			t.Errorf("POST %s is found", target)
		}
	}
}
