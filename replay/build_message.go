package replay

import (
	"bytes"
	"strconv"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// client takes a message of the client's.
func (b *Builder) client(x *arriving) {
	t := trigger{at: x.f.At, seq: x.f.Seq, index: uint16(x.part.Message.Index), exchange: x.f.Exchange, place: x.place}
	if x.http != nil {
		if x.http.carrier == 0 {
			x.http.carrier = uint32(len(b.s.triggers))
		}
		t.carrier = x.http.carrier
		b.s.inbound = b.s.inbound || x.http.Inbound
	}
	switch x.m.Kind {
	case jsonrpc.Request:
		b.request(x, t)
	case jsonrpc.Notification:
		b.notification(x, t)
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		b.answer(x, t)
	default:
		t.kind = triggerInvalid
		if key, ok := invalidKey(x.raw); ok && !x.f.Truncated {
			b.s.index.add(key, b.trigger(t))
		} else if x.http != nil {
			b.trigger(t)
		}
	}
}

// invalidKey is the key of what is no message. A blank line has none: peers ignore it.
func invalidKey(raw []byte) (key, bool) {
	raw = bytes.TrimSpace(raw)
	return newKey('x', string(raw)), len(raw) > 0
}

func (b *Builder) request(x *arriving, t trigger) {
	k := b.keyer.key(x.m)
	t.kind = triggerRequest
	t.token = tokenMark(k.token)
	if k.modern {
		t.flags |= triggerModern
	}
	root := uint32(0)
	if x.part.Role != session.RoleRequest {
		root = b.s.find(x.part.Call)
	}
	n := b.trigger(t)
	b.s.requests++
	if b.s.opening == 0 {
		b.s.opening = n
	}
	b.s.triggers[n].call = n
	if root != 0 {
		b.again(n, root, x.m.Method)
	}
	if x.m.Method == "subscriptions/listen" {
		b.listens[word(x.m.ID)] = n
		b.s.triggers[n].flags |= triggerListens
	}
	b.s.eras.asked(n, x.m.Method, &k)
	variant := ""
	if x.http != nil {
		variant = x.http.Head.Variant(&x.http.Claim)
	}
	b.s.index.addRequest(b.s.opt.Match, x.m.Method, &k, variant, n)
}

// again ties a further request of a call to its first.
func (b *Builder) again(n, root uint32, method string) {
	first := &b.s.triggers[root]
	before := first.again
	if before == 0 {
		before = root
	}
	b.s.triggers[n].call = root
	if method == "tasks/get" {
		b.s.triggers[n].flags |= triggerPoll
		b.poll(n, before)
	} else {
		b.waiting[root] = n
	}
	first.again = n
}

// poll notes what has to come before a poll of a task, beside other polls: what
// else the client did for the call. Otherwise a client that polls faster than the
// recorded one would see a task end before it was done.
func (b *Builder) poll(n, before uint32) {
	need := before
	if b.s.triggers[before].has(triggerPoll) {
		need = b.s.needed[before]
	}
	need = max(need, b.gates[before])
	if w := b.waiting[b.s.triggers[n].call]; w != 0 {
		need = max(need, w, b.gates[w])
	}
	if need == 0 {
		return
	}
	b.s.needed[n] = need
}

// tokenMark is a hash of a token, 0 for none.
func tokenMark(token []byte) uint32 {
	w := word(token)
	if w == "" {
		return 0
	}
	return uint32(jsontree.HashString(w)) | 1
}

func (b *Builder) notification(x *arriving, t trigger) {
	target := uint32(0)
	if x.part.Role == session.RoleCancel {
		target = b.s.find(x.part.Call)
	}
	if target != 0 {
		t.kind = triggerCancel
		n := b.trigger(t)
		owner := b.current(target)
		b.own(b.carrier(owner), step{at: t.at, seq: t.seq, index: t.index, kind: stepCancel, ref: n, call: owner})
		b.s.triggers[owner].flags |= triggerCancelled
		return
	}
	t.kind = triggerNotification
	k := b.keyer.key(x.m)
	n := b.trigger(t)
	b.s.index.add(k.exact, n)
	b.s.index.add(k.byMethod(), n)
}

func (b *Builder) answer(x *arriving, t trigger) {
	asked := b.s.findStep(x.part.Request)
	if x.part.Role == session.RoleRepeat || x.part.Role == session.RoleOrphan {
		asked = 0 // no live client can be made to say that
	}
	t.kind = triggerAnswer
	switch {
	case asked != 0:
	case x.http != nil:
		b.s.index.add(orphan(x.m), b.trigger(t)) // which the server may have refused
		return
	default:
		return
	}
	t.answer = asked
	n := b.trigger(t)
	b.s.asked[asked] = answer{n, answerKey(x.m)}
	if call := b.s.steps[asked].call; call != 0 {
		owner := b.current(call)
		b.own(b.carrier(owner), step{at: t.at, seq: t.seq, index: t.index, kind: stepAnswer, ref: asked, call: owner})
		if b.s.triggers[owner].call != owner || b.s.triggers[owner].again != 0 {
			b.gates[owner] = n
		}
	}
	if task, ok := clientTask(x.m.Result); ok {
		b.tasks[word(task)] = asked
	}
}

// clientTask is the id of the task that an answer of the client's makes
// (2025-11-25 basic/utilities/tasks).
func clientTask(result []byte) ([]byte, bool) {
	id := jsonrpc.Value(result).Get("task", "taskId")
	return id, id.Class() == '"'
}

// server takes a message of the server's. It is a step of the exchange that it came on;
// without one, of the call that it belongs to, or of none.
func (b *Builder) server(x *arriving) {
	if x.f.Truncated {
		return // bytes of it are missing
	}
	if end := b.s.end; end != 0 && x.f.At-x.f.Took <= b.s.triggers[end].at {
		// A line without an end is numbered when its lane has ended, but came before.
		defer func(behind uint32) { b.behind = behind }(b.behind)
		b.behind = b.beforeEnd
	}
	st := step{
		at: x.f.At, seq: x.f.Seq, index: uint16(x.part.Message.Index), place: x.place, patch: uint32(len(b.s.patches)), form: x.f.Form,
	}
	if x.f.Form == tap.FormEvent || x.http != nil {
		st.whole = x.whole
	}
	if x.line {
		st.flags |= stepLine
	}
	if x.repeats {
		st.flags |= stepRepeat
	}
	call, ok := b.owner(x)
	owner := call
	if x.http != nil {
		owner = x.http.carrier
	}
	st.call = call
	switch x.m.Kind {
	case jsonrpc.Request:
		st.flags |= stepRequest
		st.needs = capabilityFor(x.m.Method)
		b.patchRequest(x)
	case jsonrpc.Notification:
		st.flags |= stepNote
		if shown := capabilityOf[x.m.Method]; shown != "" {
			b.s.shows[shown] = true
		}
		b.patchNotification(x, owner)
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		if !ok {
			break
		}
		if !x.repeats {
			st.flags |= stepFinal
			b.answered(call, uint32(len(b.s.steps)))
			b.s.eras.answered(call, x.m)
		}
		b.patchAnswer(x, call, owner)
	}
	st.patches = uint8(len(b.s.patches) - int(st.patch))
	switch {
	case owner == 0:
		st.flags |= stepGeneral
		b.hang(st)
		return
	case x.http == nil && b.s.triggers[owner].exchange != x.f.Exchange && !st.has(stepFinal):
		st.flags |= stepGeneral
	}
	b.own(owner, st)
}

// owner finds the request whose own step a message is.
func (b *Builder) owner(x *arriving) (uint32, bool) {
	p := x.part
	switch {
	case p.Kind == jsonrpc.Response || p.Kind == jsonrpc.ErrorResponse:
		t := b.s.find(p.Request)
		return t, t != 0 && p.Request != session.Ref{}
	case p.Kind == jsonrpc.Request && p.Role == session.RoleRequest:
		return b.ownerOf(p.Parent)
	}
	return b.ownerOf(p.Call)
}

// ownerOf finds the request to which something belongs that is part of a call:
// one of the client's, or one of the server's within one of the client's.
func (b *Builder) ownerOf(call session.Ref) (uint32, bool) {
	if call == (session.Ref{}) {
		return 0, false
	}
	if t := b.s.find(call); t != 0 && b.s.triggers[t].kind == triggerRequest {
		return b.current(t), true
	}
	if i := b.s.findStep(call); i != 0 && b.s.steps[i].call != 0 {
		return b.current(b.s.steps[i].call), true
	}
	return 0, false
}

// patch notes a place of the message whose bytes are not the recorded ones when
// it is played. What a trigger is asked for that is not the step's own has to be
// remembered by a session.
func (b *Builder) patch(kind patchKind, at span, ref, owner uint32) {
	b.s.patches = append(b.s.patches, patch{uint32(at.from), uint32(at.to), ref, kind})
	if (kind == patchID || kind == patchToken) && ref != owner {
		b.s.triggers[ref].flags |= triggerReferred
	}
}

// patchAnswer finds the id, and in the result of a subscription its id again.
func (b *Builder) patchAnswer(x *arriving, call, owner uint32) {
	first := len(b.s.patches)
	if at, ok := idIn(x.raw, x.m); ok && x.raw[at.from] != 'n' {
		b.patch(patchID, at, call, owner)
	}
	if len(b.listens) == 0 {
		return
	}
	at, ok := find(x.raw, "result", "_meta", jsonrpc.MetaPrefix+"subscriptionId")
	if ok && b.listens[word(at.of(x.raw))] == call {
		b.patch(patchID, at, call, owner)
	}
	b.inOrder(first)
}

// inOrder puts the patches of a message in order. Some write the id last.
func (b *Builder) inOrder(first int) {
	if p := b.s.patches[first:]; len(p) == 2 && p[0].from > p[1].from {
		p[0], p[1] = p[1], p[0]
	}
}

// patchRequest finds the id of a request of the server's, and the client's task
// that it asks about.
func (b *Builder) patchRequest(x *arriving) {
	first := len(b.s.patches)
	if id, ok := find(x.raw, "id"); ok {
		b.patch(patchOwn, id, 0, 0)
		b.countID(id.of(x.raw))
	}
	switch x.m.Method {
	case "tasks/get", "tasks/result", "tasks/cancel":
		at, ok := find(x.raw, "params", "taskId")
		if !ok {
			return
		}
		if asked := b.tasks[word(at.of(x.raw))]; asked != 0 {
			b.patch(patchTask, at, asked, 0)
		}
	}
	b.inOrder(first)
}

// countID keeps the numbers that a session makes ids of above the recorded ones.
func (b *Builder) countID(id []byte) {
	digits := bytes.Trim(id, `"`)
	digits = digits[bytes.LastIndexByte(digits, '-')+1:]
	if n, err := strconv.ParseInt(string(digits), 10, 62); err == nil && n >= b.s.ownIDs {
		b.s.ownIDs = n + 1
	}
}

// patchNotification finds the token of a progress notification, the id of a
// cancelled request, and the id of a subscription.
func (b *Builder) patchNotification(x *arriving, owner uint32) {
	switch x.m.Method {
	case "notifications/progress":
		at, ok := find(x.raw, "params", "progressToken")
		if t := b.s.find(x.part.Call); ok && t != 0 {
			b.patch(patchToken, at, b.tokenOf(t, at.of(x.raw)), owner)
		}
	case "progress": // of the 002 dialect, by the id
		at, ok := find(x.raw, "params", "id")
		if t := b.s.find(x.part.Call); ok && t != 0 {
			b.patch(patchID, at, t, owner)
		}
	case "notifications/cancelled":
		at, ok := find(x.raw, "params", "requestId")
		if !ok || x.part.Call == (session.Ref{}) {
			return
		}
		if asked := b.s.findStep(x.part.Call); asked != 0 {
			b.patch(patchAsked, at, asked, 0)
		} else if t := b.listens[word(at.of(x.raw))]; t != 0 {
			b.patch(patchID, at, t, owner)
		}
	default:
		if len(b.listens) == 0 || !bytes.Contains(x.m.Params, []byte("subscriptionId")) {
			return
		}
		at, ok := find(x.raw, "params", "_meta", jsonrpc.MetaPrefix+"subscriptionId")
		if t := b.listens[word(at.of(x.raw))]; ok && t != 0 {
			b.patch(patchID, at, t, owner)
		}
	}
}

// tokenOf finds whose token it is among the requests of a call: the one that
// waits, the first, or else any.
func (b *Builder) tokenOf(t uint32, token []byte) uint32 {
	mark := tokenMark(token)
	root := b.s.triggers[t].call
	for _, t := range []uint32{b.current(t), root, b.s.triggers[root].again} {
		if t != 0 && b.s.triggers[t].token == mark {
			return t
		}
	}
	return root
}

// idIn finds the id of a message, which points into raw but for an event of several lines.
func idIn(raw []byte, m *jsonrpc.Message) (span, bool) {
	for at := 0; len(m.ID) > 0; at++ {
		n := bytes.Index(raw[at:], m.ID)
		if n < 0 {
			break
		}
		if at += n; &raw[at] == &m.ID[0] {
			return span{at, at + len(m.ID)}, true
		}
	}
	return find(raw, "id")
}
