package replay

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
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
	all["ids and tokens of all kinds"] = lines(`>{"id":"\u0061\"b","method":"a","params":{"_meta":{"progressToken":1,"progressToken":"\u0062"}}}
{"method":"notifications/progress","params":{"progressToken":"b","progress":1}}
{"id":"a\"b","result":{}}
>{"id":1,"method":"b","params":{"id":7,"_meta":{"progressToken":1.0}} , "\u0069d" : -2.50e1 }
{"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
{"result":{},"id":-25}
> {"method":"c","id":"a-rather-long-id-that-does-not-fit-anywhere"}
{"id":"a-rather-long-id-that-does-not-fit-anywhere","result":{}}
`)
	for name, frames := range all {
		for seed := range uint64(4) {
			opt := Options{Repeat: Repeat(seed % 3), Pace: []Pace{Instant, Brisk, Recorded}[seed%3]}
			s := script(t, frames, opt)
			said := walked(frames, seed)
			if seed > 1 {
				otherIDs(said)
			}
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
	others := walked(frames, 0)
	otherIDs(others)
	for name, c := range map[string]struct {
		said        []string
		front       string
		least, most int
	}{
		"as recorded":    {walked(frames, 0), "", 0, 2},
		"other ids":      {others, "", 0, 2 + n*2/len(ids)},
		"a space before": {walked(frames, 0), " ", n, n + 2},
	} {
		p := newPlayer(t, s)
		heardOf(p, c.said, c.front)
		if got := len(p.s.cursors); got < c.least || got > c.most || len(p.out) < n {
			t.Errorf("%s: %d queues were looked into for %d answers, want %d to %d", name, got, len(p.out), c.least, c.most)
		}
	}
}

// ids are such as clients make, and at the end two that nobody takes for one at a glance.
var ids = []string{`0`, `7`, `123456789012345678901234567890`, `""`, `"a b"`, `"{'x':[]}"`, `-1.50e1`, `"\u0041"`}

// otherIDs gives requests ids other than the recorded ones.
func otherIDs(said []string) {
	for i := range said {
		if jsonrpc.Peek([]byte(said[i])).Kind == jsonrpc.Request {
			said[i] = string(Rewrite([]byte(said[i]), []byte(ids[i%len(ids)]), "id"))
		}
	}
}

// What is seen to be an id at a glance is one, alone and in its place.
func TestPlainID(t *testing.T) {
	plain := 0
	recorded := []byte(`{"jsonrpc":"2.0","id":5,"method":"a","params":{"id":5}}`)
	at := bytes.IndexByte(recorded, '5')
	for _, id := range append([]string{
		`00`, `01`, `-1`, `1.0`, `1e2`, ` 1`, `1 `, `1,"method":"b"`, `"a","method":"b"`, `1,"x":"`, `"`, `"a`, `a"`, `"a"b"`, `"a\"`, `"\"`, `"\""`, `"\\"`,
		`null`, `true`, `{}`, `[1]`, `{"a":1}`, `"é"`, "\"\x01\"", "\"\x7f\"", "\"\n\"", "\"\xff\"", `+1`, `1/**/`, `:`, `;`, `x`, strings.Repeat("7", 48), strings.Repeat("7", 49),
		`"` + strings.Repeat("a", 46) + `"`, `"` + strings.Repeat("a", 47) + `"`,
	}, ids...) {
		live := slices.Concat(recorded[:at], []byte(id), recorded[at+1:])
		m := jsonrpc.Peek(live)
		is := m.Kind == jsonrpc.Request && string(m.ID) == id && m.Method == "a"
		got, same := sameButID(recorded, live, at)
		if same && (!is || string(got) != id) {
			t.Errorf("%q is taken for an id, as %q", id, got)
		}
		if same {
			plain++
		}
	}
	for _, id := range ids {
		live := slices.Concat(recorded[:at], []byte(id), recorded[at+1:])
		if got, same := sameButID(live, live, at); !same || string(got) != id {
			t.Errorf("%s is not taken for what it is, but for %s", live, got)
		}
	}
	if plain != 8 {
		t.Errorf("%d ids are plain", plain)
	}
	for _, live := range []string{"", "{", `{"jsonrpc":"2.0","id":`, `{"jsonrpc":"2.0","id":,"method":"a","params":{"id":5}}`, `{"jsonrpc":"2.0","id":5,"method":"a","params":{"id":6}}`, `{"jsonrpc":"2.1","id":5,"method":"a","params":{"id":5}}`} {
		if id, same := sameButID(recorded, []byte(live), at); same {
			t.Errorf("%s is taken for the recorded request, with the id %q", live, id)
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
		if jsonrpc.Peek([]byte(line)).Kind == jsonrpc.Request {
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
