package tap

import "math/bits"

// A pool is a list of open requests.
type pool uint8

const (
	poolBegun   pool = iota // the first requests of all calls that are not over
	poolWaiting             // those of calls that wait: see Tracker.rest
	poolCausing             // requests that the server may ask something for
	poolTasks               // those that became a task
	pools
)

// What words are remembered of when the call that they belong to is over.
const (
	pastTokens = iota
	pastTasks
	pastStates
	pastSubscriptions
	pastElicitations
	pasts
)

// MaxWaiting is how many calls may wait without an open request, or for what
// may come after their end, before the oldest of them is handed over as it is:
// chains that nobody goes on with, tasks that nobody polls, cancelled calls.
const MaxWaiting = 1024

// A Tracker ties the messages of one session to calls: a request and its answer
// with all that belongs to them. A call is over when its answer has come; one that was cancelled, became a task or waits for
// input stays until that is over too, or until [MaxWaiting] others wait.
//
// How things are tied:
//
//   - Progress by its token, typed as ids are, from the side that was asked. In
//     the 002 dialect, by the request's id.
//   - A cancellation by the id of a request of the same side; from a server of
//     2026-07-28 by the id of a subscription. tasks/cancel by the task.
//   - What a server asks (sampling, elicitation, roots) is a call within the
//     call that its related-task or its HTTP exchange names, else within the
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
//   - An answer by its id; of several open requests with that id to the one on
//     its HTTP exchange, else to the oldest. An error without an id, with which
//     HTTP servers refuse a request, by the exchange alone.
//   - A response whose id was not read (see [Message.Unread]) to the only open
//     request of its exchange or its side, as a guess. So is a response with the
//     id of no open request, if only one open request has an id that was not read.
//   - The head of a response and the end of an exchange by the exchange; see
//     [Tracker.AddEvent].
//
// Its memory grows with the requests that are open, up to [MaxOpen] of them. The zero
// value is ready. Frames must come in the order of their numbers. It is not for
// use by several goroutines at once.
type Tracker struct {
	session int // the number of it, for a SessionTracker
	pairer  Pairer
	parts   []Part
	ended   []*Call
	pools   [pools]list[none]
	open    openRequests
	// logging are the open requests that ask for log messages, by level.
	logging [logLevels + 1]list[none]
	// streams are the client's open requests by HTTP exchange.
	streams index[uint64]
	// words are open requests by what they can be named with. The first byte
	// of a key says what it is.
	words index[string]
	past  [pasts]recent[tie]
	// long are the calls that outlive the answer to their first request.
	long map[Ref]*callState
	key  []byte
	// done are the states of the calls that the last frame ended, spare those
	// whose memory may be used again.
	done, spare []*callState

	facts   Facts
	finding Finding
	// hello is the last initialize.
	hello *callState
	// spoke says that the client has sent a request other than a
	// server/discover that was refused; rootsDue that it has given the server
	// a reason to ask for its roots that is no call.
	spoke, rootsDue bool
}

// An arrival is a message on its way through a Tracker.
type arrival struct {
	f    *Frame
	m    *Message
	part Part
	size int64
}

// Add takes the message of the next frame and returns a part for each message
// in it: several for a batch, none for a frame that carries none (m is nil or
// of the kind [Other], or the lane is no traffic). The slice is valid until the
// next call. Of f only Seq, At, Lane, Exchange and its size are read.
func (t *Tracker) Add(f *Frame, m *Message) []Part {
	t.next()
	if m == nil || f.Lane != ToServer && f.Lane != ToClient {
		return nil
	}
	size := max(f.Size, int64(len(f.Raw)))
	switch {
	case m.Kind != Batch:
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

// next begins the next frame. Nobody asks about the calls that the last one
// ended any more, so what was needed to make them is free.
func (t *Tracker) next() {
	t.parts = t.parts[:0]
	clear(t.ended)
	t.ended = t.ended[:0]
	t.pairer.reuse()
	for _, c := range t.done {
		if len(t.spare) < spares { // a name has a bound of its own
			*c = callState{name: c.name[:0]}
			t.spare = append(t.spare, c)
		}
	}
	clear(t.done)
	t.done = t.done[:0]
}

// fresh is an empty state.
func (t *Tracker) fresh() *callState {
	if n := len(t.spare); n > 0 {
		c := t.spare[n-1]
		t.spare = t.spare[:n-1]
		return c
	}
	return &callState{}
}

// batch shares the size of the frame out to the messages by their lengths.
func (t *Tracker) batch(f *Frame, batch []Message, size int64) {
	weight := func(m *Message) uint64 {
		const envelope = 32
		return uint64(envelope + len(m.ID) + len(m.Method) + len(m.Params) + len(m.Result) + len(m.Error))
	}
	var total, so uint64
	for i := range batch {
		total += weight(&batch[i])
	}
	var given int64
	for i := range batch {
		so += weight(&batch[i])
		hi, lo := bits.Mul64(uint64(size), so)
		upto, _ := bits.Div64(hi, lo, total) // at most size, as so is at most total
		t.add(f, &batch[i], i, int64(upto)-given)
		given = int64(upto)
	}
}

func arrive(f *Frame, m *Message, i int, size int64) arrival {
	return arrival{f: f, m: m, size: size, part: Part{
		Message: Ref{f.Seq, i}, Lane: f.Lane, At: f.At, Exchange: f.Exchange, Kind: m.Kind, Method: clipWord(m.Method),
	}}
}

func (t *Tracker) add(f *Frame, m *Message, i int, size int64) {
	x := arrive(f, m, i, size)
	switch m.Kind {
	case Request:
		t.request(&x)
	case Response, ErrorResponse:
		t.response(&x)
	case Notification:
		t.notification(&x)
	case Invalid:
		t.give(&x, nil, RoleInvalid)
	}
}

// Ended returns the calls that the last Add ended, in the order in which they
// did. The slice is valid until the next Add; the calls are handed over, so the
// Tracker keeps no hold on them. What comes after the end of a call still names
// it, for as long as the Tracker remembers its id or word (see [PairerMemory]).
func (t *Tracker) Ended() []*Call { return t.ended }

// Open returns the calls that are not over, in the order of their first
// requests, as they stand: the Tracker does not change what it has returned.
// When the recording is over, those that are not settled are the unanswered
// ones; among the others are those that were cancelled and not answered.
func (t *Tracker) Open() []*Call {
	var open []*Call
	for e := t.pools[poolBegun].oldest; e != nil; e = e.newer {
		c := e.owner.call.assembled()
		open = append(open, &c)
	}
	return open
}

// give adds the part to its call, nil for none, and to what Add returns.
func (t *Tracker) give(x *arrival, c *callState, role Role) {
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

// recall adds a part that is tied to something of the past. The call may not be
// over, as a token or an id may be done with before it is.
func (t *Tracker) recall(x *arrival, past tie, role Role) {
	if x.m.Kind != Notification {
		x.part.Method = past.method
	}
	if c := t.long[past.call]; c != nil {
		t.give(x, c, role)
		return
	}
	x.part.Call, x.part.Parent, x.part.Guess = past.call, past.parent, past.guess
	t.give(x, nil, role)
}

// rest is called when something has happened to a call: it is handed over when
// it is over, and else is among those that wait, or not.
func (t *Tracker) rest(c *callState) {
	waiting := &t.pools[poolWaiting]
	switch {
	case c.final && c.asks.n == 0:
		t.handOver(c)
	case c.asks.n > 0 && c.Status != CallCancelled:
		waiting.remove(&c.waits)
	case !c.waits.listed():
		waiting.add(&c.waits, &c.first)
		if waiting.n > MaxWaiting {
			t.letGo(waiting.oldest.owner.call)
		}
	}
}

// outlives notes that a call goes on although a request of it was answered.
func (t *Tracker) outlives(c *callState) {
	if t.long == nil {
		t.long = map[Ref]*callState{}
	}
	t.long[c.Ref] = c
}

// handOver forgets a call that is over.
func (t *Tracker) handOver(c *callState) {
	for c.asks.oldest != nil {
		a := c.asks.oldest.owner
		t.pairer.close(a.open)
		t.pairer.givenUp(a.open)
		t.unask(a)
		t.release(a)
	}
	t.release(&c.first)
	if more := c.more; more != nil {
		if more.holder != nil {
			t.release(more.holder)
		}
		t.retire(&more.state, pastStates, c)
		t.words.remove(&more.shape)
		t.retire(&more.task, pastTasks, c)
		t.retire(&more.subscription, pastSubscriptions, c)
		c.more = nil
	}
	t.pools[poolWaiting].remove(&c.waits)
	t.pools[poolBegun].remove(&c.begun)
	delete(t.long, c.Ref)
	c.over = true
	if len(c.tail) > 0 {
		*c.Call = c.assembled()
	}
	t.ended = append(t.ended, c.Call)
	if c.usual() && c != t.hello {
		t.done = append(t.done, c)
	}
}

// retire takes a word out of use and remembers whose it was.
func (t *Tracker) retire(e *entry[string], past int, c *callState) {
	if e.listed() {
		t.past[past].put(e.key, c.tie())
		t.words.remove(e)
	}
}

// tie is what is remembered of a call.
func (c *callState) tie() tie {
	return tie{call: c.Ref, parent: c.Parent, guess: c.Guess, method: c.Method}
}

// givenUp marks a request that was closed without an answer.
func (p *Pairer) givenUp(r *OpenRequest) {
	side := &p.sides[r.Lane]
	if a := side.answered.get([]byte(r.key)); a != nil && a.ref == r.Ref {
		a.tie.late = true
	}
}
