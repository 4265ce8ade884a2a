package store

import (
	"bytes"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/mcptap/mcptap/tap"
)

// The queue between the tap and the writer: blocks with the bytes that
// crossed, and a ring of entries with their times, in order. Both are in
// one piece of memory, which is a mapped file if the system supports it, so that
// they outlive the process.
const (
	queueMagic   = "mtapque1"
	queueHead    = 64 << 10 // size of the header: geometry, boot, tap.Header
	entryBytes   = 32
	ringEntries  = 1 << 16
	maxBlock     = 1 << 20
	minBlocks    = 8
	firstBlocks  = 4 // allocated when the queue's file is made
	minQueueSize = 1 << 20
	// writerBytes is the additional memory of the writer: two batches, and the pages that
	// bbolt makes from them.
	writerBytes = 16 << 20
	// streamBytes is the size of the exchange number before the bytes of a piece,
	// little-endian.
	streamBytes = 8
	// minRoom is the maximum length of a chunk in a single entry: a block with less room is
	// left for the next one.
	minRoom = 64 << 10
)

// Kinds of entry.
const (
	entryData  uint8 = iota // bytes of a lane
	entryEnd                // end of a lane
	entryNote               // event of the run, of older taps
	entryGap                // unrecorded bytes, [tap.Lanes]lostLane in JSON
	entryPiece              // exchange number, then bytes of a frame of a stream
	entryEvent              // exchange number, then an event, of older taps
	entryKinds
)

// Flags of an entryPiece, and pieceMore of an entryData too.
const (
	pieceEnd       uint8 = 1 << iota // it is the last of the frame
	pieceTruncated                   // bytes of the frame are missing before it
	pieceMore                        // the frame began before it
)

// An entry is one chunk. Mark is written last, so an entry is complete if and only if Mark
// equals its ticket plus one.
type entry struct {
	Mark uint64
	At   int64  // nanoseconds since the start
	Pos  uint64 // offset in the blocks
	N    uint32
	tag
}

// A tag describes the bytes of an entry. Form is of an entryPiece.
type tag struct{ Lane, Kind, Form, Flags uint8 }

var _ [entryBytes - unsafe.Sizeof(entry{})]struct{} // the layout is a file format

// A stream is one lane of an exchange or, if line is set, of stdio.
type stream struct {
	exchange uint64
	lane     tap.Lane
	line     bool
}

// A queue fills one block after the other, for all lanes and streams.
type queue struct {
	mem, blocks []byte
	ring        []entry
	blockSize   int
	file        *queueFile // nil for plain memory
	outlives    bool       // mem outlives the process
	epoch       time.Time
	stalled     func() // called once, without the lock, when the store has made no progress for stallLimit

	mu      sync.Mutex
	space   sync.Cond // a block or entries became free, or failing began
	wake    chan struct{}
	next    uint64 // the next ticket
	taken   uint64 // tickets below were taken by the writer
	drained uint64 // tickets below are in the store
	cur     int    // current block, or -1
	off     int    // offset in it
	used    []int  // number of bytes of each block that are not in the store
	free    []int  // LIFO, so that a quiet tap keeps touching the same pages
	fresh   int    // blocks from this index on were never used
	usable  int    // blocks from this index on cannot be allocated, as the disk is full
	failing bool   // the store fails: drop bytes instead of waiting
	dead    bool   // mem must not be accessed, see giveUp
	closed  bool
	moved   time.Time // when the store last made progress, or the queue was empty
	waiting bool      // the writer waits for wake

	mid [tap.Lanes]bool // whether the lane of stdio is in the middle of a line
	// open has the streams that are in the middle of a frame, and whether the ring has its
	// beginning.
	open map[stream]bool
	loss
}

// A loss counts unrecorded bytes that are not yet in the ring.
type loss struct {
	missed bool // the loss is not empty
	lost   [tap.Lanes]lostLane
	cut    []stream // streams of ended frames whose beginning is in the ring
}

// A lostLane counts the unrecorded bytes of a lane. Those of streams are
// counted on lane lifecycle.
type lostLane struct {
	Bytes  uint64 `json:"bytes,omitempty"`
	Frames uint64 `json:"frames,omitempty"` // terminators among them
}

// stallLimit is the time without progress of the store, with the queue full, after which
// the traffic continues unrecorded.
var stallLimit = 30 * time.Second

// queueGeometry returns the block size and count for a limit in bytes, which includes the
// ring and the batches of the writer unless it is very small.
func queueGeometry(limit int64) (blockSize, blocks int) {
	limit = max(limit, minQueueSize)
	blockSize = maxBlock
	for int64(blockSize)*minBlocks > limit {
		blockSize /= 2
	}
	if blockSize == maxBlock {
		limit -= min(writerBytes, limit/4)
	}
	blocks = int((limit - queueHead - ringEntries*entryBytes) / int64(blockSize))
	return blockSize, max(blocks, minBlocks)
}

func queueBytes(blockSize, blocks int) int {
	return queueHead + ringEntries*entryBytes + blockSize*blocks
}

// newQueue makes a queue in mem, which must be zero. file may be nil.
func newQueue(mem []byte, blockSize, blocks int, file *queueFile, epoch time.Time) *queue {
	q := &queue{
		blockSize: blockSize, file: file, epoch: epoch,
		cur: -1, used: make([]int, blocks), usable: blocks, moved: epoch,
		open: make(map[stream]bool), wake: make(chan struct{}, 1),
	}
	q.lay(mem)
	q.space.L = &q.mu
	return q
}

func (q *queue) lay(mem []byte) {
	q.mem, q.blocks = mem, mem[queueHead+ringEntries*entryBytes:]
	q.ring = unsafe.Slice((*entry)(unsafe.Pointer(&mem[queueHead])), ringEntries)
}

// chunk adds bytes of a lane of stdio, or its end if there are none.
func (q *queue) chunk(lane tap.Lane, p []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := tag{Lane: uint8(lane), Kind: entryData}
	if len(p) == 0 {
		if t.Kind = entryEnd; q.ready(1) {
			q.put(t, nil, nil)
		}
		return
	}
	for len(p) > 0 {
		n := len(p)
		if q.ready(min(n, minRoom)) {
			if t.Flags = 0; q.mid[lane] {
				t.Flags = pieceMore
			}
			n = min(n, q.blockSize-q.off)
			q.put(t, nil, p[:n])
		} else {
			q.lost[lane].add(p)
			q.lose()
		}
		q.mid[lane] = p[n-1] != '\n'
		p = p[n:]
	}
}

// piece adds bytes of a frame of a stream. end reports that they are its last.
func (q *queue) piece(s stream, form tap.Form, p []byte, end bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if !q.ready(min(streamBytes+len(p), minRoom)) {
			q.losePiece(s, p, end)
			return
		}
		t := tag{Lane: uint8(s.lane), Kind: entryPiece, Form: uint8(form)}
		if _, open := q.open[s]; open {
			t.Flags = pieceMore
		}
		n := min(len(p), q.blockSize-q.off-streamBytes)
		over := n == len(p)
		if over && end {
			t.Flags |= pieceEnd
			delete(q.open, s)
		} else {
			q.open[s] = true
		}
		q.put(t, numbered(s.exchange), p[:n])
		if p = p[n:]; over {
			return
		}
	}
}

// numbered returns the prefix of a piece.
func numbered(exchange uint64) []byte { return binary.LittleEndian.AppendUint64(nil, exchange) }

// cutNumber is the inverse of numbered.
func cutNumber(b []byte) (exchange uint64, payload []byte) {
	return binary.LittleEndian.Uint64(b), b[streamBytes:]
}

// put copies an entry to the current block, which must have room for it: see ready.
func (q *queue) put(t tag, prefix, p []byte) {
	if q.next == q.drained {
		q.moved = time.Now()
	}
	to := q.blocks[q.cur*q.blockSize+q.off : (q.cur+1)*q.blockSize]
	n := copy(to, prefix)
	n += copy(to[n:], p)
	e := &q.ring[q.next%ringEntries]
	e.At, e.Pos, e.N, e.tag = int64(time.Since(q.epoch)), uint64(q.cur*q.blockSize+q.off), uint32(n), t
	q.off += n
	q.used[q.cur] += n
	q.next++
	atomic.StoreUint64(&e.Mark, q.next)
	if q.waiting {
		q.wakeWriter()
	}
}

// wakeWriter wakes the writer.
func (q *queue) wakeWriter() {
	q.waiting = false
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// ready waits for room for one entry of n bytes, and adds the loss before it. It reports
// false if there is no room. After a loss it requires room for a long entry, so that there
// is not a gap for every other chunk.
func (q *queue) ready(n int) bool {
	for q.missed && q.room(minRoom) {
		q.settle()
	}
	return !q.missed && q.room(n) && (!q.missed || q.ready(n))
}

// room waits for n bytes in the current block and an entry in the ring.
func (q *queue) room(n int) bool {
	for !q.dead {
		if q.next-q.drained < ringEntries && q.block(n) {
			return true
		}
		if q.failing || q.closed {
			return false
		}
		q.waitSpace()
	}
	return false
}

// block ensures that the current block has n bytes left, if possible.
func (q *queue) block(n int) bool {
	if q.cur >= 0 && q.blockSize-q.off >= n {
		return true
	}
	if k := len(q.free); k > 0 {
		q.cur, q.off, q.free = q.free[k-1], 0, q.free[:k-1]
		return true
	}
	if q.fresh >= q.usable {
		return false
	}
	if i := q.fresh; q.file != nil && i >= firstBlocks {
		// Writing to a page of a sparse mapping on a full disk would be fatal, so
		// the file gets its space first.
		if err := q.file.allocate(int64(queueBytes(q.blockSize, i)), int64(q.blockSize)); err != nil {
			q.usable = q.fresh
			return false
		}
	}
	q.cur, q.off = q.fresh, 0
	q.fresh++
	return true
}

// waitSpace waits for space.Broadcast and detects a store without progress.
func (q *queue) waitSpace() {
	if time.Since(q.moved) > stallLimit {
		q.failing = true
		if f := q.stalled; f != nil {
			q.mu.Unlock()
			f()
			q.mu.Lock()
		}
		return
	}
	q.wakeWriter()
	timer := time.AfterFunc(stallLimit/16, q.space.Broadcast)
	q.space.Wait()
	timer.Stop()
}

// losePiece accounts for dropped bytes of a frame. A frame without bytes in the ring keeps
// its number.
func (q *queue) losePiece(s stream, p []byte, end bool) {
	l := &q.lost[tap.Lifecycle]
	l.Bytes += uint64(len(p))
	switch begun, open := q.open[s]; {
	case !end:
		q.open[s] = open && begun
	case begun:
		q.cut = append(q.cut, s)
		delete(q.open, s)
	default:
		l.Frames++
		delete(q.open, s)
	}
	q.lose()
}

// lose marks the loss as not empty.
func (q *queue) lose() {
	if q.missed = true; !q.dead {
		q.keepLost()
	}
}

// settle adds one entry of the loss, for which there is room: the end of a frame whose
// beginning is in the ring, or finally the counts.
func (q *queue) settle() {
	if n := len(q.cut); n > 0 {
		s := q.cut[n-1]
		t := tag{Lane: uint8(s.lane), Kind: entryPiece, Flags: pieceEnd}
		if q.lost != [tap.Lanes]lostLane{} {
			t.Flags |= pieceTruncated
		}
		q.put(t, numbered(s.exchange), nil)
		q.cut = q.cut[:n-1]
		return
	}
	if q.lost != [tap.Lanes]lostLane{} {
		q.put(tag{Kind: entryGap}, nil, mustJSON(q.lost))
	}
	q.loss = loss{}
	q.keepLost()
}

// keepLost writes the loss to the header of the queue, so that it outlives the process.
func (q *queue) keepLost() {
	for lane := range q.lost {
		l, b := &q.lost[lane], q.mem[headLost+lane*lostBytes:]
		binary.LittleEndian.PutUint64(b, l.Bytes)
		binary.LittleEndian.PutUint64(b[8:], l.Frames)
	}
}

// add counts bytes of a lane of stdio.
func (l *lostLane) add(p []byte) {
	l.join(lostLane{uint64(len(p)), uint64(bytes.Count(p, []byte{'\n'}))})
}

// join adds other counts.
func (l *lostLane) join(other lostLane) {
	l.Bytes, l.Frames = l.Bytes+other.Bytes, l.Frames+other.Frames
}

// take waits for entries and appends them to entries until their bytes reach limit. more
// reports that some were left. It returns none when the queue is closed and empty, or dead.
func (q *queue) take(entries []entry, limit int) (_ []entry, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.taken == q.next && !q.closed && !q.dead {
		q.waiting = true
		q.mu.Unlock()
		<-q.wake
		q.mu.Lock()
	}
	if q.missed && q.taken == q.next {
		q.ready(0) // the store has everything else, so there is room
	}
	for ; q.taken < q.next && limit > 0 && !q.dead; q.taken++ {
		e := q.ring[q.taken%ringEntries]
		entries = append(entries, e)
		limit -= int(e.N) + entryBytes
	}
	return entries, q.taken != q.next
}

// bytes returns the chunk of an entry.
func (q *queue) bytes(e *entry) []byte { return q.blocks[e.Pos : e.Pos+uint64(e.N)] }

// release frees the memory of entries that are in the store.
func (q *queue) release(entries []entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range entries {
		b, n := int(entries[i].Pos)/q.blockSize, int(entries[i].N)
		if q.used[b] -= n; q.used[b] > 0 || n == 0 {
			continue
		}
		if b == q.cur {
			q.off = 0 // reuse it from the start
		} else {
			q.free = append(q.free, b)
		}
	}
	q.drained += uint64(len(entries))
	binary.LittleEndian.PutUint64(q.mem[headDrained:], q.drained)
	q.moved = time.Now()
	q.failing = q.dead
	q.space.Broadcast()
}

// fail makes the queue drop bytes instead of waiting, until the next release.
func (q *queue) fail() {
	q.mu.Lock()
	q.failing = true
	q.space.Broadcast()
	q.mu.Unlock()
}

// close ends the queue. Nothing may be added afterwards.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.wakeWriter()
	q.space.Broadcast()
	q.mu.Unlock()
}

// markLeft records in the header that the tap has seen all of its traffic. If that fails, the
// recording is read as cut.
func (q *queue) markLeft() {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.file == nil:
	case q.outlives && !q.dead:
		q.mem[headLeft] = 1
	default:
		_, _ = q.file.f.WriteAt([]byte{1}, headLeft)
	}
}

// remake recreates the removed file of the queue with everything that is not in the
// recording yet.
func (q *queue) remake(h tap.Header) error {
	if q.file == nil || !unlinked(q.file.f) {
		return nil
	}
	f, mem, err := createQueueFile(q.file.path, h, q.blockSize, len(q.used))
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if mem != nil {
		if err := f.allocate(0, int64(queueBytes(q.blockSize, max(q.fresh, firstBlocks)))); err != nil {
			f.remove()
			f.drop(mem)
			return err
		}
		copy(mem[headDrained:headBoot], q.mem[headDrained:])
		copy(mem[headLost:headHeader], q.mem[headLost:])
		copy(mem[queueHead:queueBytes(q.blockSize, 0)], q.mem[queueHead:])
		for i, n := range q.used {
			if at := queueBytes(q.blockSize, i); n > 0 {
				copy(mem[at:at+q.blockSize], q.mem[at:])
			}
		}
		old := q.mem
		q.lay(mem)
		q.file.drop(old)
	}
	q.file = f
	return nil
}
