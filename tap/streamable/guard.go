package streamable

import (
	"fmt"
	"sync/atomic"

	"github.com/mcptap/mcptap/tap"
)

// A guard stands between the lanes and the recorder, so that nothing that the
// recorder does can stop the traffic. The first panic in it, a fault in its
// mapped memory included, puts one that records nothing in its place.
type guard struct {
	cur  atomic.Pointer[slot]
	warn func(string)
}

// A slot holds one recorder. Its address tells one that failed from the one
// that took over.
type slot struct{ tap.StreamRecorder }

// discard records nothing.
type discard struct{}

func (discard) Piece(uint64, tap.Lane, tap.Form, []byte, bool) {}
func (discard) Event(uint64, tap.Event)                        {}

func newGuard(rec tap.StreamRecorder, warn func(string)) *guard {
	if rec == nil {
		rec = discard{}
	}
	if warn == nil {
		warn = func(string) {}
	}
	g := &guard{warn: warn}
	g.cur.Store(&slot{rec})
	return g
}

// Piece implements [tap.StreamRecorder].
func (g *guard) Piece(exchange uint64, lane tap.Lane, form tap.Form, p []byte, end bool) {
	s := g.cur.Load()
	defer g.catch(s)
	s.Piece(exchange, lane, form, p, end)
}

// Event implements [tap.StreamRecorder].
func (g *guard) Event(exchange uint64, e tap.Event) {
	s := g.cur.Load()
	defer g.catch(s)
	s.Event(exchange, e)
}

// catch is deferred around every call of the recorder in s.
func (g *guard) catch(s *slot) {
	if v := recover(); v != nil {
		g.fail(s, v)
	}
}

// fail replaces the recorder in s, once.
func (g *guard) fail(s *slot, reason any) {
	if !g.cur.CompareAndSwap(s, &slot{discard{}}) {
		return
	}
	// Its last chance to say itself that something is missing.
	func() {
		defer func() { _ = recover() }()
		s.Event(0, tap.Event{Name: tap.EventGap, Error: fmt.Sprint(reason)})
	}()
	g.warn(fmt.Sprintf("recording stopped, traffic goes on: %v", reason))
}
