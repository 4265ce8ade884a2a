package demo

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"
)

// turns keeps calls that overtake one another in order. Timers alone would do
// so on a machine with nothing else to do.
type turns struct {
	mu      sync.Mutex
	working map[time.Duration]int // how many calls there are, by what they take
	done    []time.Duration       // of those, what is to be answered next
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

// end ends the work of a call: at once if it has failed, else with its answer.
func (t *turns) end(d time.Duration, failed bool) {
	t.mu.Lock()
	t.done = append(t.done, d)
	t.mu.Unlock()
	if failed {
		t.written()
	}
}

// written says that an answer has been written.
func (t *turns) written() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range t.done {
		t.working[d]--
	}
	t.done = nil
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

// work takes d, and longer while a shorter work is under way. A work counts as such
// until its answer has been written.
func (s *server) work(ctx context.Context, d time.Duration) (err error) {
	s.turns.begin(d)
	defer func() { s.turns.end(d, err != nil) }()
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

// A turnWriter writes messages, one at a time, and ends the turns of the calls that
// wait for their answers to be written.
type turnWriter struct {
	io.WriteCloser
	turns *turns
}

func (w turnWriter) Write(p []byte) (int, error) {
	n, err := w.WriteCloser.Write(p)
	if bytes.Contains(p, []byte(`"result":`)) {
		w.turns.written()
	}
	return n, err
}
