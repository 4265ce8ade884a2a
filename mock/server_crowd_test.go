package mock

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcptap/mcptap/internal/longtest"
	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// all returns what a client got, stream by stream.
func (c *webClient) streams() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.got)) {
		fmt.Fprintf(&b, "%s\n%s\n%s\n", name, c.ids[name], strings.Join(c.got[name], "\n"))
	}
	return b.String()
}

// Each of eight concurrent clients gets what a single one gets, byte for byte and stream by stream,
// including event ids. The clients of 2026-07-28 have different URLs.
func TestServerIsDeterministic(t *testing.T) {
	runs := 5
	if longtest.Sampled(t) {
		runs = 1
	}
	for _, name := range []string{
		"2025-11-25-nested-healthy", "2025-11-25-http-healthy", "2025-11-25-cancel-healthy", "2025-03-26-batch-healthy",
		"2025-06-18-elicitation-healthy", "2026-07-28-chains-healthy", "2026-07-28-http-healthy", "2026-07-28-tasks-healthy",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			frames := recorded(t, name)
			rec := loaded(t, frames, replay.Options{Pace: replay.Instant})
			var first string
			for range runs {
				s, url := served(t, rec, ServerOptions{})
				var all sync.WaitGroup
				got := make([]string, 8)
				for i := range got {
					c := newWebClient(t, fmt.Sprintf("%s%s?client=%d", url, s.Path(), i))
					all.Go(func() {
						c.half(frames, func() int { return s.openedFor(c) })
						c.check(t, messages(frames))
						got[i] = c.streams()
					})
				}
				all.Wait()
				if first == "" {
					first = got[0]
				}
				for i := range got {
					if got[i] != first {
						t.Fatalf("client %d got\n%s\nwant\n%s", i, got[i], first)
					}
				}
			}
		})
	}
}

// openedFor is like opened for one client, identified by its session or by its URL.
func (s *Server) openedFor(c *webClient) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, query, _ := strings.Cut(c.url, "?")
	for t := range s.open {
		if t.id != "" && t.id == c.session || t.id == "" && strings.HasSuffix(t.target, "?"+query) {
			t.mu.Lock()
			n += int(t.last)
			t.mu.Unlock()
		}
	}
	return n
}

// If several sessions were recorded, the first client gets the first session, and so on, and each gets
// the answers of its session.
func TestServerPlaysSessionsInOrder(t *testing.T) {
	var frames []tap.Frame
	add := func(lane tap.Lane, exchange uint64, form tap.Form, raw string) {
		frames = append(frames, tap.Frame{
			Seq: uint64(len(frames) + 1), Lane: lane, Exchange: exchange, Form: form, Raw: []byte(raw), Size: int64(len(raw)),
		})
	}
	exchange := uint64(0)
	call := func(id, body, answer string) {
		exchange++
		e := tap.Event{Name: tap.EventRequest, Conn: exchange, Method: "POST", Target: "/api/mcp", Header: [][2]string{
			{"Host", "localhost"}, {"Accept", "application/json, text/event-stream"}, {"User-Agent", "a"},
		}}
		if id != "" && !strings.Contains(body, "initialize") {
			e.Header = append(e.Header, [2]string{"Mcp-Session-Id", id})
		}
		add(tap.Lifecycle, exchange, tap.FormLine, string(e.Encode()))
		add(tap.ToServer, exchange, tap.FormBody, body)
		res := tap.Event{Name: tap.EventResponse, Status: 200, Header: [][2]string{{"Content-Type", "application/json"}, {"Mcp-Session-Id", id}, {"X-Server", "one"}}}
		add(tap.Lifecycle, exchange, tap.FormLine, string(res.Encode()))
		add(tap.ToClient, exchange, tap.FormBody, answer)
		add(tap.Lifecycle, exchange, tap.FormLine, string(tap.Event{Name: tap.EventEnd}.Encode()))
	}
	for _, id := range []string{"first", "second"} {
		call(id, opening, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"`+id+`"}}}`)
		call(id, listing, `{"jsonrpc":"2.0","id":1,"result":{"tools":[],"of":"`+id+`"}}`)
	}
	rec := loaded(t, frames, replay.Options{Pace: replay.Instant})
	if n := len(rec.Scripts()); n != 2 {
		t.Fatal(n, "sessions")
	}
	s, url := served(t, rec, ServerOptions{})
	if s.Path() != "/api/mcp" || s.Recorded() != "/api/mcp" {
		t.Error(s.Path(), s.Recorded())
	}
	ids := map[string]bool{}
	for _, want := range []string{"first", "second", "first", "second"} {
		id := begun(t, url, s.Path())
		ids[id] = true
		res, body := ask(t, url, testRequest{"POST", s.Path(), []string{id}, listing})
		if !strings.Contains(body, `"of":"`+want+`"`) || res.Header.Get("X-Server") != "one" {
			t.Errorf("want the %s session: %v %s", want, res.Header, body)
		}
	}
	if len(ids) != 4 {
		t.Error(ids)
	}
	if !rec.Only(2) || rec.Only(3) {
		t.Error("a second session began")
	}
	s, url = served(t, rec, ServerOptions{})
	id := begun(t, url, s.Path())
	if _, body := ask(t, url, testRequest{"POST", s.Path(), []string{id}, listing}); !strings.Contains(body, `"of":"second"`) {
		t.Error(body)
	}
}

// Clients of 2026-07-28 name no session. A client that looks like another one is identified by its
// connection, starts a new session when it sends server/discover again, and has a separate session at
// a separate URL.
func TestServerDistinguishesNamelessClients(t *testing.T) {
	meta := `"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a"}}}}`
	discover := `{"jsonrpc":"2.0","id":1,"method":"server/discover",` + meta
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list",` + meta
	rec := loaded(t, lines(">"+discover+"\n"+`{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}`+"\n"+
		">"+list+"\n"+`{"jsonrpc":"2.0","id":2,"result":{"n":1}}`+"\n"+
		">"+list+"\n"+`{"jsonrpc":"2.0","id":2,"result":{"n":2}}`+"\n"), replay.Options{Pace: replay.Instant, Repeat: replay.RepeatError})
	_, url := served(t, rec, ServerOptions{})
	send := func(path, body string) string {
		m := jsonrpc.Peek([]byte(body))
		_, got := ask(t, url, testRequest{"POST", path, []string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: " + m.Method}, body})
		return got
	}
	for i, step := range []struct{ path, body, want string }{
		{"/mcp", discover, "supportedVersions"}, {"/mcp", list, `"n":1`},
		{"/mcp?client=2", list, `"n":1`}, {"/mcp", list, `"n":2`}, {"/mcp", list, "error"},
		{"/mcp", discover, "supportedVersions"}, {"/mcp", list, `"n":1`}, {"/mcp?client=2", list, `"n":2`},
		{"/mcp", strings.ReplaceAll(list, `"a"`, `"b"`), `"n":1`}, {"/mcp", list, `"n":2`},
	} {
		if got := send(step.path, step.body); !strings.Contains(got, step.want) {
			t.Errorf("step %d: %s", i, got)
		}
	}
}

// A session that was recorded over HTTP+SSE is served at the recorded paths, and over Streamable HTTP
// too.
func TestServerPlaysRecordedEvents(t *testing.T) {
	var frames []tap.Frame
	add := func(lane tap.Lane, exchange uint64, form tap.Form, raw string) {
		frames = append(frames, tap.Frame{
			Seq: uint64(len(frames) + 1), Lane: lane, Exchange: exchange, Form: form, Raw: []byte(raw), Size: int64(len(raw)),
		})
	}
	event := func(exchange uint64, e tap.Event) { add(tap.Lifecycle, exchange, tap.FormLine, string(e.Encode())) }
	event(1, tap.Event{Name: tap.EventRequest, Conn: 1, Method: "GET", Target: "/api/events", Header: [][2]string{{"Accept", "text/event-stream"}}})
	event(1, tap.Event{Name: tap.EventResponse, Status: 200, Header: [][2]string{{"Content-Type", "text/event-stream"}}})
	add(tap.ToClient, 1, tap.FormEvent, "event: endpoint\ndata: /api/say?session_id=x\n\n")
	for i, x := range [][2]string{
		{opening, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2024-11-05"}}`}, {listing, `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`},
	} {
		exchange := uint64(i + 2)
		event(exchange, tap.Event{Name: tap.EventRequest, Conn: 2, Method: "POST", Target: "/api/say?session_id=x"})
		add(tap.ToServer, exchange, tap.FormBody, x[0])
		event(exchange, tap.Event{Name: tap.EventResponse, Status: 202})
		event(exchange, tap.Event{Name: tap.EventEnd})
		add(tap.ToClient, 1, tap.FormEvent, "event: message\ndata: "+x[1]+"\n\n")
	}
	s, url := served(t, loaded(t, frames, replay.Options{Pace: replay.Instant}), ServerOptions{Cut: 1})
	if s.Recorded() != "/api/events" || s.EventPath() != "/api/events" || s.Path() != "/mcp" {
		t.Error(s.Recorded(), s.EventPath(), s.Path())
	}
	c := dialEvents(t, url, s.EventPath())
	for i, m := range []string{opening, listing} {
		if err := c.send([]byte(m)); err != nil || !c.until(i+1) {
			t.Fatal(err, c.got)
		}
	}
	if c.got[1] != `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}` {
		t.Error(c.got)
	}
	id := begun(t, url, s.Path())
	if _, body := ask(t, url, testRequest{"POST", s.Path(), []string{id}, listing}); body != c.got[1] {
		t.Error(body)
	}
}
