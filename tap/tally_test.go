package tap

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// exact is the tally that validates every frame: what Add must agree with.
func exact(frames []Frame) (t Tally) {
	for i := range frames {
		if t.count(&frames[i]) {
			m := Peek(frames[i].Raw)
			t.message(frames[i].Lane, &m)
		}
	}
	return t
}

func tallied(frames []Frame) (t Tally) {
	for i := range frames {
		t.Add(&frames[i])
	}
	return t
}

// corpus is every frame that the tests know, on both lanes.
func corpus(t testing.TB) (frames []Frame) {
	add := func(lane Lane, raw string) {
		n := len(frames) + 1
		frames = append(frames, Frame{Seq: uint64(n), At: time.Duration(n), Lane: lane, Raw: []byte(raw), Size: int64(len(raw))})
	}
	for _, lane := range []Lane{ToServer, ToClient} {
		for _, r := range referenceFrames(t) {
			add(lane, string(r.raw)+"\n")
		}
		for _, c := range peekCases {
			add(lane, c.raw)
		}
	}
	return frames
}

func TestTally(t *testing.T) {
	frames := transcript(t, legacySession)
	got := tallied(frames)
	want := Tally{
		Frames: LaneCounts{Life: 1, ToServer: 4, ToClient: 6, Stderr: 1},
		Errors: 3, Invalid: 1,
		First: 10 * time.Millisecond, Last: 120 * time.Millisecond,
		Facts: got.Facts, Finding: got.Finding,
	}
	for _, f := range frames {
		want.Bytes[f.Lane] += uint64(len(f.Raw))
	}
	if !reflect.DeepEqual(got, want) {
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
		tally.Add(&Frame{At: at, Lane: Stderr, Raw: []byte("x")})
	}
	if tally.First != 0 || tally.Last != 9 || tally.Bytes[Stderr] != 3 || tally.Errors != 0 {
		t.Errorf("%+v", tally)
	}
}

// overlooked reports whether the cheap rule of [Tally.Invalid] may take a frame
// for something else than a peek does: JSON that breaks behind the envelope's
// head, and an error after a result that is an object.
func overlooked(m Message) bool {
	return strings.HasPrefix(m.Reason, "not JSON") || m.Reason == "both result and error" && m.Result[0] == '{'
}

// TestTallyAgreesWithPeek holds the short cuts against a full peek, frame by
// frame and in each state of the facts.
func TestTallyAgreesWithPeek(t *testing.T) {
	states := map[string]Tally{"no facts": {}}
	for _, c := range factSessions {
		states[c.name] = tallied(transcript(t, c.text))
	}
	for name, state := range states {
		for _, f := range corpus(t) {
			quick, full := state, state
			quick.Add(&f)
			full.count(&f)
			m := Peek(f.Raw)
			full.message(f.Lane, &m)
			if overlooked(m) && quick.Errors == state.Errors {
				full.Errors, full.Invalid = state.Errors, state.Invalid
			}
			quick.Finding.Plain, full.Finding.Plain = 0, 0 // only the short cut counts these
			if asJSON(t, quick) != asJSON(t, full) {
				t.Errorf("%s, %s %s\n got %s\nwant %s", name, f.Lane, f.Raw, asJSON(t, quick), asJSON(t, full))
			}
		}
	}
	for _, c := range factSessions {
		frames := transcript(t, c.text)
		quick := tallied(frames)
		quick.Finding.Plain = 0
		if got, want := asJSON(t, quick), asJSON(t, exact(frames)); got != want {
			t.Errorf("%s\n got %s\nwant %s", c.name, got, want)
		}
	}
}

// TestTallyCheapRule holds what the rule lets pass and what it does not.
func TestTallyCheapRule(t *testing.T) {
	for _, c := range []struct {
		raw     string
		invalid uint64
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"a","params":{nonsense}}`, 0},
		{`{"jsonrpc":"2.0","id":1,"result":{nonsense}}`, 0},
		{`{"jsonrpc":"2.0","id":1,"method":"a"}{"jsonrpc":"2.0","id":2,"method":"b"}`, 0},
		{`{"jsonrpc":"2.0","method":"a","id":null,"params":{}}`, 0},
		{`{"jsonrpc":"2.0","id":1,"method":"a","params":{nonsense`, 1},
		{`{"jsonrpc":"2.0","method":"a","params":{},"id":null }` + "\r\n", 1},
		{`{"jsonrpc":"2.0","id":1,"method":a}`, 1},
		{`{"jsonrpc":"2.0","id":1,nonsense}`, 1},
		{`{"id":x,"method":"a"}`, 1},
		{`{"result":{}`, 0},
		{`{"result":{`, 1},
		{`{"result"}`, 1},
		{`nonsense}`, 1},
		{`}`, 1},
	} {
		tally := *legacyTally()
		f := Frame{Lane: ToClient, Raw: []byte(c.raw)}
		if tally.Add(&f); tally.Invalid != c.invalid || tally.Errors != c.invalid {
			t.Errorf("%s: %d invalid, %d errors, want %d", c.raw, tally.Invalid, tally.Errors, c.invalid)
		}
	}
}

// TestTallyShortCut holds that ordinary frames are not peeked at in full: the
// writer of a recording could not keep up if they were.
func TestTallyShortCut(t *testing.T) {
	lateDiscover := strings.Replace(modernSession, `< {"jsonrpc":"2.0","id":"probe-1"`, `! {"never":"answered"`, 1)
	for _, session := range []string{legacySession, modernSession, lateDiscover} {
		tally := tallied(transcript(t, session))
		tally.Facts.Server.Name = "known"
		for _, c := range []struct {
			lane Lane
			raw  string
			want bool
		}{
			{ToServer, `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{` + modernMeta + `}}`, true},
			{ToServer, `{"method":"tools/call","params":{},"jsonrpc":"2.0","id":9}`, true},
			{ToServer, `{"jsonrpc":"2.0","id":9,"method":"initialize"}`, false},
			{ToServer, `{"jsonrpc":"2.0","id":9,"method":"server/discover"}`, false},
			{ToServer, `{"jsonrpc":"2.0","id":"a","result":{"action":"accept"}}`, true},
			{ToClient, `{"jsonrpc":"2.0","id":9,"result":{"content":[{"type":"text","text":"an error\u001b \"isError\":true \"error\""}],"isError":false}}`, true},
			{ToClient, `{"result":{"tools":[]},"jsonrpc":"2.0","id":9}`, true},
			{ToClient, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error"}}`, true},
			{ToClient, `{"jsonrpc":"2.0","id":9,"result":{"isError":true}}`, false},
			{ToClient, `{"jsonrpc":"2.0","id":9,"result":{"isError" : true}}`, false},
			{ToClient, `{"jsonrpc":"2.0","id":9,"result":{"i\u0073Error":true}}`, false},
			{ToClient, `{"jsonrpc":"2.0","id":9,"error":{}}`, false},
		} {
			if got := tally.ordinary(c.lane, []byte(c.raw)); got != c.want {
				t.Errorf("%s: %v, want %v", c.raw, got, c.want)
			}
		}
	}
}

// TestTallyContinued holds that a tally which is written and read back at any
// frame ends like one that never stopped.
func TestTallyContinued(t *testing.T) {
	texts := []string{}
	for _, c := range factSessions {
		texts = append(texts, c.text)
	}
	texts = append(texts, strings.Join(texts, "\n"), `
		> {"jsonrpc":"2.0","id":"`+"\xff\xfe"+`","method":"initialize","params":{"clientInfo":{"name":"`+"a\xffb\xc2"+`"}}}
		< {"jsonrpc":"2.0","id":"`+"\xff\xfe"+`","result":{"protocolVersion":"2025-06-18","capabilities":{"k" : "`+"<\xff>"+`"}}}`)
	for _, text := range texts {
		frames := transcript(t, text)
		whole := tallied(frames)
		for cut := range len(frames) + 1 {
			var other Tally
			before := tallied(frames[:cut])
			if err := json.Unmarshal([]byte(asJSON(t, before)), &other); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(before, other) {
				t.Errorf("cut at %d: wrote %+v\nread %+v", cut, before, other)
			}
			for i := range frames[cut:] {
				other.Add(&frames[cut+i])
			}
			if !reflect.DeepEqual(other, whole) {
				t.Errorf("cut at %d:\n got %+v\nwant %+v", cut, other, whole)
			}
		}
	}
}

func TestTallyTakesNoMemory(t *testing.T) {
	tally := legacyTally()
	f := Frame{Lane: ToClient, Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":false}}`)}
	if n := testing.AllocsPerRun(100, func() { tally.Add(&f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzTally holds that the tally of valid JSON agrees with a full peek, and
// that nothing makes it panic.
func FuzzTally(f *testing.F) {
	seeds(f, func(raw []byte) { f.Add(raw, true) })
	f.Fuzz(func(t *testing.T, raw []byte, toServer bool) {
		frame := Frame{Lane: ToClient, Raw: raw}
		if toServer {
			frame.Lane = ToServer
		}
		quick, full := *legacyTally(), *legacyTally()
		quick.Add(&frame)
		full.count(&frame)
		m := Peek(raw)
		full.message(frame.Lane, &m)
		plain := m.Kind != Invalid && (m.Reason == "" || m.Reason == "no jsonrpc member")
		if plain && asJSON(t, quick) != asJSON(t, full) {
			t.Errorf("got %s\nwant %s", asJSON(t, quick), asJSON(t, full))
		}
		if quick.Errors > full.Errors {
			t.Errorf("%d errors where there are %d", quick.Errors, full.Errors)
		}
	})
}

// TestTallyFindsLateRevision has a session turn modern after so many plain
// requests that not every one is searched any more.
func TestTallyFindsLateRevision(t *testing.T) {
	var tally Tally
	send := func(n int, raw string) {
		for range n {
			tally.Add(&Frame{Lane: ToServer, Raw: []byte(raw), Size: int64(len(raw))})
		}
	}
	send(10*enoughPlain, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n")
	if tally.Finding.Modern {
		t.Fatal("modern without a version")
	}
	send(16, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`+"\n")
	if !tally.Finding.Modern || tally.Facts.Requested != "2026-07-28" {
		t.Errorf("%+v", tally)
	}
}
