package store

import (
	"bytes"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// A piece that is longer than a block, or than a read, is several entries, and its
// end is that of the last.
func TestLongPieces(t *testing.T) {
	for _, limit := range []int64{minQueueSize, 64 << 20} {
		size, count := queueGeometry(limit)
		q := newQueue(make([]byte, queueBytes(size, count)), size, count, nil, time.Now())
		for _, end := range []bool{false, true} {
			in := bytes.Repeat([]byte("0123456789"), 60_001)
			q.piece(stream{7, tap.ToClient}, tap.FormBody, in, end)
			es, _ := q.pull(nil, 1<<30)
			var got []byte
			for i, e := range es {
				exchange, p := numbered(q.bytes(&e))
				got = append(got, p...)
				if last := i == len(es)-1; exchange != 7 || len(p) > maxRoom || (e.Flags == pieceEnd) != (last && end) {
					t.Errorf("entry %d of %d: %+v", i, len(es), e)
				}
			}
			if q.commit(es); !bytes.Equal(got, in) || len(q.open) != map[bool]int{true: 0, false: 1}[end] {
				t.Errorf("%d bytes of %d, %d open", len(got), len(in), len(q.open))
			}
		}
	}
}

// Of a stream the header names once that its frame is torn, however many pieces
// were lost; one whose frame the ring has nothing of it does not name. The end is
// entered as that of a torn frame, even where only bytes before it were lost.
func TestTornIsToldOnce(t *testing.T) {
	q := bareQueue()
	begun, unknown := stream{7, tap.ToClient}, stream{9, tap.ToServer}
	q.piece(begun, tap.FormBody, []byte("begun"), false)
	for q.failing = true; q.spotFree(); {
		q.note(0, make([]byte, minRoom))
	}
	for range 2 * maxTorn {
		q.piece(begun, tap.FormBody, []byte("lost"), false)
		q.piece(unknown, tap.FormEvent, []byte("lost"), false)
	}
	if q.tornKept != 1 {
		t.Errorf("%d torn", q.tornKept)
	}
	q.piece(begun, tap.FormBody, nil, true)
	taken(q)
	q.settleLast()
	flags := make(map[stream]uint8)
	for _, e := range taken(q) {
		if e.Kind == entryPiece {
			exchange, _ := numbered(q.bytes(&e))
			flags[stream{exchange, tap.Lane(e.Lane)}] = e.Flags
		}
	}
	if len(flags) != 2 || flags[begun] != pieceEnd|pieceTorn || flags[unknown] != pieceTorn || q.tornKept != 0 {
		t.Errorf("%v, %d torn", flags, q.tornKept)
	}
}
