package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/mcptap/mcptap/internal/longtest"
	"github.com/mcptap/mcptap/tap"
)

// A torturer damages one good recording repeatedly.
type torturer struct {
	t    *testing.T
	good []byte
	done int
	want map[uint64]tap.Frame
	path string
}

func newTorturer(t *testing.T) *torturer {
	path, frames := sample(t)
	x := &torturer{t: t, good: readAll(t, path), want: make(map[uint64]tap.Frame), path: path}
	for _, f := range frames {
		x.want[f.Seq] = f
	}
	return x
}

// try writes the content and reads it in every way. Whatever is in the file, reading
// must soon end in frames that crossed or in an error.
func (x *torturer) try(what string, content []byte) {
	x.t.Helper()
	os.Remove(x.path) // a crashed process with the last one may still hold its lock
	if err := os.WriteFile(x.path, content, 0o600); err != nil {
		x.t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	x.read(what)
	runtime.ReadMemStats(&after)
	if d := time.Since(began); d > 5*time.Second {
		x.t.Errorf("%s: took %v", what, d)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 200<<20 {
		x.t.Errorf("%s: allocated %d MiB", what, n>>20)
	}
	x.salvage(what)
	if x.done++; x.done%8 == 0 { // it syncs, and is the slowest by far
		x.append(what)
	}
}

func (x *torturer) read(what string) {
	x.t.Helper()
	if infos, err := List(filepath.Dir(x.path)); err != nil || len(infos) != 1 {
		x.t.Errorf("%s: List: %v, %v", what, infos, err)
	}
	r, err := Open(x.path)
	if err != nil {
		x.failure(what, err)
		return
	}
	if _, err := r.Info(); err != nil {
		x.failure(what, err)
	}
	n := 0
	for f, err := range r.Frames(0) {
		if x.frame(what, &f, err) {
			n++
		}
	}
	all := n == len(x.want)
	for f, err := range r.Follow(timeout(x.t, 5*time.Second), 0) {
		all = x.frame(what, &f, err) && all
	}
	for _, seq := range []uint64{1, 7, 200, 305, 610, 1 << 40} {
		if f, err := r.Frame(seq); !errors.Is(err, ErrNoFrame) {
			x.frame(what, &f, err)
		}
	}
}

func (x *torturer) frame(what string, f *tap.Frame, err error) bool {
	x.t.Helper()
	if err != nil {
		x.failure(what, err)
		return false
	}
	if want, ok := x.want[f.Seq]; !ok || !equalFrame(f, &want) {
		x.t.Errorf("%s: frame %s, want %s", what, show(f), show(&want))
	}
	return true
}

func (x *torturer) failure(what string, err error) {
	x.t.Helper()
	if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNotRecording) && !errors.Is(err, ErrNewer) {
		x.t.Errorf("%s: %v", what, err)
	}
}

// salvage checks that nothing wrong is recovered: whole frames are those that crossed,
// truncated ones lack something.
func (x *torturer) salvage(what string) {
	x.t.Helper()
	s, _, err := OpenSalvage(x.path)
	if err != nil {
		x.failure(what, err)
		return
	}
	for f, err := range s.Frames(0) {
		if want := x.want[f.Seq]; err == nil && f.Truncated && !want.Truncated && f.Size < want.Size {
			continue
		}
		x.frame(what, &f, err)
	}
}

// append checks that bbolt can be trusted with files that checkFile accepts.
func (x *torturer) append(what string) {
	x.t.Helper()
	if checkFile(x.path) != nil {
		return
	}
	d := dbfile{path: x.path}
	err := d.update(func(tx *bolt.Tx) error {
		b, err := tx.Bucket(bucketFrames).CreateBucketIfNotExists(key(5000))
		if err != nil {
			return err
		}
		return b.Put(key(5000), make([]byte, 9000))
	})
	if err != nil {
		x.t.Logf("%s: append: %v", what, err)
	}
}

// TestFlippedBytes changes one byte at thousands of offsets: at all of the first pages,
// where the structure is, and at regular distances in the rest.
func TestFlippedBytes(t *testing.T) {
	x := newTorturer(t)
	step := 401
	if longtest.Sampled(t) {
		step = 7993
	}
	for at := 0; at < len(x.good); at += step {
		content := slices.Clone(x.good)
		content[at] ^= byte(1 + at%255)
		x.try(fmt.Sprintf("byte %d flipped", at), content)
	}
	// The headers and elements of every page.
	for page := 0; page < len(x.good); page += pageSize {
		for at := page; at < page+64; at += 1 + step/100 {
			content := slices.Clone(x.good)
			content[at] ^= 1 << (at % 8)
			x.try(fmt.Sprintf("byte %d flipped", at), content)
		}
	}
}

func TestDamagedPages(t *testing.T) {
	x := newTorturer(t)
	pages, step := len(x.good)/pageSize, 1
	if longtest.Sampled(t) {
		step = 4
	}
	page := func(b []byte, i int) []byte { return b[i*pageSize : (i+1)*pageSize] }
	rng := rand.New(rand.NewPCG(3, 4))
	for i := 0; i < pages; i += step {
		content := slices.Clone(x.good)
		clear(page(content, i))
		x.try(fmt.Sprintf("page %d zeroed", i), content)

		content = slices.Clone(x.good)
		for at := range page(content, i) {
			page(content, i)[at] = byte(rng.Uint32())
		}
		x.try(fmt.Sprintf("page %d garbage", i), content)

		j := rng.IntN(pages)
		content = slices.Clone(x.good)
		copy(page(content, i), page(x.good, j))
		copy(page(content, j), page(x.good, i))
		x.try(fmt.Sprintf("pages %d and %d swapped", i, j), content)
		// With the right number in its header the wrong page is harder to detect.
		binary.LittleEndian.PutUint64(page(content, i), uint64(i))
		binary.LittleEndian.PutUint64(page(content, j), uint64(j))
		x.try(fmt.Sprintf("pages %d and %d swapped and renumbered", i, j), content)
	}
	for range 200 / step {
		n := rng.IntN(len(x.good) + 1)
		x.try(fmt.Sprintf("cut to %d bytes", n), x.good[:n])
	}
	for i := 0; i < pages; i += step {
		x.try(fmt.Sprintf("cut to %d pages", i), x.good[:i*pageSize])
	}
}

// TestCraftedPages points pages at themselves and at each other, which makes
// bbolt recurse until it dies.
func TestCraftedPages(t *testing.T) {
	x := newTorturer(t)
	pages, step := len(x.good)/pageSize, 1
	if longtest.Sampled(t) {
		step = 5
	}
	for i := 2; i < pages; i += step {
		for _, target := range []int{i, 2, 3, pages - 1, pages, 1 << 40} {
			content := slices.Clone(x.good)
			p := content[i*pageSize:]
			if flags := binary.LittleEndian.Uint16(p[8:]); flags != flagLeaf && flags != flagBranch {
				continue
			}
			// As a branch with the same keys: its elements begin with pos and ksize,
			// those of a leaf with flags, pos and ksize.
			if binary.LittleEndian.Uint16(p[8:]) == flagLeaf {
				n := int(binary.LittleEndian.Uint16(p[10:]))
				for e := range min(n, 200) {
					el := p[pageHeader+e*elemBytes:]
					copy(el, el[4:12])
				}
				binary.LittleEndian.PutUint16(p[8:], flagBranch)
			}
			n := int(binary.LittleEndian.Uint16(p[10:]))
			for e := range min(n, 200) {
				binary.LittleEndian.PutUint64(p[pageHeader+e*elemBytes+8:], uint64(target))
			}
			x.try(fmt.Sprintf("page %d a branch to %d", i, target), content)
		}
	}
	for root := uint64(0); root < uint64(pages+2); root += uint64(step) {
		content := slices.Clone(x.good)
		for m := range 2 {
			b := content[m*pageSize+pageHeader:]
			binary.LittleEndian.PutUint64(b[16:], root)
			sum := fnv.New64a()
			sum.Write(b[:metaSummed])
			binary.LittleEndian.PutUint64(b[metaSummed:], sum.Sum64())
		}
		x.try(fmt.Sprintf("root at page %d", root), content)
	}
}

func TestGarbage(t *testing.T) {
	x := newTorturer(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 50 {
		content := make([]byte, rng.IntN(200_000))
		for at := range content {
			content[at] = byte(rng.Uint32())
		}
		if i%2 == 0 { // good metas over it
			copy(content, x.good[:2*pageSize])
		}
		x.try(fmt.Sprintf("garbage %d", i), content)
	}
}

// FuzzRead reads arbitrary files.
func FuzzRead(f *testing.F) {
	for v := 1; v <= FormatVersion; v++ {
		f.Add(readAll(f, fmt.Sprintf("%s/v%d%s", formats, v, Ext)))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "fuzz"+Ext)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := Open(path); err == nil {
			_, _ = r.Info()
			_, _ = collect(r.Frames(0))
			_, _ = r.Frame(3)
		}
		if s, _, err := OpenSalvage(path); err == nil {
			_, _ = collect(s.Frames(0))
		}
		_ = checkFile(path)
	})
}
