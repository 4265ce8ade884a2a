package session

import (
	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// Limits of a [Pairing].
const (
	// MaxOpen is how many requests may be open in a recording. Beyond that the
	// calls that were open longest are handed over as they are, with
	// [NoteLetGo]: they have no response, and one that still comes is late. SDKs
	// give a request up after a minute or so, so only a recording made to exhaust
	// memory gets there. Each session may have [MaxOpen] / [MaxSessions] requests
	// open whatever the others have, so that one session cannot end the calls of
	// another: together they have at most twice MaxOpen.
	MaxOpen = 1 << 16
	// MaxWaiting is how many calls of a session may wait without an open request,
	// or for what may come after their end, before the oldest of them is handed
	// over as it is: chains and tasks that were abandoned, cancelled calls.
	MaxWaiting = 1024
	// MaxPast is how many ids and words of a session are remembered after their
	// requests or calls are over, to distinguish what is repeated or late from
	// what belongs to nothing.
	MaxPast = 1024
)

// A Pairing ties the messages of one session to calls: a request and its response
// with all that belongs to them. A call is over when its response has come; one
// that was cancelled, became a task or waits for input stays until that is over
// too, or until [MaxWaiting] others wait.
//
// How messages are tied:
//
//   - Progress by its token, typed as ids are, from the side that was asked. In
//     the 002 dialect, by the request's id.
//   - A cancellation by the id of a request of the same side; from a server of
//     2026-07-28 by the id of a subscription. tasks/cancel by the task.
//   - A server's request (sampling, elicitation, roots) is a call within the
//     call that its related-task or its HTTP exchange names, otherwise within the
//     only open request that can cause it. Of several it is the latest, as a
//     guess.
//   - A log message by related-task or HTTP exchange. In 2026-07-28 on stdio,
//     by the only open request that asks for messages of its level, or as a
//     guess by the latest. In the legacy era on stdio nothing ties it to a call.
//   - The retry after an input_required result by its requestState. Without
//     one, by the method and the tool, prompt or resource, the keys of the
//     input and the arguments.
//   - What concerns a task by its id, and what comes on a subscription by the
//     id of that.
//   - A response by its id; of several open requests with that id to the one on
//     its HTTP exchange, otherwise to the oldest. An error without an id, with
//     which HTTP servers refuse a request, by the exchange alone.
//   - A response whose id was not read (see [jsonrpc.Message.Unread]) to the only open
//     request of its exchange or its side, as a guess. So is a response with the
//     id of no open request, if only one open request has an id that was not read.
//   - The head of a response and the end of an exchange by the exchange; see
//     [Pairing.AddEvent].
//
// Its memory grows with the open requests, up to [MaxOpen] of them. The zero value
// is ready. Frames must come in the order of their numbers. It must not be used by
// several goroutines at once.
type Pairing struct {
	session int // its number, for a Tracker
	parts   []Part
	ended   []*Call

	begun   queue[*callState]                  // the calls that are not over
	waiting queue[*callState]                  // those of them that wait; see rest
	causing queue[*openRequest]                // requests that the server may ask something for
	tasks   queue[*openRequest]                // those that became a task
	logging [logLevels + 2]queue[*openRequest] // those that ask for log messages, by 1 + level
	streams index[uint64, *openRequest]        // the client's open requests by HTTP exchange
	byWord  index[string, *openRequest]        // by id and by progress token; see word
	calls   index[string, *callState]          // by task, subscription, state and shape
	past    bounded.Map[string, tie]           // ids and words that are not in use any more
	resumed bounded.Map[uint64, uint64]        // the exchanges whose streams others go on with
	long    map[Ref]*callState                 // calls that outlive the response to their first request
	open    openRequests

	facts   Facts
	finding Finding
	// initialize is the call of the last initialize.
	initialize *callState
	// spoke reports that the client has sent a request other than a
	// server/discover that was refused; rootsDue that it has given the server
	// a reason to ask for its roots that is not a call.
	spoke, rootsDue bool
}

// openRequests counts the open requests of a Pairing, and those of all that share
// a recording with it.
type openRequests struct {
	own int
	all *int // nil for a Pairing that is alone
}

func (o *openRequests) add(n int) {
	o.own += n
	if o.all != nil {
		*o.all += n
	}
}

// tooMany reports whether a call has to be let go.
func (o *openRequests) tooMany() bool {
	if o.all == nil {
		return o.own > MaxOpen
	}
	return *o.all > MaxOpen && o.own > MaxOpen/MaxSessions
}

// An arrival is a message on its way through a Pairing.
type arrival struct {
	f    *tap.Frame
	m    *jsonrpc.Message
	part Part
	size int64
}

// Add takes the message of the next frame and returns a part for each message
// in it: several for a batch, none for a frame without one (m is nil or of the
// kind [jsonrpc.Other], or the lane carries no messages). The slice is valid until the
// next call. Of f only Seq, At, Lane, Exchange and its size are read.
func (t *Pairing) Add(f *tap.Frame, m *jsonrpc.Message) []Part {
	t.next()
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
		if c := t.long[t.parts[i].Call]; c != nil {
			t.parts[i].Status = c.Status
		}
	}
	return t.parts
}

// Resume notes that an exchange goes on with the stream that another began: what comes
// on it belongs to the requests of that one.
func (t *Pairing) Resume(exchange, began uint64) {
	t.resumed.Max = MaxPast
	t.resumed.Put(exchange, began)
}

// stream is the client's open requests on the stream that an exchange carries.
func (t *Pairing) stream(exchange uint64) *queue[*openRequest] {
	if began, ok := t.resumed.Get(exchange); ok {
		exchange = began
	}
	return t.streams.of(exchange)
}

func (t *Pairing) next() {
	t.parts = t.parts[:0]
	clear(t.ended)
	t.ended = t.ended[:0]
}

// batch adds the messages of a batch. The size of the frame is shared out to them
// by their lengths.
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

func arrive(f *tap.Frame, m *jsonrpc.Message, i int, size int64) arrival {
	return arrival{f: f, m: m, size: size, part: Part{
		Message: Ref{f.Seq, i}, Lane: f.Lane, At: f.At, Exchange: f.Exchange, Kind: m.Kind, Method: clipWord(m.Method),
	}}
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

// Ended returns the calls that the last Add ended, in the order in which they
// did. The slice is valid until the next Add; the Pairing does not change the
// calls any more. What comes after the end of a call still names it, for as long
// as the Pairing remembers its id or word (see [MaxPast]).
func (t *Pairing) Ended() []*Call { return t.ended }

// Open returns the calls that are not over, in the order of their first
// requests, as they stand: the Pairing does not change what it has returned.
// When the recording is over, those that are not settled are the unanswered
// ones; among the others are those that were cancelled and not answered.
func (t *Pairing) Open() []*Call {
	var open []*Call
	for _, c := range t.begun.items {
		whole := c.assembled()
		open = append(open, &whole)
	}
	return open
}

// give adds the part to its call, nil for none, and to what Add returns.
func (t *Pairing) give(x *arrival, c *callState, role Role) {
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

// recall adds a part that is tied to something of the past. Its call may not be
// over, as a token or an id can be out of use before that.
func (t *Pairing) recall(x *arrival, past *tie, role Role) {
	if x.m.Kind != jsonrpc.Notification {
		x.part.Method = past.method
	}
	if c := t.long[past.call]; c != nil {
		t.give(x, c, role)
		return
	}
	x.part.Call, x.part.Parent, x.part.Guess = past.call, past.parent, past.guess
	t.give(x, nil, role)
}

// rest is called when something has happened to a call: it is handed over if
// it is over, and otherwise is among those that wait, or not.
func (t *Pairing) rest(c *callState) {
	switch {
	case c.final && c.requests.empty():
		t.handOver(c)
	case !c.requests.empty() && c.Status != CallCancelled:
		if c.waits {
			t.waiting.remove(c)
			c.waits = false
		}
	case !c.waits:
		c.waits = true
		if t.waiting.add(c); len(t.waiting.items) > MaxWaiting {
			t.letGo(t.waiting.oldest())
		}
	}
}

// outlives notes that a call goes on although a request of it was answered.
func (t *Pairing) outlives(c *callState) {
	if t.long == nil {
		t.long = map[Ref]*callState{}
	}
	t.long[c.Ref] = c
}

// bound lets go of the calls that were open longest as long as there are too many
// open requests.
func (t *Pairing) bound() {
	for t.open.tooMany() {
		t.letGo(t.begun.oldest())
	}
}

// letGo hands a call over before its end was seen.
func (t *Pairing) letGo(c *callState) {
	if !c.Status.Settled() {
		c.Notes |= NoteLetGo
	}
	t.handOver(c)
}

// leave returns the calls of a session that is forgotten. The Pairing is not used
// again.
func (t *Pairing) leave() []*Call {
	open := t.Open()
	t.open.add(-t.open.own)
	return open
}

// handOver forgets a call that is over.
func (t *Pairing) handOver(c *callState) {
	for !c.requests.empty() {
		a := c.requests.oldest()
		t.close(a, true)
		t.release(a)
	}
	t.release(c.first)
	if c.holder != nil {
		t.release(c.holder)
	}
	for _, key := range []*string{&c.stateKey, &c.taskKey, &c.subscriptionKey} {
		t.retire(c, key)
	}
	t.calls.remove(c.shapeKey, c)
	t.begun.remove(c)
	if c.waits {
		t.waiting.remove(c)
	}
	delete(t.long, c.Ref)
	c.over = true
	if len(c.tail) > 0 {
		*c.Call = c.assembled()
	}
	t.ended = append(t.ended, c.Call)
}

// remember notes what a word stood for that is not in use any more.
func (t *Pairing) remember(word string, of tie) {
	t.past.Max = MaxPast
	t.past.Put(word, of)
	t.past.Touch(word)
}

// retire takes a word of a call out of use and remembers whose it was.
func (t *Pairing) retire(c *callState, key *string) {
	if *key != "" {
		t.calls.remove(*key, c)
		t.remember(*key, c.tie())
		*key = ""
	}
}

// close takes a request for answered, or for given up: then a response to it is
// late.
func (t *Pairing) close(a *openRequest, givenUp bool) {
	c := a.call
	t.byWord.remove(a.id, a)
	past := c.tie()
	past.method, past.subject, past.request, past.at, past.late = a.method, a.subject, a.ref, a.at, givenUp
	t.remember(a.id, past)
	c.requests.remove(a)
	t.open.add(-1)
	t.logging[a.level].remove(a)
	if a.exchange != 0 {
		t.streams.remove(a.exchange, a)
		a.exchange = 0
	}
}

// release takes the progress token of a request out of use, and the request from
// those that the server may ask something for.
func (t *Pairing) release(a *openRequest) {
	if a.causing != nil {
		a.causing.remove(a)
		a.causing = nil
	}
	if a.token != "" {
		t.byWord.remove(a.token, a)
		t.remember(a.token, a.call.tie())
		a.token = ""
	}
}
