package diff

import (
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap/session"
)

// A collector makes a report of findings.
type collector struct {
	r     *Report
	opt   *Options
	noise *noise
	// told are the places in Report.Differences of findings that are the same.
	told   map[uint64]int
	kept   [Classes]int
	groups map[uint64]*Group
}

// found takes a finding.
func (c *collector) found(f *finding) {
	if ignored(c.opt.Ignore, f) {
		c.r.Ignored++
		return
	}
	if c.noise != nil && c.noise.has(f) {
		c.r.Noise++
		return
	}
	var top *pair
	for p := f.at.p; p != nil; p = p.up {
		p.told, p.worst = true, max(p.worst, f.class)
		top = p
	}
	c.r.Counts[f.class]++
	if f.at.p != nil {
		c.group(f.at.top()).Counts[f.class]++
	}
	key := f.identity()
	i, again := c.told[key]
	switch {
	case again:
		c.r.Differences[i].again(f)
	case c.kept[f.class] == c.opt.Most:
		c.r.Left[f.class]++
		return
	default:
		i = len(c.r.Differences)
		c.kept[f.class]++
		c.told[key] = i
		c.r.Differences = append(c.r.Differences, f.difference())
	}
	if top != nil && c.opt.Rows > 0 {
		top.note(i)
	}
}

// identity is equal for findings that are told as one.
func (f *finding) identity() uint64 {
	h := jsontree.Mix(uint64(f.class)<<16|uint64(f.kind)<<8|uint64(f.at.in), jsontree.HashString(f.reason))
	if f.same {
		last := ""
		if len(f.path) > 0 {
			last = f.path[len(f.path)-1].Name
		}
		return jsontree.Mix(h, jsontree.HashString(last+"\x00"+f.what))
	}
	h = jsontree.Mix(h, f.place())
	h = jsontree.Mix(h, jsontree.HashString(f.what+"\x00"+f.old+"\x00"+f.new))
	return jsontree.Mix(jsontree.Mix(h, f.a.Hash()), f.b.Hash()+uint64(f.to))
}

// again counts a finding that has been told.
func (d *Difference) again(f *finding) {
	d.Times++
	if len(d.Also) < MaxAlso {
		if a, b := topRefs(f.at.p); a != d.CallA || b != d.CallB {
			d.Also = append(d.Also, CallPair{a, b})
		}
	}
}

// topRefs names the outermost calls of a pair.
func topRefs(p *pair) (a, b session.Ref) {
	if p == nil {
		return a, b
	}
	for p.up != nil {
		p = p.up
	}
	return p.refs()
}

// difference writes a finding.
func (f *finding) difference() Difference {
	call := f.at.call()
	d := Difference{
		Class: f.class, Kind: f.kind, In: f.at.in, By: f.at.by, Method: call.method, Name: call.name, Subject: call.subject, Message: f.at.message,
		A: f.at.refA, B: f.at.refB, What: f.what, Reason: f.reason, Page: f.page, Times: 1, names: f.names,
	}
	if len(f.path) > 0 {
		d.Path = f.path.String()
	}
	d.CallA, d.CallB = topRefs(f.at.p)
	d.Old, d.OldSize = excerpt(f.a)
	d.New, d.NewSize = excerpt(f.b)
	if f.old != "" || f.new != "" {
		d.Old, d.New, d.OldSize, d.NewSize = quoted(f.old), quoted(f.new), len(f.old), len(f.new)
	}
	if f.kind == Moved {
		d.What = movedText(f)
	}
	if f.slow != nil {
		d.OldTime, d.NewTime = f.slow.a, f.slow.b
	}
	if f.kind == Changed && f.a.Kind() == jsontree.String && f.b.Kind() == jsontree.String {
		d.Rows, d.MoreRows = textRows(f.a.Text(), f.b.Text())
	}
	return d
}

const (
	// rowText is how long a text has to be for its rows to be told.
	rowText = 60
	// rowsAround and maxRows are for jsontree.Lines.
	rowsAround = 2
	maxRows    = 40
)

func textRows(a, b string) ([]jsontree.Row, int) {
	if max(len(a), len(b)) < rowText && !hasLines(a) && !hasLines(b) {
		return nil, 0
	}
	return jsontree.Lines(a, b, rowsAround, maxRows)
}

func hasLines(s string) bool {
	for i := range len(s) {
		if s[i] == '\n' {
			return true
		}
	}
	return false
}

func groupKey(u *unit) uint64 {
	return jsontree.Mix(jsontree.HashString(u.method), jsontree.HashString(u.name))
}

// group finds the group of a call.
func (c *collector) group(u *unit) *Group {
	key := groupKey(u)
	g := c.groups[key]
	if g == nil {
		g = &Group{Method: u.method, Name: u.name}
		if len(c.r.Groups) >= MaxGroups-1 {
			if key = 0; c.groups[0] != nil {
				return c.groups[0]
			}
			g = &Group{Others: true}
		}
		c.groups[key] = g
		c.r.Groups = append(c.r.Groups, g)
	}
	return g
}

// calls counts the pairs of calls when all has been compared.
func (c *collector) calls(pairs []*pair) {
	for _, p := range pairs {
		if p.elsewhere {
			continue
		}
		g := c.group(p.one())
		c.r.Calls++
		g.Calls++
		switch {
		case p.b == nil:
			g.Missing++
		case p.a == nil:
			g.Extra++
		case !p.told:
			c.r.Same++
			g.Same++
		case p.worst < Behaviour:
			c.r.Alike++
			g.Alike++
		}
	}
}

// times notes how long the calls of each group took.
func (c *collector) times(t *timing) {
	for _, g := range t.order {
		to := c.groups[groupKey(g.pairs[0].a)]
		if to == nil || to.Others || to.Calls == 0 { // a handshake is none of the calls
			continue
		}
		to.Timed = len(g.pairs)
		to.MedianA, to.MedianB = g.medians()
	}
}
