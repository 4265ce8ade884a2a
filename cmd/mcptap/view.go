package main

import (
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A viewer turns frames, in order, into rows. It holds what is open and nothing
// else, so a recording may be of any length.
type viewer struct {
	tracker session.Tracker
	// only is the session that counts, 0 for all.
	only   int
	counts rowCounts
}

// rowCounts is what a listing sums up at its end.
type rowCounts struct {
	frames uint64
	errors uint64 // as session.Tally counts them
	bytes  int64
}

func newViewer() *viewer {
	return &viewer{}
}

// row reads the next frame.
func (v *viewer) row(f *tap.Frame) view.Row { return view.NewRow(v.next(f)) }

// next reads the next frame, for whoever wants more of it than a row.
func (v *viewer) next(f *tap.Frame) *session.Entry {
	r := v.tracker.Add(f)
	if v.only != 0 && r.Session != v.only {
		return r
	}
	v.counts.frames++
	v.counts.bytes += f.Size
	v.counts.errors += r.Errors()
	return r
}
