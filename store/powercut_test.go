package store

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/mcptap/mcptap/internal/longtest"
	"github.com/mcptap/mcptap/tap"
)

// TestPowerCut simulates that the machine stops at any moment of a commit. What the
// previous commits wrote must be there, whole, and the file must be writable.
//
// A commit of bbolt is: grow the file and sync; write data pages, which may reach
// the disk in any order, and sync; write one meta page and sync. So all states
// between can be made from the file before and after a commit: any subset of the
// changed data pages under the old meta, with sectors half written, and then the new
// meta page, truncated anywhere. bbolt guarantees this order, provided that we never
// set NoSync.
func TestPowerCut(t *testing.T) {
	frames := sampleFrames(108)
	path := filepath.Join(t.TempDir(), "power"+Ext)
	w, err := NewWriter(path, sampleHeader("0123abcd"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	w.parts = 4096
	before, had := readAll(t, w.db.path), 0
	rng := rand.New(rand.NewPCG(7, 8))
	sampled := longtest.Sampled(t)
	for i, f := range frames {
		if err := w.Add(f); err != nil {
			t.Fatal(err)
		}
		if i%6 != 5 {
			continue
		}
		if err := w.db.update(w.asm.commit(0).write); err != nil {
			t.Fatal(err)
		}
		if i%4 == 1 { // otherwise the next one replaces the tail
			w.asm.open = false
		}
		w.asm.begin()
		after := readAll(t, w.db.path)
		c := commitCut{t: t, path: path, before: before, after: after}
		c.run(rng, frames[:had], frames[:i+1])
		before, had = after, i+1
		if sampled && i > 60 {
			break
		}
	}
}

// A commitCut makes the states between two commits.
type commitCut struct {
	t             *testing.T
	path          string
	before, after []byte
	done          int
}

func (c *commitCut) run(rng *rand.Rand, had, has []tap.Frame) {
	grown := append(slices.Clone(c.before), make([]byte, max(len(c.after)-len(c.before), 0))...)
	var data []int // offsets of the data pages that the commit wrote
	meta := -1
	for off := 0; off < len(c.after); off += pageSize {
		if bytes.Equal(grown[off:off+pageSize], c.after[off:off+pageSize]) {
			continue
		}
		if off >= 2*pageSize {
			data = append(data, off)
		} else if meta < 0 {
			meta = off
		} else {
			c.t.Fatal("both metas changed in one commit")
		}
	}
	write := func(b []byte, off, n int) { copy(b[off:off+n], c.after[off:off+n]) }
	c.check(grown, had)
	ordered := slices.Clone(grown)
	for _, off := range data { // a crash of the program: pages come in order
		write(ordered, off, pageSize)
		c.check(ordered, had)
	}
	for range 20 { // a crash of the machine: any of them, and any of their sectors
		some := slices.Clone(grown)
		for _, off := range data {
			switch rng.IntN(3) {
			case 0:
				write(some, off, pageSize)
			case 1:
				for s := 0; s < pageSize; s += 512 {
					if rng.IntN(2) == 0 {
						write(some, off+s, 512)
					}
				}
			}
		}
		c.check(some, had)
	}
	for n := 1; n <= pageHeader+metaBytes; n++ {
		truncated := slices.Clone(ordered)
		write(truncated, meta, n)
		if bytes.Equal(truncated[meta:meta+pageSize], c.after[meta:meta+pageSize]) {
			break
		}
		c.check(truncated, had)
	}
	c.check(c.after, has)
}

// check checks that the content has exactly these frames, and sometimes that bbolt can
// continue with it.
func (c *commitCut) check(content []byte, frames []tap.Frame) {
	c.t.Helper()
	os.Remove(c.path)
	if err := os.WriteFile(c.path, content, 0o600); err != nil {
		c.t.Fatal(err)
	}
	if err := checkFile(c.path); err != nil {
		c.t.Fatal(err)
	}
	got, err := collect(mustOpen(c.t, c.path).Frames(0))
	if err != nil {
		c.t.Fatal(err)
	}
	sameFrames(c.t, got, frames)
	if c.done++; c.done%32 > 0 {
		return
	}
	d := dbfile{path: c.path}
	if err := d.update(func(tx *bolt.Tx) error { return writeEnd(tx, End{Cut: true}) }); err != nil {
		c.t.Fatal(err)
	}
	if got, err = collect(mustOpen(c.t, c.path).Frames(0)); err != nil {
		c.t.Fatal(err)
	}
	sameFrames(c.t, got, frames)
	if err := checkFile(c.path); err != nil {
		c.t.Fatal(err)
	}
}
