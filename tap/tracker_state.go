package tap

// A purpose says why a request was asked.
type purpose uint8

const (
	asksCall   purpose = iota // the first request of a call
	asksRetry                 // the same again, with the input that was required
	asksStatus                // tasks/get
	asksResult                // tasks/result
	asksUpdate                // tasks/update
	asksCancel                // tasks/cancel
)

// asked is one open request.
type asked struct {
	call    *callState
	open    *OpenRequest
	purpose purpose
	// cancelled says that it was cancelled, task that it asks to become a task.
	cancelled, task bool
	// guess says that it belongs to its call by guess.
	guess bool
	// level is from which level on it asks for log messages.
	level int
	// status is that of the HTTP response, 0 as long as there is none, and for
	// the usual one.
	status int
	// The lists that it is in.
	sibling entry[none]   // the open requests of its call
	causing entry[none]   // those that the server may ask something for
	logging entry[none]   // those that ask for log messages from a level on
	stream  entry[uint64] // by HTTP exchange
	token   entry[string] // by progress token
}

// tie is what is remembered of the request.
func (a *asked) tie() tie {
	if a == nil {
		return tie{}
	}
	c := a.call
	return tie{call: c.Ref, parent: c.Parent, guess: c.Guess, method: a.open.Method}
}

// A callState is a call that has not been handed over.
type callState struct {
	*Call
	first asked
	// asks are its open requests.
	asks list[none]
	// waits is its place among the calls that wait without an open request or
	// for what may come after their end, begun that among all.
	waits, begun entry[none]
	// final says that nothing but the answers to open requests is to come.
	final bool
	// instead is what the status would be if it were not CallCancelledLate.
	instead CallStatus
	// over says that it was handed over, special that it had a more.
	over, special bool
	// tail are the last parts beyond those in Parts, oldest at next.
	tail []Part
	next int
	// name is the tool, prompt or resource of a modern request, and arguments
	// a hash of what it was given: a retry repeats both.
	name      []byte
	arguments uint64
	more      *callMore
}

// A callRoom is a call as it is handed over, with room for the usual one.
type callRoom struct {
	Call
	parts [2]Part
	ref   [1]Ref
	id    [16]byte
}

// callMore is what few calls need.
type callMore struct {
	state, shape entry[string] // while it waits for input
	subscription entry[string]
	task         entry[string]
	extension    bool   // the task is one of the tasks extension
	holder       *asked // the request that became the task: its token lives on
}

// usual reports whether nothing was ever tied to a call that is over but by its
// first request, which is in no list any more, so that nobody knows of its state.
func (c *callState) usual() bool {
	a := &c.first
	listed := a.sibling.listed() || a.causing.listed() || a.logging.listed() || a.stream.listed() || a.token.listed() ||
		c.waits.listed() || c.begun.listed()
	return len(c.Requests) == 1 && !c.special && !listed
}

func (c *callState) extra() *callMore {
	if c.more == nil {
		c.more, c.special = &callMore{}, true
	}
	return c.more
}

// keep adds a part.
func (c *callState) keep(p *Part, size int64) {
	c.Counts[p.Role]++
	if p.Lane == ToServer {
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

// settleLate does so for a call that was cancelled and ended as s all the same.
func (c *callState) settleLate(x *arrival, s CallStatus) {
	c.settle(x, CallCancelledLate)
	c.instead = s
}

// uncancel takes a cancellation back that was refused.
func (c *callState) uncancel() {
	c.Notes |= NoteCancelRefused
	c.Cancel, c.CancelledBy, c.CancelReason = Ref{}, Life, ""
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
