package mock

import (
	"bufio"
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

// crossed returns an HTTP recording with one frame per line. A line begins with a lane (> to the
// server, < to the client, . for lifecycle events), the number of the exchange, and a letter for the
// form (e for an event, t, b and c for WebSocket text, binary and close, none for a body). For an
// event the line has only the data.
func crossed(t testing.TB, text string) (frames []tap.Frame) {
	t.Helper()
	for line := range strings.Lines(strings.TrimSpace(text)) {
		head, raw, _ := strings.Cut(strings.TrimSpace(line), " ")
		f := tap.Frame{Seq: uint64(len(frames) + 1), At: time.Duration(len(frames)) * time.Millisecond, Form: tap.FormBody}
		switch head[0] {
		case '>':
			f.Lane = tap.ToServer
		case '<':
			f.Lane = tap.ToClient
		case '.':
			f.Lane, f.Form = tap.Lifecycle, tap.FormLine
		}
		form := ""
		if _, err := fmt.Sscanf(head[1:]+" ", "%d%s", &f.Exchange, &form); err != nil && form != "" {
			t.Fatal(line, err)
		}
		switch form {
		case "e":
			f.Form, raw = tap.FormEvent, "data: "+raw+"\n\n"
		case "t":
			f.Form = tap.FormText
		case "b":
			f.Form = tap.FormBinary
		case "c":
			f.Form, raw = tap.FormClose, "\x03\xf3"+raw // 1011
		}
		f.Raw, f.Size = []byte(raw), int64(len(raw))
		frames = append(frames, f)
	}
	return frames
}

// refusedEarly has an initialize, and a call and an upload that were refused because of the head of
// the request, so that the response precedes the message. A last call has no message at all.
const refusedEarly = `
.1 {"event":"request","method":"POST","target":"/mcp","header":[["Host","localhost"],["Content-Length","148"]]}
.1 {"event":"response","status":401,"header":[["Content-Type","text/plain"],["X-Why","because"],["Content-Length","4"]]}
<1 nope
>1 {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"studio","version":"5.1.0"}}}
.1 {"event":"end","by":"server"}
.2 {"event":"request","method":"POST","target":"/mcp","header":[["Host","localhost"],["Authorization","Bearer x"],["Content-Length","148"]]}
>2 {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"studio","version":"5.1.0"}}}
.2 {"event":"response","status":200,"header":[["Content-Type","application/json"],["Mcp-Session-Id","s"]]}
<2 {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}
.2 {"event":"end","by":"server"}
.3 {"event":"request","method":"POST","target":"/mcp","header":[["Host","localhost"],["Authorization","Bearer x"],["Mcp-Session-Id","s"]]}
.3 {"event":"response","status":413,"reason":"Payload Too Large","header":[["Content-Type","text/plain"],["Content-Length","4"]]}
<3 big!
>3 {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"large"}}
.3 {"event":"end","by":"server"}
.4 {"event":"request","method":"POST","target":"/mcp","header":[["Host","localhost"],["Authorization","Bearer x"],["Mcp-Session-Id","s"],["Content-Length","5000"],["Expect","100-continue"]]}
.4 {"event":"response","status":413,"reason":"Payload Too Large","header":[["Content-Type","text/plain"],["Content-Length","7"]]}
<4 bigger!
.4 {"event":"end","by":"client","error":"the client hung up within the request"}
.5 {"event":"request","method":"POST","target":"/mcp","header":[["Host","localhost"],["Authorization","Bearer x"],["Mcp-Session-Id","s"],["Content-Length","6000"]]}
.5 {"event":"response","status":429,"header":[["Content-Length","0"]]}
>5 {"jsonrpc":"2.0","id":4,"method":"tools/ca
.5 {"event":"end","by":"client","error":"the client hung up within the request"}`

// A request that the recorded server refused because of its head, before its message had arrived, is
// refused.
func TestServerPlaysEarlyRefusals(t *testing.T) {
	s, url := served(t, loaded(t, crossed(t, refusedEarly), replay.Options{Pace: replay.Instant}), ServerOptions{})
	res, body := ask(t, url, testRequest{"POST", "/mcp", nil, opening})
	if res.StatusCode != 401 || res.Header.Get("X-Why") != "because" || res.Header.Get(idHeader) != "" || body != "nope" {
		t.Errorf("initialize: %s %v %q", res.Status, res.Header, body)
	}
	id := begun(t, url, "/mcp", token)
	large := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"large"}}`
	if res, body := ask(t, url, testRequest{"POST", "/mcp", []string{id, token}, large}); res.StatusCode != 413 || body != "big!" {
		t.Errorf("a large call: %s %q", res.Status, body)
	}
	// The client sends the beginning of its message, and waits.
	begin := func(length int, fields, begun string) (*http.Response, string) {
		t.Helper()
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\n%s\r\n%s\r\nContent-Length: %d\r\n%s\r\n%s", conn.RemoteAddr(), id, token, length, fields, begun)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode == http.StatusContinue {
			return res, ""
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(body)
	}
	for range 2 {
		if res, body := begin(5000, "Expect: 100-continue\r\n", ""); res.StatusCode != 413 || body != "bigger!" {
			t.Errorf("with Expect: %s %q", res.Status, body)
		}
	}
	if res, _ := begin(6000, "", large[:40]); res.StatusCode != 429 {
		t.Errorf("an upload: %s", res.Status)
	}
	// A client that tries again may be accepted, and so may one with a shorter message.
	for _, length := range []int{6000, 100} {
		if res, _ := begin(length, "Expect: 100-continue\r\n", ""); res.StatusCode != http.StatusContinue {
			t.Errorf("%d bytes: %s", length, res.Status)
		}
	}
	s.Close()
}

// A request that a fault refuses is refused before anything that precedes its response is sent.
func TestServerInjectsRefusals(t *testing.T) {
	f, err := replay.ParseFault("status=503 tools/call n=1")
	if err != nil {
		t.Fatal(err)
	}
	frames := exchanges(scripted{ask: slow, events: []string{eventOf("a_1", fmt.Sprintf(slowness, 1)), eventOf("a_2", slowDone)}})
	_, url := served(t, loaded(t, frames, replay.Options{Pace: replay.Instant, Faults: []replay.Fault{f}}), ServerOptions{})
	id := begun(t, url, "/mcp")
	for _, want := range []struct {
		status      int
		media, body string
	}{
		{503, "application/json", `"id":1,"error":{"code":-32603`},
		{200, "text/event-stream", `"progress":1`},
	} {
		res, body := ask(t, url, testRequest{"POST", "/mcp", []string{id, current}, slow})
		if res.StatusCode != want.status || res.Header.Get("Content-Type") != want.media || !strings.Contains(body, want.body) {
			t.Errorf("%s %v\n%s", res.Status, res.Header, body)
		}
	}
}

// A second DELETE that the recorded server accepted is accepted.
func TestServerRepeatsDelete(t *testing.T) {
	text := `
.1 {"event":"request","method":"POST","target":"/mcp","header":[["Host","localhost"]]}
>1 {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"studio","version":"5.1.0"}}}
.1 {"event":"response","status":200,"header":[["Content-Type","application/json"],["Mcp-Session-Id","s"]]}
<1 {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}
.1 {"event":"end","by":"server"}`
	for i, status := range []int{200, 204, 404} {
		text += fmt.Sprintf(`
.%[1]d {"event":"request","method":"DELETE","target":"/mcp","header":[["Host","localhost"],["Mcp-Session-Id","s"]]}
.%[1]d {"event":"response","status":%[2]d,"header":[["X-Time","%[1]d"]]}
.%[1]d {"event":"end","by":"server"}`, i+2, status)
	}
	_, url := served(t, loaded(t, crossed(t, text), replay.Options{Pace: replay.Instant}), ServerOptions{})
	id := begun(t, url, "/mcp")
	for i, status := range []int{200, 204, 404} {
		res, body := ask(t, url, testRequest{"DELETE", "/mcp", []string{id}, ""})
		if res.StatusCode != status || res.Header.Get("X-Time") != fmt.Sprint(i+2) {
			t.Errorf("the %d. DELETE: %s %v %s", i+1, res.Status, res.Header, body)
		}
	}
}

// A 502 of the tap is not a response of the server. A request with such a response counts as not
// recorded, whether the response came before, within or after its body.
func TestServerPlaysNoResponseOfTheTap(t *testing.T) {
	const (
		call    = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"late"}}`
		initial = ">%[1]d " + opening + "\n"
		head    = `.%[1]d {"event":"request","method":"POST","target":"/mcp","header":[["Host","localhost"],["Content-Length","%[2]d"]]}
`
		inside = `.%[1]d {"event":"request","method":"POST","target":"/mcp","header":[["Host","localhost"],["Mcp-Session-Id","s"]]}
`
		refused = `.%[1]d {"event":"response","status":502,"by":"tap","header":[["Content-Type","text/plain"],["Content-Length","5"]]}
<%[1]d gone!
`
		end = `.%[1]d {"event":"end","by":"tap","error":"the server could not be reached"}
`
	)
	var text strings.Builder
	for i, form := range []string{
		head + refused + end,
		head + refused + initial + end,
		head + initial + refused + end,
		head + initial + `.%[1]d {"event":"response","status":200,"header":[["Content-Type","application/json"],["Mcp-Session-Id","s"]]}
<%[1]d {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}
.%[1]d {"event":"end","by":"server"}
`,
		inside + refused + ">%[1]d " + call + "\n" + end,
		inside + ">%[1]d " + call + "\n" + refused,
	} {
		fmt.Fprintf(&text, form, i+1, len(opening))
	}
	rec := loaded(t, crossed(t, text.String()), replay.Options{Pace: replay.Instant})
	if n := rec.Requests(); n != 1 {
		t.Errorf("%d requests are played", n)
	}
	_, url := served(t, rec, ServerOptions{})
	id := begun(t, url, "/mcp")
	res, body := ask(t, url, testRequest{"POST", "/mcp", []string{id, current}, call})
	if res.StatusCode != 200 || !strings.Contains(body, "no recorded response for tools/call late") {
		t.Errorf("a call that never reached the server: %s %q", res.Status, body)
	}
}
