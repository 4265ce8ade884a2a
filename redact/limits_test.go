package redact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// More places than are remembered count as one, and no secret of them is left.
func TestMorePlacesThanAreRemembered(t *testing.T) {
	var list []tap.Frame
	for i := range MaxFindings + 20 {
		raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x","params":{"place%d":{"password":"planted%dx"}}}`, i, i, i)
		list = append(list, tap.Frame{Seq: uint64(i + 1), Lane: tap.ToServer, Raw: []byte(raw)})
	}
	r := New(testOptions())
	for i, out := range twice(r, list) {
		if strings.Contains(string(out), "planted") {
			t.Fatalf("frame %d: %s", i+1, out)
		}
	}
	found := r.Findings()
	if len(found) != MaxFindings+1 {
		t.Errorf("%d places", len(found))
	}
	for _, f := range found {
		if want := map[bool]uint64{false: 1, true: 20}[f.Where == "elsewhere"]; f.Times != want {
			t.Errorf("%+v, want %d", f, want)
		}
	}
}

// A value is known again whatever its letters are, if it cannot be a word.
func TestValuesThatAreKnownAgain(t *testing.T) {
	for value, known := range map[string]bool{
		"ABC123": true, "ABCD-EFG1": true, "abc123": true, "A1b2": false, "ABCDEF": false, "HUNTERS": false, "letmein": false,
		"123456": false, "ABCD+EFGH": true, "abcd-efgh": false, strings.Repeat("A", 20): true,
	} {
		list := []tap.Frame{
			{Seq: 1, Lane: tap.ToServer, Raw: []byte(call(`{"password":"` + value + `"}`))},
			{Seq: 2, Lane: tap.ToClient, Raw: []byte(answer(`{"type":"text","text":"it is ` + value + `, is it"}`))},
		}
		out := twice(New(testOptions()), list)
		if got := !strings.Contains(string(out[1]), value); got != known {
			t.Errorf("%s was found again: %v", value, got)
		}
		if strings.Contains(string(out[0]), value) {
			t.Errorf("%s is left", value)
		}
	}
}
