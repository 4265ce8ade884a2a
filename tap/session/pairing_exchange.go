package session

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// AddEvent takes the next frame if it is about the run, with what it says. The
// calls that it ended are in [Pairing.Ended]. It matters for the requests that
// the exchange has brought and that have no answer when it is over:
//
//   - One that was refused by the HTTP status, with no JSON-RPC error that says
//     so, has failed ([NoteRefused]; [NoteChallenged] where it was a 401).
//   - In 2026-07-28, where the client closed the stream of the response, that is
//     how it cancels the request (basic/transports/streamable-http).
//   - In 2026-07-28, where it was not the client, the request is lost, as no
//     other stream can bring its answer: it stays unanswered ([NoteStreamEnded]).
//   - In the legacy era its answer may still come on a stream that is resumed
//     (2025-11-25 basic/transports#resumability-and-redelivery), and that a
//     client is gone cancels nothing. The note stays as long as none has come.
//
// In HTTP+SSE the exchange of a request is over before its answer comes, on
// another. It has a status such as 202, which says so.
func (t *Pairing) AddEvent(f *tap.Frame, e *tap.Event) {
	t.next()
	stream := t.streams.of(f.Exchange)
	if f.Exchange == 0 {
		return
	}
	switch {
	case e.Name == tap.EventResponse && ordinaryStatus(e.Status):
	case e.Name == tap.EventResponse:
		for _, a := range stream.items {
			a.replied(e)
		}
	case e.Name == tap.EventEnd:
		x := &arrival{f: f, part: Part{Message: Ref{Seq: f.Seq}, Lane: f.Lane, At: f.At, Exchange: f.Exchange}}
		for _, a := range slices.Clone(stream.items) {
			if a.exchange != 0 { // it was not closed with another one of its call
				t.exchangeEnded(x, e, a)
			}
		}
	}
}

// ordinaryStatus reports whether a response of a status may bring the answers to
// the requests of its exchange, or whether it is an interim one.
func ordinaryStatus(status int) bool { return status == 200 || status < 200 && status != 101 }

// replied notes the head of the response.
func (a *openRequest) replied(e *tap.Event) {
	a.status = e.Status
	if e.Status >= 400 {
		words := "HTTP " + strings.TrimSpace(strconv.Itoa(e.Status)+" "+e.Reason)
		if e.By == "tap" {
			words += ", by the tap"
		}
		if a.purpose <= asksRetry && !a.call.Status.Settled() {
			a.call.ErrorText = jsonrpc.Bound(words) // should there be no answer and no end
		}
	}
}

// exchangeEnded takes the end of the exchange of a request that has no answer.
func (t *Pairing) exchangeEnded(x *arrival, e *tap.Event, a *openRequest) {
	c := a.call
	modern := jsonrpc.EraOf(c.Revision) == jsonrpc.Modern && a.status != 101
	switch {
	case a.status >= 400:
		t.refusedBy(x, a)
	case a.purpose > asksRetry:
		if modern { // a poll of a task, which goes on without it
			t.abandon(a)
		}
	case modern && (e.By == "client" || e.HalfClosed):
		c.Notes |= NoteHungUp
		if c.Cancel == (Ref{}) {
			c.Cancel, c.CancelledBy = x.part.Message, tap.ToServer
		}
		if !c.Status.Settled() {
			c.settle(x, CallCancelled)
		}
		c.final = true
		t.abandon(a)
	case modern:
		c.Notes |= NoteStreamEnded
		if !c.Status.Settled() {
			c.End = x.part.At
		}
		c.final = true
		t.abandon(a)
	case !c.Status.Settled() && (a.status == 0 || a.status == 101):
		c.Notes |= NoteStreamEnded
	}
}

// refusedBy ends a request with the status of its response.
func (t *Pairing) refusedBy(x *arrival, a *openRequest) {
	c := a.call
	if a.purpose <= asksRetry {
		c.Notes |= NoteRefused
		if a.status == 401 {
			c.Notes |= NoteChallenged
		}
		if !c.Status.Settled() {
			c.settle(x, CallError)
		}
		c.final = true
	}
	t.abandon(a)
}

// abandon closes a request that will have no response.
func (t *Pairing) abandon(a *openRequest) {
	c := a.call
	t.close(a, true)
	if c.holder != a {
		t.release(a)
	}
	t.rest(c)
}
