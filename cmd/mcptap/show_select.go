package main

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A selection describes the part of a recording to show.
type selection struct {
	filter *filter.Filter // nil: no filter was given
	query  string
	ranges []tap.Range
	lane   tap.Lane
	byLane bool
	times  times
	// session is the number of the only session to show, 0 for all.
	session int

	items []filter.Item
}

func (o *showOptions) selection(a *app, words *showWords) (*selection, error) {
	want := &selection{ranges: words.ranges, byLane: o.lane != "", query: words.query}
	if want.byLane {
		want.lane, _ = tap.ParseLane(o.lane) // checked
	}
	if n := words.number; n > 0 {
		want.ranges = []tap.Range{{From: n, To: n}}
	}
	var err error
	if want.times, err = o.times(a); err != nil {
		return nil, err
	}
	if words.query == "" {
		return want, nil
	}
	if want.filter, err = a.parseFilter(words.query); err != nil {
		return nil, err
	}
	if o.follow && !o.byCall() && want.future() {
		return nil, withHint(errors.New("--follow cannot filter by later events, such as a cancellation or a missing response"),
			"omit --follow, or add --calls")
	}
	return want, nil
}

// everything reports whether the whole recording, or the whole session, is selected.
func (s *selection) everything() bool {
	return s.filter == nil && len(s.ranges) == 0 && !s.byLane && s.times.since == nil && s.times.until == nil
}

// picks reports whether single frames or calls are selected.
func (s *selection) picks() bool {
	return s.filter != nil || len(s.ranges) > 0 || s.byLane
}

// future reports whether a first pass over the recording is needed.
func (s *selection) future() bool {
	return s.filter != nil && s.filter.Needs().Has(filter.NeedFuture)
}

// pending reports whether the filter selects requests without a response.
func (s *selection) pending() bool {
	return s.filter != nil && strings.Contains(" "+s.query+" ", " is:pending ")
}

// needsSessions reports whether the session of each frame must be known.
func (s *selection) needsSessions() bool {
	return s.session > 0 || s.filter != nil && s.filter.Needs().Has(filter.NeedSession)
}

// needsPayload reports whether the filter examines the bytes.
func (s *selection) needsPayload() bool {
	return s.filter != nil && s.filter.Needs().Has(filter.NeedPayload)
}

// inRanges reports whether a frame is in the selected ranges.
func (s *selection) inRanges(seq uint64) bool {
	for _, r := range s.ranges {
		if r.From <= seq && seq <= r.To {
			return true
		}
	}
	return len(s.ranges) == 0
}

// frame reports whether a frame is selected.
func (s *selection) frame(r *session.Entry) bool {
	if s.byLane && r.Frame.Lane != s.lane || !s.inRanges(r.Frame.Seq) || s.session > 0 && r.Session != s.session {
		return false
	}
	if s.filter == nil {
		return true
	}
	s.items = view.Items(s.items[:0], r)
	return s.filter.MatchAny(s.items)
}

// message reports whether one message of a frame is selected or, for -1, a frame without
// a message.
func (s *selection) message(r *session.Entry, i int) bool {
	if s.filter == nil || r.Message.Kind != jsonrpc.Batch || i < 0 {
		return s.frame(r)
	}
	s.items = view.Items(s.items[:0], r)
	if !s.inRanges(r.Frame.Seq) || s.session > 0 && r.Session != s.session || 2*i+1 >= len(s.items) {
		return false
	}
	return s.filter.MatchAny(s.items[2*i : 2*i+2])
}

// readFrames yields the frames after a number. With follow, it waits for later frames of
// a live recording.
func readFrames(ctx context.Context, rec *store.Recording, after uint64, follow bool) iter.Seq2[tap.Frame, error] {
	if follow {
		return rec.Follow(ctx, after)
	}
	return func(yield func(tap.Frame, error) bool) {
		for f, err := range rec.Frames(after) {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(f, err) || err != nil {
				return
			}
		}
	}
}
