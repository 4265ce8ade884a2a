package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/mcptap/mcptap/tap"
)

const (
	// pageBytes is about how much a reader takes out of the file at once.
	pageBytes = 4 << 20
	// DefaultMaxRaw is the size above which a frame is not loaded whole.
	DefaultMaxRaw = 64 << 20
	// headRaw is how much of such a frame is loaded.
	headRaw = 64 << 10
)

// A Recording reads one recording, finished or live. It holds nothing open
// between calls, and never delays the tap that writes it. Its methods may be
// called from several goroutines at once, but for SetMaxRaw.
type Recording struct {
	path   string
	maxRaw int64
	left   error // why a dead tap's queue could not be drained
}

// Open checks that the file at path is a recording that this program can read.
// What a killed tap left in its queue is appended first; where that cannot be
// done, because the place is read-only, the recording opens without it.
func Open(path string) (*Recording, error) {
	drainErr := drainIfDead(context.Background(), path)
	r := &Recording{path: path, maxRaw: DefaultMaxRaw, left: drainErr}
	err := awaitVersion(path)
	if errors.Is(err, fs.ErrNotExist) && drainErr != nil {
		return nil, drainErr // only a queue is there, and it is of no use
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

const (
	// drainLimit is how long another program is waited for that appends what a
	// killed tap has left.
	drainLimit = 10 * time.Second
	drainPause = 2 * time.Millisecond
)

// sleepDrain waits for another program; a test does something else meanwhile.
var sleepDrain = func(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(drainPause):
	}
}

// drainIfDead appends what a killed tap has left. Nearly always there is no
// queue, and nothing to do. While another program does it the recording looks
// live, as the queue is locked, but what is there is not all: that is waited for,
// until ctx is done.
func drainIfDead(ctx context.Context, path string) error {
	for began := time.Now(); ; sleepDrain(ctx) {
		if _, err := os.Lstat(path + QueueExt); err != nil || ctx.Err() != nil {
			return nil
		}
		if !queueAlive(path) {
			if err := drainDead(path); !errors.Is(err, ErrLive) {
				return err
			}
		}
		if !beingDrained(path) || time.Since(began) > drainLimit {
			return nil
		}
	}
}

// beginLimit is how long a live recording may take to become one: its file is
// made a moment after its queue.
const beginLimit = 2 * time.Second

// awaitVersion is readVersion that waits for a file that is just being made.
func awaitVersion(path string) error {
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		alive := queueAlive(path) // before reading: what is not there then will not be
		err := readVersion(path)
		young := errors.Is(err, ErrNotRecording) || errors.Is(err, fs.ErrNotExist)
		if !young || time.Since(began) > beginLimit || !alive {
			return err
		}
	}
}

// readVersion returns an error if the file is not a recording that this program reads.
func readVersion(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return notRecording(path, "it is a directory")
	case !info.Mode().IsRegular():
		return notRecording(path, "it is not a regular file") // reading a pipe would wait for ever
	case info.Size() == 0:
		return notRecording(path, "it is empty")
	}
	err = viewFile(path, func(s *snap) error {
		v, _, err := s.version()
		if err != nil {
			return err
		}
		return checkVersion(v)
	})
	if errors.Is(err, errForeign) {
		err = notRecording(path, "it is "+errForeign.Error())
	}
	if errors.Is(err, ErrNewer) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// Path returns the recording's file.
func (r *Recording) Path() string { return r.path }

// SetMaxRaw sets the size in bytes above which a frame is returned with only
// the beginning of its Raw. The default is [DefaultMaxRaw].
func (r *Recording) SetMaxRaw(n int64) { r.maxRaw = n }

// Info describes the recording as it is now.
func (r *Recording) Info() (Info, error) {
	i, err := readInfo(r.path)
	return i.lacking(r.left), err
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
	err = viewFile(r.path, func(s *snap) error {
		b.reset()
		return s.frameSegments(&b, seq, 1)
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
	d, err := r.table(b, 0)
	for err == nil && d.left > 0 {
		var rec record
		if rec, err = d.record(); err == nil && rec.Seq == seq {
			return rec, nil
		}
	}
	if err != nil {
		return record{}, damaged(r.path, err)
	}
	return record{}, ErrNoFrame
}

// WriteRaw writes all bytes of a frame that this recording returned, whatever
// its size, in bounded memory.
func (r *Recording) WriteRaw(w io.Writer, f tap.Frame) error {
	if f.Whole() {
		_, err := w.Write(f.Raw)
		return err
	}
	rec, err := r.record(f.Seq)
	if err != nil {
		return err
	}
	err = r.eachPart(rec.parts, func(body []byte) error {
		_, err := w.Write(body)
		return err
	})
	if err != nil {
		return err
	}
	_, err = w.Write(rec.Raw)
	return err
}

// assemble returns the frame of a record: with its parts, if it has any.
func (r *Recording) assemble(rec *record) (tap.Frame, error) {
	f := rec.Frame
	if rec.parts.Count == 0 {
		return f, nil
	}
	limit := f.Size
	if f.Size > r.maxRaw {
		limit = headRaw
	}
	// The size is not believed before its bytes are there.
	raw := make([]byte, 0, min(limit, pageBytes))
	err := r.eachPart(rec.parts, func(body []byte) error {
		raw = append(raw, body[:min(int64(len(body)), limit-int64(len(raw)))]...)
		if int64(len(raw)) == limit && limit < f.Size {
			return errStop
		}
		return nil
	})
	if err != nil && err != errStop {
		return tap.Frame{}, fmt.Errorf("frame %d: %w", f.Seq, err)
	}
	raw = append(raw, rec.Raw[:min(int64(len(rec.Raw)), limit-int64(len(raw)))]...)
	f.Raw = raw
	return f, nil
}

// eachPart calls each for the parts of a frame, in order. No file is open
// meanwhile. each may not keep the bytes.
func (r *Recording) eachPart(ref partRef, each func(body []byte) error) error {
	if ref.Count == 0 {
		return nil
	}
	var total uint64
	for next, end := ref.First, ref.First+ref.Count; next < end; {
		var got batchOf
		err := viewFile(r.path, func(s *snap) error {
			got.reset()
			return s.partSegments(&got, next, end, pageBytes)
		})
		if err != nil {
			return err
		}
		if len(got.segs) == 0 {
			return damaged(r.path, fmt.Errorf("%w: part %#x is missing", errPage, next))
		}
		for i := range got.segs {
			h, body, err := decodeSegment(got.stored(i))
			if err == nil && (h.kind != kindPart || h.first != next || got.segs[i].key != next) {
				err = fmt.Errorf("%w: part %#x is missing", errPage, next)
			}
			if err != nil {
				return damaged(r.path, err)
			}
			next++
			if total += uint64(len(body)); total > ref.Bytes {
				break
			}
			if err := each(body); err != nil {
				return err
			}
		}
	}
	if total != ref.Bytes {
		return damaged(r.path, fmt.Errorf("%w: parts of %d bytes where %d were expected", errPage, total, ref.Bytes))
	}
	return nil
}
