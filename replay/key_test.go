package replay

import (
	"testing"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// What requests have the same key.
func TestKeys(t *testing.T) {
	meta := func(s string) string { return `{"method":"tools/call","id":1,"params":{"name":"a","_meta":` + s + `}}` }
	for _, c := range []struct {
		about, a, b string
		same        bool
	}{
		{"ids", `{"method":"a","id":1}`, `{"method":"a","id":"x"}`, true},
		{"methods", `{"method":"a","id":1}`, `{"method":"b","id":1}`, false},
		{"requests and notifications", `{"method":"a","id":1}`, `{"method":"a"}`, false},
		{"no params and empty ones", `{"method":"a","id":1}`, `{"method":"a","id":1,"params":{}}`, true},
		{"empty params and empty lists", `{"method":"a","id":1,"params":[]}`, `{"method":"a","id":1,"params":{}}`, false},
		{"params that are no object", `{"method":"a","id":1,"params":[1]}`, `{"method":"a","id":1,"params":[2]}`, false},
		{"absent and null", `{"method":"a","id":1,"params":{"x":null}}`, `{"method":"a","id":1,"params":{}}`, false},
		{"types", `{"method":"a","id":1,"params":{"x":1}}`, `{"method":"a","id":1,"params":{"x":"1"}}`, false},
		{"names and values", `{"method":"a","id":1,"params":{"x":"y","z":"w"}}`, `{"method":"a","id":1,"params":{"x":"z","y":"w"}}`, false},
		{"nesting", `{"method":"a","id":1,"params":{"x":[[1],2]}}`, `{"method":"a","id":1,"params":{"x":[1,[2]]}}`, false},
		{"large numbers", `{"method":"a","id":1,"params":{"x":9007199254740993}}`, `{"method":"a","id":1,"params":{"x":9007199254740992}}`, false},
		{"tokens", meta(`{"progressToken":1}`), meta(`{"progressToken":"x"}`), true},
		{"a token or none", meta(`{"progressToken":1}`), meta(`{}`), true},
		{"trace context", meta(`{"traceparent":"1","tracestate":"2","baggage":"3"}`), meta(`{}`), true},
		{"the client's own members", meta(`{"io.modelcontextprotocol/clientInfo":{"name":"x"},"io.modelcontextprotocol/protocolVersion":"1"}`),
			meta(`{"io.modelcontextprotocol/clientInfo":{"name":"y"},"io.modelcontextprotocol/protocolVersion":"2"}`), true},
		{"eras", meta(`{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`), meta(`{}`), false},
		{"somebody's own members", meta(`{"run":1,"progressToken":1}`), meta(`{"run":2}`), false},
		{"such members at other places", `{"method":"a","id":1,"params":{"x":{"progressToken":1}}}`, `{"method":"a","id":1,"params":{"x":{"progressToken":2}}}`, false},
		{"the ttl of a task", `{"method":"a","id":1,"params":{"task":{"ttl":1}}}`, `{"method":"a","id":1,"params":{"task":{"ttl":2}}}`, true},
		{"a task or none", `{"method":"a","id":1,"params":{"task":{"ttl":1}}}`, `{"method":"a","id":1}`, false},
		{"states", `{"method":"a","id":1,"params":{"requestState":"1"}}`, `{"method":"a","id":1,"params":{"requestState":"2"}}`, false},
		{"the handshake", `{"method":"initialize","id":1,"params":{"protocolVersion":"1","clientInfo":{"name":"x"}}}`, `{"method":"initialize","id":1,"params":{}}`, true},
		{"what the 002 dialect cancels", `{"method":"cancel","params":{"id":1}}`, `{"method":"cancel","params":{"id":2}}`, true},
	} {
		k := keyer{hasher: hasher{seeds: newSeeds()}}
		a, b := jsonrpc.Peek([]byte(c.a)), jsonrpc.Peek([]byte(c.b))
		if same := k.key(&a).exact == k.key(&b).exact; same != c.same {
			t.Errorf("%s: same is %v", c.about, same)
		}
		if len(k.buf) > 0 || len(k.members) > 0 {
			t.Errorf("%s: something is left", c.about)
		}
	}
}

// What else is read on the way.
func TestKeyed(t *testing.T) {
	m := jsonrpc.Peek([]byte(`{"method":"resources/read","id":1,"params":{"uri":"file:///x","requestState":"s",
		"_meta":{"progressToken":"a","progressToken":"b","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}}}`))
	k := keyer{hasher: hasher{seeds: newSeeds()}}
	x := k.key(&m)
	if string(x.subject) != `"file:///x"` || string(x.token) != `"b"` || !x.modern || string(x.version) != `"2026-07-28"` ||
		!x.chained || x.near == x.method {
		t.Errorf("%+v", x)
	}
}
