package filter

import (
	"time"

	"github.com/mcptap/mcptap/tap"
)

// An Item is a frame, or one message of a batch, with what the views know of
// it. A filter reads only what its [Needs] name, and changes nothing.
type Item struct {
	// Frame must not be nil.
	Frame *tap.Frame
	// Kind is the name of a [jsonrpc.Kind], stderr, or on [tap.Lifecycle] the name of the
	// event.
	Kind string
	// Sort is what sort of frame it is that carries no message, as package view
	// names it: body, bytes, ping, pong, close, event, priming, comment or
	// endpoint. "" for all others.
	Sort string
	// Method is the method, of a response that of its request.
	Method string
	// Tool, Prompt and URI say what a request is about. Its response has them
	// too.
	Tool, Prompt, URI string
	// ID is the id as it stands on the wire, quotes included.
	ID []byte
	// Latency is how long the answer took. It belongs to the response, and to
	// the request where the frames after it have been read. Answered says that
	// it is known.
	Latency  time.Duration
	Answered bool
	// Is is what else is known.
	Is Is
	// Session is the session as the person knows it, Revision the protocol's.
	Session, Revision string
	// Status is the HTTP status, 0 without one.
	Status int
}

// Is is a set of what can be said of a frame.
type Is uint32

// The members of the set. Whoever makes an [Item] decides; the words are
// explained by [Help].
const (
	IsError Is = 1 << iota
	IsPending
	IsOrphan
	IsCancelled
	IsLate
	IsInvalid
	IsNested
	IsDuplicate
	IsUnsolicited
	IsBatch
	IsStray
	IsCancel
	IsRetry
	IsInterim
	IsProgress
	IsLog
)
