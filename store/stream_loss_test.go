package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/longtest"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// fill fills the queue, as if the store failed, and returns how many frames that
// took.
func (g *rig) fill() (n uint64) {
	g.q.mu.Lock()
	g.q.failing = true
	g.q.mu.Unlock()
	for ; !g.q.missed; n++ {
		g.q.piece(stream{exchange: 1000, lane: tap.ToServer}, tap.FormBody, make([]byte, 10_000), true)
	}
	return n
}

func describeFrames(fs []tap.Frame) (words []string) {
	for _, f := range fs {
		if f.Exchange == 1000 {
			continue
		}
		w := fmt.Sprintf("#%d %v %q", f.Exchange, f.Form, f.Raw)
		if e, err := tap.ParseEvent(f.Raw); f.Lane == tap.Lifecycle && err == nil {
			w = fmt.Sprintf("%s of %d", e.Name, e.To-e.From+1)
		}
		if f.Truncated {
			w += " truncated"
		}
		words = append(words, w)
	}
	return words
}

// What streams lose in an outage is accounted for: a frame that was open is recorded as
// truncated, one of which nothing was recorded keeps its number, and others are
// complete.
func TestLostPieces(t *testing.T) {
	body, event, text := tap.FormBody, tap.FormEvent, tap.FormText
	up := func(n uint64) stream { return stream{exchange: n, lane: tap.ToServer} }
	for _, c := range []struct {
		name                      string
		before, lost, after       func(q *queue)
		again, missing, truncated int
		want                      []string
	}{
		{"the middle",
			func(q *queue) { q.piece(up(1), body, []byte("a"), false) },
			func(q *queue) { q.piece(up(1), body, []byte("b"), false) },
			func(q *queue) { q.piece(up(1), body, []byte("c"), true) }, 0, 0, 1,
			[]string{`#1 body "ac" truncated`}},
		{"the end, and the next frame is whole",
			func(q *queue) { q.piece(up(1), event, []byte("a"), false) },
			func(q *queue) { q.piece(up(1), event, []byte("b"), true) },
			func(q *queue) { q.piece(up(1), text, []byte("c"), true) }, 0, 0, 1,
			[]string{`#1 event "a" truncated`, `#1 text "c"`}},
		{"the end, and whole frames, and the beginning of one",
			func(q *queue) { q.piece(up(1), event, []byte("a"), false) },
			func(q *queue) {
				q.piece(up(1), event, []byte("b"), true)
				q.piece(up(1), event, []byte("c"), true)
				q.piece(up(1), event, []byte("d"), false)
				q.piece(up(1), event, []byte("d"), true)
				q.piece(up(1), text, []byte("e"), false)
			},
			func(q *queue) { q.piece(up(1), text, []byte("f"), true) }, 0, 2, 2,
			[]string{`#1 event "a" truncated`, `#1 text "f" truncated`}},
		{"the beginning",
			func(q *queue) {},
			func(q *queue) { q.piece(up(1), event, []byte("a"), false) },
			func(q *queue) { q.piece(up(1), event, []byte("b"), true) }, 0, 0, 1,
			[]string{`#1 event "b" truncated`}},
		{"the beginning of one that never ends",
			func(q *queue) {},
			func(q *queue) { q.piece(up(1), event, []byte("a"), false) },
			func(q *queue) {}, 0, 0, 0, nil},
		{"an end without bytes",
			func(q *queue) { q.piece(up(1), body, []byte("a"), false) },
			func(q *queue) { q.piece(up(1), body, nil, true) },
			func(q *queue) {}, 0, 0, 1,
			[]string{`#1 body "a" truncated`}},
		{"whole frames, one of them empty, next to one that may lack bytes",
			func(q *queue) { q.piece(up(2), body, []byte("not"), false) },
			func(q *queue) {
				q.piece(up(1), event, []byte("a"), true)
				q.piece(up(3), tap.FormPing, nil, true)
				q.piece(stream{exchange: 4, lane: tap.Lifecycle}, tap.FormLine, []byte(`{"event":"request"}`), true)
			},
			func(q *queue) { q.piece(up(2), body, []byte("hurt"), true) }, 0, 3, 1,
			[]string{`#2 body "nothurt" truncated`}},
		{"the beginning, and in another outage the end",
			func(q *queue) {},
			func(q *queue) { q.piece(up(1), event, []byte("a"), false) },
			func(q *queue) {
				q.piece(up(2), body, []byte("between"), true)
				for q.failing = true; !q.missed; {
					q.piece(stream{exchange: 1000, lane: tap.ToServer}, body, make([]byte, 10_000), true)
				}
				q.piece(up(1), event, []byte("b"), true)
			}, 1, 1, 0,
			[]string{`#2 body "between"`}},
		{"twice",
			func(q *queue) { q.piece(up(1), body, []byte("a"), false) },
			func(q *queue) { q.piece(up(1), body, []byte("b"), false) },
			func(q *queue) {
				q.piece(up(1), body, []byte("c"), false)
				for q.failing = true; !q.missed; {
					q.piece(stream{exchange: 1000, lane: tap.ToServer}, body, make([]byte, 10_000), true)
				}
				q.piece(up(1), body, []byte("d"), true)
			}, 1, 0, 1,
			[]string{`#1 body "ac" truncated`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newRig(t, filepath.Join(t.TempDir(), "x"+Ext))
			c.before(g.q)
			g.drain() // what has begun is in parts
			filled := int(g.fill())
			c.lost(g.q)
			g.drain()
			c.after(g.q)
			g.drain()
			fs := g.close()
			var words []string
			truncated, gaps := 0, 0
			for _, w := range describeFrames(fs) {
				if strings.HasPrefix(w, "gap") {
					gaps++
					continue
				}
				if strings.HasSuffix(w, " truncated") {
					truncated++
				}
				words = append(words, w)
			}
			if !slices.Equal(words, c.want) {
				t.Errorf("frames %q, want %q", words, c.want)
			}
			missing := 0
			for _, gap := range g.asm.st.Gaps {
				missing += int(gap.To-gap.From) + 1
			}
			// The piece that no longer fit is missing too, each time.
			if want := c.missing + 1 + c.again; missing != want || gaps != 1+c.again || truncated != c.truncated {
				t.Errorf("%d missing in %d gaps and %d truncated, want %d and %d (%d filled the queue)", missing, gaps, truncated, want, c.truncated, filled)
			}
			if g.q.missed || len(g.q.cut) > 0 || len(g.asm.begun) > 0 {
				t.Errorf("left: %+v", g.q.loss)
			}
		})
	}
}

// In an outage only streams that are in the middle of a frame are remembered.
func TestOutageIsBounded(t *testing.T) {
	const many = 1000
	g := newRig(t, filepath.Join(t.TempDir(), "x"+Ext))
	for i := range uint64(many) {
		g.q.piece(stream{exchange: i, lane: tap.ToClient}, tap.FormEvent, []byte("x"), false)
	}
	g.drain()
	g.fill()
	for i := range uint64(200_000) {
		g.q.piece(stream{exchange: i, lane: tap.ToServer}, tap.FormBody, []byte("x"), false)
		g.q.piece(stream{exchange: i, lane: tap.ToServer}, tap.FormBody, []byte("x"), true)
	}
	for i := range uint64(many) {
		g.q.piece(stream{exchange: i, lane: tap.ToClient}, tap.FormEvent, []byte("x"), i%2 == 0)
	}
	if len(g.q.cut) != many/2 || len(g.q.open) != many/2 {
		t.Errorf("%d cut, %d open", len(g.q.cut), len(g.q.open))
	}
	g.drain()
	g.q.piece(stream{exchange: 1, lane: tap.ToClient}, tap.FormEvent, []byte("y"), true)
	truncated := 0
	for _, f := range g.close() {
		if f.Truncated {
			truncated++
		}
	}
	if truncated != many || len(g.asm.st.Gaps) != 1 || g.asm.st.Gaps[0].To-g.asm.st.Gaps[0].From != 200_000 {
		t.Errorf("%d truncated, gaps %v", truncated, g.asm.st.Gaps)
	}
}

// The directory disappears and comes back under many streams: the traffic never stops,
// what is recorded is correct, and the rest is accounted for.
func TestFailedStoreNeverStopsStreams(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	r := Create(dir, tap.Header{}, Options{Queue: minQueueSize})
	r.Piece(1, tap.ToServer, tap.FormBody, []byte("first"), true)
	waitFor(t, func() bool { return Stat(r.Path()).Frames == 1 })
	r.Piece(2, tap.ToServer, tap.FormBody, []byte("begun"), false)
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	crossed := uint64(2)
	for i := range uint64(300) {
		r.Piece(10+i%7, tap.ToClient, tap.FormEvent, bytes.Repeat([]byte{byte(i)}, 20_000), true)
		crossed++
	}
	r.Piece(2, tap.ToServer, tap.FormBody, []byte("lost"), false)
	if err := os.Rename(dir+"-away", dir); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return drained(r) })
	r.Piece(2, tap.ToServer, tap.FormBody, []byte("last"), true)
	r.Close()
	seen, events, truncated := uint64(0), uint64(0), 0
	for _, f := range frames(t, r.Path()) {
		switch {
		case f.Lane == tap.Lifecycle:
			events++
		case f.Exchange == 2:
			seen++
			if string(f.Raw) != "begunlast" || !f.Truncated {
				t.Errorf("%s", show(&f))
			}
			truncated++
		case f.Exchange >= 10:
			seen++
			if len(f.Raw) != 20_000 || f.Truncated || bytes.Count(f.Raw, f.Raw[:1]) != len(f.Raw) {
				t.Errorf("%s", show(&f))
			}
		default:
			seen++
		}
	}
	info := Stat(r.Path())
	for _, g := range info.Gaps {
		seen += g.To - g.From + 1
	}
	if seen != crossed || events == 0 || truncated != 1 || info.Frames != seen+events {
		t.Errorf("%d frames there or missing, want %d; %d events, %d truncated, %+v", seen, crossed, events, truncated, info.Gaps)
	}
}

// Whatever the pieces are, and wherever commits fall between them, the frames are the
// same. Resuming from the file after any commit, as after the tap was killed, makes no
// difference, not even to the tally.
func TestChunkingMakesNoDifference(t *testing.T) {
	n := uint64(30)
	if longtest.Sampled(t) {
		n = 5
	}
	for seed := range n {
		checkChunking(t, seed, filepath.Join(t.TempDir(), "x"+Ext))
	}
}

// A playedFrame is a frame that is being passed to an assembler.
type playedFrame struct {
	stream
	form tap.Form
	raw  []byte
	rest []byte
}

func checkChunking(t *testing.T, seed uint64, path string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	db := dbfile{path: path}
	if err := db.create(sampleHeader("0123abcd")); err != nil {
		t.Fatal(err)
	}
	asm, at := newAssembler(), time.Duration(0)
	asm.begin()
	var want []tap.Frame
	var tally session.Tally
	begun := make(map[stream]*playedFrame)
	commit := func() {
		if err := db.update(asm.commit(0).write); err != nil {
			t.Fatal(err)
		}
		if rng.IntN(3) > 0 {
			asm.begin()
			return
		}
		var err error
		if asm, _, err = resume(path); err != nil {
			t.Fatal(err)
		}
		asm.begin()
	}
	for step := 0; step < 300 || len(begun) > 0; step++ {
		st := stream{exchange: rng.Uint64N(6), lane: tap.ToServer + tap.Lane(rng.IntN(2))}
		p := begun[st]
		if p == nil {
			if step >= 300 {
				continue
			}
			p = newPlayed(rng, st)
			begun[st] = p
		}
		at += time.Duration(rng.IntN(1000))
		k := rng.IntN(1 + min(len(p.rest), 1<<rng.IntN(22)))
		flags := uint8(0)
		if k == len(p.rest) && (rng.IntN(2) == 0 || step > 3000) {
			flags = pieceEnd
		}
		if k > 0 || flags != 0 {
			asm.piece(st, p.form, flags, at, bytes.Clone(p.rest[:k]))
		}
		p.rest = p.rest[k:]
		if flags == pieceEnd {
			delete(begun, st)
			f := tap.Frame{Seq: uint64(len(want) + 1), Lane: st.lane, Exchange: st.exchange, Form: p.form, Raw: p.raw, Size: int64(len(p.raw))}
			want = append(want, f)
			tally.Add(&f)
		}
		if rng.IntN(8) == 0 {
			commit()
		}
	}
	commit()
	got := frames(t, path)
	for i := range got {
		got[i].At, got[i].Took = 0, 0
	}
	sameFrames(t, got, want)
	if had := asm.tally; had.Errors != tally.Errors || had.Invalid != tally.Invalid || had.Frames != tally.Frames || had.Bytes != tally.Bytes {
		t.Errorf("seed %d: tally %+v, want %+v", seed, had, tally)
	}
	if len(asm.st.Open) > 0 || asm.heads != 0 {
		t.Errorf("seed %d: %d open, %d bytes of heads", seed, len(asm.st.Open), asm.heads)
	}
}

// newPlayed makes a frame of any form: a message, something else, or a broken message.
func newPlayed(rng *rand.Rand, st stream) *playedFrame {
	p := &playedFrame{stream: st, form: tap.Form(rng.IntN(int(tap.Forms)))}
	message := string(line(rng, 1, 1<<rng.IntN(18)))
	switch rng.IntN(5) {
	case 0:
		message = `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`
	case 1:
		message = message[:len(message)-3]
	case 2:
		message = "<html>" + strings.Repeat("x", rng.IntN(3*tap.PartSize))
	}
	if p.form == tap.FormEvent {
		message = "id: 1\ndata: " + strings.TrimSpace(message) + "\n\n"
	}
	p.raw = []byte(message)
	p.rest = p.raw
	return p
}
