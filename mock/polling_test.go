package mock

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
)

// A scripted is a hand-written exchange: the request, the events of the response, and whether the
// server or the client ended it.
type scripted struct {
	ask, last   string
	events      []string
	stays, left bool
}

// exchanges returns an HTTP recording of them, which begins with an initialize.
func exchanges(all ...scripted) (frames []tap.Frame) {
	all = append([]scripted{{ask: opening, events: []string{eventOf("i_0", `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`)}}}, all...)
	for i, x := range all {
		add := func(lane tap.Lane, form tap.Form, text string) {
			n := uint64(len(frames) + 1)
			frames = append(frames, tap.Frame{
				Seq: n, At: time.Duration(n) * time.Millisecond, Lane: lane, Form: form, Exchange: uint64(i + 1), Raw: []byte(text), Size: int64(len(text)),
			})
		}
		method, fields := "POST", `["Mcp-Session-Id","s"],`
		if x.ask == "" {
			method = "GET"
		}
		if i == 0 {
			fields = ""
		}
		if x.last != "" {
			fields += fmt.Sprintf(`["Last-Event-Id",%q],`, x.last)
		}
		add(tap.Lifecycle, 0, fmt.Sprintf(`{"event":"request","method":%q,"target":"/mcp","header":[%s["Mcp-Protocol-Version","2025-11-25"],["Host","h"]]}`, method, fields))
		if x.ask != "" {
			add(tap.ToServer, tap.FormBody, x.ask)
		}
		add(tap.Lifecycle, 0, `{"event":"response","status":200,"header":[["Content-Type","text/event-stream"],["Mcp-Session-Id","s"]]}`)
		for _, e := range x.events {
			add(tap.ToClient, tap.FormEvent, e)
		}
		switch {
		case x.left:
			add(tap.Lifecycle, 0, `{"event":"end","by":"client","error":"the client hung up within the response"}`)
		case !x.stays:
			add(tap.Lifecycle, 0, `{"event":"end","by":"server"}`)
		}
	}
	return frames
}

const (
	slow     = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":"p"}}}`
	slowness = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":%d}}`
	slowDone = `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`
	current  = "Mcp-Protocol-Version: 2025-11-25"
)

func eventOf(id, message string) string {
	if id != "" {
		id = "id: " + id + "\n"
	}
	return id + "event: message\ndata: " + message + "\n\n"
}

// A stream that the server closed before the answer is closed at the same point, with the recorded
// retry, and continues when the client resumes it, as many times as recorded.
func TestServerPolls(t *testing.T) {
	progress := func(n int) string { return fmt.Sprintf(slowness, n) }
	for name, recorded := range map[string][]scripted{
		"as the Go SDK does": {
			{ask: slow, events: []string{"event: prime\nid: a_0\ndata: \n\n", eventOf("a_1", progress(1)), "event: close\nretry: 10\ndata: \n\n"}},
			{last: "a_1", events: []string{eventOf("a_2", progress(2)), eventOf("a_3", slowDone)}},
		},
		"as the TypeScript SDK does": {
			{ask: slow, events: []string{"id: a_0\nretry: 25\ndata: \n\n"}},
			{last: "a_0", events: []string{eventOf("a_1", slowDone)}},
		},
		"again and again": {
			{ask: slow, events: []string{"id: a_0\nretry: 25\ndata: \n\n"}},
			{last: "a_0", events: []string{"id: a_1\nretry: 35\ndata: \n\n"}},
			{last: "a_1"}, // immediately
			{last: "a_1", events: []string{eventOf("a_2", progress(1))}},
			{last: "a_2", events: []string{eventOf("a_3", slowDone)}},
		},
		"what was sent again is": {
			{ask: slow, events: []string{"id: a_0\ndata: \n\n", eventOf("a_1", progress(1))}},
			{last: "a_0", events: []string{eventOf("a_1", progress(1)), eventOf("a_2", slowDone)}},
		},
		"never polled":      {{ask: slow, events: []string{"id: a_0\ndata: \n\n", eventOf("a_1", progress(1)), eventOf("a_2", slowDone)}}},
		"spelled otherwise": {{ask: slow, events: []string{"data:" + progress(1) + "\nid:a\n\n", ": a comment\nid: b\nretry: 7\ndata: " + slowDone + "\n\n"}}},
		"without ids":       {{ask: slow, events: []string{"retry: 5\ndata: \n\n", eventOf("", progress(1)), eventOf("", slowDone)}}},
	} {
		t.Run(name, func(t *testing.T) {
			rec := loaded(t, exchanges(recorded...), replay.Options{Pace: replay.Instant})
			_, url := served(t, rec, ServerOptions{})
			id := begun(t, url, "/mcp", current)
			for round := range 2 { // when the call is repeated, the polls are too
				for i, r := range recorded {
					x := testRequest{"POST", "/mcp", []string{id, current}, slow}
					if i > 0 {
						x = testRequest{"GET", "/mcp", []string{id, current, "Last-Event-ID: " + r.last}, ""}
					}
					if _, got := ask(t, url, x); got != strings.Join(r.events, "") {
						t.Errorf("round %d, part %d: %q, want %q", round+1, i+1, got, r.events)
					}
				}
			}
		})
	}
}

// A client of a revision before 2025-11-25 gets no events without data, so it has no id with which to
// resume a stream that carried nothing else: the stream stays open for it.
func TestServerDoesNotPollOldClients(t *testing.T) {
	rec := loaded(t, exchanges(
		scripted{ask: slow, events: []string{"id: a_0\nretry: 25\ndata: \n\n"}},
		scripted{last: "a_0", events: []string{eventOf("a_1", slowDone)}},
	), replay.Options{Pace: replay.Instant})
	_, url := served(t, rec, ServerOptions{})
	id := begun(t, url, "/mcp")
	_, got := ask(t, url, testRequest{"POST", "/mcp", []string{id, "Mcp-Protocol-Version: 2025-06-18"}, slow})
	if want := eventOf("a_1", slowDone); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The standing stream is closed at the same point as the recorded one.
func TestServerPollsStandingStreams(t *testing.T) {
	changed := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	recorded := []scripted{{events: []string{"id: g_0\nretry: 15\ndata: \n\n", eventOf("g_1", changed)}}, {last: "g_1", stays: true}}
	rec := loaded(t, exchanges(recorded...), replay.Options{Pace: replay.Instant})
	s, url := served(t, rec, ServerOptions{})
	c := newWebClient(t, url+s.Path())
	c.post("open", []byte(opening))
	c.version = "2025-11-25"
	c.get("standing", "")
	c.until(func() bool { return len(c.got["standing"]) == 1 })
	c.open.Wait() // it ends
	c.get("standing again", "g_1")
	if got := strings.Join(c.ids["standing"], " "); got != "g_0 g_1" {
		t.Errorf("ids %s", got)
	}
}

// A client that stays gets on one stream what the recorded client got on two, because it had lost
// the first one and resumed it.
func TestServerForClientThatStays(t *testing.T) {
	rec := loaded(t, exchanges(
		scripted{ask: slow, left: true, events: []string{"id: a_0\ndata: \n\n", eventOf("a_1", fmt.Sprintf(slowness, 1))}},
		scripted{last: "a_1", events: []string{eventOf("a_2", fmt.Sprintf(slowness, 2)), eventOf("a_3", slowDone)}},
	), replay.Options{Pace: replay.Instant})
	_, url := served(t, rec, ServerOptions{})
	id := begun(t, url, "/mcp")
	for name, token := range map[string]string{"with a token": `"_meta":{"progressToken":"p"}`, "without": `"_meta":{}`} {
		_, body := ask(t, url, testRequest{"POST", "/mcp", []string{id, current}, strings.Replace(slow, `"_meta":{"progressToken":"p"}`, token, 1)})
		if !strings.Contains(body, slowDone) {
			t.Errorf("%s: %s", name, body)
		}
		id = begun(t, url, "/mcp")
	}
}
