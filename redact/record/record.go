// Package record stands between a tap and its recorder and redacts what is
// recorded: no secret that package redact finds ever reaches the store's queue,
// which is on the disk. What is forwarded is not touched.
//
// A secret may be anywhere in a frame, so a frame is handed on when it is whole: a
// line at its end, an HTTP body at its end. Its time is then that of its last
// byte, and how long it took to arrive is not known. What was not whole when the
// tap was killed is lost. Of a frame longer than [MaxFrame], or for which there is no
// room beside others (see [MaxHeld]), only that is recorded that it was withheld.
package record

import (
	"bytes"
	"sync"

	"github.com/mcptap/mcptap/redact"
	"github.com/mcptap/mcptap/tap"
)

// MaxFrame is how many bytes of a frame are held until it is whole, and MaxHeld how many
// of the frames of all streams together.
const (
	MaxFrame = 16 << 20
	MaxHeld  = 64 << 20
)

// A guard is a Redactor for several goroutines.
type guard struct {
	mu  sync.Mutex
	r   *redact.Redactor
	seq uint64
}

// frame returns the bytes to record. A fault in the redaction must not end the
// tap, and must not let a secret through either.
func (g *guard) frame(lane tap.Lane, form tap.Form, raw []byte) (out []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer func() {
		if recover() != nil {
			out = redact.Withheld(int64(len(raw)))
		}
	}()
	g.seq++
	return g.r.Frame(&tap.Frame{Seq: g.seq, Lane: lane, Form: form, Raw: raw})
}

func (g *guard) event(e tap.Event) tap.Event {
	raw := e.Encode()
	out := g.frame(tap.Lifecycle, tap.FormLine, raw)
	if bytes.Equal(out, raw) {
		return e
	}
	redacted, err := tap.ParseEvent(out)
	if err != nil { // it was an event, and has other texts now
		return tap.Event{Name: e.Name}
	}
	return redacted
}

// A held frame is one that is not whole yet.
type held struct {
	bytes []byte
	form  tap.Form
	// over counts what came beyond MaxFrame or MaxHeld, and what was dropped with it.
	over int
}

// add holds bytes, if there is room for them.
func (h *held) add(p []byte, room int) {
	if h.over > 0 || len(h.bytes)+len(p) > MaxFrame || len(p) > room {
		h.over += len(h.bytes) + len(p)
		h.bytes = nil
		return
	}
	h.bytes = append(h.bytes, p...)
}

// take returns what is to be recorded of what is held.
func (h *held) take(g *guard, lane tap.Lane) []byte {
	if h.over > 0 {
		return redact.Withheld(int64(h.over))
	}
	return g.frame(lane, h.form, h.bytes)
}

// A stream is one lane of one exchange, or of stdio, whose exchange is 0.
type stream struct {
	exchange uint64
	lane     tap.Lane
}

// A Recorder is a [tap.Recorder] that redacts.
type Recorder struct {
	guard guard
	next  tap.Recorder

	mu    sync.Mutex
	open  map[stream]*held
	total int // bytes held
}

// New returns a Recorder in front of another. The Redactor is its own then.
func New(r *redact.Redactor, next tap.Recorder) *Recorder {
	return &Recorder{guard: guard{r: r}, next: next, open: map[stream]*held{}}
}

// Chunk implements [tap.Recorder]. What ends a line is recorded when it returns.
func (r *Recorder) Chunk(lane tap.Lane, p []byte) {
	last := len(p) == 0
	for len(p) > 0 {
		n := bytes.IndexByte(p, '\n') + 1
		if n == 0 {
			r.add(stream{lane: lane}, tap.FormLine, p, false)
			return
		}
		r.line(lane, p[:n])
		p = p[n:]
	}
	if last {
		r.line(lane, nil)
		r.next.Chunk(lane, nil)
	}
}

// line hands on the line of a lane that p ends.
func (r *Recorder) line(lane tap.Lane, p []byte) {
	if out, _ := r.add(stream{lane: lane}, tap.FormLine, p, true); len(out) > 0 {
		r.next.Chunk(lane, out)
	}
}

// Piece implements [tap.Recorder].
func (r *Recorder) Piece(exchange uint64, lane tap.Lane, form tap.Form, p []byte, end bool) {
	if out, form := r.add(stream{exchange, lane}, form, p, end); end {
		r.next.Piece(exchange, lane, form, out, true)
	}
}

// add holds bytes of a stream's frame. At the frame's end it returns what is to be
// recorded, and the form that its first bytes had.
func (r *Recorder) add(key stream, form tap.Form, p []byte, end bool) ([]byte, tap.Form) {
	r.mu.Lock()
	h := r.open[key]
	if h == nil {
		h = &held{form: form}
		r.open[key] = h
	}
	before := len(h.bytes)
	h.add(p, MaxHeld-r.total)
	r.total += len(h.bytes) - before
	if end {
		delete(r.open, key)
		r.total -= len(h.bytes)
	}
	r.mu.Unlock()
	if !end {
		return nil, h.form
	}
	return h.take(&r.guard, key.lane), h.form
}

// Event implements [tap.Recorder].
func (r *Recorder) Event(exchange uint64, e tap.Event) {
	r.next.Event(exchange, r.guard.event(e))
}

// Flush hands on the frames that were begun and never ended, before the recording
// is closed.
func (r *Recorder) Flush() {
	r.mu.Lock()
	open := r.open
	r.open, r.total = map[stream]*held{}, 0
	r.mu.Unlock()
	for key, h := range open {
		out := h.take(&r.guard, key.lane)
		switch {
		case key.exchange > 0:
			r.next.Piece(key.exchange, key.lane, h.form, out, true)
		case len(out) > 0:
			r.next.Chunk(key.lane, out)
		}
	}
}
