package store

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/mcptap/mcptap/tap"
)

// A forged recording, with correct checksums and wrong numbers, results in a clear
// error; salvage recovers its frames, and terminates too.
func TestHostileState(t *testing.T) {
	const most = math.MaxUint64
	for name, st := range map[string]state{
		"no next frame":           {},
		"too many frames":         {NextSeq: maxFrames + 1},
		"a gap without end":       {NextSeq: most, Gaps: []tap.Range{{From: 4, To: most}}},
		"a gap from the first on": {NextSeq: 5, Gaps: []tap.Range{{From: 0, To: most}}},
		"a gap of what may come":  {NextSeq: 4, Gaps: []tap.Range{{From: 4, To: 4}}},
		"a gap backwards":         {NextSeq: 100, Gaps: []tap.Range{{From: 50, To: 40}}},
		"gaps that descend":       {NextSeq: 100, Gaps: []tap.Range{{From: 50, To: 60}, {From: 4, To: 10}}},
		"gaps that overlap":       {NextSeq: 100, Gaps: []tap.Range{{From: 4, To: 10}, {From: 10, To: 99}}},
		"a time before the start": {NextSeq: 4, LastAt: -1},
	} {
		path := hostileMeta(t, keyState, string(mustJSON(&st)))
		damagedMeta(t, name, path, "state")
		if err := drainUnreadable(t, path); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: drained: %v", name, err)
		}
	}
	damagedMeta(t, "an end before the start", hostileMeta(t, keyEnd, `{"at":-1}`), "end")
	sound := state{NextSeq: maxFrames, Gaps: []tap.Range{{From: 4, To: 4}, {From: 5, To: maxFrames - 1}}}
	if info := Stat(hostileMeta(t, keyState, string(mustJSON(&sound)))); info.Err != nil || info.Frames != maxFrames-1 {
		t.Errorf("%+v", info)
	}
}

// A Writer cannot write what a reader would report as damaged.
func TestWriterRefusesAnEndBeforeTheStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x"+Ext)
	w, err := NewWriter(path, sampleHeader("0123abcd"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(End{At: -1}); err == nil || !strings.Contains(err.Error(), "before its start") {
		t.Error(err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// hostileMeta makes a recording of three frames with another value in its meta
// bucket, and no end unless that value is one.
func hostileMeta(t *testing.T, k []byte, v string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "x"+Ext)
	writeSample(t, path, sampleFrames(3), 4, 4096)
	d := dbfile{path: path}
	if err := d.update(func(tx *bolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		return errors.Join(meta.Delete(keyEnd), meta.Put(k, seal([]byte(v))))
	}); err != nil {
		t.Fatal(err)
	}
	return path
}

func damagedMeta(t *testing.T, name, path, key string) {
	t.Helper()
	info := Stat(path)
	if info.Status != Damaged || !errors.Is(info.Err, ErrDamaged) || !strings.Contains(info.Err.Error(), "meta value "+key) {
		t.Errorf("%s: %+v", name, info)
	}
	s, report, err := OpenSalvage(path)
	if err != nil {
		t.Fatal(err)
	}
	if fs, err := collect(s.Frames(0)); err != nil || len(fs) != 3 || len(report.Missing) > 2 {
		t.Errorf("%s: salvage: %d frames, %v, %+v", name, len(fs), err, report)
	}
}

// Older files keep the open lines of stdio apart from the frames of streams.
func TestPendingOfOlderFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x"+Ext)
	g := newRig(t, path)
	g.q.chunk(tap.ToServer, []byte("first\nsec"))
	g.q.chunk(tap.ToClient, []byte("an"))
	g.q.piece(stream{exchange: 7, lane: tap.ToClient}, tap.FormEvent, []byte("data: "), false)
	g.drain()
	st := g.asm.st
	st.Pending = new([tap.Lanes]pending)
	for _, o := range st.Open {
		if o.Line {
			st.Pending[o.Lane] = o.pending
		}
	}
	st.Pending[tap.ToClient].Truncated = true
	st.Open = slices.DeleteFunc(slices.Clone(st.Open), func(o unended) bool { return o.Line })
	if len(st.Open) != 1 {
		t.Fatalf("%+v", st)
	}
	err := g.db.update(func(tx *bolt.Tx) error { return tx.Bucket(bucketMeta).Put(keyState, seal(mustJSON(&st))) })
	if err == nil {
		err = drainUnreadable(t, path)
	}
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range frames(t, path) {
		got = append(got, fmt.Sprintf("%s %v", f.Raw, f.Truncated))
	}
	if want := []string{"first\n false", "sec false", "an true", "data:  false"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// drainUnreadable drains an unreadable queue of a recording.
func drainUnreadable(t *testing.T, path string) error {
	t.Helper()
	if err := os.WriteFile(path+QueueExt, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return drainDead(path)
}

// unexplained finds the same numbers as a check of each number.
func TestUnexplained(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 2000 {
		in := make(map[uint64]bool)
		var gaps []tap.Range
		for n := 1 + rng.Uint64N(5); n < 30; n += 1 + rng.Uint64N(6) {
			g := tap.Range{From: n, To: n + rng.Uint64N(4)}
			gaps = append(gaps, g)
			for ; n <= g.To; n++ {
				in[n] = true
			}
			n--
		}
		from, to := rng.Uint64N(36), rng.Uint64N(36)
		var want tap.Range
		found := false
		for n := from; n < to; n++ {
			if !in[n] && !found {
				want, found = tap.Range{From: n, To: n}, true
			} else if in[n] && found {
				break
			} else if found {
				want.To = n
			}
		}
		if got, ok := unexplained(from, to, gaps); ok != found || got != want {
			t.Fatalf("%d to %d of %v: %v %v, want %v %v", from, to, gaps, got, ok, want, found)
		}
	}
}
