package view

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

const (
	// MaxLines is how many of the first messages of a call a [Node] keeps, and
	// how many of the last.
	MaxLines = 8
	// MaxKids is how many of the first calls within a call a [Node] keeps, and how many of
	// the last, in addition to those that are open.
	MaxKids = 64
	// MaxDepth is how deep calls may be nested. A deeper one is a top-level node.
	MaxDepth = 32
)

// A Node is a call with its messages, or a row outside calls.
type Node struct {
	// Call is nil if there is none.
	Call *session.Call
	// Row is the row of the call's first request, or the only row.
	Row Row
	// First and Last are the other messages of the call. Skipped counts, by role, those
	// that are left out between the two.
	First, Last []Row
	Skipped     session.RoleCounts
	// Kids are the calls within it, of which KidsSkipped are left out after the
	// first [MaxKids].
	Kids        []*Node
	KidsSkipped uint64
	// NoNewline reports whether the first request or the response has [Row.NoNewline].
	NoNewline bool
	// Delta is how the response differs from the previous one, nil if they were not
	// compared.
	Delta *Delta

	parent *Node
	// busy counts what delays the node: its own end, and kids that are not ready.
	busy     int
	queued   bool
	crowd    int // the number of kids above which some are left out
	depth    int
	is       filter.Is
	found    filter.Found
	target   target
	status   int
	session  int
	response jsonrpc.Kind
	result   string // a preview of the latest response
	http     string // its Row.HTTP
}

// Title returns the title of the call, or of the row outside calls.
func (n *Node) Title() Title {
	if n.Call == nil {
		return n.Row.Title()
	}
	t := NewTitle(n.Call.Method, n.Call.Subject)
	t.Args, t.Result = JoinWords(" ", t.Args, n.Row.Preview), n.result
	t.Method = JoinWords(" · ", cmp.Or(n.http, n.Row.HTTP), t.Method)
	return t
}

// An Entry is an item below a call: a message, a call, an embedded request of a result, or
// the number of messages, by role, or of calls that are left out here. Exactly one field is
// set.
type Entry struct {
	Row   *Row
	Kid   *Node
	Asked *session.EmbeddedRequest
	Roles *session.RoleCounts
	Calls uint64

	at session.Ref
}

// Seq returns the number of the frame of the entry.
func (e *Entry) Seq() uint64 { return e.at.Seq }

// Entries returns the entries below the call, in the order in which they crossed.
func (n *Node) Entries() []Entry {
	var all []Entry
	last := n.Row.Part.Message
	for i := range n.First {
		last = n.First[i].Part.Message
		all = append(all, Entry{Row: &n.First[i], at: last})
	}
	if n.Skipped != (session.RoleCounts{}) {
		all = append(all, Entry{Roles: &n.Skipped, at: last})
	}
	for i := range n.Last {
		all = append(all, Entry{Row: &n.Last[i], at: n.Last[i].Part.Message})
	}
	if n.Call != nil {
		for i := range n.Call.Asked {
			all = append(all, Entry{Asked: &n.Call.Asked[i], at: n.Call.Asked[i].Request})
		}
	}
	for i, kid := range n.Kids {
		last = kid.Row.Part.Message
		all = append(all, Entry{Kid: kid, at: last})
		if i == MaxKids-1 && n.KidsSkipped > 0 {
			all = append(all, Entry{Calls: n.KidsSkipped, at: last})
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return a.at.Compare(b.at) })
	return all
}

// Further returns the number of messages and calls, without the first request and the
// response that ended the call.
func (n *Node) Further() uint64 {
	var all uint64
	for role, count := range n.Call.Counts {
		if role := session.Role(role); role != session.RoleRequest && role != session.RoleResponse {
			all += count
		}
	}
	return all + uint64(len(n.Kids)) + n.KidsSkipped
}

// Unanswered reports whether the call has no response that ends it.
func (n *Node) Unanswered() bool {
	return !n.Call.Status.Settled() || n.Call.Status == session.CallCancelled && n.Call.FirstAnswer == 0
}

// add keeps a message of the call.
func (n *Node) add(l Row) {
	if len(n.First) < MaxLines {
		n.First = append(n.First, l)
		return
	}
	n.Last = append(n.Last, l)
	if len(n.Last) > MaxLines {
		n.Skipped[n.Last[0].Part.Role]++
		copy(n.Last, n.Last[1:])
		n.Last = n.Last[:MaxLines]
	}
}

// Item returns the item of a call for a filter. Is has the words of all of its messages,
// and whether HTTP refused it, Kind is that of its response (request if there is none), Size
// the sum of its frames. The latency of an open call lasts until end. What a filter finds in
// its payloads is [Node.Found].
func (n *Node) Item(end time.Duration) filter.Item {
	c := n.Call
	it := filter.Item{
		Frame: &tap.Frame{
			Seq: c.Ref.Seq, At: c.At, Lane: c.Lane, Exchange: c.Exchange, Truncated: n.Row.Truncated,
			Size: max(c.BytesToServer+c.BytesToClient, 1),
		},
		Kind: cmp.Or(n.response, jsonrpc.Request).String(), Method: c.Method, ID: c.ID,
		Is: n.is, Session: sessionName(n.session), Revision: string(c.Revision), Status: n.status,
	}
	n.target.fill(&it, c.Subject)
	if n.Unanswered() {
		it.Is |= filter.IsPending
	}
	from, to := n.Span(end)
	it.Latency, it.Answered = to-from, true
	if c.Cancel != (session.Ref{}) {
		it.Is |= filter.IsCancelled
	}
	if c.TooLate() {
		it.Is |= filter.IsLate
	}
	if c.Notes&(session.NoteRefused|session.NoteCutOff) != 0 || c.Lost() { // no message of it shows it
		it.Is |= filter.IsError
	}
	if c.Notes&session.NoteNoMessage != 0 {
		it.Is |= filter.IsInvalid
	}
	return it
}

// Found returns the results of [Outline.Search] for the messages of the call.
func (n *Node) Found() filter.Found { return n.found }

// Session returns the number of the call's session, 0 if it is not known.
func (n *Node) Session() int { return n.session }

// Span returns when the call was open: see [session.Call.Until].
func (n *Node) Span(end time.Duration) (from, to time.Duration) {
	return n.Call.At, n.Call.Until(end)
}
