package replay

import (
	"fmt"
	"strings"
	"testing"
)

// TestLogLevel checks that a request gets only the log messages from its own logLevel on, unless the
// recorded server sent them without one.
func TestLogLevel(t *testing.T) {
	request := func(level string) string {
		if level != "" {
			level = `,"io.modelcontextprotocol/logLevel":"` + level + `"`
		}
		return `{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"` + level + `}}}`
	}
	for _, c := range []struct{ recorded, live, want string }{
		{"info", "info", "info error "}, {"info", "debug", "info error "}, {"info", "warning", "error "}, {"info", "", ""}, {"", "", "info error "}, {"error", "error", "info error "},
	} {
		p := newPlayer(t, script(t, lines(fmt.Sprintf(`>%s
{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}
{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":1}}
{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}
`, request(c.recorded))), Options{Pace: Instant}))
		p.send([]byte(request(c.live)))
		got := ""
		for _, out := range p.out {
			for _, level := range []string{"info", "error"} {
				if strings.Contains(string(out.Raw), `"`+level+`"`) {
					got += level + " "
				}
			}
		}
		if got != c.want || len(p.out) == 0 || !strings.Contains(string(p.out[len(p.out)-1].Raw), "complete") {
			t.Errorf("recorded with %q, requested with %q: %q, want %q", c.recorded, c.live, got, c.want)
		}
	}
}
