package session

import (
	"slices"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// Limits of a [Pairing].
const (
	// MaxOpen is how many requests may be open in a recording. A call that waits without
	// an open request, such as an abandoned chain or task, counts as one. Beyond that the
	// oldest calls are handed over as they are, with [NoteLetGo], and a response that
	// arrives then is late. SDKs give up on a request after a minute or so, so only a
	// recording made to exhaust memory reaches this. Each session may have at least
	// [MaxOpen] / [MaxSessions] requests open, so that one session cannot end the calls
	// of another: all sessions have at most twice MaxOpen.
	MaxOpen = 1 << 16
	// MaxPast is how many ids and other words of a session are remembered after their
	// requests or calls are over, to recognize messages that are repeated or late.
	MaxPast = 1024
)

// A Pairing assigns the messages of one session to calls: a request and its response with
// all messages that belong to them. A call is over when its response has come; one that was
// cancelled, became a task or requires input is kept until that is over too.
//
// How messages are assigned:
//
//   - Progress by its token, typed as ids are, from the side that was asked. In
//     the 002 dialect, by the request's id.
//   - A cancellation by the id of a request of the same side; from a server of
//     2026-07-28 by the id of a subscription. tasks/cancel by the task.
//   - A server's request (sampling, elicitation, roots) is a call within the call of
//     its related-task or its HTTP exchange, or else within the only open request that
//     can cause it. Of several it is the latest, as a guess.
//   - A log message by related-task or HTTP exchange. In 2026-07-28 on stdio, by the
//     only open request that requests messages of its level, or as a guess by the
//     latest. In the legacy era on stdio it belongs to no call.
//   - The retry after an input_required result by its requestState. Without
//     one, by the method and the tool, prompt or resource, the keys of the
//     input and the arguments.
//   - A message about a task by the id of the task, and one on a subscription by
//     the id of the subscription.
//   - A response by its id; of several open requests with that id, to the one on its
//     HTTP exchange, or else to the oldest. An error without an id, with which HTTP
//     servers refuse a request, by the exchange alone.
//   - A response whose id was not read (see [jsonrpc.Message.Unread]) to the only open
//     request of its exchange or its side, as a guess. So is a response with an unknown
//     id, if exactly one open request has an id that was not read.
//   - The head of a response and the end of an exchange by the exchange; see
//     [Pairing.AddEvent].
//
// Its memory is bounded by [MaxOpen] and [MaxPast]. The zero value is ready. Frames
// must be added in the order of their numbers. A Pairing is not safe for concurrent use.
type Pairing struct {
	session int // its number, for a Tracker
	parts   []Part
	ended   []*Call
	waiting []*Call // see [Entry.Waiting]
	due     bool    // the exchange that the frame ends has requests without a response

	calls []*call                  // those that are not over, oldest first
	open  requests                 // those without a response, oldest first
	words map[string]requests      // the requests by the ids and tokens in messages; see word
	past  bounded.Map[string, tie] // words that are no longer in use

	exchange Exchange // of the event
	refuses  Refusal  // see [Entry.Refuses]

	stream uint64 // the exchange that began the stream of the frame

	// held counts towards MaxOpen: the open requests of each call, or one. total is the
	// sum over all sessions of a recording.
	held  int
	total *int

	// initialize is the call of the last initialize, revision the version in its response,
	// dialect reports that it is in the 002 dialect.
	initialize *call
	revision   jsonrpc.Revision
	dialect    bool
	// began reports that the client has sent a request other than a server/discover that
	// was refused; rootsDue that the server may request the roots without a call.
	began, rootsDue bool
}

// An arrival is a message that is being assigned.
type arrival struct {
	f    *tap.Frame
	m    *jsonrpc.Message
	part Part
	size int64
}

func arrive(f *tap.Frame, m *jsonrpc.Message, i int, size int64) arrival {
	return arrival{f: f, m: m, size: size, part: Part{
		Message: Ref{f.Seq, i}, Lane: f.Lane, At: f.At, Exchange: f.Exchange, Kind: m.Kind, Method: clipWord(m.Method),
	}}
}

// Add adds the message of the next frame and returns a part for each message
// in it: several for a batch, none for a frame without one (m is nil or of the
// kind [jsonrpc.Other], or the lane carries no messages). The slice is valid until the
// next call. Of f only Seq, At, Lane, Exchange and its size are read.
func (t *Pairing) Add(f *tap.Frame, m *jsonrpc.Message) []Part { return t.addOn(f.Exchange, f, m) }

// addOn is Add for a frame on a stream that another exchange may have begun.
func (t *Pairing) addOn(stream uint64, f *tap.Frame, m *jsonrpc.Message) []Part {
	t.next()
	t.stream = stream
	if m == nil || f.Lane != tap.ToServer && f.Lane != tap.ToClient {
		return nil
	}
	size := max(f.Size, int64(len(f.Raw)))
	switch {
	case m.Kind != jsonrpc.Batch:
		t.add(f, m, 0, size)
	case len(m.Batch) == 0:
		x := arrive(f, m, 0, size)
		t.give(&x, nil, RoleUnread)
	default:
		t.batch(f, m.Batch, size)
	}
	for i := range t.parts {
		if c := t.call(t.parts[i].Call); c != nil {
			t.parts[i].State = c.State(false)
		}
	}
	return t.parts
}

func (t *Pairing) next() {
	t.parts = t.parts[:0]
	clear(t.ended)
	t.ended = t.ended[:0]
	t.waiting, t.due = t.waiting[:0], false
	t.refuses = Refusal{}
}

// batch adds the messages of a batch. The size of the frame is divided by their lengths.
func (t *Pairing) batch(f *tap.Frame, batch []jsonrpc.Message, size int64) {
	const envelope = 32
	total := 0
	length := func(m *jsonrpc.Message) int {
		return envelope + len(m.ID) + len(m.Method) + len(m.Params) + len(m.Result) + len(m.Error)
	}
	for i := range batch {
		total += length(&batch[i])
	}
	upTo, given := 0, int64(0)
	for i := range batch {
		upTo += length(&batch[i])
		share := int64(float64(size)*float64(upTo)/float64(total)) - given
		given += share
		t.add(f, &batch[i], i, share)
	}
}

func (t *Pairing) add(f *tap.Frame, m *jsonrpc.Message, i int, size int64) {
	x := arrive(f, m, i, size)
	switch m.Kind {
	case jsonrpc.Request:
		t.request(&x)
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		t.response(&x)
	case jsonrpc.Notification:
		t.notification(&x)
	case jsonrpc.Invalid:
		t.give(&x, nil, RoleInvalid)
	}
}

// Ended returns the calls that the last Add ended, in that order. The slice is valid until
// the next Add; the calls no longer change. Later messages still name a call that is
// over, as long as the Pairing remembers its id or word (see [MaxPast]).
func (t *Pairing) Ended() []*Call { return t.ended }

// Open returns the calls that are not over, in the order of their first
// requests. The Pairing does not change the result later.
// When the recording is over, the calls that are not settled are the unanswered
// ones; among the others are those that were cancelled and not answered.
func (t *Pairing) Open() []*Call {
	var open []*Call
	for _, c := range t.calls {
		whole := c.assembled()
		open = append(open, &whole)
	}
	return open
}

// onStream returns the client's open requests on the stream of the frame.
func (t *Pairing) onStream() requests { return t.words[exchangeWord(t.stream)] }

// call returns the call that began with a request, nil if it is over.
func (t *Pairing) call(first Ref) *call {
	i, ok := slices.BinarySearchFunc(t.calls, first, func(c *call, r Ref) int { return c.Ref.Compare(r) })
	if !ok {
		return nil
	}
	return t.calls[i]
}

// give adds the part to its call, nil for none, and to the result of Add.
func (t *Pairing) give(x *arrival, c *call, role Role) {
	x.part.Role = role
	if c != nil {
		x.part.Call, x.part.Parent = c.Ref, c.Parent
		x.part.Guess = x.part.Guess || c.Guess
		if len(x.m.DuplicateKeys) > 0 {
			c.Notes |= NoteDuplicateKeys
		}
		c.keep(&x.part, x.size)
	}
	t.parts = append(t.parts, x.part)
}

// recall adds a part that refers to the past. Its call may not be over yet.
func (t *Pairing) recall(x *arrival, past *tie, role Role) {
	if x.m.Kind != jsonrpc.Notification {
		x.part.Method = past.method
	}
	if c := t.call(past.call); c != nil {
		t.give(x, c, role)
		return
	}
	x.part.Call, x.part.Parent, x.part.Guess = past.call, past.parent, past.guess
	t.give(x, nil, role)
}

// hold adjusts the number of open requests.
func (t *Pairing) hold(n int) {
	if t.total == nil {
		t.total = new(int)
	}
	t.held += n
	*t.total += n
}

// bound lets go of the oldest calls while too many requests are open.
func (t *Pairing) bound() {
	for *t.total > MaxOpen && t.held > MaxOpen/MaxSessions {
		c := t.calls[0]
		if !c.Status.Settled() {
			c.Notes |= NoteLetGo
		}
		t.handOver(c)
	}
}

// leave returns the open calls of a session that is forgotten. The Pairing must not be used
// after that.
func (t *Pairing) leave() []*Call {
	open := t.Open()
	t.hold(-t.held)
	return open
}

// rest hands a call over if it is over.
func (t *Pairing) rest(c *call) {
	if c.final && c.open == 0 {
		t.handOver(c)
	}
}

// handOver forgets a call.
func (t *Pairing) handOver(c *call) {
	for i := 0; c.open > 0; {
		if a := t.open[i]; a.call == c {
			t.close(a, true)
			t.retire(a, wordToken)
		} else {
			i++
		}
	}
	t.retire(c.first, wordToken, wordState, wordTask, wordSubscription)
	t.drop(c.first, wordShape)
	if c.holder != nil {
		t.retire(c.holder, wordToken)
	}
	t.calls = remove(t.calls, c)
	t.hold(-1)
	if len(c.tail) > 0 {
		*c.Call = c.assembled()
	}
	t.ended = append(t.ended, c.Call)
}

// close closes a request that was answered, or given up: then a response to it is late.
func (t *Pairing) close(a *request, givenUp bool) {
	c := a.call
	past := c.tie()
	past.method, past.subject, past.request, past.at, past.late = a.method, a.subject, a.ref, a.at, givenUp
	t.remember(t.drop(a, wordID), past)
	t.drop(a, wordExchange)
	t.open = remove(t.open, a)
	a.closed = true
	if c.open--; c.open > 0 {
		t.hold(-1)
	}
}
