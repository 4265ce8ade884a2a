package client

import (
	"context"
	"slices"
	"sync"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A Conn carries messages to a server and back. [Stdio], [HTTP] and [WebSocket] make
// one, for one [Play].
type Conn interface {
	// open reaches the server. What comes from it is put into the channel until
	// close.
	open(ctx context.Context, to chan<- event) error
	// post hands a message over. The channel tells once when the server has it, or
	// why it will never have it.
	post(m *outgoing) <-chan error
	// opened says that the session is open, in a revision; standing asks for a stream
	// beside those of requests. It returns when there is one or will be none.
	opened(ctx context.Context, revision jsonrpc.Revision, standing bool)
	// hangUp breaks off the exchange of a message. It is false where messages have
	// no exchanges.
	hangUp(m *outgoing) bool
	// closeSend ends the client's lane, where it can end by itself.
	closeSend()
	// close ends the connection and returns when all is recorded. Killed names the
	// signal that it took to end the server, "" for none.
	close() (killed string)
}

// An event is what a Conn has to tell.
type event struct {
	// raw is a message of the server's.
	raw []byte
	// on is the message on whose exchange it came, nil for none, or the one whose
	// requests will have no answer: then err says why.
	on  *outgoing
	err error
	// gone says that nothing more can come at all, which a request may have shown.
	gone bool
}

// An outgoing is a message for the server.
type outgoing struct {
	// raw is the message, line how it stood on stdio, nil if it did not.
	raw, line []byte
	kind      jsonrpc.Kind
	// ids are those of the requests in it: one, none, or those of a batch.
	ids    []string
	method string
	// head is the frame with the head of the recorded request of HTTP, 0 for none, and
	// was the recorded message, nil for one that was not recorded so.
	head uint64
	was  *jsonrpc.Message
	// header has the fields of HTTP that depend on the message.
	header [][2]string
	// refused says that it was refused in the recording too.
	refused bool
}

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
