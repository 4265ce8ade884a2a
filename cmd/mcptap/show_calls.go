package main

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A callLister groups the rows of a lister into calls.
type callLister struct {
	*lister
	out     callPrinter
	outline *view.Outline
	stderr  stderrLines
	total   uint64 // number of calls
	// named holds the calls with a frame in the selected ranges, open the open calls
	// that began before the end of the span.
	named, open map[session.Ref]bool
	finished    time.Duration // how long the recording ran, once known
	live        bool          // the frames present at opening have been read
}

func newCallLister(l *lister, a *app, id string) *callLister {
	c := &callLister{lister: l, outline: view.NewOutline(), named: map[session.Ref]bool{}, open: map[session.Ref]bool{}}
	c.outline.Answers = l.answers
	c.outline.Keep = c.keep
	c.outline.Stderr = l.o.stderr && !l.sel.picks()
	c.outline.Flat = l.o.json
	if l.sel.needsPayload() {
		c.outline.Search = l.sel.filter.Search
	}
	if l.o.json {
		c.out = &jsonCalls{w: l.w, ended: c.ended, recording: id}
		return c
	}
	rows := newCallRows(l.w, a.palette(), a.width(), l.info, l.o.tree)
	if l.label != "" {
		rows.withLabel(l.label, clock(l.info.Header.Start, a.zone))
	}
	rows.ended, rows.follow = c.ended, l.o.follow
	c.out = rows
	return c
}

// ended returns how long the recording ran, as far as it has been read.
func (c *callLister) ended() time.Duration { return max(c.finished, c.last) }

// row adds the next row. It reports whether no more are needed: after the end of the
// span only open calls matter.
func (c *callLister) row(r *session.Entry) (enough bool, err error) {
	f := r.Frame
	if f.Lane == tap.Stderr && c.o.stderr && c.sel.picks() {
		c.stderr.add(view.NewRow(r))
	}
	after := c.span.after(f)
	for i := range r.Parts {
		p := &r.Parts[i]
		if p.Role == session.RoleRequest && (c.sel.session == 0 || r.Session == c.sel.session) {
			c.total++
			if !after {
				c.open[p.Call] = true
			}
		}
		if len(c.sel.ranges) > 0 && p.Call != (session.Ref{}) && c.sel.inRanges(f.Seq) {
			c.named[p.Call] = true
		}
	}
	wasLive := c.live
	if c.o.follow && f.Seq >= c.info.Frames {
		c.live = true
		c.outline.Live()
	}
	nodes := c.outline.Add(r)
	for _, ended := range r.Ended {
		delete(c.open, ended.Ref)
	}
	if err := c.nodes(nodes); err != nil {
		return false, err
	}
	if c.live && c.info.Status == store.Live {
		if err := c.changes(r, !wasLive); err != nil {
			return false, err
		}
	}
	return after && len(c.open) == 0, nil
}

// changes prints the effect of a live frame: calls that begin, on the first frame all
// open calls, and messages of other calls.
func (c *callLister) changes(r *session.Entry, first bool) error {
	if !first && len(r.Parts) == 0 {
		return nil
	}
	for _, call := range c.v.tracker.Open() {
		n := c.outline.Open(call)
		if n == nil || !c.selects(n) {
			continue
		}
		if first || call.Ref.Seq == r.Frame.Seq {
			if err := errors.Join(c.out.open(n), c.printed()); err != nil {
				return err
			}
			continue
		}
		for i := range r.Parts {
			if r.Parts[i].Call != call.Ref {
				continue
			}
			l := view.NewMessageRow(r, i)
			if err := errors.Join(c.out.part(&l), c.printed()); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish prints the calls that have not ended.
func (c *callLister) finish() error {
	info, err := c.rec.Info()
	if err != nil {
		return err
	}
	extendLive(&info, c.now())
	if info.Status != store.Live || !c.partial {
		c.finished = info.Duration
	}
	return c.nodes(c.outline.End(c.v.tracker.Open()))
}

// keep reports whether a message outside calls is selected.
func (c *callLister) keep(r *session.Entry, i int) bool {
	return c.span.holds(r.Frame) && c.sel.message(r, i)
}

func (c *callLister) nodes(nodes []*view.Node) error {
	for _, n := range nodes {
		ok := c.selects(n)
		c.forget(n)
		if !ok {
			continue
		}
		var around []view.Row
		if n.Call != nil {
			c.shown++
			around = c.stderr.take(n.Span(c.ended()))
		}
		if err := c.out.node(n, around); err != nil {
			return err
		}
		if err := c.printed(); err != nil {
			return err
		}
	}
	return nil
}

// selects reports whether a call, or one nested in it, is selected.
func (c *callLister) selects(n *view.Node) bool {
	if n.Call == nil {
		return true // selected by keep
	}
	from, to := n.Span(c.ended())
	lastSeq := uint64(math.MaxUint64)
	if n.Call.Status.Settled() {
		lastSeq = n.Call.Answer.Seq
	}
	if c.span.overlaps(n.Call.Ref.Seq, from, to, lastSeq) && (len(c.sel.ranges) == 0 || c.named[n.Call.Ref]) &&
		(c.sel.session == 0 || n.Session() == c.sel.session) {
		if c.sel.filter == nil {
			return true
		}
		it := n.Item(c.ended())
		if c.sel.filter.Match(&it, n.Found()) {
			return true
		}
	}
	return slices.ContainsFunc(n.Kids, c.selects)
}

func (c *callLister) forget(n *view.Node) {
	if n.Call != nil && len(c.named) > 0 {
		delete(c.named, n.Call.Ref)
		for _, kid := range n.Kids {
			c.forget(kid)
		}
	}
}
