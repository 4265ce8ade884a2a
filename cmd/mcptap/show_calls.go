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

// A callLister gathers the rows of a lister into calls.
type callLister struct {
	*lister
	out     callPrinter
	outline *view.Outline
	stderr  stderrLines
	begun   uint64 // how many calls there are
	// named are the calls that have one of the frames that were named, and open
	// those that began before the end of the span.
	named, open map[session.Ref]bool
	finished    time.Duration // how long the recording ran, once that is known
	live        bool          // what was there when it was opened has been read
}

func newCallLister(l *lister, a *app, id string) *callLister {
	c := &callLister{lister: l, outline: view.NewOutline(), named: map[session.Ref]bool{}, open: map[session.Ref]bool{}}
	c.outline.Answers = l.answers
	c.outline.Keep = c.keep
	c.outline.Stderr = l.o.stderr && !l.want.picks()
	c.outline.Flat = l.o.json
	if l.want.needsPayload() {
		c.outline.Search = l.want.filter.Search
	}
	if l.o.json {
		c.out = &jsonCalls{w: l.w, ended: c.ended, recording: id}
		return c
	}
	rows := newCallRows(l.w, a.palette(), a.width(), l.info, l.o.tree)
	if l.label != "" {
		rows.among(l.label, clock(l.info.Header.Start, a.zone))
	}
	rows.ended, rows.follow = c.ended, l.o.follow
	c.out = rows
	return c
}

// ended is how long the recording ran, as far as it was read.
func (c *callLister) ended() time.Duration { return max(c.finished, c.last) }

// row takes the next row. It reports whether no more are needed: beyond the end
// of the span only what is still open matters.
func (c *callLister) row(r *session.Entry) (enough bool, err error) {
	f := r.Frame
	if f.Lane == tap.Stderr && c.o.stderr && c.want.picks() {
		c.stderr.add(view.NewRow(r))
	}
	after := c.span.after(f)
	for i := range r.Parts {
		p := &r.Parts[i]
		if p.Role == session.RoleRequest && (c.want.session == 0 || r.Session == c.want.session) {
			c.begun++
			if !after {
				c.open[p.Call] = true
			}
		}
		if len(c.want.ranges) > 0 && p.Call != (session.Ref{}) && c.want.inRanges(f.Seq) {
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

// changes prints what a live frame changes: calls that begin, at first all that are open,
// and the messages of others.
func (c *callLister) changes(r *session.Entry, first bool) error {
	if !first && len(r.Parts) == 0 {
		return nil
	}
	for _, call := range c.v.tracker.Open() {
		n := c.outline.Open(call)
		if n == nil || !c.wants(n) {
			continue
		}
		if first || call.Ref.Seq == r.Frame.Seq {
			if err := errors.Join(c.out.begun(n), c.printed()); err != nil {
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

// finish prints the calls that are not over.
func (c *callLister) finish() error {
	info, err := c.rec.Info()
	if err != nil {
		return err
	}
	asOf(&info, c.now())
	if info.Status != store.Live || !c.partial {
		c.finished = info.Duration
	}
	return c.nodes(c.outline.End(c.v.tracker.Open()))
}

// keep decides on what belongs to no call.
func (c *callLister) keep(r *session.Entry, i int) bool {
	return c.span.holds(r.Frame) && c.want.message(r, i)
}

func (c *callLister) nodes(nodes []*view.Node) error {
	for _, n := range nodes {
		ok := c.wants(n)
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

// wants reports whether a call is picked, or one within it.
func (c *callLister) wants(n *view.Node) bool {
	if n.Call == nil {
		return true // selected by keep
	}
	from, to := n.Span(c.ended())
	lastSeq := uint64(math.MaxUint64)
	if n.Call.Status.Settled() {
		lastSeq = n.Call.Answer.Seq
	}
	if c.span.overlaps(n.Call.Ref.Seq, from, to, lastSeq) && (len(c.want.ranges) == 0 || c.named[n.Call.Ref]) &&
		(c.want.session == 0 || n.Session() == c.want.session) {
		if c.want.filter == nil {
			return true
		}
		it := n.Item(c.ended())
		if c.want.filter.Match(&it, n.Found()) {
			return true
		}
	}
	return slices.ContainsFunc(n.Kids, c.wants)
}

func (c *callLister) forget(n *view.Node) {
	if n.Call != nil && len(c.named) > 0 {
		delete(c.named, n.Call.Ref)
		for _, kid := range n.Kids {
			c.forget(kid)
		}
	}
}
