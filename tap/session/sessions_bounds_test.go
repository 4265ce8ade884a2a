package session_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// chat makes frames one at a time.
type chat struct {
	seq uint64
	add func(f *tap.Frame)
}

func (c *chat) event(exchange uint64, e tap.Event) {
	c.frame(tap.Frame{Lane: tap.Lifecycle, Exchange: exchange, Raw: e.Encode()})
}

func (c *chat) body(exchange uint64, lane tap.Lane, text string) {
	c.frame(tap.Frame{Lane: lane, Exchange: exchange, Form: tap.FormBody, Raw: []byte(text)})
}

func (c *chat) frame(f tap.Frame) {
	c.seq++
	f.Seq, f.At, f.Size = c.seq, time.Duration(c.seq)*time.Millisecond, int64(len(f.Raw))
	c.add(&f)
}

// post makes a whole exchange of a session with an id.
func (c *chat) post(exchange uint64, id, ask, answer string) {
	c.event(exchange, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp", Header: [][2]string{{"Mcp-Session-Id", id}}})
	c.body(exchange, tap.ToServer, ask)
	c.event(exchange, tap.Event{Name: tap.EventResponse, Status: 200})
	c.body(exchange, tap.ToClient, answer)
	c.event(exchange, tap.Event{Name: tap.EventEnd})
}

// An initialize whose exchange is open for so long that it is forgotten gets no response:
// when its client returns, it continues the session.
func TestForgottenExchangeOpensNothing(t *testing.T) {
	var sessions session.Sessions
	number := 0
	c := &chat{add: func(f *tap.Frame) {
		number = addTo(&sessions, f)
	}}
	hello := func(exchange uint64) int {
		c.event(exchange, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp"})
		c.body(exchange, tap.ToServer, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"}}}`)
		return number
	}
	for _, step := range []struct{ others, want int }{{0, 1}, {session.MaxExchanges - 2, 2}, {1, 1}} {
		for range step.others {
			c.event(c.seq+10, tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/mcp"})
		}
		if got := hello(c.seq + 10); got != step.want {
			t.Errorf("after %d frames the client is in session %d, want %d", c.seq, got, step.want)
		}
	}
}

// However many sessions there are, inactive ones are not kept, and one that becomes
// active again still has its number.
func TestSessionsAreBounded(t *testing.T) {
	var sessions session.Sessions
	number, numbers := 0, map[string]int{}
	c := &chat{add: func(f *tap.Frame) {
		number = addTo(&sessions, f)
	}}
	const many = 5 * session.MaxSessions
	for i := range many {
		id := fmt.Sprint("id-", i)
		c.post(uint64(i+1), id, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		numbers[id] = number
		if number != i+1 {
			t.Fatalf("%s is session %d", id, number)
		}
	}
	kept := 0
	for n := 1; n <= sessions.Count(); n++ {
		if _, ok := sessions.Session(n); ok {
			kept++
		}
	}
	if kept != session.MaxSessions {
		t.Errorf("%d sessions are kept, want %d", kept, session.MaxSessions)
	}
	for i := range many { // each was forgotten before its turn
		id := fmt.Sprint("id-", i)
		c.post(many+uint64(i+1), id, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":2,"result":{}}`)
		if number != numbers[id] {
			t.Fatalf("%s was session %d and is %d", id, numbers[id], number)
		}
	}
	if sessions.Count() != many {
		t.Errorf("%d sessions, want %d", sessions.Count(), many)
	}
}

// A forgotten session whose names are no longer remembered gets a new number; nothing
// else happens.
func TestSessionsForgottenPermanently(t *testing.T) {
	var sessions session.Sessions
	number := 0
	c := &chat{add: func(f *tap.Frame) {
		number = addTo(&sessions, f)
	}}
	const many = session.MaxNames
	for i := range many + 1 {
		c.post(uint64(i+1), fmt.Sprint("id-", i), `{"jsonrpc":"2.0","method":"x"}`, "")
	}
	c.post(many+2, "id-0", `{"jsonrpc":"2.0","method":"x"}`, "")
	if number != many+2 {
		t.Errorf("the oldest session is %d, want a new one, %d", number, many+2)
	}
	c.post(many+3, "id-2", `{"jsonrpc":"2.0","method":"x"}`, "")
	if number != 3 {
		t.Errorf("the third session is %d", number)
	}
}

// Calls of different sessions have the same ids and do not mix: each session has
// the calls that it would have alone.
func TestTrackerKeepsSessionsApart(t *testing.T) {
	const sessions, calls = 5, 40
	rng := rand.New(rand.NewPCG(7, 7))
	var all session.Tracker
	alone := map[int]*session.Pairing{}
	got, want := map[int][]string{}, map[int][]string{}
	note := func(to map[int][]string, n int, ended []*session.Call) {
		for _, c := range ended {
			to[n] = append(to[n], fmt.Sprintf("%v %s %v by %v of %v", c.Ref, c.ID, c.Status, c.Answer, c.Parts))
		}
	}
	c := &chat{add: func(f *tap.Frame) {
		e := all.Add(f)
		n, m := e.Session, e.Message
		if n == 0 {
			t.Fatalf("frame %d is of no session", f.Seq)
		}
		note(got, n, e.Ended)
		if alone[n] == nil {
			alone[n] = &session.Pairing{}
		}
		apart := alone[n].Add(f, &m)
		note(want, n, alone[n].Ended())
		if fmt.Sprint(e.Parts) != fmt.Sprint(apart) {
			t.Fatalf("frame %d: %v, alone %v", f.Seq, e.Parts, apart)
		}
	}}
	// Each session has its requests open for a while, with ids from 0.
	type open struct {
		session, id int
		exchange    uint64
	}
	var waiting []open
	next := make([]int, sessions)
	exchange := uint64(0)
	for len(waiting) > 0 || exchange < sessions*calls {
		if exchange < sessions*calls && (len(waiting) == 0 || rng.IntN(2) == 0) {
			s := rng.IntN(sessions)
			exchange++
			c.event(exchange, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp", Header: [][2]string{{"mcp-session-id", fmt.Sprint(s)}}})
			c.body(exchange, tap.ToServer, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x"}}`, next[s]))
			waiting = append(waiting, open{s, next[s], exchange})
			next[s]++
			continue
		}
		i := rng.IntN(len(waiting))
		w := waiting[i]
		waiting = append(waiting[:i], waiting[i+1:]...)
		c.body(w.exchange, tap.ToClient, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, w.id))
		c.event(w.exchange, tap.Event{Name: tap.EventEnd})
	}
	if len(got) != sessions || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%d sessions:\n%v\nalone:\n%v", len(got), got, want)
	}
	if left := all.Open(); len(left) > 0 {
		t.Errorf("%d calls are open, such as %+v", len(left), left[0])
	}
}

// A message that is repeated on a resumed stream belongs to no call and begins none: the
// server's request in it has been answered.
func TestTrackerAndReplays(t *testing.T) {
	text, err := os.ReadFile("testdata/views/sessions-resumed.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := readScript(t, string(text))
	var all session.Tracker
	var replays []string
	var ended []*session.Call
	for i := range s.frames {
		f := &s.frames[i]
		e := all.Add(f)
		checkParts(t, f, &e.Message, e.Parts)
		for _, p := range e.Parts {
			if p.Role == session.RoleReplay {
				replays = append(replays, fmt.Sprintf("#%d %v %s of #%d, %v", p.Message.Seq, p.Kind, p.Method, p.First.Seq, p.Call))
			}
		}
		ended = append(ended, e.Ended...)
	}
	want := []string{"#19 notification notifications/message of #11, {0 0}", "#20 request roots/list of #10, {0 0}"}
	if fmt.Sprint(replays) != fmt.Sprint(want) {
		t.Errorf("replays %v, want %v", replays, want)
	}
	for _, c := range ended {
		if c.Status != session.CallDone {
			t.Errorf("%s: %v", c.Method, c.Status)
		}
	}
	var open []string
	for _, c := range all.Open() {
		open = append(open, c.Method+string(c.ID))
	}
	if len(ended) != 3 || fmt.Sprint(open) != "[ping8 ping9 ping9]" {
		t.Errorf("%d calls are over, open are %v", len(ended), open)
	}
	stats := session.NewStats("r", 1)
	m := session.NewMeter(stats, 0)
	for i := range s.frames {
		m.Add(&s.frames[i])
	}
	m.Finish(time.Hour)
	for _, g := range stats.Groups() {
		if g.Method == "roots/list" && (g.Statuses[session.CallDone] != 1 || g.Statuses[session.CallPending] != 0) {
			t.Errorf("roots/list: %v", g.Statuses)
		}
	}
}

// The calls of a session that is no longer kept are handed over as they are; those of
// other sessions stay open, in order.
func TestTrackerLetsGo(t *testing.T) {
	var all session.Tracker
	var ended []*session.Call
	c := &chat{add: func(f *tap.Frame) {
		ended = append(ended, all.Add(f).Ended...)
	}}
	const more = 3
	for i := range session.MaxSessions + more {
		c.post(uint64(i+1), fmt.Sprint(i), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "")
	}
	if len(ended) != more {
		t.Fatalf("%d calls were handed over, want %d", len(ended), more)
	}
	for i, x := range ended {
		if x.Exchange != uint64(i+1) || x.Status != session.CallPending || x.Notes != session.NoteLetGo|session.NoteStreamEnded {
			t.Errorf("call %d: %+v", i, x)
		}
	}
	open := all.Open()
	if len(open) != session.MaxSessions {
		t.Fatalf("%d calls are open, want %d", len(open), session.MaxSessions)
	}
	for i, x := range open {
		if x.Exchange != uint64(i+1+more) {
			t.Fatalf("call %d is on exchange %d", i, x.Exchange)
		}
	}
}

// A client with ever new tokens or names does not make the memory grow.
func TestSessionNamesAreBounded(t *testing.T) {
	var sessions session.Sessions
	c := &chat{add: func(f *tap.Frame) {
		addTo(&sessions, f)
	}}
	long := strings.Repeat("x", 1<<12)
	for i := range 2000 {
		exchange := uint64(i + 1)
		c.event(exchange, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp?" + long, Conn: 1,
			Header: [][2]string{{"Authorization", fmt.Sprint(long, i)}, {"MCP-Protocol-Version", "2026-07-28"}, {"User-Agent", long}}})
		c.body(exchange, tap.ToServer, modernRequest(i))
		c.event(exchange, tap.Event{Name: tap.EventResponse, Status: 200})
		c.event(exchange, tap.Event{Name: tap.EventEnd})
	}
	if sessions.Count() != 1 {
		t.Errorf("%d sessions, want 1: the connection is the same", sessions.Count())
	}
}

func modernRequest(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientInfo":{"name":"cli","version":"3"}}}}`, id)
}

// Whatever a recording holds, reading it terminates, and the session of each frame
// exists.
func FuzzSessions(f *testing.F) {
	files, _ := filepath.Glob("testdata/views/sessions-*.txt")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(string(text))
		}
	}
	f.Add("[0] 1 GET /\x00%zz conn=1 accept=text/event-stream\n[0] 1 200 type=text/event-stream\n[0] <1 event endpoint ://%zz\n[0] <1 event endpoint //[::1\n")
	f.Fuzz(func(t *testing.T, text string) {
		var all session.Tracker
		c := &chat{add: func(fr *tap.Frame) {
			if n := all.Add(fr).Session; n < 0 || n > all.Sessions.Count() {
				t.Fatalf("frame %d is of session %d of %d", fr.Seq, n, all.Sessions.Count())
			}
		}}
		for i, line := range strings.Split(text, "\n") {
			exchange := uint64(i % 5)
			switch i % 4 {
			case 0:
				c.event(exchange, tap.Event{Name: tap.EventRequest, Method: "GET", Target: line, Conn: uint64(i % 3), Header: [][2]string{{"Mcp-Session-Id", line}, {line, line}}})
			case 1:
				c.frame(tap.Frame{Lane: tap.Lane(len(line) % 4), Exchange: exchange, Form: tap.Form(i % 9), Raw: []byte(line)})
			case 2:
				c.event(exchange, tap.Event{Name: tap.EventResponse, Status: 100 + len(line)%500, Header: [][2]string{{"mcp-session-id", line}}})
			default:
				c.frame(tap.Frame{Lane: tap.Lifecycle, Exchange: exchange, Raw: []byte(line)})
			}
		}
		all.Open()
	})
}

// A message on a resumed stream certainly belongs to the call whose response the stream
// carries, although another call was made later.
func TestResumedStreamHasItsCalls(t *testing.T) {
	var all session.Tracker
	var last *session.Entry
	c := &chat{add: func(f *tap.Frame) { last = all.Add(f) }}
	head := func(exchange uint64, method string, more ...[2]string) {
		c.event(exchange, tap.Event{Name: tap.EventRequest, Method: method, Target: "/mcp", Header: append(more, [2]string{"Mcp-Session-Id", "s"})})
	}
	stream := func(exchange uint64, text string) {
		c.frame(tap.Frame{Lane: tap.ToClient, Exchange: exchange, Form: tap.FormEvent, Raw: []byte(text + "\n\n")})
	}
	for i, name := range []string{"first", "second"} {
		exchange := uint64(i + 1)
		head(exchange, "POST")
		c.body(exchange, tap.ToServer, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, exchange, name))
		c.event(exchange, tap.Event{Name: tap.EventResponse, Status: 200, Header: [][2]string{{"Content-Type", "text/event-stream"}}})
		stream(exchange, fmt.Sprintf("id: %d-0\ndata:", exchange))
	}
	first := session.Ref{Seq: 2}
	c.event(1, tap.Event{Name: tap.EventEnd})
	head(3, "GET", [2]string{"Last-Event-ID", "1-0"})
	c.event(3, tap.Event{Name: tap.EventResponse, Status: 200, Header: [][2]string{{"Content-Type", "text/event-stream"}}})
	for exchange := uint64(3); exchange < 5; exchange++ {
		stream(exchange, fmt.Sprintf("id: 1-%d\n", exchange)+`data: {"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{}}`)
		if p := last.Parts[0]; p.Parent != first || p.Guess {
			t.Errorf("on exchange %d the server asks within %v, a guess: %v; want %v", exchange, p.Parent, p.Guess, first)
		}
		stream(exchange, fmt.Sprintf("id: 1-%d-log\n", exchange)+`data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
		if p := last.Parts[0]; p.Call != first {
			t.Errorf("on exchange %d the log belongs to %v, want %v", exchange, p.Call, first)
		}
		c.event(exchange, tap.Event{Name: tap.EventEnd})
		if exchange == 3 { // and once more, from an event of the stream that was resumed
			head(4, "GET", [2]string{"Last-Event-ID", "1-3"})
			c.event(4, tap.Event{Name: tap.EventResponse, Status: 200, Header: [][2]string{{"Content-Type", "text/event-stream"}}})
		}
	}
}
