package store

import (
	"path/filepath"
	"strings"

	"github.com/mcptap/mcptap/tap"
	bolt "go.etcd.io/bbolt"
)

// abandon finishes a recording whose store failed to the end, for instance on a
// full disk. What the queue holds is gone with the process where it is plain
// memory, so the recording gets an account of that, which needs no more space
// than the pages that earlier commits have given up. A mapped queue is left for
// whoever opens the recording next, who may have more luck.
func (r *Recorder) abandon() {
	if r.q.file != nil {
		if !r.left.Load() {
			r.q.markLeft()
		}
		r.q.file.leave()
		return
	}
	if r.db.made == nil {
		return
	}
	// If this fails too, the recording has no end and reads as cut off, which it is.
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

// reason is what a recording says of a failure, without the directory, which is
// nobody's business who is given the recording. Errors of bbolt name it in words.
func (r *Recorder) reason() string {
	if r.failure == nil {
		return "the recorder failed" // see catch
	}
	return strings.ReplaceAll(r.failure.Error(), r.db.path, filepath.Base(r.db.path))
}

// loseRest accounts for all that the store does not have. asm is where the store
// stopped: the frames of streams that have begun there are marked torn.
func (q *queue) loseRest(asm *assembler) (lost [tap.Lanes]lostLane, next uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	begun := make(map[stream]bool)
	for s, c := range asm.begun {
		if !s.line {
			c.Torn, begun[s] = true, true
		}
	}
	for next = q.drained; next < q.next; next++ {
		e := &q.ring[next%ringEntries]
		p := q.bytes(e)
		switch e.Kind {
		case entryData:
			lost[e.Lane].add(p)
		case entryNote:
			lost[tap.Lifecycle].Bytes += uint64(len(p))
			lost[tap.Lifecycle].Frames++
		case entryGap:
			for lane, l := range parseLost(p) {
				lost[lane].join(l)
			}
		case entryPiece, entryEvent:
			exchange, p := cutNumber(p)
			lost[tap.Lifecycle].Bytes += uint64(len(p))
			if s := (stream{exchange: exchange, lane: tap.Lane(e.Lane)}); e.Kind == entryPiece && (e.Flags&pieceEnd == 0 || begun[s]) {
				begun[s] = begun[s] && e.Flags&pieceEnd == 0
				break
			}
			lost[tap.Lifecycle].Frames++
		}
	}
	for lane := range lost {
		lost[lane].join(q.lost[lane])
	}
	for _, s := range q.cut { // their end is missing, and in the ring was all that there is of them
		if !begun[s] {
			lost[tap.Lifecycle].Frames++
		}
	}
	return lost, next
}
