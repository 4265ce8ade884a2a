package mock

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
)

// A stream that is cut continues after the event that the client names: each event arrives once,
// however often the stream is cut.
func TestServerResumesStreams(t *testing.T) {
	frames := lines(`>{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}
>{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":"p"}}}
{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}
{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":2}}
{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":3}}
{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":4}}
{"jsonrpc":"2.0","id":1,"result":{"content":[]}}
`)
	want := messages(frames)[1:]
	for _, cut := range []int{1, 2, 3, 5, 9} {
		s, url := served(t, loaded(t, frames, replay.Options{Pace: replay.Instant}), ServerOptions{Cut: cut})
		c := newWebClient(t, url+s.Path())
		c.post("open", []byte(strings.TrimSpace(string(frames[0].Raw))))
		c.version = "2025-11-25"
		c.post("call", []byte(strings.TrimSpace(string(frames[2].Raw))))
		for i := 0; ; i++ {
			c.open.Wait()
			c.mu.Lock()
			got, last := slices.Clone(c.got["call"]), c.ids["call"][len(c.ids["call"])-1]
			c.mu.Unlock()
			if len(got) >= len(want) || i > len(want) {
				if !slices.Equal(got, want) {
					t.Errorf("cut after %d: got\n%s", cut, strings.Join(got, "\n"))
				}
				if wantCuts := (len(want) - 1) / cut; i != wantCuts {
					t.Errorf("cut after %d: %d cuts, want %d", cut, i, wantCuts)
				}
				break
			}
			if status := c.get("call", last); status != 200 {
				t.Fatal(status)
			}
		}
		c.check(t, messages(frames))
	}
}

// A client that does not answer a server request gets nothing more of that call. Other calls continue.
// After the timeout the stream ends and the report has the reason.
func TestServerWaitsAtGates(t *testing.T) {
	frames := lines(`>{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}}}}
{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}
>{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}}
>{"jsonrpc":"2.0","id":7,"result":{"role":"assistant"}}
{"jsonrpc":"2.0","id":1,"result":{"content":[]}}
>{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}
`)
	body := func(i int) []byte { return []byte(strings.TrimSpace(string(frames[i].Raw))) }
	for _, answers := range []bool{true, false} {
		var noted notes
		timeout := time.Hour
		if !answers {
			timeout = 200 * time.Millisecond
		}
		s, url := served(t, loaded(t, frames, replay.Options{Pace: replay.Instant, GateTimeout: timeout}), ServerOptions{Note: noted.note})
		c := newWebClient(t, url+s.Path())
		c.post("open", body(0))
		c.post("call", body(2))
		c.until(func() bool { return len(c.got["call"]) == 1 })
		c.post("list", body(6))
		if answers {
			if status := c.post("answer", body(4)); status != 202 {
				t.Error(status)
			}
		}
		c.open.Wait() // the stream ends
		want := messages(frames)[1:3]
		if !answers {
			want = want[:1]
		}
		if got := c.got["call"]; !slices.Equal(got, want) {
			t.Errorf("answers %v: %s", answers, got)
		}
		if len(c.got["list"]) != 1 {
			t.Error(c.got)
		}
		if i := slices.IndexFunc(noted.all, func(n replay.Note) bool { return n.Kind == replay.NoteTimeout }); (i >= 0) == answers ||
			i >= 0 && !strings.Contains(noted.all[i].Text, "has not responded to sampling/createMessage (frame 4, id 7)") {
			t.Errorf("answers %v: %v", answers, noted.all)
		}
	}
}

// The fault status is an HTTP status, and disconnect breaks the connection. On other transports status
// is an error.
func TestServerFaults(t *testing.T) {
	frames := recorded(t, "2025-11-25-tools-healthy")
	fault := func(text string) replay.Options {
		f, err := replay.ParseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		return replay.Options{Pace: replay.Instant, Faults: []replay.Fault{f}}
	}
	_, url := served(t, loaded(t, frames, fault("status=503 tools/list n=1")), ServerOptions{})
	id := begun(t, url, "/mcp")
	for _, status := range []int{503, 200} {
		if res, body := ask(t, url, testRequest{"POST", "/mcp", []string{id}, listing}); res.StatusCode != status {
			t.Error(res.Status, body)
		}
	}
	s, url := served(t, loaded(t, frames, fault("disconnect tools/list")), ServerOptions{})
	c := newWebClient(t, url+s.Path())
	c.post("open", []byte(opening))
	if c.post("list", []byte(listing)); len(c.errs) != 1 || !strings.Contains(c.errs[0], "EOF") {
		t.Error(c.errs)
	}
	rec := loaded(t, frames, fault("status=503 tools/list"))
	var out bytes.Buffer
	_, err := Stdio(t.Context(), rec.Script, strings.NewReader(opening+"\n"+listing+"\n"), &out, nil)
	if err != nil || !strings.Contains(out.String(), `"id":1,"error":{"code":-32603`) {
		t.Errorf("%v: %s", err, out.String())
	}
}

// Messages that belong to no request are sent on the standing stream, and wait for it.
func TestServerStandingStream(t *testing.T) {
	frames := lines(`>{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}
{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}
>{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}
`)
	s, url := served(t, loaded(t, frames, replay.Options{Pace: replay.Instant}), ServerOptions{})
	c := newWebClient(t, url+s.Path())
	c.post("open", frames[0].Raw)
	c.post("ready", frames[2].Raw)
	c.get("one", "")
	c.until(func() bool { return len(c.got["one"]) == 2 })
	// A second stream replaces the first, and repeats what follows the event that the client names.
	c.get("two", "0-1")
	c.until(func() bool { return len(c.got["two"]) == 1 })
	want := messages(frames)
	if !slices.Equal(c.got["one"], want[1:]) || !slices.Equal(c.got["two"], want[2:]) || !slices.Equal(c.ids["one"], []string{"0-1", "0-2"}) {
		t.Errorf("%v %v", c.got, c.ids)
	}
	for _, unknown := range []string{"", "0-x", "9-1", "-", "0--1", strings.Repeat("9", 5000)} {
		if status := c.get("none "+unknown[:min(4, len(unknown))], unknown); status != 200 {
			t.Error(status)
		}
	}
	for name, got := range c.got {
		if strings.HasPrefix(name, "none") && len(got) > 0 {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// A session keeps what a client may resume, but not more.
func TestStreamsAreBounded(t *testing.T) {
	x := &stream{resumable: true, form: formEvents, name: "0", wake: make(chan struct{}, 1)}
	long := []byte(strings.Repeat("x", 1000))
	for i := range 5 * maxResumable {
		x.put(replay.Output{Raw: long})
		x.trim(i)
	}
	if n := len(x.pieces); n > 2*maxResumable+2 {
		t.Error(n, "events kept")
	}
	if first, last := x.from(0)[0], x.from(5*maxResumable - 1)[0]; !strings.HasPrefix(string(last.data), fmt.Sprintf("id: 0-%d\n", 5*maxResumable)) ||
		strings.HasPrefix(string(first.data), "id: 0-1\n") {
		t.Errorf("%.20s, %.20s", first.data, last.data)
	}
}

// A message with line breaks between its values is one event.
func TestEventOfLines(t *testing.T) {
	x := &stream{form: formEvents}
	x.put(replay.Output{Raw: []byte("{\r\n \"a\":\r1,\n\"b\":2}\n")})
	e := tap.ParseServerSentEvent(x.pieces[0].data)
	if string(e.Data) != "{ \n \"a\": 1,\n\"b\":2}" || e.Name != "message" || e.HasID {
		t.Errorf("%q", x.pieces[0].data)
	}
}
