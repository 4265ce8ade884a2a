//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"time"

	"github.com/mcptap/mcptap/tap"
)

var (
	// patience is how long the client may take nothing of what is left of a
	// server that was asked to end, before the tap ends as well.
	patience = time.Second
	// askedLimit is how long after such a signal the end of a server is still
	// put down to it. Those who send one send SIGKILL next, 10 seconds later at
	// most: a server that lives on had other reasons to end.
	askedLimit = 10 * time.Second
)

// wasAsked reports whether the server, which ended now, ended because somebody
// wanted it to. Without a tap it would be gone, whatever its client had read.
func (s *server) wasAsked(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status.Signaled() && asksToEnd(s.status.Signal()) {
		return true
	}
	return !s.asked.IsZero() && now.Sub(s.asked) < askedLimit
}

// A stall watches for receivers that have stopped to take what is written to
// them.
type stall struct {
	limited bool // how long they may is limited
	seen    [3]mark
	moved   time.Time // when seen was new
	looked  time.Time
}

// A mark changes when a pump gets on. It is zero while the pump does not wait
// for its receiver.
type mark struct {
	reads int64
	trace trace
}

// step takes the marks of all lanes and reports whether none has changed for
// longer than patience.
func (s *stall) step(now time.Time, marks [3]mark) bool {
	if marks == ([3]mark{}) || marks != s.seen || s.moved.IsZero() {
		s.seen, s.moved = marks, now
	}
	return now.Sub(s.moved) >= patience
}

// lookForStall makes the tap end without a client that has stopped to read the
// output of a server that was asked to end. One that reads, however slowly, is
// waited for.
func (r *run) lookForStall() {
	now := time.Now()
	if !r.wait.limited || now.Sub(r.wait.looked) < patience/20 {
		return
	}
	r.wait.looked = now
	var marks [3]mark
	for i, p := range r.pumps {
		if p.lane == tap.ToServer || p.state.Load() != stateWriting {
			continue
		}
		f, _ := p.dst.(fd)
		// The number of reads is never zero here.
		marks[i] = mark{p.reads.Load(), traceOf(f)}
	}
	if r.wait.step(now, marks) {
		r.srv.hurry.Store(true)
	}
}

// noteUnread records which lanes end with bytes that their receiver did not
// take. How many those are is not known.
func (r *run) noteUnread() {
	for _, p := range r.pumps {
		if p.lane != tap.ToServer && p.state.Load() == stateWriting {
			r.rec.Event(0, tap.Event{Name: tap.EventBroken, Lane: p.lane.String(),
				Error: "not all was read before the tap had to end"})
		}
	}
}
