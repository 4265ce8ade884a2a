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

// room is how much memory a lane's reads get.
const room = 256 << 10

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

// take returns what is held, and holds nothing any more.
func (h *held) take(g *guard, lane tap.Lane) []byte {
	defer func() { *h = held{bytes: h.bytes[:0], form: h.form} }()
	if h.over > 0 {
		return redact.Withheld(int64(h.over))
	}
	return g.frame(lane, h.form, h.bytes)
}

// A Recorder is a [tap.Recorder] that redacts lines.
type Recorder struct {
	guard guard
	next  tap.Recorder
	lanes [tap.Lanes]struct {
		room []byte
		used int
		held held
	}
}

// New returns a Recorder in front of another. The Redactor is its own then.
func New(r *redact.Redactor, next tap.Recorder) *Recorder {
	return &Recorder{guard: guard{r: r}, next: next}
}

// Room implements [tap.Recorder]: the memory is not the store's.
func (r *Recorder) Room(lane tap.Lane) []byte {
	l := &r.lanes[lane]
	if l.room == nil {
		l.room = make([]byte, room)
	}
	l.used = 0
	return l.room
}

// Record implements [tap.Recorder]. What ends a line is recorded when it returns.
func (r *Recorder) Record(lane tap.Lane, n int) {
	l := &r.lanes[lane]
	p := l.room[l.used : l.used+n]
	l.used += n
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n') + 1
		if end == 0 {
			l.held.add(p, MaxFrame)
			return
		}
		l.held.add(p[:end], MaxFrame)
		r.hand(lane, l.held.take(&r.guard, lane))
		p = p[end:]
	}
}

// hand gives bytes to the next recorder.
func (r *Recorder) hand(lane tap.Lane, p []byte) {
	for len(p) > 0 {
		n := copy(r.next.Room(lane), p)
		r.next.Record(lane, n)
		p = p[n:]
	}
}

// End implements [tap.Recorder].
func (r *Recorder) End(lane tap.Lane) {
	r.hand(lane, r.lanes[lane].held.take(&r.guard, lane))
	r.next.End(lane)
}

// Note implements [tap.Recorder].
func (r *Recorder) Note(e tap.Event) { r.next.Note(r.guard.event(e)) }

// A stream is one lane of one exchange.
type stream struct {
	exchange uint64
	lane     tap.Lane
}

// A StreamRecorder is a [tap.StreamRecorder] that redacts.
type StreamRecorder struct {
	guard guard
	next  tap.StreamRecorder

	mu    sync.Mutex
	open  map[stream]*held
	total int // bytes held
}

// NewStream returns a StreamRecorder in front of another.
func NewStream(r *redact.Redactor, next tap.StreamRecorder) *StreamRecorder {
	return &StreamRecorder{guard: guard{r: r}, next: next, open: map[stream]*held{}}
}

// Piece implements [tap.StreamRecorder].
func (r *StreamRecorder) Piece(exchange uint64, lane tap.Lane, form tap.Form, p []byte, end bool) {
	key := stream{exchange, lane}
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
	if end {
		r.next.Piece(exchange, lane, h.form, h.take(&r.guard, lane), true)
	}
}

// Event implements [tap.StreamRecorder].
func (r *StreamRecorder) Event(exchange uint64, e tap.Event) {
	r.next.Event(exchange, r.guard.event(e))
}

// Flush hands on the frames that were begun and never ended, before the recording
// is closed.
func (r *StreamRecorder) Flush() {
	r.mu.Lock()
	open := r.open
	r.open, r.total = map[stream]*held{}, 0
	r.mu.Unlock()
	for key, h := range open {
		r.next.Piece(key.exchange, key.lane, h.form, h.take(&r.guard, key.lane), true)
	}
}
