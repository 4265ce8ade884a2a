package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// webSocketAt is [WebSocket] in the form that throughTap requires.
func webSocketAt(url string, _ *Watcher) Conn {
	return WebSocket("ws" + strings.TrimPrefix(url, "http"))
}

// TestUnreachable: if there is no server, or none that opens a session, nothing is played, and one
// error describes what happened instead of a note for each request.
func TestUnreachable(t *testing.T) {
	const refusedDial = "http://127.0.0.1:1"
	none := httptest.NewTLSServer(http.NotFoundHandler()) // with an untrusted certificate
	none.Config.ErrorLog = nil
	t.Cleanup(none.Close)
	at := func(status int, kind, body string) string {
		return served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
	}
	modern := lines(`
>{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","tools":[]}}
>{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
{"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","content":[]}}
`)
	for name, c := range map[string]struct {
		frames []tap.Frame
		url    string
		conn   func(string, *Watcher) Conn
		status int
		want   string
	}{
		"no server":                {lines(twoCalls), refusedDial, HTTP, 0, "the server at http://127.0.0.1:1 could not be reached: dial tcp"},
		"no server, modern":        {modern, refusedDial, HTTP, 0, "the server at http://127.0.0.1:1 could not be reached: dial tcp"},
		"no server, SSE":           {lines(twoCalls), refusedDial, SSE, 0, "the server at http://127.0.0.1:1 could not be reached: dial tcp"},
		"no server, socket":        {lines(twoCalls), refusedDial, webSocketAt, 0, "the server at http://127.0.0.1:1 could not be reached: dial tcp"},
		"unknown certificate":      {lines(twoCalls), none.URL, HTTP, 0, "certificate"},
		"another path":             {lines(twoCalls), at(404, "text/plain", "404 page not found"), HTTP, 404, "HTTP 404 Not Found: 404 page not found"},
		"another path, modern":     {modern, at(404, "text/plain", "404 page not found"), HTTP, 404, "HTTP 404 Not Found: 404 page not found"},
		"another path, SSE":        {lines(twoCalls), at(404, "text/plain", ""), SSE, 404, "HTTP 404 Not Found to the GET of a stream"},
		"another path, socket":     {lines(twoCalls), at(404, "text/plain", ""), webSocketAt, 404, "the server does not open a WebSocket: HTTP 404 Not Found"},
		"a token is wanted":        {lines(twoCalls), at(401, "application/json", `{"error":"unauthorized"}`), HTTP, 401, "HTTP 401 Unauthorized"},
		"it has moved":             {lines(twoCalls), at(308, "text/plain", ""), HTTP, 308, "HTTP 308 Permanent Redirect"},
		"a page for people":        {lines(twoCalls), at(200, "text/html", "<h1>Welcome</h1>"), HTTP, 200, "HTTP 200 OK without a JSON-RPC response: <h1>Welcome</h1>"},
		"a bad gateway of its own": {lines(twoCalls), at(502, "text/html", "<h1>Bad</h1>"), HTTP, 502, "HTTP 502 Bad Gateway: <h1>Bad</h1>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opt := patient()
			noted := notes(&opt)
			frames, err := throughTap(t, planned(c.frames, nil), opt, c.url, c.conn)
			var none *ReachError
			if !errors.As(err, &none) || none.Status != c.status || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d: %v, want %d: %s", none.Status, err, c.status, c.want)
			}
			if len(*noted) > 0 {
				t.Errorf("notes %q", *noted)
			}
			if n := strings.Count(bodies(frames), `"tools/call"`); n > 0 {
				t.Errorf("%d calls were sent nevertheless", n)
			}
			if c.status == 308 && none.Location != "/elsewhere" {
				t.Errorf("location %q", none.Location)
			}
		})
	}
}

// TestRefusedAsRecorded: a message that was refused in the recording too does not prevent the
// session from being opened.
func TestRefusedAsRecorded(t *testing.T) {
	frames := lines(`
>{"jsonrpc":"2.0","id":8,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"0"}}}
` + twoCalls)
	server := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := jsonrpc.Peek(body)
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case string(m.ID) == "8": // the second initialize may come first: the client does not wait for an answer to this one
			w.WriteHeader(http.StatusUnauthorized)
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, result(string(m.ID)))
		}
	}))
	opt := patient()
	if got := bodies(tapped(t, planned(frames, nil), opt, server, HTTP)); !strings.Contains(got, `"name":"b"`) {
		t.Errorf("the session did not continue:\n%s", got)
	}
}

// TestGoneOverHTTP: a server that can no longer be reached is reported once, with what was not
// played because of it.
func TestGoneOverHTTP(t *testing.T) {
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := jsonrpc.Peek(body)
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if strings.Contains(string(body), `"name":"a"`) {
			_ = server.Listener.Close()
			w.Header().Set("Connection", "close")
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, result(string(m.ID)))
	}))
	t.Cleanup(server.Close)
	server.Config.SetKeepAlivesEnabled(false)
	frames := lines(twoCalls + `
>{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"c"}}
{"jsonrpc":"2.0","id":4,"result":{"content":[]}}
>{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"d"}}
{"jsonrpc":"2.0","id":5,"result":{"content":[]}}
`)
	opt := patient()
	var died, unsent []Note
	noted := notes(&opt)
	tell := opt.Note
	opt.Note = func(n Note) {
		tell(n)
		switch n.Kind {
		case NoteDied:
			died = append(died, n)
		case NoteUnsent:
			unsent = append(unsent, n)
		}
	}
	tapped(t, planned(frames, nil), opt, server.URL, HTTP)
	if len(*noted) != 2 || len(died) != 1 || len(unsent) != 1 {
		t.Fatalf("notes %q", *noted)
	}
	if n := died[0]; n.Frame != (session.Ref{Seq: 6}) || len(n.Requests) != 1 || !strings.Contains(n.Text, "could not be reached") || !strings.HasSuffix(n.Text, "while tools/call b (#6) waited for a response") {
		t.Errorf("%+v", n)
	}
	if n := unsent[0]; len(n.Requests) != 2 || n.Text != "2 requests were not sent: tools/call c (#8), tools/call d (#10)" {
		t.Errorf("%+v", n)
	}
}

// A goneConn is a connection whose server is gone from the start, or after a response.
type goneConn struct {
	answers int
	to      chan<- Event
}

func (g *goneConn) Open(_ context.Context, to chan<- Event) error {
	g.to = to
	g.die()
	return nil
}

func (g *goneConn) die() {
	if g.answers--; g.answers < 0 {
		g.to <- Event{Err: io.ErrUnexpectedEOF, Gone: true}
	}
}

func (g *goneConn) Send(m *Outgoing) <-chan error {
	sent := make(chan error, 1)
	sent <- nil
	if len(m.ids) > 0 && g.answers >= 0 {
		g.to <- Event{Raw: []byte(result(m.ids[0]))}
		g.die()
	}
	return sent
}

func (g *goneConn) HangUp(*Outgoing) bool { return false }
func (g *goneConn) CloseSend()            {}
func (g *goneConn) Close() string         { return "" }

// TestGoneBeforehand: a request that was not yet due when the server went away was not played,
// whether it is the next one, the first one or the last one.
func TestGoneBeforehand(t *testing.T) {
	for answers, want := range []string{
		"3 requests were not sent: initialize tester 1, 2025-11-25 (#1), tools/call a (#4), tools/call b (#6)",
		"2 requests were not sent: tools/call a (#4), tools/call b (#6)",
		"tools/call b (#6) was not sent",
	} {
		opt := patient()
		opt.Pace = replay.Recorded
		noted := notes(&opt)
		frames := lines(twoCalls)
		for i, heard := 0, 0; i < len(frames); i++ {
			if frames[i].At = 0; heard >= answers && frames[i].Lane == tap.ToServer {
				frames[i].At = time.Hour // longer than any test
			} else if frames[i].Lane == tap.ToClient {
				heard++
			}
		}
		if err := Play(t.Context(), planned(frames, nil), &goneConn{answers: answers}, opt); err != nil {
			t.Error(err)
		}
		if got := strings.Join(*noted, "\n"); got != "died: unexpected EOF\nunsent: "+want {
			t.Errorf("%d: %s", answers, got)
		}
	}
}

// TestNotOpened: if the handshake is not answered, no other request is sent.
func TestNotOpened(t *testing.T) {
	opt := patient()
	opt.Timeout = 50 * time.Millisecond
	noted := notes(&opt)
	got := bodies(play(t, planned(lines(twoCalls), nil), opt, answering(func(string, string, string) (string, error) { return "", nil })))
	if len(*noted) != 2 || !strings.HasPrefix((*noted)[0], "timeout: initialize") ||
		(*noted)[1] != "unsent: 2 requests were not sent: tools/call a (#4), tools/call b (#6)" {
		t.Errorf("notes %q", *noted)
	}
	if strings.Contains(got, "tools/call") {
		t.Errorf("the session continued:\n%s", got)
	}
}

// TestSilence: the replay gives up on a server that stops answering.
func TestSilence(t *testing.T) {
	more := ""
	for i := 4; i < 40; i++ {
		more += fmt.Sprintf(`
>{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"c"}}
{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, i, i)
	}
	frames := lines(twoCalls + more)
	for i := range frames { // the handshake took an hour, so it may take that long now
		if frames[i].At = time.Duration(i) * time.Microsecond; i > 0 {
			frames[i].At += time.Hour
		}
	}
	opt := patient()
	opt.Timeout = 50 * time.Millisecond
	noted := notes(&opt)
	play(t, planned(frames, nil), opt, answering(func(method, id, _ string) (string, error) {
		if method != "initialize" {
			return "", nil
		}
		return result(id), nil
	}))
	all := strings.Join(*noted, "\n")
	if n := strings.Count(all, "timeout: "); n != maxSilence {
		t.Errorf("waited for %d requests", n)
	}
	if !strings.Contains(all, "died: the server stopped answering") || !strings.Contains(all, "unsent: 35 requests were not sent: tools/call c") {
		t.Errorf("notes:\n%s", all)
	}
}
