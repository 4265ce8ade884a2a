package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// someSegments returns encoded segments of frames and of a part, with and
// without compression.
func someSegments(rng *rand.Rand) [][]byte {
	var out [][]byte
	for _, lines := range []int{1, 3, 400} {
		var s segment
		s.reset(7, time.Second)
		for i := range lines {
			r := record{}
			r.Lane, r.At = tap.ToServer, time.Second+time.Duration(i)
			s.add(&r, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping","params":{"n":%d}}`+"\n", i, rng.Uint64()))
		}
		out = append(out, s.encode(nil, true), s.encode(nil, false))
	}
	body := bytes.Repeat([]byte("a part of a long frame "), 500)
	return append(out, encodePart(nil, 1<<63, body, true), encodePart(nil, 1<<63, body, false))
}

// repairable reports whether a segment is short enough.
func repairable(b []byte) bool {
	return len(b) <= maxRepair && (b[12] == compressS2 || len(b) <= maxRepairPlain)
}

// Any one byte of a segment may be wrong, but for those by which it is found.
func TestRepairOneByte(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n, good := range someSegments(rng) {
		if _, ok := findRepair(good); ok {
			t.Fatalf("segment %d: nothing was wrong, and yet it was repaired", n)
		}
		step := 1 + len(good)/300
		for at := 8; at < len(good); at += step {
			b := slices.Clone(good)
			b[at] ^= byte(1 + rng.IntN(255))
			r, ok := findRepair(b)
			if ok {
				r.apply(b)
			}
			if ok != repairable(good) || ok && !bytes.Equal(b, good) {
				t.Fatalf("segment %d of %d bytes: byte %d: repaired %v by %+v", n, len(good), at, ok, r)
			}
		}
	}
}

// What is more than one byte is not made up.
func TestRepairNothingElse(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n, good := range someSegments(rng) {
		for range 100 {
			b := slices.Clone(good)
			for range 2 + rng.IntN(3) {
				b[12+rng.IntN(len(b)-12)] ^= byte(1 + rng.IntN(255))
			}
			if r, ok := findRepair(b); ok && !bytes.Equal(b, good) {
				t.Errorf("segment %d: repaired by %+v", n, r)
			}
		}
	}
}

// A short recording is one segment: a flipped bit costs none of its frames.
func TestSalvageRepairs(t *testing.T) {
	path, want := sample(t)
	whole := mustSalvage(t, path)
	good := readAll(t, path)
	for _, p := range slices.Concat(whole.frames, whole.parts) {
		if !repairable(good[p.off : p.off+int64(p.len)]) {
			continue
		}
		content := slices.Clone(good)
		content[p.off+int64(p.len)/2] ^= 0x04
		os.Remove(path)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s := mustSalvage(t, path)
		got, err := collect(s.Frames())
		if err != nil {
			t.Fatal(err)
		}
		sameFrames(t, got, want)
		if r := s.Report(); r.Repaired == 0 || len(r.Missing) > 0 {
			t.Errorf("segment %d: %+v", p.first, r)
		}
		s.Close()
	}
}
