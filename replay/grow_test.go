package replay

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A grower is a Growth that adds frames when it is asked for more: so many as size
// says. It fails at the end with err, if that is set. Time passes in the meantime.
type grower struct {
	tb      testing.TB
	b       *Builder
	tracker session.Tracker
	frames  []tap.Frame
	at      int
	size    func() int
	err     error
	locked  bool
	// asked is how often more was asked for, but not all.
	asked int
	// each is how long one waits each time, for more and for the lock, took how long that
	// was in all.
	each, took time.Duration
}

func growing(tb testing.TB, frames []tap.Frame, opt Options, size func() int) (*Script, *grower) {
	g := &grower{tb: tb, b: NewBuilder(opt, nil), frames: frames, size: size}
	return g.b.Grow(g), g
}

func (g *grower) Lock() {
	if g.locked {
		g.tb.Fatal("it is locked")
	}
	g.locked = true
	g.took += g.each
}

func (g *grower) Unlock() {
	if !g.locked {
		g.tb.Fatal("it is not locked")
	}
	g.locked = false
}

func (g *grower) Now() time.Duration { return g.took }

func (g *grower) More() error {
	if !g.locked {
		g.tb.Fatal("more without the lock")
	}
	if g.b == nil {
		if g.err == nil {
			g.tb.Fatal("more than all")
		}
		return g.err
	}
	g.asked++
	for range g.size() {
		g.add()
	}
	g.took += g.each
	return nil
}

func (g *grower) All() error {
	if !g.locked {
		g.tb.Fatal("all without the lock")
	}
	for g.b != nil {
		g.add()
		g.took += g.each
	}
	return g.err
}

// add adds a frame, or finds that there are no more.
func (g *grower) add() {
	switch {
	case g.b == nil:
	case g.at < len(g.frames):
		f := g.frames[g.at]
		g.at++
		if err := g.b.Add(g.tracker.Add(&f)); err != nil {
			g.tb.Fatal(err)
		}
	default:
		if g.err == nil {
			g.b.Script()
		}
		g.b = nil
	}
}

// A whim is a client that does what it likes: much of what the recorded one did, and
// other things, in an order and at times of its own.
type whim struct {
	r    *rand.Rand
	http bool
	// step says that it waits for what the recorded one had got.
	step bool
	// odd is how often of a hundred it does something else.
	odd int
}

// live plays it on a script and returns all that came of it. Between what it does it
// calls idle.
func (w whim) live(tb testing.TB, s *Script, frames []tap.Frame, g *grower, idle func()) string {
	p := &player{tb: tb, s: s.NewSession()}
	if g != nil {
		p.stood = func() time.Duration { return g.took }
	}
	do := func(act func()) {
		idle()
		act()
		p.drain()
	}
	next, streams := Stream(1), []Stream{1}
	if !w.http {
		do(func() { p.s.Attach(p.clock(), 1, Duplex) })
	}
	heard, sent := 0, 0
	var asked strings.Builder
	send := func(raw []byte) {
		if !w.http {
			do(func() { p.s.Receive(p.clock(), next, raw) })
			return
		}
		next++
		streams = append(streams, next)
		idle()
		if w.r.IntN(3) == 0 {
			fmt.Fprintln(&asked, "begins again", p.s.BeginsAgain(raw))
		}
		frame, refused := p.s.Refused(raw)
		fmt.Fprintln(&asked, "refused", frame, refused)
		do(func() { fmt.Fprintln(&asked, "requests", p.s.Receive(p.clock(), next, raw)) })
		request, exchange := p.s.Matched()
		fmt.Fprintln(&asked, "matched", request, exchange)
	}
	odd := func() bool { return w.r.IntN(100) < w.odd }
	for i := range frames[:min(len(frames), w.r.IntN(2*len(frames)+1))] {
		f := &frames[i]
		if f.Lane == tap.ToClient {
			sent++
		}
		if w.step {
			p.have(sent)
		}
		w.answers(p, &heard, send)
		for odd() {
			switch n := w.r.IntN(7); {
			case n == 0:
				p.until(p.now + time.Duration(w.r.IntN(1500))*time.Millisecond)
			case n == 1 && w.http:
				at := streams[w.r.IntN(len(streams))]
				do(func() { p.s.Detach(p.clock(), at) })
			case n == 2 && w.http:
				next++
				do(func() { p.s.Attach(p.clock(), next, Standing) })
			default:
				send(w.whatever(frames))
			}
		}
		if f.Lane == tap.ToServer && !odd() {
			send(f.Raw)
		}
		if e, err := tap.ParseEvent(f.Raw); f.Lane == tap.Lifecycle && err == nil && e.Name == tap.EventEOF && e.Lane == "to_server" && !odd() {
			do(func() { p.s.End(p.clock()) })
		}
	}
	p.until(p.now + time.Duration(w.r.IntN(3000))*time.Millisecond)
	idle()
	do(func() { p.s.End(p.clock()) })
	p.until(p.now + time.Hour)
	return asked.String() + wasTold(p, s)
}

// whatever is something else than what the recorded client said next.
func (w whim) whatever(frames []tap.Frame) []byte {
	switch w.r.IntN(4) {
	case 0:
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, w.r.IntN(8))
	case 1:
		methods := []string{"ping", "server/discover", "tools/list", "shutdown", "initialize", "nothing"}
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":99,"method":%q}`, methods[w.r.IntN(len(methods))])
	}
	return frames[w.r.IntN(len(frames))].Raw
}

// answers answers some of what the server has asked.
func (w whim) answers(p *player, heard *int, send func([]byte)) {
	for ; *heard < len(p.out); *heard++ {
		if m := jsonrpc.Peek(p.out[*heard].Raw); m.Kind == jsonrpc.Request && w.r.IntN(100) < w.odd {
			send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, m.ID))
		}
	}
}

// wasTold is what a client was told, and when, in words.
func wasTold(p *player, s *Script) string {
	var b bytes.Buffer
	for i, out := range p.out {
		fmt.Fprintf(&b, "%v stream %d, frame %v, line %v, last %v, leave %v, status %d: %s\n",
			p.at[i], out.Stream, out.Frame, out.Line, out.Last, out.Leave, out.Status, out.Raw)
	}
	for _, n := range p.notes {
		fmt.Fprintf(&b, "* %+v\n", n)
	}
	v := s.NewCoverage()
	v.Add(p.s)
	fmt.Fprintf(&b, "%d of %d, %d of %d, %v\n", p.s.Requests(), p.s.Recorded(), v.Asked(), v.Recorded(), p.s.Unasked(5))
	return b.String()
}

// What a session says, and when, does not depend on how much of its script there was
// when it began, and how fast the rest came.
func TestGrowingScriptsSayTheSame(t *testing.T) {
	all := corpus(t)
	playCases(t, func(name, _, recorded, _ string) { all["play "+name] = readFrames(t, recorded) })
	for n := range 40 {
		all[fmt.Sprintf("random %d", n)] = randomSession(rand.New(rand.NewPCG(7, uint64(n))))
	}
	names := slices.Sorted(maps.Keys(all))
	for i, name := range names {
		for n := range uint64(6) {
			if n/3 != uint64(i%2) {
				continue // half of the kinds for each half of the recordings
			}
			r := rand.New(rand.NewPCG(uint64(i), n))
			frames := thinned(all[name], r, n)
			if n > 3 {
				frames = tangled(frames, all[names[r.IntN(len(names))]], r)
			}
			opt := randomOptions(r, n)
			w := whim{http: n%3 == 2, step: n%2 == 0, odd: []int{0, 3, 15}[n%3]}
			play := func(s *Script, g *grower, idle func()) string {
				w.r = rand.New(rand.NewPCG(uint64(i), n+100))
				return w.live(t, s, frames, g, idle)
			}
			recorded := frames
			if n%2 == 1 {
				recorded = padded(frames)
			}
			want := play(script(t, recorded, opt), nil, func() {})
			for pace := range 3 {
				if got := grown(t, recorded, opt, pace, r, play); got != want {
					t.Fatalf("%s, %d, pace %d, %+v\ngot\n%s\nwant\n%s", name, n, pace, w, got, want)
				}
			}
		}
	}
}

// playCases reads the cases of TestPlay.
func playCases(t *testing.T, do func(name, head, recorded, live string)) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "play", "*.txt"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		head, rest, _ := strings.Cut(strings.ReplaceAll(string(data), "\r\n", "\n"), recordedMark)
		recorded, live, _ := strings.Cut(rest, liveMark)
		do(filepath.Base(name), head, recorded, live)
	}
}

// padded adds calls that nobody asks for, so that what comes before them is played
// while a script still grows.
func padded(frames []tap.Frame) []tap.Frame {
	frames = slices.Clip(frames)
	if len(frames) == 0 {
		return frames
	}
	for i, f := range calls(30) {
		last := frames[len(frames)-1]
		f.Seq, f.At, f.Exchange = last.Seq+1, last.At+1, 1000+uint64(i/2)
		frames = append(frames, f)
	}
	return frames
}

// The cases of TestPlay come to the same with a script that grows, even if it is far
// from whole.
func TestGrowingPlay(t *testing.T) {
	playCases(t, func(name, head, recorded, live string) {
		frames, opt := readFrames(t, recorded), readOptions(t, head)
		for _, frames := range [][]tap.Frame{frames, padded(frames)} {
			want := playCase(t, head, live, script(t, frames, opt))
			for n := 1; n < 5; n++ {
				s, _ := growing(t, frames, opt, func() int { return n })
				if got := playCase(t, head, live, s); got != want {
					t.Errorf("%s, by %d frames: got\n%s\nwant\n%s", name, n, got, want)
				}
			}
		}
	})
}

// grown plays a session on a script that grows: by a frame, when nothing can be said
// without it; by some; and by some now and then that nobody waits for.
func grown(tb testing.TB, frames []tap.Frame, opt Options, pace int, r *rand.Rand, play func(*Script, *grower, func()) string) string {
	size := func() int { return 1 }
	if pace > 0 {
		size = func() int { return r.IntN(10) }
	}
	s, g := growing(tb, frames, opt, size)
	g.each = time.Minute
	return play(s, g, func() {
		for range r.IntN(8) * (pace / 2) {
			g.add()
		}
	})
}

// thinned leaves some frames out, every other time.
func thinned(frames []tap.Frame, r *rand.Rand, n uint64) (kept []tap.Frame) {
	for _, f := range frames {
		if n < 3 || r.IntN(10) > 0 {
			kept = append(kept, f)
		}
	}
	return kept
}

// tangled is two recordings one behind the other, some of whose frames have changed
// their places.
func tangled(a, b []tap.Frame, r *rand.Rand) []tap.Frame {
	all := slices.Concat(a, b)
	now := time.Duration(0)
	for i := range all {
		if j := i + r.IntN(3); j < len(all) && r.IntN(4) == 0 {
			all[i], all[j] = all[j], all[i]
		}
		now += time.Duration(r.IntN(5000)) * time.Microsecond
		all[i].Seq, all[i].At = uint64(i+1), now
	}
	return all
}

func randomOptions(r *rand.Rand, n uint64) (opt Options) {
	opt.Pace = []Pace{Instant, Brisk, Recorded}[r.IntN(3)]
	if n == 0 {
		return opt
	}
	opt.Match, opt.Repeat = Match(r.IntN(int(matches))), Repeat(r.IntN(int(repeats)))
	if r.IntN(2) == 0 {
		opt.GateTimeout = time.Duration(1+r.IntN(500)) * time.Millisecond
	}
	for range r.IntN(3) {
		opt.Faults = append(opt.Faults, Fault{Kind: FaultKind(r.IntN(int(faultKinds))), Delay: time.Millisecond, Code: 500, Chance: 0.1})
	}
	return opt
}
