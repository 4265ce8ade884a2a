package store

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

const (
	// segmentTarget is how many bytes a segment gathers before it is closed. The
	// more it has, the more often what repeats is in it twice, and to compress that
	// costs next to nothing.
	segmentTarget = 1 << 20
	// tailLimit is the size under which the last segment of a commit is kept
	// open, to be replaced by a longer one at the next commit.
	tailLimit = 32 << 10
)

// An assembler turns the queue's chunks into segments and parts. Its whole
// state after a batch is in st and tally, which the batch carries: nothing of a
// chunk stays in memory between commits.
type assembler struct {
	st    State
	tally session.Tally

	split   [tap.Lanes]tap.Splitter
	lanes   [tap.Lanes]current  // of stdio
	streams map[stream]*current // of HTTP: those in the middle of a frame
	whole   current             // of a stream, when its frame comes at once
	heads   int                 // bytes of all heads
	most    uint64              // parts of one frame

	seg   segment
	open  bool   // seg is not empty, and not closed
	put   int    // how many of seg's frames are in a batch already
	name  uint64 // the bucket that seg goes to
	out   batch
	batch uint64 // counts the batches
	join  []byte
}

// A batch is what one commit writes.
type batch struct {
	buf    []byte
	values []value
	state  []byte
	tally  []byte
	end    *End // not nil: nothing follows
}

// A value is one segment in the batch's buf.
type value struct {
	part     bool
	bucket   uint64
	key      uint64
	from, to int
}

func newAssembler() *assembler {
	a := &assembler{st: newState(), streams: make(map[stream]*current), most: 1 << partBits}
	for lane := range a.lanes {
		a.lanes[lane].lane = tap.Lane(lane)
	}
	return a
}

// begin starts a batch. A short last segment is taken up again.
func (a *assembler) begin() {
	a.out.buf, a.out.values, a.out.end = a.out.buf[:0], a.out.values[:0], nil
	a.batch++
	if a.open && a.seg.size() >= tailLimit {
		a.open = false
	}
}

// chunk takes the bytes of one lane that crossed at an offset.
func (a *assembler) chunk(lane tap.Lane, flags uint8, at time.Duration, p []byte) {
	c := &a.lanes[lane]
	c.Torn = c.Torn || flags&pieceMore != 0 && c.empty() && !c.split && lane != tap.Stderr // its lines are cut anywhere
	for len(p) > 0 {
		n, cut := a.split[lane].Next(p)
		c.hold(at, p[:n])
		p = p[n:]
		switch cut {
		case tap.CutFrame:
			a.finish(c, at)
		case tap.CutPart:
			a.flush(c)
		}
	}
}

// piece takes bytes of the current frame of a stream.
func (a *assembler) piece(s stream, form tap.Form, flags uint8, at time.Duration, p []byte) {
	c := a.streams[s]
	if c == nil {
		if flags&pieceMore != 0 {
			flags |= pieceTorn // its beginning is not there
		}
		if c = &a.whole; flags&pieceEnd == 0 {
			c = new(current)
			a.streams[s] = c
		}
		c.stream, c.form = s, form
	}
	c.Torn = c.Torn || flags&pieceTorn != 0
	if len(p) == 0 && !c.empty() {
		at = c.LastAt // only now it is known that they were the last
	}
	for len(p) > 0 {
		if c.bytes == tap.PartSize {
			a.flush(c)
		}
		n := min(len(p), tap.PartSize-c.bytes)
		c.hold(at, p[:n])
		p = p[n:]
	}
	if flags&pieceEnd != 0 {
		delete(a.streams, s)
		a.finish(c, at)
	}
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
	a.out.buf = a.seg.encode(a.out.buf)
	a.out.values = append(a.out.values, value{bucket: a.name, key: a.seg.first, from: from, to: len(a.out.buf)})
}

// part writes bytes of a frame that goes on as its next part.
func (a *assembler) part(c *current, body []byte) {
	if c.Parts.Count == 0 {
		c.Parts.First = partNumber(a.st.NextLong)
		a.st.NextLong++
	}
	n := c.Parts.First + c.Parts.Count
	c.Parts.Count++
	c.Parts.Bytes += uint64(len(body))
	if c.batch != a.batch {
		c.batch, c.bucket = a.batch, n
	}
	from := len(a.out.buf)
	a.out.buf = encodePart(a.out.buf, n, body)
	a.out.values = append(a.out.values, value{part: true, bucket: c.bucket, key: n, from: from, to: len(a.out.buf)})
}

// end finishes the lane's last frame, if it lacks its terminator.
func (a *assembler) end(lane tap.Lane) {
	if c := &a.lanes[lane]; !c.empty() {
		a.cut(lane, c.LastAt)
	}
}

// cut finishes a lane's current frame where it is.
func (a *assembler) cut(lane tap.Lane, at time.Duration) {
	a.finish(&a.lanes[lane], at)
	a.split[lane] = tap.Splitter{}
}

// tear says of all frames that have begun that bytes are missing in them.
func (a *assembler) tear() {
	for lane := range a.lanes {
		c := &a.lanes[lane]
		c.Torn = c.Torn || !c.empty()
	}
	for _, c := range a.streams {
		c.Torn = true
	}
}

// endAll finishes all frames that have begun as they are.
func (a *assembler) endAll() {
	for lane := range tap.Lanes {
		a.end(lane)
	}
	for _, c := range a.unfinished() {
		a.finish(c, c.LastAt)
	}
	clear(a.streams)
}

// unfinished returns the streams that are in the middle of a frame, in the order
// in which they were heard of last.
func (a *assembler) unfinished() []*current {
	return slices.SortedFunc(maps.Values(a.streams), func(a, b *current) int {
		return cmp.Or(cmp.Compare(a.LastAt, b.LastAt), cmp.Compare(a.exchange, b.exchange), cmp.Compare(a.lane, b.lane))
	})
}

// note adds a life frame, of an exchange or of the run.
func (a *assembler) note(exchange uint64, at time.Duration, payload []byte) {
	r := record{}
	r.Lane, r.Exchange, r.At, r.Size = tap.Lifecycle, exchange, at, int64(len(payload))
	f := r.Frame
	f.Seq, f.Raw = a.st.NextSeq, payload
	a.tally.Add(&f)
	a.append(&r, payload)
}

// gap accounts for bytes that crossed unrecorded: the frames that lie wholly in
// it keep their numbers, so that what is missing can be named, and those that it
// cuts are marked torn. What it lacks of streams is counted on the lane lifecycle,
// which has none to cut, so any that is in the middle of a frame may be cut; those
// whose frame ended in it come as pieces before it.
func (a *assembler) gap(at time.Duration, lost [tap.Lanes]lostLane, why string) {
	var frames, bytes uint64
	for lane := range lost {
		l, c := &lost[lane], &a.lanes[lane]
		if *l == (lostLane{}) {
			continue
		}
		bytes += l.Bytes
		if !c.empty() {
			c.Torn = true
			a.cut(tap.Lane(lane), at)
			if l.Frames > 0 {
				l.Frames--
			}
		}
		frames += l.Frames
		c.Torn = l.Mid
	}
	for _, c := range a.streams {
		c.Torn = true
	}
	e := tap.Event{Name: tap.EventGap, Bytes: bytes, Error: why}
	if frames > 0 {
		e.From, e.To = a.st.NextSeq, a.st.NextSeq+frames-1
		a.st.Gaps = append(a.st.Gaps, tap.Range{From: e.From, To: e.To})
		if a.open { // numbers in a segment are consecutive
			a.closeSegment()
		}
		a.st.NextSeq += frames
	}
	a.note(0, at, e.Encode())
}

// commit ends the batch: what is unfinished becomes parts, so that the memory
// of every chunk is free again.
func (a *assembler) commit(next uint64) *batch {
	if c := &a.lanes[tap.Stderr]; c.bytes > 0 { // a piece is all that stderr promises
		a.cut(tap.Stderr, c.LastAt)
	}
	for lane := range a.lanes {
		a.flush(&a.lanes[lane])
		a.st.Pending[lane] = a.lanes[lane].Pending
	}
	a.st.Open = a.st.Open[:0]
	for _, c := range a.unfinished() {
		a.flush(c)
		a.st.Open = append(a.st.Open, OpenFrame{Exchange: c.exchange, Lane: c.lane, Form: c.form, Pending: c.Pending})
	}
	if a.open && a.put != a.seg.count {
		a.putSegment()
	}
	a.st.Ticket, a.st.LastAt = next, a.seg.last
	a.out.state, a.out.tally = mustJSON(&a.st), mustJSON(&a.tally)
	return &a.out
}

// after makes a new assembler go on where another one was, in a file that has nothing
// of what came before.
func (a *assembler) after(st State) {
	a.st = newState()
	a.st.Ticket, a.st.NextSeq, a.seg.last = st.Ticket, st.NextSeq, st.LastAt
	e := tap.Event{Name: tap.EventGap, Error: lostFile}
	if st.NextSeq > 1 {
		e.From, e.To = 1, st.NextSeq-1
		a.st.Gaps = []tap.Range{{From: e.From, To: e.To}}
	}
	a.note(0, st.LastAt, e.Encode())
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // plain data: cannot happen
		panic(err)
	}
	return b
}
