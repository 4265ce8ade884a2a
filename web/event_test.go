package web

import (
	"testing"

	"github.com/mcptap/mcptap/tap"
)

func TestEventText(t *testing.T) {
	code := 3
	for _, c := range []struct {
		event        tap.Event
		about, fault string
	}{
		{tap.Event{Name: tap.EventStart, Command: []string{"npx", "server"}}, "npx server", ""},
		{tap.Event{Name: tap.EventStart, Listen: "127.0.0.1:9", Upstream: "http://a"}, "127.0.0.1:9 in front of http://a", ""},
		{tap.Event{Name: tap.EventExit, Code: &code}, "", "code 3"},
		{tap.Event{Name: tap.EventExit, Signal: "SIGKILL"}, "", "ended by SIGKILL"},
		{tap.Event{Name: tap.EventGap, From: 3, To: 9, Bytes: 12}, "", "frames 3 to 9 are missing, 12 bytes crossed unrecorded"},
		{tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp"}, "POST /mcp", ""},
		{tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/mcp", Header: [][2]string{{"last-event-id", "5"}}}, "GET /mcp, after 5", ""},
		{tap.Event{Name: tap.EventResponse, Status: 202, Reason: "Accepted"}, "202 Accepted", ""},
		{tap.Event{Name: tap.EventResponse, Status: 401, Reason: "Unauthorized", Header: [][2]string{{"WWW-Authenticate", "Bearer"}}}, "", "401 Unauthorized, Bearer"},
		{tap.Event{Name: tap.EventResponse, Status: 502, Reason: "Bad Gateway", By: "tap", Error: "refused"}, "", "502 Bad Gateway, by mcptap itself, refused"},
		{tap.Event{Name: tap.EventEnd}, "", ""},
		{tap.Event{Name: tap.EventEnd, BytesUp: 3, BytesDown: 40, By: "client"}, "3 bytes up, 40 down, by the client", ""},
		{tap.Event{Name: tap.EventEnd, By: "server", HalfClosed: true}, "after the client hung up", ""},
		{tap.Event{Name: tap.EventEnd, By: "server", Error: "reset"}, "by the server", "reset"},
		{tap.Event{Name: "of a newer program", Error: "something"}, "", "something"},
	} {
		if about, fault := eventText(&c.event); about != c.about || fault != c.fault {
			t.Errorf("%+v: %q and %q", c.event, about, fault)
		}
	}
}
