package diff

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// Compare compares two sessions after [Session.End]. It returns an error of a [Loader] or
// of [Options.Check].
func Compare(a, b *Session, opt Options) (*Report, error) {
	opt.Most = cmp.Or(max(opt.Most, 0), DefaultMost)
	opt.Slower = cmp.Or(max(opt.Slower, 0), DefaultSlower)
	if opt.Ratio <= 1 {
		opt.Ratio = DefaultRatio
	}
	r := &Report{A: a.Side(), B: b.Side(), TooLarge: a.large + b.large}
	c := &collector{r: r, opt: &opt, index: map[uint64]int{}, groups: map[uint64]*Group{}}
	e := newEngine(a, b, &opt)
	if len(opt.Baselines) > 0 {
		c.noise = &noise{places: map[uint64]*noisy{}}
		for _, base := range opt.Baselines {
			x := newEngine(a, base, &opt)
			x.found = c.noise.learn
			if _, err := x.run(); err != nil {
				return nil, err
			}
			e.timed.learn(x.timed)
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

// Side describes the frames that were added so far.
func (s *Session) Side() Side {
	side := Side{
		Name: s.name, Era: s.facts.Era, Revision: s.revision(), Client: s.facts.Client, Server: s.facts.Server,
		Frames: s.frames, Calls: uint64(len(s.calls)), Lacks: s.lacking,
	}
	side.Era = s.era()
	return side
}

// An engine compares two sessions and passes its findings to found.
type engine struct {
	rules     []rule         // see expect
	pseudonym *regexp.Regexp // see samePseudonyms
	a, b      *Session
	opt       *Options
	found     func(*finding)
	timed     *timing
	// revA and revB are the revisions; cross reports that they are of different eras.
	revA, revB jsonrpc.Revision
	cross      bool
	// looseA and looseB are the notes that belong to no call, loose those of them without a
	// counterpart.
	looseA, looseB []note
	loose          *pair
	crossed        map[*pair]*pair // see crossedAnswers
	shared         uint64          // the last call that both sessions have: its frame in the first
	// subscribed are the notifications that the client of 2026-07-28 subscribes to, if the
	// sessions are of different eras.
	subscribed map[string]bool
	err        error
}

// A finding is one occurrence of a difference.
type finding struct {
	class Class
	kind  Kind
	at    *where
	// path and the values are those of a jsontree.Change. path is valid only during the
	// call of found.
	path     jsontree.Path
	a, b     jsontree.Value
	to       int    // the new index of a moved element
	old, new string // values that are not JSON
	// what, reason and page are as in Difference.
	what, reason, page string
	// same reports that findings with different values are folded into one, names that what
	// names its subject.
	same, names bool
	slow        *slowness // the durations of a slower or faster call
}

// A where is the part of a session that is being compared.
type where struct {
	p    *pair // nil for the session as a whole
	in   Place
	part part
	// method is that of the request, message is the value of Difference.Message.
	method, message string
	by              tap.Lane
	refA, refB      session.Ref
	because         string // the reason for differences that have no other
	of              topic
	usual           map[string]bool // members of _meta that are ignored
	// anyForm reports that form is the default mode of elicitation: {} is the same as
	// {"form":{}} (2025-11-25 client/elicitation).
	anyForm bool
	// ids are the ids of the compared elicitations, "" for none.
	ids [2]string
}

// A topic is the kind of a compared value, for classify.
type topic uint8

const (
	ofMessage    topic = iota
	ofGreeting         // the description of a client or a server
	ofDefinition       // a tool, prompt or resource
)

// call returns the outermost call, or the zero call for the session as a whole.
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
	eraA, eraB := a.era(), b.era()
	e.cross = eraA != eraB && eraA != "" && eraB != ""
	return e
}

// revision returns the revision of a session.
func (s *Session) revision() jsonrpc.Revision {
	switch {
	case s.facts.Dialect != "":
		return jsonrpc.Dialect
	case s.facts.Revision != "":
		return s.facts.Revision
	}
	return s.facts.Requested
}

// era returns the era of a session.
func (s *Session) era() jsonrpc.Era { return cmp.Or(s.facts.Era, jsonrpc.EraOf(s.revision())) }

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
	e.loose = &pair{}
	if e.opt.Marked {
		marked := func(u *call) bool { return u != nil && u.marked }
		pairs = slices.DeleteFunc(pairs, func(p *pair) bool { return !marked(p.a) && !marked(p.b) })
		matchInside(pairs, nil, nil, nil)
	} else {
		matchInside(pairs, e.loose, e.looseA, e.looseB)
	}
	e.crossed = crossedAnswers(pairs)
	for _, p := range pairs {
		if p.a != nil && p.b != nil {
			e.shared = max(e.shared, p.a.ref.Seq)
		}
	}
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

// over reports whether the comparison must stop.
func (e *engine) over() bool {
	if e.err == nil && e.opt.Check != nil {
		e.err = e.opt.Check()
	}
	return e.err != nil
}

// withoutPings omits successful pings, because their number depends on timing. It keeps one for
// each ping that failed on the other side, because success does not depend on timing.
func withoutPings(as, bs []*call) (restA, restB []*call) {
	less := func(calls, others []*call) (rest []*call) {
		var keep [tap.Lanes]int
		for _, u := range others {
			if u.method == "ping" && !u.worked() {
				keep[u.lane]++
			}
		}
		for _, u := range calls {
			if u.method == "ping" && u.worked() {
				if keep[u.lane]--; keep[u.lane] < 0 {
					continue
				}
			}
			rest = append(rest, u)
		}
		return rest
	}
	return less(as, bs), less(bs, as)
}

// value loads a payload. If that fails, it returns an absent value and sets e.err.
func (e *engine) value(p *payload) jsontree.Value {
	v, err := p.load()
	if err != nil && e.err == nil {
		e.err = err
	}
	return v
}

// comparePayload compares the payloads of two messages, one of which may be absent.
func (e *engine) comparePayload(w *where, a, b payload) {
	path := jsontree.Path{jsontree.To(w.part.String())}
	if x, y := a.oddity().twice, b.oddity().twice; x != y {
		what := "other duplicate names: " + y + " instead of " + x
		if y == "" {
			what = "no longer duplicate names: " + x
		} else if x == "" {
			what = "duplicate names: " + y
		}
		e.report(w, &finding{class: Behaviour, kind: Changed, path: path, what: what})
	}
	if x, y := a.oddity().remark, b.oddity().remark; x != y && !e.oneDialect() {
		f := &finding{class: Behaviour, kind: Changed, path: path, what: "the message has an error: " + y}
		switch {
		case y == "":
			f.what = "the message no longer has an error: " + x
		case w.by == tap.ToClient:
			f.class, f.reason = Breaking, "clients may refuse it"
		}
		e.report(w, f)
	}
	switch {
	case e.err != nil || a.there == b.there && !a.large && !b.large && a.value == b.value && a.spelled == b.spelled:
		return
	case a.large || b.large:
		if a.oddity().size != b.oddity().size || a.large != b.large {
			e.report(w, &finding{class: Behaviour, kind: Changed, path: path, what: "the size changed; too large to compare"})
		}
		return
	}
	if x, y := e.value(&a), e.value(&b); e.err == nil {
		e.compareValues(w, x, y)
	}
}

// compareValues compares the values of two payloads.
func (e *engine) compareValues(w *where, a, b jsontree.Value) {
	path := jsontree.Path{jsontree.To(w.part.String())}
	if l, ok := listings[w.method]; ok && w.part == result {
		e.compareLists(w, l, path, []jsontree.Value{a}, []jsontree.Value{b})
		return
	}
	w.usual = e.usual(a, b)
	if w.part == params && strings.HasPrefix(w.method, "elicitation/") {
		w.ids = [2]string{a.Get("elicitationId").Text(), b.Get("elicitationId").Text()}
	}
	e.tree(w, path, a, b)
}

// report passes on a finding.
func (e *engine) report(w *where, f *finding) {
	f.at = w
	if f.reason == "" && f.class >= Behaviour {
		f.reason = w.because
	}
	e.found(f)
}

// usual returns the members of _meta that have, in both messages, their first value in the
// session or are absent.
func (e *engine) usual(a, b jsontree.Value) map[string]bool {
	first := func(s *Session, name string, v jsontree.Value) bool { return !v.Exists() || s.first[name] == v.Hash() }
	all := map[string]bool{}
	for name := range usualMeta {
		all[name] = first(e.a, name, a.Get("_meta", name)) && first(e.b, name, b.Get("_meta", name))
	}
	return all
}

// each calls visit for the members of two objects: first those of a, in order, then those that
// only b has. Either object may be absent. Equal members are visited only if same is set.
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

// tree compares any two values.
func (e *engine) tree(w *where, path jsontree.Path, a, b jsontree.Value) {
	jsontree.Compare(a, b, path, func(c *jsontree.Change) bool {
		e.change(w, c)
		return e.err == nil
	})
}

// change classifies and reports a change, unless the change is ignored.
func (e *engine) change(w *where, c *jsontree.Change) {
	if never(w, c) || w.ownURL(c) || e.open(w, c) {
		return
	}
	kinds := [...]Kind{
		jsontree.Changed: Changed, jsontree.Removed: Removed, jsontree.Added: Added, jsontree.Moved: Moved, jsontree.Respelled: Respelled, jsontree.Repeated: Changed,
	}
	f := &finding{kind: kinds[c.Kind], class: Behaviour, path: c.Path, a: c.A, b: c.B, to: c.To}
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

// ownURL reports whether a change is that of the URL of an elicitation, which differs only in the
// elicitation's id.
func (w *where) ownURL(c *jsontree.Change) bool {
	return w.ids[0] != "" && w.ids[1] != "" && c.Kind == jsontree.Changed && len(c.Path) == 2 && c.Path[1].Name == "url" &&
		strings.ReplaceAll(c.A.Text(), w.ids[0], w.ids[1]) == c.B.Text()
}

// repeated describes a change of kind jsontree.Repeated.
func repeated(c *jsontree.Change) string {
	times := func(v jsontree.Value) string {
		if n, _ := v.Repeats(); n > 0 {
			return strconv.Itoa(n+1) + " times"
		}
		return "once"
	}
	if times(c.A) == times(c.B) {
		return "the name occurs " + times(c.A) + " in its object, and another value precedes the last one"
	}
	return "the name occurs " + times(c.B) + " in its object instead of " + times(c.A)
}

// never reports whether a change concerns a member that is always ignored.
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
	case name == "task" || name == "tasks": // the identity of a task
		return w.part == result && len(c.Path) > 2 && (last == "taskId" || last == "createdAt" || last == "lastUpdatedAt")
	case name == "_meta" && len(c.Path) > 2 && w.part != fault:
		return neverMeta[c.Path[2].Name] || w.usual[c.Path[2].Name]
	}
	return false
}

// open compares the members of params, a result or _meta individually if the other side lacks
// the whole object, because there are rules for single members. It reports whether it did.
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
