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

// A stall watches for receivers that have stopped taking what is written to them.
type stall struct {
	limited bool     // how long they may take is limited
	seen    [3]int64 // how often each pump has read that waits for its receiver now
	moved   time.Time
}

// step takes the reads of the pumps that wait for their receivers, 0 for the others,
// and reports whether none has got on for longer than patience.
func (s *stall) step(now time.Time, reads [3]int64) bool {
	if reads == ([3]int64{}) || reads != s.seen || s.moved.IsZero() {
		s.seen, s.moved = reads, now
	}
	return now.Sub(s.moved) >= patience
}

// lookForStall makes the tap end without a client that has stopped reading the
// output of a server that was asked to end. One that takes what a pump reads at once
// within patience, 64 KiB at most, is waited for.
func (r *run) lookForStall() {
	if !r.wait.limited {
		return
	}
	var reads [3]int64
	for i, p := range r.pumps {
		if p.lane != tap.ToServer && p.state.Load() == stateWriting {
			reads[i] = p.reads.Load() // not 0 here
		}
	}
	if r.wait.step(time.Now(), reads) {
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
