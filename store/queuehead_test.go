package store

import (
	"reflect"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// What does not begin as a queue does is none, and of a newer one it is said.
func TestQueueMagic(t *testing.T) {
	for magic, want := range map[string]string{queueMagic: "", "mtapque9": "newer", "mtapqux1": "no queue header", "": "no queue header"} {
		b := make([]byte, queueHead)
		copy(b, encodeQueueHead(sampleHeader("0123abcd"), "boot", maxBlock, minBlocks))
		clear(b[:8])
		copy(b, magic)
		_, err := decodeQueueHead(b, 1<<40)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", magic, err)
		}
	}
}

// A header that is longer than its room keeps what fits, and what tells which
// recording it is of in any case.
func TestLongHeader(t *testing.T) {
	long, start := strings.Repeat("x", queueHead), sampleHeader("0123abcd").Start
	for name, c := range map[string]struct{ in, want tap.Header }{
		"as it is": {sampleHeader("0123abcd"), sampleHeader("0123abcd")},
		"many arguments": {
			tap.Header{ID: "0123abcd", Label: "a", Start: start, Command: []string{"server", long}, Dir: "/srv", Upstream: "u"},
			tap.Header{ID: "0123abcd", Label: "a", Start: start, Command: []string{"server"}, Dir: "/srv", Upstream: "u"}},
		"a long name": {
			tap.Header{ID: "0123abcd", Label: "a", Start: start, Transport: "stdio", Command: []string{long}, Dir: "/srv", Program: "p"},
			tap.Header{ID: "0123abcd", Label: "a", Start: start, Transport: "stdio", Program: "p"}},
		"a long directory": {
			tap.Header{ID: "0123abcd", Label: "a", Start: start, Dir: long}, tap.Header{ID: "0123abcd", Label: "a", Start: start}},
		"a long URL": {
			tap.Header{ID: "0123abcd", Label: "a", Start: start, Upstream: long}, tap.Header{ID: "0123abcd", Label: "a", Start: start}},
		"a long label": {tap.Header{ID: "0123abcd", Label: long, Start: start}, tap.Header{ID: "0123abcd", Start: start}},
	} {
		b := make([]byte, queueHead)
		if n := copy(b, encodeQueueHead(c.in, "boot", maxBlock, minBlocks)); n == queueHead && b[n-1] != '}' {
			t.Errorf("%s: it is cut", name)
		}
		if h, err := decodeQueueHead(b, 1<<40); err != nil || !reflect.DeepEqual(h.header, c.want) {
			t.Errorf("%s: %v: %+v", name, err, h.header)
		}
	}
}

// The header of the queue says what was lost while nothing could be entered, for
// the case that the tap is killed; and that frames are torn.
func TestHeaderTellsOfLoss(t *testing.T) {
	q := bareQueue()
	torn, whole := stream{7, tap.ToClient}, stream{9, tap.ToServer}
	q.piece(torn, tap.FormBody, []byte("begun"), false)
	q.piece(whole, tap.FormBody, []byte("begun"), false)
	put2(q, tap.ToServer, []byte("x"))
	room := q.room(tap.ToServer)
	for q.failing = true; q.spotFree(); {
		q.note(0, make([]byte, minRoom))
	}
	head := func() queueHeader {
		b := make([]byte, queueHead)
		copy(b, encodeQueueHead(sampleHeader("0123abcd"), "boot", q.blockSize, len(q.state)))
		copy(b[headDraining:headHeader], q.mem[headDraining:headHeader])
		h, err := decodeQueueHead(b, 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if h := head(); h.lost != [tap.Lanes]lostLane{} || len(h.torn) > 0 {
		t.Errorf("before: %+v", h)
	}
	for ; q.next-q.drained < ringEntries-ringReserve/2; q.next++ { // and the ring is full too
	}
	q.record(tap.ToServer, copy(room, "two\nlin"))
	want := lostLane{Bytes: 7, Frames: 1, Mid: true}
	if h := head(); h.lost[tap.ToServer] != want {
		t.Errorf("a chunk: %+v", h.lost)
	}
	q.piece(torn, tap.FormBody, []byte("lost"), false)
	q.piece(torn, tap.FormBody, []byte("lost"), true)
	q.piece(whole, tap.FormBody, nil, true)
	h := head()
	if h.lost[tap.Lifecycle].Bytes != 8 || len(h.torn) != 1 || !h.torn[torn] || h.allTorn {
		t.Errorf("pieces: %+v", h)
	}
}

// spotFree reports whether an entry that is copied has a place now.
func (q *queue) spotFree() bool { return q.place(&q.lanes[tap.Lifecycle]) }

// Where only the end of a frame was lost, and no byte, nothing is missing.
func TestNothingMissingIsNoGap(t *testing.T) {
	q := bareQueue()
	st := stream{7, tap.ToClient}
	q.piece(st, tap.FormBody, []byte("all of it"), false)
	for q.failing = true; q.spotFree(); {
		q.note(0, make([]byte, minRoom))
	}
	q.piece(st, tap.FormBody, nil, true)
	if taken(q); !q.unsettled() {
		t.Fatal("the end was entered")
	}
	q.settleLast()
	es := taken(q)
	if len(es) != 1 || es[0].Kind != entryPiece || es[0].Flags != pieceEnd {
		t.Errorf("entries %+v", es)
	}
}
