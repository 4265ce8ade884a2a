package view

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// Events of all names have words, whatever is missing in them.
func TestEventWords(t *testing.T) {
	ok, code := 0, 3
	head := func(fields ...string) (h [][2]string) {
		for f := range slices.Chunk(fields, 2) {
			h = append(h, [2]string{f[0], f[1]})
		}
		return h
	}
	for _, c := range []struct {
		e            tap.Event
		about, fault string
	}{
		{tap.Event{Name: tap.EventStart, Command: []string{"a", "b c"}}, "a b c", ""},
		{tap.Event{Name: tap.EventStart, Transport: "http", Listen: ":1", Upstream: "http://x"}, ":1 → http://x", ""},
		{tap.Event{Name: tap.EventSpawnFailed, Command: []string{"a"}, Error: "not found"}, "a", "not found"},
		{tap.Event{Name: tap.EventEOF, Lane: "to_client"}, "server to client", ""},
		{tap.Event{Name: tap.EventEOF, Lane: "stderr", Error: "EIO"}, "stderr", "EIO"},
		{tap.Event{Name: tap.EventBroken, Lane: "to_server", Error: "EPIPE", Bytes: 2048}, "client to server", "EPIPE, 2 KiB not delivered"},
		{tap.Event{Name: tap.EventBroken, Lane: "to_client", Bytes: 1}, "server to client", "1 B not delivered"},
		{tap.Event{Name: tap.EventSignal, Signal: "SIGTERM"}, "SIGTERM", ""},
		{tap.Event{Name: tap.EventExit, Code: &ok}, "code 0", ""},
		{tap.Event{Name: tap.EventExit, Code: &code}, "", "code 3"},
		{tap.Event{Name: tap.EventExit, Signal: "SIGKILL", Code: &code}, "", "ended by SIGKILL"},
		{tap.Event{Name: tap.EventExit}, "", ""},
		{tap.Event{Name: tap.EventGap, From: 2, To: 3, Bytes: 5, Error: "disk full"}, "", "frames 2 to 3 are missing, 5 B crossed unrecorded, disk full"},
		{tap.Event{Name: tap.EventGap, Bytes: 1<<64 - 1}, "", "16777216 TiB crossed unrecorded"},

		{tap.Event{Name: tap.EventConnect, Remote: "1.2.3.4:5"}, "1.2.3.4:5", ""},
		{tap.Event{Name: tap.EventDisconnect, By: "client"}, "by the client", ""},
		{tap.Event{Name: tap.EventDisconnect, By: "tap", Error: "stopped"}, "", "by the tap, stopped"},
		{tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/x?y"}, "GET /x?y", ""},
		{tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/mcp", Header: head("last-event-id", "5")}, "GET /mcp, after 5", ""},
		{tap.Event{Name: tap.EventRequest, Error: "no HTTP"}, "", "no HTTP"},
		{tap.Event{Name: tap.EventRewrite, What: "header Host", Before: "a", After: "b"}, "header Host: a → b", ""},

		{tap.Event{Name: tap.EventResponse, Status: 202}, "202 Accepted", ""},
		{tap.Event{Name: tap.EventResponse, Status: 200, Reason: "Fine"}, "200 Fine", ""},
		{tap.Event{Name: tap.EventResponse, Status: 799}, "", "799"},
		{tap.Event{Name: tap.EventResponse, Status: 307, Header: head("Location", "/other")}, "307 Temporary Redirect: /other", ""},
		{tap.Event{Name: tap.EventResponse, Status: 401, Header: head("WWW-Authenticate", "Bearer")}, "", "401 Unauthorized: Bearer"},
		{tap.Event{Name: tap.EventResponse, Status: 405, Header: head("allow", "POST, DELETE")}, "", "405 Method Not Allowed: only POST, DELETE"},
		{tap.Event{Name: tap.EventResponse, Status: 429, Header: head("Retry-After", "30")}, "", "429 Too Many Requests: retry after 30 s"},
		{tap.Event{Name: tap.EventResponse, Status: 503, Header: head("Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT")}, "",
			"503 Service Unavailable: retry after Fri, 31 Dec 1999 23:59:59 GMT"},
		{tap.Event{Name: tap.EventResponse, Status: 503}, "", "503 Service Unavailable"},
		{tap.Event{Name: tap.EventResponse, Status: 502, Reason: "Bad Gateway", By: "tap", Error: "refused"}, "", "502 Bad Gateway, by the tap: refused"},

		{tap.Event{Name: tap.EventEnd}, "", ""},
		{tap.Event{Name: tap.EventEnd, BytesUp: 1, FirstByte: time.Second, By: "server"}, "1 B up, 0 B down, first byte after 1.00s, by the server", ""},
		{tap.Event{Name: tap.EventEnd, BytesUp: 1, By: "server", HalfClosed: true}, "after the client hung up, 1 B up, 0 B down", ""},
		{tap.Event{Name: tap.EventEnd, Error: "the server reset it", BytesDown: 2048, By: "server"}, "0 B up, 2 KiB down", "the server reset it"},
		{tap.Event{Name: tap.EventEnd, FirstByte: -1 << 63, BytesUp: 1<<64 - 1}, "16777216 TiB up, 0 B down", ""},
		{tap.Event{Name: "tomorrow", Error: "x"}, "", "x"},
	} {
		if about, fault := EventWords(&c.e); about != c.about || fault != c.fault {
			t.Errorf("%+v: %q, %q", c.e, about, fault)
		}
	}
}

// The row of an event begins with its effect on calls and streams, if it is a failure.
func TestEventLines(t *testing.T) {
	cut := []*session.Call{{Ref: session.Ref{Seq: 7}, Notes: session.NoteHungUp, Status: session.CallCancelled}}
	for _, c := range []struct {
		event        string
		failed       bool
		resumes      uint64
		ended        []*session.Call
		about, fault string
	}{
		{`{"event":"request","method":"GET","target":"/mcp","header":[["Last-Event-ID","5"]]}`, false, 9, nil,
			"GET /mcp, after 5, continues the stream of #9", ""},
		{`{"event":"response","status":401,"header":[["WWW-Authenticate","Bearer"]]}`, false, 0, nil, "401 Unauthorized: Bearer", ""},
		{`{"event":"response","status":404}`, true, 0, nil, "", "404 Not Found"},
		{`{"event":"end","bytes_down":3,"by":"client"}`, false, 0, cut, "#7 is cancelled, 0 B up, 3 B down, by the client", ""},
		{`{"event":"end","bytes_down":3,"error":"the server reset it"}`, true, 0, nil, "", "the server reset it"},
		{`{"event":"end","bytes_down":3,"error":"the server reset it"}`, true, 0, cut, "", "the server reset it, #7 is cancelled"},
		{`{"event":"spawn_failed","command":["a"],"error":"not found"}`, true, 0, nil, "a", "not found"},
		{`{"event":"tomorrow"}`, false, 0, nil, `{"event":"tomorrow"}`, ""},
		{`{"event":"tomorrow","error":"bad"}`, true, 0, nil, `{"event":"tomorrow","error":"bad"}`, "bad"},
	} {
		e, err := tap.ParseEvent([]byte(c.event))
		if err != nil {
			t.Fatal(err)
		}
		r := &session.Entry{Frame: &tap.Frame{Raw: []byte(c.event)}, Event: e, Failed: c.failed, Resumes: c.resumes, Ended: c.ended}
		if l := NewRow(r); l.Kind != e.Name || l.About != c.about || l.Fault != c.fault {
			t.Errorf("%s: %q, %q", c.event, l.About, l.Fault)
		}
	}
}

// The effect of the end of an exchange on calls is described with at most a few
// of them.
func TestEndedWords(t *testing.T) {
	call := func(seq uint64, notes session.Notes, settled bool) Ended {
		return Ended{Call: session.Ref{Seq: seq}, Notes: notes, Settled: settled}
	}
	for _, c := range []struct {
		calls []Ended
		want  string
	}{
		{nil, ""},
		{[]Ended{call(3, 0, true), call(3, session.NoteLetGo, false)}, ""},
		{[]Ended{call(3, session.NoteHungUp, true)}, "#3 is cancelled"},
		{[]Ended{call(3, session.NoteStreamEnded, false), call(4, session.NoteRefused, true)}, "#3 gets no response, #4 is refused"},
		{[]Ended{call(3, session.NoteStreamEnded, true)}, ""},
		{slices.Repeat([]Ended{call(3, session.NoteHungUp, true)}, 3), "#3 is cancelled, #3 is cancelled, #3 is cancelled"},
		{slices.Repeat([]Ended{call(3, session.NoteHungUp, true)}, 9), "#3 is cancelled, #3 is cancelled, #3 is cancelled, …"},
	} {
		if got := endedWords(c.calls); got != c.want {
			t.Errorf("%+v: %q, want %q", c.calls, got, c.want)
		}
	}
}

// A frame that carries no message has a name, and a description if its payload does not
// show it.
func TestOtherWords(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for _, c := range []struct {
		form             tap.Form
		raw, sort, about string
	}{
		{tap.FormEvent, "id: 0\ndata:\n\n", "priming", "no data, resume from id 0"},
		{tap.FormEvent, "id: a b\nretry: 500\ndata\n\n", "priming", "no data, resume from id a b, reconnect after 500 ms"},
		{tap.FormEvent, ": keep-alive\n\n", "comment", "keep-alive"},
		{tap.FormEvent, ":\nretry: 7\n\n", "comment", "reconnect after 7 ms"},
		{tap.FormEvent, "retry: 3000\n\n", "event", "no data, reconnect after 3000 ms"},
		{tap.FormEvent, "id\n\n", "event", "no data"},
		{tap.FormEvent, "\n", "event", "no data"},
		{tap.FormEvent, "event: tick\n\n", "event", "no data, tick"},
		{tap.FormEvent, "event: endpoint\ndata: /messages?session=1\n\n", "endpoint", "/messages?session=1"},
		{tap.FormEvent, "event: heartbeat\ndata: 17\n\n", "event", "heartbeat: 17"},
		{tap.FormBody, "no such session", "body", ""},
		{tap.FormPing, "", "ping", ""},
		{tap.FormPong, "x", "pong", ""},
		{tap.FormClose, "", "close", "without a status"},
		{tap.FormClose, "\x03", "close", "without a status"},
		{tap.FormClose, "\x03\xe8bye", "close", "1000 normal closure: bye"},
		{tap.FormClose, "\x03\xe9", "close", "1001 going away"},
		{tap.FormClose, "\x0f\xa0own", "close", "4000: own"},
		{tap.FormBytes, "\x16\x03", "bytes", ""},
		{tap.FormLine, "x", "", ""},
		{tap.FormText, "x", "", ""},
		// A row has only the beginning of long texts.
		{tap.FormEvent, "data: " + long + "\n\n", "event", long[:maxBeginning]},
		{tap.FormEvent, "id: " + long + "\n\n", "priming", "no data, resume from id " + long[:maxBeginning-24]},
		{tap.FormEvent, "event: " + long + "\ndata: 1\n\n", "event", long[:maxBeginning]},
	} {
		sort, about := OtherWords(&tap.Frame{Form: c.form, Raw: []byte(c.raw), Size: int64(len(c.raw))})
		if sort != c.sort || about != c.about {
			t.Errorf("%s %.40q: %s %.60q", c.form, c.raw, sort, about)
		}
	}
	// Only the beginning of a large frame is loaded.
	if sort, about := OtherWords(&tap.Frame{Form: tap.FormEvent, Raw: []byte("id: 0\ndata:"), Size: 1 << 20}); sort != "" || about != "" {
		t.Errorf("%q %q", sort, about)
	}
}

func TestUnits(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 10 << 10: "10 KiB", 1<<20 - 1: "1 MiB",
		64 << 20: "64 MiB", 5<<30 + 1<<29: "5.5 GiB", 3 << 40: "3 TiB",
	} {
		if got := Size(n); got != want || Size(int64(n)) != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0µs", 85 * time.Microsecond: "85µs", 999900: "1.0ms", 1234 * time.Microsecond: "1.2ms", 99960 * time.Microsecond: "100ms",
		999600 * time.Microsecond: "1.00s", 9996 * time.Millisecond: "10.0s", 59960 * time.Millisecond: "1m00s",
		65 * time.Second: "1m05s", 2*time.Hour + 3*time.Minute: "2h03m", 76 * time.Hour: "3d04h", -time.Second: "-1.00s",
		-1 << 63: "-106751d23h",
	} {
		if got := Took(d); got != want {
			t.Errorf("Took(%d) = %q, want %q", d, got, want)
		}
	}
}

// Only what an SDK writes before the cause is left out, and not if nothing follows.
func TestCause(t *testing.T) {
	for text, want := range map[string]string{
		"MCP error -32602: Input validation error: Invalid arguments for tool f: expected number": "expected number",
		"-32602 MCP error -32602: Resource not found":                                             "-32602 Resource not found",
		"by the client: McpError: MCP error -32001: Request timed out":                            "by the client: Request timed out",
		"✗ failed 2ms  Error executing tool f: no such city":                                      "✗ failed 2ms  no such city",
		"The docs say: 'MCP error -32602: ' prefixes are added. Error executing tool names: no":   "The docs say: 'MCP error -32602: ' prefixes are added. Error executing tool names: no",
		"MCP error -32602: ": "MCP error -32602: ",
		"plain":              "plain",
		"":                   "",
	} {
		if got := Cause(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
