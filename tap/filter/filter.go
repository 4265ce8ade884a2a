package filter

import (
	"time"

	"github.com/mcptap/mcptap/tap"
)

// A Filter is a compiled query.
type Filter struct {
	root  *node // nil matches everything
	needs Needs
	texts []payloadText // by their bits in a Found
}

// Parse compiles a query; see the package for its language. The error is an
// [*Error].
func Parse(query string) (*Filter, error) {
	p := parser{q: query, f: &Filter{}}
	root, err := p.parse()
	if err != nil {
		return nil, err
	}
	p.f.root = root
	return p.f, nil
}

// Match reports whether the filter matches an item. Found is what
// [Filter.Search] returned for its payload; it may be zero if
// [Filter.NeedsPayload] is false.
func (f *Filter) Match(it *Item, found Found) bool {
	return f.root == nil || f.root.eval(it, found, true) == yes
}

// NeedsPayload reports whether the payload decides if the filter matches an item.
// It is false if the filter has no payload terms, and if the fields of the item
// decide without them.
func (f *Filter) NeedsPayload(it *Item) bool {
	return len(f.texts) > 0 && f.root.eval(it, nil, false) == unknown
}

// MatchAny reports whether the filter matches any of the items of a frame. The
// payload of the frame is searched at most once, and only if it decides.
func (f *Filter) MatchAny(items []Item) bool {
	var found Found
	searched := false
	for i := range items {
		it := &items[i]
		if !searched && f.NeedsPayload(it) {
			found, searched = f.Search(it.Frame.Raw), true
		}
		if f.Match(it, found) {
			return true
		}
	}
	return false
}

// Needs returns which of these parts of an [Item] the filter reads.
func (f *Filter) Needs() Needs { return f.needs }

// String returns a query of the same meaning in its canonical form.
func (f *Filter) String() string {
	if f.root == nil {
		return ""
	}
	return f.root.String()
}

// Needs is a set of the parts of an [Item] that the frame and those before it do not
// determine.
type Needs uint8

const (
	// NeedPayload is what [Filter.Search] finds in the payload.
	NeedPayload Needs = 1 << iota
	// NeedFuture is what the frames after it determine: whether a request is
	// pending or was cancelled. It is not known while following a live recording.
	NeedFuture
	// NeedWait is Latency of a request without a response. While following a live recording,
	// only responses have it.
	NeedWait
	// NeedSession is Session and Revision.
	NeedSession
	// NeedFindings is Rules.
	NeedFindings
)

// Has reports whether all of n is needed.
func (m Needs) Has(n Needs) bool { return m&n == n }

// An Item is what a filter matches: a frame, one message of a batch, or a call.
// A filter reads the parts that [Needs] names only if it needs them.
type Item struct {
	// Frame must not be nil. [Filter.MatchAny] searches its Raw.
	Frame *tap.Frame
	// Kind is the name of a [jsonrpc.Kind], "stderr", or on [tap.Lifecycle] the name
	// of the event.
	Kind string
	// Sort is the sort of a frame that carries no message, as in package view:
	// body, bytes, ping, pong, close, event, priming, comment or endpoint. It is
	// "" for all others.
	Sort string
	// Method is the method, for a response the method of its request.
	Method string
	// Tool, Prompt and URI are the subject of a request and of its response.
	Tool, Prompt, URI string
	// ID is the id as it is in the message, quotes included.
	ID []byte
	// Latency is the time until the response, or of a pending request until now or the end of
	// the recording; valid if Answered is set. Responses have it; requests only where the
	// frames after them have been read.
	Latency  time.Duration
	Answered bool
	// Is has the words of is: that apply, except slow and truncated.
	Is Is
	// Session is the number of the session, Revision the protocol revision.
	Session, Revision string
	// Status is the HTTP status, 0 if there is none.
	Status int
	// Rules are the ids of the rules of package check that it violates.
	Rules []string
}

// Is is a set of the words of is:. Their meanings are in [Help].
type Is uint32

// The members of the set.
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
	IsUnmatched
	IsCancel
	IsRetry
	IsInterim
	IsProgress
	IsLog
)
