package client

import (
	"context"
	"slices"
	"sync"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A Conn carries messages to one server and back. [Stdio], [HTTP], [SSE] and [WebSocket]
// make one. What its transport needs beside the messages, such as the session id, the
// header fields and the stream for what belongs to no request, is its own affair.
type Conn interface {
	// Open reaches the server. What comes from it is put into the channel until
	// Close.
	Open(ctx context.Context, to chan<- Event) error
	// Send hands a message over. The channel receives once: nil when the server has the
	// message, or why it will never have it.
	Send(m *Outgoing) <-chan error
	// HangUp breaks off the exchange of a message. It is false where messages have
	// no exchanges.
	HangUp(m *Outgoing) bool
	// CloseSend ends the client's lane, where it can end by itself.
	CloseSend()
	// Close ends the connection and returns when all is recorded. Killed names the
	// signal that it took to end the server, "" for none.
	Close() (killed string)
}

// An Event is what a Conn has received.
type Event struct {
	// Raw is a message of the server's.
	Raw []byte
	// On is the message on whose exchange it came, nil for none, or the one whose
	// requests will have no answer: then Err says why.
	On  *Outgoing
	Err error
	// Gone says that nothing more can come at all, which a request may have shown.
	Gone bool
}

// An Outgoing is a message for the server.
type Outgoing struct {
	// raw is the message, line how it stood on stdio, nil if it did not.
	raw, line []byte
	// form is that of the recorded frame, FormLine for none.
	form tap.Form
	kind jsonrpc.Kind
	// ids are those of the requests in it: one, none, or those of a batch.
	ids    []string
	method string
	// standing says that the stream for what belongs to no request is to be opened when
	// the server has it.
	standing bool
	// head is the frame with the head of the recorded request of HTTP, 0 for none, and
	// was the recorded message, nil for one that was not recorded so.
	head uint64
	was  *jsonrpc.Message
	// revision is the one spoken, "" for what the connection knows of it. header makes of
	// the usual fields of HTTP those to be sent; nil leaves them.
	revision jsonrpc.Revision
	header   func(usual [][2]string) [][2]string
	// refused says that it was refused in the recording too.
	refused bool
}

// NewOutgoing makes a message of its bytes.
func NewOutgoing(raw []byte) *Outgoing {
	m := jsonrpc.Peek(raw)
	out := &Outgoing{raw: raw, kind: m.Kind, method: m.Method}
	for part := range m.All {
		if part.Kind == jsonrpc.Request {
			out.ids = append(out.ids, string(part.ID))
		}
		out.standing = out.standing || part.Method == methodInitialized
	}
	return out
}

// Bytes returns the message.
func (m *Outgoing) Bytes() []byte { return m.raw }

const methodInitialized = "notifications/initialized"

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
