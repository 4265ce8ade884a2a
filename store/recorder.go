package store

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// DefaultQueue is how many bytes may wait for the disk before the tap slows the
// traffic down.
const DefaultQueue = 64 << 20

const (
	// pace is how long what crosses piles up before it is committed: each commit
	// takes the processor from what is being forwarded.
	pace = 40 * time.Millisecond
	// birth is how long after its queue a recording's file is made.
	birth = 30 * time.Millisecond
	// batchBytes is how much one commit takes at most.
	batchBytes = 4 << 20
	// closeLimit is how long Close waits for a disk that is slow or a file that
	// another program holds, and failLimit for one that fails. What is not
	// committed by then is left in the queue, for the next reader.
	closeLimit = time.Second
	failLimit  = 50 * time.Millisecond
	// stuckLimit is how long Close waits for a commit that does not come back, and
	// lossLimit where what is left is lost then, since the queue is plain memory.
	stuckLimit = 3 * time.Second
	lossLimit  = 30 * time.Second
)

// lockLimit is how long the traffic waits, with the queue full, for another program
// that holds the file.
var lockLimit = 4 * time.Second

// Options are the settings of a [Recorder].
type Options struct {
	// Queue is the cap, in bytes, on what waits for the disk; 0 means
	// DefaultQueue, and less than 1 MiB means that.
	Queue int64
	// Warn is called once, from any goroutine, with the reason when nothing can be
	// recorded. May be nil.
	Warn func(error)
}

// A Recorder writes one recording. It is a [tap.Recorder], so it never fails towards
// the tap. While the disk is slow it slows the tap down; when the disk fails it lets
// the traffic pass, warns once, keeps trying, and marks what is missing.
type Recorder struct {
	q       *queue
	db      dbfile
	asm     *assembler
	header  tap.Header
	opt     Options
	warning sync.Once
	left    atomic.Bool // the tap has put another recorder in our place
	closing chan struct{}
	done    chan struct{}
	ended   time.Time  // when Close was called; set before closing is closed
	failure error      // why the writer gave up; its own
	long    sync.Mutex // held over an event that is entered in pieces
}

var _ tap.Recorder = (*Recorder)(nil)

// Create begins a recording in dir, which it makes if need be. It fills in what
// h lacks of ID, Start and Label, starts the clock, and returns at once: the
// file itself is made while the traffic already flows.
func Create(dir string, h tap.Header, opt Options) *Recorder {
	epoch := time.Now()
	if h.Start.IsZero() {
		h.Start = epoch.UTC()
	}
	if h.ID == "" {
		h.ID = NewID()
	}
	r := &Recorder{
		header: h, opt: opt, asm: newAssembler(),
		db:      dbfile{path: filepath.Join(dir, FileName(h)), keep: true},
		closing: make(chan struct{}), done: make(chan struct{}),
	}
	err := os.MkdirAll(dir, 0o700)
	// Without its file the queue is plain memory: a killed tap then loses some
	// milliseconds, which is not worth a warning. If nothing at all can be written,
	// making the recording fails next.
	r.q, _ = openQueue(r.db.path, h, opt.Queue, epoch, err)
	r.q.stalled = func() {
		r.warn(fmt.Errorf("%s: nothing could be written for %v", r.db.path, stallLimit))
	}
	go r.write()
	return r
}

// openQueue makes the mapped queue or, where that fails, one in plain memory.
// prior is an error that makes trying pointless.
func openQueue(path string, h tap.Header, limit int64, epoch time.Time, prior error) (*queue, error) {
	if limit == 0 {
		limit = DefaultQueue
	}
	size, count := queueGeometry(limit)
	var f *queueFile
	var mem []byte
	if prior == nil {
		f, mem, prior = createQueueFile(path+QueueExt, h, size, count)
	}
	mapped := mem != nil
	if !mapped {
		mem = make([]byte, queueBytes(size, count))
	}
	q := newQueue(mem, size, count, f, epoch)
	q.outlives = mapped
	return q, prior
}

// NewID returns a new recording's id: eight lower-case hex digits.
func NewID() string {
	var b [4]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// FileName is the name of the file of a recording: its start in UTC, its label,
// of which only letters, digits, dot and underscore are kept, and its id.
func FileName(h tap.Header) string {
	return h.Start.UTC().Format(nameTime) + "-" + labelInName(h.Label) + "-" + h.ID + Ext
}

// labelInName returns a label as it stands in the name of a file.
func labelInName(label string) string {
	label = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_':
			return r
		}
		return '-'
	}, label)
	if label = strings.Trim(label, "-."); len(label) > 64 {
		label = label[:64]
	}
	return cmp.Or(label, "session")
}

// Path returns the recording's file.
func (r *Recorder) Path() string { return r.db.path }

// Header returns the recording's header.
func (r *Recorder) Header() tap.Header { return r.header }

// Chunk implements [tap.Recorder].
func (r *Recorder) Chunk(lane tap.Lane, p []byte) {
	defer r.catch()
	r.q.chunk(lane, p)
}

// Piece implements [tap.Recorder].
func (r *Recorder) Piece(exchange uint64, lane tap.Lane, form tap.Form, p []byte, end bool) {
	defer r.catch()
	if len(p) > 0 || end {
		r.q.piece(stream{exchange: exchange, lane: lane}, form, p, end)
	}
}

// Event implements [tap.Recorder].
func (r *Recorder) Event(exchange uint64, e tap.Event) {
	defer r.catch()
	if e.Name == tap.EventGap {
		r.left.Store(true)
	}
	payload := e.Encode()
	if len(payload) <= maxEvent {
		r.q.event(exchange, payload)
		return
	}
	// An argv or a header of many pages. Two at once must not mix.
	r.long.Lock()
	defer r.long.Unlock()
	r.q.piece(stream{exchange: exchange, lane: tap.Lifecycle}, tap.FormLine, payload, true)
}

// Close ends all lanes and streams, waits until everything is on disk, for some seconds
// at the most, and finishes the recording. What is not on disk by then is left in the
// queue, and the next reader of the recording appends it. No other method may be called after it.
func (r *Recorder) Close() {
	r.ended = time.Now()
	close(r.closing)
	r.q.close()
	limit := stuckLimit
	if !r.q.outlives {
		limit = lossLimit
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-r.done:
	case <-t.C:
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer r.catch()
		if !r.left.Load() {
			r.q.markLeft()
		}
		where := "it is lost"
		if r.q.outlives {
			where = "it is in " + filepath.Base(r.db.path) + QueueExt
		}
		r.warn(fmt.Errorf("%s: the disk has not taken the last of it; %s", r.db.path, where))
	}
}

func (r *Recorder) warn(err error) {
	r.warning.Do(func() {
		if r.opt.Warn != nil {
			r.opt.Warn(err)
		}
	})
}

func (r *Recorder) isClosing() bool {
	select {
	case <-r.closing:
		return true
	default:
		return false
	}
}

// The queue is mapped, so touching it is a fault where its file was cut short
// by another program, where the disk behind it fails, or where a file system
// has promised room that it does not have. That ends the recording and not the
// tap. What is forwarded while it happens may be lost with the memory.
//
// A fault is a panic, which can be recovered, only on a goroutine that has called
// [debug.SetPanicOnFault]: a tap does so on each that records.

// catch is deferred around what touches the queue's memory.
func (r *Recorder) catch() {
	v := recover()
	if v == nil {
		return
	}
	r.q.giveUp()
	if _, fault := v.(interface{ Addr() uintptr }); fault {
		v = "it was cut short, or its disk fails" // the runtime's message does not help a user
	}
	r.warn(fmt.Errorf("%s cannot be used any more: %v", r.db.path+QueueExt, v))
}

// giveUp makes the queue leave its memory alone. What crosses from here on is not
// even counted.
func (q *queue) giveUp() {
	q.mu.Lock()
	q.dead, q.failing = true, true
	q.space.Broadcast()
	q.wakeWriter()
	q.mu.Unlock()
}

// gaveUp reports whether giveUp was called.
func (q *queue) gaveUp() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dead
}
