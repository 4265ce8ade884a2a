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

// A Filter is a compiled query. It reuses its buffers, so it must not be used by
// several goroutines at once.
type Filter struct {
	root    *node // nil matches everything
	needs   Needs
	slow    time.Duration
	terms   []payloadTerm // by their bits in a Found
	letters folder
	// The buffers of Search and of tests.
	unescaped, folded []byte
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

// Match reports whether the filter matches an item whose payload holds found, as
// returned by [Filter.Search]; found may be zero if the payload does not decide,
// see [Filter.NeedsPayload].
func (f *Filter) Match(it *Item, found Found) bool {
	return f.root == nil || f.root.eval(it, found, true) == yes
}

// NeedsPayload reports whether it depends on the payload whether an item matches:
// not if the filter has no payload terms, or the fields of the item decide.
func (f *Filter) NeedsPayload(it *Item) bool {
	return len(f.terms) > 0 && f.root.eval(it, nil, false) == unknown
}

// MatchAny reports whether the filter matches one of the items of a frame. It
// searches the payload of the frame once, and only if it decides.
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
	// NeedPayload is the payload, searched by [Filter.Search].
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
