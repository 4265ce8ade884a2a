package session

import (
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

// An openRequest is a request without a response so far, or one that became a task.
type openRequest struct {
	ref     Ref
	at      time.Duration
	method  string
	subject string // of the message
	call    *callState
	purpose purpose
	// cancelled reports that it was cancelled, task that it asks to become a task,
	// guess that it belongs to its call by guess.
	cancelled, task, guess bool
	// status is that of the HTTP response, 0 as long as there is none, and for
	// the usual one.
	status int
	// Where the Pairing has it: id and token are keys of Pairing.byWord, exchange
	// of streams, level of logging, "" or 0 where it is not.
	id, token string
	exchange  uint64
	level     int
	causing   *queue[*openRequest]
}

// A callState is a call that has not been handed over.
type callState struct {
	*Call
	first    *openRequest
	requests queue[*openRequest] // the open ones
	waits    bool                // it is in Pairing.waiting
	// final reports that only responses to open requests are to come, over that
	// the call was handed over.
	final, over bool
	// instead is what the status would be if it were not CallCancelledLate.
	instead CallStatus
	// tail are the last parts beyond those in Parts, oldest at next.
	tail []Part
	next int
	// name is the tool, prompt or resource of a modern request, and arguments
	// a hash of what it was given: a retry repeats both.
	name      string
	arguments uint64
	// Keys of Pairing.calls, "" where the call is not there: requestState and
	// shape while it waits for input, task, subscription.
	stateKey, shapeKey, taskKey, subscriptionKey string
	extension                                    bool         // its task is one of the tasks extension
	holder                                       *openRequest // the request that became the task: its token lives on
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

// tie is what is remembered of a call.
func (c *callState) tie() tie {
	return tie{call: c.Ref, parent: c.Parent, guess: c.Guess, method: c.Method}
}

// keep adds a part.
func (c *callState) keep(p *Part, size int64) {
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

// assembled is the call with its last parts in place. It shares no memory with
// c that may still be written to.
func (c *callState) assembled() Call {
	whole := *c.Call
	n := len(c.Parts)
	whole.Parts = append(c.Parts[:n:n], c.tail[c.next:]...)
	whole.Parts = append(whole.Parts, c.tail[:c.next]...)
	whole.Asked = append([]EmbeddedRequest(nil), c.Asked...)
	return whole
}

// settle notes how the call ended. A later message may know better.
func (c *callState) settle(x *arrival, s CallStatus) {
	c.Status, c.End, c.Answer = s, x.part.At, x.part.Message
}

// settleLate does so for a call that was cancelled and ended as s nevertheless.
func (c *callState) settleLate(x *arrival, s CallStatus) {
	c.settle(x, CallCancelledLate)
	c.instead = s
}

// goesOn sets the status of a call that has not been settled.
func (c *callState) goesOn(s CallStatus) {
	if !c.Status.Settled() {
		c.Status = s
	}
}

// endsOn settles a call that has not been settled.
func (c *callState) endsOn(x *arrival, s CallStatus) bool {
	if c.Status.Settled() {
		return false
	}
	c.settle(x, s)
	return true
}

// cancelled notes which side asked for the end of a call.
func (c *callState) cancelled(x *arrival, w *callWords) {
	if c.Cancel == (Ref{}) {
		c.Cancel, c.CancelledBy, c.CancelReason = x.part.Message, x.f.Lane, wordText(w.reason)
	}
}

// uncancel takes a cancellation back that was refused.
func (c *callState) uncancel() {
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

// A queue holds values in the order in which they came.
type queue[T comparable] struct {
	items []T
	// doubt reports that one was taken out by guess, so that it is not certain
	// what the others are either.
	doubt bool
}

func (q *queue[T]) add(v T)     { q.items = append(q.items, v) }
func (q *queue[T]) empty() bool { return len(q.items) == 0 }

// remove takes a value out, if it is in. The nearer it is to either end, the
// quicker that is.
func (q *queue[T]) remove(v T) {
	var none T
	n := len(q.items)
	for i := 0; 2*i < n; i++ {
		at := n - 1 - i
		if q.items[i] == v {
			at = i
		} else if q.items[at] != v {
			continue
		}
		if at == 0 {
			q.items[0] = none
			q.items = q.items[1:]
		} else {
			copy(q.items[at:], q.items[at+1:])
			q.items[n-1] = none
			q.items = q.items[:n-1]
		}
		return
	}
}

// oldest and newest return the value at an end, the zero value of an empty queue.
func (q *queue[T]) oldest() (v T) {
	if len(q.items) > 0 {
		v = q.items[0]
	}
	return v
}

func (q *queue[T]) newest() (v T) {
	if n := len(q.items); n > 0 {
		v = q.items[n-1]
	}
	return v
}

// only returns the value of a queue that holds one, otherwise the zero value.
func (q *queue[T]) only() (v T) {
	if len(q.items) == 1 {
		v = q.items[0]
	}
	return v
}

// An index is a queue for each key. A nil one is empty.
type index[K, T comparable] map[K]*queue[T]

func (x *index[K, T]) add(key K, v T) {
	if *x == nil {
		*x = index[K, T]{}
	}
	q := (*x)[key]
	if q == nil {
		q = &queue[T]{}
		(*x)[key] = q
	}
	q.add(v)
}

func (x index[K, T]) remove(key K, v T) {
	if q := x[key]; q != nil {
		if q.remove(v); len(q.items) == 0 {
			delete(x, key)
		}
	}
}

// of returns the queue of a key, which may be empty. It is valid until the next
// change of the index.
func (x index[K, T]) of(key K) *queue[T] {
	if q := x[key]; q != nil {
		return q
	}
	return &queue[T]{}
}
