package store

import (
	"errors"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/mcptap/mcptap/tap"
)

// write commits the queue, batch by batch, until the recording is closed.
func (r *Recorder) write() {
	defer close(r.done)
	defer r.db.close()
	if r.writeAll() {
		r.q.file.remove()
	} else {
		r.abandon()
	}
}

// writeAll reports whether everything, including the end, is in the file.
func (r *Recorder) writeAll() (done bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer r.catch()
	// The first bytes are being forwarded. Creating the file now would delay them:
	// while a file system syncs, writing to a new page of the queue blocks.
	r.rest(birth)
	if !r.persist(func() error { return r.db.create(r.header) }) {
		return false
	}
	var entries []entry
	for more := true; ; {
		if entries, more = r.q.take(entries[:0], batchBytes); len(entries) == 0 {
			break
		}
		if !r.commit(entries, nil) {
			return false
		}
		r.q.release(entries)
		if !more {
			r.rest(pace)
		}
	}
	if r.q.gaveUp() || !r.commit(nil, &End{At: time.Since(r.q.epoch), Cut: r.left.Load()}) {
		return false
	}
	r.db.trim()
	return true
}

// commit writes a batch of entries, and finishes the recording if end is set. It reports
// false if Close gave up.
func (r *Recorder) commit(entries []entry, end *End) bool {
	before := r.asm.st
	b := r.batch(entries, end)
	return r.persist(func() error {
		// Without its file, a killed tap loses a few milliseconds, which is acceptable.
		_ = r.q.remake(r.header)
		err := r.db.update(b.write)
		if errors.Is(err, errRemoved) {
			r.warn(err)
			if err = r.recreate(before); err == nil {
				b = r.batch(entries, end)
				err = r.db.update(b.write)
			}
		}
		return err
	})
}

// batch assembles entries, and if end is set all incomplete frames.
func (r *Recorder) batch(entries []entry, end *End) *batch {
	r.asm.begin()
	feed(r.asm, entries, r.q.bytes)
	if end != nil {
		r.asm.endAll()
	}
	b := r.asm.commit(r.asm.st.Ticket + uint64(len(entries)))
	b.end = end
	return b
}

// recreate recreates a removed file, without the frames up to a state.
func (r *Recorder) recreate(st state) error {
	_ = r.db.closeDB()
	if err := r.db.create(r.header); err != nil {
		return err
	}
	r.asm = newAssembler()
	r.asm.after(st)
	return nil
}

// feed passes entries to an assembler. bytes returns the chunk of an entry.
func feed(a *assembler, entries []entry, bytes func(*entry) []byte) {
	for i := range entries {
		e := &entries[i]
		at := time.Duration(e.At)
		switch e.Kind {
		case entryData:
			a.chunk(tap.Lane(e.Lane), e.Flags, at, bytes(e))
		case entryEnd:
			a.endLane(tap.Lane(e.Lane))
		case entryNote:
			a.note(0, at, bytes(e))
		case entryGap:
			a.gap(at, parseLost(bytes(e)), "")
		case entryPiece:
			exchange, p := cutNumber(bytes(e))
			a.piece(stream{exchange: exchange, lane: tap.Lane(e.Lane)}, tap.Form(e.Form), e.Flags, at, p)
		case entryEvent:
			exchange, p := cutNumber(bytes(e))
			a.note(exchange, at, p)
		}
	}
}

// persist calls try until it succeeds. It waits up to lockLimit for a file that another
// program holds. After any other error the traffic passes unrecorded once the queue is
// full. It reports false if Close gave up.
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
			return false
		}
		if !busy || time.Since(began) > lockLimit {
			r.q.fail()
			r.warn(err)
			wait = min(max(2*wait, 20*time.Millisecond), 500*time.Millisecond)
		}
		if !r.isClosing() {
			r.rest(wait)
		} else { // must not sleep past the deadline
			time.Sleep(min(wait, 5*time.Millisecond))
		}
	}
}

// rest sleeps, except while closing or while the traffic waits.
func (r *Recorder) rest(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.closing:
	case <-r.q.wake:
	}
}

// abandon finishes a recording whose store still fails at the end, for instance on a
// full disk. The content of a queue in plain memory is lost with the process,
// so the recording gets a record of the loss, which needs no more space
// than the pages that earlier commits freed. A mapped queue is left for
// the next reader of the recording.
func (r *Recorder) abandon() {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer r.catch()
	if r.q.file != nil {
		defer r.q.file.leave()
		if !r.left.Load() {
			r.q.markLeft()
		}
		return
	}
	if r.db.made == nil {
		return
	}
	// If this fails too, the recording has no end and is read as cut.
	_ = r.db.update(func(tx *bolt.Tx) error {
		asm, _, err := resume(tx.DB().Path())
		if err != nil {
			return err
		}
		asm.begin()
		lost, next := r.q.loseRest(asm)
		at := asm.seg.last
		if lost != [tap.Lanes]lostLane{} {
			asm.gap(at, lost, r.reason())
		}
		asm.endAll()
		b := asm.commit(next)
		b.end = &End{At: at, Cut: true}
		return b.write(tx)
	})
}

// reason returns the cause of the failure, without the directory, which is private. Errors
// of bbolt contain it.
func (r *Recorder) reason() string {
	if r.failure == nil {
		return "the recorder failed" // see catch
	}
	return strings.ReplaceAll(r.failure.Error(), r.db.path, filepath.Base(r.db.path))
}

// loseRest accounts for everything that is not in the store. asm is the state of the store.
func (q *queue) loseRest(asm *assembler) (lost [tap.Lanes]lostLane, next uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	after := q.loss
	q.loss, q.open = loss{}, make(map[stream]bool)
	for s := range asm.begun {
		if !s.line {
			q.open[s] = true
		}
	}
	for next = q.drained; next < q.next; next++ {
		e := &q.ring[next%ringEntries]
		p := q.bytes(e)
		switch e.Kind {
		case entryData:
			q.lost[e.Lane].add(p)
		case entryGap:
			for lane, l := range parseLost(p) {
				q.lost[lane].join(l)
			}
		case entryPiece:
			exchange, p := cutNumber(p)
			q.losePiece(stream{exchange: exchange, lane: tap.Lane(e.Lane)}, p, e.Flags&pieceEnd != 0)
		}
	}
	for _, s := range after.cut {
		q.losePiece(s, nil, true)
	}
	for lane := range q.lost {
		q.lost[lane].join(after.lost[lane])
	}
	return q.lost, next
}
