package client

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// TestSameID: if two requests with the same id are in flight, each gets the response on its own
// exchange, and ended exchanges are forgotten.
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
	noted := notes(&opt)
	var conn *httpConn
	got := bodies(tapped(t, planned(frames, nil), opt, server, func(url string, tap *Watcher) Conn {
		conn = newHTTP(url, tap)
		return conn
	}))
	if !strings.Contains(got, `"cursor":"live"`) || len(*noted) > 0 {
		t.Errorf("notes %q\n%s", *noted, got)
	}
	if n := len(conn.streams); n > 0 {
		t.Errorf("%d ended exchanges are still stored", n)
	}
}

// TestRetryOrder: a retry that was not recorded has its members in a fixed order.
func TestRetryOrder(t *testing.T) {
	for range 20 {
		c := &chain{state: []byte(`"s"`), answers: []byte(`{}`)}
		want := `{"name":"a","inputResponses":{},"requestState":"s"}`
		if got := string(withChain([]byte(`{"name":"a"}`), c)); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
}

// TestOwnState: a requestState that the client invented or dropped is sent as recorded, and an
// input_required result that the recorded client ignored is ignored.
func TestOwnState(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	call := func(id int, name, more string) string {
		return fmt.Sprintf(`>{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,%s%s}}`, id, name, more, meta)
	}
	const answers = `"inputResponses":{"n":{"action":"accept"}},`
	asks := func(id, state string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"input_required","inputRequests":{"n":{"method":"elicitation/create","params":{}}},"requestState":"` + state + `"}}`
	}
	refuses := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32602,"message":"invalid requestState"}}`
	}
	done := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"complete","content":[]}}`
	}
	frames := lines(strings.Join([]string{
		call(1, "left", ""), asks("1", "s1"),
		call(2, "forged", ""), asks("2", "s2"), call(3, "forged", answers+`"requestState":"xxx",`), refuses("3"),
		call(4, "forged", answers+`"requestState":"s2",`), done("4"),
		call(5, "dropped", ""), asks("5", "s5"), call(6, "dropped", answers), refuses("6"),
		call(7, "kept", ""), asks("7", "s7"), call(8, "kept", answers+`"requestState":"s7",`), done("8"),
	}, "\n") + "\n")
	serve := answering(func(_, id, raw string) (string, error) {
		state, sent := textOf(lookup([]byte(raw), "params", "requestState"))
		switch {
		case strings.HasPrefix(state, "live"):
			return done(id) + "\n", nil
		case sent || strings.Contains(raw, "inputResponses"):
			return refuses(id) + "\n", nil
		}
		return asks(id, "live"+id) + "\n", nil
	})
	opt := patient()
	noted := notes(&opt)
	got := play(t, planned(frames, nil), opt, serve)
	if found := differences(compared(t, frames, got), diff.Cosmetic); found != "" || len(*noted) > 0 {
		t.Errorf("found %s, notes %q, played\n%s", found, *noted, bodies(got))
	}
}

// TestServerRequests: server requests, including pings, are answered with the recorded bytes,
// whatever their ids and wherever they come.
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
	noted := notes(&opt)
	got := bodies(play(t, planned(frames, nil), opt, serve))
	for _, want := range []string{`{"id":"p", "error":{"code":-32601,"message":"no pings"}, "jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":"r","result":{ "roots":[] }}`} {
		if !strings.Contains(got, want) {
			t.Errorf("not sent: %s\n%s", want, got)
		}
	}
	if len(*noted) > 0 {
		t.Errorf("notes %q", *noted)
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

// A batcher answers frames that may be batches.
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

// TestBatches: messages that were sent in one array are sent in one array, as recorded except for
// values of the live server.
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
	noted := notes(&opt)
	got := sent(play(t, planned(lines(batches), nil), opt, func(in io.Reader, out io.Writer) {
		for r := bufio.NewScanner(in); r.Scan(); {
			if answer := batcher(r.Text()); answer != "" {
				fmt.Fprintln(out, answer)
			}
		}
	}))
	if got != strings.Join(want, "\n") || len(*noted) > 0 {
		t.Errorf("notes %q, sent\n%s", *noted, got)
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
		case strings.Contains(string(body), `"id":3`): // sends a request on this stream, and responds there
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
	if got := sent(frames); got != strings.Join(want, "\n") || len(*noted) > 0 {
		t.Errorf("over HTTP: notes %q, sent\n%s", *noted, got)
	}
}

// An exchange is a recorded HTTP exchange: the header, the message, and the response, "" for none.
// end is the event that ends it, without its name.
type exchange struct {
	header      [][2]string
	masked      []string
	body        string
	answer, end string
}

// exchanges returns the frames of consecutive exchanges.
func exchanges(all ...exchange) (frames []tap.Frame) {
	for i, x := range all {
		add := func(lane tap.Lane, form tap.Form, raw []byte) {
			n := len(frames)
			frames = append(frames, tap.Frame{Seq: uint64(n + 1), At: time.Duration(n) * time.Millisecond, Lane: lane, Form: form,
				Exchange: uint64(i + 1), Raw: raw, Size: int64(len(raw))})
		}
		add(tap.Lifecycle, tap.FormLine, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp", Header: x.header, Masked: x.masked}.Encode())
		add(tap.ToServer, tap.FormBody, []byte(x.body))
		if x.answer != "" {
			add(tap.Lifecycle, tap.FormLine, tap.Event{Name: tap.EventResponse, Status: 200}.Encode())
			add(tap.ToClient, tap.FormBody, []byte(x.answer))
		}
		if x.end == "" {
			x.end = `"by":"server"`
		}
		add(tap.Lifecycle, tap.FormLine, []byte(`{"event":"end",`+x.end+`}`))
	}
	return frames
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`

// TestHeaderAsRecorded: the fields that depend on the message are sent as recorded, even if they
// contradict the message, but with the values of the live server.
func TestHeaderAsRecorded(t *testing.T) {
	fields := func(more ...[2]string) [][2]string {
		return append([][2]string{{"Content-Type", "application/json"}, {"Accept", "application/json;q=0.9, text/event-stream"}, {"mcp-protocol-version", "2026-07-28"}}, more...)
	}
	call := func(id int, method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s%s}}`, id, method, params, modernMeta)
	}
	answer := func(id int, result string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"resultType":"complete",%s}}`, id, result)
	}
	const list = `"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"p":{"type":"string","x-mcp-header":"P"},"q":{"type":"string","x-mcp-header":"Q"},"key":{"type":"string","x-mcp-header":"Api-Key"}}}}]`
	const args = `"name":"a","arguments":{"p":"x","q":"y","key":"live-secret"},`
	frames := exchanges(
		exchange{header: fields([2]string{"Mcp-Method", "tools/list"}), body: call(1, "tools/list", ""), answer: answer(1, list)},
		exchange{header: fields([2]string{"Mcp-Method", "tools/list"}, [2]string{"Mcp-Name", "b"}, [2]string{"Mcp-Param-P", "other"}, [2]string{"Mcp-Param-Api-Key", "masked:0123456789ab"}),
			masked: []string{"Mcp-Param-Api-Key"}, body: call(2, "tools/call", args), answer: answer(2, `"content":[]`)},
		exchange{header: [][2]string{{"Content-Type", "application/json"}}, body: call(3, "tools/call", args), answer: answer(3, `"content":[]`)},
		exchange{header: fields([2]string{"Mcp-Method", "tools/call"}, [2]string{"Mcp-Name", "=?base64?YQ==?="}), body: call(4, "tools/call", `"name":"a",`),
			answer: `{"jsonrpc":"2.0","id":4,"result":{"resultType":"task","taskId":"t1","status":"working"}}`},
		exchange{header: fields([2]string{"Mcp-Method", "tasks/get"}, [2]string{"Mcp-Name", "t1"}), body: call(5, "tasks/get", `"taskId":"t1",`), answer: answer(5, `"taskId":"t1","status":"working"`)},
	)
	seen := map[string]http.Header{}
	var mu sync.Mutex
	server := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := jsonrpc.Peek(body)
		mu.Lock()
		seen[string(m.ID)] = r.Header
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		result := `"content":[]`
		switch string(m.ID) {
		case "1":
			result = list
		case "4":
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":4,"result":{"resultType":"task","taskId":"live","status":"working"}}`)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete",%s}}`, m.ID, result)
	}))
	tapped(t, planned(frames, nil), patient(), server, HTTP)
	const accept = "application/json;q=0.9, text/event-stream"
	for id, want := range map[string]string{
		"1": accept + " 2026-07-28 tools/list    ",
		"2": accept + " 2026-07-28 tools/list b other  live-secret",
		"3": "      ",
		"4": accept + " 2026-07-28 tools/call =?base64?YQ==?=   ",
		"5": accept + " 2026-07-28 tasks/get live   ",
	} {
		var got []string
		for _, name := range []string{"Accept", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Param-P", "Mcp-Param-Q", "Mcp-Param-Api-Key"} {
			got = append(got, strings.Join(seen[id].Values(name), ","))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", id, strings.Join(got, " "), want)
		}
	}
}

// TestRepeatedEvents: events that a server repeats when a stream is resumed are not processed
// twice.
func TestRepeatedEvents(t *testing.T) {
	frames := lines(opening + `
>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}
{"jsonrpc":"2.0","id":8,"method":"roots/list"}
>{"jsonrpc":"2.0","id":8,"result":{"roots":[]}}
{"jsonrpc":"2.0","id":2,"result":{"content":[]}}
`)
	const question = "id: q\nretry: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"roots/list\"}\n\n"
	asked := make(chan struct{}, 100)
	server := web(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		switch {
		case r.Method == http.MethodPost:
			fmt.Fprint(w, "id: 0\ndata:\n\n"+question)
		case r.Header.Get("Last-Event-Id") == "q":
			fmt.Fprint(w, "id: 0\ndata:\n\n"+question)
			asked <- struct{}{}
			fmt.Fprint(w, "id: r\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[]}}\n\n")
		}
	})
	opt := patient()
	noted := notes(&opt)
	got := bodies(tapped(t, planned(frames, nil), opt, server, HTTP))
	if n := strings.Count(got, `"result":{"roots":[]}`); n != 1 || len(*noted) > 0 || len(asked) == 0 {
		t.Errorf("answered %d times, notes %q\n%s", n, *noted, got)
	}
}

// TestDeclined: a handshake that is refused with an error, unlike in the recording, ends the replay,
// and so does a server that does not support the revision.
func TestDeclined(t *testing.T) {
	modern := `
>{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + modernMeta + `}}
{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","tools":[]}}
`
	const unsent = "unsent: 2 requests were not sent: tools/call a (#4), tools/call b (#6)"
	for name, c := range map[string]struct {
		frames   string
		revision jsonrpc.Revision
		answer   string // to the request that opens the session
		want     []string
	}{
		"an error": {twoCalls, "", `"error":{"code":-32602,"message":"Unsupported protocol version"}`,
			[]string{"refused: initialize tester 1, 2025-11-25 (#1) was refused: -32602 Unsupported protocol version", unsent}},
		"an error, in another revision": {twoCalls, jsonrpc.Rev20250618, `"error":{"code":-32602,"message":"Unsupported protocol version"}`,
			[]string{"refused: initialize tester 1, 2025-11-25 (#1) was refused: -32602 Unsupported protocol version", unsent}},
		"an error, in the later era": {twoCalls, jsonrpc.Rev20260728, `"error":{"code":-32601,"message":"Method not found"}`,
			[]string{"refused: initialize tester 1, 2025-11-25 (#1) was refused: -32601 Method not found", unsent}},
		"other versions": {twoCalls, jsonrpc.Rev20260728, `"result":{"supportedVersions":["2027-01-01"]}`,
			[]string{"version: the server speaks 2027-01-01, not 2026-07-28", unsent}},
		"an error, in the earlier era": {modern, jsonrpc.Rev20251125, `"error":{"code":-32601,"message":"Method not found"}`,
			[]string{"refused: initialize was refused: -32601 Method not found", "unsent: tools/list (#1) was not sent"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opt := patient()
			opt.Revision = c.revision
			noted := notes(&opt)
			got := bodies(play(t, planned(lines(c.frames), nil), opt, answering(func(method, id, _ string) (string, error) {
				if id == "" {
					return "", nil
				}
				return `{"jsonrpc":"2.0","id":` + id + `,` + c.answer + "}\n", nil
			})))
			if strings.Join(*noted, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("notes %q, want %q", *noted, c.want)
			}
			if strings.Contains(got, `"tools/`) || strings.Contains(got, `"notifications/initialized"`) {
				t.Errorf("the session continued:\n%s", got)
			}
		})
	}
	// A handshake that was refused in the recording too does not end the replay.
	opt := patient()
	noted := notes(&opt)
	frames := lines(`
>{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocolVersion":"1","capabilities":{}}}
{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"no"}}
` + twoCalls)
	got := bodies(play(t, planned(frames, nil), opt, mocked(t, frames)))
	if !strings.Contains(got, `"name":"b"`) || len(*noted) > 0 {
		t.Errorf("notes %q\n%s", *noted, got)
	}
}

// TestCancelledTwice: a client that aborted an exchange and also sent a cancellation sends only the
// recorded cancellation on stdio.
func TestCancelledTwice(t *testing.T) {
	header := [][2]string{{"Content-Type", "application/json"}}
	frames := exchanges(
		exchange{header: header, body: `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a",` + modernMeta + `}}`, end: `"by":"client"`},
		exchange{header: header, body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"enough"}}`},
	)
	got := bodies(play(t, planned(frames, nil), patient(), answering(func(string, string, string) (string, error) { return "", nil })))
	if strings.Count(got, "notifications/cancelled") != 1 || !strings.Contains(got, "enough") {
		t.Error(got)
	}
}

// TestStreamEnded: if the last response never came because the server ended the stream, the client
// waits for that end. If the client hung up, it does not wait.
func TestStreamEnded(t *testing.T) {
	header := [][2]string{{"Content-Type", "application/json"}, {"MCP-Protocol-Version", "2026-07-28"}}
	for by, want := range map[string]stepKind{`"by":"server","error":"the connection was closed"`: stepAwait, `"by":"client"`: stepHangUp} {
		plan := planned(exchanges(exchange{header: header, body: `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a",` + modernMeta + `}}`, end: by}), nil)
		if last := plan.steps[len(plan.steps)-1]; last.kind != want || last.request != 0 {
			t.Errorf("%s: the last step is %+v", by, last)
		}
	}
}

// TestHangUps: if the recorded client aborted an exchange, so does the replay before it continues;
// even if the server had ended the body properly, and in another revision.
func TestHangUps(t *testing.T) {
	header := [][2]string{{"Content-Type", "application/json"}, {"Accept", "application/json, text/event-stream"}}
	call := func(id int, name, meta string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q%s}}`, id, name, meta)
	}
	recording := func(legacy bool, end string) []tap.Frame {
		meta, first := ","+modernMeta, []exchange(nil)
		if legacy {
			meta = ""
			first = []exchange{{header: header, body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
				answer: `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`},
				{header: header, body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`}}
		}
		return exchanges(append(first, exchange{header: header, body: call(2, "a", meta), end: end},
			exchange{header: header, body: call(3, "b", meta), answer: `{"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","content":[]}}`})...)
	}
	for name, c := range map[string]struct {
		legacy    bool
		end       string
		revision  jsonrpc.Revision
		cancelled int
	}{
		"by the client":            {false, `"by":"client"`, "", 0},
		"half closed":              {false, `"by":"server","half_closed":true`, "", 0},
		"legacy, half closed":      {true, `"by":"server","half_closed":true`, "", 0},
		"to the earlier era":       {false, `"by":"server","half_closed":true`, jsonrpc.Rev20251125, 1},
		"to an earlier revision":   {true, `"by":"server","half_closed":true`, jsonrpc.Rev20250618, 0},
		"to the later era":         {true, `"by":"client"`, jsonrpc.Rev20260728, 0},
		"the server alone did it":  {false, `"by":"server"`, "", -1},
		"it had the answer before": {true, `"by":"client"`, "", -2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			frames := recording(c.legacy, c.end)
			if c.cancelled == -2 {
				frames = append(frames, exchanges(exchange{header: header, body: `{"jsonrpc":"2.0","id":4,"method":"ping"}`, answer: `[{"jsonrpc":"2.0","id":4,"result":{}},{"jsonrpc":"2.0","id":2,"result":{"content":[]}}]`})...)
				for i := range frames {
					frames[i].Seq, frames[i].At = uint64(i+1), time.Duration(i)*time.Millisecond
				}
				for i := len(frames) - 5; i < len(frames); i++ {
					frames[i].Exchange = 99
				}
			}
			plan := planned(frames, nil)
			hangUps := 0
			for _, s := range plan.steps {
				if s.kind == stepHangUp {
					hangUps++
				}
			}
			a := slices.IndexFunc(plan.requests, func(a request) bool { return a.id == "2" })
			if (hangUps == 1) == (c.cancelled == -1) || (plan.requests[a].answer != (session.Ref{})) != (c.cancelled == -2) {
				t.Fatalf("%d hang-ups, answer %v", hangUps, plan.requests[a].answer)
			}
			hung, hangs := make(chan struct{}), c.cancelled >= 0
			server := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				m := jsonrpc.Peek(body)
				w.Header().Set("Content-Type", "application/json")
				switch {
				case r.Method != http.MethodPost:
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				case m.ID == nil:
					w.WriteHeader(http.StatusAccepted)
					return
				case strings.Contains(string(body), `"name":"a"`) && hangs:
					w.Header().Set("Content-Type", "text/event-stream")
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
					close(hung)
					return
				case strings.Contains(string(body), `"name":"b"`) && hangs:
					<-hung
				}
				fmt.Fprint(w, result(string(m.ID)))
			}))
			opt := patient()
			opt.Revision = c.revision
			noted := notes(&opt)
			opt.Timeout = 20 * time.Second
			got := bodies(tapped(t, plan, opt, server, HTTP))
			if n := strings.Count(got, "notifications/cancelled"); n != max(0, c.cancelled) {
				t.Errorf("cancelled %d times\n%s", n, got)
			}
			for _, s := range *noted {
				if !strings.HasPrefix(s, "version: ") {
					t.Errorf("note %q", s)
				}
			}
		})
	}
}

// TestHangUpOfResumedStream: aborting a resumed stream aborts the request with which the stream
// began.
func TestHangUpOfResumedStream(t *testing.T) {
	frames := exchanges(
		exchange{body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
			answer: `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`},
		exchange{header: [][2]string{{"Mcp-Session-Id", "s1"}}, body: `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}`, answer: "id: 7\ndata:\n\n"},
		exchange{header: [][2]string{{"Mcp-Session-Id", "s1"}, {"Last-Event-ID", "7"}}, end: `"by":"client"`},
	)
	for i := range frames {
		switch f := &frames[i]; {
		case strings.HasPrefix(string(f.Raw), "id: 7"):
			f.Form = tap.FormEvent
		case f.Exchange == 1 && strings.Contains(string(f.Raw), `"response"`):
			f.Raw = tap.Event{Name: tap.EventResponse, Status: 200, Header: [][2]string{{"Mcp-Session-Id", "s1"}}}.Encode()
		case f.Exchange == 2 && strings.Contains(string(f.Raw), `"response"`):
			f.Raw = tap.Event{Name: tap.EventResponse, Status: 200, Header: [][2]string{{"Content-Type", "text/event-stream"}}}.Encode()
		case f.Exchange == 3 && strings.Contains(string(f.Raw), `"POST"`):
			f.Raw = []byte(strings.Replace(string(f.Raw), "POST", "GET", 1))
		}
	}
	plan := planned(frames, nil)
	if last := plan.steps[len(plan.steps)-1]; last.kind != stepHangUp || plan.requests[last.request].id != "2" {
		t.Errorf("the last step is %+v", last)
	}
}

// TestReceivedInARow: equal messages in a row take one step of a plan, and the replay waits for all
// of them.
func TestReceivedInARow(t *testing.T) {
	const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}` + "\n"
	const n = 1000
	frames := lines(opening + `
>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":"p"}}}
` + strings.Repeat(progress, n) + `
>{"jsonrpc":"2.0","id":3,"method":"ping"}
{"jsonrpc":"2.0","id":3,"result":{}}
{"jsonrpc":"2.0","id":2,"result":{"content":[]}}
`)
	plan := planned(frames, nil)
	if len(plan.steps) > 10 {
		t.Errorf("%d steps", len(plan.steps))
	}
	got := play(t, plan, patient(), answering(func(method, id, raw string) (string, error) {
		switch {
		case method == "tools/call":
			return strings.Repeat(progress, n), nil
		case method == "ping":
			return result(id) + result("2"), nil
		case id != "":
			return result(id), nil
		}
		return "", nil
	}))
	heard := 0
	for i := range got {
		switch text := string(got[i].Raw); {
		case strings.Contains(text, "notifications/progress"):
			heard++
		case strings.Contains(text, `"ping"`) && heard < n:
			t.Errorf("continued after %d of %d", heard, n)
		}
	}
}

// TestHeaderOfInitialize: a client that names the revision in the header of initialize too names
// the revision that is used.
func TestHeaderOfInitialize(t *testing.T) {
	frames := exchanges(exchange{
		header: [][2]string{{"Accept", "application/json, text/event-stream"}, {"MCP-Protocol-Version", "2025-11-25"}},
		body:   `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		answer: `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`,
	})
	for _, revision := range []jsonrpc.Revision{jsonrpc.Rev20251125, jsonrpc.Rev20250618} {
		var got atomic.Value
		server := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				got.Store(r.Header.Get("Mcp-Protocol-Version"))
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":%q}}`, revision)
		}))
		opt := patient()
		opt.Revision = revision
		tapped(t, planned(frames, nil), opt, server, HTTP)
		if got.Load() != string(revision) {
			t.Errorf("%v, want %s", got.Load(), revision)
		}
	}
}

// TestInputRequestsOfACompleteResult: before 2026-07-28, the Go SDK's server answers a call with
// inputRequests but without a resultType. They are not questions, so the server's requests within
// the next call get their own responses.
func TestInputRequestsOfACompleteResult(t *testing.T) {
	const call = `>{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","inputResponses":{"r":{"roots":[]}}}}`
	const question = `{"jsonrpc":"2.0","id":8,"method":"roots/list","params":{}}`
	frames := lines(opening + `
>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}
{"jsonrpc":"2.0","id":2,"result":{"content":[],"inputRequests":{"r":{"method":"roots/list","params":{}}}}}
` + call + `
` + question + `
>{"jsonrpc":"2.0","id":8,"result":{"roots":[]}}
{"jsonrpc":"2.0","id":3,"result":{"content":[]}}
`)
	opt := patient()
	opt.Timeout = 5 * time.Second
	noted := notes(&opt)
	got := bodies(play(t, planned(frames, nil), opt, mocked(t, frames)))
	if n := strings.Count(got, `"id":8,"result":{"roots":[]}`); n != 1 || len(*noted) > 0 {
		t.Errorf("answered %d times, notes %q\n%s", n, *noted, got)
	}
}
