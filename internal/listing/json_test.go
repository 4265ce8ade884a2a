package listing

import (
	"bufio"
	"bytes"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// The bytes of many small frames are read once, not their whole segment for each. Rows may skip frames, repeat
// one, or go back.
func TestPayloads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x"+store.Ext)
	w, err := store.NewWriter(path, tap.Header{ID: "12345678", Transport: "stdio"})
	if err != nil {
		t.Fatal(err)
	}
	const frames = 4000
	for i := range uint64(frames) {
		raw := fmt.Appendf(nil, "frame %d %s\n", i+1, strings.Repeat("x", 100))
		if err := w.Add(tap.Frame{Seq: i + 1, At: time.Duration(i), Lane: tap.Stderr, Raw: raw, Size: int64(len(raw))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(store.End{At: frames}); err != nil {
		t.Fatal(err)
	}
	rec, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var seqs []uint64
	for i := range uint64(frames) {
		seqs = append(seqs, i+1)
	}
	seqs = append(seqs, frames, 5, 7, 7, 3000, 2999, frames)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var out bytes.Buffer
	p := &JSON{W: bufio.NewWriter(&out), Payload: rec}
	for _, seq := range seqs {
		if err := p.row(&view.Row{Part: session.Part{Message: session.Ref{Seq: seq}, Lane: tap.Stderr}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.End(&Summary{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	p.W.Flush()
	lines := strings.Split(out.String(), "\n")
	for i, seq := range seqs {
		if want := fmt.Sprintf(`"raw":"frame %d x`, seq); !strings.Contains(lines[i], want) {
			t.Fatalf("no %s in %s", want, lines[i])
		}
	}
	if most := uint64(100 << 20); after.TotalAlloc-before.TotalAlloc > most {
		t.Errorf("%d MiB were allocated", (after.TotalAlloc-before.TotalAlloc)>>20)
	}
}
