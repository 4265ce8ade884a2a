package replay

import (
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// Which requests have the same key.
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
		{"params that are not an object", `{"method":"a","id":1,"params":[1]}`, `{"method":"a","id":1,"params":[2]}`, false},
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
		{"custom members", meta(`{"run":1,"progressToken":1}`), meta(`{"run":2}`), false},
		{"such members at other places", `{"method":"a","id":1,"params":{"x":{"progressToken":1}}}`, `{"method":"a","id":1,"params":{"x":{"progressToken":2}}}`, false},
		{"the ttl of a task", `{"method":"a","id":1,"params":{"task":{"ttl":1}}}`, `{"method":"a","id":1,"params":{"task":{"ttl":2}}}`, true},
		{"a task or none", `{"method":"a","id":1,"params":{"task":{"ttl":1}}}`, `{"method":"a","id":1}`, false},
		{"states", `{"method":"a","id":1,"params":{"requestState":"1"}}`, `{"method":"a","id":1,"params":{"requestState":"2"}}`, false},
		{"the handshake", `{"method":"initialize","id":1,"params":{"protocolVersion":"1","clientInfo":{"name":"x"}}}`, `{"method":"initialize","id":1,"params":{}}`, true},
		{"the default mode of an elicitation", `{"method":"elicitation/create","id":1,"params":{"message":"?","mode":"form"}}`, `{"method":"elicitation/create","id":1,"params":{"message":"?"}}`, true},
		{"modes of elicitations", `{"method":"elicitation/create","id":1,"params":{"message":"?","mode":"url"}}`, `{"method":"elicitation/create","id":1,"params":{"message":"?"}}`, false},
		{"other modes", `{"method":"a","id":1,"params":{"mode":"form"}}`, `{"method":"a","id":1,"params":{}}`, false},
		{"what the 002 dialect cancels", `{"method":"cancel","params":{"id":1}}`, `{"method":"cancel","params":{"id":2}}`, true},
	} {
		var k keyer
		a, b := jsonrpc.Peek([]byte(c.a)), jsonrpc.Peek([]byte(c.b))
		if same := k.key(&a).exact == k.key(&b).exact; same != c.same {
			t.Errorf("%s: same is %v", c.about, same)
		}
	}
}

// The other values that the keyer reads.
func TestKeyed(t *testing.T) {
	m := jsonrpc.Peek([]byte(`{"method":"resources/read","id":1,"params":{"uri":"file:///x","requestState":"s",
		"_meta":{"progressToken":"a","progressToken":"b","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}}}`))
	var k keyer
	x := k.key(&m)
	if string(x.subject) != `"file:///x"` || string(x.token) != `"b"` || !x.modern || x.version != "2026-07-28" ||
		!x.chained || x.near() == newKey('a', m.Method, 0) {
		t.Errorf("%+v", x)
	}
}

// A message that is not JSON has a key too.
func TestKeyOfBroken(t *testing.T) {
	var k keyer
	m := jsonrpc.Message{Kind: jsonrpc.Invalid, Method: "a", Params: []byte(`{"name":"x`)}
	if x := k.key(&m); x.exact == 0 || x.subject != nil {
		t.Errorf("%+v", x)
	}
}

// Ignored members affect neither keys nor reported differences.
func TestIgnored(t *testing.T) {
	for _, c := range []struct {
		path, a, b string
		same       bool
	}{
		{`$.params.x`, `{"x":1,"y":1}`, `{"x":2,"y":1}`, true},
		{`$.params.x`, `{"x":1,"y":1}`, `{"y":1}`, true},
		{`$.params.x`, `{"x":1,"y":1}`, `{"x":1,"y":2}`, false},
		{`$.params.x`, `{"z":{"x":1}}`, `{"z":{"x":2}}`, false},
		{`$.params..x`, `{"z":{"x":1}}`, `{"z":{"x":2}}`, true},
		{`$.params.*.x`, `{"z":{"x":1}}`, `{"z":{"x":2}}`, true},
		{`$.params.z.x`, `{"z":{"x":1},"q":{"x":1}}`, `{"z":{"x":2},"q":{"x":1}}`, true},
		{`$.params.z.x`, `{"q":{"x":1}}`, `{"q":{"x":2}}`, false},
		{`$.params.l[*].id`, `{"l":[{"id":1},{"id":2}]}`, `{"l":[{"id":3},{}]}`, true},
		{`$.params.l[0]`, `{"l":[1,2]}`, `{"l":[9,2]}`, true},
		{`$.params.l[0]`, `{"l":[1,2]}`, `{"l":[1,9]}`, false},
		{`$.params.l[0]`, `{"l":[1,2]}`, `{"l":[2]}`, false},
		{`$.params.l[*]`, `{"l":[1,2]}`, `{"l":[3,4]}`, true},
		{`$.params.l[*]`, `{"l":[1,2]}`, `{"l":[3]}`, false},
		{`$.params["a.b"]["c/d"]`, `{"a.b":{"c/d":1}}`, `{"a.b":{"c/d":2}}`, true},
		{`$.params[""]`, `{"":1}`, `{"":2}`, true},
		{`$.params._meta.run`, `{"_meta":{"run":1}}`, `{}`, true},
		{`$.params._meta`, `{"_meta":{"run":1}}`, `{"_meta":2}`, true},
	} {
		p, err := ParsePath(c.path)
		if err != nil {
			t.Fatal(err)
		}
		k := newKeyer(&Options{Ignore: []Path{p}})
		a := &jsonrpc.Message{Kind: jsonrpc.Request, Method: "x", Params: []byte(c.a)}
		b := &jsonrpc.Message{Kind: jsonrpc.Request, Method: "x", Params: []byte(c.b)}
		if same := k.key(a).exact == k.key(b).exact; same != c.same {
			t.Errorf("%v: %s and %s: same is %v", p, c.a, c.b, same)
		}
		if _, n := differences(k.params(a), k.params(b), "params", 10); (n == 0) != c.same {
			t.Errorf("%v: %s and %s: %d differences", p, c.a, c.b, n)
		}
	}
}

func TestPaths(t *testing.T) {
	for text, want := range map[string]string{
		"$.params.arguments.now": "", `$.params.arguments["a.b"]`: "", "$.params[*].id": "", `$["params"].x`: "", "$.params.*.id": "$.params[*].id",
		"$.params.messages[0]": "", "$.params..id": "",
	} {
		if want == "" {
			want = text
		}
		p, err := ParsePath(text)
		if err != nil || p.String() != want {
			t.Errorf("%s: %v, %v, want %s", text, p, err, want)
		}
		if reparsed, err := ParsePath(p.String()); err != nil || reparsed.String() != want {
			t.Errorf("%s: read back as %v, %v", want, reparsed, err)
		}
	}
	for wrong, why := range map[string]string{
		"": "begins with $", "a..b": "begins with $", "arguments.now": "write $.params.arguments.now", "params.x": "write $.params.x",
		"/arguments/a.b": "such as $.params", "messages.*.id": "write $.params.messages[*].id",
		"$": "no step", "$.params": "below $.params", "$.result.x": "below $.params", "$.paramsx.y": "below $.params", "$..x": "below $.params",
	} {
		if p, err := ParsePath(wrong); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, %v, want %q", wrong, p, err, why)
		}
	}
}
