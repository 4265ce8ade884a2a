package filter

import "bytes"

// A payload is searched in three views: its bytes as they crossed, the same
// with the escapes of JSON replaced, so that strings are as a person reads
// them, and once more so, for JSON inside a JSON string, as tool results have
// it. A view is there only if the one before it has a backslash.
const views = 3

// pieceSize is how many bytes go through all views at a time, so that they
// stay in the processor's cache.
const pieceSize = 16 << 10

// A search looks for any of some needles in one payload after the other. The
// payload comes in pieces, and no more than two of them are kept.
type search struct {
	needles []*needle
	// at has for each view the progress of each needle.
	at [views][]progress
	// deepest is the last view that differs from the one before it.
	deepest int
	escapes [views - 1]unescaper
	buf     [views - 1][]byte
}

func newSearch(needles []*needle) *search {
	s := &search{needles: needles}
	for v := range s.at {
		s.at[v] = make([]progress, len(needles))
	}
	return s
}

// whole searches a payload that is in memory.
func (s *search) whole(b []byte) bool {
	s.begin()
	return s.pieces(b) || s.end()
}

// pieces takes the next part of a payload, of any size, and reports whether a
// needle has been found.
func (s *search) pieces(b []byte) bool {
	for len(b) > 0 {
		n := min(len(b), pieceSize)
		if s.feed(0, b[:n]) {
			return true
		}
		b = b[n:]
	}
	return false
}

// begin forgets what was read.
func (s *search) begin() {
	clear(s.at[0])
	s.deepest = 0
}

// feed takes the next piece of a view.
func (s *search) feed(view int, b []byte) bool {
	if view == s.deepest && view+1 < views {
		// So far the next view is equal to this one, and need not be searched.
		i := bytes.IndexByte(b, '\\')
		if i < 0 {
			return s.match(view, b)
		}
		if s.match(view, b[:i]) {
			return true
		}
		s.descend()
		b = b[i:]
	}
	if s.match(view, b) {
		return true
	}
	if view == s.deepest {
		return false
	}
	s.buf[view] = s.escapes[view].write(s.buf[view][:0], b)
	return s.feed(view+1, s.buf[view])
}

// descend opens the next view.
func (s *search) descend() {
	v := s.deepest
	copy(s.at[v+1], s.at[v])
	s.escapes[v] = unescaper{}
	if s.buf[v] == nil {
		s.buf[v] = make([]byte, 0, pieceSize+64)
	}
	s.deepest++
}

// end says that the payload is over.
func (s *search) end() bool {
	for view := 0; view < s.deepest; view++ {
		s.buf[view] = s.escapes[view].end(s.buf[view][:0])
		if s.feed(view+1, s.buf[view]) {
			return true
		}
	}
	return false
}

func (s *search) match(view int, b []byte) bool {
	for i, n := range s.needles {
		if n.feed(&s.at[view][i], b) {
			return true
		}
	}
	return false
}
