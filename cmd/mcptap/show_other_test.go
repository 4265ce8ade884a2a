package main

import (
	"strings"
	"testing"

	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
)

// HTTP frames without a message are described with the words of `mcptap web`, and are
// escaped. For filters and programs their kind is other.
func TestShowOther(t *testing.T) {
	var frames []tap.Frame
	put := func(exchange uint64, lane tap.Lane, form tap.Form, raw string) {
		frames = append(frames, tap.Frame{Lane: lane, Exchange: exchange, Form: form, Raw: []byte(raw)})
	}
	event := func(exchange uint64, e tap.Event) { put(exchange, tap.Lifecycle, tap.FormLine, string(e.Encode())) }
	event(1, tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/sse"})
	event(1, tap.Event{Name: tap.EventResponse, Status: 200})
	put(1, tap.ToClient, tap.FormEvent, "event: endpoint\ndata: /messages?session=5\n\n")
	put(1, tap.ToClient, tap.FormEvent, "id: 17\nretry: 1500\ndata:\n\n")
	put(1, tap.ToClient, tap.FormEvent, ": still\u202e here\x1b[2J\n\n")
	put(1, tap.ToClient, tap.FormEvent, "event: tick\ndata: 7\n\n")
	event(2, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp"})
	event(2, tap.Event{Name: tap.EventResponse, Status: 503, Header: [][2]string{{"Retry-After", "30"}}})
	put(2, tap.ToClient, tap.FormBody, "<h1>\x07busy</h1>")
	event(2, tap.Event{Name: tap.EventEnd, BytesDown: 2048, Error: "the server reset the connection"})
	event(3, tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/ws"})
	put(3, tap.ToClient, tap.FormPing, "\x00\x9b")
	put(3, tap.ToServer, tap.FormPong, "")
	put(3, tap.ToServer, tap.FormBinary, "\xff\x01")
	put(3, tap.ToClient, tap.FormClose, "\x03\xf0no \x1b]0;pwned\x07")
	put(3, tap.ToServer, tap.FormClose, "")
	put(4, tap.ToServer, tap.FormBytes, "\x16\x03\x01")
	path := record(t, frames)
	for name, args := range map[string][]string{"other-frames": {path}, "other-priming": {path, "4"}, "other-close": {path, "15"}} {
		a, out := testApp(map[string]string{"COLUMNS": "100"})
		if code := a.run(append([]string{"show"}, args...)); code != 0 {
			t.Errorf("%v: exit %d: %s", args, code, out)
		}
		golden(t, name+".txt", out.Bytes())
		for line := range strings.Lines(out.String()) {
			if line := strings.TrimSuffix(line, "\n"); !safe.Clean(line) {
				t.Errorf("%s: %q", name, line)
			}
		}
	}
	a, out := testApp(nil)
	if code := a.run([]string{"show", path, "kind:other", "--json"}); code != 0 || strings.Count(out.String(), `"kind":"other"`) != 10 ||
		!strings.Contains(out.String(), `"about":"no data, resume from id 17, reconnect after 1500 ms"`) {
		t.Errorf("exit %d: %s", code, out)
	}
}
