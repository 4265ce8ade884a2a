package store

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/mcptap/mcptap/tap"
)

// The queue between the pumps and the writer: blocks that the pumps read into,
// and a ring of entries that says which bytes crossed, when, in which order.
// Both lie in one piece of memory, which is a mapped file where the system can,
// so that they outlive the process.
const (
	queueMagic   = "mtapque1"
	queueHead    = 64 << 10 // the header's room: geometry, boot, tap.Header
	entryBytes   = 32
	ringEntries  = 1 << 16
	maxBlock     = 1 << 20
	minBlocks    = 8
	firstBlocks  = int(tap.Lanes) // that a new queue's file has room for
	minRoom      = 64 << 10       // the least that room lends
	maxRoom      = 256 << 10      // the most: larger reads would delay forwarding
	ringReserve  = 64             // entries kept free for chunks already lent
	minQueueSize = minBlocks * 2 * minRoom
	// writerBytes is what the writer holds of the queue's content besides: two
	// batches, and the pages that bbolt makes of them until they are collected.
	writerBytes = 16 << 20
)

// Kinds of entry.
const (
	entryData  uint8 = iota // bytes of a lane
	entryEnd                // the lane is over
	entryNote               // a whole life frame
	entryGap                // a lost account, JSON: bytes crossed unrecorded
	entryPiece              // bytes of a frame of a stream, behind the number of its exchange
	entryEvent              // a whole life frame, behind the number of its exchange
	entryKinds
)

// Flags of an entryPiece.
const (
	pieceEnd  uint8 = 1 << iota // it is the frame's last
	pieceTorn                   // bytes of the frame are missing before it
)

// An entry is one chunk. The fields are written first and Mark last, so an
// entry is there exactly when Mark equals its ticket plus one.
type entry struct {
	Mark uint64
	At   int64  // nanoseconds since the start
	Pos  uint64 // offset in the blocks
	N    uint32
	tag
}

// A tag says what the bytes of an entry are. Form and Flags are of an entryPiece.
type tag struct{ Lane, Kind, Form, Flags uint8 }

var _ [entryBytes - unsafe.Sizeof(entry{})]struct{} // the layout is a file format

// A block is what the queue knows of one block of its memory.
type block struct {
	open bool // some lane still reads into it
	used int  // bytes recorded in it
	done int  // of those, bytes that the store has
}

// A laneRoom is the memory lent to one lane.
type laneRoom struct {
	block   int    // -1: none
	off     int    // where the next byte goes
	scratch []byte // lent instead of a block when nothing can be recorded
	lost    bool   // scratch is what is lent now
	ended   bool
}

// lostLane counts what crossed unrecorded on one lane.
type lostLane struct {
	Bytes  uint64 `json:"bytes,omitempty"`
	Frames uint64 `json:"frames,omitempty"` // terminators among them
	Mid    bool   `json:"mid,omitempty"`    // the last byte was no terminator
}

type queue struct {
	mem       []byte
	ring      []entry
	blocks    []byte
	blockSize int
	file      *queueFile // nil: plain memory
	outlives  bool       // mem is there after the process was killed
	epoch     time.Time

	mu       sync.Mutex
	space    sync.Cond // a block or entries became free, or failing began
	next     uint64    // the next ticket
	taken    uint64    // tickets below are with the writer
	drained  uint64    // tickets below are in the store
	state    []block
	free     []int // LIFO, so that a quiet tap keeps touching the same pages
	fresh    int   // blocks from here on were never used
	usable   int   // blocks from here on cannot be had (disk full)
	lanes    [tap.Lanes]laneRoom
	lost     [tap.Lanes]lostLane
	missed   bool // something is in lost or torn
	failing  bool // the store fails: lend scratch rather than wait
	dead     bool // mem must not be touched any more: see giveUp
	closed   bool
	progress time.Time // when the store last took something, or the queue was empty
	sleeping bool      // the writer waits for wake
	wake     chan struct{}

	open     map[stream]struct{}   // those with a frame in the ring that has not ended
	torn     map[stream]lostStream // those of which something was lost since the last account
	tornKept int                   // how many of them the header names

	stalled func() // called once without the lock when the store has not moved for stallLimit
}

// stallLimit is how long a store may take nothing, with the queue full, before
// the traffic goes on without it.
var stallLimit = 30 * time.Second

// lockLimit is how long the traffic waits, with the queue full, for another program
// that holds the file.
var lockLimit = 4 * time.Second

// queueGeometry returns the block size and count for a cap in bytes, which is
// for the ring and the writer's batches as well but where it is very small.
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

// newQueue lays a queue over mem, which is all zero. file may be nil.
func newQueue(mem []byte, blockSize, blocks int, file *queueFile, epoch time.Time) *queue {
	q := &queue{
		mem: mem, blockSize: blockSize, file: file, epoch: epoch,
		ring:   unsafe.Slice((*entry)(unsafe.Pointer(&mem[queueHead])), ringEntries),
		blocks: mem[queueHead+ringEntries*entryBytes:],
		state:  make([]block, blocks), usable: blocks, progress: epoch,
		open: make(map[stream]struct{}), torn: make(map[stream]lostStream),
		wake: make(chan struct{}, 1),
	}
	q.space.L = &q.mu
	for i := range q.lanes {
		q.lanes[i].block = -1
	}
	return q
}

// room lends memory for the next read of a lane: see tap.Recorder.
func (q *queue) room(lane tap.Lane) []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := &q.lanes[lane]
	for {
		if !q.dead && q.next-q.drained < ringEntries-ringReserve && q.place(l) {
			l.lost = false
			at := l.block*q.blockSize + l.off
			return q.blocks[at : at+min(q.blockSize-l.off, maxRoom)]
		}
		if q.failing || q.closed {
			if l.scratch == nil {
				l.scratch = make([]byte, maxRoom)
			}
			l.lost = true
			return l.scratch
		}
		q.waitSpace()
	}
}

// place makes sure that the lane has a block with room, if one can be had.
func (q *queue) place(l *laneRoom) bool {
	if l.block >= 0 {
		b := &q.state[l.block]
		if b.done == b.used { // all of it is in the store: begin it anew
			b.used, b.done, l.off = 0, 0, 0
		}
		if q.blockSize-l.off >= minRoom {
			return true
		}
		b.open = false // and commit frees it: the store lacks some of it
		l.block = -1
	}
	i, ok := q.take()
	if !ok {
		return false
	}
	q.state[i] = block{open: true}
	l.block, l.off = i, 0
	return true
}

// take finds a free block: one used before, else the next fresh one.
func (q *queue) take() (int, bool) {
	if n := len(q.free); n > 0 {
		i := q.free[n-1]
		q.free = q.free[:n-1]
		return i, true
	}
	if q.fresh >= q.usable {
		return 0, false
	}
	i := q.fresh
	if q.file != nil && i >= firstBlocks {
		// Touching a page of a sparse mapping on a full disk would be fatal, so
		// the file gets its space first.
		if err := q.file.allocate(q.blockOffset(i), int64(q.blockSize)); err != nil {
			q.usable = q.fresh
			return 0, false
		}
		// All of it is about to be written, so its pages may as well come at once.
		at := i * q.blockSize
		populate(q.blocks[at : at+q.blockSize])
	}
	q.fresh++
	return i, true
}

func (q *queue) blockOffset(i int) int64 {
	return int64(queueHead + ringEntries*entryBytes + i*q.blockSize)
}

// waitSpace waits for space.Broadcast, and notices a store that does not move.
func (q *queue) waitSpace() {
	if time.Since(q.progress) > stallLimit {
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

// record enters the next n bytes of the lane's room: see tap.Recorder.
func (q *queue) record(lane tap.Lane, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := &q.lanes[lane]
	if q.dead {
		return
	}
	if l.lost {
		p := l.scratch[:n]
		if l.scratch = l.scratch[n:]; len(l.scratch) < minRoom {
			l.scratch = nil // the next room is whole again
		}
		q.salvage(lane, p)
		return
	}
	for q.next-q.drained >= ringEntries-ringReserve/2 && !q.failing {
		q.waitSpace()
	}
	if q.next-q.drained >= ringEntries-ringReserve/2 || !q.settle() {
		at := l.block*q.blockSize + l.off
		q.lose(lane, q.blocks[at:at+n])
		return
	}
	q.enter(tag{Lane: uint8(lane), Kind: entryData}, l.block, l.off, n)
	l.off += n
}

// salvage copies a chunk that was read into scratch memory into the queue,
// where that is possible by now.
func (q *queue) salvage(lane tap.Lane, p []byte) {
	l := &q.lanes[lane]
	for len(p) > 0 && q.next-q.drained < ringEntries-ringReserve && q.place(l) && q.settle() {
		n := copy(q.blocks[l.block*q.blockSize+l.off:(l.block+1)*q.blockSize], p)
		q.enter(tag{Lane: uint8(lane), Kind: entryData}, l.block, l.off, n)
		l.off += n
		p = p[n:]
	}
	q.lose(lane, p)
}

// enter writes one entry. The bytes lie at off in block i.
func (q *queue) enter(t tag, i, off, n int) {
	if q.next == q.drained {
		q.progress = time.Now()
	}
	e := &q.ring[q.next%ringEntries]
	e.At, e.Pos, e.N, e.tag = int64(time.Since(q.epoch)), uint64(i*q.blockSize+off), uint32(n), t
	q.next++
	atomic.StoreUint64(&e.Mark, q.next)
	q.state[i].used += n
	if q.sleeping {
		q.wakeWriter()
	}
}

// wakeWriter makes sure that the writer looks at the queue soon.
func (q *queue) wakeWriter() {
	q.sleeping = false
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
