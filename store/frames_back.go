package store

import (
	"bytes"
	"errors"
	"fmt"
	"iter"

	"github.com/mcptap/mcptap/tap"
)

// Backward yields the frames with a number below before, the newest first; 0
// stands for all that are committed now. It is what [Recording.Frames] is
// otherwise.
func (r *Recording) Backward(before uint64) iter.Seq2[tap.Frame, error] {
	return func(yield func(tap.Frame, error) bool) {
		w := backwalk{r: r, before: before}
		for w.batch(yield) {
		}
	}
}

// A backwalk is a reader on its way from the end of a recording.
type backwalk struct {
	r      *Recording
	before uint64
	b      batchOf
}

// batch yields a batch and reports whether there is another.
func (w *backwalk) batch(yield func(tap.Frame, error) bool) bool {
	limit := w.before
	err := viewFile(w.r.path, func(s *snap) error {
		w.b.reset()
		if limit == 0 {
			return s.segmentsBefore(&w.b, ^uint64(0), pageBytes, w.r.up)
		}
		return s.segmentsBefore(&w.b, limit, pageBytes, w.r.up)
	})
	if next := w.b.sum.state.NextSeq; limit == 0 || limit > next {
		w.before = next
	}
	from, more := w.before, true
	for i := 0; i < len(w.b.segs) && err == nil && more; i++ {
		more, err = w.segment(i, yield)
	}
	if err == nil && more {
		if w.b.last {
			err = w.skip(1)
		} else if w.before == from {
			err = damaged(w.r.path, fmt.Errorf("%w: frame %d is missing", errPage, from-1))
		}
	}
	if err != nil {
		yield(tap.Frame{}, err)
		return false
	}
	return more && !w.b.last
}

// backStride is after how many records a mark is made, from which the records
// can be decoded again: a segment is then read backward without all its records
// in memory, of which a hostile one has millions.
const backStride = 512

// segment yields the frames of one segment below before, last first.
func (w *backwalk) segment(i int, yield func(tap.Frame, error) bool) (more bool, err error) {
	d, err := w.r.table(&w.b, i)
	if err != nil {
		return false, damaged(w.r.path, err)
	}
	marks := []table{d}
	for d.left > 0 {
		rec, err := d.record()
		if err != nil {
			return false, damaged(w.r.path, err)
		}
		if rec.Seq-w.b.segs[i].key == uint64(len(marks))*backStride-1 && d.left > 0 {
			marks = append(marks, d)
		}
	}
	var recs [backStride]record
	for m := len(marks) - 1; m >= 0; m-- {
		n := min(marks[m].left, backStride)
		for k := range n {
			if recs[k], err = marks[m].record(); err != nil {
				return false, damaged(w.r.path, err)
			}
		}
		for k := n - 1; k >= 0; k-- {
			if more, err := w.one(&recs[k], yield); err != nil || !more {
				return false, err
			}
		}
	}
	return true, nil
}

// one yields one frame, if it is below before.
func (w *backwalk) one(rec *record, yield func(tap.Frame, error) bool) (more bool, err error) {
	if rec.Seq >= w.before {
		return true, nil
	}
	if err := w.skip(rec.Seq + 1); err != nil {
		return false, err
	}
	f, err := w.r.assemble(rec)
	if err != nil {
		return false, err
	}
	w.before = rec.Seq
	return yield(f, nil), nil
}

// skip makes before be to, if all between is known to have crossed unrecorded.
func (w *backwalk) skip(to uint64) error {
	if missing, ok := unexplained(to, w.before, w.b.sum.state.Gaps); ok {
		return damaged(w.r.path, fmt.Errorf("%w: frames %d to %d are missing", errPage, missing.From, missing.To))
	}
	w.before = min(w.before, to)
	return nil
}

// A cached is the segment that Frame decoded last: a person who looks at one
// frame looks at its neighbours next.
type cached struct {
	head  []byte // its header, with its checksum; nil: nothing is cached
	table table
}

// record returns the record of one frame.
func (r *Recording) record(seq uint64) (rec record, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := batchOf{known: r.last.head}
	err = viewFile(r.path, func(s *snap) error {
		b.reset()
		return s.frameSegments(&b, seq, 1, r.up)
	})
	if err != nil {
		return rec, err
	}
	next, gaps := b.sum.state.NextSeq, b.sum.state.Gaps
	if seq == 0 || seq >= next {
		return rec, noFrame(seq, next)
	}
	for _, g := range gaps {
		if g.From <= seq && seq <= g.To {
			return rec, fmt.Errorf("%w %d: frames %d to %d crossed unrecorded", ErrNoFrame, seq, g.From, g.To)
		}
	}
	if len(b.segs) > 0 && b.segs[0].key <= seq {
		if rec, err = r.find(&b, seq); err == nil || !errors.Is(err, ErrNoFrame) {
			return rec, err
		}
	}
	return rec, damaged(r.path, fmt.Errorf("%w: frame %d is missing", errPage, seq))
}

func noFrame(seq, next uint64) error {
	if next <= 1 {
		return fmt.Errorf("%w %d: the recording has none yet", ErrNoFrame, seq)
	}
	return fmt.Errorf("%w %d: the recording has 1 to %d", ErrNoFrame, seq, next-1)
}

// find looks for a frame in the first segment of a batch.
func (r *Recording) find(b *batchOf, seq uint64) (record, error) {
	if !b.hit {
		d, err := r.table(b, 0)
		if err != nil {
			return record{}, damaged(r.path, err)
		}
		r.last = cached{head: bytes.Clone(b.stored(0)[:segmentHeader]), table: d}
	}
	for d := r.last.table; d.left > 0; {
		rec, err := d.record()
		if err != nil {
			return rec, damaged(r.path, err)
		}
		if rec.Seq == seq {
			return rec, nil
		}
	}
	return record{}, ErrNoFrame
}
