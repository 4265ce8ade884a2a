package diff

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
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

// compareAnswer compares how two calls ended.
func (e *engine) compareAnswer(p *pair) {
	if _, lost := e.opt.Lost[p.a.ref]; lost && p.up == nil && p.a.answered() && p.b.answered() {
		without := *p.b
		without.answer, without.pages, without.status = payload{}, nil, session.CallPending
		p.b = &without
	}
	a, b := p.a, p.b
	in := InAnswer
	if p.up != nil {
		in = InReply
	}
	w := p.of(in, tap.ToServer+tap.ToClient-a.lane, a.answer.ref(), b.answer.ref())
	if a.request.value != b.request.value {
		w.because = "the request differs too"
	}
	if q := e.crossed[p]; q != nil {
		w.because = fmt.Sprintf("crossed: it was the answer to #%d", q.a.ref.Seq)
	}
	switch {
	case a.answered() != b.answered():
		e.unanswered(w, p)
	case !a.answered():
		e.lostOtherwise(w, p)
	case a.answerKind != b.answerKind || a.failed != b.failed:
		e.turned(w, p)
	case a.answerKind == jsonrpc.ErrorResponse:
		w.part = fault
		e.comparePayload(w, a.answer, b.answer)
	case len(a.pages) > 0 || len(b.pages) > 0:
		w.part = result
		e.comparePages(w, p)
	default:
		w.part = result
		e.comparePayload(w, a.answer, b.answer)
	}
	e.compareCancel(p)
	e.compareHTTP(p)
}

// crossedAnswers finds pairs of calls whose answers took one another's place: the
// wires between ids are crossed.
func crossedAnswers(pairs []*pair) map[*pair]*pair {
	waiting := map[[2]uint64]*pair{}
	crossed := map[*pair]*pair{}
	for _, p := range pairs {
		if p.a == nil || p.b == nil || !p.a.answer.there || !p.b.answer.there || p.a.answer.value == p.b.answer.value {
			continue
		}
		other := [2]uint64{p.b.answer.value, p.a.answer.value}
		if q := waiting[other]; q != nil {
			crossed[p], crossed[q] = q, p
			delete(waiting, other)
			continue
		}
		waiting[[2]uint64{p.a.answer.value, p.b.answer.value}] = p
	}
	return crossed
}

// turned reports a call that fails on one side only, or in another way.
func (e *engine) turned(w *where, p *pair) {
	f := &finding{class: Behaviour, kind: Changed, what: "it fails in another way"}
	switch {
	case p.a.worked():
		f.class, f.what = Breaking, "it fails now"
		if p.up != nil {
			f.class = Behaviour
		}
	case p.b.worked():
		f.what = "it does not fail any more"
	case e.validationMoved(p):
		f.class, f.same = Expected, true
		f.what = "arguments that are not valid are an error of the tool instead of the protocol"
		f.reason, f.page = "2025-11-25 wants it so", "2025-11-25/server/tools#error-handling"
	}
	x, y, ok := e.load(&p.a.answer, &p.b.answer)
	if !ok {
		return
	}
	w.part = p.b.answer.part
	f.path, f.a, f.b = jsontree.Path{jsontree.To(p.a.kindOfAnswer())}, x, y
	if p.a.kindOfAnswer() != p.b.kindOfAnswer() {
		f.path = nil
	}
	e.report(w, f)
}

func (u *call) kindOfAnswer() string {
	if u.answerKind == jsonrpc.ErrorResponse {
		return "error"
	}
	return "result"
}

// validationMoved reports whether the two sessions are before and after the
// revision in which wrong arguments became an error of the tool.
func (e *engine) validationMoved(p *pair) bool {
	errorSide, revErr, revTool := p.a, e.revA, e.revB
	if p.b.answerKind == jsonrpc.ErrorResponse {
		errorSide, revErr, revTool = p.b, e.revB, e.revA
	}
	return errorSide.code == "-32602" && p.a.method == "tools/call" &&
		known(revErr) && known(revTool) && revErr < jsonrpc.Rev20251125 && revTool >= jsonrpc.Rev20251125
}

// compareCancel compares whether and why calls were cancelled.
func (e *engine) compareCancel(p *pair) {
	a, b := p.a.cancel, p.b.cancel
	switch {
	case a == nil && b == nil:
		if p.a.hungUp != p.b.hungUp {
			e.compareHangUp(p)
		}
	case a == nil && p.a.hungUp, b == nil && p.b.hungUp: // on HTTP that says the same
	case b == nil && e.leaves(p, a, e.a), a == nil && e.leaves(p, b, e.b):
	case b == nil:
		e.report(p.of(InCall, a.lane, a.ref(), session.Ref{}), &finding{class: Behaviour, kind: Removed, what: "it is not cancelled"})
	case a == nil:
		e.report(p.of(InCall, b.lane, session.Ref{}, b.ref()), &finding{class: Behaviour, kind: Added, what: "it is cancelled"})
	default:
		e.comparePayload(e.noteWhere(p, a, a.ref(), b.ref()), a.payload, b.payload)
	}
}

// compareHangUp reports a call whose stream the client closed on one side only.
// Subscriptions end so.
func (e *engine) compareHangUp(p *pair) {
	if p.a.method == "subscriptions/listen" {
		return
	}
	f := &finding{class: Behaviour, kind: Added, what: "it is cancelled"}
	if p.a.hungUp {
		f.kind, f.what = Removed, "it is not cancelled"
	}
	e.report(p.of(InCall, tap.ToServer, p.a.ref, p.b.ref), f)
}

// leaves reports whether a message is part of how a client takes leave of a
// subscription when it asks for nothing more: on pipes it cancels it, and may get a
// last answer, while on HTTP it hangs up (2026-07-28 basic/patterns/subscriptions).
func (e *engine) leaves(p *pair, n *note, s *Session) bool {
	return p.one().method == "subscriptions/listen" && (p.a.exchange != 0 || p.b.exchange != 0) && n.ref().Seq > s.asked
}

// compareRepeats compares the responses that came too late or twice. A response after a
// cancellation equals none after the client closed the stream, on which the server must
// not send anything more (2026-07-28 basic/transports/streamable-http).
func (e *engine) compareRepeats(p *pair) {
	rest := *p
	rest.rest = surplus(p.a.repeats, p.b.repeats)
	late := func(n *note, other *call, s *Session) bool {
		return n.role == session.RoleLate && (other.hungUp || e.leaves(p, n, s))
	}
	rest.rest[0] = slices.DeleteFunc(rest.rest[0], func(n *note) bool { return late(n, p.b, e.a) })
	rest.rest[1] = slices.DeleteFunc(rest.rest[1], func(n *note) bool { return late(n, p.a, e.b) })
	e.compareNotes(&rest)
}

// compareTasks compares whether two calls became tasks, and what was said of
// these: in 2025-11-25 (basic/utilities/tasks) and in the extension of
// 2026-07-28 under other names. How often a client asks how they stand does not
// count.
func (e *engine) compareTasks(p *pair) {
	if p.a.task == nil && p.b.task == nil {
		return
	}
	var a, b payload
	if p.a.task != nil {
		a = *p.a.task
	}
	if p.b.task != nil {
		b = *p.b.task
	}
	w := p.of(InAnswer, tap.ToServer+tap.ToClient-p.a.lane, a.ref(), b.ref())
	w.part = result
	at := jsontree.Path{jsontree.To("task")}
	switch {
	case !b.there:
		e.report(w, &finding{class: Behaviour, kind: Removed, path: at, what: "it does not become a task"})
		return
	case !a.there:
		e.report(w, &finding{class: Behaviour, kind: Added, path: at, what: "it becomes a task"})
		return
	}
	x, y, ok := e.load(&a, &b)
	if !ok {
		return
	}
	for _, names := range [][]string{{"ttl", "ttlMs"}, {"pollInterval", "pollIntervalMs"}, {"status"}, {"statusMessage"}} {
		e.tree(w, at.With(jsontree.To(names[0])), either(x, names...), either(y, names...))
	}
}

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
		if n.kind == jsonrpc.Invalid || len(like) == 0 || e.cross && comesUnasked(n.method) {
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
func (u *call) certain() bool { return !u.guess || u.alone }

// noteWhere is the place of a note.
func (e *engine) noteWhere(p *pair, n *note, a, b session.Ref) *where {
	w := &where{p: p, in: InNotification, part: n.part, method: n.method, message: n.method, by: n.lane, refA: a, refB: b}
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
	if why, page, ok := absentIn(n.method, other); ok && n.kind == jsonrpc.Notification {
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
