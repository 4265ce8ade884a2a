package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// sampleHeader returns the header of the recordings that tests make.
func sampleHeader(id string) tap.Header {
	return tap.Header{
		ID: id, Label: "sample", Start: time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC), Transport: "stdio",
		Command: []string{"server", "--flag"}, Dir: "/srv", Program: "mcptap test", Platform: "linux/amd64",
	}
}

// line makes a message of about n bytes that compresses like JSON does.
func line(rng *rand.Rand, seq uint64, n int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"text":"`, seq)
	for b.Len() < n {
		fmt.Fprintf(&b, "word%d ", rng.IntN(50000))
	}
	b.WriteString("\"}}\n")
	return b.Bytes()
}

// sampleFrames makes n frames of mixed lanes and sizes. Frame 7 is in parts if
// parts are shorter than 40 KB; after frame n/2 ten numbers are missing.
func sampleFrames(n int) []tap.Frame {
	rng := rand.New(rand.NewPCG(1, 2))
	var frames []tap.Frame
	seq, at := uint64(0), time.Duration(0)
	for i := range n {
		seq++
		if i == n/2 {
			seq += 10
		}
		at += time.Duration(rng.IntN(5_000_000))
		f := tap.Frame{Seq: seq, At: at, Lane: tap.ToServer + tap.Lane(i%2)}
		switch {
		case i == 0:
			f.Lane, f.Raw = tap.Lifecycle, tap.Event{Name: tap.EventStart, Transport: "stdio", PID: 1}.Encode()
		case i == 6:
			f.Took, f.Raw = min(at, 3*time.Millisecond), line(rng, seq, 40_000)
		case i == 7:
			f.Raw = make([]byte, 900) // does not compress
			for j := range f.Raw {
				f.Raw[j] = byte(rng.Uint32())
			}
		case i%17 == 3:
			f.Lane, f.Raw = tap.Stderr, []byte("a piece of stderr")
		case i%29 == 5:
			f.Truncated, f.Exchange, f.Raw = true, uint64(i), []byte(`{"half`)
		case i%13 == 4:
			f.Exchange, f.Form = 1+uint64(i)<<32, tap.Form(i)%tap.Forms
			f.Raw = append([]byte("data: "), line(rng, seq, 20+rng.IntN(400))...)
		case i%31 == 8:
			f.Raw = []byte{}
		default:
			f.Raw = line(rng, seq, 20+rng.IntN(400))
		}
		f.Size = int64(len(f.Raw))
		frames = append(frames, f)
	}
	return frames
}

// writeSample makes a recording with the frames in several commits.
func writeSample(t testing.TB, path string, frames []tap.Frame, commit, parts int) {
	t.Helper()
	w, err := NewWriter(path, sampleHeader("0123abcd"))
	if err != nil {
		t.Fatal(err)
	}
	w.parts = parts
	for i, f := range frames {
		if err := w.Add(f); err != nil {
			t.Fatal(err)
		}
		if i%commit == commit-1 { // commit what was collected, as a tap does
			if err := w.db.update(w.asm.commit(0).write); err != nil {
				t.Fatal(err)
			}
			if i%3 != 0 { // otherwise the next commit replaces the segment with a longer one
				w.asm.open = false
			}
			w.asm.begin()
		}
	}
	if err := w.Close(End{At: frames[len(frames)-1].At + time.Second}); err != nil {
		t.Fatal(err)
	}
}

// sample returns a fresh copy of a small recording that has everything in it,
// and branch pages too.
func sample(t testing.TB) (path string, frames []tap.Frame) {
	t.Helper()
	name := FileName(sampleHeader("0123abcd"))
	frames = sampleFrames(600)
	sampleOnce.Do(func() {
		first := filepath.Join(t.TempDir(), name)
		writeSample(t, first, frames, 4, 4096)
		sampleFile = readAll(t, first)
	})
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, sampleFile, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, frames
}

var (
	sampleOnce sync.Once
	sampleFile []byte
)

func collect(seq iter.Seq2[tap.Frame, error]) (frames []tap.Frame, err error) {
	for f, err := range seq {
		if err != nil {
			return frames, err
		}
		frames = append(frames, f)
	}
	return frames, nil
}

func mustOpen(t testing.TB, path string) *Recording {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func equalFrame(a, b *tap.Frame) bool {
	return a.Seq == b.Seq && a.At == b.At && a.Took == b.Took && a.Lane == b.Lane && a.Exchange == b.Exchange &&
		a.Form == b.Form && a.Truncated == b.Truncated && a.Size == b.Size && bytes.Equal(a.Raw, b.Raw)
}

func sameFrames(t testing.TB, got, want []tap.Frame) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if !equalFrame(&got[i], &want[i]) {
			t.Fatalf("frame %d of %d is\n%s, want\n%s", i, len(want), show(&got[i]), show(&want[i]))
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d frames, want %d", len(got), len(want))
	}
}

func show(f *tap.Frame) string {
	return fmt.Sprintf("%d at=%d took=%d %v x%d %v truncated=%v size=%d %.60q %x",
		f.Seq, f.At, f.Took, f.Lane, f.Exchange, f.Form, f.Truncated, f.Size, f.Raw, sha256.Sum256(f.Raw))
}

func readAll(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func timeout(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
