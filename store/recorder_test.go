package store

import (
	"bytes"
	"errors"
	"fmt"
	iofs "io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/mcptap/mcptap/internal/longtest"
	"github.com/mcptap/mcptap/tap"
)

// put stands in for a pump.
func put(r *Recorder, lane tap.Lane, p []byte) { r.Chunk(lane, p) }

// frames reads a whole recording, and checks what holds for every recording.
func frames(t testing.TB, path string) []tap.Frame {
	t.Helper()
	rec, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []tap.Frame
	var last tap.Frame
	for f, err := range rec.Frames(0) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Seq <= last.Seq || f.At < last.At || f.Took < 0 || f.Took > f.At {
			t.Fatalf("frame %d at %v (took %v) follows frame %d at %v", f.Seq, f.At, f.Took, last.Seq, last.At)
		}
		last = f
		out = append(out, f)
	}
	checkDB(t, path)
	return out
}

// checkDB runs bbolt's own consistency check.
func checkDB(t testing.TB, path string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			t.Error(err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// lane joins the bytes of one lane.
func lane(fs []tap.Frame, l tap.Lane) []byte {
	var b []byte
	for _, f := range fs {
		if f.Lane == l {
			b = append(b, f.Raw...)
		}
	}
	return b
}

func gapless(t *testing.T, fs []tap.Frame) {
	t.Helper()
	for i, f := range fs {
		if f.Seq != uint64(i)+1 {
			t.Fatalf("frame %d has number %d", i+1, f.Seq)
		}
	}
}

// chatter makes lines of all sizes, some without an end, some with several parts.
func chatter(rng *rand.Rand, n int) []byte {
	var b []byte
	for len(b) < n {
		size := 1 << rng.IntN(14)
		if rng.IntN(60) == 0 {
			size = tap.PartSize + rng.IntN(3*tap.PartSize)
		}
		for range rng.IntN(size) {
			c := byte(rng.Uint32())
			if c == '\n' {
				c = 0
			}
			b = append(b, c)
		}
		b = append(b, '\n')
	}
	return b[:n]
}

func TestRecorderKeepsEveryByteOfEveryLane(t *testing.T) {
	size := 12 << 20
	if longtest.Sampled(t) {
		size = 5 << 20 // more than the smallest queue holds
	}
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := Create(t.TempDir(), tap.Header{Label: "x"}, Options{Queue: int64(1+seed) << 21, Warn: func(err error) { t.Error(err) }})
			want := [tap.Lanes][]byte{}
			var wg sync.WaitGroup
			for l := tap.ToServer; l < tap.Lanes; l++ {
				rng := rand.New(rand.NewPCG(seed, uint64(l)))
				want[l] = chatter(rng, size)
				wg.Add(1)
				go func() {
					defer wg.Done()
					for p := want[l]; len(p) > 0; {
						n := min(len(p), 1+rng.IntN(1<<rng.IntN(20)))
						put(r, l, p[:n])
						p = p[n:]
					}
				}()
			}
			r.Event(0, tap.Event{Name: tap.EventStart})
			wg.Wait()
			r.Close()
			fs := frames(t, r.Path())
			gapless(t, fs)
			for l := tap.ToServer; l < tap.Lanes; l++ {
				if got := lane(fs, l); !bytes.Equal(got, want[l]) {
					t.Errorf("%v: %d bytes recorded differ from the %d that crossed", l, len(got), len(want[l]))
				}
			}
			if _, err := os.Stat(r.Path() + QueueExt); !errors.Is(err, iofs.ErrNotExist) {
				t.Errorf("the queue is still there: %v", err)
			}
			if info := Stat(r.Path()); info.Status != Ended || info.Frames != uint64(len(fs)) {
				t.Errorf("status %v, %d frames, want ended and %d", info.Status, info.Frames, len(fs))
			}
		})
	}
}

// A long line is read back as one frame, and is not kept in memory before that.
func TestLongFrameComesInPartsAndIsReadAsOne(t *testing.T) {
	r := Create(t.TempDir(), tap.Header{}, Options{Queue: 4 << 20})
	long := bytes.Repeat([]byte("0123456789abcde\x00"), 40<<20/16)
	long = append(long, '\n')
	put(r, tap.ToServer, []byte("before\n"))
	done := make(chan bool)
	go func() {
		put(r, tap.ToServer, long)
		close(done)
	}()
	put(r, tap.ToClient, []byte("meanwhile\n"))
	<-done
	put(r, tap.ToServer, []byte("after"))
	r.Close()
	fs := frames(t, r.Path())
	gapless(t, fs)
	var seen []string
	for _, f := range fs {
		if f.Lane == tap.ToServer {
			seen = append(seen, fmt.Sprint(len(f.Raw), f.Whole()))
		}
	}
	want := fmt.Sprint([]string{"7 true", fmt.Sprint(len(long), true), "5 true"})
	if fmt.Sprint(seen) != want {
		t.Errorf("frames of %v, want %s", seen, want)
	}
	if !bytes.Equal(lane(fs, tap.ToServer), append(append([]byte("before\n"), long...), "after"...)) {
		t.Error("the bytes differ")
	}
}

// stallStore makes each commit wait until release is called.
func stallStore(t *testing.T) (release func()) {
	t.Helper()
	gate, was := make(chan struct{}), beforeCommit
	release = sync.OnceFunc(func() { close(gate) })
	beforeCommit = func() error { <-gate; return nil }
	t.Cleanup(func() { release(); beforeCommit = was })
	return release
}

// While the disk accepts nothing, the tap is slowed down, and nothing is lost.
func TestStalledStoreSlowsTheTraffic(t *testing.T) {
	release := stallStore(t)
	r := Create(t.TempDir(), tap.Header{}, Options{Queue: minQueueSize, Warn: func(err error) { t.Error(err) }})
	put(r, tap.ToServer, []byte("first\n"))
	want := bytes.Repeat([]byte("abcdefghijklmnopqrstuvwxyz\n"), 4<<20/27)
	through := make(chan struct{})
	go func() {
		put(r, tap.ToServer, want)
		close(through)
	}()
	select {
	case <-through:
		t.Fatal("4 MiB went into a queue of 1 MiB")
	case <-time.After(300 * time.Millisecond):
	}
	release()
	<-through
	r.Close()
	fs := frames(t, r.Path())
	gapless(t, fs)
	if !bytes.Equal(lane(fs, tap.ToServer), append([]byte("first\n"), want...)) {
		t.Error("the bytes differ")
	}
}

// A store that does not recover within stallLimit does not stop the traffic, and
// neither does another program that holds the file for lockLimit.
func TestStoreThatNeverMovesDoesNotStopTheTraffic(t *testing.T) {
	defer func(stall, lock time.Duration) { stallLimit, lockLimit = stall, lock }(stallLimit, lockLimit)
	for name, limits := range map[string][2]time.Duration{"stalled": {200 * time.Millisecond, time.Hour}, "locked": {time.Hour, 200 * time.Millisecond}} {
		stallLimit, lockLimit = limits[0], limits[1]
		t.Run(name, func(t *testing.T) { storeThatNeverMoves(t, name == "locked") })
	}
}

// storeThatNeverMoves makes commits wait, or another program hold the file's lock, which
// it can get when the tap reopens the file after an error.
func storeThatNeverMoves(t *testing.T, locked bool) {
	var hold func() error
	var mu sync.Mutex
	was := beforeCommit
	beforeCommit = func() error {
		mu.Lock()
		f := hold
		mu.Unlock()
		if f == nil {
			return nil
		}
		return f()
	}
	defer func() { beforeCommit = was }()
	setHold := func(f func() error) { mu.Lock(); hold = f; mu.Unlock() }
	var warnings []string
	r := Create(t.TempDir(), tap.Header{}, Options{Queue: minQueueSize, Warn: func(err error) { warnings = append(warnings, err.Error()) }})
	put(r, tap.ToServer, []byte("first\n"))
	waitFor(t, func() bool { return Stat(r.Path()).Frames == 1 })
	gate := make(chan struct{})
	release := func() { setHold(nil); close(gate) }
	setHold(func() error { <-gate; return nil })
	if locked {
		setHold(func() error { return errBusy })
		put(r, tap.ToServer, []byte("x\n"))
		release = holdLock(t, r.Path()) // which it can get between two attempts
		setHold(nil)
	}
	for range 100 {
		put(r, tap.ToServer, bytes.Repeat([]byte(strings.Repeat("x", 99)+"\n"), 1<<10))
	}
	release()
	waitFor(t, func() bool { return Stat(r.Path()).Frames > 100 })
	waitFor(t, func() bool { return drained(r) })
	put(r, tap.ToServer, []byte("last\n"))
	r.Close()
	crossed := 100<<10 + 2
	if locked {
		crossed++
	}
	checkGap(t, r.Path(), crossed)
	if len(warnings) != 1 {
		t.Errorf("warnings %q, want one", warnings)
	}
}

// checkGap checks that a recording reports exactly which of the frames that crossed it
// lacks.
func checkGap(t *testing.T, path string, crossed int) {
	t.Helper()
	fs := frames(t, path)
	info := Stat(path)
	if len(info.Gaps) == 0 {
		t.Fatal("the recording does not report that it is incomplete")
	}
	missing, next, events, truncated := 0, uint64(1), 0, 0
	for _, g := range info.Gaps {
		missing += int(g.To-g.From) + 1
	}
	for _, f := range fs {
		if f.Seq != next {
			if !inGaps(info.Gaps, next, f.Seq-1) {
				t.Errorf("frames %d to %d are missing but not reported", next, f.Seq-1)
			}
		}
		next = f.Seq + 1
		if f.Lane == tap.Lifecycle {
			events++
			if e, err := tap.ParseEvent(f.Raw); err != nil || e.Name != tap.EventGap {
				t.Errorf("event %q, %v", f.Raw, err)
			}
		}
		if f.Truncated {
			truncated++
		}
	}
	if events > 20 { // one for each time that there was room again, not for each chunk
		t.Errorf("%d gap events", events)
	}
	if events != len(info.Gaps) {
		t.Errorf("%d gap events for %d gaps", events, len(info.Gaps))
	}
	// A line that the gap splits is recorded as two truncated frames.
	if got := len(fs) - events + missing; got != crossed && got != crossed+1 || truncated > 2*events {
		t.Errorf("%d frames there and %d missing, want %d in all (%d truncated)", len(fs)-events, missing, crossed, truncated)
	}
	if last := fs[len(fs)-1]; !strings.HasPrefix(string(last.Raw), "last") {
		t.Errorf("the last frame is %q", last.Raw)
	}
}

func inGaps(gaps []tap.Range, from, to uint64) bool {
	for _, g := range gaps {
		if g.From == from && g.To == to {
			return true
		}
	}
	return false
}

// The directory disappears and comes back: the traffic never stops, there is one
// warning, and the recording reports what it lacks.
func TestFailedStoreNeverStopsTheTraffic(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	var mu sync.Mutex
	var warnings []string
	r := Create(dir, tap.Header{}, Options{Queue: minQueueSize, Warn: func(err error) {
		mu.Lock()
		warnings = append(warnings, err.Error())
		mu.Unlock()
	}})
	put(r, tap.ToServer, []byte("first\n"))
	waitFor(t, func() bool { return Stat(r.Path()).Frames == 1 })
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		put(r, tap.ToServer, bytes.Repeat([]byte("x\n"), 64<<10))
	}
	if err := os.Rename(dir+"-away", dir); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return Stat(r.Path()).Frames > 100 })
	waitFor(t, func() bool { return drained(r) })
	put(r, tap.ToServer, []byte("last\n"))
	r.Close()
	checkGap(t, r.Path(), 100*64<<10+2)
	mu.Lock()
	defer mu.Unlock()
	if len(warnings) != 1 || !strings.Contains(warnings[0], dir) {
		t.Errorf("warnings %q, want one that names %s", warnings, dir)
	}
}

// What crosses after the store has recovered is recorded, even on a lane of which
// nothing was recorded before.
func TestChunkAfterAnOutage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	r := Create(dir, tap.Header{}, Options{Queue: minQueueSize})
	put(r, tap.ToClient, []byte("first\n"))
	waitFor(t, func() bool { return Stat(r.Path()).Frames == 1 })
	os.Rename(dir, dir+"-away")
	for range 40 {
		put(r, tap.ToClient, bytes.Repeat([]byte("x\n"), 64<<10))
	}
	os.Rename(dir+"-away", dir)
	waitFor(t, func() bool { return Stat(r.Path()).Frames > 100 })
	waitFor(t, func() bool { return drained(r) }) // a full queue has no room for it yet
	put(r, tap.ToServer, []byte("a request\n"))
	r.Close()
	fs := frames(t, r.Path())
	if got := string(lane(fs, tap.ToServer)); got != "a request\n" {
		t.Errorf("recorded %q", got)
	}
}

func TestNoDirectoryIsOneWarning(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	n := 0
	r := Create(filepath.Join(file, "dir"), tap.Header{}, Options{Queue: minQueueSize, Warn: func(error) { mu.Lock(); n++; mu.Unlock() }})
	for range 50 {
		put(r, tap.ToServer, bytes.Repeat([]byte("x\n"), 64<<10))
	}
	r.Close()
	if n != 1 {
		t.Errorf("%d warnings, want one", n)
	}
}

func TestFileModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	r := Create(dir, tap.Header{}, Options{})
	put(r, tap.ToServer, []byte("x\n"))
	waitFor(t, func() bool { return Stat(r.Path()).Frames == 1 })
	for path, want := range map[string]iofs.FileMode{dir: iofs.ModeDir | 0o700, r.Path(): 0o600, r.Path() + QueueExt: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	r.Close()
}

// drained reports whether the store has everything, so that there is room.
func drained(r *Recorder) bool {
	r.q.mu.Lock()
	defer r.q.mu.Unlock()
	return r.q.drained == r.q.next
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("timed out")
		}
	}
}
