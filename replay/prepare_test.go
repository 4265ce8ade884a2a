package replay

import (
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// The id of a message is found where it stands, wherever that is, and of two the last.
func TestIDIn(t *testing.T) {
	for _, text := range []string{
		`{"id":1}`, ` {"result":{"id":2},"id" : "a" }`, "\xef\xbb\xbf{\"id\":1.0,\"result\":1}", `{"id":1,"id":2,"result":1}`, `{"id":null,"result":1}`,
		`{"id":{},"result":1}`, `{"\u0069d":7,"result":1}`, `{"result":1}`, `[]`, `{"id`, ``,
	} {
		frame := []byte("before" + text + "behind")
		raw := frame[6 : 6+len(text)]
		m := tap.Peek(raw)
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
