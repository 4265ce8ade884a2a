package diff

import (
	"cmp"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// comparePair compares a call with all that belongs to it.
func (e *engine) comparePair(p *pair) {
	switch {
	case p.elsewhere: // and compared there
	case p.b == nil:
		e.oneSided(p, Removed)
	case p.a == nil:
		e.oneSided(p, Added)
	default:
		e.compareRequest(p)
		e.compareAsked(p)
		e.compareNotes(p)
		e.compareOrder(p)
		e.compareTasks(p)
		e.compareAnswer(p)
		e.compareRepeats(p)
		if p.up == nil {
			e.timed.add(p)
		}
	}
}

// of makes the place of something in a pair of calls.
func (p *pair) of(in Place, by tap.Lane, refA, refB session.Ref) *where {
	w := &where{p: p, in: in, by: by, refA: refA, refB: refB, method: p.one().method}
	if p.up != nil {
		w.message = w.method
	}
	return w
}

// neverPlayed is said of a call that the second session did not come to: its server
// was gone, or never opened a session. The reason says which.
const neverPlayed = "it was never played"

// oneSided reports a call that only one side has.
func (e *engine) oneSided(p *pair, kind Kind) {
	u := p.one()
	in := InCall
	if p.up != nil {
		in = InQuestion
	}
	a, b := p.refs()
	f := &finding{class: Behaviour, kind: kind}
	w := p.of(in, u.lane, a, b)
	if why, lost := e.opt.Lost[a]; lost && kind == Removed && u.answered() {
		w.by = tap.ToClient
		e.report(w, &finding{class: Breaking, kind: Removed, what: neverPlayed, reason: why})
		return
	}
	side, other := "only the first session has it", e.revB
	if kind == Added {
		side, other = "only the second session has it", e.revA
	}
	f.what = side
	if u.probe || u.method == "server/discover" && !u.worked() {
		f.class, f.same = Expected, true
		f.reason, f.page = "a client of both eras finds out what the server speaks", "2026-07-28/basic/versioning"
	} else if e.cross && u.lane == tap.ToClient && p.up == nil {
		f.class, f.same = Expected, true
		f.reason, f.page = "2026-07-28 has no requests of the server", "2026-07-28/basic/patterns/mrtr"
	} else if why, page, ok := absentIn(u.method, other); ok {
		f.class, f.reason, f.page, f.same = Expected, why, page, true
	}
	v := &f.a
	if kind == Added {
		v = &f.b
	}
	f.path = jsontree.Path{jsontree.To("params")}
	if *v = e.value(&u.request); e.err != nil {
		return
	}
	if arguments := v.Get("arguments"); arguments.Exists() {
		f.path, *v = f.path.With(jsontree.To("arguments")), arguments
	} else if v.Len() == 1 && v.Get("_meta").Exists() {
		*v = jsontree.Value{}
	}
	e.report(w, f)
}

// compareRequest compares what was asked for.
func (e *engine) compareRequest(p *pair) {
	in := InRequest
	if p.up != nil {
		in = InQuestion
	}
	if p.a.embedded != p.b.embedded {
		e.asRequest(p)
	}
	w := p.of(in, p.a.lane, p.a.ref, p.b.ref)
	w.part = params
	e.comparePayload(w, p.a.request, p.b.request)
}

// asRequest notes that one side asked with a request of its own and the other in
// a result.
func (e *engine) asRequest(p *pair) {
	f := &finding{class: Expected, kind: Changed, same: true, what: "asked in an input_required result instead of a request of the server",
		reason: "2026-07-28 has no requests of the server", page: "2026-07-28/basic/patterns/mrtr"}
	if p.a.embedded {
		f.what = "asked in a request of the server instead of a result"
	}
	e.report(p.of(InQuestion, tap.ToClient, p.a.ref, p.b.ref), f)
}

// compareAsked compares what was asked within two calls.
func (e *engine) compareAsked(p *pair) {
	for _, q := range p.asked {
		e.comparePair(q)
	}
}

// compareRefs orders messages as they crossed.
func compareRefs(a, b session.Ref) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Index, b.Index))
}
