package replay

import (
	"bytes"
	"strconv"

	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// server takes a message of the server's.
func (b *Builder) server(x *arriving) {
	if x.f.Truncated {
		return // bytes of it are missing: nobody said that
	}
	it := item{at: x.f.At, seq: x.f.Seq, index: uint16(x.part.Message.Index), place: x.place, patch: uint32(len(b.s.patches))}
	if x.line {
		it.flags |= itemLine
	}
	owner, ok := b.owner(x)
	switch x.m.Kind {
	case jsonrpc.Request:
		it.flags |= itemRequest
		it.needs = capabilityFor(x.m.Method)
		b.patchRequest(x)
	case jsonrpc.Notification:
		it.flags |= itemNote
		b.patchNotification(x, owner)
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		if ok {
			it.flags |= itemFinal
			b.answered(owner)
			b.s.eras.answered(owner, x.m)
			b.patchAnswer(x, owner)
		}
	}
	it.patches = uint8(len(b.s.patches) - int(it.patch))
	if !ok {
		it.flags |= itemGeneral
		b.hang(it)
		return
	}
	if e := b.s.cues[owner].exchange; e != x.f.Exchange && !it.has(itemFinal) {
		it.flags |= itemGeneral
	}
	b.own(owner, it)
}

// owner finds the request whose own step a message is.
func (b *Builder) owner(x *arriving) (uint32, bool) {
	p := x.part
	switch {
	case p.Kind == jsonrpc.Response || p.Kind == jsonrpc.ErrorResponse:
		c := b.s.find(p.Request)
		return c, c != 0 && p.Request != session.Ref{}
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
	if c := b.s.find(call); c != 0 && b.s.cues[c].kind == cueRequest {
		return b.current(c), true
	}
	if i := b.s.findItem(call); i != 0 && !b.s.items[i].has(itemHangs) {
		return b.current(b.s.items[i].cue), true
	}
	return 0, false
}

// patch notes a place of the message whose bytes are not the recorded ones when
// it is played. What a cue is asked for that is not the step's own has to be
// remembered by a session.
func (b *Builder) patch(kind patchKind, at span, ref, owner uint32) {
	b.s.patches = append(b.s.patches, patch{uint32(at.from), uint32(at.to), ref, kind})
	if (kind == patchID || kind == patchToken) && ref != owner {
		b.s.cues[ref].flags |= cueReferred
	}
}

// patchAnswer finds the id, and in the result of a subscription its id again.
func (b *Builder) patchAnswer(x *arriving, owner uint32) {
	first := len(b.s.patches)
	if x.prepared.hasID {
		b.patch(patchID, x.prepared.id, owner, owner)
	}
	if len(b.listens) == 0 {
		return
	}
	at, ok := find(x.raw, begin(x.raw), "result", "_meta", metaPrefix+"subscriptionId")
	if ok && b.listens[word(at.of(x.raw))] == owner {
		b.patch(patchID, at, owner, owner)
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
	start := begin(x.raw)
	if id, ok := find(x.raw, start, "id"); ok {
		b.patch(patchOwn, id, 0, 0)
		b.countID(id.of(x.raw))
	}
	switch x.m.Method {
	case "tasks/get", "tasks/result", "tasks/cancel":
		at, ok := find(x.raw, start, "params", "taskId")
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
	digits := id
	if classAt(id, 0) == '"' {
		digits = decode(id)
		digits = digits[bytes.LastIndexByte(digits, '-')+1:]
	}
	if n, err := strconv.ParseInt(string(digits), 10, 62); err == nil && n >= b.s.ownIDs {
		b.s.ownIDs = n + 1
	}
}

// patchNotification finds the token of a progress notification, the id of a
// cancelled request, and the id of a subscription.
func (b *Builder) patchNotification(x *arriving, owner uint32) {
	start := begin(x.raw)
	switch x.m.Method {
	case "notifications/progress":
		at, ok := find(x.raw, start, "params", "progressToken")
		if c := b.s.find(x.part.Call); ok && c != 0 {
			b.patch(patchToken, at, b.tokenOf(c, at.of(x.raw)), owner)
		}
	case "progress": // of the 002 dialect, by the id
		at, ok := find(x.raw, start, "params", "id")
		if c := b.s.find(x.part.Call); ok && c != 0 {
			b.patch(patchID, at, c, owner)
		}
	case "notifications/cancelled":
		at, ok := find(x.raw, start, "params", "requestId")
		if !ok || x.part.Call == (session.Ref{}) {
			return
		}
		if asked := b.s.findItem(x.part.Call); asked != 0 {
			b.patch(patchAsked, at, asked, 0)
		} else if c := b.listens[word(at.of(x.raw))]; c != 0 {
			b.patch(patchID, at, c, owner)
		}
	default:
		if len(b.listens) == 0 || !bytes.Contains(x.m.Params, []byte("subscriptionId")) {
			return
		}
		at, ok := find(x.raw, start, "params", "_meta", metaPrefix+"subscriptionId")
		if c := b.listens[word(at.of(x.raw))]; ok && c != 0 {
			b.patch(patchID, at, c, owner)
		}
	}
}

// tokenOf finds whose token it is among the requests of a call: the one that
// waits, the first, or else any.
func (b *Builder) tokenOf(c uint32, token []byte) uint32 {
	mark := tokenMark(token)
	root := b.s.cues[c].call
	for _, c := range []uint32{b.current(c), root, b.s.cues[root].again} {
		if c != 0 && b.s.cues[c].token == mark {
			return c
		}
	}
	return root
}
