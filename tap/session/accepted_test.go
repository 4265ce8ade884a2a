package session_test

import (
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// TestAccepted checks that a request that got only the status 202 has that as its reason.
func TestAccepted(t *testing.T) {
	var tracker session.Tracker
	for i, f := range []tap.Frame{
		{Raw: tap.Event{Name: tap.EventRequest, Conn: 1, Proto: "HTTP/1.1", Method: "POST", Target: "/mcp", Header: [][2]string{{"Mcp-Session-Id", "s"}}}.Encode()},
		{Lane: tap.ToServer, Form: tap.FormBody, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f"}}`)},
		{Raw: tap.Event{Name: tap.EventResponse, Status: 202}.Encode()},
		{Raw: tap.Event{Name: tap.EventEnd, By: "server"}.Encode()},
	} {
		f.Seq, f.Exchange = uint64(i+1), 1
		tracker.Add(&f)
	}
	open := tracker.Open()
	if len(open) != 1 || open[0].ErrorText != "HTTP 202 without a response" || open[0].State(false) != session.StatePending {
		t.Errorf("%+v", open)
	}
}
