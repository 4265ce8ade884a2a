package session

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

func tallied(frames []tap.Frame) (t Tally) {
	for i := range frames {
		t.Add(&frames[i])
	}
	return t
}

func TestTally(t *testing.T) {
	frames := transcript(t, legacySession)
	got := tallied(frames)
	want := Tally{
		Frames: LaneCounts{tap.Lifecycle: 1, tap.ToServer: 4, tap.ToClient: 6, tap.Stderr: 1},
		Errors: 3, Invalid: 1,
		First: 10 * time.Millisecond, Last: 120 * time.Millisecond,
		Facts: got.Facts, Sessions: 1,
	}
	for _, f := range frames {
		want.Bytes[f.Lane] += uint64(len(f.Raw))
	}
	if asJSON(t, got) != asJSON(t, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if s := asJSON(t, got.Facts); s != legacyFacts {
		t.Errorf("facts %s", s)
	}
	if got.Frames.Total() != 12 {
		t.Errorf("total %d", got.Frames.Total())
	}
}

func TestTallyTimes(t *testing.T) {
	var tally Tally
	for _, at := range []time.Duration{0, 5, 9} {
		tally.Add(&tap.Frame{At: at, Lane: tap.Stderr, Raw: []byte("x")})
	}
	if tally.First != 0 || tally.Last != 9 || tally.Bytes[tap.Stderr] != 3 || tally.Errors != 0 {
		t.Errorf("%+v", tally)
	}
}

// TestTallyFindsLateRevision makes a session modern after many requests without a version.
func TestTallyFindsLateRevision(t *testing.T) {
	var tally Tally
	send := func(n int, raw string) {
		for range n {
			tally.Add(&tap.Frame{Lane: tap.ToServer, Raw: []byte(raw), Size: int64(len(raw))})
		}
	}
	send(1000, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n")
	if tally.Facts.Era != "" {
		t.Fatal("modern without a version")
	}
	send(16, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`+"\n")
	if tally.Facts.Era != jsonrpc.Modern || tally.Facts.Requested != "2026-07-28" {
		t.Errorf("%+v", tally)
	}
}

// A tally agrees with Peek on each frame.
func TestTallyIsExact(t *testing.T) {
	for _, c := range []struct {
		raw             string
		errors, invalid uint64
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"a","params":{}}`, 0, 0},
		{`{"jsonrpc":"2.0","id":1,"method":"a","params":{nonsense}}`, 1, 1},
		{`{"jsonrpc":"2.0","id":1,"result":{"x":[1,]}}`, 1, 1},
		{`{"jsonrpc":"2.0","id":1,"method":"a"}{"jsonrpc":"2.0","id":2,"method":"b"}`, 1, 1},
		{`{"jsonrpc":"2.0","id":1,"result":{"i\u0073Error":true}}`, 1, 0},
		{`{"jsonrpc":"2.0","id":1,"result":{"isError":true},"error":{"code":1,"message":"m"}}`, 1, 0},
		{`[{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}},1,{"jsonrpc":"2.0","id":1,"result":{}}]`, 2, 1},
	} {
		var tally Tally
		f := tap.Frame{Lane: tap.ToClient, Raw: []byte(c.raw)}
		if tally.Add(&f); tally.Invalid != c.invalid || tally.Errors != c.errors {
			t.Errorf("%s: %d invalid, %d errors, want %d and %d", c.raw, tally.Invalid, tally.Errors, c.invalid, c.errors)
		}
	}
}

// The sessions of a recording made by an older program are a count of handshakes and
// a list of clients.
func TestTallyReadsOldSessions(t *testing.T) {
	for text, want := range map[string]SessionTotal{
		`{"sessions":{"handshakes":2,"clients":[5,6,7]}}`: 5, `{"sessions":{}}`: 0, `{}`: 0, `{"sessions":4}`: 4,
	} {
		var tally Tally
		if err := json.Unmarshal([]byte(text), &tally); err != nil || tally.Sessions != want {
			t.Errorf("%s: %d, %v", text, tally.Sessions, err)
		}
	}
}

// TestTallyExit checks which ends of a server are failures.
func TestTallyExit(t *testing.T) {
	code := func(n int) *int { return &n }
	exit := func(n int) tap.Event { return tap.Event{Name: tap.EventExit, Code: code(n)} }
	killed := func(by string) tap.Event { return tap.Event{Name: tap.EventExit, Signal: by} }
	signal := func(s string) tap.Event { return tap.Event{Name: tap.EventSignal, Signal: s} }
	for _, c := range []struct {
		events []tap.Event
		want   string
	}{
		{[]tap.Event{exit(0)}, ""},
		{[]tap.Event{exit(3)}, "exit 3"},
		{[]tap.Event{killed("SIGSEGV")}, "SIGSEGV"},
		{[]tap.Event{signal("SIGTERM"), killed("SIGTERM")}, ""},
		{[]tap.Event{signal("SIGTERM"), exit(143)}, ""},
		{[]tap.Event{signal("SIGWINCH"), exit(1)}, "exit 1"},
		{[]tap.Event{{Name: tap.EventSpawnFailed, Error: "no such file"}}, "not started"},
	} {
		var tally Tally
		for _, e := range c.events {
			tally.Add(&tap.Frame{Raw: e.Encode()})
		}
		if tally.Exit != c.want {
			t.Errorf("%+v: %q, want %q", c.events, tally.Exit, c.want)
		}
	}
}
