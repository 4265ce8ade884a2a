package session

import (
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// overHTTP converts a session of lines to HTTP: messages of the client to bodies, those
// of the server to events.
func overHTTP(frames []tap.Frame) []tap.Frame {
	var all []tap.Frame
	for _, f := range frames {
		line := strings.TrimRight(string(f.Raw), "\n")
		switch f.Lane {
		case tap.ToServer:
			f.Form, f.Raw = tap.FormBody, []byte(line)
		case tap.ToClient:
			f.Form, f.Raw = tap.FormEvent, []byte("event: message\ndata: "+line+"\n\n")
		}
		f.Size = int64(len(f.Raw))
		all = append(all, f)
	}
	return all
}

// A session reports the same facts over HTTP as on stdio.
func TestTallyOverHTTP(t *testing.T) {
	for _, c := range factSessions {
		lines := tallied(transcript(t, c.text))
		http := tallied(overHTTP(transcript(t, c.text)))
		if got := asJSON(t, http.Facts); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.name, got, c.want)
		}
		if http.Errors != lines.Errors || http.Invalid != lines.Invalid || http.Frames != lines.Frames {
			t.Errorf("%s: got %+v, want %+v", c.name, http, lines)
		}
	}
}

// An HTTP response that does not occur in a healthy conversation is an error, whether it
// carries a message or not.
func TestTallyCountsStatuses(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want uint64
	}{
		{string(tap.Event{Name: tap.EventResponse, Proto: "HTTP/1.1", Status: 200, Reason: "OK"}.Encode()), 0},
		{string(tap.Event{Name: tap.EventResponse, Status: 202}.Encode()), 0},
		{string(tap.Event{Name: tap.EventResponse, Status: 401, Header: [][2]string{{"WWW-Authenticate", "Bearer"}}}.Encode()), 1},
		{string(tap.Event{Name: tap.EventResponse, Status: 400}.Encode()), 1},
		{string(tap.Event{Name: tap.EventResponse, Status: 404}.Encode()), 1},
		{string(tap.Event{Name: tap.EventResponse, Status: 405}.Encode()), 1},
		{string(tap.Event{Name: tap.EventResponse, Status: 500}.Encode()), 1},
		{string(tap.Event{Name: tap.EventResponse, Status: 502, By: "tap"}.Encode()), 1},
		{"{ \"status\" : 503,\n\"event\":\"response\" }\n", 1},
		{`{"event":"request","status":500}`, 0},
		{`{"event":"request","header":[["x","\"event\":\"response\",\"status\":500"]]}`, 0},
		{`{"event":"response","header":[["status","500"]],"x":{"status":500}}`, 0},
		{`{"event":"response","status":"500"}`, 1}, // not an event
		{`{"event":"response","status":500`, 1},
		{`{"event":"response","status":99999999999999999999}`, 1},
		{"\"status\"", 1},
	} {
		var tally Tally
		tally.Add(&tap.Frame{Lane: tap.Lifecycle, Exchange: 1, Raw: []byte(c.raw)})
		if tally.Errors != c.want || tally.Invalid != 0 || tally.Frames[tap.Lifecycle] != 1 {
			t.Errorf("%s: %+v", c.raw, tally)
		}
	}
	looking := func(method string, status int) uint64 {
		var tally Tally
		head := tap.Event{Name: tap.EventRequest, Method: method, Target: "/mcp", Header: [][2]string{{"Accept", "text/event-stream"}}}
		for i, e := range []tap.Event{head, {Name: tap.EventResponse, Status: 103}, {Name: tap.EventResponse, Status: status}, {Name: tap.EventEnd}} {
			tally.Add(&tap.Frame{Seq: uint64(i + 1), Lane: tap.Lifecycle, Exchange: 7, Raw: e.Encode()})
		}
		return tally.Errors
	}
	for _, method := range []string{"GET", "DELETE", "HEAD", "OPTIONS"} {
		for status, want := range map[int]uint64{200: 0, 401: 0, 404: 0, 405: 0, 400: 1, 403: 1, 409: 1, 500: 1} {
			if got := looking(method, status); got != want {
				t.Errorf("%s is answered with %d: %d errors", method, status, got)
			}
		}
	}
	if looking("POST", 401) != 1 || looking("POST", 404) != 1 || looking("GETS", 405) != 1 {
		t.Error("what a POST is refused with")
	}
	var tally Tally
	tally.Add(&tap.Frame{Lane: tap.Stderr, Raw: tap.Event{Name: tap.EventResponse, Status: 500}.Encode()})
	if tally.Errors != 0 {
		t.Error("stderr has no responses")
	}
}

// The facts of a recording with several sessions are those of the first.
func TestTallyOfSeveralSessions(t *testing.T) {
	session := func(from uint64, text string) []tap.Frame {
		frames := overHTTP(transcript(t, text))
		for i := range frames {
			frames[i].Exchange = from + uint64(i)
		}
		return frames
	}
	other := `
		> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"second"}}}
		< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"second"}}}
		> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
		< {"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
		< {"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"m"}}`
	for name, first := range map[string]string{"legacy": legacySession, "modern": modernSession} {
		frames := session(1, first)
		alone := tallied(frames)
		both := tallied(append(frames, session(100, other)...))
		if got, want := asJSON(t, both.Facts), asJSON(t, alone.Facts); got != want {
			t.Errorf("%s\n got %s\nwant %s", name, got, want)
		}
		if both.Errors != alone.Errors+1 {
			t.Errorf("%s: %d errors, want %d", name, both.Errors, alone.Errors+1)
		}
	}
	// On stdio the same frames continue the only session.
	lines := tallied(append(transcript(t, legacySession), transcript(t, other)...))
	if lines.Facts.Client.Name != "second" {
		t.Errorf("%+v", lines.Facts)
	}
	// An initialize that was refused, for lack of authorization, is not a session.
	refused := tallied(append(session(1, `
		> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"first"}}}`),
		session(2, other)...))
	if refused.Facts.Client.Name != "second" || refused.Facts.Revision != "2024-11-05" {
		t.Errorf("%+v", refused.Facts)
	}
}
