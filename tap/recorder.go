package tap

import (
	"fmt"
	"sync/atomic"
)

// A Recorder records the traffic of a tap. It copies the bytes that it is given.
//
// A tap calls it before it forwards the bytes (law 3), so a peer can only react to what has
// been recorded.
//
// Methods may be called concurrently, but not for the same lane of the
// same exchange. No method fails: a recorder that cannot record counts the losses. Each
// may block while the queue to the store is full and the store is working.
type Recorder interface {
	// Chunk records the next bytes of a lane of stdio, as they were read. An
	// empty p ends the lane, so that a last line without its terminator is a
	// frame too.
	Chunk(lane Lane, p []byte)
	// Piece adds bytes to the current frame of a lane of an exchange. What is recorded
	// of HTTP is not what is forwarded, since transfer codings are removed and secrets
	// masked. The first piece determines the form of the frame. End reports that these
	// are its last bytes; p may be empty then, and so may the frame. A frame that was
	// never ended is recorded as it is when the recording is closed.
	Piece(exchange uint64, lane Lane, form Form, p []byte, end bool)
	// Event records an event of an exchange, or of the run where exchange is 0.
	Event(exchange uint64, e Event)
}

// Discard is a [Recorder] that records nothing.
type Discard struct{}

// Chunk implements [Recorder].
func (Discard) Chunk(Lane, []byte) {}

// Piece implements [Recorder].
func (Discard) Piece(uint64, Lane, Form, []byte, bool) {}

// Event implements [Recorder].
func (Discard) Event(uint64, Event) {}

// Guard returns a recorder that never panics, so that next cannot stop the traffic. The
// first panic in next, which may be a fault in its mapped memory, ends the recording: next
// gets a gap event, if it can record one, and nothing after that, and warn, if set, is
// called with a message for the user. A nil next records nothing.
func Guard(next Recorder, warn func(string)) Recorder {
	if next == nil {
		next = Discard{}
	}
	return &guard{next: next, warn: warn}
}

type guard struct {
	next   Recorder
	failed atomic.Bool
	warn   func(string)
}

func (g *guard) Chunk(lane Lane, p []byte) {
	defer g.catch()
	if !g.failed.Load() {
		g.next.Chunk(lane, p)
	}
}

func (g *guard) Piece(exchange uint64, lane Lane, form Form, p []byte, end bool) {
	defer g.catch()
	if !g.failed.Load() {
		g.next.Piece(exchange, lane, form, p, end)
	}
}

func (g *guard) Event(exchange uint64, e Event) {
	defer g.catch()
	if !g.failed.Load() {
		g.next.Event(exchange, e)
	}
}

// catch is deferred around every call of next.
func (g *guard) catch() {
	reason := recover()
	if reason == nil || !g.failed.CompareAndSwap(false, true) {
		return
	}
	func() {
		defer func() { _ = recover() }()
		g.next.Event(0, Event{Name: EventGap, Error: fmt.Sprint(reason)})
	}()
	if g.warn != nil {
		g.warn(fmt.Sprintf("recording stopped, traffic continues: %v", reason))
	}
}
