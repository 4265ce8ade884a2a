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

	begun map[stream]*openFrame // what is in the middle of a frame
	spare *openFrame            // for the next frame, nil: none
	heads int                   // bytes of all heads
	most  uint64                // parts of one frame

	seg   segment
	open  bool   // seg is not empty, and not closed
	put   int    // how many of seg's frames are in a batch already
	name  uint64 // the bucket that seg goes to
	out   batch
	batch uint64 // counts the batches
	join  []byte
}

const (
	// headLimit is up to which length the parts of a frame are kept for the
	// tally, and headsLimit those of all frames together, of which there may be
	// thousands. Of a longer frame the tally gets the beginning.
	headLimit  = 16 << 20
	headsLimit = 64 << 20
)

// An openFrame is a frame that has begun: what of it is still in the queue's memory,
// and what is known of its parts.
type openFrame struct {
	stream
	form tap.Form
	Pending

	cutter tap.Splitter // of a line
	pieces [][]byte
	bytes  int
	head   []byte // all of its parts, or with cut the beginning
	cut    bool
	split  bool // what came before is a frame of its own: see flush
	// bucket is where its parts go in a batch.
	batch, bucket uint64
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
	return &assembler{st: newState(), begun: make(map[stream]*openFrame), most: 1 << partBits}
}

// begin starts a batch. A short last segment is taken up again.
func (a *assembler) begin() {
	a.out.buf, a.out.values, a.out.end = a.out.buf[:0], a.out.values[:0], nil
	a.batch++
	if a.open && a.seg.size() >= tailLimit {
		a.open = false
	}
}

// current returns the frame that a stream is in the middle of, or a new one. keep has
// to be called for it.
func (a *assembler) current(s stream, form tap.Form, flags uint8) *openFrame {
	c := a.begun[s]
	if c == nil {
		if c = a.spare; c == nil {
			c = new(openFrame)
		}
		*c, a.spare = openFrame{stream: s, form: form, pieces: c.pieces[:0]}, nil
		c.Torn = flags&pieceMore != 0 // its beginning is not there
	}
	c.Torn = c.Torn || flags&pieceTorn != 0
	return c
}

// keep remembers a frame if its end has not come.
func (a *assembler) keep(c *openFrame, mid bool) {
	if mid {
		a.begun[c.stream] = c
	} else {
		delete(a.begun, c.stream)
		a.spare = c
	}
}

// chunk takes the bytes of one lane that crossed at an offset.
func (a *assembler) chunk(lane tap.Lane, flags uint8, at time.Duration, p []byte) {
	if lane == tap.Stderr {
		flags = 0 // its lines are cut anywhere
	}
	c := a.current(stream{lane: lane, line: true}, tap.FormLine, flags)
	for len(p) > 0 {
		n, cut := c.cutter.Next(p)
		c.hold(at, p[:n])
		p = p[n:]
		switch cut {
		case tap.CutFrame:
			a.finish(c, at)
		case tap.CutPart:
			a.flush(c)
		}
	}
	a.keep(c, !c.empty() || c.split)
}

// piece takes bytes of the current frame of a stream.
func (a *assembler) piece(s stream, form tap.Form, flags uint8, at time.Duration, p []byte) {
	c := a.current(s, form, flags)
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
		a.finish(c, at)
	}
	a.keep(c, flags&pieceEnd == 0)
}

// empty reports whether no byte of the frame has come.
func (c *openFrame) empty() bool { return c.bytes == 0 && c.Parts.Count == 0 }

// hold takes bytes, which stay in the queue's memory.
func (c *openFrame) hold(at time.Duration, p []byte) {
	if c.empty() {
		c.FirstAt = at
	}
	c.LastAt = at
	c.pieces = append(c.pieces, p)
	c.bytes += len(p)
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
func (a *assembler) part(c *openFrame, body []byte) {
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

// finish ends the frame, and begins the next one of its stream.
func (a *assembler) finish(c *openFrame, at time.Duration) {
	at = max(at, a.seg.last) // it is numbered now, and time does not run backwards
	r := record{parts: c.Parts}
	r.Lane, r.Exchange, r.Form, r.At, r.Truncated = c.lane, c.exchange, c.form, at, c.Torn
	r.Size = int64(c.Parts.Bytes) + int64(c.bytes)
	if !c.empty() {
		r.Took = max(at-c.FirstAt, 0) // a damaged queue has any times
	}
	a.count(&r, c)
	a.append(&r, c.pieces...)
	a.heads -= len(c.head)
	*c = openFrame{stream: c.stream, form: c.form, pieces: c.pieces[:0]}
}

// count gives the frame to the tally.
func (a *assembler) count(r *record, c *openFrame) {
	f := r.Frame
	f.Seq = a.st.NextSeq
	switch {
	case c.cut:
		f.Raw = c.head
	case c.Parts.Count == 0 && len(c.pieces) == 1:
		f.Raw = c.pieces[0]
	default:
		a.join = append(a.join[:0], c.head...)
		for _, p := range c.pieces {
			a.join = append(a.join, p...)
		}
		f.Raw = a.join
	}
	a.tally.Add(&f)
}

// flush writes what is held of a frame as a part. One of too many parts becomes
// two frames instead.
func (a *assembler) flush(c *openFrame) {
	if c.bytes == 0 {
		return
	}
	if c.Parts.Count == a.most {
		a.finish(c, c.LastAt)
		c.split = true
		return
	}
	a.join = a.join[:0]
	for _, p := range c.pieces {
		a.join = append(a.join, p...)
	}
	a.remember(c, a.join)
	a.part(c, a.join)
	c.pieces, c.bytes = c.pieces[:0], 0
}

// remember keeps of a part what the tally will want.
func (a *assembler) remember(c *openFrame, part []byte) {
	if c.cut {
		return
	}
	had, n := len(c.head), len(part)
	if had+n > headLimit || a.heads+n > headsLimit {
		c.cut = true
		n = max(min(n, headRaw-had), 0)
		c.head = slices.Clone(c.head[:min(had, headRaw)])
	}
	c.head = append(c.head, part[:n]...)
	a.heads += len(c.head) - had
}

// end finishes a frame where it is, if any of it has come.
func (a *assembler) end(c *openFrame, at time.Duration) {
	if !c.empty() {
		a.finish(c, at)
	}
	a.keep(c, false)
}

// endLane finishes the last line of a lane, if it lacks its terminator.
func (a *assembler) endLane(lane tap.Lane) {
	if c := a.begun[stream{lane: lane, line: true}]; c != nil {
		a.end(c, c.LastAt)
	}
}

// endAll finishes all frames that have begun as they are.
func (a *assembler) endAll() {
	for _, c := range a.unfinished() {
		a.end(c, c.LastAt)
	}
}

// tear marks all frames that have begun as lacking bytes.
func (a *assembler) tear() {
	for _, c := range a.begun {
		c.Torn = true
	}
}

// unfinished returns the frames that have begun, in the order in which they were heard
// of last.
func (a *assembler) unfinished() []*openFrame {
	return slices.SortedFunc(maps.Values(a.begun), func(a, b *openFrame) int {
		return cmp.Or(cmp.Compare(a.LastAt, b.LastAt), cmp.Compare(a.exchange, b.exchange), cmp.Compare(a.lane, b.lane))
	})
}

// note adds a lifecycle frame, of an exchange or of the run.
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
// cuts are marked torn. A line that lost bytes ends there. What it lacks of streams is
// counted on the lane lifecycle, so any that is in the middle of a frame may be cut;
// those whose frame ended in it come as pieces before it.
func (a *assembler) gap(at time.Duration, lost [tap.Lanes]lostLane, why string) {
	var frames, bytes uint64
	for lane, l := range lost {
		if c := a.begun[stream{lane: tap.Lane(lane), line: true}]; c != nil && l != (lostLane{}) {
			if !c.empty() {
				c.Torn, l.Frames = true, max(l.Frames, 1)-1
			}
			a.end(c, at)
		}
		bytes, frames = bytes+l.Bytes, frames+l.Frames
	}
	for s, c := range a.begun {
		c.Torn = c.Torn || !s.line
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
	if c := a.begun[stream{lane: tap.Stderr, line: true}]; c != nil && c.bytes > 0 { // a piece is all that stderr promises
		a.end(c, c.LastAt)
	}
	a.st.Open = a.st.Open[:0]
	for _, c := range a.unfinished() {
		a.flush(c)
		a.st.Open = append(a.st.Open, OpenFrame{Exchange: c.exchange, Lane: c.lane, Line: c.line, Form: c.form, Pending: c.Pending})
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
