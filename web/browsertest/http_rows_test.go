package browsertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// oddFrames is an HTTP recording with frames that are not messages: refusals, an accepted notification, a
// GET without a stream, events without data, WebSocket control frames, stderr.
func oddFrames() []tap.Frame {
	var all []tap.Frame
	add := func(exchange uint64, lane tap.Lane, form tap.Form, raw string) {
		all = append(all, tap.Frame{At: time.Duration(len(all)) * 7 * time.Millisecond, Lane: lane, Form: form, Exchange: exchange, Raw: []byte(raw)})
	}
	event := func(exchange uint64, e tap.Event) { add(exchange, tap.Lifecycle, tap.FormLine, string(e.Encode())) }
	ask := func(exchange uint64, method, target string) {
		event(exchange, tap.Event{Name: tap.EventRequest, Conn: 1, Proto: "HTTP/1.1", Method: method, Target: target})
	}
	respond := func(exchange uint64, status int, reason string, header ...[2]string) {
		event(exchange, tap.Event{Name: tap.EventResponse, Proto: "HTTP/1.1", Status: status, Reason: reason, Header: header})
	}
	event(0, tap.Event{Name: tap.EventStart, Transport: "http", Listen: "127.0.0.1:9000", Upstream: "http://127.0.0.1:3001"})
	ask(1, "POST", "/mcp")
	add(1, tap.ToServer, tap.FormBody, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"odd","version":"1"}}}`)
	respond(1, 401, "Unauthorized", [2]string{"WWW-Authenticate", `Bearer resource_metadata="http://127.0.0.1:3001/.well-known/oauth-protected-resource"`})
	event(1, tap.Event{Name: tap.EventEnd})
	ask(2, "POST", "/mcp")
	add(2, tap.ToServer, tap.FormBody, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	respond(2, 202, "Accepted")
	event(2, tap.Event{Name: tap.EventEnd})
	ask(3, "GET", "/mcp")
	respond(3, 405, "Method Not Allowed", [2]string{"Allow", "POST, DELETE"})
	add(3, tap.ToClient, tap.FormBody, "there is no stream here")
	ask(4, "GET", "/sse")
	respond(4, 200, "OK", [2]string{"Content-Type", "text/event-stream"})
	add(4, tap.ToClient, tap.FormEvent, "id: 17\nretry: 1500\ndata:\n\n")
	add(4, tap.ToClient, tap.FormEvent, ": still here\n\n")
	add(4, tap.ToClient, tap.FormEvent, "event: endpoint\ndata: /messages?session=5\n\n")
	add(4, tap.ToClient, tap.FormEvent, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
	ask(5, "GET", "/ws")
	respond(5, 101, "Switching Protocols", [2]string{"Upgrade", "websocket"})
	add(5, tap.ToServer, tap.FormText, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	add(5, tap.ToClient, tap.FormText, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	add(5, tap.ToClient, tap.FormPing, "")
	add(5, tap.ToServer, tap.FormPong, "")
	add(5, tap.ToServer, tap.FormBinary, "\x00\x01\x02")
	add(5, tap.ToClient, tap.FormClose, "\x03\xe8bye")
	event(4, tap.Event{Name: tap.EventHangUp, Conn: 1})
	event(5, tap.Event{Name: tap.EventEnd, BytesUp: 60, BytesDown: 70, By: "server"})
	return all
}

// TestHTTPRows checks the names of rows, including those that are not messages.
func TestHTTPRows(t *testing.T) {
	dir := t.TempDir()
	all := oddFrames()
	id := writeRecordingOf(t, dir, "odd", "http", func(i int) (tap.Frame, bool) {
		if i >= len(all) {
			return tap.Frame{}, false
		}
		return all[i], true
	})
	base, _ := startWeb(t, dir)
	p := newTab(t, at(t, base, "/r/"+id+"?v=frames"), 1280, 980, false)
	rows := p.read()
	for _, never := range []string{"SSE priming", "SSE comment", "pong", "202 Accepted"} {
		if strings.Contains(rows, never) {
			t.Errorf("%q is among the frames:\n%s", never, rows)
		}
	}
	if !strings.Contains(rows, "401 Unauthorized") {
		t.Errorf("a failure is hidden:\n%s", rows)
	}
	shown := eval[int](p, "Number(document.querySelector('.scroller').getAttribute('aria-rowcount'))") - 1
	if got, want := p.text(".foot"), fmt.Sprintf("%d HTTP frames are hidden", len(all)-shown); !strings.Contains(got, want) {
		t.Errorf("the foot does not contain %q: %s", want, got)
	}
	p.click(".toggle")
	p.wait("/SSE priming/.test(document.querySelector('.pad').innerText) && !/hidden/.test(document.querySelector('.foot').innerText)")
	p.wait("new URLSearchParams(location.search).get('http') === '1'")
	// Matches of a filter are always shown.
	p.keys("h")
	p.wait("/hidden/.test(document.querySelector('.foot').innerText) && !new URLSearchParams(location.search).has('http')")
	p.find("kind:priming")
	p.wait("/SSE priming/.test(document.querySelector('.pad').innerText) && !/hidden/.test(document.querySelector('.foot').innerText)")

	p.do(navigate(at(t, base, "/r/"+id+"?v=frames&http=1")))
	rows = p.read()
	for _, want := range []string{
		"401 Unauthorized: Bearer resource_metadata=", "POST /mcp 202 Accepted HTTP response", "GET /mcp 405 Method Not Allowed: only POST, DELETE HTTP response",
		"there is no stream here HTTP body", "no data, resume from id 17, reconnect after 1500 ms SSE priming", "still here SSE comment",
		"/messages?session=5 SSE endpoint", "WS ping", "WS pong", "hang up", "1000 normal closure: bye WS close", "101 Switching Protocols",
	} {
		if !strings.Contains(rows, want) {
			t.Errorf("no %q in\n%s", want, rows)
		}
	}
	p.picture("http-rows")
	p.do(navigate(at(t, base, "/r/"+id)))
	rows = p.read()
	for _, never := range []string{"SSE priming", "SSE comment", "pong", "HTTP request"} {
		if strings.Contains(rows, never) {
			t.Errorf("%q is among the calls:\n%s", never, rows)
		}
	}
	// The lines are those of `mcptap show --calls`, except a notification that is folded.
	if got := strings.Fields(p.text(".pad > .row .no")); strings.Join(got, " ") != "1 3 11 14 18 21 25" {
		t.Errorf("the calls have the frames %s:\n%s", got, rows)
	}
	p.picture("http-rows-calls")
	p.do(navigate(at(t, base, "/r/"+id+"?v=frames&f=15")))
	p.wait("/#15 SSE priming/.test(document.querySelector('.card h3')?.innerText)")
	p.do(navigate(at(t, base, "/r/"+id+"?v=sequence")))
	p.wait("document.querySelector('.row.step')")
	p.read()
	p.picture("http-rows-sequence")
}
