package session

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// response handles a response.
func (t *Pairing) response(x *arrival) {
	id := word(wordID, opposite(x.f.Lane), x.m.ID)
	a := t.sameStream(x, id)
	if a == nil {
		a = t.words[id].oldest()
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
	// It was answered before, or given up.
	x.part.Request, x.part.Latency, x.part.Late, x.part.Subject = past.request, x.f.At-past.at, true, past.subject
	role := RoleRepeat
	if past.late {
		role, past.late = RoleLate, false
	}
	t.recall(x, past, role)
}

// sameStream returns the open request on the HTTP exchange of a response that has its id, or
// nil. If clients share a session, their ids clash and only the exchanges distinguish them.
func (t *Pairing) sameStream(x *arrival, id string) *request {
	const few = 8 // a batch may hold any number
	stream := t.onStream()
	if x.f.Lane != tap.ToClient || len(stream) > few {
		return nil
	}
	for _, a := range stream {
		if a.word(wordID) == id {
			return a
		}
	}
	return nil
}

// unnamed handles a response that names no open request. HTTP servers refuse with an error
// without an id: then the exchange identifies the request. If the id of one side was not
// read, the response belongs to the only request to which it can belong, as a guess.
func (t *Pairing) unnamed(x *arrival) {
	noID := len(x.m.ID) == 0 || string(x.m.ID) == "null"
	role := RoleOrphan
	var a *request
	switch stream := t.onStream(); {
	case x.m.Unread && x.m.ID == nil:
		role = RoleUnread
		if a = t.onlyOpen(x); a != nil {
			a.guess = true
		}
	case noID:
		a = stream.only()
		if socket := x.f.Form == tap.FormText || x.f.Form == tap.FormBinary; socket || x.m.Kind != jsonrpc.ErrorResponse || x.f.Lane != tap.ToClient {
			a = nil // on a WebSocket, it may be about an invalid message
		} else if a != nil {
			a.call.Notes |= NoteNullID
		}
	case x.f.Lane == tap.ToClient && len(stream) > 0:
		if a = stream.only(); a != nil && a.word(wordID) != unreadID(tap.ToServer) {
			a = nil
		}
	default:
		a = t.words[unreadID(opposite(x.f.Lane))].only()
	}
	if a == nil {
		t.give(x, nil, role)
		return
	}
	t.answered(x, a)
}

// onlyOpen returns the only open request on the exchange of a response, or else the only one
// that it can answer, or nil.
func (t *Pairing) onlyOpen(x *arrival) *request {
	if stream := t.onStream(); x.f.Lane == tap.ToClient && len(stream) > 0 {
		return stream.only()
	}
	a, several := t.latest(func(a *request) bool { return a.call.Lane == opposite(x.f.Lane) })
	if several {
		return nil
	}
	return a
}

// answered handles the response to an open request.
func (t *Pairing) answered(x *arrival, a *request) {
	c := a.call
	if c.FirstAnswer == 0 {
		c.FirstAnswer = x.f.At
	}
	x.part.Request, x.part.Latency = a.ref, x.f.At-a.at
	x.part.Method, x.part.Subject, x.part.Guess = a.method, a.subject, a.guess
	if c == t.initialize && a == c.first && x.m.Kind == jsonrpc.Response {
		t.dialect = t.dialect || inDialect(x.m.Result, "server", "serverCapabilities")
		t.revision = cmp.Or(versionOf(x.m.Result), t.revision)
	}
	if x.f.Exchange == 0 || c.StreamEnd.By != "client" || a.word(wordExchange) != exchangeWord(x.f.Exchange) {
		c.Notes &^= NoteStreamEnded
	}
	t.close(a, false)
	if a.status >= 400 && !c.Status.Settled() {
		c.ErrorText = "" // that was the status
	}
	if a.purpose <= asksRetry {
		t.callAnswered(x, a)
	} else {
		t.taskAnswered(x, a)
	}
	if c.holder != a {
		t.retire(a, wordToken)
	}
	t.rest(c)
}

// callAnswered handles the answer to the first request of a call, or to a retry.
func (t *Pairing) callAnswered(x *arrival, a *request) {
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

// conclude ends a call with the answer that has just arrived.
func (t *Pairing) conclude(x *arrival, c *call) {
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
		t.began = true
	case c == t.initialize:
		c.Revision = t.revisionOf(nil)
	}
}

// AddEvent adds the event of the next frame. The calls that it ended are in
// [Pairing.Ended]. It matters for the requests of an exchange that have no answer when the
// exchange is over:
//
//   - One that was refused by the HTTP status alone has failed ([NoteRefused];
//     [NoteChallenged] for a 401), even if the status came before the end of the request.
//   - In 2026-07-28 a client cancels a request by closing the stream of the response
//     (basic/transports/streamable-http).
//   - In 2026-07-28, if it was not the client that closed it, the request is lost, as
//     the answer cannot come on another stream: it stays unanswered ([NoteStreamEnded]).
//   - In the legacy era the answer may still come on a stream that is resumed
//     (2025-11-25 basic/transports#resumability-and-redelivery), and a client that
//     disconnects cancels nothing. The note stays as long as no answer has come, and if
//     the answer comes on the exchange that its client has hung up. If the server ended a
//     stream that cannot be resumed, the request is lost as in 2026-07-28.
//   - One that was answered with status 200 and a body without a message has failed
//     ([NoteNoMessage]).
//
// A client that hangs up is noticed immediately, the end of the exchange only when the server
// notices.
//
// In HTTP+SSE the exchange of a request ends, with a status such as 202, before the answer
// comes on another.
//
// What is known of the exchange is in the [Entry] of a [Tracker].
func (t *Pairing) AddEvent(f *tap.Frame, e *tap.Event) { t.addEvent(f, e, Exchange{}) }

func (t *Pairing) addEvent(f *tap.Frame, e *tap.Event, exchange Exchange) {
	t.next()
	t.exchange = exchange
	stream := t.words[exchangeWord(f.Exchange)]
	switch {
	case e.Name == tap.EventResponse && !ordinaryStatus(e.Status):
		for _, a := range stream {
			a.replied(e)
		}
		if a := stream.oldest(); a != nil && e.Status >= 400 {
			t.refuses = Refusal{a.ref, a.call.Ref, a.method, a.subject}
		}
	case e.Name == tap.EventEnd, e.Name == tap.EventHangUp:
		x := &arrival{f: f, part: Part{Message: Ref{Seq: f.Seq}, Lane: f.Lane, At: f.At, Exchange: f.Exchange}}
		for _, a := range slices.Clone(stream) {
			if !a.closed { // with another one of its call
				t.exchangeEnded(x, e, a)
			}
		}
		for _, a := range t.words[exchangeWord(f.Exchange)] {
			if !a.call.Status.Settled() {
				t.waiting = append(t.waiting, a.call.Call)
				t.due = e.Name == tap.EventEnd
			}
		}
	}
}

// refusedEarly handles requests that the response e had refused before they were complete.
func (t *Pairing) refusedEarly(exchange uint64, e *tap.Event) {
	for _, a := range t.words[exchangeWord(exchange)] {
		if a.status == 0 {
			a.replied(e)
		}
	}
}

// ordinaryStatus reports whether a response with a status is interim, or may carry the
// answers to the requests of its exchange.
func ordinaryStatus(status int) bool { return status == 200 || status < 200 && status != 101 }

// replied records the head of the response.
func (a *request) replied(e *tap.Event) {
	a.status = e.Status
	if e.Status >= 400 {
		words := "HTTP " + strings.TrimSpace(strconv.Itoa(e.Status)+" "+e.Reason)
		if e.By == "tap" {
			words += ", by the tap"
		}
		if reason := challengeReason(e); reason != "" {
			words += ": " + reason
		}
		if a.purpose <= asksRetry && !a.call.Status.Settled() {
			a.call.ErrorText = jsonrpc.Bound(words) // in case neither an answer nor an end follows
		}
	}
}

// challengeReason returns the error_description of a challenge (RFC 6750, 3), "" if there is
// none.
func challengeReason(e *tap.Event) string {
	for _, h := range e.Header {
		if strings.EqualFold(h[0], "WWW-Authenticate") {
			_, rest, _ := strings.Cut(h[1], `error_description="`)
			reason, _, _ := strings.Cut(rest, `"`)
			return reason
		}
	}
	return ""
}

// exchangeEnded handles the end of the exchange of a request that has no answer, or that its
// client has hung up.
func (t *Pairing) exchangeEnded(x *arrival, e *tap.Event, a *request) {
	c := a.call
	modern := jsonrpc.EraOf(c.Revision) == jsonrpc.Modern && a.status != 101
	if t.exchange.Accepted && a.purpose <= asksRetry && !c.Status.Settled() && e.Name == tap.EventEnd {
		c.ErrorText = "HTTP 202 without a response"
	}
	switch {
	case a.status >= 400 && e.Name == tap.EventHangUp: // the end follows
	case a.status >= 400:
		t.refusedBy(x, a)
	case a.purpose <= asksRetry && !c.Status.Settled() && t.lost(e) && e.Error == "" && t.exchange.awaitsBody():
		c.Notes |= NoteNoMessage
		c.ErrorText = jsonrpc.Bound(t.exchange.noMessage())
		t.refusedBy(x, a)
	case a.purpose > asksRetry:
		if modern { // a poll of a task, which continues without it
			t.abandon(a)
		}
	case modern && (e.By == "client" || e.Name == tap.EventHangUp || e.HalfClosed):
		c.Notes |= NoteHungUp
		c.StreamEnd = StreamEnd{x.part.At, "client", e.Error}
		if c.Cancel == (Ref{}) {
			c.Cancel, c.CancelledBy = x.part.Message, tap.ToServer
		}
		if !c.Status.Settled() {
			c.settle(x, CallCancelled)
		}
		c.final = true
		t.abandon(a)
	case modern, t.lost(e) && !c.Status.Settled():
		c.streamEnded(x, e)
		if !c.Status.Settled() {
			c.End = x.part.At
		}
		c.final = true
		t.abandon(a)
	case !c.Status.Settled() && (a.status == 0 || a.status == 101):
		c.streamEnded(x, e)
	}
}

// lost reports whether the server has ended an exchange so that no response to its requests
// can follow. What was not recorded may have been a response.
func (t *Pairing) lost(e *tap.Event) bool {
	return t.exchange.Final && e.Name == tap.EventEnd && e.By == "server" && !e.HalfClosed && !strings.Contains(e.Error, "recorded")
}

// noMessage describes a response without a message.
func (x *Exchange) noMessage() string {
	text := strings.TrimSpace("HTTP 200 "+x.Type) + ", "
	if x.Body == "" {
		return text + "an empty body"
	}
	return text + "not JSON-RPC: " + x.Body
}

// streamEnded notes the end of an exchange. If its client had hung up, that counts.
func (c *Call) streamEnded(x *arrival, e *tap.Event) {
	if c.Notes&NoteStreamEnded != 0 && c.StreamEnd.By == "client" {
		return
	}
	c.Notes |= NoteStreamEnded
	c.StreamEnd = StreamEnd{x.part.At, e.By, e.Error}
	if e.HalfClosed && e.Error == "" {
		c.StreamEnd.By = "client"
	}
}

// refusedBy ends a request with the status of its response.
func (t *Pairing) refusedBy(x *arrival, a *request) {
	c := a.call
	if a.purpose <= asksRetry {
		c.Notes |= NoteRefused
		if a.status == 401 {
			c.Notes |= NoteChallenged
		}
		if !c.Status.Settled() {
			if body := t.exchange.Body; body != "" && !strings.Contains(c.ErrorText, body) {
				c.ErrorText = jsonrpc.Bound(c.ErrorText + ": " + body)
			}
			c.settle(x, CallError)
		}
		c.final = true
	}
	t.abandon(a)
}

// abandon closes a request that will have no response.
func (t *Pairing) abandon(a *request) {
	c := a.call
	t.close(a, true)
	if c.holder != a {
		t.retire(a, wordToken)
	}
	t.rest(c)
}
