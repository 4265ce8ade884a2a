package session

import (
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// response takes a response.
func (t *Pairing) response(x *arrival) {
	id := word(wordID, opposite(x.f.Lane), x.m.ID)
	a := t.sameStream(x, id)
	if a == nil {
		a = t.byWord.of(id).oldest()
	}
	if a != nil {
		t.answered(x, a)
		return
	}
	past := t.past.At(id)
	if past == nil {
		t.unnamed(x)
		return
	}
	// It was answered before, or given up as cancelled.
	x.part.Request, x.part.Latency, x.part.Late, x.part.Subject = past.request, x.f.At-past.at, true, past.subject
	role := RoleRepeat
	if past.late {
		role, past.late = RoleLate, false
	}
	t.recall(x, past, role)
}

// sameStream is the open request that a response on an HTTP exchange has come
// back for, nil if that is not certain. Where clients share a session, ids clash
// that the exchanges distinguish.
func (t *Pairing) sameStream(x *arrival, id string) *openRequest {
	const few = 8 // a batch may hold any number
	stream := t.stream(x.f.Exchange)
	if x.f.Lane != tap.ToClient || len(stream.items) > few {
		return nil
	}
	for _, a := range stream.items {
		if a.id == id {
			return a
		}
	}
	return nil
}

// unnamed takes a response that names no open request. HTTP servers refuse with
// an error that has no id: then the exchange reports what was refused. Where the id
// of one side was too far behind to be read, the response belongs to the only
// request that it can belong to, as a guess.
func (t *Pairing) unnamed(x *arrival) {
	noID := len(x.m.ID) == 0 || string(x.m.ID) == "null"
	role := RoleOrphan
	var a *openRequest
	switch stream := t.stream(x.f.Exchange); {
	case x.m.Unread && x.m.ID == nil:
		role = RoleUnread
		if a = t.onlyOpen(x); a != nil {
			a.guess = true
		}
	case noID:
		if a = stream.only(); x.m.Kind != jsonrpc.ErrorResponse || x.f.Lane != tap.ToClient {
			a = nil
		} else if a != nil {
			a.call.Notes |= NoteNullID
		}
	case x.f.Lane == tap.ToClient && !stream.empty():
		if a = stream.only(); a != nil && a.id != unreadID(tap.ToServer) {
			a = nil
		}
	default:
		a = t.byWord.of(unreadID(opposite(x.f.Lane))).only()
	}
	if a == nil {
		t.give(x, nil, role)
		return
	}
	t.answered(x, a)
}

// onlyOpen is the only open request on the exchange of a response, otherwise the
// only one that it can answer, nil if there are none or several.
func (t *Pairing) onlyOpen(x *arrival) *openRequest {
	if stream := t.stream(x.f.Exchange); x.f.Lane == tap.ToClient && !stream.empty() {
		return stream.only()
	}
	var found *openRequest
	for _, c := range t.begun.items {
		for _, a := range c.requests.items {
			if c.Lane != opposite(x.f.Lane) {
				continue
			}
			if found != nil {
				return nil
			}
			found = a
		}
	}
	return found
}

// answered takes the response to an open request.
func (t *Pairing) answered(x *arrival, a *openRequest) {
	c := a.call
	if c.FirstAnswer == 0 {
		c.FirstAnswer = x.f.At
	}
	x.part.Request, x.part.Latency = a.ref, x.f.At-a.at
	x.part.Method, x.part.Subject, x.part.Guess = a.method, a.subject, a.guess
	if c == t.initialize {
		t.facts.Learn(&t.finding, x.f.Lane, x.m)
	}
	t.close(a, false)
	c.Notes &^= NoteStreamEnded
	if a.status >= 400 && !c.Status.Settled() {
		c.ErrorText = "" // the answer knows better
	}
	if a.purpose <= asksRetry {
		t.callAnswered(x, a)
	} else {
		t.taskAnswered(x, a)
	}
	if c.holder != a {
		t.release(a)
	}
	t.rest(c)
}

// callAnswered takes the answer to the first request of a call, or to a retry.
func (t *Pairing) callAnswered(x *arrival, a *openRequest) {
	c, m := a.call, x.m
	if c.Status == CallCancelled {
		x.part.Late = true
		t.give(x, c, RoleLate)
		t.conclude(x, c)
		return
	}
	if m.Kind == jsonrpc.Response && m.ResultType == "input_required" {
		t.give(x, c, RoleInterim)
		t.await(x, c)
		return
	}
	if m.Kind == jsonrpc.Response && (a.task || m.ResultType == "task") && t.created(x, a) {
		return
	}
	t.give(x, c, RoleResponse)
	t.conclude(x, c)
}

// conclude ends a call with the answer that has just come.
func (t *Pairing) conclude(x *arrival, c *callState) {
	m := x.m
	status := CallDone
	switch {
	case m.Kind == jsonrpc.ErrorResponse:
		status = CallError
		c.ErrorCode, c.ErrorText = m.ErrorCode, m.ErrorMessage
		t.elicitationsRequired(x, c)
	case m.IsError:
		status = CallToolError
		c.ErrorText = jsonrpc.Subject(*m)
	}
	if c.Status == CallCancelled {
		c.settleLate(x, status)
	} else {
		c.settle(x, status)
	}
	c.final = true
	switch {
	case status == CallDone && c.Method == "server/discover":
		c.Notes &^= NoteProbe
		t.spoke = true
	case c == t.initialize:
		c.Revision = t.revision(&callWords{})
	}
}
