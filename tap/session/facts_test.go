package session

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// Sessions that identify themselves in each possible way. The tests of the tally use
// them too.
const (
	legacySession = `
		* {"event":"start"}
		> {"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"cli","title":"A <client>","version":"1.0"}},"jsonrpc":"2.0","id":0}
		< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
		< {"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"x":"<\u00e9>"},"serverInfo":{"name":"srv","version":"2.0"},"instructions":"i"},"jsonrpc":"2.0","id":0}
		> {"method":"notifications/initialized","jsonrpc":"2.0"}
		> {"method":"tools/call","params":{"name":"a"},"jsonrpc":"2.0","id":1}
		! log line
		< {"method":"roots/list","jsonrpc":"2.0","id":0}
		> {"result":{"roots":[]},"jsonrpc":"2.0","id":0}
		< {"result":{"content":[],"isError":true},"jsonrpc":"2.0","id":1}
		< {"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"x"}}
		< banner`
	legacyFacts = `{"era":"legacy","revision":"2025-06-18","requested":"2025-11-25",` +
		`"client":{"name":"cli","version":"1.0","title":"A \u003cclient\u003e"},"server":{"name":"srv","version":"2.0"},` +
		`"client_capabilities":{"roots":{"listChanged":true}}}`

	modernMeta    = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"cli","version":"3"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	modernSession = `
		> {"jsonrpc":"2.0","id":"probe-1","method":"server/discover","params":{` + modernMeta + `}}
		< {"jsonrpc":"2.0","id":"probe-1","result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"srv","version":"4"}}}}
		> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[]}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + modernMeta + `}}
		< {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","tools":[]}}`
	modernFacts = `{"era":"modern","revision":"2026-07-28","requested":"2026-07-28","client":{"name":"cli","version":"3"},` +
		`"server":{"name":"srv","version":"4"},"client_capabilities":{"elicitation":{}}}`

	// A server that lists another version, a client that never discovers, and a
	// serverInfo that comes late.
	retrySession = `
		> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01","io.modelcontextprotocol/clientInfo":{"name":"cli"}}}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"m","data":{"supported":["2026-07-28"]}}}
		> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol\/protocolVersion":"2026-07-28"}}}
		< {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}
		> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}
		< {"jsonrpc":"2.0","id":1,"result":{"tools":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"late"}}}}`
	retryFacts = `{"era":"modern","revision":"2026-07-28","requested":"2026-07-28","client":{"name":"cli"},"server":{"name":"late"}}`

	dualSession = `
		> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta + `}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}
		> {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"cli","version":"3"}}}
		< {"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"srv","version":"4"}}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/list","params":{` + modernMeta + `}}
		< {"jsonrpc":"2.0","id":3,"result":{"tools":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"other"}}}}`
	dualFacts = `{"era":"legacy","revision":"2025-11-25","requested":"2025-11-25","client":{"name":"cli","version":"3"},` +
		`"server":{"name":"srv","version":"4"},"client_capabilities":{}}`

	probeSession = `
		> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta + `}}`
	probeFacts = `{"requested":"2026-07-28","client":{"name":"cli","version":"3"},"client_capabilities":{"elicitation":{}},"probe":true}`
)

var factSessions = []struct{ name, text, want string }{
	{"legacy", legacySession, legacyFacts},
	{"modern", modernSession, modernFacts},
	{"modern, two servers behind one name", modernSession + `
		< {"jsonrpc":"2.0","id":9,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"other"}}}}`, modernFacts},
	{"modern without discover, refused once", retrySession, retryFacts},
	{"dual-era", dualSession, dualFacts},
	{"probe without an answer", probeSession, probeFacts},
	{"probe refused", probeSession + `
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, probeFacts},
	{"probe answered", probeSession + `
		< {"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}`,
		`{"era":"modern","revision":"2026-07-28","requested":"2026-07-28","client":{"name":"cli","version":"3"},"client_capabilities":{"elicitation":{}}}`},
	{"probe answered with other versions", probeSession + `
		< {"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2025-11-25"]}}`,
		`{"era":"modern","requested":"2026-07-28","client":{"name":"cli","version":"3"},"client_capabilities":{"elicitation":{}}}`},
	{"no probe: discover after a request", `
		> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
		> {"jsonrpc":"2.0","id":2,"method":"server/discover"}`, `{}`},
	{"no probe: discover again after an answer", probeSession + `
		< {"jsonrpc":"2.0","id":1,"result":{}}
		> {"jsonrpc":"2.0","id":2,"method":"server/discover"}`,
		`{"era":"modern","requested":"2026-07-28","client":{"name":"cli","version":"3"},"client_capabilities":{"elicitation":{}}}`},
	{"initialize without an answer", `
		> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
		`{"era":"legacy","requested":"2025-11-25"}`},
	{"initialize refused, then modern", `
		> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"m"}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + modernMeta + `}}
		< {"jsonrpc":"2.0","id":2,"result":{}}`,
		`{"era":"modern","revision":"2026-07-28","requested":"2026-07-28","client":{"name":"cli","version":"3"},"client_capabilities":{"elicitation":{}}}`},
	{"a probe refused late, its id used for initialize", probeSession + `
		> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}
		< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"srv"}}}`,
		`{"era":"legacy","revision":"2025-06-18","requested":"2025-11-25","client":{"name":"cli","version":"3"},"server":{"name":"srv"},"client_capabilities":{"elicitation":{}}}`},
	{"a probe answered late, its id used for initialize", probeSession + `
		> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
		< {"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}
		< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"srv"}}}`,
		`{"era":"legacy","revision":"2025-06-18","requested":"2025-11-25","client":{"name":"cli","version":"3"},"server":{"name":"srv"},"client_capabilities":{"elicitation":{}}}`},
	{"a probe without an answer, its id used for initialize", probeSession + `
		> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
		< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"srv"}}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}`,
		`{"era":"legacy","revision":"2025-06-18","requested":"2025-11-25","client":{"name":"cli","version":"3"},"server":{"name":"srv"},"client_capabilities":{"elicitation":{}}}`},
	{"the answer of another request", `
		> {"jsonrpc":"2.0","id":"1","method":"initialize","params":{"protocolVersion":"2025-11-25"}}
		< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"wrong"}}
		> {"jsonrpc":"2.0","id":"1","result":{"protocolVersion":"wrong"}}
		< {"jsonrpc":"2.0","id":"\u0031","result":{"protocolVersion":"2025-06-18"}}
		< {"jsonrpc":"2.0","id":"1","result":{"protocolVersion":"wrong"}}`,
		`{"era":"legacy","revision":"2025-06-18","requested":"2025-11-25"}`},
	{"neither", `
		> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"wrong","serverInfo":{"name":"wrong"}}}`, `{}`},
	{"dialect", `
		> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"mcpVersion":"2025-06-18","clientCapabilities":{"a":true}}}
		< {"jsonrpc":"2.0","id":1,"result":{"server":{"name":"s","version":"1"},"serverCapabilities":{"b":true}}}`,
		`{"era":"legacy","requested":"2025-06-18","server":{"name":"s","version":"1"},"client_capabilities":{"a":true},"dialect":"002"}`},
	{"in a batch", `
		> [{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}]
		< [{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26"}}]`,
		`{"era":"legacy","revision":"2025-03-26","requested":"2025-03-26"}`},
}

func TestFacts(t *testing.T) {
	for _, c := range factSessions {
		var x Facts
		var state finding
		for _, f := range transcript(t, c.text) {
			m := jsonrpc.Peek(f.Raw)
			x.learn(&state, f.Lane, &m)
		}
		if got := asJSON(t, x); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFactsBound(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	var x Facts
	var state finding
	for _, raw := range []string{
		`{"id":1,"method":"initialize","params":{"protocolVersion":"` + long + `","capabilities":{"a":"` + long + `"},"clientInfo":{"name":"` + long + `\ud800"}}}`,
		`{"id":"` + long + `","method":"server/discover"}`,
	} {
		m := jsonrpc.Peek([]byte(raw))
		x.learn(&state, tap.ToServer, &m)
	}
	if n := len(asJSON(t, x)) + len(state.initialize) + len(state.discover); n > 10<<10 {
		t.Errorf("%d bytes", n)
	}
	if x.ClientCapabilities != nil || len(x.Client.Name) != jsonrpc.MaxSubject {
		t.Errorf("%d bytes of name", len(x.Client.Name))
	}
}
