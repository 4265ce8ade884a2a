package diff

import (
	"regexp"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// An engine compares two sessions and hands what it finds to found.
type engine struct {
	rules     []rule         // once needed
	pseudonym *regexp.Regexp // once needed
	a, b      *Session
	opt       *Options
	found     func(*finding)
	// timed takes the pairs whose times are compared.
	timed *timing
	// revA and revB are the revisions, cross reports that one is legacy and the
	// other modern.
	revA, revB jsonrpc.Revision
	cross      bool
	// looseA and looseB are the notes that belong to no call, loose what is
	// left of them.
	looseA, looseB []note
	loose          *pair
	// crossed are the calls whose answers took one another's place.
	crossed map[*pair]*pair
	// wanted are notifications that the client of 2026-07-28 asks for, if the other
	// session is of the other era.
	wanted map[string]bool
	ran    int
	err    error
}

// A finding is a difference before it is counted, folded and written.
type finding struct {
	class Class
	kind  Kind
	at    *where
	// path and the values are those of a jsontree.Change. Path is valid as long as
	// the finding is handed over.
	path jsontree.Path
	a, b jsontree.Value
	to   int // the new place of what was moved
	// old and new stand for values that are no JSON.
	old, new string
	// what, reason and page are as in Difference.
	what, reason, page string
	// same folds findings into one whatever their values are, names reports that
	// what names what it is about.
	same, names bool
	// times of what takes another time
	slow *slowness
}

// A where is the part of a session that is being compared.
type where struct {
	p    *pair // nil for the session as a whole
	in   Place
	part part
	// method is that of the request that a payload belongs to or answers,
	// message what is reported with it, "" for the call's own.
	method, message string
	by              tap.Lane
	refA, refB      session.Ref
	// because is what makes a difference likely.
	because string
	of      topic
	usual   map[string]bool // members of _meta that do not count
	// anyForm reports that the form of an elicitation is the default: {} stands for
	// {"form":{}} (2025-11-25 client/elicitation).
	anyForm bool
}

// A topic is what is being compared, as far as classify has rules for it.
type topic uint8

const (
	ofMessage    topic = iota
	ofGreeting         // what a side reports of itself
	ofDefinition       // a tool, prompt or resource
)

// call is the outermost call, zero for the session as a whole.
func (w *where) call() unit {
	if w.p == nil {
		return unit{}
	}
	return *w.top()
}

func (w *where) top() *unit {
	u := w.p.one()
	for u.parent != nil {
		u = u.parent
	}
	return u
}

func newEngine(a, b *Session, opt *Options) *engine {
	e := &engine{a: a, b: b, opt: opt, revA: a.revision(), revB: b.revision(), timed: &timing{groups: map[uint64]*timedGroup{}}}
	eraA, eraB := jsonrpc.EraOf(e.revA), jsonrpc.EraOf(e.revB)
	e.cross = eraA != eraB && eraA != "" && eraB != ""
	return e
}

// revision is what a session speaks.
func (s *Session) revision() jsonrpc.Revision {
	switch {
	case s.facts.Dialect != "":
		return jsonrpc.Dialect
	case s.facts.Revision != "":
		return s.facts.Revision
	}
	return s.facts.Requested
}

// run compares the sessions and returns the pairs of calls.
func (e *engine) run() ([]*pair, error) {
	as, bs := e.a.units, e.b.units
	e.looseA, e.looseB = e.a.loose, e.b.loose
	e.compareOpening()
	if e.cross {
		as, bs = e.equate(as, bs)
	}
	as, bs = withoutPings(as, bs)
	pairs := alignUnits(as, bs)
	if e.opt.Marked {
		pairs = marked(pairs)
	}
	e.loose = &pair{}
	if e.opt.Marked {
		matchInside(pairs, nil, nil, nil)
	} else {
		matchInside(pairs, e.loose, e.looseA, e.looseB)
	}
	e.crossed = crossedAnswers(pairs)
	for _, p := range pairs {
		if e.over() {
			return nil, e.err
		}
		e.comparePair(p)
	}
	e.compareTimes()
	if !e.opt.Marked {
		e.compareNotes(e.loose)
		e.compareHeaders()
		e.compareTraffic()
	}
	return pairs, e.err
}

// over reports whether the comparison ends early.
func (e *engine) over() bool {
	e.ran++
	if e.err == nil && e.opt.Check != nil && e.ran%256 == 0 {
		e.err = e.opt.Check()
	}
	return e.err != nil
}

// withoutPings leaves out pings that were answered as they should, but for as many as
// were not on the other side: what pings there are is chance, but whether they are
// answered is not.
func withoutPings(as, bs []*unit) (restA, restB []*unit) {
	failedA, failedB := failedPings(as), failedPings(bs)
	return lessPings(as, failedB), lessPings(bs, failedA)
}

// failedPings counts the pings of each side that were not answered as they should.
func failedPings(units []*unit) (n [tap.Lanes]int) {
	for _, u := range units {
		if u.method == "ping" && !u.worked() {
			n[u.lane]++
		}
	}
	return n
}

// lessPings leaves out pings but for the first few.
func lessPings(units []*unit, keep [tap.Lanes]int) []*unit {
	var left []*unit
	for i, u := range units {
		out := u.method == "ping" && u.worked()
		if out && keep[u.lane] > 0 {
			keep[u.lane]--
			out = false
		}
		switch {
		case out && left == nil:
			left = append(make([]*unit, 0, len(units)), units[:i]...)
		case !out && left != nil:
			left = append(left, u)
		}
	}
	if left == nil {
		return units
	}
	return left
}

func marked(pairs []*pair) (kept []*pair) {
	for _, p := range pairs {
		if p.a != nil && p.a.marked || p.b != nil && p.b.marked {
			kept = append(kept, p)
		}
	}
	return kept
}

// load loads two payloads.
func (e *engine) load(a, b *payload) (x, y jsontree.Value, ok bool) {
	x, y = e.value(a), e.value(b)
	return x, y, e.err == nil
}

// value loads a payload. It is absent if that fails: see engine.err.
func (e *engine) value(p *payload) jsontree.Value {
	v, err := p.load()
	if err != nil && e.err == nil {
		e.err = err
	}
	return v
}

// comparePayload compares the payloads of two messages, one of which may not be
// there.
func (e *engine) comparePayload(w *where, a, b payload) {
	if x, y := a.oddity().twice, b.oddity().twice; x != y {
		e.compareTwice(w, x, y)
	}
	if e.err != nil || a.there == b.there && !a.large && !b.large && a.value == b.value && a.spelled == b.spelled {
		return
	}
	if a.large || b.large {
		e.compareLarge(w, a, b)
		return
	}
	if x, y, ok := e.load(&a, &b); ok {
		e.compareValues(w, x, y)
	}
}

// compareTwice reports members that a message has twice on one side only.
func (e *engine) compareTwice(w *where, a, b string) {
	f := &finding{class: Behaviour, kind: Changed, path: jsontree.Path{jsontree.To(w.part.String())}}
	switch {
	case b == "":
		f.what = "names do not occur twice in the message any more: " + a
	case a == "":
		f.what = "names occur twice in the message: " + b
	default:
		f.what = "other names occur twice in the message: " + b + " instead of " + a
	}
	e.report(w, f)
}

// compareValues compares two values that a message holds.
func (e *engine) compareValues(w *where, a, b jsontree.Value) {
	path := jsontree.Path{jsontree.To(w.part.String())}
	if l, ok := listings[w.method]; ok && w.part == result {
		e.compareLists(w, l, path, []jsontree.Value{a}, []jsontree.Value{b})
		return
	}
	w.usual = e.usual(a, b)
	e.tree(w, path, a, b)
}

// compareLarge compares messages of which one is too large to be read.
func (e *engine) compareLarge(w *where, a, b payload) {
	if a.oddity().size == b.oddity().size && a.large == b.large {
		return
	}
	e.report(w, &finding{class: Behaviour, kind: Changed, path: jsontree.Path{jsontree.To(w.part.String())},
		what: "its size changed, and it is too large to be compared"})
}

// report hands a finding over.
func (e *engine) report(w *where, f *finding) {
	f.at = w
	if f.reason == "" && f.class >= Behaviour {
		f.reason = w.because
	}
	e.found(f)
}
