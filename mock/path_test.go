package mock

import "testing"

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
