package stdio

import (
	"fmt"
	"sync/atomic"

	"github.com/mcptap/mcptap/tap"
)

// A guard stands between the pumps and the recorder, so that nothing that the
// recorder does can stop the traffic. The first panic in it, a fault in its
// mapped memory included, puts a [tap.Discard] in its place for all lanes.
type guard struct {
	cur  atomic.Pointer[slot]
	warn func(string)
}

// A slot holds one recorder. Its address tells one that failed from the one
// that took over.
type slot struct {
	tap.Recorder
	spare bool
}

func newGuard(cfg *Config, pid int) *guard {
	rec, failure := cfg.recorder(pid)
	g := &guard{warn: cfg.Warn}
	s := &slot{Recorder: rec}
	g.cur.Store(s)
	if failure != nil {
		g.fail(s, failure)
	}
	return g
}

// Room returns memory for the next read, whatever becomes of the recorder.
func (g *guard) Room(lane tap.Lane) []byte {
	for {
		s := g.cur.Load()
		if room := g.room(s, lane); len(room) > 0 {
			return room
		}
		// A read into no memory looks like the end of the stream.
		g.fail(s, "the recorder lent no memory")
	}
}

func (g *guard) room(s *slot, lane tap.Lane) []byte {
	defer g.catch(s)
	return s.Room(lane)
}

func (g *guard) Record(lane tap.Lane, n int) {
	s := g.cur.Load()
	defer g.catch(s)
	s.Record(lane, n)
}

func (g *guard) End(lane tap.Lane) {
	s := g.cur.Load()
	defer g.catch(s)
	s.End(lane)
}

func (g *guard) Note(e tap.Event) {
	s := g.cur.Load()
	defer g.catch(s)
	s.Note(e)
}

// copyIn records bytes that had to be read into other memory.
func (g *guard) copyIn(lane tap.Lane, b []byte) {
	for len(b) > 0 {
		room := g.Room(lane)
		s := g.cur.Load()
		n := g.copy(s, room, b)
		if n == 0 {
			return // failed over, nothing records any more
		}
		g.Record(lane, n)
		b = b[n:]
	}
}

func (g *guard) copy(s *slot, room, b []byte) (n int) {
	defer func() {
		if recover() != nil {
			g.fail(s, "the memory that the recorder lent is gone")
		}
	}()
	return copy(room, b)
}

// catch is deferred around every call of the recorder in s.
func (g *guard) catch(s *slot) {
	if v := recover(); v != nil {
		g.fail(s, v)
	}
}

// fail replaces the recorder in s, once.
func (g *guard) fail(s *slot, reason any) {
	if s.spare || !g.cur.CompareAndSwap(s, &slot{Recorder: new(tap.Discard), spare: true}) {
		return
	}
	// Its last chance to say itself that something is missing.
	func() {
		defer func() { _ = recover() }()
		s.Note(tap.Event{Name: tap.EventGap, Error: fmt.Sprint(reason)})
	}()
	if g.warn != nil {
		g.warn(fmt.Sprintf("recording stopped, traffic goes on: %v", reason))
	}
}
