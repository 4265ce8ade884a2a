package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/mcptap/mcptap/internal/longtest"
	"github.com/mcptap/mcptap/tap"
)

// commitPings simulates an idle session: one small commit per second, with a ping and
// its response.
func commitPings(t testing.TB, path string, n int) {
	t.Helper()
	db := dbfile{path: path}
	if err := db.create(tap.Header{ID: "0123abcd", Label: "idle", Transport: "stdio"}); err != nil {
		t.Fatal(err)
	}
	asm := newAssembler()
	for i := range n {
		at := time.Duration(i) * time.Second
		asm.begin()
		asm.chunk(tap.ToServer, 0, at, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i))
		asm.chunk(tap.ToClient, 0, at+time.Millisecond, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", i))
		if err := db.update(asm.commit(uint64(2 * i)).write); err != nil {
			t.Fatal(err)
		}
	}
	db.trim()
}

// An hour of pings, one per second, stays small, although each is committed
// separately.
func TestIdleSessionStaysSmall(t *testing.T) {
	n := 3600
	if longtest.Sampled(t) {
		n = 600
	}
	path := t.TempDir() + "/idle" + Ext
	commitPings(t, path, n)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if limit := int64(n) * 300; info.Size() > limit { // 1 MiB an hour; 80 bytes a second are payload
		t.Errorf("%d pings take %d bytes, more than %d", n, info.Size(), limit)
	}
	if fs := frames(t, path); len(fs) != 2*n {
		t.Errorf("%d frames, want %d", len(fs), 2*n)
	}
}

// BenchmarkAppendTo1GB measures one small commit to a large recording: opening,
// appending, closing.
func BenchmarkAppendTo1GB(b *testing.B) {
	path := b.TempDir() + "/large" + Ext
	w, err := NewWriter(path, tap.Header{ID: "0123abcd"})
	if err != nil {
		b.Fatal(err)
	}
	raw, rng := make([]byte, 256<<10), rand.New(rand.NewPCG(1, 2))
	for i := range raw {
		raw[i] = byte(rng.Uint32()) // does not compress
	}
	raw[len(raw)-1] = '\n'
	for i := range 4096 {
		f := tap.Frame{Seq: uint64(i) + 1, Lane: tap.ToServer, Raw: raw, Size: int64(len(raw))}
		if err := w.Add(f); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(End{}); err != nil {
		b.Fatal(err)
	}
	db := dbfile{path: path}
	for b.Loop() {
		if err := db.update(func(tx *bolt.Tx) error { return writeEnd(tx, End{}) }); err != nil {
			b.Fatal(err)
		}
	}
	if info, err := os.Stat(path); err == nil {
		b.ReportMetric(float64(info.Size())/(1<<20), "MiB")
	}
}
