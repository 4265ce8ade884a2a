package check

import (
	"slices"
	"testing"
)

// Accepted findings are recognized in another recording, with other frame numbers.
func TestBaseline(t *testing.T) {
	bad := `< {"jsonrpc":"2.0","id":7,"result":{}}` + "\n"
	first := run(t, Lookup("rpc-07"), "= D\n"+bad)
	encoded, err := Accept(first).Encode()
	if err != nil {
		t.Fatal(err)
	}
	b, err := ReadBaseline(encoded)
	if err != nil {
		t.Fatalf("%v\n%s", err, encoded)
	}
	later := run(t, Lookup("rpc-07"), "= D\n"+`> {"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"+bad)
	seen := map[Known]bool{}
	if n := b.Apply(later, seen); n != 1 || len(later.Findings) != 0 || len(b.Resolved(seen, map[string]bool{"rpc-07": true})) != 0 {
		t.Errorf("accepted %d, left %d findings, resolved %v", n, len(later.Findings), b.Resolved(seen, map[string]bool{"rpc-07": true}))
	}
	if gone := b.Resolved(nil, map[string]bool{"rpc-07": true}); !slices.Equal(gone, b.Findings) || len(gone) != 1 {
		t.Errorf("resolved %v of %v", gone, b.Findings)
	}
	if gone := b.Resolved(nil, nil); len(gone) != 0 {
		t.Errorf("resolved %v, which was not judged", gone)
	}
	other := run(t, Lookup("rpc-10"), "= D\n"+`> {"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"+`< {"jsonrpc":"2.0","id":1,"result":[]}`+"\n")
	if n := b.Apply(other, seen); n != 0 || len(other.Findings) != 1 {
		t.Errorf("accepted %d findings of another rule", n)
	}
}
