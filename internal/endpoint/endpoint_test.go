package endpoint

import (
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for raw, want := range map[string]string{
		"HTTPS://Example.com/mcp#x":       "https://Example.com/mcp",
		"http://bücher.example/ü?q=ä":     "http://xn--bcher-kva.example/%C3%BC?q=ä",
		"https://BÜCHER.example:8443/mcp": "https://xn--bcher-kva.example:8443/mcp",
		"http://例え.jp/":                   "http://xn--r8jz45g.jp/",
		"http://[fe80::1%25eth0]:80/":     "http://[fe80::1%25eth0]:80/",
		"http://xn--a\u0301\u00ad..ü/":    "the host is not a valid DNS name",
		"ws://x/":                         "the scheme is ws",
		"mcp.example.com":                 "neither http nor https",
		"http://a b/":                     "invalid server URL",
	} {
		u, err := ParseURL(raw)
		switch {
		case err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v", raw, err)
		case err == nil && u.String() != want:
			t.Errorf("%s: got %s, want %s", raw, u, want)
		}
	}
}
