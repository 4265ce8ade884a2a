package filter

import (
	"errors"
	"io"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// An Item is a frame, or one message of a batch, with what the views know of
// it. A filter reads only what its [Needs] name, and changes nothing.
type Item struct {
	// Frame must not be nil.
	Frame *tap.Frame
	// Raw writes the whole payload where Frame is not Whole; it ends early when
	// the writer returns an error. Without it the beginning in Frame.Raw is
	// all that is searched.
	Raw func(io.Writer) error
	// Kind is the name of a [tap.Kind], stderr, or on [tap.Life] the name of the
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

// errEnough ends the reading of a payload of which enough is known.
var errEnough = errors.New("enough of the payload has been read")

// pieces calls fn with the payload, piece by piece, until it returns false.
// The pieces are valid until fn returns.
func (it *Item) pieces(fn func([]byte) bool) error {
	if it.inMemory() {
		fn(it.Frame.Raw)
		return nil
	}
	w := pieceWriter{fn: fn}
	if err := it.Raw(&w); !w.enough {
		return err
	}
	return nil
}

// inMemory reports whether Frame.Raw is all that can be searched.
func (it *Item) inMemory() bool { return it.Raw == nil || it.Frame.Whole() }

type pieceWriter struct {
	fn     func([]byte) bool
	enough bool
}

// Write implements [io.Writer].
func (w *pieceWriter) Write(b []byte) (int, error) {
	if w.enough || !w.fn(b) {
		w.enough = true
		return 0, errEnough
	}
	return len(b), nil
}
