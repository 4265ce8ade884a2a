package diff

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
)

// A timing records the durations of calls.
type timing struct {
	groups map[uint64]*timedGroup
	order  []*timedGroup
	// usual are the ranges of durations in the baselines, by key.
	usual map[uint64]timeRange
}

// A timedGroup holds the pairs of calls with the same call.weak, its key.
type timedGroup struct {
	key   uint64
	pairs []*pair
}

type timeRange struct{ shortest, longest time.Duration }

// A slowness holds two durations that differ.
type slowness struct{ a, b time.Duration }

// add adds a pair of calls, if both have a response. Subscriptions do not count.
func (t *timing) add(p *pair) {
	if !p.a.answered() || !p.b.answered() || p.a.method == "subscriptions/listen" {
		return
	}
	g := t.groups[p.a.weak]
	if g == nil {
		g = &timedGroup{key: p.a.weak}
		t.groups[p.a.weak] = g
		t.order = append(t.order, g)
	}
	g.pairs = append(g.pairs, p)
}

// compareTimes compares the durations of the calls of each group: the medians, or, if those do
// not differ, the individual calls.
func (e *engine) compareTimes() {
	for _, g := range e.timed.order {
		if !e.compareMedians(g) {
			e.compareEach(g)
		}
	}
}

func (e *engine) compareMedians(g *timedGroup) bool {
	a, b := g.medians()
	kind, differs := e.timesDiffer(g, a, b)
	if !differs || len(g.pairs) == 1 {
		return false
	}
	e.reportTimes(g.pairs[0], kind, a, b, fmt.Sprintf("the median of %d calls", len(g.pairs)))
	return true
}

func (g *timedGroup) medians() (a, b time.Duration) {
	return median(g.pairs, func(p *pair) time.Duration { return p.a.own }), median(g.pairs, func(p *pair) time.Duration { return p.b.own })
}

func median(pairs []*pair, of func(*pair) time.Duration) time.Duration {
	times := make([]time.Duration, len(pairs))
	for i, p := range pairs {
		times[i] = of(p)
	}
	slices.Sort(times)
	return times[(len(times)-1)/2]
}

// compareEach reports the calls of a group that became slower and faster by the largest amount.
func (e *engine) compareEach(g *timedGroup) {
	for _, kind := range []Kind{Slower, Faster} {
		var worst *pair
		most, n := time.Duration(0), 0
		for _, p := range g.pairs {
			k, differs := e.timesDiffer(g, p.a.own, p.b.own)
			if !differs || k != kind {
				continue
			}
			n++
			if by := (p.b.own - p.a.own).Abs(); by > most {
				worst, most = p, by
			}
		}
		switch {
		case n == 0:
		case len(g.pairs) == 1:
			e.reportTimes(worst, kind, worst.a.own, worst.b.own, "")
		default:
			e.reportTimes(worst, kind, worst.a.own, worst.b.own, fmt.Sprintf("%d of %d calls, this one the most", n, len(g.pairs)))
		}
	}
}

func (e *engine) reportTimes(p *pair, kind Kind, a, b time.Duration, what string) {
	w := p.of(InResponse, tap.ToServer+tap.ToClient-p.a.lane, p.a.answer.ref(), p.b.answer.ref())
	f := &finding{class: Timing, kind: kind, path: jsontree.Path{jsontree.To("time")}, what: what, slow: &slowness{a, b}}
	if p.a.ref == e.a.firstRequest || p.b.ref == e.b.firstRequest {
		f.reason = "includes the startup of the server"
	}
	e.report(w, f)
}

// timesDiffer reports whether a duration differs by more than both thresholds from the other one
// and from those of the baselines.
func (e *engine) timesDiffer(g *timedGroup, a, b time.Duration) (Kind, bool) {
	longest, shortest := a, a
	if u, ok := e.timed.usual[g.key]; ok {
		longest, shortest = max(longest, u.longest), min(shortest, u.shortest)
	}
	least, ratio := e.opt.Slower, e.opt.Ratio
	switch {
	case b-longest > least && float64(b) > ratio*float64(longest):
		return Slower, true
	case shortest-b > least && float64(shortest) > ratio*float64(b):
		return Faster, true
	}
	return 0, false
}

// learn adds the durations of a comparison with a baseline.
func (t *timing) learn(from *timing) {
	if t.usual == nil {
		t.usual = map[uint64]timeRange{}
	}
	for _, g := range from.order {
		r, ok := t.usual[g.key]
		for _, p := range g.pairs {
			if !ok {
				r, ok = timeRange{p.b.own, p.b.own}, true
			}
			r.shortest, r.longest = min(r.shortest, p.b.own), max(r.longest, p.b.own)
		}
		t.usual[g.key] = r
	}
}

// Durations describes the new and the old duration of a call that is slower or faster.
func (d *Difference) Durations() string {
	return fmt.Sprintf("%s instead of %s", rounded(d.NewTime), rounded(d.OldTime))
}

// rounded rounds a duration to about three digits.
func rounded(d time.Duration) time.Duration {
	unit := time.Microsecond
	for unit < time.Second && d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit)
}
