package web

import (
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/view"
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
		{tap.Event{Name: tap.EventResponse, Status: 405, Header: [][2]string{{"allow", "POST, DELETE"}}}, "", "405, only POST, DELETE"},
		{tap.Event{Name: tap.EventResponse, Status: 429, Header: [][2]string{{"Retry-After", "30"}}}, "", "429, again after 30"},
		{tap.Event{Name: tap.EventResponse, Status: 307, Header: [][2]string{{"Location", "/other"}}}, "307, /other", ""},
		{tap.Event{Name: tap.EventEnd, FirstByte: 1234567}, "first byte after 1.23ms", ""},
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

func TestEndedText(t *testing.T) {
	ended := func(notes tap.Notes, settled bool) view.Ended {
		return view.Ended{Call: tap.Ref{Seq: 7}, Notes: notes, Settled: settled}
	}
	for _, c := range []struct {
		calls []view.Ended
		want  string
	}{
		{nil, ""},
		{[]view.Ended{ended(0, true)}, ""},
		{[]view.Ended{ended(tap.NoteStreamEnded, true)}, ""},
		{[]view.Ended{ended(tap.NoteStreamEnded, false), ended(tap.NoteRefused, true)}, "#7 gets no answer, #7 is refused"},
		{[]view.Ended{ended(tap.NoteHungUp, false), ended(tap.NoteHungUp, false), ended(tap.NoteHungUp, false), ended(tap.NoteHungUp, false)},
			"#7 is cancelled, #7 is cancelled, #7 is cancelled, …"},
	} {
		if got := endedText(c.calls); got != c.want {
			t.Errorf("%v: %q", c.calls, got)
		}
	}
}

func TestOtherText(t *testing.T) {
	for _, c := range []struct {
		form             tap.Form
		raw, kind, about string
	}{
		{tap.FormEvent, "id: 0\ndata:\n\n", "priming", "no data, resume from id 0"},
		{tap.FormEvent, "id: a b\nretry: 500\ndata\n\n", "priming", "no data, resume from id a b, reconnect after 500 ms"},
		{tap.FormEvent, ": keep-alive\n\n", "comment", "keep-alive"},
		{tap.FormEvent, "retry: 3000\n\n", "event", "no data, reconnect after 3000 ms"},
		{tap.FormEvent, "id\n\n", "event", "no data"},
		{tap.FormEvent, "\n", "event", "no data"},
		{tap.FormEvent, "event: endpoint\ndata: /messages?session=1\n\n", "endpoint", "/messages?session=1"},
		{tap.FormEvent, "event: heartbeat\ndata: 17\n\n", "event", "heartbeat: 17"},
		{tap.FormBody, "no such session", "body", ""},
		{tap.FormPing, "", "ping", ""},
		{tap.FormPong, "x", "pong", ""},
		{tap.FormClose, "", "close", "without a status"},
		{tap.FormClose, "\x03\xe8bye", "close", "1000 bye"},
		{tap.FormBytes, "\x16\x03", "bytes", ""},
		{tap.FormLine, "x", "", ""},
		{tap.FormText, "x", "", ""},
	} {
		kind, about := otherText(&tap.Frame{Form: c.form, Raw: []byte(c.raw), Size: int64(len(c.raw))})
		if kind != c.kind || about != c.about {
			t.Errorf("%s %q: %q %q", c.form, c.raw, kind, about)
		}
	}
	// Of one that is too large for the list only the beginning is there.
	if kind, about := otherText(&tap.Frame{Form: tap.FormEvent, Raw: []byte("id: 0\ndata:"), Size: 1 << 20}); kind != "" || about != "" {
		t.Errorf("%q %q", kind, about)
	}
}
