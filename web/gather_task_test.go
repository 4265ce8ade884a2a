package web

import (
	"slices"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// TestStatusOfTask checks the status of a task that needs input, and then continues.
func TestStatusOfTask(t *testing.T) {
	m := &memory{key: "x"}
	for _, f := range []struct {
		lane tap.Lane
		text string
		want session.State // that of the call afterwards
	}{
		{tap.ToServer, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"book","task":{}}}`, ""},
		{tap.ToClient, `{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"k","status":"working"}}}`, "working"},
		{tap.ToServer, `{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"k"}}`, ""},
		{tap.ToClient, `{"jsonrpc":"2.0","id":2,"result":{"taskId":"k","status":"input_required"}}`, "needs input"},
		{tap.ToServer, `{"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"k"}}`, ""},
		{tap.ToClient, `{"jsonrpc":"2.0","id":3,"result":{"taskId":"k","status":"working"}}`, "working"},
	} {
		m.add(f.lane, f.text+"\n")
		g, err := newGatherer(viewOptions{}, &seen{})
		if err != nil {
			t.Fatal(err)
		}
		got := session.State("")
		for i := range m.frames {
			g.add(&m.frames[i])
		}
		_, updates := g.take(100)
		for _, u := range updates {
			if u.State != "" {
				got = u.State
			}
		}
		if f.want != "" && got != f.want {
			t.Errorf("after %s: %q, want %q", f.text, got, f.want)
		}
	}
}

// TestClientHangsUp checks that a call of the legacy era is no longer shown as waiting once its client has
// hung up, and that it shows this.
func TestClientHangsUp(t *testing.T) {
	g, err := newGatherer(viewOptions{}, &seen{})
	if err != nil {
		t.Fatal(err)
	}
	var ends []int64
	var errors []string
	for i, f := range []tap.Frame{
		{Raw: tap.Event{Name: tap.EventRequest, Conn: 1, Proto: "HTTP/1.1", Method: "POST", Target: "/mcp"}.Encode()},
		{Lane: tap.ToServer, Form: tap.FormBody, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}`)},
		{Raw: tap.Event{Name: tap.EventHangUp, By: "client"}.Encode()},
		{Raw: tap.Event{Name: tap.EventEnd, By: "client"}.Encode()},
	} {
		f.Seq, f.At, f.Size, f.Exchange = uint64(i+1), time.Duration(i), int64(len(f.Raw)), 1
		g.add(&f)
		_, updates := g.take(maxRows)
		for _, u := range updates {
			ends, errors = append(ends, u.End), append(errors, u.Error)
		}
	}
	if !slices.Equal(ends, []int64{2}) {
		t.Errorf("ends at %v", ends)
	}
	if want := []string{"the client hung up after " + view.Took(1)}; !slices.Equal(errors, want) {
		t.Errorf("errors %q, want %q", errors, want)
	}
	open := g.tracker.Open()
	if len(open) != 1 || open[0].Until(time.Hour) != 2 {
		t.Errorf("open: %v", open)
	}
}
