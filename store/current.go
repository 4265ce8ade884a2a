package store

import (
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap"
)

const (
	// headLimit is up to which length the parts of a frame are kept for the
	// tally, and headsLimit those of all frames together, of which there may be
	// thousands. Of a longer frame the tally gets the beginning.
	headLimit  = 16 << 20
	headsLimit = 64 << 20
)

// A current is the frame that a lane of stdio or a stream is in the middle of:
// what of it is still in the queue's memory, and what is known of its parts.
type current struct {
	stream // its exchange is 0 on stdio
	form   tap.Form
	Pending

	pieces [][]byte
	bytes  int
	head   []byte // all of its parts, or with cut the beginning
	cut    bool
	split  bool // what came before is a frame of its own: see flush
	// bucket is where its parts go in a batch.
	batch, bucket uint64
}

// empty reports whether no byte of the frame has come.
func (c *current) empty() bool { return c.bytes == 0 && c.Parts.Count == 0 }

// hold takes bytes, which stay in the queue's memory.
func (c *current) hold(at time.Duration, p []byte) {
	if c.empty() {
		c.FirstAt = at
	}
	c.LastAt = at
	c.pieces = append(c.pieces, p)
	c.bytes += len(p)
}

// finish ends the frame, and begins the next one of its stream.
func (a *assembler) finish(c *current, at time.Duration) {
	at = max(at, a.seg.last) // it is numbered now, and time does not run backwards
	r := record{parts: c.Parts}
	r.Lane, r.Exchange, r.Form, r.At, r.Truncated = c.lane, c.exchange, c.form, at, c.Torn
	r.Size = int64(c.Parts.Bytes) + int64(c.bytes)
	if !c.empty() {
		r.Took = max(at-c.FirstAt, 0) // what a damaged queue says may not fit
	}
	a.count(&r, c)
	a.append(&r, c.pieces...)
	a.heads -= len(c.head)
	*c = current{stream: c.stream, form: c.form, pieces: c.pieces[:0]}
}

// count gives the frame to the tally.
func (a *assembler) count(r *record, c *current) {
	f := r.Frame
	f.Seq = a.st.NextSeq
	switch {
	case c.Parts.Count == 0 && len(c.pieces) == 1:
		f.Raw = c.pieces[0]
		a.tally.Add(&f)
	case !c.cut:
		a.join = append(a.join[:0], c.head...)
		for _, p := range c.pieces {
			a.join = append(a.join, p...)
		}
		f.Raw = a.join
		a.tally.Add(&f)
	default:
		f.Raw = c.head
		a.tally.Add(&f)
	}
}

// flush writes what is held of a frame as a part. One of too many parts becomes
// two frames instead.
func (a *assembler) flush(c *current) {
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
func (a *assembler) remember(c *current, part []byte) {
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
