package store

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// BenchmarkRecorder measures the throughput of the whole writing side, until everything
// is on disk: with words, as in text, and with random letters, which do not compress.
func BenchmarkRecorder(b *testing.B) {
	for _, text := range []bool{true, false} {
		for _, size := range []int{200, 500, 4 << 10, 256 << 10} {
			b.Run(fmt.Sprintf("text=%v/%d", text, size), func(b *testing.B) { benchRecorder(b, size, text) })
		}
	}
}

func benchRecorder(b *testing.B, size int, text bool) {
	chunk := make([]byte, 0, 4<<20)
	rng := rand.New(rand.NewPCG(1, 2))
	words := []string{"the ", "file ", "was ", "not ", "found ", "in ", "result ", "contains ", "rows ", "42 ", "value ", "message "}
	for i := 0; len(chunk)+size <= cap(chunk); i++ {
		frame := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"text":"`, i)
		for len(frame) < size-4 {
			if text {
				frame = append(frame, words[rng.IntN(len(words))]...)
			} else {
				frame = append(frame, byte('0'+rng.IntN(64)))
			}
		}
		chunk = append(append(chunk, frame[:size-4]...), "\"}}\n"...)
	}
	r := Create(b.TempDir(), tap.Header{}, Options{})
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		for p := chunk; len(p) > 0; {
			n := min(len(p), 64<<10)
			put(r, tap.ToClient, p[:n])
			p = p[n:]
		}
	}
	r.Close()
}
