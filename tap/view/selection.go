package view

import (
	"math"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Span is the part of a recording between two moments, both included.
type Span struct {
	// From and To are offsets, First and Last numbers of frames. A frame must be within
	// both.
	From, To    time.Duration
	First, Last uint64
}

// Whole is the span of a whole recording.
var Whole = Span{To: math.MaxInt64, Last: math.MaxUint64}

// Holds reports whether a frame is in the span.
func (s *Span) Holds(f *tap.Frame) bool {
	return f.Seq >= s.First && f.At >= s.From && !s.Before(f)
}

// Before reports whether the span ends before a frame, and thus before every later one.
func (s *Span) Before(f *tap.Frame) bool { return f.Seq > s.Last || f.At > s.To }

// overlaps reports whether a call that is open from one offset to another overlaps the
// span. A call that has not ended has no last frame.
func (s *Span) overlaps(c *session.Call, from, to time.Duration) bool {
	last := uint64(math.MaxUint64)
	if c.Status.Settled() {
		last = c.Answer.Seq
	}
	return from <= s.To && to >= s.From && c.Ref.Seq <= s.Last && last >= s.First
}

// A Selection is the part of a recording that a [Listing] lists.
type Selection struct {
	// Filter may be nil.
	Filter *filter.Filter
	// Ranges are ranges of frames, none for all frames.
	Ranges []tap.Range
	// Lane is the only lane, if ByLane is set.
	Lane   tap.Lane
	ByLane bool
	// Session is the number of the only session, 0 for all.
	Session int
	Span    Span
	// Findings has the rules that frames violate, for a filter with
	// [filter.NeedFindings].
	Findings map[uint64][]string

	items []filter.Item
}

// All reports whether the whole recording, or the whole session, is selected.
func (s *Selection) All() bool { return !s.Picks() && s.Span == Whole }

// Picks reports whether single frames or calls are selected.
func (s *Selection) Picks() bool { return s.Filter != nil || len(s.Ranges) > 0 || s.ByLane }

// Pending reports whether the filter selects requests without a response.
func (s *Selection) Pending() bool {
	return s.Filter != nil && strings.Contains(" "+s.Filter.String()+" ", " is:pending ")
}

// onlyPending reports whether all requests without a response are selected.
func (s *Selection) onlyPending() bool {
	return s.Filter != nil && s.Filter.String() == "is:pending" && len(s.Ranges) == 0 && !s.ByLane
}

// Needs reports whether the filter needs a part of an item.
func (s *Selection) Needs(n filter.Needs) bool { return s.Filter != nil && s.Filter.Needs().Has(n) }

// inRanges reports whether a frame is in the selected ranges.
func (s *Selection) inRanges(seq uint64) bool {
	for _, r := range s.Ranges {
		if r.From <= seq && seq <= r.To {
			return true
		}
	}
	return len(s.Ranges) == 0
}

func (s *Selection) inSession(number int) bool { return s.Session == 0 || s.Session == number }

// frame reports whether a frame is selected, regardless of the span.
func (s *Selection) frame(e *session.Entry) bool { return s.message(e, -1) }

// message reports whether one message of a batch is selected or, for -1, the frame.
func (s *Selection) message(e *session.Entry, i int) bool {
	if s.ByLane && e.Frame.Lane != s.Lane || !s.inRanges(e.Frame.Seq) || !s.inSession(e.Session) {
		return false
	}
	if s.Filter == nil {
		return true
	}
	s.items = Items(s.items[:0], e)
	if s.Findings != nil {
		for i := range s.items {
			s.items[i].Rules = s.Findings[e.Frame.Seq]
		}
	}
	items := s.items
	if i >= 0 && e.Message.Kind == jsonrpc.Batch {
		if 2*i+1 >= len(items) {
			return false
		}
		items = items[2*i : 2*i+2]
	}
	return s.Filter.MatchAny(items)
}
