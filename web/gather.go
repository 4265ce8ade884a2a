package web

import (
	"time"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A gatherer converts the frames of a recording to the rows and updates of one view.
// Its memory grows with the number of open calls.
type gatherer struct {
	tracker  session.Tracker
	filter   *filter.Filter
	all      bool // the filter matches everything
	needs    filter.Needs
	calls    bool // the view shows whole calls, not single frames
	after    uint64
	previous previousRows
	seen     *seen
	items    []filter.Item // of the current frame
	// found is the result of searching the current frame, valid if searched is set.
	found    filter.Found
	searched bool
	finder   view.AlikeFinder
	last     time.Duration              // when the last frame crossed
	total    uint64                     // the calls so far
	replies  bounded.Map[uint64, reply] // by exchange

	// candidates are undecided calls (in the call view) or requests.
	candidates map[session.Ref]*candidate
	outline    *view.Outline // for the filter, in the call view
	// past are, in the call view, the ended calls that the page has; sent are, in the frame view, the
	// open ones.
	past bounded.Map[session.Ref, struct{}]
	sent map[session.Ref]struct{}

	// What take returns next.
	rows    []row
	updates []update
}

// A reply is what an open HTTP exchange has instead of a response: its head, and the first body to
// the client that is not a response.
type reply struct {
	head, body session.Ref
	byTap      bool // the tap wrote it
}

const (
	// maxPast limits the ended calls that a gatherer remembers.
	maxPast = 4096
	// maxReplies limits the replies.
	maxReplies = 1024
)

// viewOptions select what a view shows.
type viewOptions struct {
	Filter string `json:"filter"`
	Calls  bool   `json:"calls"`
	// After is the last frame that the page already has.
	After uint64 `json:"after"`
}

// newGatherer returns a gatherer. The error is a [*filter.Error].
func newGatherer(o viewOptions, s *seen) (*gatherer, error) {
	f, err := parseFilter(o.Filter)
	if err != nil {
		return nil, err
	}
	g := &gatherer{
		filter: f, all: f.String() == "", needs: f.Needs(), calls: o.Calls, after: o.After,
		seen: s, candidates: map[session.Ref]*candidate{}, sent: map[session.Ref]struct{}{},
	}
	g.past.Max, g.previous.last.Max, g.replies.Max = maxPast, maxPrevious, maxReplies
	if g.calls && !g.all {
		g.outline = view.NewOutline()
		g.outline.Live()
		g.outline.Flat = true
		g.outline.Keep = func(*session.Entry, int) bool { return false } // only calls
		if g.needs.Has(filter.NeedPayload) {
			g.outline.Search = g.search
		}
	}
	return g, nil
}

// add adds the next frame. The entry is valid until the next call.
func (g *gatherer) add(f *tap.Frame) *session.Entry {
	g.last, g.searched = f.At, false
	r := g.tracker.Add(f)
	g.noteReply(r)
	g.items = view.Items(g.items[:0], r)
	for i := range g.items {
		g.seen.note(&g.items[i])
	}
	if len(g.items) == 1 {
		l := view.NewRow(r)
		g.addRow(&l, r, 0)
	} else {
		g.addBatch(r)
	}
	g.decideEnded(r)
	for _, c := range r.Ended {
		g.end(c, r)
	}
	if r.Event.Name == tap.EventEnd {
		g.replies.Delete(f.Exchange)
	}
	for _, c := range r.CutOff {
		g.update(c.Ref, update{ID: idOf(c.Ref), State: c.State(false), Error: brief(r.Event.Error)})
	}
	for _, c := range r.Waiting {
		switch {
		case c.StreamEnd.By == "client" && c.StreamEnd.At == f.At: // in older revisions this does not cancel the call
			g.update(c.Ref, update{ID: idOf(c.Ref), End: int64(f.At), Error: brief(view.StreamEndWords(&c.StreamEnd, c.At))})
		case r.Event.Name == tap.EventHangUp:
			g.update(c.Ref, update{ID: idOf(c.Ref), End: int64(f.At)})
		case c.ErrorText != "":
			g.update(c.Ref, update{ID: idOf(c.Ref), Error: brief(c.ErrorText)})
		}
	}
	return r
}

// noteReply records the head of an HTTP response, and its body if that is not a response.
func (g *gatherer) noteReply(r *session.Entry) {
	ref := session.Ref{Seq: r.Frame.Seq}
	if r.Event.Name == tap.EventResponse {
		g.replies.Put(r.Frame.Exchange, reply{head: ref, byTap: r.Event.By == "tap"})
	}
	if x := g.replies.At(r.Frame.Exchange); x != nil && r.Frame.Lane == tap.ToClient && x.body.Seq == 0 && (r.NoMessage() || r.Exchange.Status >= 300) {
		x.body = ref
	}
}

// search searches the payload of the current frame, at most once.
func (g *gatherer) search(payload []byte) filter.Found {
	if !g.searched {
		g.found, g.searched = g.filter.Search(payload), true
	}
	return g.found
}

// match reports whether the filter matches an item of the current frame.
func (g *gatherer) match(it *filter.Item) bool {
	var found filter.Found
	if g.filter.NeedsPayload(it) {
		found = g.search(it.Frame.Raw)
	}
	return g.filter.Match(it, found)
}

// addBatch adds the messages of a batch, and the batch itself if it or one of its messages matches.
func (g *gatherer) addBatch(r *session.Entry) {
	from := len(g.rows)
	for i := range r.Parts {
		l := view.NewMessageRow(r, i)
		g.addRow(&l, r, i)
	}
	matches := len(g.rows) > from
	for i := 1; i < len(g.items) && !matches; i += 2 {
		matches = g.match(&g.items[i])
	}
	if matches {
		l := view.NewRow(r)
		row := newRow(&l, r)
		row.ID = batchID(r.Frame.Seq)
		row.Marks |= markBatch
		g.send(row)
	}
}

// addRow adds the row of the frame, or of message i.
func (g *gatherer) addRow(l *view.Row, r *session.Entry, i int) {
	row := newRow(l, r)
	if x := g.replies.At(r.Frame.Exchange); x != nil && x.byTap && r.Frame.Lane == tap.ToClient {
		row.Marks |= markByTap
	}
	it := &g.items[i]
	if len(g.items) > 1 { // a batch, with two items per message
		it = &g.items[2*i]
		row.Marks |= markMember
	}
	if i >= len(r.Parts) {
		g.sendMatch(row, it)
		return
	}
	part := &r.Parts[i]
	switch l.Alike = g.finder.Find(r, i, g.tracker.Open); {
	case part.Role == session.RoleOrphan:
		row.Fault = brief(view.JoinWords("; ", view.Cause(l.Fault), view.NoRequestWords(l.ID, l.Alike)))
	case l.Alike != nil:
		row.Fault = brief(view.JoinWords("; ", view.InsideWords(l.Alike), view.Cause(l.Fault)))
	}
	if part.Role == session.RoleRequest {
		g.total++
	}
	g.previous.note(&row, part, it)
	switch {
	case g.all:
		g.send(row)
	case g.calls && part.Call != session.Ref{}:
		g.addToCall(row, part, it)
	case !g.calls && part.Kind == jsonrpc.Request && g.needs.Has(filter.NeedFuture):
		g.addRequest(row, part, it)
	default:
		if g.sendMatch(row, it) && !part.Late && part.Call != (session.Ref{}) {
			g.sent[part.Call] = struct{}{}
		}
	}
	g.updateEarlier(&row, part)
}

// sendMatch sends a row that does not depend on other frames if it matches, and reports whether it
// does.
func (g *gatherer) sendMatch(r row, it *filter.Item) bool {
	ok := g.match(it)
	if ok {
		g.send(r)
	}
	return ok
}

// send puts a row into the next message, unless the page already has it.
func (g *gatherer) send(r row) {
	if uint64(r.ID>>indexBits) > g.after {
		g.rows = append(g.rows, r)
	}
}

// updateEarlier updates the earlier rows that a message affects.
func (g *gatherer) updateEarlier(r *row, p *session.Part) {
	c := g.candidates[p.Request]
	if p.Request != (session.Ref{}) {
		g.update(p.Call, update{ID: r.Request, Response: r.ID, Latency: r.Latency})
		if c != nil {
			c.answered = true
		}
	}
	if s := stateAfter(p); s != "" {
		u := update{ID: r.Call, State: s}
		if p.Role == session.RoleCancel && p.Kind == jsonrpc.Notification { // the response to tasks/cancel ends a task
			u.End, u.Error = int64(p.At), view.JoinWords(": ", view.By(p.Lane), view.Cause(r.Preview))
		}
		g.update(p.Call, u)
	}
	if c := g.candidates[p.Call]; c != nil && p.Role == session.RoleCancel {
		c.cancelled = true
	}
}

// stateAfter returns the state of a call after a message that does not settle it, or "" for no change.
// The final state is set when the call ends.
func stateAfter(p *session.Part) session.State {
	switch {
	case p.Call == session.Ref{}, p.Late:
	case p.Role == session.RoleCancel && p.State != session.StateEnded:
		return session.StateCancelled // also of a task, which ends with the response to tasks/cancel
	case p.Role == session.RoleCancel, p.Role == session.RoleRetry && p.Method != "tasks/get" && p.Method != "tasks/result",
		p.State == session.StateNeedsInput, p.State == session.StateWorking, p.Method == "notifications/subscriptions/acknowledged":
		return p.State
	}
	return ""
}

// end adds the update for a call that has ended with an entry.
func (g *gatherer) end(c *session.Call, r *session.Entry) {
	u := update{
		ID: idOf(c.Ref), State: c.State(false), End: int64(c.End), Response: idOf(c.Answer), Error: brief(view.Cause(c.ErrorText)),
	}
	if c.Status == session.CallCancelled || c.Status == session.CallCancelledLate {
		lost := ""
		if c.Notes&session.NoteStreamEnded != 0 {
			lost = view.StreamEndWords(&c.StreamEnd, c.At)
		}
		u.Error = brief(view.Cause(view.JoinWords(", ", c.ErrorText, lost, view.CancelWords(c))))
	}
	if u.Error == "" && (c.StreamEnd.By == "client" || c.Lost()) {
		u.Error = brief(view.StreamEndWords(&c.StreamEnd, c.At))
	}
	if c.Answer == c.Cancel {
		u.Response = 0
	} else if x, ok := g.replies.Get(r.Frame.Exchange); ok && r.Event.Name == tap.EventEnd && c.Answer.Seq == r.Frame.Seq {
		u.Response, u.Body = idOf(x.head), idOf(x.body)
	}
	if c.Status.Settled() && c.Answer != (session.Ref{}) {
		u.Latency = int64(c.End - c.At)
	}
	// The response that ended the call has usually just updated the same row.
	if n := len(g.updates); n > 0 && g.updates[n-1].ID == u.ID && !g.updates[n-1].Drop && g.shows(c.Ref) {
		g.updates = g.updates[:n-1]
	}
	g.update(c.Ref, u)
	if g.calls && !g.all && g.shows(c.Ref) {
		g.past.Put(c.Ref, struct{}{})
	}
	delete(g.sent, c.Ref)
	if g.calls {
		delete(g.candidates, c.Ref)
	}
}

// update adds an update of a row of a call if the page has the row. Otherwise it holds the update back
// with the row.
func (g *gatherer) update(call session.Ref, u update) {
	if g.shows(call) {
		g.updates = append(g.updates, u)
	} else if c := g.candidates[call]; c != nil && g.calls {
		if len(c.updates) == maxHeld {
			c.updates = c.updates[1:]
		}
		c.updates = append(c.updates, u)
	}
}

// shows reports whether the page has rows of a call.
func (g *gatherer) shows(call session.Ref) bool {
	c := g.candidates[call]
	switch {
	case g.all:
		return true
	case !g.calls:
		_, ok := g.sent[call]
		return ok
	case c != nil:
		return c.shown
	}
	_, ok := g.past.Get(call)
	return ok
}

// take removes and returns what was gathered, at most n rows and updates together.
func (g *gatherer) take(n int) (rows []row, updates []update) {
	rows = g.rows[:min(len(g.rows), n)]
	updates = g.updates[:min(len(g.updates), n-len(rows))]
	g.rows, g.updates = g.rows[len(rows):], g.updates[len(updates):]
	return rows, updates
}

// pending returns the number of rows and updates that take has not returned yet.
func (g *gatherer) pending() int { return len(g.rows) + len(g.updates) }
