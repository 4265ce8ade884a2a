package record

import (
	"net/url"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/streamable"
)

// A credential in the URL of the server is masked wherever the server repeats it.
func TestMaskOfURL(t *testing.T) {
	const key = "q7Zx9Lm2Vb4Tn8"
	at, err := url.Parse("http://127.0.0.1:1/mcp?api_key=" + key)
	if err != nil {
		t.Fatal(err)
	}
	added := []tap.Frame{
		{Lane: tap.ToServer, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")},
		{Lane: tap.ToClient, Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{"at":"` + at.String() + `"}}` + "\n")},
	}
	s := Server{Tap: streamable.Config{Upstream: at}}
	s.mask(added)
	if string(added[0].Raw) != `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n" {
		t.Errorf("changed: %s", added[0].Raw)
	}
	if got := string(added[1].Raw); strings.Contains(got, key) || !strings.Contains(got, "masked:") {
		t.Errorf("recorded: %s", got)
	}
}
