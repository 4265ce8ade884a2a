package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/view"
)

// twoSessions returns an HTTP recording of two clients that use the same ids at the same time.
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

// In an HTTP recording heads have rows of their own, sessions have numbers, and the JSON
// of an event is indented.
func TestShowHTTP(t *testing.T) {
	path := twoSessions(t)
	for name, args := range map[string][]string{
		"http-frames": {path}, "http-all": {path, "--http"}, "http-head": {path, "26"}, "http-calls": {path, "--calls"}, "http-session": {path + "#2"},
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

// The summary of a session counts from its start, and its waiting times are those of the calls.
func TestShowHTTPWaits(t *testing.T) {
	a, out := testApp(nil)
	if code := a.run([]string{"show", filepath.Join("..", "..", "testdata", "http", "modern.txtar") + "#2"}); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	for _, want := range []string{"in 15.0ms", "unanswered: #12 tools/list (18.0ms), #26 tools/list (4.0ms)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

// hungUp is a call of 2026-07-28 that the client cancelled by hanging up.
const hungUp = `transport: http

-- lifecycle +1ms exchange=1 --
{"event":"request","conn":1,"method":"POST","target":"/mcp","header":[["MCP-Protocol-Version","2026-07-28"]]}
-- to_server +1ms exchange=1 form=body --
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
-- lifecycle +9ms exchange=1 --
{"event":"hang_up","by":"client"}
-- lifecycle +90ms exchange=1 --
{"event":"end","by":"client","error":"the client hung up before the response began"}
`

// A request that was cancelled by hanging up is not waiting.
func TestShowHungUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hung.txtar")
	if err := os.WriteFile(path, []byte(hungUp), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, filter := range []string{"is:pending", "is:cancelled"} {
		a, out := testApp(nil)
		if code := a.run([]string{"show", path, filter}); code != 0 || !strings.Contains(out.String(), "slow  cancelled  POST /mcp") || strings.Contains(out.String(), ">") {
			t.Errorf("%s: exit %d: %s", filter, code, out)
		}
	}
}

// streams imports a recording with the heads of its exchanges.
func streams(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "sessions", "streams", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return importFrom(t, f)
}

// Filters find calls and frames by their HTTP status and errors.
func TestFiltersOnHTTP(t *testing.T) {
	lost, ends := streams(t, "streams-2026-07-28-lost"), streams(t, "streams-2026-07-28")
	legacy, resumed := streams(t, "streams-2025-11-25-lost"), streams(t, "streams-2025-11-25")
	for _, c := range []struct {
		path, args string
		want       []uint64 // the first frame of each line
	}{
		{lost, "status:403", []uint64{26, 27, 28}},
		{lost, "exchange:4 kind:http_request,request,end", []uint64{23, 25, 28}},
		{lost, "--calls status:403", []uint64{25}},
		{lost, "--calls status:>=400", []uint64{19, 25, 33, 40}},
		{lost, "--calls is:pending", []uint64{5, 12}},
		{lost, "--calls is:error", []uint64{5, 12, 19, 25, 33, 40}},
		{lost, "is:pending", []uint64{5, 12}},
		{lost, "is:error kind:end", nil},
		{ends, "--calls is:cancelled", []uint64{11, 23}},
		{ends, "is:cancelled", []uint64{11, 23}},
		{ends, "is:error", nil},
		{legacy, "session:2", []uint64{36, 37, 38, 39, 40, 41}},
		{legacy, "--calls session:2", []uint64{38}},
		{resumed, "is:duplicate", []uint64{52}},
		{resumed, "is:error", []uint64{6}},
		{resumed, "status:401,405", []uint64{6, 7, 8, 33, 34, 35}},
	} {
		a, out := testApp(map[string]string{"COLUMNS": "200"})
		args := append([]string{"show", c.path, "--json"}, strings.Fields(c.args)...)
		if code := a.run(args); code != 0 && !(code == exitNegative && c.want == nil) {
			t.Errorf("%s: exit %d: %s", c.args, code, out)
		}
		var got []uint64
		for line := range strings.Lines(out.String()) {
			var j struct {
				Type string
				Seq  uint64
			}
			if json.Unmarshal([]byte(line), &j) == nil && (j.Type == "row" || j.Type == "call") {
				got = append(got, j.Seq)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.args, got, c.want)
		}
	}
}

// The errors that a listing counts are those of the tally, also on HTTP.
func TestErrorsAgree(t *testing.T) {
	for name, want := range map[string]uint64{
		"streams-2025-11-25": 1, "streams-2025-11-25-lost": 1, "streams-2026-07-28": 0, "streams-2026-07-28-lost": 5,
	} {
		rec, err := store.Open(streams(t, name))
		if err != nil {
			t.Fatal(err)
		}
		info, err := rec.Info()
		if err != nil {
			t.Fatal(err)
		}
		l := view.NewListing(view.Selection{Span: view.Whole}, view.Options{})
		for f, err := range rec.Frames(0) {
			if err != nil {
				t.Fatal(err)
			}
			l.Add(&f)
		}
		if n := l.Summary().Errors; info.Tally.Errors != want || n != want {
			t.Errorf("%s: the tally has %d errors, the listing %d, want %d", name, info.Tally.Errors, n, want)
		}
	}
}

// A call without a response shows that the client hung up, and when.
func TestShowClientHungUp(t *testing.T) {
	var frames []tap.Frame
	put := func(at time.Duration, exchange uint64, lane tap.Lane, form tap.Form, raw []byte) {
		frames = append(frames, tap.Frame{At: at, Exchange: exchange, Lane: lane, Form: form, Raw: raw})
	}
	for i, end := range []tap.Event{
		{Name: tap.EventEnd, By: "client", Error: "the client reset the connection"},
		{Name: tap.EventEnd, By: "server", HalfClosed: true},
		{Name: tap.EventEnd, By: "server"},
		{Name: tap.EventHangUp, By: "client"},
	} {
		n, at := uint64(i+1), time.Duration(i)*time.Minute
		put(at, n, tap.Lifecycle, tap.FormLine, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp"}.Encode())
		put(at, n, tap.ToServer, tap.FormBody, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"slow"}}`, n))
		put(at+10*time.Second, n, tap.Lifecycle, tap.FormLine, end.Encode())
	}
	put(4*time.Minute, 4, tap.ToClient, tap.FormBody, []byte(`{"jsonrpc":"2.0","id":4,"result":{}}`))
	// The client cancels a call whose stream, which could be resumed, has ended.
	put(5*time.Minute, 5, tap.Lifecycle, tap.FormLine, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp"}.Encode())
	put(5*time.Minute, 5, tap.ToServer, tap.FormBody, []byte(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"resumed"}}`))
	put(5*time.Minute, 5, tap.ToClient, tap.FormEvent, []byte("id: 1\ndata:\n\n"))
	put(5*time.Minute+10*time.Second, 5, tap.Lifecycle, tap.FormLine, tap.Event{Name: tap.EventEnd, By: "server"}.Encode())
	put(6*time.Minute, 6, tap.Lifecycle, tap.FormLine, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp"}.Encode())
	put(6*time.Minute, 6, tap.ToServer, tap.FormBody, []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`))
	path := record(t, frames)
	if text := strings.Join(showLines(t, path, "--calls", "resumed"), "\n"); !regexp.MustCompile(`⊘ cancelled .* resumed .*the stream ended without the response after 10\.0s, by the client`).MatchString(text) {
		t.Errorf("the stream that ended is not shown, or the call is not cancelled:\n%s", text)
	}
	if text := strings.Join(showLines(t, path, "--calls", "is:late"), "\n"); !regexp.MustCompile(`⊘ too late .* the client hung up after 10\.0s`).MatchString(text) {
		t.Errorf("the late response is not marked:\n%s", text)
	}
	for _, args := range [][]string{{"--calls"}, {}} {
		text := strings.Join(showLines(t, path, args...), "\n")
		for _, want := range []string{"the client reset the connection after 10.0s", "the client hung up after 10.0s", "the stream ended without the response after 10.0s"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing:\n%s", want, text)
			}
		}
	}
}

// A call without a JSON-RPC response shows why: the status and the body, or that the stream
// has ended. HTTP+SSE and streams that can be resumed are exceptions.
func TestShowHTTPWithoutResponse(t *testing.T) {
	const challenge = `Bearer error="invalid_token", error_description="The token expired"`
	for _, c := range []struct {
		name        string
		status      int
		media, body string
		header      [2]string
		call        string // the line of the call
		row         string // the line of is:error, "" for none
		one         string // a line of the request alone
		modern      bool
	}{
		{"a login page", 200, "text/html; charset=utf-8", "<html>login</html>\n", [2]string{},
			`✗ error +3\.0ms +t  HTTP 200 text/html, not JSON-RPC: <html>login</html> `, `^  4 .* body .*<html>login</html>  not JSON-RPC$`,
			`^response  HTTP 200 text/html, not JSON-RPC: <html>login</html>$`, false},
		{"in 2026-07-28", 200, "application/json", "{oops", [2]string{}, `✗ error .* HTTP 200 application/json, not JSON-RPC: {oops `,
			`^  4 .* body .*not JSON-RPC$`, `^HTTP 200 application/json, not JSON-RPC: {oops, its body in #4, 5 B$`, true},
		{"an empty body", 200, "application/json", "", [2]string{}, `✗ error .* HTTP 200 application/json, an empty body `, "",
			`^response  HTTP 200 application/json, an empty body$`, false},
		{"a stream without ids", 200, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n", [2]string{},
			`✗ lost +>3\.0ms .* the stream ended without the response after 3\.0ms `, "",
			`^response  none: the stream ended without the response after 3\.0ms$`, false},
		{"a stream with ids", 200, "text/event-stream", "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n", [2]string{},
			`… unanswered +>1h00m .* the stream ended without the response after 3\.0ms `, "", `^response  none, after 1h00m$`, false},
		{"a server error", 500, "text/plain", "Traceback: KeyError\n  File x.py\n", [2]string{},
			`✗ refused .* t  HTTP 500 Internal Server Error: Traceback: KeyError `,
			`http res +#2 .* t  500 Internal Server Error: Traceback: KeyError  POST /mcp · tools/call$`, `, its body in #4, 32 B$`, false},
		{"a reason in JSON", 401, "application/json", `{"error":"invalid_token","error_description":"The token expired"}`, [2]string{},
			`\? challenged .* HTTP 401 Unauthorized: The token expired, asks`, ` t  401 Unauthorized: The token expired `, "", false},
		{"a reason in the challenge", 401, "text/plain", "", [2]string{"WWW-Authenticate", challenge},
			`\? challenged .* HTTP 401 Unauthorized: The token expired, asks`, ` t  401 Unauthorized: Bearer `, "", false},
	} {
		request, form := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`, tap.FormBody
		if c.modern {
			request = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
		}
		if c.media == "text/event-stream" {
			form = tap.FormEvent
		}
		frames := []tap.Frame{
			{Lane: tap.Lifecycle, Exchange: 1, Raw: tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp"}.Encode()},
			{Lane: tap.ToServer, Exchange: 1, Form: tap.FormBody, Raw: []byte(request)},
			{Lane: tap.Lifecycle, Exchange: 1, Raw: tap.Event{Name: tap.EventResponse, Status: c.status, Reason: http.StatusText(c.status),
				Header: [][2]string{{"Content-Type", c.media}, c.header}}.Encode()},
		}
		if c.body != "" {
			frames = append(frames, tap.Frame{Lane: tap.ToClient, Exchange: 1, Form: form, Raw: []byte(c.body)})
		}
		frames = append(frames, tap.Frame{Lane: tap.Lifecycle, Exchange: 1, Raw: tap.Event{Name: tap.EventEnd, By: "server"}.Encode()},
			tap.Frame{Lane: tap.Lifecycle, Exchange: 2, At: time.Hour, Raw: tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/"}.Encode()})
		path := record(t, frames)
		find := func(pattern string, args ...string) {
			text := strings.Join(showLines(t, path, args...), "\n")
			if !regexp.MustCompile("(?m)" + pattern).MatchString(text) {
				t.Errorf("%s: %q is missing in %q:\n%s", c.name, pattern, args, text)
			}
		}
		find(c.call, "--calls")
		find(c.one, "2")
		if c.row != "" {
			find(c.row, "is:error")
		}
		if c.name != "a stream with ids" {
			find(c.call, "--calls", "is:error")
		}
		a, out := testApp(nil)
		if a.run([]string{"export", path, "--format", "mermaid"}); c.body != "" && strings.HasPrefix(c.call, "✗ error") && !strings.Contains(out.String(), "S--xC: 5 HTTP 200 ") {
			t.Errorf("%s: the diagram has no failure:\n%s", c.name, out)
		}
	}
}

// In HTTP+SSE the responses arrive on another exchange, whatever the body of a POST is.
func TestShowHTTPSSEBody(t *testing.T) {
	head := func(n uint64, method, target, media string) []tap.Frame {
		return []tap.Frame{
			{Lane: tap.Lifecycle, Exchange: n, Raw: tap.Event{Name: tap.EventRequest, Method: method, Target: target}.Encode()},
			{Lane: tap.Lifecycle, Exchange: n, Raw: tap.Event{Name: tap.EventResponse, Status: 200, Header: [][2]string{{"Content-Type", media}}}.Encode()},
		}
	}
	post := head(2, "POST", "/message?s=1", "text/plain")
	frames := slices.Concat(head(1, "GET", "/sse", "text/event-stream"), []tap.Frame{
		{Lane: tap.ToClient, Exchange: 1, Form: tap.FormEvent, Raw: []byte("event: endpoint\ndata: /message?s=1\n\n")},
		post[0],
		{Lane: tap.ToServer, Exchange: 2, Form: tap.FormBody, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)},
		post[1],
		{Lane: tap.ToClient, Exchange: 2, Form: tap.FormBody, Raw: []byte("Accepted")},
		{Lane: tap.Lifecycle, Exchange: 2, Raw: tap.Event{Name: tap.EventEnd, By: "server"}.Encode()},
	})
	path := record(t, frames)
	if text := strings.Join(showLines(t, path, "--calls"), "\n"); !strings.Contains(text, "… unanswered") {
		t.Errorf("the response may still arrive:\n%s", text)
	}
	if a, out := testApp(nil); a.run([]string{"show", path, "is:error"}) != exitNegative {
		t.Errorf("an error:\n%s", out)
	}
}

// A body that was cut off after complete JSON is not a complete response.
func TestShowBodyCutOff(t *testing.T) {
	for problem, want := range map[string]string{"the server hung up within the response": "✗ cut off", "": "✓ done"} {
		path := record(t, []tap.Frame{
			{Lane: tap.Lifecycle, Exchange: 1, Raw: tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp"}.Encode()},
			{Lane: tap.ToServer, Exchange: 1, Form: tap.FormBody, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cut"}}`)},
			{Lane: tap.Lifecycle, Exchange: 1, Raw: tap.Event{Name: tap.EventResponse, Status: 200}.Encode()},
			{Lane: tap.ToClient, Exchange: 1, Form: tap.FormBody, Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)},
			{Lane: tap.Lifecycle, Exchange: 1, Raw: tap.Event{Name: tap.EventEnd, By: "server", Error: problem}.Encode()},
		})
		a, out := testApp(nil)
		if code := a.run([]string{"show", path, "--calls"}); code != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("exit %d, want %q: %s", code, want, out)
		}
		for _, number := range []string{"2", "4"} {
			a, out := testApp(nil)
			if code := a.run([]string{"show", path, number}); code != 0 || strings.Contains(out.String(), "cut off   "+problem) != (problem != "") {
				t.Errorf("#%s: exit %d: %s", number, code, out)
			}
		}
	}
}

// If a WebSocket breaks off, only its last message is not a complete response.
func TestShowMessageCutOff(t *testing.T) {
	frame := func(lane tap.Lane, raw string) tap.Frame {
		return tap.Frame{Lane: lane, Exchange: 1, Form: tap.FormText, Raw: []byte(raw)}
	}
	for problem, want := range map[string]int{
		"the server hung up without a close frame; the last WebSocket message from the server is incomplete": 1,
		"the server hung up without a close frame":                                                           0,
	} {
		path := record(t, []tap.Frame{
			{Lane: tap.Lifecycle, Exchange: 1, Raw: tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/ws"}.Encode()},
			{Lane: tap.Lifecycle, Exchange: 1, Raw: tap.Event{Name: tap.EventResponse, Status: 101}.Encode()},
			frame(tap.ToServer, `{"jsonrpc":"2.0","id":1,"method":"ping"}`),
			frame(tap.ToServer, `{"jsonrpc":"2.0","id":2,"method":"ping"}`),
			frame(tap.ToClient, `{"jsonrpc":"2.0","id":1,"result":{}}`),
			frame(tap.ToClient, `{"jsonrpc":"2.0","id":2,"result":{}}`),
			{Lane: tap.Lifecycle, Exchange: 1, Raw: tap.Event{Name: tap.EventEnd, By: "server", Error: problem}.Encode()},
		})
		a, out := testApp(nil)
		if code := a.run([]string{"show", path, "--calls"}); code != 0 || strings.Count(out.String(), "✗ cut off") != want ||
			strings.Count(out.String(), "✓ done") != 2-want {
			t.Errorf("exit %d, want %d cut off: %s", code, want, out)
		}
	}
}

// Clients end GET streams, and those of cancelled requests, by closing them. No call is affected.
func TestShowClosedStreams(t *testing.T) {
	event := func(exchange uint64, e tap.Event) tap.Frame {
		return tap.Frame{Lane: tap.Lifecycle, Exchange: exchange, Raw: e.Encode()}
	}
	stream := tap.Event{Name: tap.EventResponse, Status: 200, Header: [][2]string{{"Content-Type", "text/event-stream"}}}
	closed := tap.Event{Name: tap.EventEnd, By: "client", HalfClosed: true, Error: "the client hung up within the response"}
	path := record(t, []tap.Frame{
		event(1, tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/mcp"}),
		event(1, stream),
		event(2, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp"}),
		{Lane: tap.ToServer, Exchange: 2, Form: tap.FormBody, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}`)},
		event(2, stream),
		event(3, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp"}),
		{Lane: tap.ToServer, Exchange: 3, Form: tap.FormBody, Raw: []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)},
		event(2, tap.Event{Name: tap.EventHangUp, By: "client"}),
		event(2, closed),
		event(1, tap.Event{Name: tap.EventHangUp, By: "client"}),
		event(1, closed),
	})
	calls := strings.Join(showLines(t, path, "--calls"), "\n")
	if !strings.Contains(calls, "⊘ cancelled") || strings.Contains(calls, "✗") || strings.Contains(calls, "hung up") {
		t.Errorf("calls:\n%s", calls)
	}
	all := strings.Join(showLines(t, path, "--http"), "\n")
	if strings.Contains(all, "no response yet") || strings.Contains(all, "within the response") || strings.Count(all, "by the client  ") != 2 {
		t.Errorf("frames:\n%s", all)
	}

	// A call that is due makes it a failure.
	path = record(t, []tap.Frame{
		event(1, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp"}),
		{Lane: tap.ToServer, Exchange: 1, Form: tap.FormBody, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}`)},
		event(1, stream),
		event(1, closed),
	})
	all = strings.Join(showLines(t, path, "--http"), "\n")
	if !strings.Contains(all, "the client hung up within the response") {
		t.Errorf("frames:\n%s", all)
	}
}

// A server may decline a GET, also with a JSON-RPC error.
func TestShowDeclinedStream(t *testing.T) {
	path := record(t, []tap.Frame{
		{Lane: tap.Lifecycle, Exchange: 1, Raw: tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/mcp"}.Encode()},
		{Lane: tap.Lifecycle, Exchange: 1, Raw: tap.Event{Name: tap.EventResponse, Status: 405}.Encode()},
		{Lane: tap.ToClient, Exchange: 1, Form: tap.FormBody, Raw: []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Method not allowed."}}`)},
		{Lane: tap.Lifecycle, Exchange: 1, Raw: tap.Event{Name: tap.EventEnd, By: "server"}.Encode()},
	})
	if calls := strings.Join(showLines(t, path, "--calls"), "\n"); strings.Contains(calls, "Method not allowed.") || !strings.Contains(calls, "GET /mcp 405") {
		t.Errorf("calls:\n%s", calls)
	}
	if all := strings.Join(showLines(t, path), "\n"); !strings.Contains(all, "Method not allowed.") || strings.Contains(all, "1 error") {
		t.Errorf("frames:\n%s", all)
	}
	if a, out := testApp(nil); a.run([]string{"show", path, "is:error"}) != exitNegative {
		t.Errorf("an error:\n%s", out)
	}
}

// The body of a 202 in HTTP+SSE, where no response is due, is hidden. That of a request that gets only
// a 202 is not.
func TestShowAcceptedBody(t *testing.T) {
	for target, hidden := range map[string]bool{"/message?s=1": true, "/mcp": false} {
		path := record(t, []tap.Frame{
			{Lane: tap.Lifecycle, Exchange: 1, Raw: tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/sse"}.Encode()},
			{Lane: tap.Lifecycle, Exchange: 1, Raw: tap.Event{Name: tap.EventResponse, Status: 200, Header: [][2]string{{"Content-Type", "text/event-stream"}}}.Encode()},
			{Lane: tap.ToClient, Exchange: 1, Form: tap.FormEvent, Raw: []byte("event: endpoint\ndata: /message?s=1\n\n")},
			{Lane: tap.Lifecycle, Exchange: 2, Raw: tap.Event{Name: tap.EventRequest, Method: "POST", Target: target, Header: [][2]string{{"Mcp-Session-Id", "x"}}}.Encode()},
			{Lane: tap.ToServer, Exchange: 2, Form: tap.FormBody, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)},
			{Lane: tap.Lifecycle, Exchange: 2, Raw: tap.Event{Name: tap.EventResponse, Status: 202}.Encode()},
			{Lane: tap.ToClient, Exchange: 2, Form: tap.FormBody, Raw: []byte("Accepted")},
			{Lane: tap.Lifecycle, Exchange: 2, Raw: tap.Event{Name: tap.EventEnd, By: "server"}.Encode()},
		})
		if text := strings.Join(showLines(t, path), "\n"); strings.Contains(text, "Accepted") == hidden {
			t.Errorf("POST %s: hidden must be %v:\n%s", target, hidden, text)
		}
		if text := strings.Join(showLines(t, path, "--http"), "\n"); !strings.Contains(text, "Accepted") {
			t.Errorf("POST %s with --http:\n%s", target, text)
		}
	}
}
