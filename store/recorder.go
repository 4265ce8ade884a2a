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

// defaultQueue is the number of bytes that may wait for the disk before the tap slows down
// the traffic.
const defaultQueue = 64 << 20

const (
	// pace is the interval between commits, as each commit takes CPU time from forwarding.
	pace = 40 * time.Millisecond
	// birth is the delay between the creation of the queue and of the file.
	birth = 30 * time.Millisecond
	// batchBytes is the maximum size of a commit.
	batchBytes = 4 << 20
	// closeLimit is how long Close waits for a slow disk or a file that
	// another program holds, and failLimit for one that fails. Frames that are not
	// committed by then remain in the queue, for the next reader.
	closeLimit = time.Second
	failLimit  = 50 * time.Millisecond
	// stuckLimit is how long Close waits for a commit that does not return, and
	// lossLimit if the rest is lost then, because the queue is plain memory.
	stuckLimit = 3 * time.Second
	lossLimit  = 30 * time.Second
)

// lockLimit is how long the traffic waits, with the queue full, for another program that
// holds the file.
var lockLimit = 4 * time.Second

// Options are the settings of a [Recorder].
type Options struct {
	// Queue is the maximum number of bytes that wait for the disk; 0 means
	// defaultQueue, and values below 1 MiB mean 1 MiB.
	Queue int64
	// Warn is called once, from any goroutine, with the reason if recording
	// fails. May be nil.
	Warn func(error)
}

// A Recorder writes one recording. As a [tap.Recorder] it never returns an error to
// the tap. A slow disk slows down the tap. If the disk fails, the Recorder lets
// the traffic pass, warns once, keeps trying, and records what is missing.
type Recorder struct {
	q       *queue
	db      dbfile
	asm     *assembler
	header  tap.Header
	opt     Options
	warning sync.Once
	left    atomic.Bool // the tap has replaced this recorder
	closing chan struct{}
	done    chan struct{}
	ended   time.Time  // when Close was called; set before closing is closed
	failure error      // why the writer gave up; used by the writer only
	events  sync.Mutex // held while an event is added
}

var _ tap.Recorder = (*Recorder)(nil)

// Create begins a recording in dir, which it creates if necessary. It sets the missing ID,
// Start and Label of h, starts the clock, and returns immediately: the file is created
// while the traffic flows.
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
	// Without its file the queue is plain memory: a killed tap then loses a few
	// milliseconds, which does not need a warning. If nothing can be written,
	// creating the recording fails next.
	r.q, _ = openQueue(r.db.path, h, opt.Queue, epoch, err)
	r.q.stalled = func() {
		r.warn(fmt.Errorf("%s: nothing could be written for %v", r.db.path, stallLimit))
	}
	go r.write()
	return r
}

// openQueue makes the mapped queue or, if that fails, one in plain memory. With a prior
// error, it does not try.
func openQueue(path string, h tap.Header, limit int64, epoch time.Time, prior error) (*queue, error) {
	size, count := queueGeometry(cmp.Or(limit, defaultQueue))
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

// NewID returns a new recording id: eight lower-case hex digits.
func NewID() string {
	var b [4]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// FileName returns the file name of a recording: its start in UTC, its label, reduced to
// letters, digits, dots and underscores, and its id.
func FileName(h tap.Header) string {
	return h.Start.UTC().Format(nameTime) + "-" + labelInName(h.Label) + "-" + h.ID + Ext
}

// labelInName returns a label as it appears in a file name.
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
	// A very long command or header is several entries. Two events must not mix.
	r.events.Lock()
	defer r.events.Unlock()
	r.q.piece(stream{exchange: exchange, lane: tap.Lifecycle}, tap.FormLine, e.Encode(), true)
}

// Close ends all lanes and streams, waits at most some seconds until everything is on disk,
// and finishes the recording. Frames that are not on disk by then remain in the
// queue, and the next reader appends them. No other method may be called after it.
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
		r.warn(fmt.Errorf("%s: the end of the recording could not be written; %s", r.db.path, where))
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

// The queue is mapped, so accessing it faults if its file was truncated
// by another program, if its disk fails, or if a file system
// lacks the space that it reserved. That ends the recording, not the
// tap. Traffic forwarded at that moment may be lost with the memory.
//
// A fault is a panic, which can be recovered, only on a goroutine that has called
// [debug.SetPanicOnFault]. A tap does so on each goroutine that records.

// catch recovers from a fault. It must be deferred by functions that access the memory of
// the queue.
func (r *Recorder) catch() {
	v := recover()
	if v == nil {
		return
	}
	r.q.giveUp()
	if _, fault := v.(interface{ Addr() uintptr }); fault {
		v = "it was truncated, or its disk is failing" // the message of the runtime does not help a user
	}
	r.warn(fmt.Errorf("%s can no longer be used: %v", r.db.path+QueueExt, v))
}

// giveUp stops all access to the memory of the queue. Further traffic is not even counted.
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
