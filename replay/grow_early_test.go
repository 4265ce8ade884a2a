package replay

import (
	"errors"
	"fmt"
	"testing"
)

// What cannot be read is said when it is needed, and nothing that would suppose it.
func TestGrowingScriptFails(t *testing.T) {
	frames := lines(`>{"id":1,"method":"a"}
{"id":1,"result":1}
>{"id":2,"method":"b"}
{"id":2,"result":2}
>{"id":3,"method":"c"}
`)
	broken := errors.New("page 7 is damaged")
	for name, raw := range map[string]string{"a miss": `{"id":7,"method":"z"}`, "no answer": `{"id":7,"method":"c"}`} {
		s, g := growing(t, frames, Options{Pace: Instant}, func() int { return 1 })
		g.err = broken
		p := newPlayer(t, s)
		p.send([]byte(`{"id":5,"method":"a"}`))
		p.send([]byte(`{"id":6,"method":"b"}`))
		if len(p.out) != 2 || string(p.out[1].Raw) != `{"id":6,"result":2}`+"\n" || len(p.notes) != 0 {
			t.Fatalf("%s: %v, %v", name, p.out, p.notes)
		}
		p.s.Receive(0, 1, []byte(raw))
		for range 2 {
			if out, ok, err := p.s.Next(p.now); ok || err != broken || len(p.s.Notes()) > 0 {
				t.Errorf("%s: %s, %v, %v", name, out.Raw, ok, err)
			}
		}
		if owed := p.s.Owed(); len(owed) != 1 || owed[0].Stream != 1 || string(owed[0].ID) != "7" {
			t.Errorf("%s: owed %v", name, owed)
		}
		if p.s.BeginsAgain(frames[0].Raw) || s.Opens(false) || s.Opens(true) {
			t.Errorf("%s: that is not known", name)
		}
		if s.Requests() != 3 || s.Steps() != 2 { // all that there will be
			t.Errorf("%s: %d requests, %d steps", name, s.Requests(), s.Steps())
		}
	}
}

// A session says what it can before the rest is there.
func TestGrowingScriptsAnswerEarly(t *testing.T) {
	s, g := growing(t, calls(1000), Options{Pace: Instant}, func() int { return 1 })
	p := newPlayer(t, s)
	for n := range 3 {
		p.send(g.frames[2*n].Raw)
		if len(p.out) != n+1 {
			t.Fatalf("%d answers to %d calls", len(p.out), n+1)
		}
	}
	if g.at > 10 {
		t.Errorf("%d frames for three calls", g.at)
	}
	if s.Empty() || g.at > 10 {
		t.Error("it is not empty, which is known")
	}
	if s, _ := growing(t, nil, Options{}, func() int { return 1 }); !s.Empty() {
		t.Error("it is empty")
	}
}

// What a server asks of a script before it gives a message to a session is answered
// early too.
func TestGrowingScriptsKnowEarly(t *testing.T) {
	const modern = `"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	discover, list := `{"id":1,"method":"server/discover",`+modern, `{"id":2,"method":"tools/list",`+modern
	text := ">{\"id\":0,\"method\":\"initialize\"}\n{\"id\":0,\"result\":{}}\n"
	for range 2 {
		text += ">" + discover + "\n{\"id\":1,\"result\":{}}\n>" + list + "\n{\"id\":2,\"result\":{}}\n"
	}
	for i := range 30 {
		text += fmt.Sprintf(">{\"id\":%d,\"method\":\"x\"}\n{\"id\":%d,\"result\":{}}\n", i+9, i+9)
	}
	frames := lines(text)
	s, g := growing(t, frames, Options{Pace: Instant}, func() int { return 1 })
	is := func(what string, got, want bool, at int) {
		t.Helper()
		if got != want || g.at != at {
			t.Errorf("%s: %v with %d frames, want %v with %d", what, got, g.at, want, at)
		}
	}
	is("a handshake", s.Opens(false), true, 1)
	is("a version, of an answer", s.Opens(true), true, 4)
	is("a version, of a request", s.Opens(true), true, 4)
	p := newPlayer(t, s)
	is("nothing has come", p.s.BeginsAgain(frames[0].Raw), false, g.at)
	p.send(frames[0].Raw)
	at := g.at
	if _, refused := p.s.Refused(frames[0].Raw); refused {
		t.Error("nothing was refused")
	}
	is("it begins otherwise", p.s.BeginsAgain([]byte(list)), false, at)
	is("nothing of the kind", p.s.BeginsAgain([]byte(`{"id":9,"method":"nothing"}`)), false, at)
	is("once more than recorded", p.s.BeginsAgain(frames[0].Raw), true, len(frames))

	s, g = growing(t, frames[2:], Options{Pace: Instant}, func() int { return 1 })
	p = newPlayer(t, s)
	p.send([]byte(discover))
	is("it comes once more", p.s.BeginsAgain([]byte(discover)), false, 5)
	is("there is no handshake", s.Opens(false), false, len(frames)-2)
	if s, g := growing(t, calls(5), Options{}, func() int { return 1 }); s.Opens(true) || g.b != nil {
		t.Error("there is no version, which is known at the end")
	}
}

// Who needs all of a script is not woken for each piece of it, and goes on from where it
// had come to, however much there is by then.
func TestGrowingScriptsWaitForAllAtOnce(t *testing.T) {
	frames := calls(1000)
	s, g := growing(t, frames, Options{Pace: Instant}, func() int { return 1 })
	p := newPlayer(t, s)
	for n := range 3 {
		p.send(frames[2*n].Raw)
	}
	asked := g.asked
	p.s.End(p.now)
	if g.asked != asked || g.b != nil {
		t.Errorf("more was asked for %d times", g.asked-asked)
	}
	if len(p.s.trailing) != 0 || len(p.s.plays) != 0 {
		t.Errorf("%d plays wait for more, of %d", len(p.s.trailing), len(p.s.plays))
	}
	if s, g := growing(t, frames, Options{}, func() int { return 1 }); s.Requests() != 1001 || g.asked > 0 {
		t.Errorf("more was asked for %d times", g.asked)
	}
}
