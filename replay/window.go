package replay

import (
	"io"
	"slices"
)

// A window is a part of a spool, kept because what is asked for next follows in it most
// of the time: an answer follows its request, and the next request the answer. Reading
// some of them at once costs as much as reading one.
type window struct {
	from uint64
	b    []byte
}

const (
	// windowSize is how much is read ahead, of what is smaller than that.
	windowSize = 16 << 10
	// maxKept is the largest message for which a session keeps room: there may be a
	// thousand sessions, each with the largest that it has said. Room for a larger one
	// costs less than to write it.
	maxKept = 1 << 20
)

// load reads a message, which is valid until the next is read.
func (w *window) load(from io.ReaderAt, p place) ([]byte, error) {
	end := w.from + uint64(len(w.b))
	if p.off < w.from || p.off+uint64(p.size) > end {
		if p.size > maxKept {
			w.from, w.b = p.off+uint64(p.size), w.b[:0] // where the next is
			return p.load(from)
		}
		if err := w.move(from, p, end); err != nil {
			return nil, err
		}
	}
	at := p.off - w.from
	return w.b[at : at+uint64(p.size)], nil
}

// move makes a message the beginning of the window. If it goes on where that ended, so
// will the next.
func (w *window) move(from io.ReaderAt, p place, end uint64) error {
	size, kept := int(p.size), 0
	if p.off >= w.from && p.off <= end {
		size = max(size, windowSize)
		kept = copy(w.b, w.b[p.off-w.from:])
	}
	w.from, w.b = p.off, slices.Grow(w.b[:kept], size-kept)
	n, err := from.ReadAt(w.b[kept:size], int64(p.off)+int64(kept))
	w.b = w.b[:kept+n]
	if len(w.b) < int(p.size) {
		return err
	}
	return nil
}
