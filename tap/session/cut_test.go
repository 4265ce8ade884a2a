package session_test

import (
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// TestCutOff checks that a response within which the exchange ends is a failure in all
// numbers, although the call had ended before.
func TestCutOff(t *testing.T) {
	for _, c := range []struct {
		name, failure string
		form          tap.Form
		raw           string
		want          session.State
	}{
		{"a complete body", "", tap.FormBody, `{"jsonrpc":"2.0","id":1,"result":{}}`, session.StateDone},
		{"a body", "the server hung up within the response", tap.FormBody, `{"jsonrpc":"2.0","id":1,"result":{}}`, session.StateCutOff},
		{"an event without its blank line", tap.EndWithinEvent, tap.FormEvent, "data: " + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n", session.StateCutOff},
		{"after an event", "the server hung up within the response", tap.FormEvent, "data: " + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n\n", session.StateDone},
	} {
		stats := session.NewStats("", 5)
		meter := session.NewMeter(stats, 0)
		var tracker session.Tracker
		var call *session.Call
		for i, f := range []tap.Frame{
			{Raw: tap.Event{Name: tap.EventRequest, Conn: 1, Proto: "HTTP/1.1", Method: "POST", Target: "/mcp"}.Encode()},
			{Lane: tap.ToServer, Form: tap.FormBody, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f"}}`)},
			{Raw: tap.Event{Name: tap.EventResponse, Status: 200}.Encode()},
			{Lane: tap.ToClient, Form: c.form, Raw: []byte(c.raw)},
			{Raw: tap.Event{Name: tap.EventEnd, By: "server", Error: c.failure}.Encode()},
		} {
			f.Seq, f.Exchange = uint64(i+1), 1
			meter.Add(&f)
			e := tracker.Add(&f)
			for _, ended := range e.Ended {
				call = ended
			}
			if cut := len(e.CutOff) > 0; cut != (i == 4 && c.want == session.StateCutOff) {
				t.Errorf("%s: frame %d cuts off: %v", c.name, f.Seq, cut)
			}
		}
		meter.Finish(0)
		if got := call.State(true); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		failures := uint64(0)
		if c.want == session.StateCutOff {
			failures = 1
		}
		if g := stats.Groups(); len(g) != 1 || g[0].Statuses.Errors() != failures || g[0].Statuses.Calls() != 1 || stats.Slowest()[0].State != c.want {
			t.Errorf("%s: %+v, %+v", c.name, g, stats.Slowest())
		}
	}
}
