// Package record redacts what a tap records, between the tap and its recorder. No
// secret that package redact finds reaches the queue of the store, which is on disk.
// Forwarded bytes are not changed.
//
// A secret may be anywhere in a frame, so a frame is recorded when it is complete: a
// line or an HTTP body at its end. Its time is then that of its last byte, and the
// duration of its arrival is unknown. Incomplete frames are lost when the tap is killed.
// A frame longer than [MaxFrame], or beyond the memory for all frames ([MaxHeld]), is
// withheld: only this fact is recorded.
package record

import (
	"bytes"
	"sync"

	"github.com/mcptap/mcptap/redact"
	"github.com/mcptap/mcptap/tap"
)

// MaxFrame is the maximum number of bytes of an incomplete frame that are held, and
// MaxHeld the maximum for all streams together.
const (
	MaxFrame = 16 << 20
	MaxHeld  = 64 << 20
)

// A guard serializes the use of a Redactor.
type guard struct {
	mu  sync.Mutex
	r   *redact.Redactor
	seq uint64
}

// frame returns the bytes to record. A panic in the redaction must not end the tap, and
// must not leak a secret either.
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
	if err != nil { // it was an event and is now invalid
		return tap.Event{Name: e.Name}
	}
	return redacted
}

// know adds a value that was masked before it got here.
func (g *guard) know(value string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.r.Know([]byte(value))
}

// A held is an incomplete frame.
type held struct {
	bytes []byte
	form  tap.Form
	// over is the number of bytes beyond MaxFrame or MaxHeld, including those dropped with
	// them.
	over int
}

// add holds bytes if there is room for them.
func (h *held) add(p []byte, room int) {
	if h.over > 0 || len(h.bytes)+len(p) > MaxFrame || len(p) > room {
		h.over += len(h.bytes) + len(p)
		h.bytes = nil
		return
	}
	h.bytes = append(h.bytes, p...)
}

// take returns the bytes to record.
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

// New returns a Recorder that records to next. It takes ownership of the Redactor.
func New(r *redact.Redactor, next tap.Recorder) *Recorder {
	return &Recorder{guard: guard{r: r}, next: next, open: map[stream]*held{}}
}

// Chunk implements [tap.Recorder]. A complete line is recorded before it returns.
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

// line records the line of a lane that p completes.
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

// add holds bytes of the frame of a stream. At the end of the frame it returns the bytes to
// record and the form of its first bytes.
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

// Flush records the incomplete frames. It must be called before the recording is closed.
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
