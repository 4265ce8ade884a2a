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
	"github.com/mcptap/mcptap/tap/text"
)

// crowd makes the frames of some sessions of every kind that use the same ids at the same
// time.
func crowd(seed uint64, add func(session int, f *tap.Frame)) {
	const sessions, calls = 4, 300
	rng := rand.New(rand.NewPCG(seed, 1))
	session := 0
	c := &chat{add: func(f *tap.Frame) { add(session, f) }}
	type open struct {
		session, id int
		exchange    uint64
	}
	var waiting []open
	next := make([]int, sessions)
	for exchange := uint64(0); exchange < calls || len(waiting) > 0; {
		if exchange < calls && (len(waiting) < 3 || rng.IntN(2) == 0) {
			session = 1 + rng.IntN(sessions)
			exchange++
			id := next[session-1]
			next[session-1]++
			c.event(exchange, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp",
				Header: [][2]string{{"mcp-session-id", fmt.Sprint("s", session)}}})
			c.body(exchange, tap.ToServer, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t%d","_meta":{"progressToken":%d}}}`,
				id, rng.IntN(3), id))
			waiting = append(waiting, open{session, id, exchange})
			continue
		}
		i := rng.IntN(len(waiting))
		w := waiting[i]
		waiting = append(waiting[:i], waiting[i+1:]...)
		session = w.session
		switch rng.IntN(6) {
		case 0:
			c.body(w.exchange, tap.ToClient, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32000,"message":"no"}}`, w.id))
		case 1: // no answer
		case 2:
			c.body(w.exchange, tap.ToClient, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`, w.id))
			fallthrough
		default:
			c.body(w.exchange, tap.ToClient, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, w.id))
		}
		c.event(w.exchange, tap.Event{Name: tap.EventEnd})
	}
}

// describeStats returns everything that Stats report about groups.
func describeStats(s *session.Stats) string {
	var b strings.Builder
	for _, g := range s.Groups() {
		fmt.Fprintf(&b, "%+v %v %d %d %v %v\n", g.StatsKey, g.Statuses, g.BytesToServer, g.BytesToClient, g.Waited, g.Latency.Count())
	}
	return b.String()
}

// The stats of a recording are the sum of those of its sessions.
func TestMeter(t *testing.T) {
	const end = time.Hour
	for seed := range uint64(20) {
		together := session.NewStats("r", 5)
		all := session.NewMeter(together, 0)
		alone := map[int]*session.Meter{}
		apart := map[int]*session.Stats{}
		one := map[int]*session.Meter{}
		picked := map[int]*session.Stats{}
		number := map[int]int{} // of a session in the recording
		crowd(seed, func(client int, f *tap.Frame) {
			all.Add(f)
			if number[client] == 0 {
				number[client] = len(number) + 1
				apart[client] = session.NewStats("r", 5)
				alone[client] = session.NewMeter(apart[client], 0)
			}
			alone[client].Add(f)
		})
		for client, n := range number {
			picked[client] = session.NewStats("r", 5)
			one[client] = session.NewMeter(picked[client], n)
		}
		crowd(seed, func(_ int, f *tap.Frame) {
			for _, m := range one {
				m.Add(f)
			}
		})
		all.Finish(end)
		merged := session.NewStats("", 5)
		for session := range number {
			alone[session].Finish(end)
			one[session].Finish(end)
			if got, want := describeStats(picked[session]), describeStats(apart[session]); got != want {
				t.Fatalf("seed %d, session %d:\n%s\nby itself:\n%s", seed, session, got, want)
			}
			merged.Merge(apart[session])
		}
		if got, want := describeStats(together), describeStats(merged); got != want {
			t.Fatalf("seed %d:\n%s\nby sessions:\n%s", seed, got, want)
		}
		if all.Sessions() != 4 {
			t.Errorf("%d sessions", all.Sessions())
		}
	}
}

// On stdio the first session is all there is.
func TestMeterOnStdio(t *testing.T) {
	a, b := session.NewStats("r", 5), session.NewStats("r", 5)
	plain, meter := session.NewMeter(a, 0), session.NewMeter(b, 1)
	for i, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":2,"method":"ping"}`,
	} {
		f := tap.Frame{Seq: uint64(i + 1), At: time.Duration(i), Lane: tap.ToServer + tap.Lane(i%2), Raw: []byte(line), Size: int64(len(line))}
		plain.Add(&f)
		meter.Add(&f)
	}
	plain.Finish(10)
	meter.Finish(10)
	if got, want := describeStats(b), describeStats(a); got != want || got == "" {
		t.Errorf("%s, want %s", got, want)
	}
}

// The calls of a session that is no longer kept count as they are.
func TestMeterLetsGo(t *testing.T) {
	stats := session.NewStats("r", 5)
	m := session.NewMeter(stats, 0)
	c := &chat{add: func(f *tap.Frame) { m.Add(f) }}
	const many = session.MaxSessions + 10
	for i := range many {
		c.post(uint64(i+1), fmt.Sprint(i), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		c.post(many+uint64(i+1), fmt.Sprint(i), `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "")
	}
	m.Finish(time.Hour)
	var statuses []string
	for _, g := range stats.Groups() {
		statuses = append(statuses, fmt.Sprint(g.Method, g.Statuses[session.CallDone], g.Statuses[session.CallPending]))
	}
	if want := fmt.Sprint([]string{fmt.Sprint("tools/list", many, many)}); fmt.Sprint(statuses) != want {
		t.Errorf("%v, want %v", statuses, want)
	}
}

// The effects of the ends of exchanges on calls count.
func TestMeterOnStreams(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("..", "..", "testdata", "sessions", "streams", "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, frames, err := text.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		metered := session.NewStats("r", 5)
		meter := session.NewMeter(metered, 0)
		for i := range frames {
			meter.Add(&frames[i])
		}
		meter.Finish(time.Hour)
		for _, c := range metered.Waiting() {
			if c.Took >= time.Minute && strings.Contains(name, "2026") {
				t.Errorf("%s: %s waits for %v, although its stream is over", name, c.Method, c.Took)
			}
		}
		for _, g := range metered.Groups() {
			if strings.HasSuffix(name, "streams-2025-11-25.txtar") && g.Method == "initialize" && g.Statuses.Errors() != 1 {
				t.Errorf("%s: %d errors of initialize, want the 401", name, g.Statuses.Errors())
			}
		}
	}
}
