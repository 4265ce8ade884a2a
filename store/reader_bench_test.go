package store

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// bigFile makes a recording with n frames of about size bytes, in commits like
// those of a busy tap.
func bigFile(b *testing.B, n, size, commit int) (path string, bytes int64) {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	var lines [64][]byte
	for i := range lines {
		lines[i] = line(rng, uint64(i), size)
	}
	path = filepath.Join(b.TempDir(), "big"+Ext)
	w, err := NewWriter(path, sampleHeader("0123abcd"))
	if err != nil {
		b.Fatal(err)
	}
	w.limit = commit
	for i := range n {
		raw := lines[i%len(lines)]
		bytes += int64(len(raw))
		if err := w.Add(tap.Frame{Seq: uint64(i + 1), At: time.Duration(i) * time.Microsecond, Lane: tap.ToClient, Raw: raw}); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(End{}); err != nil {
		b.Fatal(err)
	}
	return path, bytes
}

// BenchmarkRead reads a recording of 256 MiB in each possible way.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{500, 100_000} {
		b.Run(fmt.Sprintf("frame=%d", size), func(b *testing.B) {
			n := 256 << 20 / size
			path, total := bigFile(b, n, size, importBytes)
			r, err := Open(path)
			if err != nil {
				b.Fatal(err)
			}
			benchScans(b, r, n, total)
			benchPoints(b, r, uint64(n))
		})
	}
}

// benchScans reads all n frames, which have total bytes.
func benchScans(b *testing.B, r *Recording, n int, total int64) {
	scan := func(name string, all func(yield func(iter.Seq2[tap.Frame, error]))) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(total)
			b.ReportAllocs()
			for b.Loop() {
				got := 0
				all(func(seq iter.Seq2[tap.Frame, error]) {
					for _, err := range seq {
						if err != nil {
							b.Fatal(err)
						}
						got++
					}
				})
				if got != n {
					b.Fatalf("%d frames of %d", got, n)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "frames/s")
		})
	}
	scan("frames", func(read func(iter.Seq2[tap.Frame, error])) { read(r.Frames(0)) })
	scan("salvage", func(read func(iter.Seq2[tap.Frame, error])) {
		s, _, err := OpenSalvage(r.Path())
		if err != nil {
			b.Fatal(err)
		}
		read(s.Frames(0))
	})
}

// benchPoints reads one thing at a time.
func benchPoints(b *testing.B, r *Recording, n uint64) {
	rng, seq := rand.New(rand.NewPCG(2, 2)), uint64(0)
	for _, c := range []struct {
		name string
		read func() error
	}{
		{"open", func() error { _, err := Open(r.Path()); return err }},
		{"info", func() error { _, err := r.Info(); return err }},
		{"random", func() error { _, err := r.Frame(1 + rng.Uint64N(n)); return err }},
		{"neighbours", func() error { seq = seq%n + 1; _, err := r.Frame(seq); return err }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCheckFile walks all pages of a recording that was made in many
// commits, as is done before a killed tap's queue is appended.
func BenchmarkCheckFile(b *testing.B) {
	for _, c := range []struct{ frames, size, commit int }{{40_000, 50_000, importBytes}, {300_000, 500, 40 << 10}} {
		b.Run(fmt.Sprintf("frames=%d/size=%d/commit=%d", c.frames, c.size, c.commit), func(b *testing.B) {
			path, _ := bigFile(b, c.frames, c.size, c.commit)
			for b.Loop() {
				if err := checkFile(path); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(Stat(path).Size)/(1<<20), "MiB")
		})
	}
}

func BenchmarkList(b *testing.B) {
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("%08x server-%d", i*7919, i%7))
	}
	dir := shelf(b, lines...)
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			if infos, err := List(dir); err != nil || len(infos) != 100 {
				b.Fatal(len(infos), err)
			}
		}
	})
	b.Run("last", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := Resolve(dir, argLast); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkFollow measures how long after it crossed a line reaches a follower.
func BenchmarkFollow(b *testing.B) {
	rec := Create(b.TempDir(), tap.Header{Label: "follow"}, Options{})
	defer rec.Close()
	say := func() {
		rec.Chunk(tap.ToServer, []byte("a line\n"))
	}
	r, err := Open(rec.Path())
	if err != nil {
		b.Fatal(err)
	}
	say()
	n := 0
	for _, err := range r.Follow(timeout(b, 5*time.Minute), 0) {
		if err != nil {
			b.Fatal(err)
		}
		if n++; n > b.N {
			break
		}
		say()
	}
}

// BenchmarkImport writes a recording from frames.
func BenchmarkImport(b *testing.B) {
	for _, size := range []int{500, 100_000} {
		b.Run(fmt.Sprintf("frame=%d", size), func(b *testing.B) {
			for b.Loop() {
				_, n := bigFile(b, 64<<20/size, size, importBytes)
				b.SetBytes(n)
			}
		})
	}
}
