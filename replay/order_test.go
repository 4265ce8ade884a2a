package replay

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// A client that reacts as the recorded one did gets the same messages in the same order, however
// long each step takes.
func TestOrderWhateverTheTiming(t *testing.T) {
	sessions := corpus(t)
	for n := range 40 {
		sessions[fmt.Sprintf("random-%d", n)] = randomSession(rand.New(rand.NewPCG(7, uint64(n))))
	}
	for name, frames := range sessions {
		t.Run(name, func(t *testing.T) {
			for seed := range 10 {
				r := rand.New(rand.NewPCG(1, uint64(seed)))
				pace := []Pace{Brisk, Instant}[seed%2]
				p := newPlayer(t, script(t, frames, Options{Pace: pace}))
				sent := 0
				for i := range frames {
					switch f := &frames[i]; f.Lane {
					case tap.ToClient:
						sent++
					case tap.ToServer:
						p.have(sent)
						if r.IntN(2) == 0 {
							p.until(p.now + time.Duration(r.IntN(20))*time.Millisecond)
						}
						p.send(f.Raw)
					case tap.Lifecycle:
						if e, err := tap.ParseEvent(f.Raw); err == nil && e.Name == tap.EventEOF && e.Lane == "to_server" {
							p.have(sent)
							p.s.End(p.now)
							p.drain()
						}
					}
				}
				p.until(p.now + time.Hour)
				checkHalf(t, p, frames, false)
			}
		})
	}
}

// randomSession returns a recording of overlapping calls, with progress, server requests and
// notifications between them.
func randomSession(r *rand.Rand) (frames []tap.Frame) {
	now := time.Duration(0)
	put := func(lane tap.Lane, text string, args ...any) {
		now += time.Duration(r.IntN(5000)) * time.Microsecond
		raw := fmt.Appendf(nil, text+"\n", args...)
		frames = append(frames, tap.Frame{Seq: uint64(len(frames) + 1), At: now, Lane: lane, Raw: raw, Size: int64(len(raw))})
	}
	type call struct{ id, left int }
	var open []*call
	var questions []int
	next, question := 0, 0
	for len(frames) < 60 || len(open) > 0 || len(questions) > 0 {
		var c *call
		if len(open) > 0 {
			c = open[r.IntN(len(open))]
		}
		switch n := r.IntN(6); {
		case n < 2 && len(frames) < 60:
			// Some calls are equal.
			put(tap.ToServer, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{"n":%d},"_meta":{"progressToken":%d}}}`, next, r.IntN(3), next)
			open = append(open, &call{id: next, left: r.IntN(4)})
			next++
		case n == 2 && len(questions) > 0:
			put(tap.ToServer, `{"jsonrpc":"2.0","id":%d,"result":{"action":"accept"}}`, questions[0])
			questions = questions[1:]
		case n == 3:
			put(tap.ToClient, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}`, len(frames))
		case c == nil:
		case c.left == 0 && len(questions) == 0:
			put(tap.ToClient, `{"jsonrpc":"2.0","id":%d,"result":{"n":%d}}`, c.id, len(frames))
			for i := range open {
				if open[i] == c {
					open = append(open[:i], open[i+1:]...)
					break
				}
			}
		case c.left == 1 && len(questions) == 0:
			put(tap.ToClient, `{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":{"message":"%d"}}`, question, question)
			questions = append(questions, question)
			question++
			c.left = 0
		case c.left > 0:
			put(tap.ToClient, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":%d}}`, c.id, len(frames))
			c.left--
		}
	}
	return frames
}

// A client that waits for each answer, where the recorded one did not, is held up for one second
// in total.
func TestPatienceIsBounded(t *testing.T) {
	const n = 100
	var frames []tap.Frame
	put := func(lane tap.Lane, text string, args ...any) {
		raw := fmt.Appendf(nil, text, args...)
		frames = append(frames, tap.Frame{Seq: uint64(len(frames) + 1), Lane: lane, Raw: raw, Size: int64(len(raw))})
	}
	for i := range n {
		put(tap.ToServer, `{"id":%d,"method":"tools/call","params":{"name":"%d"}}`, i, i)
		if i%2 == 1 { // two by two
			put(tap.ToClient, `{"id":%d,"result":{}}`, i)
			put(tap.ToClient, `{"id":%d,"result":{}}`, i-1)
		}
	}
	p := newPlayer(t, script(t, frames, Options{}))
	for i := range n {
		p.send(fmt.Appendf(nil, `{"id":%d,"method":"tools/call","params":{"name":"%d"}}`, i, i))
		if p.have(i + 1); len(p.out) != i+1 || !strings.Contains(string(p.out[i].Raw), fmt.Sprintf(`"id":%d,`, i)) {
			t.Fatalf("call %d: %d answers", i, len(p.out))
		}
	}
	if p.now > 2*firstPatience || p.now < firstPatience {
		t.Errorf("held up for %v", p.now)
	}
	if n := len(p.notes); n != 50 {
		t.Errorf("%d notes, want one per pair", n)
	}
}
