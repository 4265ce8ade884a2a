package session

import (
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// A purpose is why a request was sent.
type purpose uint8

const (
	asksCall   purpose = iota // the first request of a call
	asksRetry                 // a repetition with the input that was required
	asksStatus                // tasks/get
	asksResult                // tasks/result
	asksUpdate                // tasks/update
	asksCancel                // tasks/cancel
)

// A request is open, or one that became a task.
type request struct {
	ref     Ref
	at      time.Duration
	method  string
	subject string // of the message
	call    *call
	purpose purpose
	// closed reports that it is not open any more, cancelled that it was cancelled,
	// task that it asks to become a task, causes that the server may ask something
	// for it, guess that it belongs to its call by guess.
	closed, cancelled, task, causes, guess bool
	// level is 1 + the least level of the log messages that it asks for, 0 for none.
	level int
	// status is that of the HTTP response, 0 as long as there is none, and for
	// the usual one.
	status int
	// words are its keys in Pairing.words, at most one of each kind. The first
	// request of a call has those of the call.
	words []string
}

// A call is a Call that has not been handed over.
type call struct {
	*Call
	first *request
	open  int // how many open requests it has
	// final reports that only responses to open requests are to come.
	final bool
	// instead is what the status would be if it were not CallCancelledLate.
	instead CallStatus
	// tail are the last parts beyond those in Parts, oldest at next.
	tail []Part
	next int
	// name is the tool, prompt or resource of a modern request, and arguments
	// a hash of what it was given: a retry repeats both. doubt reports that a
	// retry of this call may have been taken for that of another.
	name      string
	arguments uint64
	doubt     bool
	holder    *request // the request that became the task: its token lives on
	extension bool     // the task is one of the tasks extension
}

// A tie is what is remembered of a request, or of a word, that is out of use.
type tie struct {
	call, parent    Ref
	method, subject string
	guess           bool
	// Of an id: its last request and when that was sent. late reports that it was
	// given up and that no response has come so far.
	request Ref
	at      time.Duration
	late    bool
}

// tie returns what is remembered of a call.
func (c *call) tie() tie {
	return tie{call: c.Ref, parent: c.Parent, guess: c.Guess, method: c.Method}
}

// keep adds a part.
func (c *call) keep(p *Part, size int64) {
	c.Counts[p.Role]++
	if p.Lane == tap.ToServer {
		c.BytesToServer += size
	} else {
		c.BytesToClient += size
	}
	switch {
	case len(c.Parts) < MaxCallParts:
		c.Parts = append(c.Parts, *p)
	case len(c.tail) < MaxCallParts:
		c.tail = append(c.tail, *p)
	default:
		c.tail[c.next] = *p
		c.next = (c.next + 1) % MaxCallParts
		c.Skipped++
	}
}

// assembled returns the call with its last parts in place. It shares no memory with
// c that may still be written to.
func (c *call) assembled() Call {
	whole := *c.Call
	whole.Parts = slices.Concat(c.Parts, c.tail[c.next:], c.tail[:c.next])
	whole.Asked = slices.Clone(c.Asked)
	return whole
}

// settle notes how the call ended. A later message may know better.
func (c *call) settle(x *arrival, s CallStatus) {
	c.Status, c.End, c.Answer = s, x.part.At, x.part.Message
}

// settleLate does so for a call that was cancelled and ended as s nevertheless.
func (c *call) settleLate(x *arrival, s CallStatus) {
	c.settle(x, CallCancelledLate)
	c.instead = s
}

// goesOn sets the status of a call that has not been settled.
func (c *call) goesOn(s CallStatus) {
	if !c.Status.Settled() {
		c.Status = s
	}
}

// endsOn settles a call that has not been settled.
func (c *call) endsOn(x *arrival, s CallStatus) bool {
	if c.Status.Settled() {
		return false
	}
	c.settle(x, s)
	return true
}

// cancelled notes which side asked for the end of a call.
func (c *call) cancelled(x *arrival, w *fields) {
	if c.Cancel == (Ref{}) {
		c.Cancel, c.CancelledBy, c.CancelReason = x.part.Message, x.f.Lane, wordText(w.reason)
	}
}

// uncancel takes a cancellation back that was refused.
func (c *call) uncancel() {
	c.Notes |= NoteCancelRefused
	c.Cancel, c.CancelledBy, c.CancelReason = Ref{}, tap.Lifecycle, ""
	if c.Status == CallCancelledLate {
		c.Status = c.instead
	}
}

// addRef keeps the first ones.
func addRef(refs []Ref, r Ref) []Ref {
	if len(refs) < MaxCallRefs {
		refs = append(refs, r)
	}
	return refs
}
