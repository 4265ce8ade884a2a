package replay

import (
	"bytes"
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// The id of a message is found where it stands, wherever that is, and of two the last.
func TestIDIn(t *testing.T) {
	for _, text := range []string{
		`{"id":1}`, ` {"result":{"id":2},"id" : "a" }`, "\xef\xbb\xbf{\"id\":1.0,\"result\":1}", `{"id":1,"id":2,"result":1}`, `{"id":null,"result":1}`,
		`{"id":{},"result":1}`, `{"\u0069d":7,"result":1}`, `{"result":1}`, `[]`, `{"id`, ``,
	} {
		frame := []byte("before" + text + "behind")
		raw := frame[6 : 6+len(text)]
		m := jsonrpc.Peek(raw)
		want, is := find(raw, begin(raw), "id")
		if got, ok := idIn(raw, &m); ok != is || got != want {
			t.Errorf("%s: %v, %v, want %v, %v", text, got, ok, want, is)
		}
		m.ID = []byte("1") // which is somewhere else
		if got, ok := idIn(raw, &m); ok != is || got != want {
			t.Errorf("%s, of a copy: %v, %v, want %v, %v", text, got, ok, want, is)
		}
	}
}

// Whatever is taken for a request has an id, which is found where it stands.
func TestRequestsHaveIDs(t *testing.T) {
	requests := 0
	p := NewBuilder(Options{}, nil).Preparer()
	for _, text := range []string{
		`{"id":1,"method":"a"}`, `{"method":"a","params":{"id":2},"id" : "a" }`, "\xef\xbb\xbf \t{\"id\":1.0,\"method\":\"a\"}\r\n",
		`{"id":1,"id":2,"method":"a"}`, `{"method":"a","id":1,"\u0069d":"\u0069"}`, `{"id":null,"method":"a"}`, `{"id":{},"method":"a"}`,
		`{"id":[1],"method":"a"}`, `{"id":true,"method":"a"}`, `{"id":"","method":"a"}`, `{"id":-1e5,"method":"a","id":{}}`, `{"method":"a"}`, `[{"id":1,"method":"a"}]`,
		`{"id":1,"method":"a","method":1}`, `{"id":1,"method":"a"} `, `{"id":1,"method":"a"`, `{"":1,"id":"\"","method":"id"}`,
	} {
		frame := tap.Frame{Lane: tap.ToServer, Raw: []byte(text)}
		m := jsonrpc.Peek(frame.Raw)
		x := p.Prepare(&frame, &m)
		if m.Kind != jsonrpc.Request {
			continue
		}
		requests++
		if !x.hasID || !bytes.Equal(x.id.of(frame.Raw), m.ID) || !bytes.Equal(frame.Raw[x.id.from:skipScalar(frame.Raw, x.id.from)], m.ID) {
			t.Errorf("%s: %v %v, want %s", text, x.id, x.hasID, m.ID)
		}
	}
	if requests < 8 {
		t.Errorf("%d requests", requests)
	}
}
