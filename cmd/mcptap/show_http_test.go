package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// twoSessions makes a recording of two clients that use the same ids at the same
// time, over HTTP.
func twoSessions(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "http"+store.Ext)
	w, err := store.NewWriter(path, tap.Header{ID: "00000007", Label: "web", Start: time.Unix(1e9, 0).UTC(), Transport: "http", Upstream: "http://localhost:3001"})
	if err != nil {
		t.Fatal(err)
	}
	seq := uint64(0)
	put := func(f tap.Frame, text string) {
		seq++
		f.Seq, f.At, f.Raw = seq, time.Duration(seq)*10*time.Millisecond, []byte(text)
		if err := w.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	event := func(exchange uint64, e tap.Event) { put(tap.Frame{Exchange: exchange}, string(e.Encode())) }
	exchange := uint64(0)
	post := func(conn uint64, id, body, answer string, status int) {
		exchange++
		header := [][2]string{{"Content-Type", "application/json"}}
		if id != "" {
			header = append(header, [2]string{"Mcp-Session-Id", id})
		}
		event(exchange, tap.Event{Name: tap.EventRequest, Conn: conn, Method: "POST", Target: "/mcp", Proto: "HTTP/1.1", Header: header})
		put(tap.Frame{Exchange: exchange, Lane: tap.ToServer, Form: tap.FormBody}, body)
		back := [][2]string{{"Content-Type", "text/event-stream"}, {"Mcp-Session-Id", fmt.Sprintf("s-%d", conn)}}
		event(exchange, tap.Event{Name: tap.EventResponse, Status: status, Proto: "HTTP/1.1", Header: back})
		if answer != "" {
			put(tap.Frame{Exchange: exchange, Lane: tap.ToClient, Form: tap.FormEvent}, "event: message\ndata: "+answer+"\n\n")
		}
		event(exchange, tap.Event{Name: tap.EventEnd, BytesUp: uint64(len(body)), BytesDown: uint64(len(answer)), By: "server"})
	}
	event(0, tap.Event{Name: tap.EventStart, Transport: "http", Listen: "127.0.0.1:4001", Upstream: "http://localhost:3001"})
	for conn := uint64(1); conn <= 2; conn++ {
		event(0, tap.Event{Name: tap.EventConnect, Conn: conn, Remote: fmt.Sprintf("127.0.0.1:5000%d", conn)})
		post(conn, "", fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"client%d","version":"1"}}}`, conn),
			`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"1"}}}`, 200)
	}
	for conn := uint64(1); conn <= 2; conn++ {
		post(conn, fmt.Sprintf("s-%d", conn), fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool%d"}}`, conn),
			`{"jsonrpc":"2.0","id":1,"result":{}}`, 200)
	}
	post(2, "s-2", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"gone"}}`, "", 404)
	if err := w.Close(store.End{At: time.Minute}); err != nil {
		t.Fatal(err)
	}
	return path
}

// An HTTP recording: heads have sensible rows, sessions are told apart, and what
// stands in an event is laid out.
func TestShowHTTP(t *testing.T) {
	path := twoSessions(t)
	for name, args := range map[string][]string{
		"http-frames": {path}, "http-calls": {path, "--calls"}, "http-session": {path + "#2"},
		"http-session-calls": {path + "#2", "--calls"}, "http-filter": {path, "session:1", "dir:to_client"},
		"http-status": {path, "status:404"}, "http-event": {path, "6"},
	} {
		a, out := testApp(map[string]string{"COLUMNS": "100"})
		if code := a.run(append([]string{"show"}, args...)); code != 0 {
			t.Errorf("%v: exit %d: %s", args, code, out)
		}
		golden(t, name+".txt", out.Bytes())
	}
	for arg, want := range map[string]string{path + "#3": "2 sessions, so there is no #3", path + "#0": "the number of a session"} {
		a, out := testApp(nil)
		if code := a.run([]string{"show", arg}); code != exitFailure || !strings.Contains(out.String(), want) {
			t.Errorf("%s: exit %d: %s", arg, code, out)
		}
	}
}

// Events of all names have words, whatever is missing in them.
func TestEventWords(t *testing.T) {
	code := 3
	for _, c := range []struct {
		e            tap.Event
		about, fault string
	}{
		{tap.Event{Name: tap.EventStart, Command: []string{"a", "b c"}}, "a b c", ""},
		{tap.Event{Name: tap.EventStart, Transport: "http", Listen: ":1", Upstream: "http://x"}, ":1 → http://x", ""},
		{tap.Event{Name: tap.EventSpawnFailed, Command: []string{"a"}, Error: "not found"}, "a", "not found"},
		{tap.Event{Name: tap.EventEOF, Lane: "to_client"}, "to_client", ""},
		{tap.Event{Name: tap.EventBroken, Lane: "to_client", Error: "EPIPE", Bytes: 2048}, "to_client", "EPIPE, 2 KiB not delivered"},
		{tap.Event{Name: tap.EventBroken, Lane: "to_client", Bytes: 1}, "to_client", "1 B not delivered"},
		{tap.Event{Name: tap.EventSignal, Signal: "SIGTERM"}, "SIGTERM", ""},
		{tap.Event{Name: tap.EventExit, Code: &code}, "", "code 3"},
		{tap.Event{Name: tap.EventExit, Signal: "SIGKILL", Code: &code}, "", "ended by SIGKILL"},
		{tap.Event{Name: tap.EventExit}, "", ""},
		{tap.Event{Name: tap.EventGap, From: 2, To: 3, Bytes: 5, Error: "disk full"}, "", "frames 2 to 3 are missing, 5 B crossed unrecorded, disk full"},
		{tap.Event{Name: tap.EventConnect, Remote: "1.2.3.4:5"}, "1.2.3.4:5", ""},
		{tap.Event{Name: tap.EventDisconnect, By: "client"}, "by the client", ""},
		{tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/x?y"}, "GET /x?y", ""},
		{tap.Event{Name: tap.EventResponse, Status: 202}, "202 Accepted", ""},
		{tap.Event{Name: tap.EventResponse, Status: 502, Reason: "Bad Gateway", By: "tap", Error: "refused"}, "", "502 Bad Gateway, by mcptap itself: refused"},
		{tap.Event{Name: tap.EventResponse, Status: 799}, "", "799"},
		{tap.Event{Name: tap.EventRewrite, What: "header Host", Before: "a", After: "b"}, "header Host: a → b", ""},
		{tap.Event{Name: tap.EventEnd, BytesUp: 1, FirstByte: time.Second, By: "server"}, "1 B up, 0 B down, first byte after 1.00s, by the server", ""},
		{tap.Event{Name: tap.EventEnd, Error: "cut off"}, "", "cut off"},
		{tap.Event{Name: "tomorrow", Error: "x"}, "text", "x"},
	} {
		if about, fault := eventWords(&c.e, "text"); about != c.about || fault != c.fault {
			t.Errorf("%+v: %q, %q", c.e, about, fault)
		}
	}
}
