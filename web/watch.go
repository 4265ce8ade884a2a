package web

import (
	"context"
	"sync/atomic"
	"time"
)

// forgotten is after how long without a request nobody looks any more. A page
// that shows the list asks at least every eight seconds, one that shows a
// recording has a socket open.
const forgotten = 10 * time.Second

// A watch knows whether anybody looks.
type watch struct {
	busy atomic.Int64 // requests and sockets that are open
	last atomic.Int64 // when one of them ended, in Unix nanoseconds
}

// begin notes a request, and returns what notes its end.
func (w *watch) begin() (end func()) {
	w.busy.Add(1)
	return func() {
		w.last.Store(time.Now().UnixNano())
		w.busy.Add(-1)
	}
}

// looks reports whether anybody looks, or did so a moment ago.
func (w *watch) looks(now time.Time) bool {
	return w.busy.Load() > 0 || now.Sub(time.Unix(0, w.last.Load())) < forgotten
}

// WaitUnwatched returns when nobody has looked for some seconds, or ctx has
// ended. Whoever has just been told the URL has that long to open it.
func (s *Server) WaitUnwatched(ctx context.Context) {
	s.watch.begin()()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for s.watch.looks(time.Now()) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
