package diff

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A carrier writes a session as recorded over HTTP: each client request is an exchange, answered
// with a body or with events; other messages come on the stream of a GET, if there is one.
type carrier struct {
	events bool // answers come as events
	stream bool // there is a GET
	header [][2]string
	status map[uint64]int // of exchanges, else 200
	frames []tap.Frame
	at     time.Duration
	last   uint64 // the latest exchange of a request
}

func (c *carrier) frame(exchange uint64, lane tap.Lane, form tap.Form, raw []byte) {
	c.at += time.Millisecond
	f := tap.Frame{Seq: uint64(len(c.frames) + 1), At: c.at, Lane: lane, Exchange: exchange, Form: form, Raw: raw, Size: int64(len(raw))}
	c.frames = append(c.frames, f)
}

func (c *carrier) event(exchange uint64, e tap.Event) {
	c.frame(exchange, tap.Lifecycle, 0, e.Encode())
}

const getStream = 1000

func (c *carrier) carry(frames []tap.Frame) []tap.Frame {
	if c.stream {
		c.event(getStream, tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/mcp", Header: c.header})
		c.event(getStream, tap.Event{Name: tap.EventResponse, Status: 200, Header: c.header})
	}
	within := map[string]uint64{}
	for _, f := range frames {
		m := jsonrpc.PeekFrame(&f)
		body := bytes.TrimSuffix(f.Raw, []byte("\n"))
		switch {
		case f.Lane == tap.ToServer:
			c.last++
			c.event(c.last, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp", Header: c.header})
			c.frame(c.last, tap.ToServer, tap.FormBody, body)
			if m.Kind == jsonrpc.Request {
				within[string(m.ID)] = c.last
				c.event(c.last, tap.Event{Name: tap.EventResponse, Status: cmp.Or(c.status[c.last], 200), Header: c.header})
			}
		case m.Kind == jsonrpc.Response || m.Kind == jsonrpc.ErrorResponse:
			c.answer(within[string(m.ID)], body)
		case c.stream:
			c.frame(getStream, tap.ToClient, tap.FormEvent, event(len(c.frames), body))
		default:
			c.frame(c.last, tap.ToClient, tap.FormEvent, event(len(c.frames), body))
		}
	}
	return c.frames
}

func (c *carrier) answer(exchange uint64, body []byte) {
	if c.events {
		c.frame(exchange, tap.ToClient, tap.FormEvent, []byte(": keep-alive\nretry: 500\n\n"))
		c.frame(exchange, tap.ToClient, tap.FormEvent, event(len(c.frames), body))
	} else {
		c.frame(exchange, tap.ToClient, tap.FormBody, body)
	}
	c.event(exchange, tap.Event{Name: tap.EventEnd})
}

func event(id int, body []byte) []byte {
	return fmt.Appendf(nil, ": comment\nid: %d\nretry: %d\ndata: %s\n\n", id, id*10, body)
}

// TestHTTPDetailsAreIgnored checks that details of HTTP are ignored: events or a body, comments,
// event ids and retry, the order and case of header fields, dates, lengths, codings and session
// ids.
func TestHTTPDetailsAreIgnored(t *testing.T) {
	lines, _ := parseTruth(`
		rev 2025-11-25
		> tools/list
		< {"tools":[{"name":"f","inputSchema":{}}]}
		> tools/call {"name":"f","_meta":{"progressToken":"p"}}
		<~ notifications/progress {"progressToken":"p","progress":1}
		< {"content":[{"type":"text","text":"done"}]}
		> tools/call {"name":"g"}
		<! {"code":-32602,"message":"no such tool"}`)
	stdio := play(t, 'a', lines)
	one := [][2]string{{"Content-Type", "application/json"}, {"Mcp-Session-Id", "s1"}, {"Date", "Fri, 20 Nov 2026 10:00:00 GMT"}, {"Content-Length", "17"}}
	two := [][2]string{{"date", "Sat, 21 Nov 2026 10:00:00 GMT"}, {"mcp-session-id", "s2"}, {"content-type", "text/event-stream"}, {"content-encoding", "gzip"}, {"Transfer-Encoding", "chunked"}}
	forms := map[string][]tap.Frame{
		"stdio": stdio, "bodies": (&carrier{header: one}).carry(stdio), "events": (&carrier{events: true, header: two}).carry(stdio),
		"other ids": (&carrier{events: true, header: two}).carry(play(t, 'b', lines)),
	}
	for x, a := range forms {
		for y, b := range forms {
			if r := compare(t, a, b, Options{}); len(r.Differences) > 0 {
				t.Errorf("%s and %s:\n%s", x, y, reportLines(r))
			}
		}
	}
	// Real differences are still found.
	other := play(t, 'a', append([]string{}, append(lines[:len(lines)-1:len(lines)-1], `<! {"code":-32601,"message":"no such tool"}`)...))
	for name, a := range forms {
		r := compare(t, a, (&carrier{events: true, header: two}).carry(other), Options{})
		if len(r.Differences) != 1 || r.Differences[0].Path != "$.error.code" {
			t.Errorf("%s, with another code:\n%s", name, reportLines(r))
		}
	}
}

// TestStreamAndListen compares subscriptions whose notifications come on a GET stream with one of
// 2026-07-28.
func TestStreamAndListen(t *testing.T) {
	lines, _ := parseTruth(`
		arev 2025-11-25
		brev 2026-07-28
		a> resources/subscribe {"uri":"file:///a"}
		a< {}
		a<~ notifications/resources/updated {"uri":"file:///a"}
		a<~ notifications/tools/list_changed
		b> subscriptions/listen {"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]}}
		b<~ notifications/subscriptions/acknowledged {"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]},"_meta":{"io.modelcontextprotocol/subscriptionId":$id}}
		b<~ notifications/resources/updated {"uri":"file:///a","_meta":{"io.modelcontextprotocol/subscriptionId":$id}}
		b<~ notifications/tools/list_changed {"_meta":{"io.modelcontextprotocol/subscriptionId":$id}}`)
	a := (&carrier{stream: true, header: [][2]string{{"Mcp-Session-Id", "s"}}}).carry(play(t, 'a', lines))
	b := (&carrier{header: [][2]string{{"Mcp-Method", "x"}}}).carry(play(t, 'b', lines))
	for _, side := range [][2][]tap.Frame{{a, b}, {b, a}} {
		r := compare(t, side[0], side[1], Options{})
		if worst, _ := r.Worst(); worst != Expected || !strings.Contains(reportLines(r), "subscriptions/listen") {
			t.Errorf("got:\n%s", reportLines(r))
		}
	}
}

// TestLeavingASubscription compares a client that hangs up with one that cancels and gets a final
// response. Between HTTP and pipes this is not a difference if the client sends no further requests.
// In the middle of a session it is one.
func TestLeavingASubscription(t *testing.T) {
	const listen = `
		rev 2026-07-28
		> subscriptions/listen {"notifications":{"toolsListChanged":true}}
		<~ notifications/subscriptions/acknowledged {"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":$id}}
		`
	left, _ := parseTruth(listen)
	for more, same := range map[string]bool{"": true, "\n> tools/list\n< {\"tools\":[]}": false} {
		lines, _ := parseTruth(listen + more)
		cancelled := play(t, 'b', left)
		id := jsonrpc.Peek(cancelled[0].Raw).ID
		for i := range cancelled { // the first is the request itself
			if m := jsonrpc.Peek(cancelled[i].Raw); m.Method == "subscriptions/listen" {
				id = m.ID
			}
		}
		seq := cancelled[len(cancelled)-1].Seq
		for i, raw := range []string{
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + string(id) + `}}`,
			`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"resultType":"complete"}}`,
		} {
			f := tap.Frame{Seq: seq + uint64(i) + 1, Lane: tap.ToServer + tap.Lane(i), Raw: []byte(raw), Size: int64(len(raw))}
			cancelled = append(cancelled, f)
		}
		rest := play(t, 'b', lines)[seq:]
		for i := range rest {
			rest[i].Seq += 2
		}
		web := (&carrier{header: [][2]string{{"Mcp-Method", "x"}}}).carry(play(t, 'a', lines))
		r := compare(t, web, append(cancelled, rest...), Options{})
		if got := r.AtLeast(Behaviour) == 0; got != same {
			t.Errorf("then %q: no difference %v, want %v:\n%s", more, got, same, reportLines(r))
		}
	}
}

// TestStatusOfAnUnknownMethod compares 200 and -32601 with 404 and -32601.
func TestStatusOfAnUnknownMethod(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		class Class
	}{{"2025-11-25", "2026-07-28", Expected}, {"2025-11-25", "2025-11-25", Behaviour}, {"2026-07-28", "2026-07-28", Behaviour}} {
		lines, _ := parseTruth("arev " + c.a + "\nbrev " + c.b + "\nahttp 200\nbhttp 404\n> acme/do {\"x\":1}\n<! {\"code\":-32601,\"message\":\"no\"}")
		r := compare(t, play(t, 'a', lines), play(t, 'b', lines), Options{})
		found := false
		for _, d := range r.Differences {
			found = found || d.Path == "$.http.status" && d.Class == c.class
		}
		if !found {
			t.Errorf("%s and %s:\n%s", c.a, c.b, reportLines(r))
		}
	}
}

// TestStatusOfTheLastLeg has a chain whose second request gets another status. The status of a call
// is that of the exchange with the final response.
func TestStatusOfTheLastLeg(t *testing.T) {
	lines, _ := parseTruth(`
		rev 2026-07-28
		> tools/call {"name":"f"}
		< {"resultType":"input_required","inputRequests":{"q":{"method":"roots/list"}},"requestState":"s"}
		> tools/call {"name":"f","inputResponses":{"q":{"roots":[]}},"requestState":"s"}
		<! {"code":-32602,"message":"no"}`)
	frames := play(t, 'a', lines)
	r := compare(t, (&carrier{}).carry(frames), (&carrier{status: map[uint64]int{2: 400}}).carry(frames), Options{})
	if len(r.Differences) != 1 || r.Differences[0].Path != "$.http.status" || !strings.Contains(r.Differences[0].What, "400 instead of 200") {
		t.Errorf("got:\n%s", reportLines(r))
	}
}

// TestRequestBeforeItsSessionIsKnown has a server request on a stream that does not name its
// session. A later request on the same connection names it.
func TestRequestBeforeItsSessionIsKnown(t *testing.T) {
	side := func(late bool) []tap.Frame {
		c := &carrier{frames: exchanged(t, "2025-11-25"), last: 9}
		head := func(exchange uint64, method string) {
			c.event(exchange, tap.Event{Name: tap.EventRequest, Conn: 2, Method: method, Target: "/mcp", Header: [][2]string{{"Accept", "text/event-stream"}, {"User-Agent", "other"}}})
		}
		post := func(exchange uint64, body string) {
			head(exchange, "POST")
			c.frame(exchange, tap.ToServer, tap.FormBody, []byte(body))
			c.event(exchange, tap.Event{Name: tap.EventResponse, Status: 202})
			c.event(exchange, tap.Event{Name: tap.EventEnd, By: "server"})
		}
		// The client names itself on the connection of the stream, before the stream or after the request on it.
		named := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
		opens := func() {
			head(12, "POST")
			c.frame(12, tap.ToServer, tap.FormBody, []byte(named))
			c.event(12, tap.Event{Name: tap.EventResponse, Status: 200})
			c.frame(12, tap.ToClient, tap.FormBody, []byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`))
			c.event(12, tap.Event{Name: tap.EventEnd, By: "server"})
		}
		if !late {
			opens()
		}
		head(10, "GET")
		c.event(10, tap.Event{Name: tap.EventResponse, Status: 200, Header: [][2]string{{"Content-Type", "text/event-stream"}}})
		c.frame(10, tap.ToClient, tap.FormEvent, event(1, []byte(`{"jsonrpc":"2.0","id":7,"method":"roots/list"}`)))
		if late {
			opens()
		}
		post(13, `{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}`)
		c.frame(10, tap.ToClient, tap.FormEvent, event(2, []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)))
		return c.frames[len(exchanged(t, "2025-11-25")):]
	}
	read := func(frames []tap.Frame) *Session {
		survey := session.NewSurvey(false)
		for i := range frames {
			survey.Add(&frames[i])
		}
		survey.End(0)
		at := map[uint64]int{}
		s := reader{Session: NewSession("s", func(seq uint64) (tap.Frame, error) { return frames[at[seq]], nil })}
		s.tracker.Survey = survey
		for i := range frames {
			at[frames[i].Seq] = i
			s.add(&frames[i], false)
		}
		return s.end()
	}
	for _, late := range [][2]bool{{false, true}, {true, false}, {true, true}} {
		a, b := read(side(late[0])), read(side(late[1]))
		r, err := Compare(a, b, Options{})
		if err != nil || len(r.Differences) > 0 {
			t.Errorf("late %v: %v\n%s", late, err, reportLines(r))
		}
	}
}

// TestMediaType: a response body with a media type that clients refuse is reported.
func TestMediaType(t *testing.T) {
	const call = `POST {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f"}}`
	side := func(media string) []tap.Frame {
		frames := exchanged(t, "2025-11-25", call+` 200 {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
		for i := range frames {
			if e, err := tap.ParseEvent(frames[i].Raw); err == nil && frames[i].Lane == tap.Lifecycle && e.Name == tap.EventResponse && media != "" {
				e.Header = append(e.Header, [2]string{"Content-Type", media})
				frames[i].Raw = e.Encode()
			}
		}
		return frames
	}
	for _, c := range []struct {
		a, b string
		want Class
	}{
		{"application/json", "text/event-stream; charset=utf-8", 0},
		{"application/json", "Application/JSON; charset=utf-8", 0},
		{"application/json", "text/plain", Breaking},
		{"application/json", "", Breaking},
		{"text/plain", "application/json", Behaviour},
		{"", "", 0},
	} {
		r := compare(t, side(c.a), side(c.b), Options{})
		if n := len(r.Differences); (n > 0) != (c.want > 0) || n > 0 && r.Differences[0].Class != c.want {
			t.Errorf("%q and %q:\n%s", c.a, c.b, reportLines(r))
		}
	}
}

// TestCancelledOverSSE: the status of a POST without a response differs by transport.
func TestCancelledOverSSE(t *testing.T) {
	const cancel = `POST {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}} 202`
	const call = `POST {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f"}} `
	side := func(sse bool, status string) []tap.Frame {
		c := &carrier{frames: exchanged(t, "2025-11-25", call+status, cancel)}
		c.event(7, tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/mcp"})
		c.event(7, tap.Event{Name: tap.EventResponse, Status: 200})
		if sse {
			c.frame(7, tap.ToClient, tap.FormEvent, []byte("event: endpoint\ndata: /message\n\n"))
		}
		return c.frames
	}
	for _, c := range []struct {
		sse      bool
		old, now string
		want     int
	}{{true, "200", "202", 0}, {false, "200", "202", 1}, {true, "401", "403", 1}} {
		if r := compare(t, side(false, c.old), side(c.sse, c.now), Options{}); len(r.Differences) != c.want {
			t.Errorf("%v:\n%s", c, reportLines(r))
		}
	}
}

// TestRefusedOtherwise: a stream that is refused with another status is one difference.
func TestRefusedOtherwise(t *testing.T) {
	r := compare(t, exchanged(t, "2025-11-25", "GET 405"), exchanged(t, "2025-11-25", "GET 404"), Options{})
	if len(r.Differences) != 1 || r.Differences[0].Class != Behaviour || !strings.Contains(r.Differences[0].What, "refused with HTTP 404 instead of 405") {
		t.Errorf("got:\n%s", reportLines(r))
	}
}

// TestResumedStreams: the event store of the TypeScript SDK repeats the empty event at the start of a
// stream as {}, which is not a message.
func TestResumedStreams(t *testing.T) {
	side := func(text string) []tap.Frame {
		c := &carrier{frames: exchanged(t, "2025-11-25"), last: 7}
		c.event(7, tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/mcp", Header: [][2]string{{"Last-Event-ID", "e1"}}})
		c.event(7, tap.Event{Name: tap.EventResponse, Status: 200})
		if text != "" {
			c.frame(7, tap.ToClient, tap.FormEvent, []byte("id: e2\ndata: "+text+"\n\n"))
		}
		return c.frames
	}
	for text, want := range map[string]int{"{}": 0, "{}x": 1} {
		if r := compare(t, side(""), side(text), Options{}); len(r.Differences) != want {
			t.Errorf("%s:\n%s", text, reportLines(r))
		}
	}
}
