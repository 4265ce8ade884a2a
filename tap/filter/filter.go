package filter

import (
	"time"
)

// DefaultSlow is how long a slow answer takes unless [Options] say otherwise.
const DefaultSlow = time.Second

// Options are what the meaning of a query depends on.
type Options struct {
	// Slow is how long the answer of a call takes that is:slow; [DefaultSlow]
	// if it is zero.
	Slow time.Duration
}

// A Filter is a compiled query. It has buffers of its own, so it is for one
// goroutine at a time.
type Filter struct {
	root  *node // nil matches everything
	needs Needs
	slow  time.Duration
	// buf has what a regular expression reads of an unescaped payload.
	buf [views - 1][]byte
	// err is why the payload of the current item could not be read.
	err error
}

// Parse compiles a query; see the package for its language. The error is an
// [*Error].
func Parse(query string, opt Options) (*Filter, error) {
	p := parser{lexer: lexer{q: query}, f: &Filter{slow: opt.Slow}}
	if p.f.slow <= 0 {
		p.f.slow = DefaultSlow
	}
	root, err := p.parse()
	if err != nil {
		return nil, err
	}
	p.f.root = root
	return p.f, nil
}

// Match reports whether the filter lets an item through. The error is that of
// [Item.Raw], when what it could not read would have decided.
func (f *Filter) Match(it *Item) (bool, error) {
	if f.root == nil {
		return true, nil
	}
	f.err = nil
	ok := f.root.match(it)
	if f.err != nil {
		return false, f.err
	}
	return ok, nil
}

// Needs says which parts of an [Item] the filter reads.
func (f *Filter) Needs() Needs { return f.needs }

// String returns a query of the same meaning, in one spelling.
func (f *Filter) String() string {
	if f.root == nil {
		return ""
	}
	return f.root.String()
}

// Needs says what has to be computed for an [Item] before it is matched. Seq,
// At, Lane, Exchange, Size and Torn of the frame are always at hand.
type Needs uint8

const (
	// NeedPayload is the payload: Frame.Raw, or Raw.
	NeedPayload Needs = 1 << iota
	// NeedPeek is what the frame says by itself: Kind, ID, Method and what it
	// is about, and of Is what needs no other frame.
	NeedPeek
	// NeedPairing is what the frames before it say: Latency, a response's
	// Method and what that is about, the rest of Is.
	NeedPairing
	// NeedFuture is what the frames after it say: whether a request is pending
	// or was cancelled. A listing that follows a live recording cannot know.
	NeedFuture
	// NeedSession is Session and Revision.
	NeedSession
	// NeedHTTP is Status.
	NeedHTTP
)

// Has reports whether all of n is needed.
func (m Needs) Has(n Needs) bool { return m&n == n }
