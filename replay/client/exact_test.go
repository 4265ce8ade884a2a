package client

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// TestSameID: of two requests in flight with one id, each gets what comes on its own
// exchange, and the exchanges that are over are forgotten.
func TestSameID(t *testing.T) {
	frames := lines(opening + `
>{"jsonrpc":"2.0","id":2,"method":"tools/list"}
>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b"}}
{"jsonrpc":"2.0","id":2,"result":{"tools":[],"nextCursor":"c1"}}
{"jsonrpc":"2.0","id":2,"result":{"content":[]}}
>{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"c1"}}
{"jsonrpc":"2.0","id":3,"result":{"tools":[]}}
`)
	called := make(chan struct{})
	server := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := jsonrpc.Peek(body)
		answer := `{"content":[],"protocolVersion":"2025-11-25"}`
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		case m.Method == "tools/call":
			defer close(called)
		case string(m.ID) == "2": // the first is answered last
			<-called
			answer = `{"tools":[],"nextCursor":"live"}`
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, answer)
	}))
	opt := patient()
	said := notes(&opt)
	var conn *httpConn
	got := bodies(tapped(t, planned(frames, nil), opt, server, func(url string, tap *Watcher) Conn {
		conn = newHTTP(url, tap)
		return conn
	}))
	if !strings.Contains(got, `"cursor":"live"`) || len(*said) > 0 {
		t.Errorf("notes %q\n%s", *said, got)
	}
	if n := len(conn.streams); n > 0 {
		t.Errorf("%d exchanges are remembered that are over", n)
	}
}

// TestRetryOrder: a retry that was not recorded has its members in one order.
func TestRetryOrder(t *testing.T) {
	for range 20 {
		c := &chain{state: []byte(`"s"`), answers: []byte(`{}`)}
		want := `{"name":"a","inputResponses":{},"requestState":"s"}`
		if got := string((&player{}).withChain([]byte(`{"name":"a"}`), c)); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
}

// TestServerRequests: what the server asks is answered with the recorded bytes, a ping
// too, whatever id it has and wherever it comes.
func TestServerRequests(t *testing.T) {
	frames := lines(opening + `
>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}
{"jsonrpc":"2.0","id":7,"method":"ping"}
>{"id":7, "error":{"code":-32601,"message":"no pings"}, "jsonrpc":"2.0"}
{"jsonrpc":"2.0","id":8,"method":"roots/list"}
>{"jsonrpc":"2.0","id":8,"result":{ "roots":[] }}
{"jsonrpc":"2.0","id":2,"result":{"content":[]}}
>{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"b"}}
{"jsonrpc":"2.0","id":3,"result":{"content":[]}}
`)
	serve := answering(func(method, id, raw string) (string, error) {
		switch {
		case id == `"p"`:
			return `{"jsonrpc":"2.0","id":"r","method":"roots/list"}` + "\n", nil
		case id == `"r"`:
			return result("2"), nil
		case strings.Contains(raw, `"name":"a"`):
			return `{"jsonrpc":"2.0","id":"p","method":"ping"}` + "\n", nil
		case method == "":
			return "", nil
		case id != "":
			return result(id), nil
		}
		return "", nil
	})
	opt := patient()
	said := notes(&opt)
	got := bodies(play(t, planned(frames, nil), opt, serve))
	for _, want := range []string{`{"id":"p", "error":{"code":-32601,"message":"no pings"}, "jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":"r","result":{ "roots":[] }}`} {
		if !strings.Contains(got, want) {
			t.Errorf("not sent: %s\n%s", want, got)
		}
	}
	if len(*said) > 0 {
		t.Errorf("notes %q", *said)
	}
	// Without a recorded answer a ping gets the usual one.
	got = bodies(play(t, planned(lines(twoCalls), nil), patient(), answering(func(method, id, raw string) (string, error) {
		switch {
		case strings.Contains(raw, `"name":"a"`):
			return `{"jsonrpc":"2.0","id":"p","method":"ping"}` + "\n", nil
		case id == `"p"`:
			return result("2"), nil
		case id != "":
			return result(id), nil
		}
		return "", nil
	})))
	if !strings.Contains(got, `{"jsonrpc":"2.0","id":"p","result":{}}`) {
		t.Errorf("the ping has no answer:\n%s", got)
	}
}

const batches = `
>{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"roots":{}},"clientInfo":{"name":"tester","version":"1"}}}
{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"subject","version":"1.0.0"}}}
>[{"jsonrpc":"2.0","method":"notifications/initialized"}]
>[{"jsonrpc":"2.0","id":2,"method":"tools/list"}]
{"jsonrpc":"2.0","id":2,"result":{"tools":[],"nextCursor":"c1"}}
>[{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"c1"}}, {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"a"}}]
[{"jsonrpc":"2.0","id":8,"method":"roots/list"},{"jsonrpc":"2.0","id":9,"method":"ping"}]
>[ {"jsonrpc":"2.0","id":8,"result":{"roots":[]}}, {"jsonrpc":"2.0","id":9,"result":{}}, {"jsonrpc":"2.0","method":"notifications/roots/list_changed"} ]
[{"jsonrpc":"2.0","id":3,"result":{"tools":[]}},{"jsonrpc":"2.0","id":4,"result":{"content":[]}}]
>[ {"jsonrpc":"2.0","id":5,"method":"ping"} ,7]
{"jsonrpc":"2.0","id":5,"result":{}}
`

// A batcher answers the frames of batches.
func batcher(raw string) string {
	switch {
	case strings.Contains(raw, `"initialize"`):
		return `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26"}}`
	case strings.Contains(raw, `"id":2`):
		return `[{"jsonrpc":"2.0","id":2,"result":{"tools":[],"nextCursor":"live"}}]`
	case strings.Contains(raw, `"id":3`):
		return `[{"jsonrpc":"2.0","id":"r","method":"roots/list"},{"jsonrpc":"2.0","id":9,"method":"ping"}]`
	case strings.Contains(raw, `"id":"r"`):
		return `[{"jsonrpc":"2.0","id":3,"result":{"tools":[]}},{"jsonrpc":"2.0","id":4,"result":{"content":[]}}]`
	case strings.Contains(raw, `"id":5`):
		return `{"jsonrpc":"2.0","id":5,"result":{}}`
	}
	return ""
}

// TestBatches: what came in one array is sent in one: as it was, but for what the live
// server made up.
func TestBatches(t *testing.T) {
	want := []string{
		`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`,
		`[{"jsonrpc":"2.0","id":2,"method":"tools/list"}]`,
		`[{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"live"}},{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"a"}}]`,
		`[{"jsonrpc":"2.0","id":"r","result":{"roots":[]}},{"jsonrpc":"2.0","id":9,"result":{}},{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]`,
		`[ {"jsonrpc":"2.0","id":5,"method":"ping"} ,7]`,
	}
	sent := func(frames []tap.Frame) string {
		var all []string
		for i := range frames {
			if f := &frames[i]; f.Lane == tap.ToServer && f.Form != tap.FormEvent && len(f.Raw) > 0 {
				all = append(all, strings.TrimSpace(string(f.Raw)))
			}
		}
		return strings.Join(all[1:], "\n")
	}
	opt := patient()
	said := notes(&opt)
	got := sent(play(t, planned(lines(batches), nil), opt, func(in io.Reader, out io.Writer) {
		for r := bufio.NewScanner(in); r.Scan(); {
			if answer := batcher(r.Text()); answer != "" {
				fmt.Fprintln(out, answer)
			}
		}
	}))
	if got != strings.Join(want, "\n") || len(*said) > 0 {
		t.Errorf("notes %q, sent\n%s", *said, got)
	}
	var mu sync.Mutex
	more := sync.NewCond(&mu)
	answered := ""
	frames := tapped(t, planned(lines(batches), nil), opt, served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer := batcher(string(body))
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case answer == "":
			w.WriteHeader(http.StatusAccepted)
		case strings.Contains(string(body), `"id":3`): // asks on this stream, and answers there
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: %s\n\n", answer)
			w.(http.Flusher).Flush()
			for answered == "" {
				more.Wait()
			}
			fmt.Fprintf(w, "data: %s\n\n", answered)
		case strings.Contains(string(body), `"id":"r"`):
			answered = answer
			more.Signal()
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, answer)
		}
	})), HTTP)
	if got := sent(frames); got != strings.Join(want, "\n") || len(*said) > 0 {
		t.Errorf("over HTTP: notes %q, sent\n%s", *said, got)
	}
}
