package diff

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// Compare compares two sessions that have ended (see [Session.End]). The error
// is that of a [Loader], or of [Options.Check].
func Compare(a, b *Session, opt Options) (*Report, error) {
	if opt.Most <= 0 {
		opt.Most = DefaultMost
	}
	if opt.Slower <= 0 {
		opt.Slower = DefaultSlower
	}
	if opt.Ratio <= 1 {
		opt.Ratio = DefaultRatio
	}
	r := &Report{A: a.Side(), B: b.Side(), TooLarge: a.large + b.large}
	c := &collector{r: r, opt: &opt, told: map[uint64]int{}, groups: map[uint64]*Group{}}
	e := newEngine(a, b, &opt)
	if len(opt.Baselines) > 0 {
		c.noise = &noise{places: map[uint64]*noisy{}}
		for _, base := range opt.Baselines {
			if err := e.timed.listen(a, base, &opt, c.noise); err != nil {
				return nil, err
			}
		}
	}
	e.found = c.found
	pairs, err := e.run()
	if err != nil {
		return nil, err
	}
	c.calls(pairs)
	c.times(e.timed)
	if opt.Rows > 0 {
		r.Rows, r.MoreRows = rows(pairs, opt.Rows)
	}
	r.Summary = r.summarize()
	return r, nil
}

// listen compares a session with a baseline and learns what is noise.
func (t *timing) listen(a, base *Session, opt *Options, n *noise) error {
	x := newEngine(a, base, opt)
	x.found = n.learn
	if _, err := x.run(); err != nil {
		return err
	}
	t.learn(x.timed)
	return nil
}

// Side describes the session as far as it has been read.
func (s *Session) Side() Side {
	side := Side{
		Name: s.name, Era: s.facts.Era, Revision: s.revision(), Client: s.facts.Client, Server: s.facts.Server,
		Frames: s.frames, Calls: uint64(len(s.calls)), Lacks: s.lacking,
	}
	if side.Era == "" {
		side.Era = jsonrpc.EraOf(side.Revision)
	}
	return side
}

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
func (w *where) call() call {
	if w.p == nil {
		return call{}
	}
	return *w.top()
}

func (w *where) top() *call {
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
	as, bs := e.a.calls, e.b.calls
	e.looseA, e.looseB = e.a.loose, e.b.loose
	e.compareOpening()
	if e.cross {
		as, bs = e.equate(as, bs)
	}
	as, bs = withoutPings(as, bs)
	pairs := alignCalls(as, bs)
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
func withoutPings(as, bs []*call) (restA, restB []*call) {
	failedA, failedB := failedPings(as), failedPings(bs)
	return lessPings(as, failedB), lessPings(bs, failedA)
}

// failedPings counts the pings of each side that were not answered as they should.
func failedPings(units []*call) (n [tap.Lanes]int) {
	for _, u := range units {
		if u.method == "ping" && !u.worked() {
			n[u.lane]++
		}
	}
	return n
}

// lessPings leaves out pings but for the first few.
func lessPings(units []*call, keep [tap.Lanes]int) []*call {
	ping := func(u *call) bool { return u.method == "ping" && u.worked() }
	if !slices.ContainsFunc(units, ping) {
		return units
	}
	return slices.DeleteFunc(slices.Clone(units), func(u *call) bool {
		if ping(u) {
			keep[u.lane]--
		}
		return ping(u) && keep[u.lane] < 0
	})
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

// usual lists the members of _meta of two messages that are what both sessions say at
// first.
func (e *engine) usual(a, b jsontree.Value) map[string]bool {
	all := map[string]bool{}
	for name := range usualMeta {
		all[name] = e.a.says(name, a.Get("_meta", name)) && e.b.says(name, b.Get("_meta", name))
	}
	return all
}

// says reports whether a member of _meta is what the session says at first, or
// is not there.
func (s *Session) says(name string, v jsontree.Value) bool {
	return !v.Exists() || s.first[name] == v.Hash()
}

// each walks the members of two objects: those of the first, in their order, then those
// that only the second has. One may be absent. Those that are the same are left out,
// except with same.
func each(a, b jsontree.Value, same bool, visit func(name string, x, y jsontree.Value)) {
	inB := make(map[string]jsontree.Value, b.Len())
	for name, m := range b.All() {
		inB[name] = m
	}
	for name, m := range a.All() {
		y := inB[name]
		delete(inB, name)
		if same || !m.Same(y) {
			visit(name, m, y)
		}
	}
	for name, m := range b.All() {
		if _, left := inB[name]; left {
			visit(name, jsontree.Value{}, m)
		}
	}
}

// tree compares two values whatever they are.
func (e *engine) tree(w *where, path jsontree.Path, a, b jsontree.Value) {
	jsontree.Compare(a, b, path, func(c *jsontree.Change) bool {
		e.change(w, c)
		return e.err == nil
	})
}

// change takes a change that comparing two values has found: it leaves out what
// never counts and what the specification says is the same, and finds the class
// of the rest.
func (e *engine) change(w *where, c *jsontree.Change) {
	if never(w, c) || e.open(w, c) {
		return
	}
	f := &finding{kind: kindOf(c.Kind), class: Behaviour, path: c.Path, a: c.A, b: c.B, to: c.To}
	switch c.Kind {
	case jsontree.Repeated:
		f.a, f.b, f.what = jsontree.Value{}, jsontree.Value{}, repeated(c)
		e.report(w, f)
		return
	case jsontree.Respelled:
		f.class = Cosmetic
	case jsontree.Added, jsontree.Removed:
		if w.anyForm && c.Path.String() == "$.client.capabilities.elicitation.form" || e.expect(w, f) {
			return
		}
	}
	if f.class == Behaviour {
		e.classify(w, f)
	}
	e.report(w, f)
}

// repeated describes a change of how often a name occurs in its object.
func repeated(c *jsontree.Change) string {
	times := func(v jsontree.Value) string {
		if n, _ := v.Repeats(); n > 0 {
			return strconv.Itoa(n+1) + " times"
		}
		return "once"
	}
	if times(c.A) == times(c.B) {
		return "the name occurs " + times(c.A) + " in its object, and another value stands before the last one"
	}
	return "the name occurs " + times(c.B) + " in its object instead of " + times(c.A)
}

func kindOf(k jsontree.ChangeKind) Kind {
	return [...]Kind{jsontree.Changed: Changed, jsontree.Removed: Removed, jsontree.Added: Added, jsontree.Moved: Moved, jsontree.Respelled: Respelled, jsontree.Repeated: Changed}[k]
}

// never reports whether a change is of a member that does not count.
func never(w *where, c *jsontree.Change) bool {
	if len(c.Path) < 2 {
		return false
	}
	name, last := c.Path[1].Name, c.Path[len(c.Path)-1].Name
	switch {
	case neverMember(w.part, w.method, name), w.p != nil && w.p.opens && greetingMembers[name]:
		return true
	case name == "nextCursor":
		return c.A.Kind() == jsontree.String && c.B.Kind() == jsontree.String
	case name == "task" || name == "tasks": // what tells one task from another
		return w.part == result && len(c.Path) > 2 && (last == "taskId" || last == "createdAt" || last == "lastUpdatedAt")
	case name == "_meta" && len(c.Path) > 2 && w.part != fault:
		return neverMeta[c.Path[2].Name] || w.usual[c.Path[2].Name]
	}
	return false
}

// open reports the members of params, a result or _meta one by one if the other side has
// none, as each member has a rule of its own.
func (e *engine) open(w *where, c *jsontree.Change) bool {
	v, n := c.A, len(c.Path)
	if !v.Exists() {
		v = c.B
	}
	if c.Kind != jsontree.Added && c.Kind != jsontree.Removed || w.part == fault || v.Kind() != jsontree.Object || v.Opaque() ||
		n > 2 || n == 2 && c.Path[1].Name != "_meta" || n == 1 && v.Len() == 0 {
		return false
	}
	each(c.A, c.B, false, func(name string, x, y jsontree.Value) { e.tree(w, c.Path.With(jsontree.To(name)), x, y) })
	return true
}
