package store

import (
	"encoding/binary"

	"github.com/mcptap/mcptap/tap"
)

// streamBytes is how many bytes stand before those of a piece or of an exchange's
// event: the number of the exchange, little-endian. maxNote is the longest life
// frame that is one entry.
const (
	streamBytes = 8
	maxNote     = minRoom - streamBytes
)

// A stream is one lane of one exchange.
type stream struct {
	exchange uint64
	lane     tap.Lane
}

// A lostStream says what of a stream's frames was lost.
type lostStream struct {
	form tap.Form
	cut  bool // the end of a frame that the ring has the beginning of
	torn bool // and bytes of it
	mid  bool // bytes of the frame that goes on
}

// piece enters bytes of a frame: see tap.Recorder.
func (q *queue) piece(s stream, form tap.Form, p []byte, end bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.dead {
		if !q.ready() {
			q.losePiece(s, form, p, end)
			return
		}
		n := min(len(p), q.blockSize-q.lanes[tap.Lifecycle].off-streamBytes, maxRoom)
		t := tag{Lane: uint8(s.lane), Kind: entryPiece, Form: uint8(form)}
		over := n == len(p)
		if over && end {
			t.Flags = pieceEnd
			delete(q.open, s)
		} else {
			q.open[s] = struct{}{}
		}
		q.putNumbered(t, s.exchange, p[:n])
		if over {
			return
		}
		p = p[n:]
	}
}

// putNumbered puts an entry behind the number of its exchange.
func (q *queue) putNumbered(t tag, exchange uint64, payload []byte) {
	l := &q.lanes[tap.Lifecycle]
	to := q.blocks[l.block*q.blockSize+l.off:]
	binary.LittleEndian.PutUint64(to, exchange)
	copy(to[streamBytes:], payload)
	q.enter(t, l.block, l.off, streamBytes+len(payload))
	l.off += streamBytes + len(payload)
}

// numbered splits what putNumbered has put.
func numbered(b []byte) (exchange uint64, payload []byte) {
	return binary.LittleEndian.Uint64(b), b[streamBytes:]
}

// losePiece accounts for bytes of a frame that cross unrecorded. They are
// counted on the lane life, where they cut no line: see assembler.gap. A frame of
// which nothing at all is recorded keeps its number there, and streams are only
// kept in mind while they are in the middle of a frame.
func (q *queue) losePiece(s stream, form tap.Form, p []byte, end bool) {
	lost, l := &q.lost[tap.Lifecycle], q.torn[s]
	lost.Bytes += uint64(len(p))
	_, begun := q.open[s]
	switch {
	case !end:
		if !l.mid {
			l.form = form
		}
		l.mid = true
	case begun:
		l.cut, l.torn, l.mid = true, l.mid || len(p) > 0, false
		delete(q.open, s)
	default:
		lost.Frames++
		l.mid = false
	}
	if _, known := q.torn[s]; begun && !known && len(p) > 0 {
		q.keepTorn(s)
	}
	if q.torn[s] = l; !l.cut && !l.mid {
		delete(q.torn, s)
	}
	q.missed = true
	q.keepLost()
}

// accountStream enters what the account says of one stream, for which there is a
// spot. It reports false if there is none.
func (q *queue) accountStream() bool {
	for s, l := range q.torn {
		t := tag{Lane: uint8(s.lane), Kind: entryPiece, Form: uint8(l.form), Flags: pieceTorn}
		switch {
		case !l.cut:
			q.open[s] = struct{}{} // for the assembler the frame has begun
		case l.torn:
			t.Flags |= pieceEnd
		default:
			t.Flags = pieceEnd
		}
		q.putNumbered(t, s.exchange, nil)
		if l.cut && l.mid {
			q.torn[s] = lostStream{form: l.form, mid: true}
		} else {
			delete(q.torn, s)
		}
		return true
	}
	return false
}
