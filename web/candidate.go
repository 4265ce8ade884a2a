package web

import (
	"bytes"
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// maxHeld limits the rows and the updates of a candidate that are held: the first rows and the latest
// one, and the latest updates.
const maxHeld = 64

// A candidate is something that later frames may still cause to match the filter: in the call view a
// call with its nested calls, in the frame view a request. Its rows are shown or dropped together.
type candidate struct {
	root    session.Ref
	rows    []row    // rows that the page does not have
	updates []update // updates of these rows
	shown   bool     // its rows are sent as they arrive

	// In the call view: the number of calls that have not ended, and whether one that has ended
	// matches.
	open    int
	matched bool

	// In the frame view: the request and its call, what the filter found in it, and its outcome.
	call                session.Ref
	frame               tap.Frame
	item                filter.Item
	found               filter.Found
	answered, cancelled bool
}

// addRequest adds a request whose match depends on later frames.
func (g *gatherer) addRequest(r row, p *session.Part, it *filter.Item) {
	c := &candidate{root: p.Message, call: p.Call, rows: []row{r}, frame: *it.Frame, item: *it}
	// Clone strings and bytes, which would otherwise keep their frame's segment in memory.
	c.frame.Raw = nil
	c.item.Frame = &c.frame
	for _, s := range []*string{&c.item.Method, &c.item.Tool, &c.item.Prompt, &c.item.URI, &c.item.Revision} {
		*s = strings.Clone(*s)
	}
	c.item.ID = bytes.Clone(it.ID)
	if g.needs.Has(filter.NeedPayload) {
		c.found = g.search(it.Frame.Raw)
	}
	g.candidates[p.Message] = c
}

// addToCall adds the row of a message of a call, in the call view.
func (g *gatherer) addToCall(r row, p *session.Part, it *filter.Item) {
	c := g.candidates[p.Call]
	if c == nil {
		if p.Call != p.Message { // the call has already ended
			if g.shows(p.Call) {
				g.send(r)
			} else {
				g.sendMatch(r, it)
			}
			return
		}
		if c = g.candidates[p.Parent]; c == nil {
			shown := g.shows(p.Parent)
			c = &candidate{root: p.Call, shown: shown, matched: shown}
		}
		c.open++
		g.candidates[p.Call] = c
	}
	if c.shown {
		g.send(r)
		return
	}
	if len(c.rows) == maxHeld {
		c.rows = c.rows[:maxHeld-1]
	}
	c.rows = append(c.rows, r)
}

// matchesRequest reports whether the filter matches a request, judging by the frames read so far.
func (g *gatherer) matchesRequest(c *candidate) bool {
	it := c.item
	if !c.answered {
		it.Is |= filter.IsPending
	}
	if c.cancelled {
		it.Is |= filter.IsCancelled
	}
	return g.filter.Match(&it, c.found)
}

// matchesCall reports whether the filter matches a call, judging by the frames read so far.
func (g *gatherer) matchesCall(n *view.Node) bool {
	it := n.Item(g.last)
	return g.filter.Match(&it, n.Found())
}

// decideEnded decides about the calls that ended with a frame.
func (g *gatherer) decideEnded(r *session.Entry) {
	if g.outline != nil {
		for _, n := range g.outline.Add(r) {
			c := g.candidates[n.Call.Ref]
			c.open--
			c.matched = c.matched || g.matchesCall(n)
			if c.matched || c.open == 0 {
				g.show(c, c.matched)
			}
		}
		return
	}
	if len(g.candidates) == 0 {
		return
	}
	for _, call := range r.Ended {
		for _, ref := range call.Requests {
			if c := g.candidates[ref]; c != nil {
				c.cancelled = ref == call.Ref && call.Cancel != session.Ref{}
				g.show(c, g.matchesRequest(c))
				delete(g.candidates, ref)
			}
		}
	}
}

// decideOpen decides about the open calls, after all recorded frames have been read.
func (g *gatherer) decideOpen() {
	if len(g.candidates) == 0 {
		return
	}
	open := g.tracker.Open()
	matched := map[*candidate]bool{}
	for _, call := range open {
		if g.calls {
			c, n := g.candidates[call.Ref], g.outline.Open(call)
			if c != nil && n != nil && !matched[c] {
				matched[c] = c.matched || g.matchesCall(n)
			}
			continue
		}
		for _, ref := range call.Requests {
			if c := g.candidates[ref]; c != nil {
				g.show(c, g.matchesRequest(c))
			}
		}
	}
	for _, call := range open {
		if c := g.candidates[call.Ref]; c != nil && g.calls {
			g.show(c, matched[c])
		}
	}
}

// show shows a candidate, or drops it.
func (g *gatherer) show(c *candidate, show bool) {
	if show == c.shown {
		return
	}
	c.shown = show
	if !show {
		delete(g.sent, c.call)
		g.updates = append(g.updates, update{ID: idOf(c.root), Drop: true})
		return
	}
	if !g.calls {
		g.sent[c.call] = struct{}{}
	}
	for _, r := range c.rows {
		g.send(r)
	}
	g.updates = append(g.updates, c.updates...)
	// If it is shown again later, its first row is sent again.
	c.rows, c.updates = c.rows[:1], nil
}
