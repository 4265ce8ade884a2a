package store

import (
	"errors"
	"io/fs"
	"time"

	"github.com/mcptap/mcptap/tap"
	bolt "go.etcd.io/bbolt"
)

// A job is one commit on its way from the encoder to the committer.
type job struct {
	entries []entry
	more    bool // entries were left behind
	out     batch
}

// encode is the first half of the writer: it turns what has piled up into
// batches, while the committer waits for the disk.
func (r *Recorder) encode() {
	jobs, free := make(chan *job), make(chan *job, 2)
	for range 2 {
		j := new(job)
		j.out.buf = make([]byte, 0, commitBytes+commitBytes/4)
		free <- j
	}
	go r.commits(jobs, free)
	defer close(jobs)
	var work, wait time.Duration // of the batch before
	var next uint64
	for {
		asked := time.Now()
		j := <-free
		if j == nil {
			return // the committer gave up
		}
		wait += time.Since(asked)
		if !r.await(j) {
			return
		}
		began := time.Now()
		// Compression is for a disk that is the bottleneck. While more piles up
		// and the committer was not waited for, the processor is.
		r.asm.plain = j.more && wait < work/4
		next += uint64(len(j.entries))
		r.asm.begin(&j.out)
		feed(r.asm, j.entries, r.q.bytes)
		r.asm.commit(next)
		done := time.Now()
		jobs <- j
		work, wait = done.Sub(began), time.Since(done)
		if !j.more {
			r.rest(pace - time.Since(began))
		}
	}
}

// await pulls the next entries, when there are any. It reports false when the
// recording is closed and none are left.
func (r *Recorder) await(j *job) bool {
	for {
		if j.entries, j.more = r.q.pull(j.entries, commitBytes); len(j.entries) > 0 {
			return true
		}
		if r.isClosing() && !r.q.settleLast() {
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
			a.note(at, bytes(e))
		case entryGap:
			a.gap(at, parseLost(bytes(e)))
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
	for j := range jobs {
		if !alive {
			continue // Close gave up: the queue keeps what is left
		}
		if alive = r.persist(func() error { return r.db.update(j.out.write) }); !alive {
			close(free)
			continue
		}
		r.q.commit(j.entries)
		free <- j
	}
	if alive {
		r.finish()
	}
}

// persist tries until try succeeds. A file that somebody else holds is waited
// for; any other error lets the traffic pass unrecorded once the queue is full.
// It reports false when Close gave up.
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
			if r.db.id != nil && errors.Is(err, fs.ErrNotExist) {
				r.q.file.remove() // the recording was removed on purpose
			}
			return false
		}
		if !busy || time.Since(began) > stallLimit {
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
	e := End{At: time.Since(r.q.epoch)}
	if r.persist(func() error { return r.db.update(func(tx *bolt.Tx) error { return writeEnd(tx, e) }) }) {
		r.db.trim()
		r.q.file.remove()
	}
}
