//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"crypto/sha256"
	"encoding/json"
	"hash"
	"sync"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// A fake is a recorder in memory. It can also be a bad one.
type fake struct {
	mu   sync.Mutex
	rec  recording
	room [tap.Lanes][]byte
	used [tap.Lanes]int // bytes of the room that are recorded
	sums [tap.Lanes]hash.Hash
	torn [tap.Lanes]bool
	kind string
}

// newFake makes a recorder of a kind: "" records, "discard" does not, the
// others misbehave as their names say.
func newFake(kind string) *fake { return &fake{kind: kind} }

func (f *fake) Room(lane tap.Lane) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch f.kind {
	case "panic-room":
		panic("no room")
	case "empty-room":
		return nil
	case "slow-room":
		time.Sleep(20 * time.Millisecond)
	}
	f.used[lane] = 0
	if f.kind == "torn-once" && !f.torn[lane] {
		f.torn[lane] = true
		return tornMemory()
	}
	if f.room[lane] == nil {
		f.room[lane] = f.memory()
	}
	return f.room[lane]
}

func (f *fake) Record(lane tap.Lane, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch f.kind {
	case "discard":
		return
	case "panic-record":
		if lane == tap.ToClient {
			panic("cannot record")
		}
	case "slow-record":
		time.Sleep(20 * time.Millisecond)
	}
	b := f.room[lane][f.used[lane]:][:n]
	f.used[lane] += n
	if f.sums[lane] == nil {
		f.sums[lane] = sha256.New()
	}
	f.sums[lane].Write(b)
	if len(f.rec.Lanes[lane]) <= 1<<20 {
		f.rec.Lanes[lane] = append(f.rec.Lanes[lane], b...)
	}
	if n < 1024 {
		f.rec.Order = append(f.rec.Order, entry{Lane: lane, Data: append([]byte(nil), b...)})
	}
}

func (f *fake) End(lane tap.Lane) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kind == "panic-end" {
		panic("cannot end")
	}
	f.rec.Ended[lane]++
}

func (f *fake) Note(e tap.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch f.kind {
	case "panic-note":
		panic("cannot note")
	case "torn-note":
		tornMemory()[0] = 1
	case "torn-signal":
		if e.Name == tap.EventSignal {
			tornMemory()[0] = 1
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

func (f *fake) memory() []byte {
	if f.kind == "torn-room" {
		return tornMemory()
	}
	return make([]byte, 256<<10)
}
