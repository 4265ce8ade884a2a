package demo

import (
	"context"
	"sync"
	"time"
)

// turns keeps calls that overtake one another in order. Timers alone would do
// so on a machine with nothing else to do.
type turns struct {
	mu      sync.Mutex
	working map[time.Duration]int // how many calls there are, by what they take
	changed chan struct{}         // closed and replaced when one ends
}

func newTurns() *turns {
	return &turns{working: map[time.Duration]int{}, changed: make(chan struct{})}
}

func (t *turns) begin(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.working[d]++
}

func (t *turns) end(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.working[d]--
	close(t.changed)
	t.changed = make(chan struct{})
}

// shorter says whether a call is at work that takes less than d, and gives
// what is closed when that may have changed.
func (t *turns) shorter(d time.Duration) (bool, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for other, n := range t.working {
		if n > 0 && other < d {
			return true, t.changed
		}
	}
	return false, t.changed
}

// afterYou is how long a call still counts after its work has ended. It
// answers in that time.
const afterYou = 50 * time.Millisecond

// work takes d, and longer while a shorter work is under way.
func (s *server) work(ctx context.Context, d time.Duration) error {
	s.turns.begin(d)
	defer time.AfterFunc(afterYou, func() { s.turns.end(d) })
	if err := s.pause(ctx, d); err != nil {
		return err
	}
	for {
		busy, changed := s.turns.shorter(d)
		if !busy {
			return nil
		}
		if err := s.wait(ctx, sweepLimit, changed); err != nil {
			return err
		}
	}
}
