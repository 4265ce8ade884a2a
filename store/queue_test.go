package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// bareQueue returns a queue in plain memory that only the test drains.
func bareQueue() *queue {
	size, count := queueGeometry(minQueueSize)
	return newQueue(make([]byte, queueBytes(size, count)), size, count, nil, time.Now())
}

// taken takes all entries and releases them.
func taken(q *queue) []entry {
	es, _ := q.take(nil, 1<<30)
	q.release(es)
	return es
}

// The cap includes the blocks, the ring and the memory of the writer.
func TestQueueGeometry(t *testing.T) {
	for _, c := range []struct {
		limit        int64
		size, blocks int
	}{
		{0, 128 << 10, 8}, {minQueueSize, 128 << 10, 8}, {2 << 20, 256 << 10, 8}, {8<<20 - 1, 512 << 10, 11},
		{8 << 20, 1 << 20, 8}, {16 << 20, 1 << 20, 9}, {64 << 20, 1 << 20, 45}, {256 << 20, 1 << 20, 237},
	} {
		if size, blocks := queueGeometry(c.limit); size != c.size || blocks != c.blocks {
			t.Errorf("%d: %d blocks of %d, want %d of %d", c.limit, blocks, size, c.blocks, c.size)
		}
	}
}

// The time without progress of the store begins when there is something to take.
func TestIdleIsNotStall(t *testing.T) {
	q := bareQueue()
	for range 3 {
		q.moved = time.Time{}
		if q.chunk(tap.ToServer, []byte("x")); q.moved.IsZero() {
			t.Error("the time of an empty queue counts")
		}
		q.moved = time.Time{}
		if q.chunk(tap.ToServer, []byte("x")); !q.moved.IsZero() {
			t.Error("new entries count as progress")
		}
		if taken(q); q.moved.IsZero() {
			t.Error("a commit does not count as progress")
		}
	}
}

// If the file cannot grow, the traffic continues with the existing blocks.
func TestQueueFileThatCannotGrow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x"+Ext)
	q, err := openQueue(path, sampleHeader("0123abcd"), minQueueSize, time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	q.file.remove() // and so it is closed
	q.failing = true
	if _, err := q.file.f.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Fatal(err)
	}
	if q.file.allocate(0, 1) == nil {
		t.Skip("SKIPPED: nothing is allocated here")
	}
	for range 2 * len(q.used) {
		q.chunk(tap.ToServer, make([]byte, q.blockSize-minRoom+1))
	}
	if q.fresh != firstBlocks || q.usable != firstBlocks || !q.missed {
		t.Errorf("%d blocks, %d usable, lost: %v", q.fresh, q.usable, q.missed)
	}
}

// A file with another magic is not a queue, and a newer queue is reported as such.
func TestQueueMagic(t *testing.T) {
	for magic, want := range map[string]string{queueMagic: "", "mtapque9": "newer", "mtapqux1": "no queue header", "": "no queue header"} {
		b := make([]byte, queueHead)
		copy(b, encodeQueueHead(sampleHeader("0123abcd"), "boot", maxBlock, minBlocks))
		clear(b[:8])
		copy(b, magic)
		_, err := decodeQueueHead(b)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", magic, err)
		}
	}
}

// A header that is longer than its room keeps what fits, and always the fields that
// identify the recording.
func TestLongHeader(t *testing.T) {
	long, start := strings.Repeat("x", queueHead), sampleHeader("0123abcd").Start
	for name, c := range map[string]struct{ in, want tap.Header }{
		"as it is": {sampleHeader("0123abcd"), sampleHeader("0123abcd")},
		"many arguments": {
			tap.Header{ID: "0123abcd", Label: "a", Start: start, Command: []string{"server", long}, Dir: "/srv", Upstream: "u"},
			tap.Header{ID: "0123abcd", Label: "a", Start: start, Command: []string{"server"}, Dir: "/srv", Upstream: "u"}},
		"a long name": {
			tap.Header{ID: "0123abcd", Label: "a", Start: start, Transport: "stdio", Command: []string{long}, Dir: "/srv", Program: "p"},
			tap.Header{ID: "0123abcd", Label: "a", Start: start, Transport: "stdio", Program: "p"}},
		"a long directory": {
			tap.Header{ID: "0123abcd", Label: "a", Start: start, Dir: long}, tap.Header{ID: "0123abcd", Label: "a", Start: start}},
		"a long URL": {
			tap.Header{ID: "0123abcd", Label: "a", Start: start, Upstream: long}, tap.Header{ID: "0123abcd", Label: "a", Start: start}},
		"a long label": {tap.Header{ID: "0123abcd", Label: long, Start: start}, tap.Header{ID: "0123abcd", Start: start}},
	} {
		b := make([]byte, queueHead)
		if n := copy(b, encodeQueueHead(c.in, "boot", maxBlock, minBlocks)); n == queueHead && b[n-1] != '}' {
			t.Errorf("%s: it is cut", name)
		}
		if h, err := decodeQueueHead(b); err != nil || !reflect.DeepEqual(h.header, c.want) {
			t.Errorf("%s: %v: %+v", name, err, h.header)
		}
	}
}

// A piece that is longer than a block is several entries, and its
// end is that of the last.
func TestLongPieces(t *testing.T) {
	for _, limit := range []int64{minQueueSize, 64 << 20} {
		size, count := queueGeometry(limit)
		q := newQueue(make([]byte, queueBytes(size, count)), size, count, nil, time.Now())
		for _, end := range []bool{false, true} {
			in := bytes.Repeat([]byte("0123456789"), 60_001)
			q.piece(stream{exchange: 7, lane: tap.ToClient}, tap.FormBody, in, end)
			es, _ := q.take(nil, 1<<30)
			var got []byte
			for i, e := range es {
				exchange, p := cutNumber(q.bytes(&e))
				got = append(got, p...)
				if last := i == len(es)-1; exchange != 7 || (e.Flags&pieceEnd != 0) != (last && end) {
					t.Errorf("entry %d of %d: %+v", i, len(es), e)
				}
			}
			if q.release(es); !bytes.Equal(got, in) || len(q.open) != map[bool]int{true: 0, false: 1}[end] {
				t.Errorf("%d bytes of %d, %d open", len(got), len(in), len(q.open))
			}
		}
	}
}

// Memory that the store has taken is reused: as long as the disk keeps up with the
// traffic, one block is enough; otherwise the existing blocks are used.
func TestBlocksAreReused(t *testing.T) {
	q := bareQueue()
	for range 1000 {
		q.chunk(tap.ToServer, make([]byte, 10_000))
		taken(q)
	}
	if q.fresh != 1 {
		t.Errorf("%d blocks for one chunk at a time", q.fresh)
	}
	var held []entry
	for i := range 1000 {
		q.chunk(tap.ToClient, make([]byte, 10_000))
		more, _ := q.take(nil, 1<<30)
		if held = append(held, more...); i%20 == 19 {
			q.release(held)
			held = nil
		}
	}
	if q.release(held); q.fresh > 3 || len(q.free) != q.fresh-1 {
		t.Errorf("%d blocks, %d of them free", q.fresh, len(q.free))
	}
	for _, n := range q.used {
		if n != 0 {
			t.Errorf("in use: %v", q.used)
		}
	}
}

// A full ring has the same effect as a block that is not available.
func TestFullRing(t *testing.T) {
	q := bareQueue()
	for range ringEntries {
		q.piece(stream{exchange: 1, lane: tap.ToServer}, tap.FormPing, nil, true)
	}
	q.failing = true
	q.piece(stream{exchange: 1, lane: tap.ToServer}, tap.FormPing, nil, true)
	q.chunk(tap.ToServer, []byte("two\nlines\n"))
	q.chunk(tap.ToServer, nil)
	want := lostLane{Bytes: 10, Frames: 2}
	if q.next != ringEntries || q.lost[tap.ToServer] != want || q.lost[tap.Lifecycle].Frames != 1 {
		t.Errorf("%d entries, lost %+v", q.next, q.lost)
	}
	taken(q)
	q.chunk(tap.ToServer, []byte("x"))
	if es := taken(q); len(es) != 2 || es[0].Kind != entryGap || parseLost(q.bytes(&es[0]))[tap.ToServer] != want {
		t.Errorf("entries %+v", es)
	}
}
