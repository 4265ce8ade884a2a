package store

import (
	"encoding/binary"
	"fmt"
)

// A batchOf is some consecutive segments, copied out of the file.
type batchOf struct {
	buf  []byte
	segs []stored
	last bool // there are no more
	sum  summary
	// least is how many segments there are, beside one, whatever the budget.
	least int
}

// A stored is one segment in a batch.
type stored struct {
	key      uint64
	from, to int
}

func (b *batchOf) reset() {
	b.buf, b.segs, b.last = b.buf[:0], b.segs[:0], false
}

// stored returns segment i as it is in the file.
func (b *batchOf) stored(i int) []byte { return b.buf[b.segs[i].from:b.segs[i].to] }

// add copies a segment out of the file.
func (s *snap) add(b *batchOf, e *elem, budget int) error {
	n, err := number(e)
	if err != nil {
		return err
	}
	if e.bucket || e.length < segmentHeader || e.length > maxStored {
		return fmt.Errorf("%w: segment %d has %d bytes", errPage, n, e.length)
	}
	from := len(b.buf)
	if len(b.segs) > b.least && from+int(e.length) > budget {
		return errStop
	}
	if need := from + int(e.length); need > cap(b.buf) {
		b.buf = append(make([]byte, 0, max(need, min(2*cap(b.buf), budget))), b.buf...)
	}
	b.buf = b.buf[:from+int(e.length)]
	if _, err := s.p.r.ReadAt(b.buf[from:], e.val); err != nil {
		return pageError(err, "segment %d", n)
	}
	b.segs = append(b.segs, stored{key: n, from: from, to: len(b.buf)})
	return nil
}

// number decodes a key that is a number.
func number(e *elem) (uint64, error) {
	if len(e.key) != 8 {
		return 0, fmt.Errorf("%w: a key of %d bytes where a number was expected", errPage, len(e.key))
	}
	return binary.BigEndian.Uint64(e.key), nil
}

// frameSegments copies out the segments from the one that holds frame number
// from, or would, on.
func (s *snap) frameSegments(b *batchOf, from uint64, budget int) error {
	var err error
	if b.sum, err = s.summary(keyState, keyEnd); err != nil {
		return err
	}
	return s.segments(b, bucketFrames, from, ^uint64(0), budget)
}

// partSegments copies out the segments of parts from..end-1.
func (s *snap) partSegments(b *batchOf, from, end uint64, budget int) error {
	return s.segments(b, bucketParts, from, end, budget)
}

// segments copies out what is in a bucket of buckets of segments, until budget.
// A read that was in vain because of a commit is repeated with less, so that a
// reader gets on however busy the tap is.
func (s *snap) segments(b *batchOf, name []byte, from, end uint64, budget int) error {
	budget >>= min(s.tries, 16)
	outer, err := s.bucket(name)
	if err != nil {
		return err
	}
	if outer == nil {
		return fmt.Errorf("%w: bucket %s is missing", errPage, name)
	}
	k := key(from)
	err = outer.ascend(k, func(e *elem) error {
		first, err := number(e)
		if err != nil {
			return err
		}
		if first >= end {
			return errStop
		}
		inner, err := s.p.open(e)
		if err != nil {
			return err
		}
		return inner.ascend(k, func(e *elem) error {
			n, err := number(e)
			if err != nil {
				return err
			}
			if n < first {
				return fmt.Errorf("%w: segment %d in bucket %d", errPage, n, first)
			}
			if n >= end {
				return errStop
			}
			return s.add(b, e, budget)
		})
	})
	b.last = err == nil
	if err == errStop {
		err = nil
	}
	return err
}
