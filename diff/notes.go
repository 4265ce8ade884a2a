package diff

import (
	"slices"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// compareNotes compares the notes that a pair has left: those of one method in the
// order in which they came.
func (e *engine) compareNotes(p *pair) {
	a, b := p.rest[0], p.rest[1]
	byMethod := map[uint64][]*note{}
	for _, n := range b {
		byMethod[n.like()] = append(byMethod[n.like()], n)
	}
	paired := map[*note]bool{}
	for _, n := range a {
		// As many as there are on both sides changed, the others are missing.
		like := byMethod[n.like()]
		if n.kind == jsonrpc.Invalid || len(like) == 0 || e.cross && comesUnasked(*n.method) {
			e.oneNote(p, n, Removed)
			continue
		}
		byMethod[n.like()] = like[1:]
		paired[like[0]] = true
		w := e.noteWhere(p, n, n.ref(), like[0].ref())
		e.comparePayload(w, n.payload, like[0].payload)
	}
	for _, n := range b {
		if !paired[n] {
			e.oneNote(p, n, Added)
		}
	}
}

// ordered is a message that both calls have for certain.
type ordered struct {
	a, b session.Ref
	note *note // nil for a question
}

// compareOrder compares the order of what both calls have in each direction. A question
// within a result comes last, so it is compared with notifications only if it is one on
// both sides.
func (e *engine) compareOrder(p *pair) {
	if len(p.asked) == 0 && sameNotes(p.a.notes, p.b.notes) {
		return
	}
	for _, lane := range []tap.Lane{tap.ToServer, tap.ToClient} {
		notes, mixed := sharedNotes(p.a.notes, p.b.notes, lane), true
		var questions []ordered
		for _, q := range p.asked {
			if q.a != nil && q.b != nil && q.a.lane == lane && q.a.certain() && q.b.certain() && q.a.key == q.b.key {
				questions = append(questions, ordered{q.a.ref, q.b.ref, nil})
				mixed = mixed && q.a.embedded == q.b.embedded
			}
		}
		lists := [][]ordered{notes, questions}
		if mixed {
			lists = [][]ordered{append(notes, questions...)}
		}
		for _, all := range lists {
			x, other := otherOrder(all)
			switch {
			case !other:
			case x.note != nil:
				e.report(e.noteWhere(p, x.note, p.a.ref, p.b.ref), &finding{class: Behaviour, kind: Reordered, what: "its notifications come in another order"})
			default:
				e.report(p.of(InQuestion, lane, p.a.ref, p.b.ref), &finding{class: Behaviour, kind: Reordered, what: "the questions within the call come in another order"})
			}
		}
	}
}

// otherOrder returns a message that comes behind another on the first side, and before it
// on the second. Questions of one result come at once.
func otherOrder(all []ordered) (x ordered, other bool) {
	slices.SortFunc(all, func(x, y ordered) int { return compareRefs(x.a, y.a) })
	var before, last session.Ref // the latest of the second side, up to the one before and with it
	for i, x := range all {
		if i > 0 && all[i-1].a != x.a {
			before = last
		}
		if compareRefs(x.b, before) < 0 {
			return x, true
		}
		if compareRefs(x.b, last) > 0 {
			last = x.b
		}
	}
	return x, false
}

// sharedNotes returns the notes of a direction that both lists have equally often, the
// first with the first, as far as they are about their call for certain.
func sharedNotes(as, bs []note, lane tap.Lane) (all []ordered) {
	same := map[uint64]*[2][]*note{}
	for side, notes := range [2][]note{as, bs} {
		for i := range notes {
			if n := &notes[i]; n.lane == lane && !n.guess {
				if same[n.id()] == nil {
					same[n.id()] = &[2][]*note{}
				}
				same[n.id()][side] = append(same[n.id()][side], n)
			}
		}
	}
	for _, both := range same {
		for i := 0; i < len(both[0]) && len(both[0]) == len(both[1]); i++ {
			all = append(all, ordered{both[0][i].ref(), both[1][i].ref(), both[0][i]})
		}
	}
	return all
}

// certain reports whether it is certain enough, for its place among others, which
// call a question belongs to.
func (u *unit) certain() bool { return !u.guess || u.alone }

// noteWhere is the place of a note.
func (e *engine) noteWhere(p *pair, n *note, a, b session.Ref) *where {
	w := &where{p: p, in: InNotification, part: n.part, method: *n.method, message: *n.method, by: n.lane, refA: a, refB: b}
	switch n.role {
	case session.RoleInvalid, session.RoleOrphan, session.RoleUnmatched, session.RoleUnread, session.RoleLate, session.RoleRepeat:
		w.in = InStray
	}
	if p == e.loose {
		w.p = nil
	}
	return w
}

// oneNote reports a message that only one side has.
func (e *engine) oneNote(p *pair, n *note, kind Kind) {
	w := e.noteWhere(p, n, n.ref(), session.Ref{})
	other := e.revB
	f := &finding{class: Behaviour, kind: kind, path: jsontree.Path{jsontree.To(n.part.String())}, what: n.says()}
	if kind == Added {
		w.refA, w.refB = session.Ref{}, n.ref()
		other = e.revA
	}
	v, err := n.load()
	if err != nil && n.kind != jsonrpc.Invalid {
		e.err = err
		return
	}
	if why, page, ok := absentIn(*n.method, other); ok && n.kind == jsonrpc.Notification {
		f.class, f.reason, f.page, f.same = Expected, why, page, true
	} else if e.cross && jsonrpc.EraOf(other) == jsonrpc.Modern && e.unwanted(n, v) {
		f.class, f.same, f.reason = Expected, true, "in 2026-07-28 it only comes when it is asked for"
		f.page = "2026-07-28/basic/patterns/subscriptions"
	}
	if kind == Removed {
		f.a = v
	} else {
		f.b = v
	}
	e.report(w, f)
}

// says tells what a note is that does not belong where it is.
func (n *note) says() string {
	switch n.role {
	case session.RoleInvalid:
		return "a frame that is no message"
	case session.RoleOrphan:
		return "an answer to no request"
	case session.RoleRepeat:
		return "a second answer"
	case session.RoleLate:
		return "an answer after the cancellation"
	case session.RoleUnmatched:
		return "it is about nothing that is known"
	case session.RoleUnread:
		return "a batch that is too large to be read"
	}
	if n.late {
		return "it comes when its call is over"
	}
	return ""
}
