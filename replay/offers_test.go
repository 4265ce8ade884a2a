package replay

import (
	"strings"
	"testing"
)

// TestOffers checks that a generated server/discover offers what the recorded client used, also if
// each use failed, but not methods that the server did not have.
func TestOffers(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	p := newPlayer(t, script(t, lines(`>{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x:y",`+meta+`}}
{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Resource not found"}}
>{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"x",`+meta+`}}
{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}
`), Options{Pace: Instant}))
	p.send([]byte(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`))
	if len(p.out) != 1 || !strings.Contains(string(p.out[0].Raw), `"capabilities":{"resources":{}}`) {
		t.Errorf("%+v", p.out)
	}
}
