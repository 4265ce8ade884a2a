package replay

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// What is compared byte for byte is answered as what is read: a client that says what
// the recorded one did, or leaves some of it out, says it twice or in another order,
// gets the same whether its bytes are the recorded ones or others that mean the same.
func TestStraightIsTheSame(t *testing.T) {
	all := corpus(t)
	for n := range uint64(40) {
		all[fmt.Sprint("random-", n)] = randomSession(rand.New(rand.NewPCG(n, 3)))
	}
	all["initialize late"] = lines(`>{"id":1,"method":"ping"}
{"id":1,"result":{}}
>{"id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}
{"id":2,"result":{}}
>{"id":3,"method":"a"}
{"id":9,"method":"sampling/createMessage"}
{"id":3,"result":{}}
`)
	all["the same again"] = lines(`>{"id":1,"method":"a"}
{"id":1,"result":1}
>{"id":2,"method":"b"}
{"id":2,"result":2}
>{"id":3,"method":"a"}
{"id":3,"result":3}
`)
	for name, frames := range all {
		for seed := range uint64(4) {
			opt := Options{Repeat: Repeat(seed % 3), Pace: []Pace{Instant, Brisk, Recorded}[seed%3]}
			s := script(t, frames, opt)
			said := walked(frames, seed)
			one, two := heardOf(newPlayer(t, s), said, ""), heardOf(newPlayer(t, s), said, " ")
			if one != two {
				t.Fatalf("%s, %d: as recorded\n%s\nand with a space more\n%s", name, seed, one, two)
			}
		}
	}
}

// The bytes are compared at all: then no queue of requests that are alike is looked into.
func TestStraightIsUsed(t *testing.T) {
	const n = 100
	frames := calls(n)
	s := script(t, frames, Options{Pace: Instant})
	for front, most := range map[string]int{"": 2, " ": n + 2} {
		p := newPlayer(t, s)
		heardOf(p, walked(frames, 0), front)
		if got := len(p.s.cursors); got > most || len(p.out) < n || front != "" && got < n {
			t.Errorf("with %q in front %d queues were looked into for %d answers", front, got, len(p.out))
		}
	}
}

// walked are the messages of a recorded client's in its order, with seed 0, or nearly
// so.
func walked(frames []tap.Frame, seed uint64) (said []string) {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range frames {
		if frames[i].Lane != tap.ToServer {
			continue
		}
		text := string(frames[i].Raw)
		switch {
		case seed == 0 || r.IntN(8) > 2:
			said = append(said, text)
		case r.IntN(2) == 0:
			said = append(said, text, text)
		}
		if n := len(said); seed > 0 && n > 1 && r.IntN(8) == 0 {
			said[n-1], said[n-2] = said[n-2], said[n-1]
		}
	}
	return said
}

// heardOf is all that a client gets that says this, with something in front of each
// request.
func heardOf(p *player, said []string, front string) string {
	for _, line := range said {
		if tap.Peek([]byte(line)).Kind == tap.Request {
			line = front + line
		}
		p.send([]byte(line))
		p.until(p.now + 20*time.Millisecond)
	}
	p.until(p.now + time.Minute)
	p.s.End(p.now)
	p.drain()
	var b strings.Builder
	for i, out := range p.out {
		fmt.Fprintf(&b, "%v %d %v %v %q\n", p.at[i], out.Stream, out.Last, out.Frame, out.Raw)
	}
	for _, n := range p.notes {
		fmt.Fprintf(&b, "%v %d %s\n", n.Kind, n.Live, n.Text)
	}
	fmt.Fprintln(&b, p.s.Requests(), len(p.s.plays), slices.Collect(unasked(p.s)))
	return b.String()
}

func unasked(s *Session) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, n := range s.Unasked(10) {
			if !yield(n.Text) {
				return
			}
		}
	}
}
