//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"crypto/sha256"
	"encoding/json"
	"hash"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// A fake is a recorder in memory. It may also misbehave.
type fake struct {
	mu   sync.Mutex
	rec  recording
	sums [tap.Lanes]hash.Hash
	kind string
}

// newFake makes a recorder of a kind: "" records, "discard" does not, others
// misbehave as their names indicate.
func newFake(kind string) *fake { return &fake{kind: kind} }

func (f *fake) Chunk(lane tap.Lane, p []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(p) == 0 {
		if f.kind == "panic-end" {
			panic("cannot end")
		}
		f.rec.Ended[lane]++
		return
	}
	switch f.kind {
	case "discard":
		return
	case "panic-record":
		if lane == tap.ToClient {
			panic("cannot record")
		}
	case "fault-record":
		copy(truncatedMemory(), p)
	case "slow-record":
		time.Sleep(20 * time.Millisecond)
	}
	if f.sums[lane] == nil {
		f.sums[lane] = sha256.New()
	}
	f.sums[lane].Write(p)
	if len(f.rec.Lanes[lane]) <= 1<<20 {
		f.rec.Lanes[lane] = append(f.rec.Lanes[lane], p...)
	}
	if len(p) < 1024 {
		f.rec.Order = append(f.rec.Order, entry{Lane: lane, Data: append([]byte(nil), p...)})
	}
}

func (f *fake) Piece(uint64, tap.Lane, tap.Form, []byte, bool) {}

func (f *fake) Event(_ uint64, e tap.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch f.kind {
	case "panic-note":
		panic("cannot note")
	case "fault-note":
		truncatedMemory()[0] = 1
	case "fault-signal":
		if e.Name == tap.EventSignal {
			truncatedMemory()[0] = 1
		}
	}
	f.rec.Notes = append(f.rec.Notes, e)
	f.rec.Order = append(f.rec.Order, entry{Note: e.Name})
}

func (f *fake) dump() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	rec := f.rec
	for i, h := range f.sums {
		if h == nil {
			h = sha256.New()
		}
		rec.Sums[i] = [sha256.Size]byte(h.Sum(nil))
	}
	b, err := json.Marshal(rec)
	if err != nil {
		panic(err)
	}
	return b
}

// truncatedMemory returns the mapping of a file that was truncated. Access is a fault.
func truncatedMemory() []byte {
	f, err := os.CreateTemp("", "truncated")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	_ = os.Remove(f.Name())
	if err := f.Truncate(256 << 10); err != nil {
		panic(err)
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, 256<<10, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	if err := f.Truncate(0); err != nil {
		panic(err)
	}
	return b
}
