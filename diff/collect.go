package diff

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
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

// What of the calls side by side is bounded.
const (
	// DefaultRows is a good number for [Options.Rows].
	DefaultRows = 5000
	// MaxInRow is how many differences a [CallRow] names.
	MaxInRow = 50
	// foldFrom is how many calls in a row have to be the same for one row to
	// stand for them, where not all have one of their own.
	foldFrom = 4
)

// A CallRow is a call of both sides, or of one, in a list of the calls side by
// side.
type CallRow struct {
	// A and B are the call on each side, nil where there is none.
	A *CallSide `json:"a,omitempty"`
	B *CallSide `json:"b,omitempty"`
	// Same is the number of calls without a difference that the row stands for. If it is
	// not 0, nothing else is set.
	Same uint64 `json:"folded,omitempty"`
	// Class is the name of the highest class of a difference, "" if there is none.
	Class string `json:"class"`
	// Differences are indexes in [Report.Differences], at most [MaxInRow]. A difference
	// that occurs in several calls is listed in each.
	Differences []int `json:"differences,omitempty"`
}

// A CallSide is a call on one side of a [CallRow].
type CallSide struct {
	// Ref names its first request, Lane is the name of the request's lane.
	Ref  session.Ref `json:"ref"`
	Lane string      `json:"lane"`
	// Method and Subject are as in [Difference], Status is the name of a
	// [session.CallStatus].
	Method  string `json:"method"`
	Subject string `json:"subject"`
	Status  string `json:"status"`
	// At is the time of the request since the start of the recording. Took is the
	// duration of the call, without the time in which the responding side waited for the
	// other; 0 if there was no response.
	At   time.Duration `json:"at_ns"`
	Took time.Duration `json:"took_ns"`
}

// rows lists the calls side by side. Where there are more than most, calls that
// are the same stand in one row. It returns how many calls are left out.
func rows(pairs []*pair, most int) (all []CallRow, left uint64) {
	fold := len(pairs) > most
	for i := 0; i < len(pairs); i++ {
		switch n := 0; {
		case pairs[i].elsewhere:
		case len(all) == most:
			left++
		default:
			if fold {
				n = sameRun(pairs[i:])
			}
			if n < foldFrom {
				all = append(all, pairs[i].row())
				continue
			}
			all = append(all, CallRow{Same: uint64(n)})
			i += n - 1
		}
	}
	return all, left
}

// sameRun is how many of the first pairs do not differ.
func sameRun(pairs []*pair) int {
	for n, p := range pairs {
		if p.told || p.elsewhere {
			return n
		}
	}
	return len(pairs)
}

func (p *pair) row() CallRow {
	r := CallRow{A: p.a.sided(), B: p.b.sided(), Differences: p.differences}
	if p.told {
		r.Class = p.worst.String()
	}
	return r
}

func (u *unit) sided() *CallSide {
	if u == nil {
		return nil
	}
	s := &CallSide{Ref: u.ref, Lane: u.lane.String(), Method: u.method, Subject: u.subject, Status: u.status.String(), At: u.at}
	if u.answered() {
		s.Took = u.own
	}
	return s
}

// note remembers that a difference, by its index in the report, is in a call.
func (p *pair) note(i int) {
	n := len(p.differences)
	if n < MaxInRow && (n == 0 || p.differences[n-1] != i) {
		p.differences = append(p.differences, i)
	}
}

// excerpt is a value as JSON without the white space between its parts, cut at
// MaxExcerpt bytes, and how long it is as it stands.
func excerpt(v jsontree.Value) (text string, size int) {
	raw := v.Raw()
	if raw == nil {
		return "", 0
	}
	out := make([]byte, 0, min(len(raw), MaxExcerpt+utf8.UTFMax))
	inString, escaped := false, false
	for _, c := range raw {
		if !inString && (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
			continue
		}
		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		}
		if len(out) >= MaxExcerpt {
			return cutText(out), len(raw)
		}
		out = append(out, c)
	}
	return string(out), len(raw)
}

// cutText marks a text as cut, and leaves no half of a character or an escape.
func cutText(out []byte) string {
	for k := 0; k < utf8.UTFMax && len(out) > 0; k++ {
		if r, n := utf8.DecodeLastRune(out); r != utf8.RuneError || n != 1 {
			break
		}
		out = out[:len(out)-1]
	}
	for k := 1; k <= 6 && k <= len(out); k++ {
		if out[len(out)-k] == '\\' {
			out = out[:len(out)-k]
			break
		}
	}
	return string(out) + "…"
}

// movedText says where an element went.
func movedText(f *finding) string {
	from := f.path[len(f.path)-1].Index
	return "moved from place " + strconv.Itoa(from) + " to " + strconv.Itoa(f.to)
}

// oneLine makes a line of a text for a sentence.
func oneLine(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
