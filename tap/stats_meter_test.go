package tap

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// trackedStats is what a Meter must agree with: every message goes to the
// Tracker.
func trackedStats(frames []Frame, end time.Duration) *Stats {
	s := NewStats("r", 10)
	var tracker Tracker
	for i := range frames {
		f := &frames[i]
		if f.Lane == Life {
			tracker.AddEvent(f, eventOf(f))
		} else {
			m := PeekFrame(f)
			tracker.Add(f, &m)
		}
		for _, c := range tracker.Ended() {
			s.Add(c)
		}
	}
	s.Finish(tracker.Open(), end)
	return s
}

func eventOf(f *Frame) *Event {
	e, err := ParseEvent(f.Raw)
	if err != nil {
		panic(err)
	}
	return &e
}

// meteredStats also returns how many ordinary answers the Tracker was spared.
func meteredStats(frames []Frame, end time.Duration) (s *Stats, spared int) {
	s = NewStats("r", 10)
	m := NewMeter(s)
	for i := range frames {
		f := &frames[i]
		if f.Lane == Life {
			m.AddEvent(f, eventOf(f))
			continue
		}
		m.Add(f)
		if len(m.held)+len(m.asked) > maxHeld || len(m.tokens) > len(m.held) || len(m.spare) > maxHeld || len(m.owed) > len(frames) {
			panic("too much is held")
		}
		given := len(m.tracker.parts) > 0 && m.tracker.parts[0].Message.Seq == f.Seq
		if !given && strings.Contains(string(f.Raw), `"isError":false`) {
			spared++
		}
	}
	m.Finish(end)
	return s, spared
}

// sameStats compares all that Stats know.
func sameStats(t *testing.T, got, want *Stats) bool {
	t.Helper()
	for _, s := range []*Stats{got, want} {
		s.key = nil
		s.Slowest()
		s.Waiting()
	}
	if reflect.DeepEqual(got, want) {
		return true
	}
	t.Errorf("got\n%s\nwant\n%s", statsText(got), statsText(want))
	return false
}

// chatter is a session of ordinary calls in which, now and then, something else
// happens. Most ids are new, others are from few, so that they meet.
func chatter(rng *rand.Rand, n int) (frames []Frame) {
	at := time.Duration(0)
	few := []string{`1`, `2`, `3`, `"1"`, `"x"`, `1.0`, `"\u0078"`}
	next, open, asked := 1000, []string{}, []string{}
	id := func() string {
		if len(open) > 0 && rng.IntN(3) == 0 {
			return open[rng.IntN(len(open))]
		}
		return few[rng.IntN(len(few))]
	}
	add := func(lane Lane, format string, args ...any) {
		raw := fmt.Sprintf(format, args...)
		at += time.Duration(rng.IntN(3)) * time.Millisecond
		frames = append(frames, Frame{Seq: uint64(len(frames) + 1), At: at, Lane: lane, Raw: []byte(raw), Size: int64(len(raw)), Exchange: uint64(rng.IntN(2) * rng.IntN(3))})
	}
	ends := rng.IntN(3) == 0
	odd := []int{0, 1, 4, 30}[rng.IntN(4)] // percent
	for len(frames) < n {
		switch {
		case rng.IntN(100) < odd:
			lane, format := ToServer+Lane(rng.IntN(2)), oddMessages[rng.IntN(len(oddMessages))]
			args := make([]any, strings.Count(format, "%s"))
			for i := range args {
				args[i] = id()
			}
			add(lane, format, args...)
		case len(open) < 4 && rng.IntN(2) == 0 || rng.IntN(20) == 0:
			method := []string{"tools/call", "prompts/get", "ping", "own/word", "resources/read"}[rng.IntN(5)]
			next++
			own := fmt.Sprint(next)
			if rng.IntN(40) == 0 {
				own = id()
			}
			open = append(open, own)
			token := []string{`,"_meta":{"progressToken":` + id() + `}`, `,"_meta":{"progressToken":` + own + `}`,
				`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`, ""}[rng.IntN(4)]
			add(ToServer, `{"id":%s,"method":"%s","params":{"name":"n%d","uri":"u:x"%s}}`, own, method, rng.IntN(3), token)
		case rng.IntN(5) == 0:
			add(ToClient, `{"method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, id())
		case ends && rng.IntN(10) == 0:
			end := []string{`"end","by":"client"`, `"end","by":"server"`, `"response","status":200`, `"response","status":404`, `"response","status":202`}
			add(Life, `{"event":%s}`, end[rng.IntN(len(end))])
		case rng.IntN(8) == 0:
			add(ToClient, `{"method":"notifications/message","params":{"level":"info","data":7}}`)
		case len(asked) < 2 && rng.IntN(12) == 0:
			method := []string{"sampling/createMessage", "elicitation/create", "roots/list", "ping", "own/word", "tools/call"}[rng.IntN(6)]
			next++
			own := fmt.Sprint(next)
			if rng.IntN(20) == 0 {
				own = id()
			}
			asked = append(asked, own)
			add(ToClient, `{"id":%s,"method":"%s","params":{"message":"m","_meta":{"progressToken":%s}}}`, own, method, id())
		case len(asked) > 0 && rng.IntN(2) == 0:
			i := rng.IntN(len(asked))
			add(ToServer, `{"id":%s,"result":{"isError":false,"content":{}}}`, asked[i])
			asked = append(asked[:i], asked[i+1:]...)
		case len(open) > 0 && rng.IntN(20) > 0:
			i := rng.IntN(len(open))
			add(ToClient, `{"id":%s,"result":{"isError":false,"content":[]}}`, open[i])
			open = append(open[:i], open[i+1:]...)
		default:
			add(ToClient, `{"id":%s,"result":{"isError":false,"content":[]}}`, id())
		}
	}
	return frames
}

// oddMessages are what a Meter leaves to the Tracker.
var oddMessages = []string{
	`{"id":%s,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`,
	`{"id":%s,"result":{"protocolVersion":"2025-06-18"}}`,
	`{"id":%s,"method":"server/discover"}`,
	`{"id":%s,"method":"subscriptions/listen","params":{}}`,
	`{"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`,
	`{"id":%s,"method":"tools/call","params":{"name":"t","task":{},"_meta":{"progressToken":%s}}}`,
	`{"id":%s,"result":{"task":{"taskId":%s,"status":"working"}}}`,
	`{"id":%s,"result":{"resultType":"task","taskId":%s,"status":"working"}}`,
	`{"id":%s,"method":"tasks/get","params":{"taskId":%s}}`,
	`{"id":%s,"method":"tasks/cancel","params":{"taskId":%s}}`,
	`{"id":%s,"method":"tasks/result","params":{"taskId":%s}}`,
	`{"id":%s,"result":{"taskId":%s,"status":"completed"}}`,
	`{"id":%s,"result":{"resultType":"input_required","requestState":%s,"inputRequests":{"k":{"method":"roots/list"}}}}`,
	`{"id":%s,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"roots/list"}}}}`,
	`{"id":%s,"method":"tools/call","params":{"name":"n1","requestState":%s,"inputResponses":{"k":{}}}}`,
	`{"id":%s,"method":"tools/call","params":{"name":"n1","inputResponses":{"k":{}}}}`,
	`{"id":%s,"method":"sampling/createMessage","params":{}}`,
	`{"id":%s,"method":"roots/list","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":%s}}}}`,
	`{"id":%s,"method":"elicitation/create","params":{"elicitationId":%s}}`,
	`{"method":"notifications/elicitation/complete","params":{"elicitationId":%s}}`,
	`{"method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`,
	`{"method":"progress","params":{"id":%s,"percent":1}}`,
	`{"method":"notifications/message","params":{"level":"info","data":%s}}`,
	`{"id":%s,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/logLevel":"info"}}}`,
	`{"method":"notifications/cancelled","params":{"requestId":%s}}`,
	`{"method":"notifications/tasks/status","params":{"taskId":%s,"status":"failed"}}`,
	`{"id":%s,"result":{"isError":true}}`,
	`{"id":%s,"error":{"code":-32042,"message":"m","data":{"elicitations":[{"elicitationId":%s}]}}}`,
	`{"id":null,"error":{"code":1,"message":"m"}}`,
	`[{"id":%s,"method":"ping"},{"id":%s,"result":{}}]`,
	`{"method":"notifications/initialized"}`,
	`{"method":"notifications/roots/list_changed"}`,
	`no message`, ``,
}

func TestMeterAgreesWithTracker(t *testing.T) {
	spared, all := 0, 0
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 3))
		frames := chatter(rng, 10+rng.IntN(300))
		end := frames[len(frames)-1].At + time.Second
		got, n := meteredStats(frames, end)
		if !sameStats(t, got, trackedStats(frames, end)) {
			t.Fatalf("seed %d", seed)
		}
		spared += n
		all += len(frames)
	}
	if spared < all/20 {
		t.Errorf("the tracker was spared %d answers in %d frames: this tests little", spared, all)
	}
}

// Many requests that are open at once, and a crowd that something odd breaks.
func TestMeterHoldsLittle(t *testing.T) {
	var frames []Frame
	add := func(lane Lane, format string, args ...any) {
		raw := fmt.Sprintf(format, args...)
		frames = append(frames, Frame{Seq: uint64(len(frames) + 1), At: time.Duration(len(frames)), Lane: lane, Raw: []byte(raw)})
	}
	for i := range 3 * maxHeld {
		add(ToServer, `{"id":%d,"method":"ping"}`, i)
	}
	for i := range 3 * maxHeld {
		add(ToClient, `{"id":%d,"result":{}}`, i)
		if i == maxHeld {
			add(ToClient, `{"method":"notifications/message","params":{}}`)
		}
	}
	got, _ := meteredStats(frames, time.Second)
	sameStats(t, got, trackedStats(frames, time.Second))
	if total := got.Total(false); total.Statuses[CallDone] != 3*maxHeld {
		t.Errorf("%+v", total.Statuses)
	}
}

// The same over HTTP: bodies up, events down, and what is no message between.
func TestMeterForms(t *testing.T) {
	var frames []Frame
	add := func(lane Lane, form Form, raw string) {
		frames = append(frames, Frame{Seq: uint64(len(frames) + 1), At: time.Duration(len(frames)), Lane: lane, Form: form, Exchange: 1, Raw: []byte(raw)})
	}
	add(ToServer, FormBody, `{"id":1,"method":"tools/call","params":{"name":"a"}}`)
	add(ToClient, FormEvent, "id: 1\ndata:\n\n")
	add(ToClient, FormEvent, "event: endpoint\ndata: {\"id\":1,\"result\":{}}\n\n")
	add(ToClient, FormBody, `<html>`)
	add(ToClient, FormEvent, "event: message\ndata: {\"id\":1,\"result\":{}}\n\n")
	add(ToServer, FormEvent, "data: {\"id\":2,\"method\":\"ping\"}\n\n") // nobody does that
	add(ToClient, FormEvent, "data: {\"id\":2,\ndata: \"result\":{}}\n\n")
	add(ToServer, FormText, `{"id":3,"method":"ping"}`)
	add(ToServer, FormPing, `{"id":4,"method":"ping"}`)
	add(ToClient, FormText, `{"id":3,"result":{}}`)
	got, _ := meteredStats(frames, time.Second)
	sameStats(t, got, trackedStats(frames, time.Second))
	if total := got.Total(false); total.Statuses != (StatusCounts{CallDone: 3}) {
		t.Errorf("%+v", total.Statuses)
	}
}

// Frames too large to be held are known by their scanner.
func TestMeterAddMessage(t *testing.T) {
	s := NewStats("r", 1)
	m := NewMeter(s)
	request := Message{Kind: Request, ID: []byte(`1`), Method: "tools/call"}
	m.AddMessage(&Frame{Seq: 1, Lane: ToServer, Size: 5 << 20}, &request)
	m.Add(&Frame{Seq: 2, At: 5, Lane: ToClient, Raw: []byte(`{"id":1,"result":{}}`)})
	m.Finish(9)
	g := s.Groups()
	if len(g) != 1 || g[0].Method != "tools/call" || g[0].Statuses[CallDone] != 1 || g[0].BytesToServer != 5<<20 {
		t.Errorf("%s", statsText(s))
	}
}

// The sessions of the reference documents and those of the calls view.
func TestMeterAgreesOnSessions(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "calls", "*.txt"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		frames := laneLines(t, string(data))
		got, _ := meteredStats(frames, time.Hour)
		if !sameStats(t, got, trackedStats(frames, time.Hour)) {
			t.Errorf("in %s", name)
		}
	}
	frames := corpus(t)
	got, _ := meteredStats(frames, time.Hour)
	sameStats(t, got, trackedStats(frames, time.Hour))
}

// A request that is asked while the handshake is open, in another revision.
func TestMeterOpenHandshake(t *testing.T) {
	frames := laneLines(t, `> {"id":1,"method":"initialize","params":{}}
> {"id":2,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
< {"id":2,"result":{}}
> {"id":3,"method":"tools/call","params":{"name":"a"}}
< {"id":3,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"roots/list"}}}}
> {"id":4,"method":"tools/call","params":{"name":"a","inputResponses":{"k":{}}}}
< {"id":4,"result":{}}
`)
	got, _ := meteredStats(frames, time.Hour)
	sameStats(t, got, trackedStats(frames, time.Hour))
}

// What a Meter holds on to does not grow with what it has seen.
func TestMeterMemory(t *testing.T) {
	m := NewMeter(NewStats("r", 5))
	var f Frame
	run := func(rounds int) (heap uint64) {
		for range rounds {
			id := f.Seq
			f.At += time.Millisecond
			for _, line := range []string{
				`>{"id":%d,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":%[1]d}}}`,
				`<{"method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`,
				`<{"id":%d,"method":"roots/list"}`, `>{"id":%d,"result":{}}`, `<{"id":%d,"result":{}}`,
				`>{"id":"%d","method":"ping"}`, `<{"id":"%d","result":{}}`,
			} {
				f.Lane = map[byte]Lane{'>': ToServer, '<': ToClient}[line[0]]
				f.Raw = fmt.Appendf(nil, line[1:], id)
				f.Seq++
				m.Add(&f)
			}
		}
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	before := run(5000)
	after := run(50_000)
	runtime.KeepAlive(m)
	if after > before+256<<10 {
		t.Errorf("%d KiB after 35,000 frames, %d KiB after 385,000", before>>10, after>>10)
	}
}
