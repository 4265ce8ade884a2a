package tap

import (
	"fmt"
	"sync/atomic"
)

// A Recorder takes what crosses a tap. It copies the bytes that it is given
// and keeps none of the caller's memory.
//
// A tap calls it before it forwards the bytes in question (law 3): whatever a
// peer can react to has been handed over before the peer could see it.
//
// Methods may be called from several goroutines at once, but the calls for one
// lane of one exchange must come one after another. No method fails: a recorder
// that cannot record counts what it missed. Each may wait while the queue to the
// store is full and the store is alive.
type Recorder interface {
	// Chunk records the next bytes of a lane of stdio, as they were read. An
	// empty p ends the lane, so that a last line without its terminator is a
	// frame too.
	Chunk(lane Lane, p []byte)
	// Piece adds bytes to the current frame of a lane of an exchange, cut
	// already: what is recorded of HTTP is not what is forwarded, since transfer
	// codings are undone and secrets masked. The first piece decides on the
	// frame's form. End reports that they are its last; p may be empty then, and
	// if it is all of the frame, the frame is. A frame that was begun and never
	// ended is recorded as it is when the recording is closed.
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

// Guard returns a recorder that never panics, so that nothing that next does can
// stop the traffic. The first panic in next, a fault in its mapped memory included,
// ends the recording: next gets a gap event if it can still take one, and nothing
// after that, and warn, if set, is called with a message for a person. A nil next
// records nothing.
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
		g.warn(fmt.Sprintf("recording stopped, traffic goes on: %v", reason))
	}
}
