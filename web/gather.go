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

// A gatherer turns the frames of a recording into the rows and updates of one
// view. Its memory grows with the calls that are open.
type gatherer struct {
	tracker session.Tracker
	filter  *filter.Filter
	// all says that the filter lets everything through; needs what it reads.
	all   bool
	needs filter.Needs
	// calls says that whole calls are wanted, not single frames.
	calls  bool
	after  uint64
	before *predecessors
	seen   *seen
	items  []filter.Item
	// holds is the result of searching the current frame, valid if searched is
	// set.
	holds    filter.Found
	searched bool

	// units are those that are not decided for good: in the view of calls by
	// call, otherwise by request.
	units map[session.Ref]*unit
	// dirty are the units that have changed since what they are was last asked.
	dirty []*unit
	// shown are, in the view of calls, those that are over of which something
	// was sent; sent are, in the view of frames, the open ones.
	shown bounded.Map[session.Ref, struct{}]
	sent  map[session.Ref]struct{}

	last time.Duration // when the last frame crossed

	// What was found since it was last taken:
	rows    []row
	updates []update
}

// A viewOptions says what a view shows.
type viewOptions struct {
	Filter string `json:"filter"`
	Calls  bool   `json:"calls"`
	// After is the last frame that the page has.
	After uint64 `json:"after"`
}

// newGatherer makes a gatherer. The error is a [*filter.Error].
func newGatherer(r FrameReader, o viewOptions, s *seen) (*gatherer, error) {
	f, err := filter.Parse(o.Filter)
	if err != nil {
		return nil, err
	}
	return &gatherer{
		filter: f, all: f.String() == "", needs: f.Needs(),
		calls: o.Calls, after: o.After, before: newPredecessors(), seen: s, units: map[session.Ref]*unit{}, sent: map[session.Ref]struct{}{},
		shown: bounded.Map[session.Ref, struct{}]{Max: maxPast},
	}, nil
}

// add reads the next frame. The row is valid until the next one.
func (g *gatherer) add(f *tap.Frame) *session.Entry {
	g.last, g.searched = f.At, false
	r := g.tracker.Add(f)
	g.items = view.Items(g.items[:0], r)
	for i := range g.items {
		g.seen.note(&g.items[i])
	}
	if len(g.items) == 1 {
		l := view.NewRow(r)
		g.line(&l, r, 0)
	} else {
		g.batch(r)
	}
	g.ended(r.Ended)
	return r
}

// search returns what the filter finds in the frame of an item, the current one. A
// frame is searched once.
func (g *gatherer) search(it *filter.Item) filter.Found {
	if !g.searched {
		g.holds, g.searched = g.filter.Search(it.Frame.Raw), true
	}
	return g.holds
}

// match reports whether the filter matches an item of the current frame.
func (g *gatherer) match(it *filter.Item) bool {
	var found filter.Found
	if g.filter.NeedsPayload(it) {
		found = g.search(it)
	}
	return g.filter.Match(it, found)
}

// batch takes the messages of a batch, and the batch itself if one of them is
// wanted.
func (g *gatherer) batch(r *session.Entry) {
	from := len(g.rows)
	for i := range r.Parts {
		l := view.NewMessageRow(r, i)
		g.line(&l, r, i)
	}
	wanted := len(g.rows) > from
	for i := 1; i < len(g.items) && !wanted; i += 2 {
		wanted = g.match(&g.items[i])
	}
	if l := view.NewRow(r); wanted {
		line := newRow(&l, r)
		line.ID = batchID(r.Frame.Seq)
		line.Marks |= markBatch
		g.send(line)
	}
}

// line takes what one line says: the frame's, or that of message i.
func (g *gatherer) line(l *view.Row, r *session.Entry, i int) {
	row := newRow(l, r)
	it := &g.items[i]
	if len(g.items) > 1 { // of a batch, with two items for each message
		it = &g.items[2*i]
		row.Marks |= markMember
	}
	if i >= len(r.Parts) {
		g.single(row, it)
		return
	}
	part := &r.Parts[i]
	g.before.note(&row, part, it)
	switch {
	case g.all:
		g.send(row)
	case g.calls && part.Call != session.Ref{}:
		g.ofCall(row, part, it)
	case !g.calls && part.Kind == jsonrpc.Request && g.needs.Has(filter.NeedFuture):
		g.ask(row, part, it)
	default:
		if g.single(row, it) && !part.Late && part.Call != (session.Ref{}) {
			g.sent[part.Call] = struct{}{}
		}
	}
	g.tell(&row, part)
}

// single takes a row that does not depend on others, and reports whether it matches.
func (g *gatherer) single(r row, it *filter.Item) bool {
	ok := g.match(it)
	if ok {
		g.send(r)
	}
	return ok
}

// send puts a row into the next message, unless the page has it.
func (g *gatherer) send(r row) {
	if uint64(r.ID>>indexBits) > g.after {
		g.rows = append(g.rows, r)
	}
}

// tell notes what a message means for rows before it.
func (g *gatherer) tell(r *row, p *session.Part) {
	if p.Request != (session.Ref{}) {
		g.update(p, update{ID: r.Request, Answer: r.ID, Latency: r.Latency, Failed: r.Marks&markFailed != 0})
		g.answered(p)
	}
	if s := standing(p); s != "" {
		g.update(p, update{ID: r.Call, Status: s})
	}
	if p.Role == session.RoleCancel {
		g.cancelled(p)
	}
}

// standing is how a call stands after a message that does not settle it, "" if
// that says nothing about it. The exact state comes when the call is over.
func standing(p *session.Part) string {
	switch {
	case p.Call == session.Ref{}:
	case p.Role == session.RoleCancel:
		return session.CallCancelled.String()
	case p.Role == session.RoleRetry && p.Method != "tasks/get" && p.Method != "tasks/result":
		return session.CallPending.String()
	case p.Status == session.CallInputRequired || p.Status == session.CallWorking:
		return p.Status.String()
	case p.Method == "notifications/subscriptions/acknowledged":
		return session.CallListening.String()
	}
	return ""
}

// ended takes the calls that are over.
func (g *gatherer) ended(calls []*session.Call) {
	for _, c := range calls {
		u := update{ID: idOf(c.Ref), Status: c.Status.String(), End: int64(c.End), Answer: idOf(c.Answer), Error: brief(c.ErrorText)}
		if c.Answer == c.Cancel {
			u.Answer = 0
		}
		if c.Status.Settled() && c.Answer != (session.Ref{}) {
			u.Latency = int64(c.End - c.At)
		}
		u.Failed = c.Status == session.CallError || c.Status == session.CallToolError
		held := g.hold(c.Ref, u)
		g.close(c)
		if !held && (g.all || g.isShown(c.Ref)) {
			g.settle(u)
		}
		delete(g.sent, c.Ref)
	}
}

// settle notes the end of a call. The answer that ended it has usually just made
// an update for the same row.
func (g *gatherer) settle(u update) {
	if n := len(g.updates); n > 0 && g.updates[n-1].ID == u.ID && !g.updates[n-1].Drop {
		g.updates[n-1] = u
		return
	}
	g.updates = append(g.updates, u)
}

// update notes an update, if the page may have the row, or keeps it until then.
func (g *gatherer) update(p *session.Part, u update) {
	if !g.hold(p.Call, u) && (g.all || g.isShown(p.Call)) {
		g.updates = append(g.updates, u)
	}
}

// hold keeps an update of a call whose rows are held.
func (g *gatherer) hold(call session.Ref, u update) bool {
	unit := g.units[call]
	if !g.calls || unit == nil || unit.shown {
		return false
	}
	unit.note(u)
	return true
}

// take returns what was found, at most n rows and updates together, and keeps
// the rest.
func (g *gatherer) take(n int) (rows []row, updates []update) {
	rows = g.rows[:min(len(g.rows), n)]
	updates = g.updates[:min(len(g.updates), n-len(rows))]
	g.rows, g.updates = g.rows[len(rows):], g.updates[len(updates):]
	return rows, updates
}

func (g *gatherer) found() int { return len(g.rows) + len(g.updates) }
