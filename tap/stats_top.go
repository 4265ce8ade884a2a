package tap

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A StatsCall is a call that a [Stats] names.
type StatsCall struct {
	// Recording is the name that [NewStats] was given.
	Recording string
	// Ref names the call's first request, Answer what settled it, Parent the
	// call within which it was asked; zero when there is none.
	Ref, Answer, Parent Ref
	// Lane is that of the request. Method and Subject are the call's.
	Lane            Lane
	Method, Subject string
	Status          CallStatus
	// At is when it was asked, Took how long until its answer, or how long it
	// has waited for one.
	At, Took time.Duration
}

func newStatsCall(recording string, c *Call, status CallStatus, took time.Duration) StatsCall {
	return StatsCall{
		Recording: recording, Ref: c.Ref, Answer: c.Answer, Parent: c.Parent, Lane: c.Lane,
		Method: strings.Clone(bound(c.Method)), Subject: c.Subject, Status: status, At: c.At, Took: took,
	}
}

// A topCalls keeps the calls that took longest, at most some.
type topCalls struct {
	most int
	// calls are those that may be among them, up to twice as many, the first
	// that came first where they took the same.
	calls []StatsCall
	// least is what one must exceed to be among them, if full.
	full  bool
	least time.Duration
}

// wants reports whether a call that took so long would be among them.
func (t *topCalls) wants(took time.Duration) bool {
	return t.most > 0 && (!t.full || took > t.least)
}

func (t *topCalls) add(c StatsCall) {
	if !t.wants(c.Took) {
		return
	}
	if t.calls = append(t.calls, c); len(t.calls) >= 2*t.most {
		t.sort()
	}
}

// sort puts them in order and lets go of those that are too many.
func (t *topCalls) sort() []StatsCall {
	slices.SortStableFunc(t.calls, func(a, b StatsCall) int { return cmp.Compare(b.Took, a.Took) })
	if len(t.calls) >= t.most {
		clear(t.calls[t.most:])
		t.calls = t.calls[:t.most]
		t.full = true
		if t.most > 0 {
			t.least = t.calls[t.most-1].Took
		}
	}
	return t.calls
}

func (t *topCalls) merge(o *topCalls) {
	for _, c := range o.calls {
		t.add(c)
	}
}
