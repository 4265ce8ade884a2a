package web

import (
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// TestStatusOfTask checks the status of a task that needs input, and then continues.
func TestStatusOfTask(t *testing.T) {
	m := &memory{key: "x"}
	for _, f := range []struct {
		lane tap.Lane
		text string
		want string // the status of the call after it
	}{
		{tap.ToServer, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"book","task":{}}}`, ""},
		{tap.ToClient, `{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"k","status":"working"}}}`, "working"},
		{tap.ToServer, `{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"k"}}`, ""},
		{tap.ToClient, `{"jsonrpc":"2.0","id":2,"result":{"taskId":"k","status":"input_required"}}`, "input_required"},
		{tap.ToServer, `{"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"k"}}`, ""},
		{tap.ToClient, `{"jsonrpc":"2.0","id":3,"result":{"taskId":"k","status":"working"}}`, "working"},
	} {
		m.add(f.lane, f.text+"\n")
		g, err := newGatherer(viewOptions{}, &seen{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for i := range m.frames {
			g.add(&m.frames[i])
		}
		_, updates := g.take(100)
		for _, u := range updates {
			if u.Status != "" {
				got = u.Status
			}
		}
		if f.want != "" && got != f.want {
			t.Errorf("after %s: %q, want %q", f.text, got, f.want)
		}
	}
}
