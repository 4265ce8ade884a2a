package replay

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// lines returns lines as frames: those with > are from the client, others from the server.
func lines(text string) (frames []tap.Frame) {
	for line := range strings.Lines(text) {
		f := tap.Frame{Seq: uint64(len(frames) + 1), At: time.Duration(len(frames)) * time.Millisecond, Lane: tap.ToClient, Raw: []byte(line)}
		if raw, ok := strings.CutPrefix(line, ">"); ok {
			f.Lane, f.Raw = tap.ToServer, []byte(raw)
		}
		f.Size = int64(len(f.Raw))
		frames = append(frames, f)
	}
	return frames
}

// Whatever is recorded and whatever the client sends, a session ends, answers each request at most
// once unless the recording has more answers, and never panics.
func FuzzSession(f *testing.F) {
	for _, frames := range corpus(f) {
		var recorded, live bytes.Buffer
		for _, x := range frames {
			switch x.Lane {
			case tap.ToServer:
				fmt.Fprintf(&recorded, ">%s\n", bytes.TrimSpace(x.Raw))
				fmt.Fprintf(&live, "%s\n", bytes.TrimSpace(x.Raw))
			case tap.ToClient:
				fmt.Fprintf(&recorded, "%s\n", bytes.TrimSpace(x.Raw))
			}
		}
		f.Add(recorded.String(), live.String(), uint8(len(frames)))
	}
	f.Fuzz(func(t *testing.T, recorded, live string, how uint8) {
		if len(recorded)+len(live) > 1<<16 {
			return // longer inputs add nothing
		}
		opt := Options{Match: Match(how % 4), Repeat: Repeat(how / 4 % 3), Pace: []Pace{Brisk, Instant, Recorded, Pace(3)}[how/12%4]}
		if how > 200 {
			opt.Faults = []Fault{{Kind: FaultKind(how % 8), Chance: 0.5}}
		}
		p := &player{tb: t, s: script(t, lines(recorded), opt).NewSession()}
		if how%2 == 0 {
			p.s.Attach(0, 1, Duplex)
		}
		p.drain()
		for line := range strings.Lines(live) {
			p.send([]byte(line))
			p.until(p.now + time.Millisecond)
		}
		p.until(p.now + time.Hour)
		p.s.End(p.now)
		p.drain()
		p.until(p.now + 10*longest)
		if !p.s.Done() {
			t.Fatalf("not over: %d replies", len(p.s.replies))
		}
		NewCoverage(p.s.script).Unrequested(10)
	})
}

// A message with the maximum depth, the maximum width or a large size is matched and compared in
// one pass.
func TestHostileParams(t *testing.T) {
	deep := func(inner string) string {
		n := jsonrpc.MaxDepth - 10
		return strings.Repeat(`{"a":`, n) + inner + strings.Repeat("}", n)
	}
	wide := func(last string) string {
		var b strings.Builder
		b.WriteString("{")
		for i := range 200_000 {
			fmt.Fprintf(&b, `"k%d":%d,`, i, i)
		}
		return b.String() + `"last":` + last + "}"
	}
	long := func(last string) string {
		return "[" + strings.Repeat(`"x\\",`, 300_000) + last + "]"
	}
	leaf := strings.Repeat("y", 1<<20)
	for name, make := range map[string]func(string) string{"deep": deep, "wide": wide, "long": long, "deep and large": func(s string) string {
		return deep(`["` + leaf + `",` + s + "]")
	}} {
		t.Run(name, func(t *testing.T) {
			request := func(inner string) string {
				return `{"id":1,"method":"tools/call","params":{"name":"t","arguments":` + make(inner) + "}}\n"
			}
			p := newPlayer(t, script(t, lines(">"+request("1")+`{"id":1,"result":{}}`+"\n"), Options{Pace: Instant}))
			p.send([]byte(request("1.0")))
			p.send([]byte(request("2")))
			if len(p.out) != 2 || !bytes.Contains(p.out[0].Raw, []byte("result")) || len(p.out[1].Raw) > 4096 {
				t.Fatalf("%d answers", len(p.out))
			}
			if n := p.notes[0]; n.Kind != NoteMiss || len(n.Differences) != 1 || n.More != 0 {
				t.Errorf("%v: %.200v", n.Kind, n.Differences)
			}
		})
	}
}

// Work is linear even if there are many equal requests, differences and so on.
func TestManyAlike(t *testing.T) {
	t.Run("open calls of one id", manyOpen)
	t.Run("replies that wait for the client", manyWaiting)
	t.Run("misses", manyMisses)
	t.Run("polls of one task", manyPolls)
}

// many is large enough that quadratic work would not finish.
const many = 20_000

func manyOpen(t *testing.T) {
	p := newPlayer(t, script(t, lines(`>{"id":1,"method":"a"}`+"\n"), Options{}))
	for range many {
		p.s.Receive(0, Input{Stream: 1, Raw: []byte(`{"id":7,"method":"a"}`)})
	}
	for range many {
		p.s.Receive(0, Input{Stream: 1, Raw: []byte(`{"method":"notifications/cancelled","params":{"requestId":7}}`)})
	}
	if len(p.s.replies) != 0 {
		t.Errorf("%d replies", len(p.s.replies))
	}
}

func manyWaiting(t *testing.T) {
	var b strings.Builder
	for i := range many {
		fmt.Fprintf(&b, ">{\"id\":%d,\"method\":\"a\"}\n", i)
	}
	for i := range many {
		fmt.Fprintf(&b, "{\"id\":%d,\"result\":%d}\n", many-1-i, i)
	}
	p := newPlayer(t, script(t, lines(b.String()), Options{Pace: Instant}))
	for i := range many {
		p.s.Receive(0, Input{Stream: 1, Raw: fmt.Appendf(nil, `{"id":%d,"method":"a"}`, i)})
	}
	for i := range many {
		out, ok := p.s.Next(p.now)
		if want := fmt.Sprintf("{\"id\":%d,\"result\":%d}\n", many-1-i, i); !ok || string(out.Raw) != want {
			t.Fatalf("%s, %v, want %s", out.Raw, ok, want)
		}
	}
}

func manyMisses(t *testing.T) {
	var b strings.Builder
	for i := range many {
		fmt.Fprintf(&b, ">{\"id\":1,\"method\":\"a\",\"params\":{\"n\":%d}}\n{\"id\":1,\"result\":{}}\n", i)
	}
	p := newPlayer(t, script(t, lines(b.String()), Options{Pace: Instant, Match: MatchSubset, Repeat: RepeatError}))
	for i := range many {
		p.s.Receive(0, Input{Stream: 1, Raw: fmt.Appendf(nil, `{"id":1,"method":"a","params":{"n":%d}}`, i)})
		if i%100 == 0 {
			p.s.Receive(0, Input{Stream: 1, Raw: []byte(`{"id":1,"method":"a","params":{"n":-1}}`)})
		}
		p.drain()
		if p.out = p.out[:0]; i%100 == 0 && p.notes[len(p.notes)-1].Kind != NoteMiss {
			t.Fatal(p.notes)
		}
		p.notes = p.notes[:0]
	}
}

func manyPolls(t *testing.T) {
	var b strings.Builder
	b.WriteString(`>{"id":1,"method":"tools/call","params":{"name":"t","task":{}}}` + "\n" + `{"id":1,"result":{"task":{"taskId":"k","status":"working"}}}` + "\n")
	b.WriteString(`>{"id":2,"method":"tasks/result","params":{"taskId":"k"}}` + "\n")
	for i := range many {
		fmt.Fprintf(&b, ">{\"id\":%d,\"method\":\"tasks/get\",\"params\":{\"taskId\":\"k\"}}\n{\"id\":%d,\"result\":{\"taskId\":\"k\",\"status\":\"working\"}}\n", i+3, i+3)
	}
	s := script(t, lines(b.String()), Options{Pace: Instant})
	if s.Requests() != many+2 || s.Steps() != many+1 {
		t.Errorf("%d requests, %d steps", s.Requests(), s.Steps())
	}
}

// A session releases its state when calls end.
func TestSessionForgets(t *testing.T) {
	p := newPlayer(t, script(t, lines(`>{"id":1,"method":"a","params":{"_meta":{"progressToken":1}}}
{"method":"notifications/progress","params":{"progressToken":1}}
{"id":1,"method":"sampling/createMessage"}
>{"id":1,"result":{}}
{"id":1,"result":{}}
`), Options{Pace: Instant}))
	p.send([]byte(`{"method":"notifications/cancelled","params":{"requestId":"none"}}`)) // from now on it is known which ids are open
	for i := range 5000 {
		p.send(fmt.Appendf(nil, `{"id":%d,"method":"a","params":{"_meta":{"progressToken":%d}}}`, i, i))
		last := p.out[len(p.out)-1]
		m := jsonrpc.Peek(last.Raw)
		p.send(fmt.Appendf(nil, `{"id":%s,"result":{}}`, m.ID))
		p.out, p.notes = p.out[:0], p.notes[:0]
	}
	s := p.s
	if len(s.replies)+len(s.missing)+len(s.questions.open)+len(s.questions.by)+len(s.outbox)+len(s.arrived)+len(s.cursors) > 20 {
		t.Errorf("%d replies, %d asked, %d arrived, %d cursors", len(s.replies), len(s.questions.open), len(s.arrived), len(s.cursors))
	}
}
