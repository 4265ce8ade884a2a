package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/longtest"
	"github.com/mcptap/mcptap/tap"
)

// A sentFrame is a frame that a test has sent, with the ticks of a common
// counter before its last piece was handed over and after.
type sentFrame struct {
	stream
	form          tap.Form
	raw           []byte
	before, after int64
}

// A sender simulates the streams of an HTTP tap.
type sender struct {
	r    *Recorder
	rng  *rand.Rand
	tick *atomic.Int64
	sent []sentFrame
}

// frame sends a frame in random pieces.
func (s *sender) frame(st stream, form tap.Form, raw []byte) {
	rest := raw
	for rng := s.rng; len(rest) > 0 && rng.IntN(3) > 0; {
		n := min(len(rest), 1+rng.IntN(1<<rng.IntN(20)))
		s.r.Piece(st.exchange, st.lane, form, rest[:n], false)
		rest = rest[n:]
	}
	before := s.tick.Add(1)
	s.r.Piece(st.exchange, st.lane, form, rest, true)
	s.sent = append(s.sent, sentFrame{st, form, raw, before, s.tick.Add(1)})
}

// event sends a lifecycle frame.
func (s *sender) event(exchange uint64, e tap.Event) {
	before := s.tick.Add(1)
	s.r.Event(exchange, e)
	s.sent = append(s.sent, sentFrame{stream{exchange: exchange, lane: tap.Lifecycle}, tap.FormLine, e.Encode(), before, s.tick.Add(1)})
}

// content makes a frame of any size, sometimes of several parts.
func content(rng *rand.Rand) []byte {
	n := rng.IntN(1 << rng.IntN(15))
	if rng.IntN(100) == 0 {
		n = tap.PartSize - 2 + rng.IntN(2*tap.PartSize)
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// exchange sends one exchange: the request's head and body, the response, and the end.
func (s *sender) exchange(n uint64) {
	s.event(n, tap.Event{Name: tap.EventRequest, Method: "POST", Header: [][2]string{{"x", strings.Repeat("y", s.rng.IntN(300))}}})
	s.frame(stream{exchange: n, lane: tap.ToServer}, tap.FormBody, content(s.rng))
	s.event(n, tap.Event{Name: tap.EventResponse, Status: 200})
	for range s.rng.IntN(4) {
		s.frame(stream{exchange: n, lane: tap.ToClient}, tap.FormEvent, content(s.rng))
	}
	s.event(n, tap.Event{Name: tap.EventEnd})
}

// checkSent checks that the frames are exactly those that were sent, and that no frame
// is numbered before one that had ended when it began.
func checkSent(t *testing.T, got []tap.Frame, sent []sentFrame) {
	t.Helper()
	gapless(t, got)
	byStream := make(map[stream][]sentFrame)
	for _, f := range sent {
		byStream[f.stream] = append(byStream[f.stream], f)
	}
	latest := int64(0)
	for _, f := range got {
		st := stream{exchange: f.Exchange, lane: f.Lane}
		if len(byStream[st]) == 0 {
			t.Fatalf("frame %s was never sent", show(&f))
		}
		want := byStream[st][0]
		byStream[st] = byStream[st][1:]
		if f.Form != want.form || f.Truncated || !bytes.Equal(f.Raw, want.raw) {
			t.Fatalf("frame %s, want %v of %d bytes %.60q", show(&f), want.form, len(want.raw), want.raw)
		}
		if want.after < latest {
			t.Fatalf("frame %s is numbered after one that began to be recorded when it was over", show(&f))
		}
		latest = max(latest, want.before)
	}
	if len(got) != len(sent) {
		t.Errorf("%d frames, want %d", len(got), len(sent))
	}
}

func TestStreamsKeepEveryByte(t *testing.T) {
	each := 40
	if longtest.Sampled(t) {
		each = 12
	}
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := Create(t.TempDir(), tap.Header{Transport: "http"}, Options{Queue: int64(seed) * 8 << 20, Warn: func(err error) { t.Error(err) }})
			var tick atomic.Int64
			var number atomic.Uint64
			senders := make([]*sender, 24)
			var wg sync.WaitGroup
			for i := range senders {
				s := &sender{r: r, rng: rand.New(rand.NewPCG(seed, uint64(i))), tick: &tick}
				senders[i] = s
				wg.Go(func() {
					for range each {
						s.exchange(number.Add(1))
					}
				})
			}
			wg.Wait()
			r.Close()
			var sent []sentFrame
			for _, s := range senders {
				sent = append(sent, s.sent...)
			}
			checkSent(t, frames(t, r.Path()), sent)
			if info := Stat(r.Path()); info.Status != Ended || info.Tally.Frames.Total() != info.Frames {
				t.Errorf("%+v", info)
			}
			if len(r.q.open) > 0 || len(r.asm.begun) > 0 || r.asm.heads != 0 {
				t.Errorf("left in memory: %d streams, %d frames, %d bytes", len(r.q.open), len(r.asm.begun), r.asm.heads)
			}
		})
	}
}

// Incomplete frames are recorded as they are when the recording is closed: not truncated,
// since no byte of it is missing, and at the time of its last byte.
func TestUnfinishedStreams(t *testing.T) {
	r := Create(t.TempDir(), tap.Header{}, Options{})
	r.Piece(2, tap.ToClient, tap.FormEvent, []byte("data: x\n"), false)
	r.Piece(1, tap.ToServer, tap.FormBody, []byte("{"), false)
	r.Piece(1, tap.ToServer, tap.FormBody, nil, false) // has no effect
	r.Piece(3, tap.ToServer, tap.FormPing, nil, true)
	waitFor(t, func() bool { return drained(r) && Stat(r.Path()).Frames == 1 })
	r.Piece(1, tap.ToServer, tap.FormText, []byte("}"), false) // the first piece determines the form
	r.Close()
	var got []string
	for _, f := range frames(t, r.Path()) {
		got = append(got, fmt.Sprintf("%d %v %v %q %v", f.Exchange, f.Lane, f.Form, f.Raw, f.Truncated))
	}
	want := []string{`3 to_server ping "" false`, `2 to_client event "data: x\n" false`, `1 to_server body "{}" false`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// At is when the last byte arrived, even if the end is known later, and Took dates back
// to the first.
func TestTimesOfStreams(t *testing.T) {
	a := newAssembler()
	a.begin()
	st := stream{exchange: 1, lane: tap.ToClient}
	a.piece(st, tap.FormBody, 0, 10, []byte("a"))
	a.commit(1)
	a.begin()
	a.piece(st, tap.FormBody, 0, 20, []byte("b"))
	a.piece(stream{exchange: 2, lane: tap.ToClient}, tap.FormEvent, pieceEnd, 20, []byte("at once"))
	a.piece(st, tap.FormBody, pieceEnd, 30, nil)
	a.piece(st, tap.FormBody, pieceEnd, 40, []byte("c"))
	a.piece(stream{exchange: 3, lane: tap.ToClient}, tap.FormPing, pieceEnd, 50, nil)
	var got []string
	for d := (table{table: a.seg.table, body: a.seg.body, seq: 1, at: a.seg.base}); ; {
		r, err := d.record()
		if err != nil {
			break
		}
		got = append(got, fmt.Sprintf("%d: %d-%d", r.Exchange, r.At-r.Took, r.At))
	}
	if want := []string{"2: 20-20", "1: 10-20", "1: 40-40", "3: 50-50"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A lifecycle frame of any length is recorded whole, even two of one exchange concurrently.
func TestLongEvents(t *testing.T) {
	r := Create(t.TempDir(), tap.Header{}, Options{Queue: minQueueSize})
	var tick atomic.Int64
	var wg sync.WaitGroup
	senders, each := make([]*sender, 8), 12
	if longtest.Sampled(t) {
		each = 3
	}
	for i := range senders {
		s := &sender{r: r, tick: &tick}
		senders[i] = s
		wg.Go(func() {
			for k := range each {
				n := minRoom - streamBytes - 70 + k + (k%3)*700_000
				s.event(uint64(i/2), tap.Event{Name: tap.EventRequest, Header: [][2]string{{fmt.Sprint(i), strings.Repeat("v", n)}}})
			}
		})
	}
	wg.Wait()
	r.Close()
	seen := make(map[string]int)
	for _, s := range senders {
		for _, f := range s.sent {
			seen[fmt.Sprint(f.exchange)+string(f.raw)]++
		}
	}
	n := 0
	for _, f := range frames(t, r.Path()) {
		n++
		if _, err := tap.ParseEvent(f.Raw); err != nil || f.Lane != tap.Lifecycle || seen[fmt.Sprint(f.Exchange)+string(f.Raw)] == 0 {
			t.Errorf("%s: %v", show(&f), err)
		}
	}
	if n != 8*each {
		t.Errorf("%d frames", n)
	}
}

// Idle streams and ended exchanges leave no state.
func TestStateStaysSmall(t *testing.T) {
	a := newAssembler()
	b := &a.out
	n := uint64(100_000)
	if longtest.Sampled(t) {
		n = 20_000
	}
	for i := range n {
		if i%1000 == 0 {
			a.begin()
		}
		for lane := tap.ToServer; lane <= tap.ToClient; lane++ {
			a.piece(stream{exchange: i, lane: lane}, tap.FormBody, 0, time.Duration(i), []byte("{"))
			a.piece(stream{exchange: i, lane: lane}, tap.FormBody, pieceEnd, time.Duration(i), []byte("}"))
		}
		a.piece(stream{exchange: i % 500, lane: tap.ToClient}, tap.FormEvent, pieceEnd, time.Duration(i), []byte("data: {}\n\n"))
		if i%1000 == 999 {
			if a.commit(i); len(b.state) > 512 || len(a.begun) != 0 {
				t.Fatalf("after %d exchanges: %d open, state %s", i, len(a.begun), b.state)
			}
		}
	}
	// 500 streams in the middle of an event need only their own state.
	a.begin()
	for i := range uint64(500) {
		a.piece(stream{exchange: i, lane: tap.ToClient}, tap.FormEvent, 0, 100_000, bytes.Repeat([]byte("data: x\n"), 4000))
	}
	if a.commit(1); len(a.st.Open) != 500 || len(b.state) > 500*160 {
		t.Errorf("%d open, a state of %d bytes", len(a.st.Open), len(b.state))
	}
	if a.heads > headsLimit || a.heads == 0 {
		t.Errorf("%d bytes of heads", a.heads)
	}
	held := 0
	for _, c := range a.begun {
		held += cap(c.head)
	}
	if held > 2*headsLimit {
		t.Errorf("%d bytes are held", held)
	}
	a.begin()
	a.endAll()
	if a.commit(2); len(a.st.Open) != 0 || a.heads != 0 {
		t.Errorf("%d open, %d bytes of heads", len(a.st.Open), a.heads)
	}
}

// A frame with more parts than can be numbered becomes several frames, and no byte is
// lost.
func TestTooManyParts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "many"+Ext)
	rig := newRig(t, path)
	rig.asm.most = 3
	var want []byte
	for i := range 20 {
		p := fmt.Appendf(nil, "piece %d,", i)
		want = append(want, p...)
		rig.q.piece(stream{exchange: 1, lane: tap.ToServer}, tap.FormBody, p, i == 19)
		rig.q.chunk(tap.ToClient, p)
		rig.drain()
	}
	fs := rig.close()
	if got := lane(fs, tap.ToServer); !bytes.Equal(got, want) || len(fs) != 10 {
		t.Errorf("%d frames, %q", len(fs), got)
	}
	if got := lane(fs, tap.ToClient); !bytes.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for _, f := range fs {
		if f.Truncated {
			t.Errorf("truncated: %s", show(&f))
		}
	}
}

// A rig is a recorder that commits when a test tells it to.
type rig struct {
	t    *testing.T
	q    *queue
	asm  *assembler
	db   dbfile
	next uint64
}

func newRig(t *testing.T, path string) *rig {
	t.Helper()
	size, count := queueGeometry(minQueueSize)
	g := &rig{t: t, asm: newAssembler(), db: dbfile{path: path}}
	g.q = newQueue(make([]byte, queueBytes(size, count)), size, count, nil, time.Now())
	if err := g.db.create(sampleHeader("0123abcd")); err != nil {
		t.Fatal(err)
	}
	return g
}

// drain commits what the queue has.
func (g *rig) drain() {
	g.t.Helper()
	for g.q.next != g.q.taken {
		entries, _ := g.q.take(nil, batchBytes)
		g.next += uint64(len(entries))
		g.asm.begin()
		feed(g.asm, entries, g.q.bytes)
		g.write(g.asm.commit(g.next))
		g.q.release(entries)
	}
}

func (g *rig) write(b *batch) {
	g.t.Helper()
	if err := g.db.update(b.write); err != nil {
		g.t.Fatal(err)
	}
}

// close finishes the recording and reads it.
func (g *rig) close() []tap.Frame {
	g.t.Helper()
	g.q.close()
	for g.q.missed || g.q.next != g.q.taken {
		g.q.mu.Lock()
		g.q.ready(0)
		g.q.mu.Unlock()
		g.drain()
	}
	g.asm.begin()
	g.asm.endAll()
	g.write(g.asm.commit(g.next))
	return frames(g.t, g.db.path)
}

// BenchmarkPiece measures the cost of a frame in one piece to the forwarding path, while
// the writer is working.
func BenchmarkPiece(b *testing.B) {
	for _, size := range []int{100, 500, 4 << 10, 64 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			p := fmt.Appendf(nil, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"%s\"}}\n\n", strings.Repeat("word ", size/5))[:size]
			r := Create(b.TempDir(), tap.Header{}, Options{})
			b.SetBytes(int64(size))
			for i := uint64(0); b.Loop(); i++ {
				r.Piece(i%100, tap.ToClient, tap.FormEvent, p, true)
			}
			b.StopTimer()
			r.Close()
		})
	}
}

// BenchmarkPieceAlone is the same without the writer, in pieces that do not end
// the frame and pieces that do.
func BenchmarkPieceAlone(b *testing.B) {
	size, count := queueGeometry(defaultQueue)
	q := newQueue(make([]byte, queueBytes(size, count)), size, count, nil, time.Now())
	p := make([]byte, 500)
	b.SetBytes(int64(len(p)))
	var entries []entry
	for i := uint64(0); b.Loop(); i++ {
		q.piece(stream{exchange: i / 2 % 100, lane: tap.ToClient}, tap.FormEvent, p, i%2 == 1)
		if i%10_000 == 9_999 {
			entries, _ = q.take(entries[:0], 1<<30)
			q.release(entries)
		}
	}
}
