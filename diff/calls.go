package diff

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// comparePair compares two calls with everything that belongs to them.
func (e *engine) comparePair(p *pair) {
	switch {
	case p.nested: // compared where it is nested
	case p.b == nil:
		e.oneSided(p, Removed)
	case p.a == nil:
		e.oneSided(p, Added)
	default:
		e.compareRequest(p)
		e.compareCancel(p)
		for _, q := range p.asked {
			e.comparePair(q)
		}
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

// of returns the place for a part of a pair of calls.
func (p *pair) of(in Place, by tap.Lane, refA, refB session.Ref) *where {
	w := &where{p: p, in: in, by: by, refA: refA, refB: refB, method: p.one().method}
	if p.up != nil {
		w.message = w.method
	}
	return w
}

// within returns in, or nested if the pair is nested.
func (p *pair) within(in, nested Place) Place {
	if p.up != nil {
		return nested
	}
	return in
}

// other returns the opposite lane.
func other(lane tap.Lane) tap.Lane { return tap.ToServer + tap.ToClient - lane }

// expected changes the class of the finding to Expected.
func (f *finding) expected(reason, page string) {
	f.class, f.same, f.reason, f.page = Expected, true, reason, page
}

// The pages of the specification that are cited more than once.
const (
	pageMRTR          = "2026-07-28/basic/patterns/mrtr"
	pageSubscriptions = "2026-07-28/basic/patterns/subscriptions"
	pageHTTP          = "2026-07-28/basic/transports/streamable-http"
	pageVersioning    = "2026-07-28/basic/versioning"
)

const noServerRequests = "2026-07-28 has no server requests"

// neverPlayed describes a call that was not sent in the second session.
const neverPlayed = "not sent"

// oneSided reports a call that is only on one side.
func (e *engine) oneSided(p *pair, kind Kind) {
	u := p.one()
	a, b := p.refs()
	w := p.of(p.within(InCall, InServerRequest), u.lane, a, b)
	if why, lost := e.opt.Lost[a]; lost && kind == Removed {
		w.by = tap.ToClient
		f := &finding{class: Behaviour, kind: Removed, what: neverPlayed, reason: why}
		if u.answered() {
			f.class = Breaking
		}
		e.report(w, f)
		return
	}
	f := &finding{class: Behaviour, kind: kind, what: "only the first session has it", path: jsontree.Path{jsontree.To("params")}}
	v, lacks := &f.a, e.revB
	if kind == Added {
		f.what, v, lacks = "only the second session has it", &f.b, e.revA
	}
	if kind == Removed && e.b.died != "" && p.up == nil && u.lane == tap.ToServer && a.Seq > e.shared {
		w.by, f.what, f.reason = tap.ToClient, neverPlayed, e.b.died
	}
	if u.probe || u.method == "server/discover" && !u.worked() {
		f.expected("a client of both eras probes the protocol version", pageVersioning)
	} else if e.cross && u.lane == tap.ToClient && p.up == nil {
		f.expected(noServerRequests, pageMRTR)
	} else if why, page, ok := absentIn(u.method, lacks); ok {
		f.expected(why, page)
	}
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

// compareRequest compares the params of two requests.
func (e *engine) compareRequest(p *pair) {
	if p.a.embedded != p.b.embedded {
		f := &finding{kind: Changed, what: "in an input_required result instead of a server request"}
		if p.a.embedded {
			f.what = "in a server request instead of an input_required result"
		}
		f.expected(noServerRequests, pageMRTR)
		e.report(p.of(InServerRequest, tap.ToClient, p.a.ref, p.b.ref), f)
	}
	w := p.of(p.within(InRequest, InServerRequest), p.a.lane, p.a.ref, p.b.ref)
	w.part = params
	e.comparePayload(w, p.a.request, p.b.request)
	e.compareRetries(p)
}

// compareRetries compares how input is requested and given in calls with equal numbers of
// retries: the retries, and the states that connect them (2026-07-28 basic/patterns/mrtr).
func (e *engine) compareRetries(p *pair) {
	if len(p.a.retries) == len(p.b.retries) {
		for i := range p.a.retries {
			a, b := p.a.retries[i], p.b.retries[i]
			w := p.of(p.within(InRequest, InServerRequest), p.a.lane, a.ref(), b.ref())
			w.part = params
			e.comparePayload(w, a, b)
		}
	}
	w := p.of(InResponse, other(p.a.lane), p.a.ref, p.b.ref)
	for i := range min(len(p.a.states), len(p.b.states)) {
		if p.a.states[i] != p.b.states[i] {
			f := &finding{class: Behaviour, kind: Removed, path: jsontree.Path{jsontree.To("result"), jsontree.To("requestState")}, what: "no longer sent"}
			if p.b.states[i] {
				f.kind, f.what = Added, "now sent"
			}
			e.report(w, f)
			return
		}
	}
	if p.a.stateLost != p.b.stateLost {
		f := &finding{class: Behaviour, kind: Changed, path: jsontree.Path{jsontree.To("params"), jsontree.To("requestState")},
			what: "a retry does not repeat the requestState of the result"}
		if p.a.stateLost {
			f.what = "each retry now repeats the requestState of the result"
		}
		e.report(p.of(InRequest, p.a.lane, p.a.ref, p.b.ref), f)
	}
}

// compareRefs orders messages as in the recording.
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
	w := p.of(p.within(InResponse, InClientResponse), other(a.lane), a.answer.ref(), b.answer.ref())
	if a.request.value != b.request.value {
		w.because = "the request differs too"
	}
	if q := e.crossed[p]; q != nil {
		w.because = fmt.Sprintf("swapped: it was the response to #%d", q.a.ref.Seq)
	}
	switch {
	case a.answered() != b.answered():
		e.unanswered(w, p)
	case !a.answered():
		e.endedDifferently(w, p)
	case a.answerKind != b.answerKind || a.failed != b.failed:
		e.outcomeChanged(w, p)
	case a.answerKind != jsonrpc.ErrorResponse && (len(a.pages)+len(b.pages) > 0 || a.broken != nil || b.broken != nil):
		w.part = result
		e.comparePages(w, p)
	default:
		w.part = result
		if a.answerKind == jsonrpc.ErrorResponse {
			w.part = fault
		}
		e.comparePayload(w, a.answer, b.answer)
	}
	e.compareHTTP(p)
}

// crossedAnswers finds pairs of calls whose responses are swapped on the second side.
func crossedAnswers(pairs []*pair) map[*pair]*pair {
	waiting := map[[2]uint64]*pair{}
	crossed := map[*pair]*pair{}
	for _, p := range pairs {
		if p.a == nil || p.b == nil || !p.a.answer.there || !p.b.answer.there || p.a.answer.value == p.b.answer.value {
			continue
		}
		swapped := [2]uint64{p.b.answer.value, p.a.answer.value}
		if q := waiting[swapped]; q != nil {
			crossed[p], crossed[q] = q, p
			delete(waiting, swapped)
			continue
		}
		waiting[[2]uint64{p.a.answer.value, p.b.answer.value}] = p
	}
	return crossed
}

// outcomeChanged reports a call that fails on one side only, or in another way.
func (e *engine) outcomeChanged(w *where, p *pair) {
	f := &finding{class: Behaviour, kind: Changed, what: "different failure"}
	switch {
	case p.a.worked():
		f.class, f.what = Breaking, "now fails"
		if p.up != nil {
			f.class = Behaviour
		}
	case p.b.worked():
		f.what = "no longer fails"
	case e.validationMoved(p):
		f.what = "invalid arguments are a tool error instead of a protocol error"
		f.expected("required since 2025-11-25", "2025-11-25/server/tools#error-handling")
	}
	w.part = p.b.answer.part
	if p.a.answerKind == p.b.answerKind { // results, of which one has isError
		f.path = jsontree.Path{jsontree.To("result")}
	}
	if f.a, f.b = e.value(&p.a.answer), e.value(&p.b.answer); e.err == nil {
		e.report(w, f)
	}
}

// validationMoved reports whether one session is from before and the other from after the
// revision in which invalid arguments became a tool error.
func (e *engine) validationMoved(p *pair) bool {
	errorSide, revErr, revTool := p.a, e.revA, e.revB
	if p.b.answerKind == jsonrpc.ErrorResponse {
		errorSide, revErr, revTool = p.b, e.revB, e.revA
	}
	return errorSide.code == "-32602" && p.a.method == "tools/call" &&
		known(revErr) && known(revTool) && revErr < jsonrpc.Rev20251125 && revTool >= jsonrpc.Rev20251125
}

// compareCancel compares whether and why calls were cancelled. Over HTTP a client may close the
// stream instead.
func (e *engine) compareCancel(p *pair) {
	a, b := p.a.cancel, p.b.cancel
	f, in := &finding{class: Behaviour, kind: Added, what: "now cancelled"}, p.of(InCall, tap.ToServer, p.a.ref, p.b.ref)
	switch {
	case a == nil && b == nil:
		if p.a.hungUp == p.b.hungUp || p.a.method == "subscriptions/listen" { // subscriptions end this way
			return
		}
		if p.a.hungUp {
			f.kind, f.what = Removed, "no longer cancelled"
		}
	case a == nil && p.a.hungUp, b == nil && p.b.hungUp:
		return
	case b == nil && e.leaves(p, a, e.a), a == nil && e.leaves(p, b, e.b):
		return
	case b == nil:
		f.kind, f.what = Removed, "no longer cancelled"
		in = p.of(InCall, a.lane, a.ref(), session.Ref{})
	case a == nil:
		in = p.of(InCall, b.lane, session.Ref{}, b.ref())
	default:
		e.comparePayload(e.noteWhere(p, a, a.ref(), b.ref()), a.payload, b.payload)
		return
	}
	e.report(in, f)
}

// leaves reports whether a message belongs to the end of a subscription, by a client that sends
// no further requests. On stdio such a client cancels the subscription and may get a response;
// over HTTP it closes the stream (2026-07-28 basic/patterns/subscriptions).
func (e *engine) leaves(p *pair, n *note, s *Session) bool {
	return p.one().method == "subscriptions/listen" && (p.a.exchange != 0 || p.b.exchange != 0) && n.ref().Seq > s.asked
}

// compareRepeats compares late and duplicate responses. A response after a cancellation on one
// side is no difference if the client closed the stream on the other: there the server must not
// send anything more (2026-07-28 basic/transports/streamable-http).
func (e *engine) compareRepeats(p *pair) {
	rest := *p
	rest.rest = surplusNotes(p.a.repeats, p.b.repeats)
	late := func(n *note, other *call, s *Session) bool {
		return n.role == session.RoleLate && (other.hungUp || e.leaves(p, n, s))
	}
	rest.rest[0] = slices.DeleteFunc(rest.rest[0], func(n *note) bool { return late(n, p.b, e.a) })
	rest.rest[1] = slices.DeleteFunc(rest.rest[1], func(n *note) bool { return late(n, p.a, e.b) })
	e.compareNotes(&rest)
}

// compareTasks compares whether two calls became tasks, and the first states of the tasks. The
// names of members differ between 2025-11-25 (basic/utilities/tasks) and the extension of
// 2026-07-28.
func (e *engine) compareTasks(p *pair) {
	var a, b payload
	if p.a.task != nil {
		a = *p.a.task
	}
	if p.b.task != nil {
		b = *p.b.task
	}
	w := p.of(InResponse, other(p.a.lane), a.ref(), b.ref())
	w.part = result
	at := jsontree.Path{jsontree.To("task")}
	switch {
	case !a.there && !b.there:
		return
	case !b.there:
		e.report(w, &finding{class: Behaviour, kind: Removed, path: at, what: "no longer becomes a task"})
		return
	case !a.there:
		e.report(w, &finding{class: Behaviour, kind: Added, path: at, what: "becomes a task"})
		return
	}
	x, y := e.value(&a), e.value(&b)
	for _, names := range [][]string{{"ttl", "ttlMs"}, {"pollInterval", "pollIntervalMs"}, {"status"}, {"statusMessage"}} {
		if e.err == nil {
			e.tree(w, at.With(jsontree.To(names[0])), either(x, names...), either(y, names...))
		}
	}
}

// compareNotes compares the notes of a pair that have no equal counterpart. Notes with the same
// method are compared in order. The remaining ones exist on one side only.
func (e *engine) compareNotes(p *pair) {
	a, b := p.rest[0], p.rest[1]
	byMethod := map[uint64][]*note{}
	for _, n := range b {
		byMethod[n.like()] = append(byMethod[n.like()], n)
	}
	paired := map[*note]bool{}
	for _, n := range a {
		like := byMethod[n.like()]
		if n.kind == jsonrpc.Invalid || len(like) == 0 || e.cross && needsSubscription(n.method) {
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

// An ordered is a message that both calls have for certain.
type ordered struct {
	a, b session.Ref
	note *note // nil for a nested call
}

// compareOrder compares the order of the messages that both calls have, for each direction. An
// embedded request comes last, so its order relative to notifications is compared only if it is
// embedded on both sides.
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
			x, moved := otherOrder(all)
			w, what := p.of(InServerRequest, lane, p.a.ref, p.b.ref), "the nested requests come in another order"
			if x.note != nil {
				w, what = e.noteWhere(p, x.note, p.a.ref, p.b.ref), "its notifications come in another order"
			}
			if moved {
				e.report(w, &finding{class: Behaviour, kind: Reordered, what: what})
			}
		}
	}
}

// otherOrder returns a message that follows another message on the first side and precedes it on
// the second. Requests in the same result have no order.
func otherOrder(all []ordered) (x ordered, moved bool) {
	slices.SortFunc(all, func(x, y ordered) int { return compareRefs(x.a, y.a) })
	// The latest message of the second side so far; before excludes those with the current x.a.
	var before, last session.Ref
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

// sharedNotes returns the notes of a direction that both lists have equally often, paired in
// order. It omits those whose call is a guess.
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

// certain reports whether the parent of a nested call is certain. A server asks for roots, and
// pings, also when it has no call.
func (u *call) certain() bool {
	return !u.guess || u.alone && u.method != "roots/list" && u.method != "ping" && u.exchange == u.parent.exchange
}

// misplaced describes, by role, the notes that are out of place.
var misplaced = map[session.Role]string{
	session.RoleInvalid:   "not a JSON-RPC message",
	session.RoleOrphan:    "response without a request",
	session.RoleRepeat:    "second response",
	session.RoleLate:      "response after the cancellation",
	session.RoleUnmatched: "unknown call, task or subscription",
	session.RoleUnread:    "batch too large to read",
}

// noteWhere returns the place of a note.
func (e *engine) noteWhere(p *pair, n *note, a, b session.Ref) *where {
	w := &where{p: p, in: InNotification, part: n.part, method: n.method, message: n.method, by: n.lane, refA: a, refB: b}
	if misplaced[n.role] != "" {
		w.in = InUnmatched
	}
	if p == e.loose {
		w.p = nil
	}
	return w
}

// maxText is the maximum number of bytes shown of an invalid frame.
const maxText = 200

// text returns the beginning of an invalid frame as a JSON string.
func (n *note) text() (jsontree.Value, error) {
	f, err := n.of.load(n.seq)
	if err != nil {
		return jsontree.Value{}, err
	}
	raw := bytes.TrimSpace(jsonrpc.Payload(&f))
	if len(raw) > maxText {
		raw = append(bytes.Clone(raw[:maxText]), "…"...)
	}
	quoted, err := json.Marshal(string(raw))
	if err != nil {
		return jsontree.Value{}, err
	}
	return jsontree.Parse(quoted)
}

// oneNote reports a note that only one side has.
func (e *engine) oneNote(p *pair, n *note, kind Kind) {
	f := &finding{class: Behaviour, kind: kind, path: jsontree.Path{jsontree.To(n.part.String())}, what: misplaced[n.role]}
	w, v, lacks := e.noteWhere(p, n, n.ref(), session.Ref{}), &f.a, e.revB
	if kind == Added {
		w.refA, w.refB, v, lacks = w.refB, w.refA, &f.b, e.revA
	}
	if f.what == "" && n.late {
		f.what = "arrives after the end of its call"
	}
	var err error
	if n.kind == jsonrpc.Invalid {
		f.path = jsontree.Path{jsontree.To("frame")}
		*v, err = n.text()
	} else {
		*v, err = n.load()
	}
	if err != nil {
		e.err = err
		return
	}
	if why, page, ok := absentIn(n.method, lacks); ok && n.kind == jsonrpc.Notification {
		f.expected(why, page)
	} else if e.cross && jsonrpc.EraOf(lacks) == jsonrpc.Modern && e.unsubscribed(n, *v) {
		f.expected("in 2026-07-28 it requires a subscription", pageSubscriptions)
	}
	e.report(w, f)
}
