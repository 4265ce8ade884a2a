package mock

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/text"
)

// fixture reads an HTTP recording that has the heads of its exchanges.
func fixture(t testing.TB, name string) []tap.Frame {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	_, frames, err := text.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return frames
}

// A testRequest is a hand-written request: its method, path, header fields as "Name: value", and body.
type testRequest struct {
	method, path string
	header       []string
	body         string
}

// ask sends a request, and returns the response and its body.
func ask(t testing.TB, url string, x testRequest) (*http.Response, string) {
	t.Helper()
	return askOver(t, http.DefaultTransport, url, x)
}

// askOver is ask with a given HTTP client.
func askOver(t testing.TB, over http.RoundTripper, url string, x testRequest) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), x.method, url+x.path, strings.NewReader(x.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, h := range x.header {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	res, err := over.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

const (
	opening  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"studio","version":"5.1.0"}}}`
	survey   = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"survey","arguments":{"from":1990},"_meta":{"progressToken":"p"}}}`
	listing  = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	ready    = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	token    = "Authorization: Bearer x"
	idHeader = "Mcp-Session-Id"
)

// begun opens a session, and returns its header field.
func begun(t testing.TB, url, path string, header ...string) string {
	t.Helper()
	res, body := ask(t, url, testRequest{"POST", path, header, opening})
	if res.StatusCode != 200 || res.Header.Get(idHeader) == "" {
		t.Fatalf("%s: %s", res.Status, body)
	}
	return idHeader + ": " + res.Header.Get(idHeader)
}

// Requests recorded over HTTP are refused and answered as recorded: with status, fields and body.
func TestServerPlaysRefusals(t *testing.T) {
	rec := loaded(t, fixture(t, "http-2025-11-25"), replay.Options{Pace: replay.Instant})
	var notes []string
	var mu sync.Mutex
	_, url := served(t, rec, ServerOptions{Note: func(n replay.Note) {
		mu.Lock()
		defer mu.Unlock()
		if n.Kind == replay.NoteRefused {
			notes = append(notes, n.Text)
		}
	}})
	is := func(x testRequest, status int, header, body string) {
		t.Helper()
		res, got := ask(t, url, x)
		name, value, _ := strings.Cut(header, ": ")
		if res.StatusCode != status || header != "" && res.Header.Get(name) != value || !strings.Contains(got, body) {
			t.Errorf("%s %s %v: %s %v\n%s", x.method, x.path, x.header, res.Status, res.Header, got)
		}
	}
	// The challenge names this server, and the resource that it names exists.
	is(testRequest{"POST", "/mcp", nil, opening}, 401,
		`WWW-Authenticate: Bearer resource_metadata="`+url+`/.well-known/oauth-protected-resource/mcp"`, "no token")
	// One initialize was refused, so one is refused, and another one after a session has begun.
	is(testRequest{"POST", "/mcp", nil, opening}, 200, "", "station")
	is(testRequest{"POST", "/mcp", nil, opening}, 401, "", "no token")
	is(testRequest{"GET", "/.well-known/oauth-protected-resource/mcp", nil, ""}, 200, "Content-Type: application/json", `"resource":"`+url+`/mcp"`)
	is(testRequest{"POST", "/token", nil, "grant_type=client_credentials"}, 200, "", "access_token")
	is(testRequest{"GET", "/elsewhere", nil, ""}, 404, "", "nothing was recorded here")

	id := begun(t, url, "/mcp", token)
	is(testRequest{"POST", "/mcp", []string{id}, listing}, 200, "", `"name":"survey"`)
	is(testRequest{"POST", "/mcp", []string{id, token}, ready}, 202, "", "")
	is(testRequest{"GET", "/mcp", []string{id, token}, ""}, 405, "Allow: POST, DELETE", "no stream here")
	is(testRequest{"POST", "/mcp", []string{id, token}, listing}, 200, "Content-Type: application/json", `"name":"survey"`)
	is(testRequest{"POST", "/mcp", []string{id, token}, survey}, 200, "Content-Type: text/event-stream", `"progress":1`)
	is(testRequest{"GET", "/mcp", []string{id, token, "Last-Event-ID: s1_1"}, ""}, 200, "Content-Type: text/event-stream", `"id":2,"result":{"content"`)
	is(testRequest{"POST", "/mcp", []string{id, token}, listing[:40]}, 400, "", "-32700")
	is(testRequest{"POST", "/mcp", []string{id, token}, " "}, 400, "", "")
	is(testRequest{"DELETE", "/mcp", []string{id, token}, ""}, 204, "", "")
	is(testRequest{"POST", "/mcp", []string{id, token}, listing}, 404, "", "Session not found")
	is(testRequest{"GET", "/mcp", []string{id, token}, ""}, 404, "", "Session not found")
	is(testRequest{"DELETE", "/mcp", []string{id, token}, ""}, 404, "", "Session not found")
	mu.Lock()
	defer mu.Unlock()
	all := strings.Join(notes, "\n")
	if len(notes) != 3 || strings.Count(all, "initialize studio 5.1.0, 2025-11-25 gets HTTP 401, as recorded for frame ") != 2 ||
		!strings.Contains(all, ", since it has no Authorization") || !strings.Contains(all, "tools/list gets HTTP 404, ") {
		t.Error(all)
	}
}

// Some servers refuse requests for an ended session with 400. Such a refusal applies to any request
// for an ended session, and not to the same request in another session.
func TestServerRefusesEndedSessions(t *testing.T) {
	frames := fixture(t, "http-2025-11-25")
	request, end := 0, 0
	for i, f := range frames {
		if f.Lane == tap.Lifecycle && f.Exchange == 10 && strings.Contains(string(f.Raw), `"DELETE"`) {
			request = i
		}
		if f.Exchange == 10 {
			end = i
		}
	}
	late := func(lane tap.Lane, form tap.Form, raw string) tap.Frame {
		return tap.Frame{Lane: lane, Form: form, Exchange: 11, Raw: []byte(raw), Size: int64(len(raw))}
	}
	const alive = `{"jsonrpc":"2.0","id":9,"method":"ping"}`
	const over = `{"jsonrpc":"2.0","error":{"code":-32000,"message":"no such session"}}`
	frames = slices.Insert(frames, end+1,
		late(tap.Lifecycle, 0, strings.Replace(string(frames[request].Raw), "DELETE", "POST", 1)),
		late(tap.ToServer, tap.FormBody, alive),
		late(tap.Lifecycle, 0, `{"event":"response","status":400,"header":[["Content-Type","application/json"],["X-Gone","yes"]]}`),
		late(tap.ToClient, tap.FormBody, over),
		late(tap.Lifecycle, 0, `{"event":"end","by":"server"}`))
	for i := range frames {
		frames[i].Seq = uint64(i + 1)
	}
	_, url := served(t, loaded(t, frames, replay.Options{Pace: replay.Instant}), ServerOptions{})
	id := begun(t, url, "/mcp", token)
	head := []string{id, token}
	for range 2 {
		if res, body := ask(t, url, testRequest{"POST", "/mcp", head, alive}); res.StatusCode != 200 || !strings.Contains(body, `"id":9`) || !strings.Contains(body, `"result":{}`) {
			t.Errorf("%s: %s", res.Status, body)
		}
	}
	if res, _ := ask(t, url, testRequest{"DELETE", "/mcp", head, ""}); res.StatusCode != 204 {
		t.Error(res.Status)
	}
	for _, body := range []string{alive, listing, ready} {
		if res, got := ask(t, url, testRequest{"POST", "/mcp", head, body}); res.StatusCode != 400 || got != over || res.Header.Get("X-Gone") != "yes" {
			t.Errorf("%s: %s: %s", body, res.Status, got)
		}
	}
}

// Requests that the specification requires a server to refuse are refused, whatever was recorded.
func TestServerGuards(t *testing.T) {
	rec := loaded(t, recorded(t, "2025-11-25-tools-healthy"), replay.Options{Pace: replay.Instant})
	_, url := served(t, rec, ServerOptions{Names: []string{"mock.test"}})
	id := begun(t, url, "/mcp")
	for _, c := range []struct {
		header []string
		body   string
		status int
	}{
		{[]string{"Host: evil.example"}, opening, 403},
		{[]string{"Host: evil.example", id}, listing, 403},
		{[]string{"Host: mock.test:99"}, opening, 200},
		{[]string{"Host: LOCALHOST:1"}, opening, 200},
		{[]string{"Host: 192.0.2.1"}, opening, 403},
		{[]string{"Host: [::1]:80"}, opening, 200},
		{[]string{"Origin: http://evil.example"}, opening, 403},
		{[]string{"Origin: null"}, opening, 403},
		{[]string{"Origin: http://localhost:6274"}, opening, 200},
		{[]string{"Mcp-Protocol-Version: 2025-11-25", id}, listing, 200},
		{[]string{"Mcp-Protocol-Version: 1999-01-01", id}, listing, 400},
		{nil, listing, 400},
		{[]string{"Mcp-Session-Id: none"}, listing, 404},
		{[]string{"Mcp-Session-Id: none"}, opening, 404},
	} {
		res, body := ask(t, url, testRequest{"POST", "/mcp", c.header, c.body})
		if res.StatusCode != c.status || c.status != 200 && jsonrpc.Peek([]byte(body)).ErrorCode == "" {
			t.Errorf("%v: %s, want %d\n%s", c.header, res.Status, c.status, body)
		}
	}
	for _, method := range []string{"GET", "DELETE"} {
		if res, body := ask(t, url, testRequest{method, "/mcp", nil, ""}); res.StatusCode != 400 || !strings.Contains(body, "Mcp-Session-Id header is required") {
			t.Errorf("%s without a session: %s %s", method, res.Status, body)
		}
		head := []string{"Mcp-Protocol-Version: 2026-07-28"}
		if res, _ := ask(t, url, testRequest{method, "/mcp", head, ""}); res.StatusCode != 405 {
			t.Errorf("%s of 2026-07-28, which has none: %s", method, res.Status)
		}
	}
	for _, path := range []string{"/mcp", "/sse", "/ws", "/elsewhere"} {
		if res, _ := ask(t, url, testRequest{"GET", path, []string{"Host: evil.example"}, ""}); res.StatusCode != 403 {
			t.Errorf("GET %s for a foreign host: %s", path, res.Status)
		}
	}
}

// The head of a request of 2026-07-28 must repeat values of its body; otherwise the request is
// refused.
func TestServerChecksHeads(t *testing.T) {
	frames := recorded(t, "2026-07-28-tools-healthy")
	_, url := served(t, loaded(t, frames, replay.Options{Pace: replay.Instant}), ServerOptions{})
	const call = `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"\u00e9","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	head := []string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: =?base64?w6k=?="}
	with := func(i int, field string) []string {
		h := append([]string(nil), head...)
		h[i] = field
		return h
	}
	for _, c := range []struct {
		header []string
		status int
		code   string
	}{
		{head, 200, "-32602"}, // it was not recorded
		{with(0, "X: y"), 400, "-32020"},
		{with(0, "Mcp-Protocol-Version: 2025-11-25"), 400, "-32020"},
		{with(1, "X: y"), 400, "-32020"},
		{with(1, "Mcp-Method: tools/List"), 400, "-32020"},
		{with(2, "X: y"), 400, "-32020"},
		{with(2, "Mcp-Name: =?base64?!?="), 400, "-32020"},
		{append(with(0, head[0]), "Mcp-Session-Id: gone"), 200, "-32602"},
	} {
		res, body := ask(t, url, testRequest{"POST", "/mcp", c.header, call})
		if m := jsonrpc.Peek([]byte(body)); res.StatusCode != c.status || m.ErrorCode != c.code || string(m.ID) != "9" {
			t.Errorf("%v: %s, want %d %s\n%s", c.header, res.Status, c.status, c.code, body)
		}
	}
	for body, want := range map[string]struct {
		status int
		code   string
	}{
		strings.Replace(call, "tools/call", "nothing/known", 1):      {404, "-32601"},
		strings.ReplaceAll(call, "2026-07-28", "2027-01-01"):         {400, "-32022"},
		strings.Replace(opening, `"id":0`, `"id":9`, 1):              {400, "-32022"},
		`{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{}}`: {400, "-32602"},
	} {
		m := jsonrpc.Peek([]byte(body))
		claim := replay.ReadClaim(&m)
		header := []string{"Mcp-Method: " + claim.Method, "Mcp-Name: =?base64?w6k=?=", "Mcp-Protocol-Version: 2026-07-28"}
		switch {
		case claim.Method == "initialize":
			header = nil
		case claim.Modern:
			header[2] = "Mcp-Protocol-Version: " + claim.Version
		}
		res, got := ask(t, url, testRequest{"POST", "/mcp", header, body})
		if m := jsonrpc.Peek([]byte(got)); res.StatusCode != want.status || m.ErrorCode != want.code || string(m.ID) != "9" {
			t.Errorf("%s: %s, want %v\n%s", body, res.Status, want, got)
		}
	}
	for _, method := range []string{"GET", "DELETE"} {
		if res, _ := ask(t, url, testRequest{method, "/mcp", []string{"Mcp-Protocol-Version: 2026-07-28"}, ""}); res.StatusCode != 405 {
			t.Errorf("%s: %s", method, res.Status)
		}
	}
}

// The reverse: an HTTP recording plays on stdio, where nothing is refused and a resumed stream is one
// stream.
func TestStdioPlaysHTTP(t *testing.T) {
	frames := fixture(t, "http-2025-11-25")
	rec := loaded(t, frames, replay.Options{Pace: replay.Instant})
	var out bytes.Buffer
	var noted notes
	in := strings.NewReader(opening + "\n" + ready + "\n" + listing + "\n" + survey + "\n")
	s, err := Stdio(t.Context(), rec.Script, in, &out, noted.note)
	if err != nil || s.Requests() != 3 || s.Recorded() != 3 {
		t.Error(err, s.Requests(), s.Recorded())
	}
	var want []string
	for _, m := range messages(frames) {
		if !slices.Contains(want, m) { // one was repeated when the stream was resumed
			want = append(want, m)
		}
	}
	if got := strings.Split(strings.TrimSpace(out.String()), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	noted.check(t)
}

// The Mcp-Param fields of a tool that the recorded server listed must repeat the arguments, unless
// the recorded server accepted a call without them or one before it listed the tool.
func TestServerChecksParamFields(t *testing.T) {
	const (
		meta  = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		list  = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`
		tools = `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"properties":{"city":{"x-mcp-header":"City"}}}}]}}`
		call  = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","arguments":{"city":"Oslo"},` + meta + `}}`
		done  = `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`
		city  = `["Mcp-Param-City","Oslo"]`
	)
	// recording has exchanges: request, response and a header field.
	recording := func(exchanges ...[3]string) (frames []tap.Frame) {
		add := func(exchange int, lane tap.Lane, form tap.Form, text string) {
			n := uint64(len(frames) + 1)
			frames = append(frames, tap.Frame{
				Seq: n, At: time.Duration(n) * time.Millisecond, Lane: lane, Form: form, Exchange: uint64(exchange), Raw: []byte(text), Size: int64(len(text)),
			})
		}
		for i, x := range exchanges {
			m := jsonrpc.Peek([]byte(x[0]))
			add(i+1, tap.Lifecycle, 0, fmt.Sprintf(`{"event":"request","method":"POST","target":"/mcp","header":[["Mcp-Protocol-Version","2026-07-28"],`+
				`["Mcp-Method",%q],["Mcp-Name",%q],["Accept","*/*"],%s]}`, m.Method, replay.ReadClaim(&m).Name, x[2]))
			add(i+1, tap.ToServer, tap.FormBody, x[0])
			add(i+1, tap.Lifecycle, 0, `{"event":"response","status":200,"header":[["Content-Type","application/json"]]}`)
			add(i+1, tap.ToClient, tap.FormBody, x[1])
			add(i+1, tap.Lifecycle, 0, `{"event":"end","by":"server"}`)
		}
		return frames
	}
	listed, called, bare := [3]string{list, tools, `["X","y"]`}, [3]string{call, done, city}, [3]string{call, done, `["X","y"]`}
	for name, c := range map[string]struct {
		frames []tap.Frame
		status int // without the field
	}{
		"stdio":             {lines(">" + list + "\n" + tools + "\n>" + call + "\n" + done + "\n"), 400},
		"HTTP":              {recording(listed, called), 400},
		"accepted without":  {recording(listed, bare), 200},
		"called unlisted":   {recording(bare, listed), 200},
		"unlisted, but has": {recording(called, listed), 200},
	} {
		_, url := served(t, loaded(t, c.frames, replay.Options{Pace: replay.Instant}), ServerOptions{})
		head := []string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: a"}
		for field, status := range map[string]int{"Mcp-Param-City: Oslo": 200, "Mcp-Param-City: Rome": c.status, "X: y": c.status} {
			res, body := ask(t, url, testRequest{"POST", "/mcp", append(slices.Clip(head), field), call})
			m := jsonrpc.Peek([]byte(body))
			if res.StatusCode != status || (status == 400) != (m.ErrorCode == "-32020" && strings.Contains(body, "Mcp-Param-City is missing")) {
				t.Errorf("%s, %s: %s, want %d\n%s", name, field, res.Status, status, body)
			}
		}
	}
}
