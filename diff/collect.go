package diff

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// A collector builds a report from findings.
type collector struct {
	r     *Report
	opt   *Options
	noise *noise
	// index has indexes in Report.Differences, by identity.
	index  map[uint64]int
	kept   [Classes]int
	groups map[uint64]*Group
}

// found adds a finding.
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
		p.differs, p.worst = true, max(p.worst, f.class)
		top = p
	}
	c.r.Counts[f.class]++
	if f.at.p != nil {
		c.group(f.at.top()).Counts[f.class]++
	}
	key := f.identity()
	i, known := c.index[key]
	switch {
	case known:
		c.r.Differences[i].repeat(f)
	case c.kept[f.class] == c.opt.Most:
		c.r.Left[f.class]++
		return
	default:
		i = len(c.r.Differences)
		c.kept[f.class]++
		c.index[key] = i
		c.r.Differences = append(c.r.Differences, f.difference())
	}
	if top != nil && c.opt.Rows > 0 {
		if n := len(top.differences); n < MaxInRow && (n == 0 || top.differences[n-1] != i) {
			top.differences = append(top.differences, i)
		}
	}
}

// identity returns the same value for findings that are reported as one difference.
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

// repeat counts another occurrence of the difference.
func (d *Difference) repeat(f *finding) {
	d.Times++
	if len(d.Also) < MaxAlso {
		if a, b := topRefs(f.at.p); a != d.CallA || b != d.CallB {
			d.Also = append(d.Also, CallPair{a, b})
		}
	}
}

// topRefs returns the first requests of the outermost calls of a pair.
func topRefs(p *pair) (a, b session.Ref) {
	if p == nil {
		return a, b
	}
	for p.up != nil {
		p = p.up
	}
	return p.refs()
}

// difference converts a finding to a Difference.
func (f *finding) difference() Difference {
	call := f.at.call()
	d := Difference{
		Class: f.class, Kind: f.kind, In: f.at.in, By: "server", Method: call.method, Name: call.name, Subject: call.subject, Message: f.at.message,
		A: f.at.refA, B: f.at.refB, What: f.what, Reason: f.reason, Page: f.page, Times: 1, names: f.names,
	}
	if f.at.by == tap.ToServer {
		d.By = "client"
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
		d.What = fmt.Sprintf("moved from place %d to %d", f.path[len(f.path)-1].Index, f.to)
	}
	if f.slow != nil {
		d.OldTime, d.NewTime = f.slow.a, f.slow.b
	}
	a, b := f.a.Text(), f.b.Text()
	long := max(len(a), len(b)) >= rowText || strings.Contains(a, "\n") || strings.Contains(b, "\n")
	if long && f.kind == Changed && f.a.Kind() == jsontree.String && f.b.Kind() == jsontree.String {
		d.Rows, d.MoreRows = jsontree.Lines(a, b, rowsAround, maxRows)
	}
	return d
}

const (
	// rowText is the minimum length of texts that are compared line by line.
	rowText = 60
	// rowsAround and maxRows are arguments of jsontree.Lines.
	rowsAround = 2
	maxRows    = 40
)

func groupKey(u *call) uint64 {
	return jsontree.Mix(jsontree.HashString(u.method), jsontree.HashString(u.name))
}

// group returns the group of a call.
func (c *collector) group(u *call) *Group {
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

// calls counts the pairs of calls. It is called after the comparison.
func (c *collector) calls(pairs []*pair) {
	for _, p := range pairs {
		if p.nested {
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
		case !p.differs:
			c.r.Same++
			g.Same++
		case p.worst < Behaviour:
			c.r.Alike++
			g.Alike++
		}
	}
}

// times adds the durations of the calls of each group.
func (c *collector) times(t *timing) {
	for _, g := range t.order {
		to := c.groups[groupKey(g.pairs[0].a)]
		if to == nil || to.Others || to.Calls == 0 { // a handshake does not count as a call
			continue
		}
		to.Timed = len(g.pairs)
		to.MedianA, to.MedianB = g.medians()
	}
}

// Limits of the side-by-side list of calls.
const (
	// DefaultRows is a reasonable value for [Options.Rows].
	DefaultRows = 5000
	// MaxInRow is the maximum number of differences that a [CallRow] lists.
	MaxInRow = 50
	// foldFrom is the minimum number of consecutive equal calls that are folded into one
	// row if there are too many rows.
	foldFrom = 4
)

// A CallRow is a row in the side-by-side list of calls: a call on both sides, or on one.
type CallRow struct {
	// A and B are the call on each side, nil for none.
	A *CallSide `json:"a,omitempty"`
	B *CallSide `json:"b,omitempty"`
	// Same is the number of calls without a difference that are folded into this row. If it is
	// not 0, nothing else is set.
	Same uint64 `json:"folded,omitempty"`
	// Class is the name of the highest class of difference, "" for none.
	Class string `json:"class"`
	// Differences are indexes in [Report.Differences], at most [MaxInRow] of them. A difference
	// that occurs in several calls is listed in each.
	Differences []int `json:"differences,omitempty"`
}

// A CallSide is a call on one side of a [CallRow].
type CallSide struct {
	// Ref is its first request, Lane the name of the request's lane.
	Ref  session.Ref `json:"ref"`
	Lane string      `json:"lane"`
	// Method and Subject are as in [Difference]. Status is the name of a
	// [session.CallStatus], State what lists say about it.
	Method  string        `json:"method"`
	Subject string        `json:"subject"`
	Status  string        `json:"status"`
	State   session.State `json:"state"`
	// At is the time of the request since the start of the recording. Took is the duration of
	// the call, excluding the time in which the responding side waited for the other; 0 if there
	// was no response.
	At   time.Duration `json:"at_ns"`
	Took time.Duration `json:"took_ns"`
}

// rows lists the calls side by side. If there are more than most, consecutive equal calls are
// folded into one row. left is the number of calls that were omitted.
func rows(pairs []*pair, most int) (all []CallRow, left uint64) {
	for i := 0; i < len(pairs); i++ {
		n := 0
		if len(pairs) > most {
			for i+n < len(pairs) && !pairs[i+n].differs && !pairs[i+n].nested {
				n++
			}
		}
		switch {
		case pairs[i].nested:
		case len(all) == most:
			left++
		case n >= foldFrom:
			all = append(all, CallRow{Same: uint64(n)})
			i += n - 1
		default:
			all = append(all, pairs[i].row())
		}
	}
	return all, left
}

func (p *pair) row() CallRow {
	r := CallRow{A: p.a.sided(), B: p.b.sided(), Differences: p.differences}
	if p.differs {
		r.Class = p.worst.String()
	}
	return r
}

func (u *call) sided() *CallSide {
	if u == nil {
		return nil
	}
	s := &CallSide{Ref: u.ref, Lane: u.lane.String(), Method: u.method, Subject: u.subject, Status: u.status.String(), State: u.state, At: u.at}
	if u.answered() {
		s.Took = u.own
	}
	return s
}

// excerpt returns a value as JSON without white space between tokens, cut to MaxExcerpt bytes,
// and the full length of the value.
func excerpt(v jsontree.Value) (text string, size int) {
	raw, inString := v.Raw(), false
	var out []byte
	for i := 0; i < len(raw) && len(out) <= MaxExcerpt; i++ {
		switch c := raw[i]; {
		case c == '\\': // in a string
			out = append(out, c, raw[i+1])
			i++
		case inString || c > ' ':
			inString = inString != (c == '"')
			out = append(out, c)
		}
	}
	if len(out) <= MaxExcerpt {
		return string(out), len(raw)
	}
	out = out[:MaxExcerpt]
	for range utf8.UTFMax - 1 { // drop a partial character
		if r, n := utf8.DecodeLastRune(out); r == utf8.RuneError && n == 1 {
			out = out[:len(out)-1]
		}
	}
	for k := 1; k <= len(`\u12345`) && k <= len(out); k++ { // drop a partial escape
		if out[len(out)-k] == '\\' {
			out = out[:len(out)-k]
			break
		}
	}
	return string(out) + "…", len(raw)
}

// oneLine joins the lines of a text and cuts it for use in a sentence.
func oneLine(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
