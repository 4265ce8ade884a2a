package client

import (
	"context"

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
