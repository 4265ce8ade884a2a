package replay

import (
	"bytes"
	"strconv"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// client adds a client message.
func (b *Builder) client(x *arriving) {
	t := trigger{at: x.f.At, ref: session.Ref{Seq: x.f.Seq, Index: x.part.Message.Index}, exchange: x.f.Exchange, raw: x.raw}
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

// invalidKey returns the key of a frame that is not a message. A blank line has none, because
// peers ignore it.
func invalidKey(raw []byte) (Key, bool) {
	raw = bytes.TrimSpace(raw)
	return newKey('x', string(raw)), len(raw) > 0
}

func (b *Builder) request(x *arriving, t trigger) {
	k := b.keyer.key(x.m)
	t.kind, t.modern, t.listens = triggerRequest, k.modern, x.m.Method == methodListen
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
		b.link(n, root, x.m.Method)
	}
	if id := canonical(x.m.ID); t.listens && id != "" {
		b.listens[id] = n
	}
	b.s.eras.asked(n, x.m.Method, &k)
	variant := ""
	if x.http != nil {
		variant = x.http.Head.Variant(&x.http.Claim)
	}
	b.s.index.addRequest(b.s.opt.Match, &k, variant, n)
}

// link links a further request of a call to its first.
func (b *Builder) link(n, root uint32, method string) {
	first := &b.s.triggers[root]
	before := root
	if first.lastInCall != 0 {
		before = first.lastInCall
	}
	b.s.triggers[n].call = root
	if method == "tasks/get" {
		b.poll(n, before)
	} else {
		b.waiting[root] = n
	}
	first.lastInCall = n
}

// poll records what must precede a poll of a task: everything that the client did for the call
// except other polls. Otherwise a client that polls faster than the recorded one would see the
// task end too early.
func (b *Builder) poll(n, before uint32) {
	t := &b.s.triggers[n]
	t.poll, t.needs = true, before
	if last := &b.s.triggers[before]; last.poll {
		t.needs = last.needs
	}
	t.needs = max(t.needs, b.gates[before])
	if w := b.waiting[t.call]; w != 0 {
		t.needs = max(t.needs, w, b.gates[w])
	}
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
		b.own(b.carrier(owner), step{at: t.at, ref: t.ref, kind: stepCancel, about: n, call: owner})
		b.s.triggers[owner].cancelled = true
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
		asked = 0 // a live client cannot be made to send it
	}
	t.kind, t.answer = triggerAnswer, asked
	if asked == 0 {
		b.s.orphans[canonical(x.m.ID)] = true
		if x.http != nil { // the server may have refused it
			b.s.index.add(orphan(x.m), b.trigger(t))
		}
		return
	}
	n := b.trigger(t)
	question := &b.s.steps[asked]
	question.answer, question.answerKey = n, answerKey(x.m)
	if task, ok := clientTask(x.m.Result); ok {
		b.tasks[canonical(task)] = asked
	}
	if question.call == 0 {
		return
	}
	owner := b.current(question.call)
	b.own(b.carrier(owner), step{at: t.at, ref: t.ref, kind: stepAnswer, about: asked, call: owner})
	if o := &b.s.triggers[owner]; o.call != owner || o.lastInCall != 0 {
		b.gates[owner] = n
	}
}

// clientTask returns the id of the task that a client's answer creates
// (2025-11-25 basic/utilities/tasks).
func clientTask(result []byte) ([]byte, bool) {
	id := jsonrpc.Value(result).Get("task", "taskId")
	return id, id.Class() == '"'
}

// server adds a server message as a step of the exchange on which it came, or else of its call,
// or of neither.
func (b *Builder) server(x *arriving) {
	if x.f.Truncated {
		return
	}
	if end := b.s.end; end != 0 && x.f.At-x.f.Took <= b.s.triggers[end].at {
		// A line without a terminator is numbered at the end of its lane but came earlier.
		defer func(behind uint32) { b.behind = behind }(b.behind)
		b.behind = b.beforeEnd
	}
	st := step{
		at: x.f.At, ref: session.Ref{Seq: x.f.Seq, Index: x.part.Message.Index}, raw: x.raw, form: x.f.Form,
		line: x.line, repeat: x.repeats, batch: x.batch,
	}
	if x.f.Form == tap.FormEvent || x.http != nil {
		st.whole = x.whole
	}
	call, ok := b.owner(x)
	owner := call
	if x.http != nil {
		owner = x.http.carrier
	}
	st.call = call
	switch x.m.Kind {
	case jsonrpc.Request:
		st.request, st.needs = true, capabilityFor[x.m.Method]
		b.editRequest(x, &st)
	case jsonrpc.Notification:
		st.notice = true
		if shown := capabilityOf[x.m.Method]; shown != "" {
			b.s.implied[shown] = true
		}
		b.editNotification(x, &st)
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		if !ok {
			break
		}
		if !x.repeats {
			st.final = true
			t := &b.s.triggers[call]
			if t.answer = uint32(len(b.s.steps)); b.waiting[t.call] == call {
				delete(b.waiting, t.call)
			}
			b.s.eras.answered(call, x.m)
		}
		b.editAnswer(x, &st)
	}
	if owner == 0 {
		st.general = true
		b.hang(st)
		return
	}
	st.general = x.http == nil && b.s.triggers[owner].exchange != x.f.Exchange && !st.final
	b.own(owner, st)
}

// owner returns the request to whose steps a message belongs.
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

// ownerOf returns the request to which a message of a call belongs. The call was made by the
// client, or by the server within a call of the client.
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

// The values of a message that may need to be replaced.
var (
	nameID           = []string{"id"}
	nameTask         = []string{"params", "taskId"}
	nameToken        = []string{"params", "progressToken"}
	nameParamsID     = []string{"params", "id"}
	nameRequestID    = []string{"params", "requestId"}
	nameSubscription = []string{"params", "_meta", jsonrpc.MetaPrefix + "subscriptionId"}
	nameSubscribed   = []string{"result", "_meta", jsonrpc.MetaPrefix + "subscriptionId"}
)

// edit adds an edit.
func (st *step) edit(kind editKind, names []string, about uint32) {
	st.edits = append(st.edits, edit{kind, about, names})
}

// editAnswer replaces the id and, in the result of a subscription, the subscription id.
func (b *Builder) editAnswer(x *arriving, st *step) {
	if id := Value(x.raw, nameID...); id != nil && id[0] != 'n' {
		st.edit(editID, nameID, st.call)
	}
	if len(b.listens) > 0 && b.listens[canonical(Value(x.raw, nameSubscribed...))] == st.call {
		st.edit(editID, nameSubscribed, st.call)
	}
}

// editRequest replaces the id of a server request, and the id of the client's task that it
// refers to.
func (b *Builder) editRequest(x *arriving, st *step) {
	if id := Value(x.raw, nameID...); id != nil {
		st.edit(editOwn, nameID, 0)
		// Ids that a session generates must not clash with recorded ones.
		digits := bytes.Trim(id, `"`)
		digits = digits[bytes.LastIndexByte(digits, '-')+1:]
		if n, err := strconv.ParseInt(string(digits), 10, 62); err == nil && n >= b.s.nextID {
			b.s.nextID = n + 1
		}
	}
	switch x.m.Method {
	case "tasks/get", "tasks/result", "tasks/cancel":
		if asked := b.tasks[canonical(Value(x.raw, nameTask...))]; asked != 0 {
			st.edit(editTask, nameTask, asked)
		}
	}
}

// editNotification replaces a progress token, the id of a cancelled request, or the id of
// a subscription.
func (b *Builder) editNotification(x *arriving, st *step) {
	t := b.s.find(x.part.Call)
	switch x.m.Method {
	case "notifications/progress":
		if token := Value(x.raw, nameToken...); token != nil && t != 0 {
			st.edit(editToken, nameToken, b.tokenOf(t, token))
		}
	case "progress": // of the 002 dialect, which uses the id
		if t != 0 && Value(x.raw, nameParamsID...) != nil {
			st.edit(editID, nameParamsID, t)
		}
	case "notifications/cancelled":
		id := Value(x.raw, nameRequestID...)
		if id == nil || x.part.Call == (session.Ref{}) {
			return
		}
		if asked := b.s.findStep(x.part.Call); asked != 0 {
			st.edit(editAsked, nameRequestID, asked)
		} else if t := b.listens[canonical(id)]; t != 0 {
			st.edit(editID, nameRequestID, t)
		}
	default:
		if len(b.listens) == 0 {
			return
		}
		if t := b.listens[canonical(Value(x.raw, nameSubscription...))]; t != 0 {
			st.edit(editID, nameSubscription, t)
		}
	}
}

// tokenOf returns the request of a call that has a progress token: the waiting one, the first or
// the last, whichever matches first; otherwise the first.
func (b *Builder) tokenOf(t uint32, token []byte) uint32 {
	root := b.s.triggers[t].call
	for _, t := range []uint32{b.current(t), root, b.s.triggers[root].lastInCall} {
		if t != 0 && canonical(Value(b.s.triggers[t].raw, "params", "_meta", "progressToken")) == canonical(token) {
			return t
		}
	}
	return root
}
