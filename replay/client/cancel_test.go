package client

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// TestCancelledCallsGetTheirTime: a call that the recorded client cancelled is cancelled as late as
// recorded, so that a server that no longer hangs can respond.
func TestCancelledCallsGetTheirTime(t *testing.T) {
	frames := lines(opening + `
>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}
>{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
`)
	frames[len(frames)-1].At = frames[len(frames)-2].At + 2*time.Second
	serve := func(in io.Reader, out io.Writer) {
		answering(func(method, id, _ string) (string, error) {
			switch {
			case id == "":
				return "", nil
			case method == "tools/call":
				time.Sleep(50 * time.Millisecond)
			}
			return result(id), nil
		})(in, out)
	}
	var order []string
	for _, f := range play(t, planned(frames, nil), patient(), serve) {
		switch raw := string(f.Raw); {
		case strings.Contains(raw, "cancelled"):
			order = append(order, "cancelled")
		case strings.TrimSpace(raw) == strings.TrimSpace(result("2")):
			order = append(order, "response")
		}
	}
	if got, want := fmt.Sprint(order), "[response cancelled]"; got != want {
		t.Errorf("it saw %s, want %s", got, want)
	}
}

// TestStepsOfExchanges: a client hangs up and ends its session when the recorded one did, not when
// the exchange or the session ends.
func TestStepsOfExchanges(t *testing.T) {
	var frames []tap.Frame
	put := func(exchange uint64, lane tap.Lane, form tap.Form, raw string) {
		frames = append(frames, tap.Frame{Seq: uint64(len(frames) + 1), Exchange: exchange, Lane: lane, Form: form, Raw: []byte(raw)})
	}
	event := func(exchange uint64, e tap.Event) { put(exchange, tap.Lifecycle, tap.FormLine, string(e.Encode())) }
	progress := "data: " + `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}` + "\n\n"
	event(1, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp"})
	put(1, tap.ToServer, tap.FormBody, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":1}}}`)
	event(1, tap.Event{Name: tap.EventResponse, Status: 200})
	put(1, tap.ToClient, tap.FormEvent, progress)
	event(1, tap.Event{Name: tap.EventHangUp, By: "client"})
	event(2, tap.Event{Name: tap.EventRequest, Method: "DELETE", Target: "/mcp"})
	event(2, tap.Event{Name: tap.EventResponse, Status: 200})
	event(2, tap.Event{Name: tap.EventEnd, By: "server"})
	event(1, tap.Event{Name: tap.EventEnd, By: "client"})
	event(3, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp"})
	put(3, tap.ToServer, tap.FormBody, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	var kinds []stepKind
	for _, s := range planned(frames, nil).steps {
		kinds = append(kinds, s.kind)
	}
	if want := []stepKind{stepSend, stepReceive, stepHangUp, stepDelete, stepSend}; !slices.Equal(kinds, want) {
		t.Errorf("the steps are %v, want %v", kinds, want)
	}
}

// TestStandingStream: a GET stream that the server ends is resumed, and the session is ended only
// if the recorded client ended it.
func TestStandingStream(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		var mu sync.Mutex
		var asked []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked = append(asked, strings.TrimSpace(r.Method+" "+r.Header.Get("Last-Event-ID")))
			n := len(asked)
			mu.Unlock()
			switch {
			case r.Method == "POST":
				w.Header().Set("Mcp-Session-Id", "s1")
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, result("1"))
			case r.Method == "GET" && n <= 3:
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "id: e1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/a\"}\n\nid: e%d\nretry: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/b\"}\n\n", n)
			case r.Method == "GET":
				w.WriteHeader(http.StatusMethodNotAllowed)
			}
		}))
		to := make(chan Event, 64)
		c := newHTTP(server.URL, new(Watcher))
		c.keeps = keeps
		if err := c.Open(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		first := newRequest("1", "initialize", []byte("{}"))
		first.ids, first.standing = []string{"1"}, true
		<-c.Send(first)
		heard := 0
		for late := time.After(10 * time.Second); heard < 4; {
			select {
			case e := <-to:
				if jsonrpc.Peek(e.Raw).Kind == jsonrpc.Notification {
					heard++
				} else if e.Err == nil {
					heard++ // the response
				}
			case <-late:
				t.Fatalf("received %d messages, the server got %q", heard, asked)
			}
		}
		for range 1000 { // until the last resumption is refused
			mu.Lock()
			n := len(asked)
			mu.Unlock()
			if n == 4 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		c.Close()
		server.Close()
		want := "POST, GET, GET e2, GET e3"
		if !keeps {
			want += ", DELETE"
		}
		if got := strings.Join(asked, ", "); got != want {
			t.Errorf("the server was asked %s, want %s", got, want)
		}
	}
}
