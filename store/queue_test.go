package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// bareQueue is a queue in plain memory that nobody drains but the test.
func bareQueue() *queue {
	size, count := queueGeometry(minQueueSize)
	return newQueue(make([]byte, queueBytes(size, count)), size, count, nil, time.Now())
}

// taken pulls all entries and commits them.
func taken(q *queue) []entry {
	es, _ := q.pull(nil, 1<<30)
	q.commit(es)
	return es
}

// The cap is for all of it: blocks, ring and what the writer holds.
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

// A room is large enough to be worth a read and no larger than a read should be;
// what the store has taken is lent again, from the start of its block.
func TestRooms(t *testing.T) {
	q := bareQueue()
	if n := len(q.room(tap.ToServer)); n != q.blockSize {
		t.Errorf("a room of %d in an empty block of %d", n, q.blockSize)
	}
	q.record(tap.ToServer, q.blockSize-minRoom)
	if n := len(q.room(tap.ToServer)); n != minRoom || q.fresh != 1 {
		t.Errorf("a room of %d, in block %d", n, q.fresh)
	}
	q.record(tap.ToServer, 1)
	if n := len(q.room(tap.ToServer)); n != q.blockSize || q.fresh != 2 {
		t.Errorf("a room of %d, in block %d", n, q.fresh)
	}
	q.record(tap.ToServer, 10)
	taken(q)
	for range 100 {
		put2(q, tap.ToServer, make([]byte, 5000))
		if es := taken(q); es[0].Pos != uint64(q.blockSize) {
			t.Fatalf("an entry at %d", es[0].Pos)
		}
	}
	if q.fresh != 2 || len(q.free) != 1 {
		t.Errorf("%d blocks were used, %v are free", q.fresh, q.free)
	}
	size, count := queueGeometry(64 << 20)
	q = newQueue(make([]byte, queueBytes(size, count)), size, count, nil, time.Now())
	if n := len(q.room(tap.ToServer)); n != maxRoom {
		t.Errorf("a room of %d, want %d", n, maxRoom)
	}
}

// A block is free when no lane reads into it and the store has all of it, once.
func TestBlocksAreFreeOnce(t *testing.T) {
	q := bareQueue()
	step := q.blockSize - minRoom + 1 // of which two do not fit a block
	for range 50 {
		for range 3 {
			put2(q, tap.ToClient, make([]byte, step))
		}
		for range 2 {
			q.note(0, make([]byte, step))
			q.note(0, nil) // an entry without bytes
		}
		taken(q)
		seen := make(map[int]bool)
		for _, i := range q.free {
			if seen[i] || q.state[i].open {
				t.Fatalf("free: %v, blocks %+v", q.free, q.state)
			}
			seen[i] = true
		}
	}
	if used := q.fresh - len(q.free); used > 2 || q.fresh > 7 {
		t.Errorf("%d blocks of %d are in use for two lanes", used, q.fresh)
	}
}

// A ring that is full makes pumps wait; when the store fails, what they read goes
// unrecorded and is counted, and nothing that is in the ring is overwritten.
func TestFullRing(t *testing.T) {
	q := bareQueue()
	q.failing = true
	lanes := []tap.Lane{tap.ToServer, tap.ToClient}
	for i := range ringEntries + 500 {
		put2(q, lanes[i%2], []byte("x\n"))
		q.note(0, []byte("{}"))
		q.piece(stream{1, tap.ToClient}, tap.FormBody, []byte("y"), true)
	}
	if n := q.next - q.drained; n > ringEntries || n < ringEntries-ringReserve {
		t.Errorf("%d entries", n)
	}
	if !q.lanes[tap.ToServer].lost || !q.missed {
		t.Error("nothing was lost")
	}
	crossed := uint64(3 * (ringEntries + 500))
	lost := uint64(0)
	for _, l := range q.lost {
		lost += l.Frames
	}
	if got := q.next + lost; got != crossed {
		t.Errorf("%d entries and %d frames lost, of %d", q.next, lost, crossed)
	}
	for i, e := range taken(q) {
		if e.Mark != uint64(i)+1 {
			t.Fatalf("entry %d has mark %d", i, e.Mark)
		}
	}
}

// The same without events, which would stop before the pumps do.
func TestFullRingOfPumps(t *testing.T) {
	for _, room := range []bool{true, false} { // asked for each time, or once
		q := bareQueue()
		if q.failing = true; !room {
			q.room(tap.ToServer)
		}
		for i := range ringEntries + 500 {
			if room {
				put2(q, tap.ToClient, []byte("x"))
			} else if i < ringEntries-ringReserve {
				q.note(0, nil)
			} else {
				q.record(tap.ToServer, 1)
			}
		}
		if n := q.next - q.drained; n > ringEntries || !q.missed {
			t.Errorf("%d entries, lost %v", n, q.missed)
		}
	}
}

// A pump whose room was lent before the ring was full waits for the store with
// what it has read, and loses nothing.
func TestRecordWaitsForTheRing(t *testing.T) {
	q := bareQueue()
	copy(q.room(tap.ToServer), "a request")
	for q.next < ringEntries-ringReserve/2 {
		q.note(0, nil)
	}
	done := make(chan struct{})
	go func() {
		q.record(tap.ToServer, len("a request"))
		close(done)
	}()
	select {
	case <-q.wake: // it asks the writer for room
	case <-done:
		t.Error("it did not wait")
	}
	taken(q)
	<-done
	if es := taken(q); q.missed || len(es) != 1 || string(q.bytes(&es[0])) != "a request" {
		t.Errorf("%d entries, lost %v", len(es), q.missed)
	}
}

// The time that a store took nothing counts from when there was something to take.
func TestIdleIsNoStall(t *testing.T) {
	q := bareQueue()
	for range 3 {
		q.progress = time.Time{}
		if put2(q, tap.ToServer, []byte("x")); q.progress.IsZero() {
			t.Error("time passed while the queue was empty")
		}
		q.progress = time.Time{}
		if put2(q, tap.ToServer, []byte("x")); !q.progress.IsZero() {
			t.Error("more to take is no progress")
		}
		if taken(q); q.progress.IsZero() {
			t.Error("a commit is progress")
		}
	}
}

// A queue that is closed keeps nobody waiting, whether a pump or an event.
func TestClosedQueue(t *testing.T) {
	q := bareQueue()
	q.failing = true
	for !q.missed {
		put2(q, tap.ToServer, make([]byte, 10_000))
	}
	q.failing, q.closed = false, true
	room := q.room(tap.ToServer)
	q.record(tap.ToServer, copy(room, "late\n"))
	q.note(0, []byte("{}"))
	if q.lost[tap.ToServer].Bytes < 5 || q.lost[tap.Lifecycle].Frames != 1 {
		t.Errorf("lost %+v", q.lost)
	}
	if taken(q); q.sleep() {
		t.Error("the writer of a closed queue sleeps")
	}
}

// Memory that is lent while nothing can be recorded is lent once: who reads into
// the next room does not see what was read into this.
func TestScratchRooms(t *testing.T) {
	q := bareQueue()
	q.failing = true
	for !q.missed {
		put2(q, tap.ToServer, make([]byte, 10_000))
	}
	first := q.room(tap.ToServer)
	copy(first, "first\n")
	q.record(tap.ToServer, 6)
	for range 20 {
		room := q.room(tap.ToServer)
		if len(room) < minRoom {
			t.Fatalf("a room of %d", len(room))
		}
		q.record(tap.ToServer, copy(room, bytes.Repeat([]byte("x"), 60_000)))
	}
	if !strings.HasPrefix(string(first), "first\n") {
		t.Errorf("overwritten with %.6q", first)
	}
}

// What was lost is entered before what comes after it, once.
func TestAccountComesFirst(t *testing.T) {
	for name, after := range map[string]func(q *queue){
		"a chunk":                func(q *queue) { put2(q, tap.ToClient, []byte("x")) },
		"an end":                 func(q *queue) { q.end(tap.ToClient) },
		"an event":               func(q *queue) { q.note(0, []byte("{}")) },
		"a piece":                func(q *queue) { q.piece(stream{1, tap.ToClient}, tap.FormBody, []byte("x"), true) },
		"the end of all":         func(q *queue) { q.settleLast(); q.settleLast() },
		"a chunk read before it": nil,
	} {
		q := bareQueue()
		var room []byte
		q.failing = true
		for !q.missed {
			put2(q, tap.ToServer, make([]byte, 10_000))
		}
		if after == nil {
			room = q.room(tap.ToClient)
		}
		es, _ := q.pull(nil, 1<<30)
		q.commit(es)
		if q.failing || !q.unsettled() {
			t.Errorf("%s: failing %v, unsettled %v", name, q.failing, q.unsettled())
		}
		if after == nil {
			copy(room, "late")
			q.record(tap.ToClient, 4)
		} else {
			after(q)
		}
		got := taken(q)
		kinds := ""
		for _, e := range got {
			kinds += string(rune('0' + e.Kind))
		}
		want := map[string]string{"a chunk": "30", "an end": "31", "an event": "32", "a piece": "34", "the end of all": "3", "a chunk read before it": "30"}[name]
		if kinds != want || q.unsettled() {
			t.Errorf("%s: entries %q, want %q", name, kinds, want)
		}
		head := make([]byte, queueHead)
		copy(head, encodeQueueHead(sampleHeader("0123abcd"), "boot", q.blockSize, len(q.state)))
		copy(head[headDraining:headHeader], q.mem[headDraining:headHeader])
		if h, err := decodeQueueHead(head, 1<<40); err != nil || h.lost != [tap.Lanes]lostLane{} || h.drained != q.next {
			t.Errorf("%s: %v: %+v", name, err, h)
		}
	}
}

// Of a lane only the first end is entered, and of a queue whose memory is gone
// nothing at all.
func TestEndsAndDeadQueues(t *testing.T) {
	q := bareQueue()
	q.end(tap.ToServer)
	q.end(tap.ToServer)
	if q.next != 1 {
		t.Errorf("%d entries", q.next)
	}
	room := q.room(tap.ToServer)
	q.giveUp()
	q.record(tap.ToServer, copy(room, "x"))
	q.end(tap.ToClient)
	q.note(0, []byte("{}"))
	q.note(1, []byte("{}"))
	q.piece(stream{1, tap.ToClient}, tap.FormBody, []byte("x"), true)
	if put2(q, tap.Stderr, []byte("x")); q.next != 1 || q.missed {
		t.Errorf("%d entries, missed %v", q.next, q.missed)
	}
	if q.commit(nil); !q.failing {
		t.Error("a commit brings the memory back")
	}
}

// A pull takes what its limit allows, the entries themselves counted, and says
// whether some are left.
func TestPull(t *testing.T) {
	q := bareQueue()
	for range 10 {
		put2(q, tap.ToServer, make([]byte, 100))
	}
	es, more := q.pull(nil, 3*(100+entryBytes))
	if len(es) != 3 || !more {
		t.Errorf("%d entries, more %v", len(es), more)
	}
	if es, more = q.pull(es, 1<<20); len(es) != 10 || more {
		t.Errorf("%d entries, more %v", len(es), more)
	}
}

// A queue is filling when its ring is half full or more than an eighth of its
// blocks are, but for what the lanes need.
func TestFilling(t *testing.T) {
	q := bareQueue()
	for i := range tap.Lanes {
		put2(q, i, []byte("x"))
	}
	if put2(q, tap.ToServer, make([]byte, q.blockSize-minRoom)); q.filling() {
		t.Error("a block a lane is no traffic")
	}
	q.next += ringEntries / 2
	if !q.filling() {
		t.Error("half a ring")
	}
	q.next = q.drained
	for range 3 {
		put2(q, tap.ToServer, make([]byte, q.blockSize-minRoom+1))
	}
	if !q.filling() {
		t.Errorf("%d blocks of %d", q.fresh, q.usable)
	}
}

// The queue's file gets the space of a block before the block is lent.
func TestQueueFileGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x"+Ext)
	q, err := openQueue(path, sampleHeader("0123abcd"), minQueueSize, time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer q.file.remove()
	for i := range len(q.state) {
		lane := []tap.Lane{tap.ToServer, tap.ToClient, tap.Stderr}[i%3]
		put2(q, lane, bytes.Repeat([]byte{byte(i + 1)}, q.blockSize-minRoom+1))
	}
	if q.fresh != len(q.state) || q.usable != q.fresh {
		t.Errorf("%d of %d blocks, %d usable", q.fresh, len(q.state), q.usable)
	}
	info, err := os.Stat(path + QueueExt)
	if err != nil || q.outlives && info.Size() != int64(len(q.mem)) {
		t.Errorf("%v, %d bytes, want %d", err, info.Size(), len(q.mem))
	}
}

// Where the file cannot grow, the traffic goes on in the blocks that there are.
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
	for range 2 * len(q.state) {
		put2(q, tap.ToServer, make([]byte, q.blockSize-minRoom+1))
	}
	if q.fresh != firstBlocks || q.usable != firstBlocks || !q.missed {
		t.Errorf("%d blocks, %d usable, lost: %v", q.fresh, q.usable, q.missed)
	}
}
