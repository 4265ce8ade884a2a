package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap"
)

const (
	// pageBytes is the approximate number of bytes that a reader copies from the file in one step.
	pageBytes = 4 << 20
	// DefaultMaxRaw is the size above which only the beginning of a frame is loaded.
	DefaultMaxRaw = 64 << 20
	// headRaw is the size of that beginning.
	headRaw = 64 << 10
	// followPause is the poll interval of a follower.
	followPause = 25 * time.Millisecond
)

// A Recording reads one recording: finished, live, or salvaged by [OpenSalvage]. It
// keeps no file open between calls, and never delays the tap that writes it. Its
// methods may be called concurrently, except SetMaxRaw.
type Recording struct {
	path   string
	src    source
	maxRaw int64
	lossy  bool  // parts of frames may be missing
	left   error // the error that prevented the queue of a dead tap from being appended
}

// A source provides the segments of a recording.
type source interface {
	// info describes the recording.
	info() (Info, error)
	// now returns a number that changes when there are more frames, and whether the recording
	// has ended.
	now(ctx context.Context) (state uint64, over bool, err error)
	// read appends the segments with the frames, or parts, from..end-1 to b, as many as
	// the budget allows, beginning with the one that has number from or precedes it.
	read(b *batchOf, bucket []byte, from, end uint64, budget int) error
}

// A fileSource is the name of the file of a recording.
type fileSource string

func (s fileSource) info() (Info, error) { return readInfo(string(s)) }

func (s fileSource) now(ctx context.Context) (txid uint64, over bool, err error) {
	// Before reading, so that nothing written before the end is missed.
	if over = !IsLive(string(s)); over {
		_ = drainIfDead(ctx, string(s)) // on failure, the committed frames are all
	}
	// Reading the last commit costs about as much as stat, whose times are too
	// coarse to distinguish commits.
	err = viewFile(string(s), func(p *pages) error {
		txid = p.txid
		return nil
	})
	return txid, over, err
}

func (s fileSource) read(b *batchOf, bucket []byte, from, end uint64, budget int) error {
	return viewFile(string(s), func(p *pages) (err error) {
		b.reset()
		if b.sum, err = p.summary(keyState, keyEnd); err != nil {
			return err
		}
		return p.segments(b, bucket, from, end, budget)
	})
}

// Open opens the recording at path and checks that this program can read it. It first
// appends the queue of a killed tap; if that is impossible, as on a read-only file system,
// the recording opens without it.
func Open(path string) (*Recording, error) {
	drainErr := drainIfDead(context.Background(), path)
	err := awaitVersion(path)
	if errors.Is(err, fs.ErrNotExist) && drainErr != nil {
		return nil, drainErr // there is only a queue, which cannot be read
	}
	if err != nil {
		return nil, err
	}
	return &Recording{path: path, src: fileSource(path), maxRaw: DefaultMaxRaw, left: drainErr}, nil
}

const (
	// drainLimit is the maximum time to wait for another program that appends
	// the queue of a killed tap.
	drainLimit = 10 * time.Second
	drainPause = 2 * time.Millisecond
)

// sleepDrain waits for another program. It can be replaced by tests.
var sleepDrain = func(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(drainPause):
	}
}

// drainIfDead appends the queue of a killed tap, if there is one. If another program is
// doing that, the recording seems live, as the queue is locked, but is incomplete.
// drainIfDead then waits until it is complete or ctx is done.
func drainIfDead(ctx context.Context, path string) error {
	for began := time.Now(); ; sleepDrain(ctx) {
		if _, err := os.Lstat(path + QueueExt); err != nil || ctx.Err() != nil {
			return nil
		}
		if !IsLive(path) {
			if err := drainDead(path); !errors.Is(err, ErrLive) {
				return err
			}
		}
		if !beingDrained(path) || time.Since(began) > drainLimit {
			return nil
		}
	}
}

// beginLimit is the maximum time to wait for the file of a live recording, which is created
// shortly after its queue.
const beginLimit = 2 * time.Second

// awaitVersion is like readVersion but waits for a file that is being created.
func awaitVersion(path string) error {
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		alive := IsLive(path) // before reading
		err := readVersion(path)
		young := errors.Is(err, ErrNotRecording) || errors.Is(err, fs.ErrNotExist)
		if !young || time.Since(began) > beginLimit || !alive {
			return err
		}
	}
}

// Path returns the recording's file.
func (r *Recording) Path() string { return r.path }

// SetMaxRaw sets the size in bytes above which a frame is returned with only
// the beginning of its Raw. The default is [DefaultMaxRaw].
func (r *Recording) SetMaxRaw(n int64) { r.maxRaw = n }

// Info describes the recording as it is now.
func (r *Recording) Info() (Info, error) {
	i, err := r.src.info()
	return i.lacking(r.left), err
}

// Frames yields the committed frames with a number above after, in order. An
// error ends the sequence. The file is not open while the consumer
// works, and memory is bounded: about 4 MiB, or one segment, or the
// yielded frame.
//
// A consumer may keep a frame, but a small one retains the segment that it was stored
// in, about 1 MiB. To keep a few of many, clone Raw.
func (r *Recording) Frames(after uint64) iter.Seq2[tap.Frame, error] {
	return func(yield func(tap.Frame, error) bool) {
		w := walk{r: r, next: after + 1, budget: pageBytes}
		w.all(yield)
	}
}

// Follow is like [Recording.Frames] but continues with frames as they are committed, until
// the recording has ended or ctx is done, which is not an error.
func (r *Recording) Follow(ctx context.Context, after uint64) iter.Seq2[tap.Frame, error] {
	return func(yield func(tap.Frame, error) bool) {
		w := walk{r: r, next: after + 1, budget: pageBytes}
		tick := time.NewTicker(followPause)
		defer tick.Stop()
		wanted := func(f tap.Frame, err error) bool { return ctx.Err() == nil && yield(f, err) }
		var seen uint64
		for ctx.Err() == nil {
			now, over, err := r.src.now(ctx)
			if err != nil {
				yield(tap.Frame{}, err)
				return
			}
			if now != seen || over {
				if !w.all(wanted) {
					return
				}
				seen = now
			}
			if over || w.b.sum.end != nil {
				return
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}
}

// A walk is an iteration over a recording.
type walk struct {
	r      *Recording
	next   uint64 // the number of the next frame
	budget int    // approximate number of bytes to read in one step
	b      batchOf
}

// all yields the committed frames. It reports whether the consumer continues.
func (w *walk) all(yield func(tap.Frame, error) bool) bool {
	// The segment before the next frame may end before it, after a gap or
	// while a recording grows. Then the one after it is needed.
	w.b.least = 1
	for {
		err := w.r.src.read(&w.b, bucketFrames, w.next, ^uint64(0), w.budget)
		more, from := true, w.next
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

// segment yields the frames of a segment, beginning with next.
func (w *walk) segment(i int, yield func(tap.Frame, error) bool) (more bool, err error) {
	d, err := decodeTable(w.b.segs[i].data, w.b.segs[i].key)
	for err == nil && d.left > 0 {
		var rec record
		if rec, err = d.record(); err != nil || rec.Seq < w.next {
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
	if err != nil {
		return false, damaged(w.r.path, err)
	}
	return true, nil
}

// skip sets next to to, if everything between is in gaps.
func (w *walk) skip(to uint64) error {
	if missing, ok := unexplained(w.next, to, w.b.sum.state.Gaps); ok {
		return damaged(w.r.path, fmt.Errorf("%w: frames %d to %d are missing", errPage, missing.From, missing.To))
	}
	w.next = max(w.next, to)
	return nil
}

// unexplained returns the first frame numbers of from..to-1 that are not in a gap. Gaps
// must ascend, as state.sound checks.
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

// Frame returns one frame.
func (r *Recording) Frame(seq uint64) (tap.Frame, error) {
	rec, err := r.record(seq)
	if err != nil {
		return tap.Frame{}, err
	}
	return r.assemble(&rec)
}

// record returns the record of one frame.
func (r *Recording) record(seq uint64) (rec record, err error) {
	var b batchOf
	if err = r.src.read(&b, bucketFrames, seq, ^uint64(0), 1); err != nil {
		return rec, err
	}
	switch next := b.sum.state.NextSeq; {
	case next <= 1:
		return rec, fmt.Errorf("%w %d: the recording has none yet", ErrNoFrame, seq)
	case seq == 0 || seq >= next:
		return rec, fmt.Errorf("%w %d: the recording has 1 to %d", ErrNoFrame, seq, next-1)
	}
	for _, g := range b.sum.state.Gaps {
		if g.From <= seq && seq <= g.To {
			return rec, fmt.Errorf("%w %d: frames %d to %d crossed unrecorded", ErrNoFrame, seq, g.From, g.To)
		}
	}
	if len(b.segs) > 0 {
		d, err := decodeTable(b.segs[0].data, b.segs[0].key)
		for err == nil && d.left > 0 {
			if rec, err = d.record(); err == nil && rec.Seq == seq {
				return rec, nil
			}
		}
		if err != nil {
			return rec, damaged(r.path, err)
		}
	}
	return rec, damaged(r.path, fmt.Errorf("%w: frame %d is missing", errPage, seq))
}

// WriteRaw writes all bytes of a frame of this recording, of any size, in bounded memory.
func (r *Recording) WriteRaw(w io.Writer, f tap.Frame) error {
	if f.Whole() {
		_, err := w.Write(f.Raw)
		return err
	}
	rec, err := r.record(f.Seq)
	if err != nil {
		return err
	}
	_, err = r.eachPart(rec.parts, func(body []byte) error {
		_, err := w.Write(body)
		return err
	})
	if err != nil {
		return err
	}
	_, err = w.Write(rec.Raw)
	return err
}

// assemble returns the frame of a record, with its parts.
func (r *Recording) assemble(rec *record) (tap.Frame, error) {
	f := rec.Frame
	if rec.parts.Count == 0 {
		return f, nil
	}
	limit := f.Size
	if f.Size > r.maxRaw {
		limit = headRaw
	}
	// The size is not trusted before the bytes are read.
	raw := make([]byte, 0, min(limit, pageBytes))
	have, err := r.eachPart(rec.parts, func(body []byte) error {
		raw = append(raw, body[:min(int64(len(body)), limit-int64(len(raw)))]...)
		if int64(len(raw)) == limit && limit < f.Size && !r.lossy { // otherwise the remaining parts are counted
			return errStop
		}
		return nil
	})
	if err != nil && err != errStop {
		return tap.Frame{}, fmt.Errorf("frame %d: %w", f.Seq, err)
	}
	if r.lossy {
		f.Truncated = f.Truncated || have != rec.parts.Bytes
		f.Size = int64(have) + int64(len(rec.Raw))
	}
	f.Raw = append(raw, rec.Raw[:min(int64(len(rec.Raw)), limit-int64(len(raw)))]...)
	return f, nil
}

// eachPart calls each with the parts of a frame, in order, and returns their size in bytes.
// A missing part is an error, unless the recording is lossy. No file is open during the
// calls. each must not retain the bytes.
func (r *Recording) eachPart(ref partRef, each func(body []byte) error) (have uint64, err error) {
	for next, end := ref.First, ref.First+ref.Count; next < end; {
		var got batchOf
		if err := r.src.read(&got, bucketParts, next, end, pageBytes); err != nil {
			return have, err
		}
		if len(got.segs) == 0 {
			break
		}
		for i := range got.segs {
			h, body, err := decodeSegment(got.segs[i].data)
			if err == nil && (h.kind != kindPart || h.first != got.segs[i].key || h.first != next && !r.lossy) {
				err = fmt.Errorf("%w: part %#x is missing", errPage, next)
			}
			if err != nil && !r.lossy {
				return have, damaged(r.path, err)
			}
			if next = got.segs[i].key + 1; err != nil {
				continue
			}
			if uint64(len(body)) > ref.Bytes-have {
				next = end
				break
			}
			have += uint64(len(body))
			if err := each(body); err != nil {
				return have, err
			}
		}
	}
	if have != ref.Bytes && !r.lossy {
		return have, damaged(r.path, fmt.Errorf("%w: %d bytes in parts where %d were expected", errPage, have, ref.Bytes))
	}
	return have, nil
}
