package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap/session"
)

// A call that gets no response, or one with another id, is wrong in all its topics.
func TestChecklistOfLostCalls(t *testing.T) {
	const start = "= D\n" + `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}` + "\n"
	for script, want := range map[string]string{
		start + `< {"jsonrpc":"2.0","id":"1","error":{"code":-32602,"message":"no such tool"}}` + "\n":                "errors (rpc-07), tools (rpc-07)",
		start + `< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such tool"}}` + "\n" + call(2) + stop: "errors (rpc-14), tools (rpc-14)",
		start + "+11s\n" + `< {"jsonrpc":"2.0","id":1,"result":{"content":[]}}` + "\n" + call(2) + stop:               "timeouts (rpc-14), tools (rpc-14)",
		start + `< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such tool"}}` + "\n" + stop:           "",
		"=1 D\n.3 POST /mcp\n" + `>3 {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t"}}` + "\n.3 200 sse\n" +
			`~3 data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}` + "\n.3 end\n": "tools (http-09)",
	} {
		var tracker session.Tracker
		c := New(Rules())
		for _, f := range frames(t, script) {
			c.Add(tracker.Add(&f))
		}
		var wrong []string
		for _, it := range c.Checklist(c.Report(tracker.Open())) {
			if it.State == "wrong" {
				wrong = append(wrong, it.Topic+" ("+strings.Join(it.Rules, " ")+")")
			}
		}
		if got := strings.Join(wrong, ", "); got != want {
			t.Errorf("got %q, want %q of\n%s", got, want, script)
		}
	}
}

// stop ends a session cleanly.
const stop = `. {"event":"eof","lane":"to_server"}
. {"event":"exit"}
`

func call(id int) string {
	return fmt.Sprintf(`> {"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"b"}}`+"\n", id)
}

// A request without a response does not count as seen.
func TestChecklistOfNoServer(t *testing.T) {
	const request = ".3 POST /mcp\n" + `>3 {"jsonrpc":"2.0","id":3,"method":"tools/list"}` + "\n"
	for script, want := range map[string]string{
		request + ".3 502\n.3 end\n": "not seen",
		request + ".3 200 json\n" + `<3 {"jsonrpc":"2.0","id":3,"result":{"tools":[]}}` + "\n.3 end\n": "right",
	} {
		var tracker session.Tracker
		c := New(Rules())
		for _, f := range frames(t, script) {
			c.Add(tracker.Add(&f))
		}
		for _, it := range c.Checklist(c.Report(tracker.Open())) {
			if it.Topic == "tools" && it.State != want {
				t.Errorf("%+v, want %s of\n%s", it, want, script)
			}
		}
	}
}
