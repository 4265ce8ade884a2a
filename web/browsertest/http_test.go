package browsertest

import (
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// httpFrames is an HTTP recording: a handshake, a call whose response is a stream, and one that is
// refused; two clients.
func httpFrames() []tap.Frame {
	var all []tap.Frame
	add := func(exchange uint64, lane tap.Lane, form tap.Form, raw string) {
		all = append(all, tap.Frame{At: time.Duration(len(all)) * 5 * time.Millisecond, Lane: lane, Form: form, Exchange: exchange, Raw: []byte(raw)})
	}
	event := func(exchange uint64, e tap.Event) { add(exchange, tap.Lifecycle, tap.FormLine, string(e.Encode())) }
	post := func(exchange uint64, session, body string) {
		header := [][2]string{{"Host", "127.0.0.1:9000"}, {"Content-Type", "application/json"}, {"Authorization", "Bearer masked:1a2b3c"}}
		if session != "" {
			header = append(header, [2]string{"Mcp-Session-Id", session})
		}
		event(exchange, tap.Event{Name: tap.EventRequest, Conn: exchange, Proto: "HTTP/1.1", Method: "POST", Target: "/mcp", Header: header, Masked: []string{"Authorization"}})
		add(exchange, tap.ToServer, tap.FormBody, body)
	}
	respond := func(exchange uint64, status int, reason, session string, form tap.Form, bodies ...string) {
		header := [][2]string{{"Content-Type", "text/event-stream"}}
		if session != "" {
			header = append(header, [2]string{"Mcp-Session-Id", session})
		}
		event(exchange, tap.Event{Name: tap.EventResponse, Proto: "HTTP/1.1", Status: status, Reason: reason, Header: header})
		for _, b := range bodies {
			add(exchange, tap.ToClient, form, b)
		}
		event(exchange, tap.Event{Name: tap.EventEnd, FirstByte: 3 * time.Millisecond, BytesUp: 100, BytesDown: 200})
	}
	event(0, tap.Event{Name: tap.EventStart, Transport: "http", Listen: "127.0.0.1:9000", Upstream: "http://127.0.0.1:3001"})
	const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"NAME","version":"1"}}}`
	const welcome = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"http-server","version":"2"}}}`
	post(1, "", strings.Replace(hello, "NAME", "first", 1))
	respond(1, 200, "OK", "s-1", tap.FormBody, welcome)
	post(2, "", strings.Replace(hello, "NAME", "second", 1))
	respond(2, 200, "OK", "s-2", tap.FormBody, welcome)
	post(3, "s-1", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":1}}}`)
	respond(3, 200, "OK", "", tap.FormEvent,
		"id: 0\ndata:\n\n",
		"event: message\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1}}\n\n",
		"event: message\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}\n\n")
	post(4, "s-2", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	respond(4, 404, "Not Found", "", tap.FormBody, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"no such session"}}`)
	return all
}

func TestHTTP(t *testing.T) {
	dir := t.TempDir()
	all := httpFrames()
	id := writeRecordingOf(t, dir, "http", "http", func(i int) (tap.Frame, bool) {
		if i >= len(all) {
			return tap.Frame{}, false
		}
		return all[i], true
	})
	base, _ := startWeb(t, dir)
	p := newTab(t, at(t, base, "/r/"+id+"?v=frames"), 1280, 800, false)
	rows := p.read()
	for _, want := range []string{"POST /mcp", "404 Not Found", "slow", "no such session"} {
		if !strings.Contains(rows, want) {
			t.Errorf("no %q in\n%s", want, rows)
		}
	}
	if !strings.Contains(p.text(".foot"), "2 sessions") {
		t.Errorf("foot: %s", p.text(".foot"))
	}
	p.picture("http-frames")
	// Open the event with the response: its data as a tree, and its heads.
	p.do(navigate(at(t, base, "/r/"+id+"?v=frames&q=kind%3Aresponse+tool%3Aslow&f=17")))
	p.wait("document.querySelectorAll('.card .tree').length === 2")
	eval[bool](p, "[...document.querySelectorAll('.card')].at(-1).querySelectorAll('.tabs button').forEach((e) => e.textContent === 'HTTP' && e.click()), true")
	p.wait("document.querySelector('.card dl.fields')")
	if got := p.text(".card:last-child"); !strings.Contains(got, "POST /mcp") || !strings.Contains(got, "200 OK") || !strings.Contains(got, "masked") || !strings.Contains(got, "event message") {
		t.Errorf("card: %s", got)
	}
	p.picture("http-heads")
	p.do(navigate(at(t, base, "/r/"+id)))
	if rows := p.read(); strings.Contains(rows, "HTTP request") || strings.Contains(rows, "HTTP end") || strings.Contains(rows, "HTTP response") {
		t.Errorf("the calls are %s", rows)
	}
	p.picture("http-calls")
	p.do(navigate(at(t, base, "/r/"+id+"?v=calls&q=status%3A404")))
	p.wait("/no such session/.test(document.querySelector('.pad')?.innerText)")
	// Select one of the sessions, from the box and by the URL.
	p.do(navigate(at(t, base, "/r/"+id+"?v=frames&q=kind%3Arequest")))
	p.wait("document.querySelector('.sessions:not([hidden])')")
	eval[bool](p, "(() => { const box = document.querySelector('.sessions'); box.value = '2'; return box.dispatchEvent(new Event('change')); })()")
	p.wait("new URLSearchParams(location.search).get('q') === 'session:2 kind:request'")
	p.wait("document.querySelectorAll('.pad > .row:not([hidden])').length === 2")
	if rows := p.read(); strings.Contains(rows, "slow") {
		t.Errorf("the second session has %s", rows)
	}
	if got := eval[string](p, "document.querySelector('.sessions').value"); got != "2" {
		t.Errorf("selected session %s", got)
	}
	p.keys("r")
	p.wait("/2 sessions/.test(document.querySelector('.rec .name .chip')?.innerText)")
	// Compare its two sessions: one with calls, one refused.
	p.compareWith("own")
	p.keys("\r")
	p.wait("location.search === '?a=" + id + "&b=" + id + "&as=1&bs=2' && document.querySelector('.call-pairs .call-head')")
	if got := p.text(".call-pair"); !strings.Contains(got, "slow") || !strings.Contains(got, "tools/list") {
		t.Errorf("side by side they are %s", got)
	}
	p.picture("http-compare")
	eval[bool](p, "(() => { const box = document.querySelector('.side select'); box.value = '2'; return box.dispatchEvent(new Event('change')); })()")
	p.wait("/No differences/.test(document.querySelector('.sentence')?.innerText)")
	p.do(navigate(at(t, base, "/compare?a="+id+"&b="+id+"&bs=9")))
	p.wait("/cannot be compared/.test(document.querySelector('.compare .empty')?.innerText)")
	p.allow("500")
}
