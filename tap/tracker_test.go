package tap

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// entries counts what a Tracker holds beside what is open.
func (t *Tracker) entries() (n int) {
	for i := range t.pairer.sides {
		n += len(t.pairer.sides[i].answered)
	}
	for i := range t.pools {
		n += t.pools[i].n
	}
	for i := range t.logging {
		n += t.logging[i].n
	}
	for _, l := range t.streams {
		n += l.n
	}
	for _, l := range t.words {
		n += l.n
	}
	for i := range t.past {
		n += len(t.past[i].ties) + len(t.past[i].ring)
	}
	return n + len(t.long)
}

// A million frames that leave behind all that they can: answered calls,
// cancelled ones, chains and tasks that nobody goes on with, words of all kinds.
// What a Tracker holds is bounded all the same.
func TestTrackerMemory(t *testing.T) {
	frames := 1_000_000
	if testing.Short() {
		frames = 100_000
	}
	const most = 2*PairerMemory + pasts*2*PairerMemory + MaxWaiting*(int(pools)+6) + 100
	var tracker Tracker
	rng := rand.New(rand.NewPCG(1, 1))
	var ended, begun, seq int
	add := func(lane Lane, text string, args ...any) {
		seq++
		raw := fmt.Appendf(nil, text, args...)
		m := Peek(raw)
		f := Frame{Seq: uint64(seq), At: time.Duration(seq), Lane: lane, Exchange: uint64(seq % 5), Size: int64(len(raw))}
		for _, p := range tracker.Add(&f, &m) {
			if p.Role == RoleRequest {
				begun++
			}
		}
		ended += len(tracker.Ended())
	}
	for i := 0; seq < frames; i++ {
		leaveBehind(add, rng.IntN(6), i)
		if i%5000 != 0 {
			continue
		}
		if n := tracker.entries(); n > most {
			t.Fatalf("%d entries after %d frames, want %d at most", n, seq, most)
		}
	}
	open := len(tracker.Open())
	if open > MaxWaiting || ended+open != begun {
		t.Errorf("%d calls begun, %d ended, %d open", begun, ended, open)
	}
	for _, side := range tracker.pairer.sides {
		if n := len(side.open); n > MaxWaiting {
			t.Errorf("the pairer holds %d open requests", n)
		}
	}
}

// leaveBehind makes a call, or something else, that leaves one thing or another.
func leaveBehind(add func(Lane, string, ...any), what, i int) {
	request := `{"id":%d,"method":"tools/call","params":{"name":"t%[1]d","task":{},"_meta":{"progressToken":"t%[1]d","io.modelcontextprotocol/logLevel":"info","io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	switch what {
	case 0:
		add(ToServer, request, i)
		add(ToClient, `{"id":%d,"method":"elicitation/create","params":{"elicitationId":"e%[1]d"}}`, i)
		add(ToServer, `{"id":%d,"result":{}}`, i)
		add(ToClient, `{"id":%d,"result":{}}`, i)
	case 1:
		add(ToServer, request, i)
		add(ToServer, `{"method":"notifications/cancelled","params":{"requestId":%d}}`, i)
	case 2:
		add(ToServer, request, i)
		add(ToClient, `{"id":%d,"result":{"resultType":"input_required","requestState":"s%[1]d","inputRequests":{"k":{"method":"roots/list"}}}}`, i)
	case 3:
		add(ToServer, request, i)
		add(ToClient, `{"id":%d,"result":{"task":{"taskId":"k%[1]d","status":"working"}}}`, i)
		add(ToServer, `{"id":%d,"method":"tasks/get","params":{"taskId":"k%[1]d"}}`, i)
		add(ToClient, `{"id":%d,"result":{"taskId":"k%[1]d","status":"completed"}}`, i)
	case 4:
		add(ToServer, `{"id":%d,"method":"subscriptions/listen","params":{"_meta":{"progressToken":%[1]d}}}`, i)
		add(ToClient, `{"method":"notifications/cancelled","params":{"requestId":%d}}`, i)
	case 5:
		add(ToClient, `{"id":%d,"error":{"code":1,"message":""}}`, i)
		add(ToClient, `{"method":"notifications/progress","params":{"progressToken":"t%d"}}`, i-1)
	}
}

func trackerAdd(tracker *Tracker, seq int, lane Lane, text string) []Part {
	m := Peek([]byte(text))
	return tracker.Add(&Frame{Seq: uint64(seq), At: time.Duration(seq), Lane: lane, Size: int64(len(text))}, &m)
}

// A cancelled call that was handed over because too many others wait: its answer
// is late all the same, and the next one is a repeat.
func TestTrackerGivesUpCancelledCalls(t *testing.T) {
	var tracker Tracker
	var ended []*Call
	for i := range MaxWaiting + 1 {
		trackerAdd(&tracker, 2*i+1, ToServer, fmt.Sprintf(`{"id":%d,"method":"tools/call"}`, i))
		trackerAdd(&tracker, 2*i+2, ToServer, fmt.Sprintf(`{"method":"notifications/cancelled","params":{"requestId":%d}}`, i))
		ended = append(ended, tracker.Ended()...)
	}
	if len(ended) != 1 || ended[0].Ref.Seq != 1 || ended[0].Status != CallCancelled || ended[0].Notes != 0 {
		t.Fatalf("ended: %+v", ended)
	}
	for i, want := range []Role{RoleLate, RoleRepeat} {
		p := trackerAdd(&tracker, 10_000+i, ToClient, `{"id":0,"result":{}}`)[0]
		if p.Role != want || p.Call.Seq != 1 || !p.Late || p.Method != "tools/call" {
			t.Errorf("answer %d: %+v", i, p)
		}
	}
	// The one with id 1 still waits, and ends with its late answer.
	if p := trackerAdd(&tracker, 10_002, ToClient, `{"id":1,"result":{}}`)[0]; p.Role != RoleLate {
		t.Errorf("%+v", p)
	}
	if e := tracker.Ended(); len(e) != 1 || e[0].Status != CallCancelledLate {
		t.Errorf("%+v", e)
	}
}

// A chain that nobody goes on with is let go, and says so.
func TestTrackerLetsGo(t *testing.T) {
	var tracker Tracker
	var ended []*Call
	for i := range MaxWaiting + 1 {
		trackerAdd(&tracker, 2*i+1, ToServer, fmt.Sprintf(`{"id":%d,"method":"tools/call"}`, i))
		trackerAdd(&tracker, 2*i+2, ToClient, fmt.Sprintf(`{"id":%d,"result":{"resultType":"input_required"}}`, i))
		ended = append(ended, tracker.Ended()...)
	}
	if len(ended) != 1 || ended[0].Status != CallInputRequired || ended[0].Notes != NoteLetGo {
		t.Fatalf("ended: %+v", ended)
	}
}

// Of a long call the first and the last parts are kept.
func TestTrackerKeepsBothEnds(t *testing.T) {
	const progress = 1000
	var tracker Tracker
	trackerAdd(&tracker, 1, ToServer, `{"id":1,"method":"tools/call","params":{"_meta":{"progressToken":1}}}`)
	for i := range progress {
		trackerAdd(&tracker, 2+i, ToClient, `{"method":"notifications/progress","params":{"progressToken":1}}`)
	}
	before := tracker.Open()[0]
	trackerAdd(&tracker, 2+progress, ToClient, `{"id":1,"result":{}}`)
	after := tracker.Ended()[0]
	for _, c := range []struct {
		call *Call
		all  uint64
	}{{before, 1 + progress}, {after, 2 + progress}} {
		parts := c.call.Parts
		if len(parts) != 2*MaxCallParts || c.call.Skipped != c.all-2*MaxCallParts || c.call.Counts[RoleProgress] != progress {
			t.Fatalf("%d parts, %d skipped, %d progress", len(parts), c.call.Skipped, c.call.Counts[RoleProgress])
		}
		for i, p := range parts {
			want := uint64(i + 1)
			if i >= MaxCallParts {
				want = c.all - uint64(2*MaxCallParts-i) + 1
			}
			if p.Message.Seq != want {
				t.Errorf("part %d is frame %d, want %d", i, p.Message.Seq, want)
			}
		}
	}
}

// Frames too large to be read in full: what a Scanner knows of them is enough
// not to lose the pairing, and nothing else is made up.
func TestTrackerLargeFrames(t *testing.T) {
	big := strings.Repeat("x", 100)
	var tracker Tracker
	var got []string
	add := func(lane Lane, text string) {
		var s Scanner
		s.Write([]byte(text))
		m := s.Message()
		seq := len(got) + 1
		for _, p := range tracker.Add(&Frame{Seq: uint64(seq), Lane: lane, Size: int64(len(text))}, &m) {
			got = append(got, fmt.Sprintf("%d %v %d", p.Message.Seq, p.Role, p.Call.Seq))
		}
	}
	add(ToServer, `{"id":1,"method":"tools/call","params":{"name":"`+big+`","task":{},"_meta":{"progressToken":1}}}`)
	add(ToClient, `{"method":"notifications/progress","params":{"progressToken":1,"message":"`+big+`"}}`)
	add(ToClient, `{"id":1,"result":{"task":{"taskId":"1"},"x":"`+big+`"}}`)
	add(ToServer, `{"id":2,"method":"tools/call","params":{}}`)
	add(ToClient, `{"id":2,"result":{"resultType":"input_required","inputRequests":{"k":{}}}}`)
	add(ToServer, `{"id":3,"method":"tools/call","params":{"inputResponses":{"k":{}}}}`)
	add(ToClient, `{"id":3,"result":{"resultType":"task","taskId":"t"}}`)
	add(ToServer, `[{"id":4,"method":"ping"}]`)
	add(ToServer, `{"method":"notifications/cancelled","params":{"requestId":2}}`)
	want := "1 request 1; 2 stray 0; 3 response 1; 4 request 4; 5 interim 4; 6 request 6; 7 interim 6; 8 unread 0; 9 stray 0"
	if s := strings.Join(got, "; "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

// A task's result that is too large to be read ends its call most likely, and a
// further poll is still a part of it.
func TestTrackerLargeTaskResult(t *testing.T) {
	var tracker Tracker
	trackerAdd(&tracker, 1, ToServer, `{"id":1,"method":"tools/call"}`)
	trackerAdd(&tracker, 2, ToClient, `{"id":1,"result":{"resultType":"task","taskId":"t","status":"working"}}`)
	trackerAdd(&tracker, 3, ToServer, `{"id":2,"method":"tasks/get","params":{"taskId":"t"}}`)
	var s Scanner
	s.Write([]byte(`{"id":2,"result":{"taskId":"t","status":"completed","result":{}}}`))
	m := s.Message()
	if p := tracker.Add(&Frame{Seq: 4, Lane: ToClient}, &m)[0]; p.Role != RoleResponse || !p.Guess || p.Call.Seq != 1 {
		t.Errorf("%+v", p)
	}
	if open := tracker.Open(); len(open) != 1 || open[0].Status != CallDone {
		t.Errorf("%+v", open)
	}
	if p := trackerAdd(&tracker, 5, ToServer, `{"id":3,"method":"tasks/get","params":{"taskId":"t"}}`)[0]; p.Role != RoleAgain {
		t.Errorf("%+v", p)
	}
}

// An id of any length is cancelled only by its own: one that is as long and begins
// the same means something else.
func TestTrackerLongIDs(t *testing.T) {
	var tracker Tracker
	long := strings.Repeat("x", MaxWord)
	trackerAdd(&tracker, 1, ToServer, `{"id":"`+long+`1","method":"tools/call"}`)
	for i, end := range []string{"1", "2"} { // the pairing goes by the beginning, so even the first is doubtful
		p := trackerAdd(&tracker, 2+i, ToServer, `{"method":"notifications/cancelled","params":{"requestId":"`+long+end+`"}}`)[0]
		if p.Role != RoleStray {
			t.Errorf("%v", p.Role)
		}
	}
	open := tracker.Open()
	if len(open) != 1 || open[0].Notes != NoteLong || len(open[0].ID) != MaxWord || open[0].Status != CallPending {
		t.Errorf("%+v", open)
	}
}

// Words of any length and spelling are the same only when they are equal.
func TestWordKeys(t *testing.T) {
	long := strings.Repeat("a", MaxWord+10)
	same := [][]string{
		{`1`, `1.0`, `1e0`, `10e-1`},
		{`"1"`, `"\u0031"`},
		{`9007199254740993`},
		{`9007199254740992`, `9007199254740992.0`},
		{`"` + long + `"`, `"\u0061` + long[1:] + `"`},
		{`"` + long + `b"`},
		{`"` + long + `c"`},
		{`"\ud800"`},
		{`"\ud801"`},
		{`"` + "\ufffd" + `"`},
		{`""`},
		{`true`},
		{`"true"`},
		{`{"a":1}`},
		{`[1]`},
		{strings.Repeat("1", 100)},
		{strings.Repeat("1", 99) + "2"},
	}
	keys := map[string]int{}
	for i, spellings := range same {
		for _, s := range spellings {
			key := string(appendWord(nil, s))
			if j, ok := keys[key]; ok && j != i {
				t.Errorf("%.40s is taken for %.40s", s, same[j][0])
			} else if !ok && s != spellings[0] {
				t.Errorf("%.40s is not taken for %.40s", s, spellings[0])
			}
			keys[key] = i
			if len(key) > 2*wordSize {
				t.Errorf("the key of %.40s has %d bytes", s, len(key))
			}
		}
	}
	for _, absent := range []string{"", "null"} {
		if key := appendWord(nil, absent); len(key) != 0 {
			t.Errorf("%q has the key %q", absent, key)
		}
	}
}

// Many requests with one id, and many of one shape: no step walks over them.
func TestTrackerManyAlike(t *testing.T) {
	const n = 50_000
	var tracker Tracker
	for i := range n {
		trackerAdd(&tracker, i+1, ToServer, `{"id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":1}}}`)
	}
	for i := range n {
		text := `{"id":1,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"k":{"method":"roots/list"}}}}`
		if p := trackerAdd(&tracker, n+i+1, ToClient, text)[0]; p.Call.Seq != uint64(i+1) || p.Role != RoleInterim {
			t.Fatalf("%d: %+v", i, p)
		}
	}
	for i := range MaxWaiting {
		text := `{"id":1,"method":"tools/call","params":{"name":"t","requestState":"s","inputResponses":{"k":{}}}}`
		if p := trackerAdd(&tracker, 2*n+i+1, ToServer, text)[0]; p.Role != RoleAgain || !p.Guess {
			t.Fatalf("%d: %+v", i, p)
		}
	}
	if open := tracker.Open(); len(open) != MaxWaiting {
		t.Errorf("%d are open", len(open))
	}
}

// Add ignores what is no traffic.
func TestTrackerIgnoresOtherTraffic(t *testing.T) {
	var tracker Tracker
	m := Peek([]byte(`{"id":1,"method":"ping"}`))
	for _, lane := range []Lane{Life, Stderr, Lanes} {
		if p := tracker.Add(&Frame{Seq: 1, Lane: lane}, &m); p != nil {
			t.Errorf("%v: %+v", lane, p)
		}
	}
	if p := tracker.Add(&Frame{Seq: 1, Lane: ToServer}, nil); p != nil {
		t.Errorf("%+v", p)
	}
	if p := tracker.Add(&Frame{Seq: 1, Lane: ToServer}, &Message{Kind: Other}); len(p) > 0 {
		t.Errorf("%+v", p)
	}
	if open := tracker.Open(); open != nil {
		t.Errorf("%+v", open)
	}
}

func TestCallNames(t *testing.T) {
	for r := range Roles {
		if back, err := ParseRole(r.String()); err != nil || back != r {
			t.Errorf("%v: %v, %v", r, back, err)
		}
	}
	for s := range callStatuses {
		if back, err := ParseCallStatus(s.String()); err != nil || back != s {
			t.Errorf("%v: %v, %v", s, back, err)
		}
	}
	if _, err := ParseRole("Request"); err == nil || !strings.HasSuffix(err.Error(), "unread or replay)") {
		t.Error(err)
	}
	if _, err := ParseCallStatus("ended"); err == nil {
		t.Error("no error")
	}
	if s := (NoteClash | NoteLetGo).String(); s != "clash,let_go" {
		t.Error(s)
	}
	if Roles.String() != "role(16)" || callStatuses.String() != "status(9)" {
		t.Error(Roles.String(), callStatuses.String())
	}
}

func BenchmarkTracker(b *testing.B) {
	meta := `"_meta":{"progressToken":%d,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	for _, c := range []struct{ name, request, between, answer string }{
		{"ping", `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, "", `{"jsonrpc":"2.0","id":%d,"result":{}}`},
		{"call", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get_weather","arguments":{"location":"New York"}}}`, "",
			`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"72 degrees, partly cloudy"}]}}`},
		{"progress", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t",` + meta + `}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`,
			`{"jsonrpc":"2.0","id":%d,"result":{"resultType":"complete","content":[]}}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			const n = 1000
			var messages []Message
			var frames []Frame
			put := func(lane Lane, text string, args ...any) {
				raw := fmt.Appendf(nil, text, args...)
				messages = append(messages, Peek(raw))
				frames = append(frames, Frame{Lane: lane, Raw: raw, Size: int64(len(raw))})
			}
			for i := range n {
				if put(ToServer, c.request, i, i); strings.Count(c.request, "%d") == 1 {
					frames, messages = frames[:len(frames)-1], messages[:len(messages)-1]
					put(ToServer, c.request, i)
				}
				if c.between != "" {
					put(ToClient, c.between, i)
				}
				put(ToClient, c.answer, i)
			}
			var t Tracker
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				f := &frames[i%len(frames)]
				f.Seq = uint64(i + 1)
				if parts := t.Add(f, &messages[i%len(frames)]); len(parts) != 1 || parts[0].Role == RoleOrphan {
					b.Fatal(parts)
				}
			}
		})
	}
}
