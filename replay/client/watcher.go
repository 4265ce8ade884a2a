package client

import (
	"slices"
	"sync"

	"github.com/mcptap/mcptap/tap"
)

// A Watcher is a recorder that tells when the tap in front of the server has a
// message of the client's. Over HTTP two messages may go on two connections, of which
// either may be served first; the client waits for the first before it sends the
// second.
type Watcher struct {
	// Recorder takes what crosses.
	tap.Recorder

	mu      sync.Mutex
	waiting []chan struct{}
}

// Piece implements [tap.Recorder].
func (w *Watcher) Piece(exchange uint64, lane tap.Lane, form tap.Form, p []byte, end bool) {
	w.Recorder.Piece(exchange, lane, form, p, end)
	if !end || lane != tap.ToServer {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) > 0 {
		close(w.waiting[0])
		w.waiting = w.waiting[1:]
	}
}

// next returns a channel that is closed when the next message has come.
func (w *Watcher) next() <-chan struct{} {
	c := make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = append(w.waiting, c)
	return c
}

// drop stops waiting for a message that did not come.
func (w *Watcher) drop(c <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = slices.DeleteFunc(w.waiting, func(x chan struct{}) bool { return x == c })
}
