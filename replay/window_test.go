package replay

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// A countingSpool counts how often it is read, and how much.
type countingSpool struct {
	*Memory
	reads, bytes int
}

func (c *countingSpool) ReadAt(p []byte, off int64) (int, error) {
	c.reads++
	c.bytes += len(p)
	return c.Memory.ReadAt(p, off)
}

// spooled fills a spool with messages.
func spooled(r *rand.Rand, n, most int) (*countingSpool, []place) {
	spool := &countingSpool{Memory: &Memory{}}
	var places []place
	for range n {
		places = append(places, write(spool, r, r.IntN(most)))
	}
	return spool, places
}

// write adds a message to a spool.
func write(spool *countingSpool, r *rand.Rand, size int) place {
	b := make([]byte, 0, size+8)
	for len(b) < size {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64())
	}
	b = b[:size]
	p := place{off: uint64(len(spool.b)), size: uint32(size)}
	spool.Write(b)
	return p
}

// Whatever is loaded in whatever order is what was written.
func TestWindow(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		spool, places := spooled(r, 400, []int{40, 700, 3 * windowSize}[seed%3])
		if seed%5 == 0 { // some that are not kept
			for range 3 {
				places = append(places, write(spool, r, maxKept+r.IntN(windowSize)), write(spool, r, 100))
			}
		}
		var w window
		next := 0
		for range 1000 {
			switch r.IntN(8) {
			case 0:
				next = r.IntN(len(places))
			case 1:
				next = max(0, next-2)
			}
			p := places[next%len(places)]
			if r.IntN(4) == 0 && p.size > 1 { // a message of a batch
				p = p.part(span{r.IntN(int(p.size)), int(p.size)})
			}
			got, err := w.load(spool, p)
			if err != nil || !bytes.Equal(got, spool.b[p.off:p.off+uint64(p.size)]) {
				t.Fatalf("seed %d: %d bytes at %d: %d bytes, %v", seed, p.size, p.off, len(got), err)
			}
			next++
		}
	}
}

// What comes in order is read in few pieces, each byte once; what does not is read
// alone.
func TestWindowReadsAhead(t *testing.T) {
	spool, places := spooled(rand.New(rand.NewPCG(1, 1)), 5000, 500)
	var w window
	for _, p := range places {
		if _, err := w.load(spool, p); err != nil {
			t.Fatal(err)
		}
	}
	if most := len(spool.b)/(windowSize-500) + 2; spool.reads > most || spool.bytes > len(spool.b)+windowSize {
		t.Errorf("%d bytes: %d reads of %d bytes, want at most %d", len(spool.b), spool.reads, spool.bytes, most)
	}
	spool.reads, spool.bytes = 0, 0
	size := 0
	for i := len(places) - 1; i > 0; i -= 2 {
		if _, err := w.load(spool, places[i]); err != nil {
			t.Fatal(err)
		}
		size += int(places[i].size)
	}
	if spool.bytes > size {
		t.Errorf("%d bytes were read of %d", spool.bytes, size)
	}
}

// A large message is read alone, and no room for it stays; what follows it is read ahead
// all the same.
func TestWindowKeepsNoRoom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	spool, _ := spooled(r, 0, 1)
	var places []place
	for range 3 {
		places = append(places, write(spool, r, 100), write(spool, r, 5*maxKept))
	}
	for range 100 {
		places = append(places, write(spool, r, 100))
	}
	var w window
	for i, p := range places {
		if i == 6 {
			spool.reads = 0
		}
		if got, err := w.load(spool, p); err != nil || !bytes.Equal(got, spool.b[p.off:p.off+uint64(p.size)]) {
			t.Fatalf("message %d: %d bytes, %v", i, len(got), err)
		}
		if cap(w.b) > maxKept {
			t.Fatalf("message %d of %d bytes: room for %d stays", i, p.size, cap(w.b))
		}
	}
	if spool.reads > 1 {
		t.Errorf("what follows is read in %d pieces", spool.reads)
	}
	p := write(spool, r, maxKept)
	if _, err := w.load(spool, p); err != nil || cap(w.b) < maxKept || cap(w.b) > 2*maxKept {
		t.Errorf("room for %d bytes stays of a message of %d: %v", cap(w.b), p.size, err)
	}
	if _, err := w.load(spool, place{off: uint64(len(spool.b)), size: maxKept + 1}); !errors.Is(err, io.EOF) {
		t.Errorf("a large message that is not there: %v", err)
	}
}

// Nor does a session keep room for what it makes of one.
func TestSessionKeepsNoRoom(t *testing.T) {
	large := strings.Repeat("x", 5*maxKept)
	x := build(t, lines(`>{"id":1,"method":"small"}
{"id":1,"result":"small"}
>{"id":2,"method":"large"}
{"result":"`+large+`","id":2}
`), nil).NewSession()
	x.Attach(0, 1, Duplex)
	for i, c := range []struct{ method, result string }{{"large", large}, {"small", "small"}, {"large", large}} {
		x.Receive(0, 1, fmt.Appendf(nil, `{"id":"live %d","method":"%s"}`, i, c.method))
		out, ok, err := x.Next(0)
		if err != nil || !ok || !bytes.Contains(out.Raw, fmt.Appendf(nil, `"live %d"`, i)) || !bytes.Contains(out.Raw, []byte(`:"`+c.result+`"`)) {
			t.Fatalf("%s: %d bytes, %v", c.method, len(out.Raw), err)
		}
		if cap(x.wrap) > 2*maxKept || cap(x.window.b) > 2*maxKept {
			t.Errorf("room for %d and %d bytes stays", cap(x.wrap), cap(x.window.b))
		}
	}
}

// A spool that is still being written to has only the beginning of what is read ahead.
func TestWindowAtTheEnd(t *testing.T) {
	var spool Memory
	var w window
	var want []byte
	for i := range 200 {
		b := bytes.Repeat([]byte{byte(i)}, 300)
		p := place{off: uint64(len(want)), size: 300}
		if _, err := w.load(&spool, p); !errors.Is(err, io.EOF) {
			t.Fatalf("what is not there yet: %v", err)
		}
		spool.Write(b[:100])
		if _, err := w.load(&spool, p); !errors.Is(err, io.EOF) {
			t.Fatalf("what is not all there yet: %v", err)
		}
		spool.Write(b[100:])
		want = append(want, b...)
		if got, err := w.load(&spool, p); err != nil || !bytes.Equal(got, b) {
			t.Fatalf("message %d: %d bytes, %v", i, len(got), err)
		}
		if i%50 != 49 {
			continue
		}
		if got, err := w.load(&spool, place{off: 0, size: uint32(len(want))}); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("all %d: %d bytes, %v", i, len(got), err)
		}
	}
}
