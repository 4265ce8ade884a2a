package mock

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A duplexClient sends messages and keeps what it receives.
type duplexClient struct {
	mu   sync.Mutex
	came *sync.Cond
	got  []string
	over bool
	send func([]byte) error
}

func newDuplexClient() *duplexClient {
	c := &duplexClient{}
	c.came = sync.NewCond(&c.mu)
	return c
}

func (c *duplexClient) add(message string, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !over {
		c.got = append(c.got, message)
	}
	c.over = c.over || over
	c.came.Broadcast()
}

// until waits for n messages and reports whether they arrived.
func (c *duplexClient) until(n int) bool {
	late := time.AfterFunc(soon, func() { c.add("", true) })
	defer late.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.got) < n && !c.over {
		c.came.Wait()
	}
	return len(c.got) >= n
}

// half plays the client half of a recording.
func (c *duplexClient) half(t *testing.T, frames []tap.Frame) {
	t.Helper()
	frames = beforeEnd(frames)
	due := 0
	for i := range frames {
		f := &frames[i]
		if m := jsonrpc.PeekFrame(f); m.Kind == jsonrpc.Other {
			continue
		}
		switch f.Lane {
		case tap.ToClient:
			due++
		case tap.ToServer:
			if !c.until(due) {
				t.Fatalf("%d of %d messages arrived before frame %d", len(c.got), due, f.Seq)
			}
			if err := c.send(bytes.TrimSpace(f.Raw)); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.until(due)
	want := messages(frames)
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], "\r", " ")
	}
	if !slices.Equal(c.got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(c.got, "\n"), strings.Join(want, "\n"))
	}
}

// dialEvents returns an HTTP+SSE client.
func dialEvents(t *testing.T, url, path string) *duplexClient {
	c := newDuplexClient()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	in := bufio.NewReader(res.Body)
	next := func() (tap.ServerSentEvent, error) {
		var raw []byte
		for {
			line, err := in.ReadBytes('\n')
			if raw = append(raw, line...); err != nil || len(line) == 1 {
				return tap.ParseServerSentEvent(raw), err
			}
		}
	}
	first, err := next()
	if err != nil || first.Name != "endpoint" || !strings.HasPrefix(string(first.Data), "/") {
		t.Fatalf("%v %+v", err, first)
	}
	c.send = func(message []byte) error {
		res, err := http.Post(url+string(first.Data), "application/json", bytes.NewReader(message))
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if body, _ := io.ReadAll(res.Body); res.StatusCode != 202 || len(body) > 0 && string(body) != "Accepted" {
			t.Errorf("%s %s", res.Status, body)
		}
		return nil
	}
	go func() {
		for {
			e, err := next()
			if err != nil {
				c.add("", true)
				return
			}
			c.add(string(e.Data), false)
		}
	}()
	return c
}

// dialSocket returns a WebSocket client.
func dialSocket(t *testing.T, url, path string) *duplexClient {
	c := newDuplexClient()
	dialer := websocket.Dialer{Subprotocols: []string{"mcp"}}
	conn, _, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(url, "http")+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if conn.Subprotocol() != "mcp" {
		t.Error(conn.Subprotocol())
	}
	t.Cleanup(func() { conn.Close() })
	c.send = func(message []byte) error { return conn.WriteMessage(websocket.TextMessage, message) }
	go func() {
		for {
			_, message, err := conn.ReadMessage()
			if err != nil {
				c.add("", true)
				return
			}
			c.add(string(message), false)
		}
	}()
	return c
}

// Over HTTP+SSE and WebSocket, which carry everything on one stream, the server half arrives in
// recorded order.
func TestServerDuplexSessions(t *testing.T) {
	for _, name := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			frames := recorded(t, name)
			if hasHeads(frames) {
				return // covered by TestServerPlaysRefusals
			}
			var noted notes
			var over sync.WaitGroup
			over.Add(2)
			s, url := served(t, loaded(t, frames, replay.Options{Pace: replay.Instant}), ServerOptions{
				Note: noted.note, Over: func(*replay.Session) { over.Done() },
			})
			dialEvents(t, url, s.EventPath()).half(t, frames)
			dialSocket(t, url, s.SocketPath()).half(t, frames)
			noted.check(t)
			s.Close()
			over.Wait()
		})
	}
}

// When the client is gone, the session and everything that belongs to it ends.
func TestServerDuplexEnds(t *testing.T) {
	frames := recorded(t, "2024-11-05-tools-healthy")
	over := make(chan *replay.Session, 2)
	s, url := served(t, loaded(t, frames, replay.Options{}), ServerOptions{Over: func(x *replay.Session) { over <- x }})
	c := dialEvents(t, url, s.EventPath())
	if err := c.send([]byte(opening)); err != nil || !c.until(1) {
		t.Fatal(err, c.got)
	}
	s.Close()
	if x := <-over; x.Requests() != 1 {
		t.Error(x.Requests())
	}
	c.mu.Lock()
	for !c.over {
		c.came.Wait()
	}
	c.mu.Unlock()
	if res, _ := ask(t, url, testRequest{"GET", s.EventPath(), nil, ""}); res.StatusCode != 503 {
		t.Error(res.Status)
	}
	if res, _ := ask(t, url, testRequest{"POST", "/mcp", nil, opening}); res.StatusCode != 404 {
		t.Error(res.Status)
	}
	if res, _ := ask(t, url, testRequest{"POST", "/message?sessionId=unknown", nil, opening}); res.StatusCode != 404 {
		t.Error(res.Status)
	}
}

// Over HTTP+SSE a POST that the server refused is refused again, and an event stream that the server
// ended ends.
func TestEventsRefusedAndEnded(t *testing.T) {
	frames := fixture(t, "events-refused")
	_, url := served(t, loaded(t, frames, replay.Options{}), ServerOptions{})
	res, err := http.Get(url + "/sse")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	in := bufio.NewReader(res.Body)
	var target string
	for target == "" {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		target, _ = strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !strings.HasPrefix(target, "/") {
			target = ""
		}
	}
	var got []string
	for _, f := range frames {
		if f.Lane != tap.ToServer {
			continue
		}
		res, body := ask(t, url, testRequest{method: "POST", path: target, header: []string{"Content-Type: application/json"}, body: string(f.Raw)})
		got = append(got, fmt.Sprint(res.StatusCode, " ", body))
	}
	if want := []string{"202 Accepted", "202 Accepted", "202 Accepted", "400 bad nine"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if rest, err := io.ReadAll(in); err != nil || bytes.Count(rest, []byte("data: ")) != 2 {
		t.Errorf("%v after %q", err, rest)
	}
}

// A WebSocket is played as recorded: refused if it was refused, with the subprotocol that the server
// accepted, with the recorded kinds of frames, including the close frame.
func TestServerPlaysSocket(t *testing.T) {
	frames := crossed(t, `
.1 {"event":"request","method":"GET","target":"/mcp","header":[["Host","localhost"],["Upgrade","websocket"]]}
.1 {"event":"response","status":503,"reason":"Busy","header":[["Retry-After","1"],["Content-Length","3"]]}
<1 no!
.1 {"event":"end","by":"server"}
.2 {"event":"request","method":"GET","target":"/mcp","header":[["Host","localhost"],["Upgrade","websocket"]]}
.2 {"event":"response","status":101,"header":[["Upgrade","websocket"],["Sec-WebSocket-Protocol","foo.v1"]]}
>2b {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"studio","version":"5.1.0"}}}
<2b {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}
>2t {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<2t {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}
<2c oops
.2 {"event":"end","by":"server","error":"the server hung up without a close frame"}`)
	_, url := served(t, loaded(t, frames, replay.Options{Pace: replay.Instant}), ServerOptions{})
	dial := func() (*websocket.Conn, *http.Response, error) {
		dialer := websocket.Dialer{Subprotocols: []string{"mcp", "foo.v1"}}
		return dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(url, "http")+"/mcp", nil)
	}
	_, res, err := dial()
	if err == nil || res == nil || res.StatusCode != 503 || res.Header.Get("Retry-After") != "1" {
		t.Fatal(res, err)
	}
	conn, _, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if p := conn.Subprotocol(); p != "foo.v1" {
		t.Errorf("the subprotocol is %q", p)
	}
	for _, x := range []struct {
		sent, got  int
		ask, reply string
	}{
		{websocket.BinaryMessage, websocket.BinaryMessage, opening, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`},
		{websocket.BinaryMessage, websocket.TextMessage, listing, `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`},
	} {
		if err := conn.WriteMessage(x.sent, []byte(x.ask)); err != nil {
			t.Fatal(err)
		}
		if kind, got, err := conn.ReadMessage(); err != nil || kind != x.got || string(got) != x.reply {
			t.Errorf("%d %s, %v", kind, got, err)
		}
	}
	_, _, err = conn.ReadMessage()
	if end := (*websocket.CloseError)(nil); !errors.As(err, &end) || end.Code != 1011 || end.Text != "oops" {
		t.Errorf("ended with %v", err)
	}
}

// A WebSocket whose first message is garbage, which the server ignored, gets no output before the
// first request.
func TestSocketBeginsWithGarbage(t *testing.T) {
	const discover = `{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"studio","version":"5.1.0"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	const found = `{"jsonrpc":"2.0","id":0,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}}`
	frames := crossed(t, `
.1 {"event":"request","method":"GET","target":"/mcp","header":[["Host","localhost"],["Upgrade","websocket"]]}
.1 {"event":"response","status":101,"header":[["Upgrade","websocket"],["Sec-WebSocket-Protocol","mcp"]]}
>1t not JSON
>1t `+discover+`
<1t `+found+`
>1c
.1 {"event":"end","by":"client"}`)
	_, url := served(t, loaded(t, frames, replay.Options{Pace: replay.Instant}), ServerOptions{})
	c := dialSocket(t, url, "/mcp")
	for _, message := range []string{"not JSON", discover} {
		if err := c.send([]byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	if !c.until(1) || c.got[0] != found {
		t.Errorf("got %q", c.got)
	}
}
