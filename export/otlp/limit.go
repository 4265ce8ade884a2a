package otlp

import (
	"context"
	"sync"
	"time"
)

// A limit is how long a collector may still be waited for, all requests together.
// There is none before it is set. One request at a time uses it.
type limit struct {
	mu    sync.Mutex
	set   bool
	left  time.Duration
	since time.Time // when the request that runs began to count
	timer *time.Timer
	stop  context.CancelFunc // of the request that runs, nil between two
}

// begin returns the context of a request, and what is to be called at its end.
func (l *limit) begin() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop = cancel
	l.count()
	return ctx, l.end
}

func (l *limit) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
		l.left -= time.Since(l.since)
	}
	l.stop()
	l.stop = nil
}

// start sets it.
func (l *limit) start(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.set {
		l.set, l.left = true, d
		l.count()
	}
}

// count begins to count, if there is something to count.
func (l *limit) count() {
	switch {
	case !l.set || l.stop == nil:
	case l.left <= 0:
		l.stop()
	default:
		l.since, l.timer = time.Now(), time.AfterFunc(l.left, l.stop)
	}
}
