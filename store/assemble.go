package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

const (
	// segmentTarget is the size in bytes at which a segment is closed. A larger
	// segment compresses better, as repeated content is more often in the same
	// segment.
	segmentTarget = 1 << 20
	// tailLimit is the size below which the last segment of a commit stays open, to be
	// replaced by a longer one at the next commit.
	tailLimit = 32 << 10
)

// An assembler turns the chunks of the queue into segments and parts. Its state after a
// batch is in st and tally, which the batch carries: no chunk stays in memory between
// commits.
type assembler struct {
	st    state
	tally session.Tally

	begun map[stream]*openFrame // streams in the middle of a frame
	heads int                   // bytes of all heads
	most  uint64                // maximum number of parts of a frame

	seg   segment
	open  bool   // seg is neither empty nor closed
	put   int    // number of frames of seg that are in a batch
	name  uint64 // bucket of seg
	out   batch
	batch uint64 // counts the batches
}

const (
	// headLimit is the maximum length of the parts of a frame that are kept for
	// the tally, and headsLimit that of all frames together, of which there may
	// be thousands. Of a longer frame, the tally gets the beginning.
	headLimit  = 16 << 20
	headsLimit = 64 << 20
)

// An openFrame is an incomplete frame: its bytes in the memory of the queue, and what is
// known of its parts.
type openFrame struct {
	stream
	form tap.Form
	pending

	cutter tap.Splitter // of a line
	pieces [][]byte
	bytes  int
	head   []byte // all of its parts, or their beginning if cut is set
	cut    bool
	split  bool // its beginning became a frame of its own, see flush
	// bucket is the bucket of its parts in a batch.
	batch, bucket uint64
}

// A batch is the content of one commit.
type batch struct {
	buf    []byte
	values []value
	state  []byte
	tally  []byte
	end    *End // not nil in the last batch
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

// begin starts a batch. A short last segment is continued.
func (a *assembler) begin() {
	a.out.buf, a.out.values, a.out.end = a.out.buf[:0], a.out.values[:0], nil
	a.batch++
	if a.open && a.seg.size() >= tailLimit {
		a.open = false
	}
}

// current returns the open frame of a stream, or a new one. keep must be called for it.
func (a *assembler) current(s stream, form tap.Form, flags uint8) *openFrame {
	c := a.begun[s]
	if c == nil {
		c = &openFrame{stream: s, form: form}
		c.Truncated = flags&pieceMore != 0 // its beginning is missing
	}
	c.Truncated = c.Truncated || flags&pieceTruncated != 0
	return c
}

// keep keeps the frame if it is incomplete.
func (a *assembler) keep(c *openFrame, mid bool) {
	if mid {
		a.begun[c.stream] = c
	} else {
		delete(a.begun, c.stream)
	}
}

// chunk adds the bytes of a lane that crossed at an offset.
func (a *assembler) chunk(lane tap.Lane, flags uint8, at time.Duration, p []byte) {
	if lane == tap.Stderr {
		flags = 0 // chunks do not end with lines
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

// piece adds bytes of the current frame of a stream.
func (a *assembler) piece(s stream, form tap.Form, flags uint8, at time.Duration, p []byte) {
	c := a.current(s, form, flags)
	if len(p) == 0 && !c.empty() {
		at = c.LastAt // the previous bytes were the last
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

// empty reports whether the frame has no bytes.
func (c *openFrame) empty() bool { return c.bytes == 0 && c.Parts.Count == 0 }

// hold adds bytes, which stay in the memory of the queue.
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
		a.open, a.put = true, 0
		if !slices.ContainsFunc(a.out.values, func(v value) bool { return !v.part }) { // one bucket per commit
			a.name = r.Seq
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

// part writes bytes of an incomplete frame as its next part.
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
	at = max(at, a.seg.last) // offsets must not decrease with frame numbers
	r := record{parts: c.Parts}
	r.Lane, r.Exchange, r.Form, r.At, r.Truncated = c.lane, c.exchange, c.form, at, c.Truncated
	r.Size = int64(c.Parts.Bytes) + int64(c.bytes)
	if !c.empty() {
		r.Took = max(at-c.FirstAt, 0) // the times of a damaged queue are arbitrary
	}
	a.count(&r, c)
	a.append(&r, c.pieces...)
	a.heads -= len(c.head)
	*c = openFrame{stream: c.stream, form: c.form, pieces: c.pieces[:0]}
}

// count adds the frame to the tally.
func (a *assembler) count(r *record, c *openFrame) {
	f := r.Frame
	f.Seq = a.st.NextSeq
	switch {
	case c.cut:
		f.Raw = c.head
	case c.Parts.Count == 0 && len(c.pieces) == 1:
		f.Raw = c.pieces[0]
	default:
		f.Raw = bytes.Join(append([][]byte{c.head}, c.pieces...), nil)
	}
	a.tally.Add(&f)
}

// flush writes the held bytes of a frame as a part. A frame with too many parts is split
// into two frames.
func (a *assembler) flush(c *openFrame) {
	if c.bytes == 0 {
		return
	}
	if c.Parts.Count == a.most {
		a.finish(c, c.LastAt)
		c.split = true
		return
	}
	part := bytes.Join(c.pieces, nil)
	a.remember(c, part)
	a.part(c, part)
	c.pieces, c.bytes = c.pieces[:0], 0
}

// remember keeps the beginning of a part for the tally.
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

// end finishes a frame as it is, unless it is empty.
func (a *assembler) end(c *openFrame, at time.Duration) {
	if !c.empty() {
		a.finish(c, at)
	}
	a.keep(c, false)
}

// endLane finishes the last line of a lane if it has no terminator.
func (a *assembler) endLane(lane tap.Lane) {
	if c := a.begun[stream{lane: lane, line: true}]; c != nil {
		a.end(c, c.LastAt)
	}
}

// endAll finishes all incomplete frames as they are.
func (a *assembler) endAll() {
	for _, c := range a.unfinished() {
		a.end(c, c.LastAt)
	}
}

// truncate marks all incomplete frames as truncated.
func (a *assembler) truncate() {
	for _, c := range a.begun {
		c.Truncated = true
	}
}

// unfinished returns the incomplete frames, ordered by their last bytes.
func (a *assembler) unfinished() []*openFrame {
	return slices.SortedFunc(maps.Values(a.begun), func(a, b *openFrame) int {
		return cmp.Or(cmp.Compare(a.LastAt, b.LastAt), cmp.Compare(a.exchange, b.exchange), cmp.Compare(a.lane, b.lane))
	})
}

// note adds a lifecycle frame of an exchange or of the run.
func (a *assembler) note(exchange uint64, at time.Duration, payload []byte) {
	r := record{}
	r.Lane, r.Exchange, r.At, r.Size = tap.Lifecycle, exchange, at, int64(len(payload))
	f := r.Frame
	f.Seq, f.Raw = a.st.NextSeq, payload
	a.tally.Add(&f)
	a.append(&r, payload)
}

// gap accounts for bytes that crossed unrecorded. The frames entirely in the gap keep their
// numbers, so that they can be named as missing; partly lost frames are marked as
// truncated. A line that lost bytes ends there. Bytes lost in HTTP streams are counted on
// lane lifecycle, so any of their incomplete frames may be truncated; the ends of those
// that ended in the gap are pieces before it.
func (a *assembler) gap(at time.Duration, lost [tap.Lanes]lostLane, why string) {
	var frames, bytes uint64
	for lane, l := range lost {
		if c := a.begun[stream{lane: tap.Lane(lane), line: true}]; c != nil && l != (lostLane{}) {
			if !c.empty() {
				c.Truncated, l.Frames = true, max(l.Frames, 1)-1
			}
			a.end(c, at)
		}
		bytes, frames = bytes+l.Bytes, frames+l.Frames
	}
	for s, c := range a.begun {
		c.Truncated = c.Truncated || !s.line
	}
	e := tap.Event{Name: tap.EventGap, Bytes: bytes, Error: why}
	if frames > 0 {
		e.From, e.To = a.st.NextSeq, a.st.NextSeq+frames-1
		a.skip(e.To + 1)
	}
	a.note(0, at, e.Encode())
}

// skip leaves out the frame numbers up to the next one, as a gap.
func (a *assembler) skip(next uint64) {
	a.st.Gaps = append(a.st.Gaps, tap.Range{From: a.st.NextSeq, To: next - 1})
	if a.open { // numbers in a segment are consecutive
		a.closeSegment()
	}
	a.st.NextSeq = next
}

// commit ends the batch. Incomplete frames become parts, so that the memory of every chunk
// can be reused.
func (a *assembler) commit(next uint64) *batch {
	if c := a.begun[stream{lane: tap.Stderr, line: true}]; c != nil && c.bytes > 0 { // stderr may be split anywhere
		a.end(c, c.LastAt)
	}
	a.st.Open = a.st.Open[:0]
	for _, c := range a.unfinished() {
		a.flush(c)
		a.st.Open = append(a.st.Open, unended{Exchange: c.exchange, Lane: c.lane, Line: c.line, Form: c.form, pending: c.pending})
	}
	if a.open && a.put != a.seg.count {
		a.putSegment()
	}
	a.st.Ticket, a.st.LastAt = next, a.seg.last
	a.out.state, a.out.tally = mustJSON(&a.st), mustJSON(&a.tally)
	return &a.out
}

// after makes a new assembler continue after another one, in an empty file.
func (a *assembler) after(st state) {
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
	if err != nil { // cannot happen
		panic(err)
	}
	return b
}
