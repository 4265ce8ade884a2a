package store

import (
	"errors"
	"io/fs"
	"runtime"
	"time"

	"github.com/mcptap/mcptap/tap"
	bolt "go.etcd.io/bbolt"
)

// A job is one commit on its way from the encoder to the committer.
type job struct {
	entries []entry
	bytes   int  // of theirs that are in out
	more    bool // entries were left behind
	pressed bool // and were before it was encoded, so that its cost counts
	plain   bool // it is not compressed
	out     batch
	took    time.Duration // to encode or, once it is free again, to commit: the longer, as both go on at once
}

// busyBatch is how many bytes a batch has while the traffic is heavy. The writer
// then runs at a low priority: what piles up can wait in the queue, but on a
// busy machine each burst of the writer's delays what is being forwarded.
const busyBatch = 64 << 10

// calm is how many smaller batches must follow until the writer takes its time
// from the others again.
const calm = 16

// processors is how many this process may use; a test says otherwise.
var processors = runtime.NumCPU()

// run calls step until it returns false, on a thread of low priority while the
// traffic is heavy. A thread cannot raise its priority again, so each change is
// to a new one.
func (r *Recorder) run(step func() bool) {
	for over := false; !over; {
		low := r.busy.Load()
		done := make(chan bool)
		go func() {
			if low {
				runtime.LockOSThread() // and so it ends with this goroutine
				lowerPriority()
			}
			for step() {
				if r.busy.Load() != low {
					done <- false
					return
				}
			}
			done <- true
		}()
		over = <-done
	}
}

// An encoder is the first half of the writer: it turns what has piled up into
// batches, while the committer waits for the disk.
type encoder struct {
	r          *Recorder
	jobs, free chan *job
	spare      *job   // what step had no use for at the end; nil: the committer gave up
	next       uint64 // the ticket after the last batch
	thrift     thrift
	quiet      int // how many small batches came in a row
}

func (r *Recorder) encode() {
	e := &encoder{r: r, jobs: make(chan *job), free: make(chan *job, 2), quiet: calm}
	for range 2 {
		j := new(job)
		j.out.buf = make([]byte, 0, commitBytes+commitBytes/4)
		e.free <- j
	}
	go r.commits(e.jobs, e.free)
	r.run(r.surviving(e.step))
	r.survive(e.last)
	close(e.jobs)
}

// step makes one batch. It reports false at the end.
func (e *encoder) step() bool {
	r := e.r
	j := <-e.free
	if j == nil {
		return false // the committer gave up
	}
	if j.pressed {
		e.thrift.took(j.plain, j.took, j.bytes+len(j.entries)*entryBytes)
	}
	if !r.await(j) {
		e.spare = j
		return false
	}
	began := time.Now()
	j.pressed = j.more
	j.plain = j.pressed && e.thrift.plain()
	r.asm.plain = j.plain
	e.begin(j)
	// What compresses well leaves room for more, so that a busy tap waits for the
	// disk less often.
	for j.more && r.asm.filled() < commitBytes/2 && j.bytes < maxCommit {
		e.pull(j)
	}
	r.asm.commit(e.next)
	e.pressure(j)
	more, calm := j.more, j.bytes < busyBatch
	j.took = time.Since(began)
	e.jobs <- j
	if !more {
		wait := pace
		if calm && r.q.outlives {
			wait = calmPace
		}
		r.rest(wait - time.Since(began))
	}
	return true
}

// begin begins a batch with the entries that a job has.
func (e *encoder) begin(j *job) {
	j.bytes = 0
	e.r.asm.begin(&j.out)
	e.take(j, j.entries)
}

// pull takes the next entries to a batch.
func (e *encoder) pull(j *job) {
	had := len(j.entries)
	j.entries, j.more = e.r.q.pull(j.entries, commitBytes)
	e.take(j, j.entries[had:])
}

// take feeds the assembler.
func (e *encoder) take(j *job, entries []entry) {
	e.next += uint64(len(entries))
	for i := range entries {
		j.bytes += int(entries[i].N)
	}
	feed(e.r.asm, entries, e.r.q.bytes)
}

// last makes the batches that only the end makes: what was lost and is not
// accounted for, and the frames that have begun and will not end.
func (e *encoder) last() {
	q := e.r.q
	if e.spare == nil || !q.unsettled() && !e.r.asm.midFrame() {
		return
	}
	other := <-e.free // the committer has all that it was given, so the queue has room
	if other == nil {
		return
	}
	q.settleLast()
	jobs := []*job{e.spare, other}
	for more := true; more; {
		if len(jobs) == 0 {
			jobs = append(jobs, <-e.free)
		}
		j := jobs[0]
		if jobs = jobs[1:]; j == nil {
			return
		}
		j.entries, more = q.pull(j.entries[:0], commitBytes)
		if e.begin(j); !more {
			e.r.asm.endAll()
		}
		e.r.asm.commit(e.next)
		e.jobs <- j
	}
}

// pressure finds out whether the traffic is heavy. When the queue is filling up
// it is the traffic that will wait for the writer, so that it must not give way;
// but on a single processor every turn of the writer's is one less for the traffic.
func (e *encoder) pressure(j *job) {
	if j.bytes >= busyBatch {
		e.quiet = 0
	} else if e.quiet < calm {
		e.quiet++
	}
	e.r.busy.Store(e.quiet < calm && !e.r.isClosing() && (processors == 1 || !e.r.q.filling()))
}

// await pulls the next entries, when there are any. It reports false when the
// recording is closed and none are left.
func (r *Recorder) await(j *job) bool {
	for {
		if j.entries, j.more = r.q.pull(j.entries[:0], commitBytes); len(j.entries) > 0 {
			return true
		}
		if r.isClosing() {
			return false
		}
		if r.q.sleep() {
			<-r.q.wake
		}
		r.rest(pace)
	}
}

// feed gives entries to an assembler. bytes returns the chunk of one.
func feed(a *assembler, entries []entry, bytes func(*entry) []byte) {
	for i := range entries {
		e := &entries[i]
		at := time.Duration(e.At)
		switch e.Kind {
		case entryData:
			a.chunk(tap.Lane(e.Lane), at, bytes(e))
		case entryEnd:
			a.end(tap.Lane(e.Lane))
		case entryNote:
			a.note(0, at, bytes(e))
		case entryGap:
			a.gap(at, parseLost(bytes(e)), "")
		case entryPiece:
			exchange, p := numbered(bytes(e))
			a.piece(stream{exchange, tap.Lane(e.Lane)}, tap.Form(e.Form), e.Flags, at, p)
		case entryEvent:
			exchange, p := numbered(bytes(e))
			a.note(exchange, at, p)
		}
	}
}

// commits is the second half of the writer: it makes the file, and commits one
// batch after the other, however often it must try.
func (r *Recorder) commits(jobs <-chan *job, free chan<- *job) {
	defer close(r.done)
	// The first bytes are on their way. Making the file now would delay them:
	// while a file system syncs, it lets nobody touch a new page of the queue.
	r.rest(birth)
	alive := r.persist(func() error { return r.db.create(r.header) })
	if !alive {
		close(free)
	}
	r.run(r.surviving(func() bool {
		j, more := <-jobs
		began := time.Now()
		switch {
		case !more:
			return false
		case !alive: // Close gave up: the queue keeps what is left
		case !r.persist(func() error { return r.db.update(j.out.write) }):
			alive = false
			close(free)
		default:
			j.took = max(j.took, time.Since(began))
			r.q.commit(j.entries)
			free <- j
		}
		return true
	}))
	if alive && !r.q.gaveUp() {
		r.finish()
	} else {
		r.abandon()
	}
}

// persist tries until try succeeds. A file that somebody else holds is waited
// for, up to lockLimit; any other error lets the traffic pass unrecorded once the queue
// is full. It reports false when Close gave up.
func (r *Recorder) persist(try func() error) bool {
	wait, began := time.Millisecond, time.Now()
	for {
		err := try()
		if err == nil {
			return true
		}
		busy := errors.Is(err, errBusy)
		limit := failLimit
		if busy {
			limit = closeLimit
		}
		if r.isClosing() && time.Since(r.ended) > limit {
			r.warn(err)
			r.failure = err
			if r.db.id != nil && errors.Is(err, fs.ErrNotExist) {
				r.q.file.remove() // the recording was removed on purpose
			}
			return false
		}
		if !busy || time.Since(began) > lockLimit {
			r.q.fail()
			r.warn(err)
			wait = min(max(2*wait, 20*time.Millisecond), 500*time.Millisecond)
		}
		if !r.rest(wait) { // closing: do not sleep through the deadline
			time.Sleep(min(wait, 5*time.Millisecond))
		}
	}
}

// finish marks the recording as ended and removes the queue.
func (r *Recorder) finish() {
	e := End{At: time.Since(r.q.epoch), Cut: r.left.Load()}
	if r.persist(func() error { return r.db.update(func(tx *bolt.Tx) error { return writeEnd(tx, e) }) }) {
		r.db.trim()
		r.q.file.remove()
	}
}
