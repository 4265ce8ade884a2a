package mock

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
)

// Whatever a client sends, it gets a response, and the next client is served.
func TestServerHandlesAnyRequest(t *testing.T) {
	for _, name := range []string{"2025-11-25-tools-healthy", "2026-07-28-tools-healthy"} {
		_, url := served(t, loaded(t, recorded(t, name), replay.Options{Pace: replay.Instant}), ServerOptions{Cut: 1})
		deep := strings.Repeat(`[`, 100_000)
		for _, body := range []string{
			"", " ", "null", "{}", "[]", "[[]]", "{", deep, deep + strings.Repeat("]", 100_000), "\x00\xff\xfe", `"` + strings.Repeat("x", 1<<20) + `"`,
			`{"jsonrpc":"2.0","id":"` + "\\u0000\\u001b[2J" + `","method":"initialize","params":{"protocolVersion":7,"clientInfo":"x"}}`,
			`{"jsonrpc":"2.0","id":99999999999999999999999999,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","method":"initialize"}`,
			`[` + strings.Repeat(opening+",", 200) + opening + `]`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		} {
			for _, header := range [][]string{nil, {"Mcp-Protocol-Version: 2026-07-28"}, {"Mcp-Protocol-Version: " + strings.Repeat("9", 1000)}, {"Accept: "}, {"Mcp-Name: =?base64?="}} {
				for _, method := range []string{"POST", "GET", "DELETE", "PUT", "OPTIONS"} {
					for _, path := range []string{"/mcp", "/message", "/message?sessionId=x", "/mcp?client=1"} {
						res, _ := ask(t, url, testRequest{method, path, append([]string{"Last-Event-ID: -1"}, header...), body[:min(len(body), 1<<20)]})
						if res.StatusCode >= 500 {
							t.Errorf("%s %s %.60q: %s", method, path, body, res.Status)
						}
					}
					if len(body) > 1000 {
						break
					}
				}
			}
		}
	}
}

// An impossible recording does not make the server fail.
func TestLoadHandlesAnyExchange(t *testing.T) {
	var frames []tap.Frame
	add := func(lane tap.Lane, exchange uint64, form tap.Form, raw string) {
		frames = append(frames, tap.Frame{Seq: uint64(len(frames) + 1), Lane: lane, Exchange: exchange, Form: form, Raw: []byte(raw), Size: int64(len(raw))})
	}
	event := func(exchange uint64, e tap.Event) { add(tap.Lifecycle, exchange, tap.FormLine, string(e.Encode())) }
	n := uint64(0)
	for _, number := range []uint64{1, 7, 1 << 20, 1 << 63, 7} {
		for _, status := range []int{-1, 0, 42, 101, 200, 204, 304, 401, 404, 405, 999, 1 << 30} {
			for _, body := range []string{"", "x", opening, `{"jsonrpc":"2.0","id":0,"result":{}}`, `{"jsonrpc":"2.0","id":0,"error":{"code":-32600}}`} {
				for _, method := range []string{"POST", "GET", "DELETE", "\x00"} {
					x := number + n
					n++
					header := [][2]string{{"", ""}, {"A\r\nB", "c\r\nd"}, {"Mcp-Session-Id", "\x00"}, {"Content-Type", "text/event-stream"}, {"Accept", "*/*"}, {"Host", "%"}, {"Origin", "\x7f"}}
					event(x, tap.Event{Name: tap.EventRequest, Conn: 1, Method: method, Target: "/mcp?\x00", Header: header})
					add(tap.ToServer, x, tap.FormBody, opening)
					event(x, tap.Event{Name: tap.EventResponse, Status: status, Header: header})
					add(tap.ToClient, x, tap.FormBody, body)
					add(tap.ToClient, x, tap.FormEvent, "id: \x00\nevent: endpoint\ndata: %%%\n\n")
					if status%2 == 0 {
						event(x, tap.Event{Name: tap.EventEnd})
					}
				}
			}
		}
	}
	add(tap.Lifecycle, 3, tap.FormLine, "no event")
	rec := loaded(t, frames, replay.Options{Pace: replay.Instant})
	s, url := served(t, rec, ServerOptions{})
	// Requests without a complete response may wait forever, as recorded.
	impatient := &http.Client{Timeout: 300 * time.Millisecond}
	for range 3 {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			r, err := http.NewRequestWithContext(t.Context(), method, url+s.Path(), strings.NewReader(opening))
			if err != nil {
				t.Fatal(err)
			}
			res, err := impatient.Do(r)
			if err != nil {
				continue
			}
			body, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if bytes.Contains(body, []byte("\x00\r\n")) || res.StatusCode < 200 {
				t.Error(res.Status, string(body))
			}
		}
	}
	if res, _ := ask(t, url, testRequest{"GET", "/elsewhere", nil, ""}); res.StatusCode != 404 {
		t.Error(res.Status)
	}
}

// The server waits for a client that does not read, so unread output does not fill memory.
func TestServerWaitsForSlowClients(t *testing.T) {
	const events, size = 48, 1 << 20
	long := strings.Repeat("x", size)
	text := ">" + opening + "\n" + `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}` + "\n>" + survey + "\n"
	for i := range events {
		text += fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":%d,"message":"%s"}}`+"\n", i, long)
	}
	text += `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}` + "\n"
	s, url := served(t, loaded(t, lines(text), replay.Options{Pace: replay.Instant}), ServerOptions{})
	id := begun(t, url, s.Path())
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s HTTP/1.0\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n%s\r\nContent-Length: %d\r\n\r\n%s", s.Path(), id, len(survey), survey)
	waiting := func() int {
		x := s.named(strings.TrimPrefix(id, idHeader+": "))
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.waiting
	}
	for late := time.Now().Add(soon); waiting() < maxWaiting; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal(waiting(), "unread bytes")
		}
	}
	if n := waiting(); n > maxWaiting+2*size {
		t.Error(n, "unread bytes")
	}
	body, err := io.ReadAll(conn)
	if n := bytes.Count(body, []byte("\ndata: ")); err != nil || n != events+1 || len(body) < events*size {
		t.Errorf("%d events, %d bytes, %v", n, len(body), err)
	}
	if n := waiting(); n != 0 {
		t.Error(n, "unread bytes")
	}
}

// A message that is too long is refused before it is read.
func TestServerBoundsMessages(t *testing.T) {
	_, url := served(t, loaded(t, recorded(t, "2025-11-25-tools-healthy"), replay.Options{}), ServerOptions{})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", maxMessage+1)
	status := make([]byte, len("HTTP/1.1 413"))
	if _, err := io.ReadFull(conn, status); err != nil || string(status) != "HTTP/1.1 413" {
		t.Errorf("%v %s", err, status)
	}
}

// A client that leaves before a response gets none, not even an empty one with status 200.
func TestServerDoesNotRespondToClientsThatLeft(t *testing.T) {
	text := ">" + opening + "\n" + `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}` + "\n>" + survey + "\n" +
		`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}` + "\n"
	frames := lines(text)
	frames[len(frames)-1].At = time.Hour
	s, url := served(t, loaded(t, frames, replay.Options{Pace: replay.Recorded}), ServerOptions{})
	id := begun(t, url, s.Path())
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n%s\r\nContent-Length: %d\r\n\r\n%s", s.Path(), id, len(survey), survey)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); len(got) > 0 {
		t.Errorf("got %.60q, %v", got, err)
	}
}
