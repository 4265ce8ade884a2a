package web

import (
	"context"
	"sync/atomic"
	"time"
)

// watchedFor is how long after a request a page counts as open. The list of recordings
// polls at least every eight seconds; the page of a recording has a socket.
const watchedFor = 10 * time.Second

// A watch knows whether a page is open.
type watch struct {
	busy atomic.Int64 // open requests and sockets
	last atomic.Int64 // when one of them last ended, in Unix nanoseconds
}

// begin notes a request, and returns the function that notes its end.
func (w *watch) begin() (end func()) {
	w.busy.Add(1)
	return func() {
		w.last.Store(time.Now().UnixNano())
		w.busy.Add(-1)
	}
}

// open reports whether a page is open.
func (w *watch) open(now time.Time) bool {
	return w.busy.Load() > 0 || now.Sub(time.Unix(0, w.last.Load())) < watchedFor
}

// WaitUnwatched returns when no page has been open for some seconds, or ctx ends. That
// leaves time to open a URL that has just been printed.
func (s *Server) WaitUnwatched(ctx context.Context) {
	s.watch.begin()()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for s.watch.open(time.Now()) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
