package view

import (
	"slices"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/session"
)

const (
	// DefaultWindow is how many nodes that are ready wait for one that began earlier.
	DefaultWindow = 256
	// linger is how many nodes a call that has ended waits for, so that messages shortly
	// after its end, such as initialized, are below it.
	linger = 16
)

// An Outline collects entries into calls, in the order in which the calls began. A call
// within another is below that one. A message that belongs to no call is a top-level node.
//
// A call does not delay the others for long: if it is still open when [DefaultWindow] later
// nodes are ready, it is returned when it ends, or by [Outline.End]. A message after the end of
// a call is below it if the call has not been returned, and else a top-level node.
type Outline struct {
	// Stderr includes the server's standard error.
	Stderr bool
	// Flat makes a call within another a top-level node too.
	Flat bool
	// Keep, if not nil, selects the rows outside calls: i is the index of a message in the
	// frame, -1 for a frame without a message.
	Keep func(r *session.Entry, i int) bool
	// Search, if not nil, is called with the payload of each frame that carries
	// messages of calls; [Node.Found] is the union of its results.
	Search func(payload []byte) filter.Found
	// Responses, if not nil, compares responses.
	Responses *Responses

	window  int
	linger  int
	nodes   map[session.Ref]*Node // the calls that have not been returned
	queue   []*Node               // in order, from head on
	head    int
	ready   int // number of nodes in the queue that are ready
	overdue map[*Node]struct{}
	out     []*Node
}

// NewOutline makes an Outline.
func NewOutline() *Outline {
	return &Outline{window: DefaultWindow, linger: linger, nodes: map[session.Ref]*Node{}, overdue: map[*Node]struct{}{}}
}

// Live makes the Outline return nodes as soon as they are ready, in any order.
func (o *Outline) Live() { o.window, o.linger = 0, 0 }

// Open returns the node of a call that has not been returned, with the call so far; nil for
// another call.
func (o *Outline) Open(call *session.Call) *Node {
	n := o.nodes[call.Ref]
	if n == nil {
		return nil
	}
	open := *n
	open.Call = call
	return &open
}

// Add adds the next entry and returns the nodes that are ready. The slice is valid until the
// next call.
func (o *Outline) Add(r *session.Entry) []*Node {
	clear(o.out)
	o.out = o.out[:0]
	if len(r.Parts) == 0 {
		if (o.Stderr || r.Frame.Lane != tap.Stderr) && Notable(r) && o.keeps(r, -1) {
			o.push(&Node{Row: NewRow(r).keep()})
		}
	}
	for i := range r.Parts {
		o.part(r, i)
	}
	o.search(r)
	if o.Responses != nil {
		for _, d := range o.Responses.Add(r) {
			if n := o.nodes[d.Call]; n != nil {
				n.Delta = d
			}
		}
	}
	for _, c := range r.Ended {
		if n := o.nodes[c.Ref]; n != nil {
			n.Call = c
			n.status = max(n.status, r.Status()) // of the head, if there is no response
			o.less(n)
		}
	}
	o.advance()
	return o.out
}

// Notable reports whether a frame without a message is shown among calls. Events of the run
// are, but not connections, bodies that are not messages, and events that a call shows.
func Notable(r *session.Entry) bool {
	if r.Frame.Lane == tap.ToServer || r.Frame.Lane == tap.ToClient {
		return false
	}
	if r.Frame.Lane == tap.Stderr || r.Event.Name == "" || r.Failed && !inCall(r) {
		return true
	}
	switch r.Event.Name {
	case tap.EventStart, tap.EventExit, tap.EventSignal:
		return true
	case tap.EventResponse: // of an exchange without a message, such as a GET or DELETE
		return !r.Exchange.Carries && r.Event.Status >= 200
	}
	return false
}

// inCall reports whether a call shows an event of HTTP: that the call was refused, failed or
// was cancelled, or that the tap ended the exchange.
func inCall(r *session.Entry) bool {
	switch r.Event.Name {
	case tap.EventResponse:
		return r.Exchange.Asks
	case tap.EventEnd:
		return len(r.Ended) > 0 && !r.Ended[0].Lost()
	case tap.EventDisconnect:
		return r.Event.By == "tap"
	}
	return false
}

func (o *Outline) keeps(r *session.Entry, i int) bool { return o.Keep == nil || o.Keep(r, i) }

// part adds one message.
func (o *Outline) part(r *session.Entry, i int) {
	p, m := &r.Parts[i], r.Of(i)
	if p.Call == p.Message {
		n := &Node{Row: NewMessageRow(r, i).keep(), busy: 1, is: about(m, p), target: targetOf(m.Method),
			status: r.Status(), session: r.Session}
		n.NoNewline = n.Row.NoNewline
		o.nodes[p.Call] = n
		if parent := o.nodes[p.Parent]; parent != nil && parent.depth < MaxDepth && !o.Flat {
			o.adopt(parent, n)
		} else {
			o.push(n)
		}
		return
	}
	n := o.nodes[p.Call]
	if n == nil {
		if !r.Declines() && o.keeps(r, i) { // the head of the response is shown
			o.push(&Node{Row: NewMessageRow(r, i).keep()})
		}
		return
	}
	l := NewMessageRow(r, i).keep()
	n.add(l)
	n.is |= about(m, p)
	n.status = max(n.status, r.Status())
	if p.Role == session.RoleResponse || p.Role == session.RoleLate {
		n.response, n.result, n.http = p.Kind, l.Preview, l.HTTP
		n.NoNewline = n.NoNewline || l.NoNewline
	}
}

// search searches a frame for the calls whose messages it carries.
func (o *Outline) search(r *session.Entry) {
	if o.Search == nil {
		return
	}
	var found filter.Found
	searched := false
	for i := range r.Parts {
		n := o.nodes[r.Parts[i].Call]
		if n == nil {
			continue
		}
		if !searched {
			found, searched = o.Search(r.Frame.Raw), true
		}
		n.found.Add(found)
	}
}

// push adds a node to the queue.
func (o *Outline) push(n *Node) {
	n.queued = true
	o.queue = append(o.queue, n)
	if n.busy == 0 {
		o.ready++
	}
}

// adopt puts a call below another.
func (o *Outline) adopt(parent, kid *Node) {
	kid.parent, kid.depth = parent, parent.depth+1
	parent.Kids = append(parent.Kids, kid)
	o.more(parent)
	if parent.crowd == 0 {
		parent.crowd = 4 * MaxKids
	}
	if len(parent.Kids) > parent.crowd {
		o.thin(parent)
		parent.crowd = max(4*MaxKids, 2*len(parent.Kids))
	}
}

// thin drops calls in the middle of those below a node.
func (o *Outline) thin(parent *Node) {
	kids := parent.Kids
	kept := kids[:MaxKids]
	for i, kid := range kids[MaxKids:] {
		if kid.busy > 0 || i >= len(kids)-2*MaxKids {
			kept = append(kept, kid)
			continue
		}
		parent.KidsSkipped++
		o.forget(kid)
	}
	clear(kids[len(kept):])
	parent.Kids = kept
}

// more and less count what a node waits for, and propagate that to its parent.
func (o *Outline) more(n *Node) {
	n.busy++
	if n.busy > 1 {
		return
	}
	if n.parent != nil {
		o.more(n.parent)
	} else if n.queued {
		o.ready--
	}
}

func (o *Outline) less(n *Node) {
	n.busy--
	switch {
	case n.busy > 0:
	case n.parent != nil:
		o.less(n.parent)
	case n.queued:
		o.ready++
	default:
		delete(o.overdue, n)
		o.give(n)
	}
}

// advance returns the nodes that are ready at the head of the queue. It skips a call that is
// not ready if too many nodes wait for it.
func (o *Outline) advance() {
	for o.head < len(o.queue) {
		n := o.queue[o.head]
		switch {
		case n.busy == 0 && n.Call != nil && len(o.queue)-o.head <= o.linger:
			return
		case n.busy == 0:
			o.ready--
			o.give(n)
		case o.ready > 0 && o.ready >= o.window:
			o.overdue[n] = struct{}{}
		default:
			return
		}
		n.queued = false
		o.queue[o.head] = nil
		o.head++
		if o.head > 1024 && o.head > len(o.queue)/2 {
			o.queue = slices.Delete(o.queue, 0, o.head)
			o.head = 0
		}
	}
	o.queue, o.head = o.queue[:0], 0
}

// give returns a node from Add.
func (o *Outline) give(n *Node) {
	o.forget(n)
	o.out = append(o.out, n)
}

// forget removes the calls of a node from the index.
func (o *Outline) forget(n *Node) {
	if n.Call != nil {
		delete(o.nodes, n.Call.Ref)
	}
	for _, kid := range n.Kids {
		o.forget(kid)
	}
}

// End returns the remaining nodes, in order. Open are the calls that have not ended.
func (o *Outline) End(open []*session.Call) []*Node {
	o.out = nil
	for _, c := range open {
		if n := o.nodes[c.Ref]; n != nil {
			n.Call = c
		}
	}
	for n := range o.overdue {
		o.give(n)
	}
	for _, n := range o.queue[o.head:] {
		o.give(n)
	}
	slices.SortFunc(o.out, func(a, b *Node) int { return a.Row.Part.Message.Compare(b.Row.Part.Message) })
	o.queue, o.head, o.ready = nil, 0, 0
	clear(o.overdue)
	return o.out
}
