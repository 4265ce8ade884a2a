package diff

import (
	"fmt"
	"slices"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// compareAnswer compares how two calls ended.
func (e *engine) compareAnswer(p *pair) {
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

func (u *unit) kindOfAnswer() string {
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

// compareRepeats compares the answers that came too late or twice. One that was cancelled
// all the same is no difference from a client that closed the stream, on which nothing
// more may be said (2026-07-28 basic/transports/streamable-http).
func (e *engine) compareRepeats(p *pair) {
	rest := *p
	rest.rest = surplus(p.a.repeats, p.b.repeats)
	late := func(n *note, other *unit, s *Session) bool {
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
