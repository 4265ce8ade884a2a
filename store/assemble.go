package store

import (
	"encoding/json"
	"time"

	"github.com/mcptap/mcptap/tap"
)

const (
	// segmentTarget is how many bytes a segment gathers before it is closed.
	segmentTarget = 512 << 10
	// tailLimit is the size under which the last segment of a commit is kept
	// open, to be replaced by a longer one at the next commit.
	tailLimit = 32 << 10
	// headLimit is how much of a frame that comes in parts is kept for the
	// tally; beyond, the tally only gets what a tap.Scanner saw.
	headLimit = 64 << 10
)

// An assembler turns the queue's chunks into segments and parts. Its whole
// state after a batch is in st and tally, which the batch carries: nothing of a
// chunk stays in memory between commits.
type assembler struct {
	st    State
	tally tap.Tally

	split [tap.Lanes]tap.Splitter
	held  [tap.Lanes]held
	seg   segment
	open  bool   // seg is not empty, and not closed
	put   int    // how many of seg's frames are in a batch already
	name  uint64 // the bucket that seg goes to
	out   *batch
	join  []byte
	plain bool // segments are stored as they are, not compressed
}

// held is the part of a lane's current frame that is still in the queue's
// memory, and what is known of its parts.
type held struct {
	pieces  [][]byte
	bytes   int
	firstAt time.Duration
	lastAt  time.Duration
	head    []byte       // the frame's parts, up to headLimit
	scan    *tap.Scanner // all of the frame's parts
}

// A batch is what one commit writes.
type batch struct {
	buf    []byte
	values []value
	state  []byte
	tally  []byte
}

// A value is one segment in the batch's buf.
type value struct {
	part     bool
	bucket   uint64
	key      uint64
	from, to int
}

func newAssembler() *assembler { return &assembler{st: newState(), out: new(batch)} }

// begin starts a batch in b. A short last segment is taken up again.
func (a *assembler) begin(b *batch) {
	a.out = b
	a.out.buf, a.out.values = a.out.buf[:0], a.out.values[:0]
	if a.open && a.seg.size() >= tailLimit {
		a.open = false
	}
}

// chunk takes the bytes of one lane that crossed at an offset.
func (a *assembler) chunk(lane tap.Lane, at time.Duration, p []byte) {
	for len(p) > 0 {
		n, cut := a.split[lane].Next(p)
		a.hold(lane, at, p[:n])
		p = p[n:]
		switch cut {
		case tap.CutFrame:
			a.finish(lane, at)
		case tap.CutPart:
			a.flushPart(lane)
		}
	}
}

func (a *assembler) hold(lane tap.Lane, at time.Duration, p []byte) {
	h := &a.held[lane]
	if len(h.pieces) == 0 {
		h.firstAt = at
	}
	h.pieces = append(h.pieces, p)
	h.bytes += len(p)
	h.lastAt = at
}

// finish ends the lane's current frame.
func (a *assembler) finish(lane tap.Lane, at time.Duration) {
	h, p := &a.held[lane], &a.st.Pending[lane]
	at = max(at, a.seg.last) // it is numbered now, and time does not run backwards
	first := h.firstAt
	if p.Parts.Count > 0 {
		first = p.FirstAt
	}
	r := record{parts: p.Parts}
	r.Lane, r.At, r.Took, r.Torn = lane, at, at-first, p.Torn
	r.Size = int64(p.Parts.Bytes) + int64(h.bytes)
	a.count(&r, h)
	a.append(&r, h.pieces...)
	*h = held{pieces: h.pieces[:0]}
	*p = Pending{}
	a.split[lane] = tap.Splitter{}
}

// count gives the frame to the tally.
func (a *assembler) count(r *record, h *held) {
	f := r.Frame
	f.Seq = a.st.NextSeq
	switch {
	case r.parts.Count == 0 && len(h.pieces) == 1:
		f.Raw = h.pieces[0]
		a.tally.Add(&f)
	case r.Size <= headLimit:
		a.join = append(a.join[:0], h.head...)
		for _, p := range h.pieces {
			a.join = append(a.join, p...)
		}
		f.Raw = a.join
		a.tally.Add(&f)
	case r.parts.Count == 0:
		f.Raw = a.joined(h)
		a.tally.Add(&f)
	default:
		for _, p := range h.pieces {
			h.scan.Write(p)
		}
		a.tally.AddLarge(&f, h.scan)
	}
}

func (a *assembler) joined(h *held) []byte {
	a.join = a.join[:0]
	for _, p := range h.pieces {
		a.join = append(a.join, p...)
	}
	return a.join
}

// append numbers a record and puts it into the current segment.
func (a *assembler) append(r *record, pieces ...[]byte) {
	r.Seq = a.st.NextSeq
	if !a.open {
		a.seg.reset(r.Seq, r.At)
		a.open, a.put, a.name = true, 0, r.Seq
		for i := len(a.out.values) - 1; i >= 0; i-- { // one bucket a commit
			if v := &a.out.values[i]; !v.part {
				a.name = v.bucket
				break
			}
		}
	}
	a.seg.add(r, pieces...)
	a.st.NextSeq++
	if a.seg.size() >= segmentTarget {
		a.closeSegment()
	}
}

// closeSegment puts the current segment into the batch.
func (a *assembler) closeSegment() {
	a.putSegment()
	a.open = false
}

func (a *assembler) putSegment() {
	a.put = a.seg.count
	from := len(a.out.buf)
	a.out.buf = a.seg.encode(a.out.buf, a.plain)
	a.out.values = append(a.out.values, value{bucket: a.name, key: a.seg.first, from: from, to: len(a.out.buf)})
}

// flushPart writes what is held of the lane's current frame as a part.
func (a *assembler) flushPart(lane tap.Lane) {
	h, p := &a.held[lane], &a.st.Pending[lane]
	if h.bytes == 0 {
		return
	}
	body := a.joined(h)
	part := a.st.NextPart[lane]
	a.st.NextPart[lane]++
	if p.Parts.Count == 0 {
		p.Parts.First, p.FirstAt = part, h.firstAt
		h.scan = new(tap.Scanner)
	}
	p.Parts.Count++
	p.Parts.Bytes += uint64(len(body))
	p.LastAt = h.lastAt
	if n := headLimit - len(h.head); n > 0 {
		h.head = append(h.head, body[:min(n, len(body))]...)
	}
	h.scan.Write(body)
	bucket := part
	for i := range a.out.values {
		if v := &a.out.values[i]; v.part && v.bucket>>56 == uint64(lane) {
			bucket = v.bucket
			break
		}
	}
	from := len(a.out.buf)
	a.out.buf = encodePart(a.out.buf, part, body, a.plain)
	a.out.values = append(a.out.values, value{part: true, bucket: bucket, key: part, from: from, to: len(a.out.buf)})
	h.pieces, h.bytes = h.pieces[:0], 0
}

// end finishes the lane's last frame, if it lacks its terminator.
func (a *assembler) end(lane tap.Lane) {
	h, p := &a.held[lane], &a.st.Pending[lane]
	if h.bytes == 0 && p.Parts.Count == 0 {
		return
	}
	at := p.LastAt
	if h.bytes > 0 {
		at = h.lastAt
	}
	a.finish(lane, at)
}

// note adds a life frame.
func (a *assembler) note(at time.Duration, payload []byte) {
	r := record{}
	r.Lane, r.At, r.Size = tap.Life, at, int64(len(payload))
	f := r.Frame
	f.Seq, f.Raw = a.st.NextSeq, payload
	a.tally.Add(&f)
	a.append(&r, payload)
}

// gap accounts for bytes that crossed unrecorded: the frames that lie wholly in
// it keep their numbers, so that what is missing can be named, and those that
// it cuts are marked torn.
func (a *assembler) gap(at time.Duration, lost [tap.Lanes]lostLane) {
	var frames, bytes uint64
	for lane := range lost {
		l := &lost[lane]
		if l.Bytes == 0 {
			continue
		}
		bytes += l.Bytes
		h, p := &a.held[lane], &a.st.Pending[lane]
		if h.bytes > 0 || p.Parts.Count > 0 {
			p.Torn = true
			a.finish(tap.Lane(lane), at)
			if l.Frames > 0 {
				l.Frames--
			}
		}
		frames += l.Frames
		p.Torn = l.Mid
	}
	e := tap.Event{Name: tap.EventGap, Bytes: bytes}
	if frames > 0 {
		e.From, e.To = a.st.NextSeq, a.st.NextSeq+frames-1
		a.st.Gaps = append(a.st.Gaps, tap.Range{From: e.From, To: e.To})
		if a.open { // numbers in a segment are consecutive
			a.closeSegment()
		}
		a.st.NextSeq += frames
	}
	a.note(at, e.Encode())
}

// commit ends the batch: what is unfinished becomes parts, so that the memory
// of every chunk is free again.
func (a *assembler) commit(next uint64) *batch {
	if a.held[tap.Stderr].bytes > 0 { // a piece is all that stderr promises
		a.finish(tap.Stderr, a.held[tap.Stderr].lastAt)
	}
	for lane := range a.held {
		a.flushPart(tap.Lane(lane))
	}
	if a.open && a.put != a.seg.count {
		a.putSegment()
	}
	a.st.Ticket, a.st.LastAt = next, a.seg.last
	a.out.state, a.out.tally = mustJSON(&a.st), mustJSON(&a.tally)
	return a.out
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // plain data: cannot happen
		panic(err)
	}
	return b
}
