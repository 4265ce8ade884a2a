package diff

import (
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// compareNotes compares the notes that a pair has left: those of one method in the
// order in which they came.
func (e *engine) compareNotes(p *pair) {
	a, b := p.restA, p.restB
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

// compareOrder compares the order of the notifications that both calls have, those
// of each direction, whatever their methods.
func (e *engine) compareOrder(p *pair) {
	if sameNotes(p.a.notes, p.b.notes) {
		return
	}
	for _, lane := range []tap.Lane{tap.ToServer, tap.ToClient} {
		as, bs := shared(p.a.notes, p.b.notes, lane)
		for i, n := range as {
			if n.id() != bs[i].id() {
				e.report(e.noteWhere(p, n, p.a.ref, p.b.ref), &finding{class: Behaviour, kind: Reordered, what: "its notifications come in another order"})
				return
			}
		}
	}
}

// shared returns the notes of a direction that both lists have equally often, as far
// as they are about their call for certain.
func shared(as, bs []note, lane tap.Lane) (inA, inB []*note) {
	more := map[uint64]int{}
	count := func(notes []note, by int) {
		for i := range notes {
			if n := &notes[i]; n.lane == lane && !n.guess {
				more[n.id()] += by
			}
		}
	}
	pick := func(notes []note) (kept []*note) {
		for i := range notes {
			if n := &notes[i]; n.lane == lane && !n.guess && more[n.id()] == 0 {
				kept = append(kept, n)
			}
		}
		return kept
	}
	count(as, 1)
	count(bs, -1)
	return pick(as), pick(bs)
}

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
