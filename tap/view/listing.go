package view

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// Options are the options of a [Listing].
type Options struct {
	// Calls lists calls instead of frames. Flat makes a call within another an item too.
	Calls, Flat bool
	// Diff compares each response with the previous one to an equal request.
	Diff bool
	// Stderr includes what the server writes to its standard error around the selected
	// frames, or among calls.
	Stderr bool
	// Body, if not nil, returns the reason in the body that follows the head of a response,
	// as [session.BodyReason] does; "" if there is none. It is called for those that refuse a
	// request and are picked.
	Body func(head *tap.Frame) string
	// Plumbing includes the frames that [Plumbing] reports.
	Plumbing bool
	// Follow returns calls as soon as they have ended, from the frame FollowFrom on. With
	// Now, which returns how long a live recording has run, it returns calls that are open
	// as soon as they are selected.
	Follow     bool
	FollowFrom uint64
	Now        func() time.Duration
}

// An Item is one entry of a [Listing]: a row, or a call with everything in it. Its
// contents are valid until the next frame is added.
type Item struct {
	// Row is a frame, or a frame or message outside calls. If Open is set, it is a message of
	// an open call. Deltas are the changes of the responses in a frame.
	Row    *Row
	Deltas []*Delta
	// Node is a call; if Open is set, a call so far. Stderr is what the server wrote to its
	// standard error during the call.
	Node   *Node
	Stderr []Row
	Open   bool
}

// A Listing lists the selected part of a recording. It holds only open calls, so that
// memory does not grow with the recording. Make one with [NewListing].
type Listing struct {
	Selection
	// Tracker pairs the messages. Its Survey may be set before the first frame.
	Tracker session.Tracker

	opt   Options
	items []Item
	last  time.Duration // the offset of the last frame
	end   time.Duration // how long the recording ran, once known
	sum   Summary

	responses *Responses
	pages     NextPages
	near      nearby
	alike     map[session.Ref]*session.Call // by message: see [Row.Alike]
	finder    AlikeFinder
	stderr    lastOf // until a call takes them
	// exchanges holds the exchanges without a message or a response, by number.
	exchanges map[uint64]session.Request

	outline *Outline
	// named holds the calls with a frame in the selected ranges, open those that began
	// before the end of the span.
	named, open map[session.Ref]bool
	following   bool
	begun       map[session.Ref]bool // the open calls that have been returned
}

// A Summary describes a whole listing.
type Summary struct {
	// Frames, Bytes and Errors count the frames that were read of the selected session, and Calls
	// its calls if calls are listed.
	Frames uint64
	Bytes  int64
	Errors uint64
	Calls  uint64
	// Shown counts the selected frames or calls, Hidden those of them that only carry
	// HTTP.
	Shown, Hidden uint64
	// Loose counts the selected messages without a call, if calls are listed.
	Loose uint64
	// TooLarge and Forgotten are the counts of [Responses].
	TooLarge, Forgotten uint64
	// Unanswered holds the first requests without a response, Beyond counts others. They
	// are set if all requests are listed, or those without a response.
	Unanswered []session.Request
	Beyond     uint64
	// Cancelled holds the first [maxCancelled] calls that were cancelled without a response, and
	// Cancels counts all of them.
	Cancelled []*session.Call
	Cancels   uint64
	// NextPages are the pages of lists that the client did not request.
	NextPages []NextPage
	// Exit is how the server ended.
	Exit session.Exit
	// Stderr has the last rows of the server's standard error if requests without a response are
	// selected, or if the server failed and no row shows them. Invalid has those of its frames that
	// are not messages, if requests without a response are selected.
	Stderr, Invalid []Row
}

// maxCancelled is how many cancelled calls a [Summary] has.
const maxCancelled = 3

func (s *Summary) addCancelled(calls []*session.Call) {
	for _, c := range calls {
		if c.State(true) != session.StateCancelled {
			continue
		}
		if s.Cancels++; s.Cancels <= maxCancelled {
			s.Cancelled = append(s.Cancelled, c)
		}
	}
}

// NewListing returns a Listing of a selection.
func NewListing(sel Selection, opt Options) *Listing {
	l := &Listing{
		Selection: sel, opt: opt, near: newNearby(), stderr: lastOf{max: callRows}, exchanges: map[uint64]session.Request{},
		alike: map[session.Ref]*session.Call{}, named: map[session.Ref]bool{}, open: map[session.Ref]bool{}, begun: map[session.Ref]bool{},
	}
	if opt.Diff {
		l.responses = NewResponses()
	}
	if opt.Calls {
		l.outline = NewOutline()
		l.outline.Responses, l.outline.Flat, l.outline.Stderr = l.responses, opt.Flat, opt.Stderr && !sel.Picks()
		l.outline.Keep = func(e *session.Entry, i int) bool { return l.Span.Holds(e.Frame) && l.message(e, i) }
		if l.Needs(filter.NeedPayload) {
			l.outline.Search = sel.Filter.Search
		}
	}
	return l
}

// Ended returns how long the recording ran, as far as it has been read.
func (l *Listing) Ended() time.Duration { return max(l.end, l.last) }

// Add adds the next frame and returns the items that are complete, and whether no more
// frames are needed.
func (l *Listing) Add(f *tap.Frame) (items []Item, done bool) {
	clear(l.items)
	l.items, l.last = l.items[:0], f.At
	after := l.Span.Before(f)
	if after && !l.opt.Calls {
		return nil, true
	}
	e := l.Tracker.Add(f)
	if l.inSession(e.Session) {
		l.sum.Frames++
		l.sum.Exit.Add(&e.Event)
		l.sum.Bytes += f.Size
		l.sum.Errors += e.Errors()
		l.sum.addCancelled(e.Ended)
		l.pages.Add(e)
	}
	l.compare(e)
	switch invalid := f.Lane == tap.ToClient && e.Message.Kind == jsonrpc.Invalid; {
	case !l.inSession(e.Session):
	case f.Lane == tap.Stderr && (l.Pending() || !l.Picks() && l.opt.Calls && !l.opt.Stderr):
		l.sum.Stderr = addLast(l.sum.Stderr, NewRow(e), heldRows)
	case invalid && l.Pending():
		row := NewRow(e)
		row.Alike = l.alike[row.Part.Message]
		l.sum.Invalid = addLast(l.sum.Invalid, row, lastRows)
	}
	l.openExchange(e)
	if l.opt.Calls {
		l.addToCalls(e, after)
		return l.items, after && len(l.open) == 0
	}
	l.addFrame(e)
	return l.items, false
}

// addLast adds a row to the last ones, unless it is empty: Python may write the end of a line
// separately.
func addLast(rows []Row, r Row, most int) []Row {
	if strings.TrimSpace(r.About) == "" {
		return rows
	}
	last := lastOf{rows, most}
	last.add(r)
	return last.rows
}

func (l *Listing) addFrame(e *session.Entry) {
	var deltas []*Delta
	if l.responses != nil {
		deltas = l.responses.Add(e)
	}
	if !l.Span.Holds(e.Frame) {
		return
	}
	ok := l.frame(e)
	if l.opt.Stderr && l.Picks() {
		rows := l.near.add(e, ok)
		for i := range rows {
			l.items = append(l.items, Item{Row: &rows[i]})
		}
	}
	if !ok {
		return
	}
	l.sum.Shown++
	if !l.opt.Plumbing && !l.Picks() && Plumbing(e) {
		l.sum.Hidden++
		return
	}
	row := NewRow(e)
	row.Alike = l.alike[row.Part.Message]
	if l.opt.Body != nil && l.Picks() && row.Refuses != (session.Ref{}) {
		if body := l.opt.Body(e.Frame); !strings.Contains(row.Fault, body) {
			row.Fault += ": " + body
		}
	}
	l.items = append(l.items, Item{Row: &row, Deltas: deltas})
}

// compare finds the open requests that responses without a request, and responses after text in a
// line, are meant for.
func (l *Listing) compare(e *session.Entry) {
	for i := range e.Parts {
		if alike := l.finder.Find(e, i, l.Tracker.Open); alike != nil {
			l.alike[e.Parts[i].Message] = alike
		}
	}
}

// openExchange records exchanges without a message until they have a response. No row
// shows them until then.
func (l *Listing) openExchange(e *session.Entry) {
	switch n := e.Frame.Exchange; e.Event.Name {
	case tap.EventRequest:
		if e.Event.Method != "POST" && len(l.exchanges) < 1000 {
			l.exchanges[n] = session.Request{
				Ref: session.Ref{Seq: e.Frame.Seq}, Method: e.Event.Method, Subject: e.Event.Target, At: e.Frame.At,
				Session: e.Session, Waits: session.Ref{Seq: e.Frame.Seq}, Since: e.Frame.At,
			}
		}
	case tap.EventResponse, tap.EventEnd:
		delete(l.exchanges, n)
	default:
		if e.Frame.Lane == tap.ToClient {
			delete(l.exchanges, n)
		}
	}
}

// addToCalls adds the next entry to the calls; after reports whether it is after the
// span, where only open calls matter.
func (l *Listing) addToCalls(e *session.Entry, after bool) {
	if e.Frame.Lane == tap.Stderr && l.opt.Stderr && l.Picks() {
		l.stderr.add(NewRow(e))
	}
	for i := range e.Parts {
		p := &e.Parts[i]
		if p.Role == session.RoleRequest && l.inSession(e.Session) {
			l.sum.Calls++
			if !after {
				l.open[p.Call] = true
			}
		}
		if len(l.Ranges) > 0 && p.Call != (session.Ref{}) && l.inRanges(e.Frame.Seq) {
			l.named[p.Call] = true
		}
	}
	first := false
	if l.opt.Follow && !l.following && e.Frame.Seq >= l.opt.FollowFrom {
		l.following, first = true, true
		l.outline.Live()
	}
	nodes := l.outline.Add(e)
	for _, ended := range e.Ended {
		delete(l.open, ended.Ref)
		delete(l.begun, ended.Ref)
	}
	l.addNodes(nodes)
	switch {
	case !l.following || l.opt.Now == nil:
	case first:
		l.addBegun(nil)
	case len(e.Parts) > 0:
		l.addBegun(e)
	}
}

// Wait returns the open calls that are selected now because they have waited long enough.
func (l *Listing) Wait() []Item {
	clear(l.items)
	l.items = l.items[:0]
	if l.following && l.opt.Now != nil {
		l.addBegun(nil)
	}
	return l.items
}

// addBegun adds the open calls that are selected and have not been returned, and the messages
// in a frame of those that have been. Without a frame, the time is now.
func (l *Listing) addBegun(e *session.Entry) {
	if e == nil {
		l.last = max(l.last, l.opt.Now())
	}
	for _, call := range l.Tracker.Open() {
		n := l.outline.Open(call)
		if n == nil || !l.selects(n) {
			continue
		}
		if !l.begun[call.Ref] {
			l.begun[call.Ref] = true
			l.items = append(l.items, Item{Node: n, Open: true})
		}
		for i := 0; e != nil && i < len(e.Parts); i++ {
			if p := &e.Parts[i]; p.Call == call.Ref && p.Message != call.Ref {
				row := NewMessageRow(e, i)
				l.items = append(l.items, Item{Row: &row, Open: true})
			}
		}
	}
}

// End returns the calls that have not ended. The recording ran for a duration; 0 if that
// is not known.
func (l *Listing) End(duration time.Duration) []Item {
	clear(l.items)
	l.items, l.end = l.items[:0], duration
	if l.outline != nil {
		l.addNodes(l.outline.End(l.Tracker.Open()))
	}
	return l.items
}

func (l *Listing) addNodes(nodes []*Node) {
	for _, n := range nodes {
		ok := l.selects(n)
		l.forget(n)
		switch {
		case !ok:
		case n.Call == nil:
			n.Row.Alike = l.alike[n.Row.Part.Message]
			l.sum.Loose++
			l.items = append(l.items, Item{Row: &n.Row})
		default:
			l.sum.Shown++
			l.items = append(l.items, Item{Node: n, Stderr: l.stderr.take(n.Span(l.Ended()))})
		}
	}
}

// selects reports whether a call, or one nested in it, is selected.
func (l *Listing) selects(n *Node) bool {
	if n.Call == nil {
		return true // selected by Keep
	}
	from, to := n.Span(l.Ended())
	if l.Span.overlaps(n.Call, from, to) && (len(l.Ranges) == 0 || l.named[n.Call.Ref]) && l.inSession(n.Session()) {
		if l.Filter == nil {
			return true
		}
		it := n.Item(l.Ended())
		for i := range n.Call.Parts {
			it.Rules = append(it.Rules, l.Findings[n.Call.Parts[i].Message.Seq]...)
		}
		if l.Filter.Match(&it, n.Found()) {
			return true
		}
	}
	return slices.ContainsFunc(n.Kids, l.selects)
}

// forget removes a call that has been returned, and those within it.
func (l *Listing) forget(n *Node) {
	if n.Call != nil && len(l.named) > 0 {
		delete(l.named, n.Call.Ref)
		for _, kid := range n.Kids {
			l.forget(kid)
		}
	}
}

// Waits reports whether requests without a response are selected and some of them are shown by no
// frame: an exchange without a message, or a call that requires input.
func (l *Listing) Waits() bool {
	return l.Pending() && (len(l.exchanges) > 0 || l.onlyPending() && len(l.Summary().Unanswered) > 0)
}

// Summary returns the summary of the frames so far.
func (l *Listing) Summary() Summary {
	s := l.sum
	s.NextPages = l.pages.Open
	s.Cancelled = slices.Clone(s.Cancelled)
	s.addCancelled(slices.DeleteFunc(l.Tracker.Open(), func(c *session.Call) bool { return !l.inSession(c.Session) }))
	slices.SortFunc(s.Cancelled, func(a, b *session.Call) int { return a.Ref.Compare(b.Ref) })
	if s.Stderr = lastReport(s.Stderr); !l.Pending() && !s.Exit.Failed() {
		s.Stderr = nil
	}
	if l.responses != nil {
		s.TooLarge, s.Forgotten = l.responses.TooLarge, l.responses.Forgotten
	}
	if l.Picks() && !l.Pending() {
		return s
	}
	s.Unanswered, s.Beyond = l.Tracker.Unanswered()
	for _, n := range slices.Sorted(maps.Keys(l.exchanges)) {
		s.Unanswered = append(s.Unanswered, l.exchanges[n])
	}
	s.Unanswered = slices.DeleteFunc(s.Unanswered, func(q session.Request) bool {
		noFrame := q.Waits == session.Ref{} && !l.onlyPending() && l.Picks() && !l.opt.Calls // such as a call that requires input
		return !l.inSession(q.Session) || noFrame
	})
	return s
}
