package store

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// followPause is how often a follower looks whether there is more.
const followPause = 25 * time.Millisecond

// Frames yields the frames with a number above after, in order, as far as they
// are committed now. An error ends it. The file is not open while the consumer
// works, and what is in memory is bounded: about 4 MiB, or one segment, or the
// one frame that is yielded.
//
// A consumer may keep a frame, but a small one keeps alive what was stored
// with it, up to half a MiB: who keeps a few of many should clone Raw.
func (r *Recording) Frames(after uint64) iter.Seq2[tap.Frame, error] {
	return func(yield func(tap.Frame, error) bool) {
		w := walk{r: r, next: after + 1, budget: pageBytes}
		w.all(yield)
	}
}

// A walk is a reader on its way through a recording.
type walk struct {
	r      *Recording
	next   uint64 // the number of the next frame
	budget int    // about how many bytes it takes at once
	b      batchOf
}

// all yields what there is now. It reports whether the consumer wants more.
func (w *walk) all(yield func(tap.Frame, error) bool) bool {
	// The segment that would hold the next frame may end before it: after a
	// gap, or while a recording grows. Then the next one is wanted.
	w.b.least = 1
	for {
		err := viewFile(w.r.path, func(s *snap) error {
			w.b.reset()
			return s.frameSegments(&w.b, w.next, w.budget)
		})
		more := true
		from := w.next
		for i := 0; i < len(w.b.segs) && err == nil && more; i++ {
			more, err = w.segment(i, yield)
		}
		if err == nil && more && w.b.last {
			err = w.skip(w.b.sum.state.NextSeq)
		}
		if err == nil && more && !w.b.last && w.next == from {
			err = damaged(w.r.path, fmt.Errorf("%w: frame %d is missing", errPage, from))
		}
		if err != nil {
			yield(tap.Frame{}, err)
			return false
		}
		if !more || w.b.last {
			return more
		}
	}
}

// segment yields the frames of one segment, from next on.
func (w *walk) segment(i int, yield func(tap.Frame, error) bool) (more bool, err error) {
	d, err := w.r.table(&w.b, i)
	if err != nil {
		return false, damaged(w.r.path, err)
	}
	for d.left > 0 {
		rec, err := d.record()
		if err != nil {
			return false, damaged(w.r.path, err)
		}
		if rec.Seq < w.next {
			continue
		}
		if err := w.skip(rec.Seq); err != nil {
			return false, err
		}
		f, err := w.r.assemble(&rec)
		if err != nil {
			return false, err
		}
		w.next = rec.Seq + 1
		if !yield(f, nil) {
			return false, nil
		}
	}
	return true, nil
}

// skip makes next be to, if all between is known to have crossed unrecorded.
func (w *walk) skip(to uint64) error {
	if missing, ok := unexplained(w.next, to, w.b.sum.state.Gaps); ok {
		return damaged(w.r.path, fmt.Errorf("%w: frames %d to %d are missing", errPage, missing.From, missing.To))
	}
	w.next = max(w.next, to)
	return nil
}

// unexplained returns the first frame numbers of from..to-1 that no gap covers.
// Gaps ascend: see State.sound. There can be as many as frames.
func unexplained(from, to uint64, gaps []tap.Range) (tap.Range, bool) {
	i, _ := slices.BinarySearchFunc(gaps, from, func(g tap.Range, n uint64) int { return cmp.Compare(g.To, n) })
	for ; i < len(gaps) && from < to && gaps[i].From <= from; i++ {
		from = gaps[i].To + 1
	}
	if from >= to {
		return tap.Range{}, false
	}
	if i < len(gaps) {
		to = min(to, gaps[i].From)
	}
	return tap.Range{From: from, To: to - 1}, true
}

// A table walks the records of a segment of frames.
type table struct {
	tableDecoder
	left int
}

// record returns the next record. left must not be 0.
func (t *table) record() (record, error) {
	rec, ok := t.next()
	if !ok {
		return rec, fmt.Errorf("%w: its table does not fit its body", errSegment)
	}
	t.left--
	return rec, nil
}

// table decodes segment i of a batch. Its frames share no memory with the batch.
func (r *Recording) table(b *batchOf, i int) (table, error) {
	h, data, err := decodeSegment(b.stored(i))
	if err != nil {
		return table{}, err
	}
	if h.compression == compressNone {
		data = append([]byte(nil), data...) // it shares the batch's memory
	}
	return newTable(h, data, b.segs[i].key)
}

func newTable(h segmentHead, data []byte, key uint64) (table, error) {
	if h.kind != kindFrames || h.first != key || h.count == 0 || h.first+uint64(h.count) < h.first {
		return table{}, fmt.Errorf("%w: it is not the one that its key %d promises", errSegment, key)
	}
	split := len(data) - h.table
	return table{
		tableDecoder: tableDecoder{body: data[:split:split], table: data[split:], seq: h.first, at: h.base},
		left:         h.count,
	}, nil
}

// Follow yields like [Recording.Frames] and then goes on as more is committed,
// until the recording has ended, or ctx has. The end of ctx is no error.
func (r *Recording) Follow(ctx context.Context, after uint64) iter.Seq2[tap.Frame, error] {
	return func(yield func(tap.Frame, error) bool) {
		w := walk{r: r, next: after + 1, budget: pageBytes}
		tick := time.NewTicker(followPause)
		defer tick.Stop()
		wanted := func(f tap.Frame, err error) bool { return ctx.Err() == nil && yield(f, err) }
		var seen uint64
		for ctx.Err() == nil {
			// Asked before reading: what a tap wrote before it went is then read.
			dead := !queueAlive(r.path)
			if dead {
				_ = drainIfDead(ctx, r.path) // where that fails, what is there is all
			}
			now, err := txid(r.path)
			if err != nil {
				yield(tap.Frame{}, err)
				return
			}
			if now != seen || dead {
				if !w.all(wanted) {
					return
				}
				seen = now
			}
			if dead || w.b.sum.end != nil {
				return
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}
}

// txid returns the number of the file's last commit. Asking costs about as much
// as stat, whose times are too coarse to tell two commits from one.
func txid(path string) (id uint64, err error) {
	err = viewFile(path, func(s *snap) error {
		id = s.p.txid
		return nil
	})
	return id, err
}
