package mock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/replay/client"
)

// A recordingServer is a Server with a live server from which it records.
type recordingServer struct {
	t      *testing.T
	l      *Live
	server *Server
	url    string
	notes  notes
	over   chan struct{} // closed when the session is over
}

// newRecordingServer serves a recording together with a live server.
func newRecordingServer(t *testing.T, recorded string, start func() (io.ReadWriteCloser, error)) *recordingServer {
	t.Helper()
	k := &recordingServer{t: t, l: &Live{Dial: dialing(start), Patience: time.Hour}, over: make(chan struct{})}
	rec := loaded(t, lines(recorded), replay.Options{Forward: k.l.Forward})
	k.server = NewServer(rec, ServerOptions{Note: k.notes.note, Live: k.l, Over: func(*replay.Session) { close(k.over) }})
	server := httptest.NewServer(k.server)
	k.url = server.URL
	t.Cleanup(func() {
		k.server.Close()
		server.CloseClientConnections()
		server.Close()
		k.l.Close()
	})
	return k
}

// end ends the session for the client, and returns the frames to add.
func (k *recordingServer) end(id string) (added []string) {
	k.t.Helper()
	if res, body := ask(k.t, k.url, testRequest{"DELETE", "/mcp", []string{idHeader + ": " + id}, ""}); res.StatusCode != 200 {
		k.t.Errorf("%s: %s", res.Status, body)
	}
	return k.added()
}

// added returns the frames to add when the session is over.
func (k *recordingServer) added() (added []string) {
	<-k.over
	for _, f := range k.l.Added() {
		added = append(added, f.Lane.String()+" "+strings.TrimSpace(string(f.Raw)))
	}
	return added
}

func noServer() (io.ReadWriteCloser, error) { return nil, errors.New("no such server") }

// Over HTTP, too, recorded responses come from the recording and the others from the live server,
// each message on the stream of the request that it belongs to.
func TestRecordingUsesBothServers(t *testing.T) {
	live := newFakeLive(map[string][]string{
		`"initialize"`: {`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`},
		`"new"`:        {`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":6,"progress":1}}`, `{"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{"live":true}}`},
		`"live model"`: {`{"jsonrpc":"2.0","id":6,"result":{"content":["live"]}}`},
	})
	k := newRecordingServer(t, recordedPart, func() (io.ReadWriteCloser, error) { return live, nil })
	c := newWebClient(t, k.url+"/mcp")
	has := func(name string, n int) func() bool { return func() bool { return len(c.got[name]) >= n } }
	if status := c.post("hello", []byte(liveInitialize)); status != 200 || c.session == "" {
		t.Fatal(status, c.session, c.errs)
	}
	if status := c.post("ready", []byte(liveReady)); status != http.StatusAccepted {
		t.Error(status)
	}
	c.open.Go(func() { c.post("old", []byte("{\n"+strings.TrimPrefix(liveOld, "{")+"\r\n")) })
	c.until(has("old", 1)) // while this waits for an answer:
	c.open.Go(func() { c.post("new", []byte(liveNew)) })
	c.until(func() bool { return len(c.got["new"]) >= 1 && c.all >= 4 })
	c.post("", []byte(`{"jsonrpc":"2.0","id":0,"result":{"model":"m"}}`))
	c.post("", []byte(`{"jsonrpc":"2.0","id":1099511627777,"result":{"model":"live model"}}`))
	c.until(func() bool {
		return strings.Contains(strings.Join(c.got["old"], ""), `"id":5`) && strings.Contains(strings.Join(c.got["new"], ""), `"id":6`)
	})
	added := k.end(c.session)
	wantLines(t, "added", added,
		"to_server "+liveNew,
		`to_client {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":6,"progress":1}}`,
		`to_client {"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{"live":true}}`,
		`to_server {"jsonrpc":"2.0","id":0,"result":{"model":"live model"}}`,
		`to_client {"jsonrpc":"2.0","id":6,"result":{"content":["live"]}}`,
	)
	c.mu.Lock()
	defer c.mu.Unlock()
	wantLines(t, "on the old one's stream", c.got["old"], // the oldest open one
		`{"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{}}`,
		`{"jsonrpc":"2.0","id":1099511627777,"method":"sampling/createMessage","params":{"live":true}}`,
		`{"jsonrpc":"2.0","id":5,"result":{"content":[]}}`)
	wantLines(t, "on the new one's stream", c.got["new"],
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":6,"progress":1}}`,
		`{"jsonrpc":"2.0","id":6,"result":{"content":["live"]}}`)
	wantLines(t, "errors", c.errs)
}

// Clients of HTTP+SSE and of WebSocket can be recorded too.
func TestRecordingOtherTransports(t *testing.T) {
	for name, dial := range map[string]func(url string) client.Conn{
		"sse":       func(url string) client.Conn { return client.SSE(url+"/sse", new(client.Watcher)) },
		"websocket": func(url string) client.Conn { return client.WebSocket("ws" + strings.TrimPrefix(url, "http") + "/ws") },
	} {
		t.Run(name, func(t *testing.T) {
			live := newFakeLive(map[string][]string{
				`"initialize"`: {`{"jsonrpc":"2.0","id":0,"result":{}}`},
				`"new"`:        {`{"jsonrpc":"2.0","id":"q","method":"roots/list"}`},
				`"roots"`:      {`{"jsonrpc":"2.0","id":6,"result":{"content":["live"]}}`},
			})
			k := newRecordingServer(t, recordedPart, func() (io.ReadWriteCloser, error) { return live, nil })
			conn, events := dial(k.url), make(chan client.Event)
			if err := conn.Open(t.Context(), events); err != nil {
				t.Fatal(err)
			}
			for _, step := range [][2]string{
				{liveInitialize, `"serverInfo"`},
				{liveReady, ""},
				{liveNew, `"id":"live-1"`},
				{`{"jsonrpc":"2.0","id":"live-1","result":{"roots":[]}}`, `"live"`},
			} {
				sent := conn.Send(client.NewOutgoing([]byte(step[0])))
				if step[1] != "" {
					if e := <-events; !strings.Contains(string(e.Raw), step[1]) {
						t.Errorf("%s: %s %v, want %s", step[0], e.Raw, e.Err, step[1])
					}
				}
				if err := <-sent; err != nil {
					t.Errorf("%s: %v", step[0], err)
				}
			}
			go func() {
				for range events { // which Close may still send
				}
			}()
			conn.Close()
			wantLines(t, "added", k.added(),
				"to_server "+liveNew,
				`to_client {"jsonrpc":"2.0","id":"q","method":"roots/list"}`,
				`to_server {"jsonrpc":"2.0","id":"q","result":{"roots":[]}}`,
				`to_client {"jsonrpc":"2.0","id":6,"result":{"content":["live"]}}`)
			close(events)
		})
	}
}

// An exchangeConn is a connection to a live server that answers each request on a separate exchange,
// which alone identifies the request.
type exchangeConn struct{ to chan<- client.Event }

func (c *exchangeConn) Open(_ context.Context, to chan<- client.Event) error {
	c.to = to
	return nil
}

func (c *exchangeConn) Send(m *client.Outgoing) <-chan error {
	sent := make(chan error, 1)
	sent <- nil
	go func() {
		switch raw := string(m.Bytes()); {
		case strings.Contains(raw, `"initialize"`):
			c.to <- client.Event{Raw: []byte(`{"jsonrpc":"2.0","id":0,"result":{}}`), On: m}
		case strings.Contains(raw, `"new"`):
			c.to <- client.Event{Raw: []byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`), On: m}
			c.to <- client.Event{Raw: []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no"}}`), On: m}
		case strings.Contains(raw, `"refused"`):
			c.to <- client.Event{Err: errors.New("HTTP 401"), On: m}
		}
	}()
	return sent
}

func (c *exchangeConn) HangUp(*client.Outgoing) bool { return false }
func (c *exchangeConn) CloseSend()                   {}
func (c *exchangeConn) Close() string                { return "" }

// A message that a live server sends on the exchange of a request is sent on the stream of that
// request, even if an older request is open. An error without an id there answers the request.
func TestRecordingKeepsExchanges(t *testing.T) {
	k := newRecordingServer(t, recordedPart, noServer)
	k.l.Dial = func() (client.Conn, error) { return new(exchangeConn), nil }
	c := newWebClient(t, k.url+"/mcp")
	c.post("hello", []byte(liveInitialize))
	c.open.Go(func() { c.post("old", []byte(liveOld)) })
	c.until(func() bool { return len(c.got["old"]) == 1 })
	c.post("new", []byte(liveNew))
	c.until(func() bool { return len(c.got["new"]) == 2 })
	c.post("refused", []byte(`{"jsonrpc":"2.0","id":7,"method":"refused"}`))
	c.post("", []byte(`{"jsonrpc":"2.0","id":0,"result":{"model":"m"}}`))
	added := k.end(c.session)
	c.open.Wait()
	answer := `{"jsonrpc":"2.0","id":6,"error":{"code":1,"message":"no"}}`
	wantLines(t, "on the new one's stream", c.got["new"], `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`, answer)
	wantLines(t, "added", added, "to_server "+liveNew, `to_client {"jsonrpc":"2.0","method":"notifications/message","params":{}}`, "to_client "+answer)
	if got := strings.Join(c.got["refused"], ""); !strings.Contains(got, "the live server sent no response: HTTP 401") {
		t.Error(got)
	}
}

// There is only one session. Requests outside it are refused as specified.
func TestRecordingRefuses(t *testing.T) {
	k := newRecordingServer(t, recordedPart, noServer)
	is := func(x testRequest, status int, text string) (id string) {
		t.Helper()
		res, body := ask(t, k.url, x)
		if res.StatusCode != status || !strings.Contains(body, text) {
			t.Errorf("%s %.100s %v: %s %.200s, want %d %s", x.method, x.body, x.header, res.Status, body, status, text)
		}
		return res.Header.Get(idHeader)
	}
	list := `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`
	is(testRequest{"GET", "/mcp", nil, ""}, 400, "Mcp-Session-Id header is required")
	is(testRequest{"DELETE", "/mcp", nil, ""}, 400, "Mcp-Session-Id header is required")
	is(testRequest{"POST", "/mcp", []string{idHeader + ": unknown"}, list}, 404, "Session not found")
	id := idHeader + ": " + is(testRequest{"POST", "/mcp", nil, liveInitialize}, 200, "serverInfo")
	for _, c := range []struct {
		method, path, header, body string
		status                     int
		text                       string
	}{
		{"POST", "/mcp", "", liveInitialize, 409, "each run records one session"},
		{"POST", "/mcp", id, liveInitialize, 409, "each run records one session"},
		{"POST", "/mcp", "", list, 400, "Mcp-Session-Id header is required"},
		{"POST", "/mcp", idHeader + ": other", list, 404, "Session not found"},
		{"POST", "/mcp", "", liveReady, 400, "Mcp-Session-Id header is required"},
		{"GET", "/mcp", "", "", 400, "Mcp-Session-Id header is required"},
		{"GET", "/mcp", idHeader + ": other", "", 404, "Session not found"},
		{"DELETE", "/mcp", idHeader + ": other", "", 404, "Session not found"},
		{"DELETE", "/mcp", "", "", 400, "Mcp-Session-Id header is required"},
		{"GET", "/mcp", "Mcp-Protocol-Version: 2026-07-28", "", 405, ""},
		{"PUT", "/mcp", id, "", 405, ""},
		{"POST", "/elsewhere", id, list, 404, "nothing was recorded here"},
		{"POST", "/mcp", "Host: evil.example", list, 403, "not the name of the server"},
		{"GET", "/mcp", "Host: evil.example", "", 403, "not the name of the server"},
		{"DELETE", "/mcp", "Origin: https://evil.example", "", 403, "another origin"},
		{"POST", "/mcp", "Origin: https://evil.example", liveInitialize, 403, "another origin"},
		{"POST", "/mcp", "Mcp-Protocol-Version: 1999-01-01", list, 400, "unsupported"},
		{"GET", "/sse", "", "", 409, "each run records one session"},
		{"GET", "/ws", "Upgrade: websocket", "", 409, "each run records one session"},
		{"POST", "/mcp", id, "{", 400, "-32700"},
		{"POST", "/mcp", id, "[]", 400, ""},
		{"POST", "/mcp", id, `{"jsonrpc":"2.0","id":{},"method":"x"}`, 400, ""},
		{"POST", "/mcp", id, strings.Repeat("[", 100_000), 400, ""},
		{"POST", "/mcp", id, "\x00\xff", 400, ""},
		{"POST", "/mcp", id, liveReady, 202, ""},
		{"POST", "/mcp", id, "[" + list + "," + list + "]", 200, "no such server"}, // it is still the same session
		{"POST", "/mcp", id, "[" + strings.Repeat(list+",", 10_000) + list + "]", 200, "no recorded response"},
	} {
		var header []string
		if c.header != "" {
			header = []string{c.header}
		}
		is(testRequest{c.method, c.path, header, c.body}, c.status, c.text)
	}
	k.end(strings.TrimPrefix(id, idHeader+": "))
	is(testRequest{"POST", "/mcp", []string{id}, list}, 404, "Session not found")
	is(testRequest{"POST", "/mcp", []string{id}, liveReady}, 404, "Session not found")
	is(testRequest{"POST", "/mcp", nil, liveInitialize}, 409, "each run records one session")
	is(testRequest{"GET", "/mcp", []string{id}, ""}, 404, "Session not found")
	is(testRequest{"DELETE", "/mcp", []string{id}, ""}, 404, "Session not found")
}

// An initialize that fails does not begin a session; another one may.
func TestRecordingInitializeFails(t *testing.T) {
	live := newFakeLive(map[string][]string{
		`"id":0`: {`{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"no"}}`},
		`"id":1`: {`{"jsonrpc":"2.0","id":1,"result":{}}`},
	})
	k := newRecordingServer(t, "", func() (io.ReadWriteCloser, error) { return live, nil })
	if res, body := ask(t, k.url, testRequest{"POST", "/mcp", nil, liveInitialize}); res.Header.Get(idHeader) != "" || !strings.Contains(body, "-32602") {
		t.Error(res.Header, body)
	}
	second := strings.Replace(liveInitialize, `"id":0`, `"id":1`, 1)
	res, body := ask(t, k.url, testRequest{"POST", "/mcp", nil, second})
	if res.Header.Get(idHeader) == "" || !strings.Contains(body, "result") {
		t.Error(res.Header, body)
	}
	if added := k.end(res.Header.Get(idHeader)); len(added) != 4 {
		t.Errorf("%q", added)
	}
}

// Messages that belong to no request are sent on the GET. Before there is a GET they wait for one,
// or for the next POST. A second GET replaces the first.
func TestRecordingStanding(t *testing.T) {
	live := newFakeLive(map[string][]string{
		`"initialize"`:   {`{"jsonrpc":"2.0","id":0,"result":{}}`},
		`"initialized"`:  nil,
		"roots/list_cha": {`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"aside"}}`},
		`"echo"`:         {`{"jsonrpc":"2.0","id":3,"result":{}}`},
	})
	k := newRecordingServer(t, "", func() (io.ReadWriteCloser, error) { return live, nil })
	c := newWebClient(t, k.url+"/mcp")
	c.post("hello", []byte(liveInitialize))
	changed := []byte(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	waiting := func() int {
		conv := k.l.c.Load()
		conv.mu.Lock()
		defer conv.mu.Unlock()
		if conv.standing == nil {
			return 0
		}
		return len(conv.standing.pieces)
	}
	c.post("", changed)
	for waiting() == 0 {
		time.Sleep(time.Millisecond)
	}
	c.post("echo", []byte(`{"jsonrpc":"2.0","id":3,"method":"echo"}`))
	c.until(func() bool { return len(c.got["echo"]) == 2 })
	c.post("", changed)
	for waiting() == 0 {
		time.Sleep(time.Millisecond)
	}
	c.get("first", "")
	c.until(func() bool { return len(c.got["first"]) == 1 })
	c.get("second", "")
	c.post("", changed)
	c.until(func() bool { return len(c.got["second"]) == 1 })
	k.end(c.session) // which ends the stream too
	c.open.Wait()
	wantLines(t, "with the next POST", c.got["echo"], `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"aside"}}`, `{"jsonrpc":"2.0","id":3,"result":{}}`)
	wantLines(t, "errors", c.errs)
}

// When the live server or the session ends, no request waits for a response any longer.
func TestRecordingEnds(t *testing.T) {
	t.Run("server", func(t *testing.T) {
		live := newFakeLive(map[string][]string{`"initialize"`: {`{"id":0,"result":{}}`}, `"new"`: {"exit"}})
		k := newRecordingServer(t, recordedPart, func() (io.ReadWriteCloser, error) { return live, nil })
		id := recordingBegun(t, k)
		if res, body := ask(t, k.url, testRequest{"POST", "/mcp", []string{id}, liveNew}); res.StatusCode != 200 || !strings.Contains(body, "the live server has ended") {
			t.Error(res.Status, body)
		}
	})
	t.Run("session", func(t *testing.T) {
		live := newFakeLive(map[string][]string{`"initialize"`: {`{"id":0,"result":{}}`}})
		k := newRecordingServer(t, recordedPart, func() (io.ReadWriteCloser, error) { return live, nil })
		c := newWebClient(t, k.url+"/mcp")
		c.post("hello", []byte(liveInitialize))
		c.open.Go(func() { c.post("new", []byte(liveNew)) })
		for len(live.lines()) < 2 {
			time.Sleep(time.Millisecond)
		}
		c.get("standing", "")
		k.server.Close()
		c.open.Wait()
		if got := strings.Join(c.got["new"], ""); !strings.Contains(got, "the session is over") || len(c.errs) > 0 {
			t.Error(got, c.errs)
		}
	})
}

// recordingBegun opens the session, and returns its header field.
func recordingBegun(t *testing.T, k *recordingServer) string {
	t.Helper()
	res, body := ask(t, k.url, testRequest{"POST", "/mcp", nil, liveInitialize})
	if res.StatusCode != 200 {
		t.Fatal(res.Status, body)
	}
	return idHeader + ": " + res.Header.Get(idHeader)
}

// The live server waits for a client that does not read, so unread output does not fill memory. The
// session survives if the client hangs up.
func TestRecordingBounded(t *testing.T) {
	const size = 1 << 20
	live := newFakeLive(nil)
	k := newRecordingServer(t, "", func() (io.ReadWriteCloser, error) { return live, nil })
	conn, err := net.Dial("tcp", strings.TrimPrefix(k.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"jsonrpc":"2.0","id":1,"method":"slow"}`
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	for len(live.lines()) == 0 {
		time.Sleep(time.Millisecond)
	}
	var mu sync.Mutex
	sent := 0
	written := make(chan struct{})
	go func() {
		defer close(written)
		line := `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + strings.Repeat("x", size) + `"}}` + "\n"
		for range 100 {
			_, _ = io.WriteString(live.toClient, line)
			mu.Lock()
			sent++
			mu.Unlock()
		}
	}()
	conv := k.l.c.Load()
	waits := func() bool {
		conv.mu.Lock()
		defer conv.mu.Unlock()
		return conv.waiting >= maxWaiting
	}
	for !waits() {
		time.Sleep(time.Millisecond)
	}
	mu.Lock()
	if sent > 90 {
		t.Errorf("%d of 100 MB were read", sent)
	}
	mu.Unlock()
	conn.Close()
	<-written // the write must return even though nothing is read
	conv.mu.Lock()
	for _, x := range conv.streams {
		if n := x.waiting; n > maxWaiting+2*size {
			t.Errorf("%d unread bytes", n)
		}
	}
	conv.mu.Unlock()
	_, _ = io.WriteString(live.toClient, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
	go func() {
		for len(live.lines()) < 2 {
			time.Sleep(time.Millisecond)
		}
		_, _ = io.WriteString(live.toClient, `{"jsonrpc":"2.0","id":2,"result":{"still":"there"}}`+"\n")
	}()
	if res, got := ask(t, k.url, testRequest{"POST", "/mcp", nil, `{"jsonrpc":"2.0","id":2,"method":"next"}`}); res.StatusCode != 200 || !strings.Contains(got, "still") {
		t.Errorf("%s %.200s", res.Status, got)
	}
}
