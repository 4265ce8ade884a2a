package main

import (
	"bufio"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A callPrinter prints calls as they come, and what they add up to.
type callPrinter interface {
	// node prints a call, or what is none, with what the server wrote to its
	// standard error meanwhile.
	node(n *view.Node, stderr []view.Row) error
	// begun prints a call that is open, and part a message of one.
	begun(n *view.Node) error
	part(l *view.Row) error
	end(s *summary) error
	untitled() // see rowPrinter
}

// callRows prints calls for a person: a line a call, its parts below it.
type callRows struct {
	w       *bufio.Writer
	paint   palette
	width   int
	prefix  string
	digits  int
	offset  int
	when    func(time.Duration) string
	live    bool // the recording is
	follow  bool
	ended   func() time.Duration // how long the recording ran
	tree    bool
	has     [callColumns]bool
	started bool
	again   repeats
	// told are the messages of open calls that were printed.
	told map[session.Ref]bool
}

// The columns that may be left out, the first to go first. In place of the last
// there is still the sign.
const (
	columnParts = iota
	columnCallTime
	columnCallTook
	columnStatus
	callColumns
)

const (
	partsWidth = 5
	tookWidth  = latencyWidth + 1 // with the >
	// leastCall is how much room the last column has before others go, leastBeside
	// before even the word for how a call stands does.
	leastCall, leastBeside = 20, 12
	// maxIndentedCalls is how many levels of calls are indented.
	maxIndentedCalls = 12
)

func newCallRows(w *bufio.Writer, paint palette, width int, info store.Info, tree bool) *callRows {
	t := &callRows{
		w: w, paint: paint, width: width, tree: tree, live: info.Status == store.Live,
		digits: len(strconv.FormatUint(max(info.Frames, 999), 10)),
		offset: max(len("0.000s"), len(formatOffset(info.Duration))),
		ended:  func() time.Duration { return info.Duration }, when: formatOffset,
	}
	if tree {
		t.offset++ // times are relative, with a sign
	}
	t.choose()
	return t
}

// among is what it is of [textRows].
func (t *callRows) among(label string, when func(time.Duration) string) {
	t.prefix, t.when = labelColumn(label, t.width), when
	t.digits, t.offset = max(t.digits, amongDigits), max(t.offset, len(clockLayout))
	t.choose()
}

func (t *callRows) untitled() { t.started = true }

func (t *callRows) choose() {
	t.has = [callColumns]bool{columnParts: !t.tree && (t.width == 0 || t.width >= wide), columnCallTime: true, columnCallTook: !t.tree, columnStatus: !t.tree}
	for i := 0; i < columnStatus && t.width > 0 && t.width-t.fixed() < leastCall; i++ {
		t.has[i] = false
	}
	if t.width > 0 && t.width-t.fixed() < leastBeside {
		t.has[columnStatus] = false
	}
}

// fixed is the width of all that stands before the last column.
func (t *callRows) fixed() int {
	n := columns.StringWidth(t.prefix) + t.digits + 3 // with the arrow
	for i, width := range [callColumns]int{partsWidth + 1, t.offset + 1, tookWidth + 1, markWidth + 1} {
		switch {
		case t.has[i]:
			n += width
		case i == columnStatus && !t.tree:
			n += 2
		}
	}
	if t.tree {
		return n + 1
	}
	return n + 2
}

// room is how much of the last column is left behind an indent, 0 for any.
func (t *callRows) room(indent string) int {
	if t.width == 0 {
		return 0
	}
	return max(t.width-t.fixed()-columns.StringWidth(indent), 1)
}

// callCells are the texts of one line, with their styles.
type callCells struct {
	number, offset, arrow string
	mark                  callMark
	took, parts           string
	title                 title
	lane                  tap.Lane
}

// node implements [callPrinter].
func (t *callRows) node(n *view.Node, stderr []view.Row) error {
	if n.Call == nil {
		if err := t.begin(); err != nil {
			return err
		}
		return t.loose(&n.Row)
	}
	if err := errors.Join(t.begin(), t.flush()); err != nil {
		return err
	}
	if t.tree {
		return t.branch(n, stderr)
	}
	return t.call(n, 0, stderr)
}

// begin prints the titles of the columns, once.
func (t *callRows) begin() error {
	if t.started {
		return nil
	}
	t.started = true
	c := callCells{number: "NO", offset: "TIME", arrow: " ", mark: callMark{word: "STATUS"}, took: "TOOK", parts: "PARTS", title: plainTitle("CALL", dim)}
	c.mark.style = dim
	return t.write(c)
}

// begun implements [callPrinter].
func (t *callRows) begun(n *view.Node) error {
	return errors.Join(t.begin(), t.flush(), t.write(t.line(n, 0)))
}

// part implements [callPrinter].
func (t *callRows) part(l *view.Row) error {
	if t.told == nil {
		t.told = map[session.Ref]bool{}
	}
	t.told[l.Part.Message] = true
	c := looseCells(l)
	c.offset, c.title.method = t.when(l.Part.At), ""
	return errors.Join(t.begin(), t.flush(), t.write(c))
}

// line returns the line of a call at a nesting depth.
func (t *callRows) line(n *view.Node, depth int) callCells {
	c := n.Call
	cells := callCells{
		number: strconv.FormatUint(c.Ref.Seq, 10), offset: t.when(c.At), arrow: arrows[c.Lane], lane: c.Lane,
		mark: markOf(c, t.live), took: callTook(c, t.ended()), title: callTitle(n, depth > 0),
	}
	cells.title.indent = indented(depth)
	if k := n.Further(); k > 0 {
		cells.parts = strconv.FormatUint(k, 10)
	}
	return cells
}

// call prints a call at a nesting depth, and what belongs to it.
func (t *callRows) call(n *view.Node, depth int, stderr []view.Row) error {
	if err := t.write(t.line(n, depth)); err != nil {
		return err
	}
	if err := t.delta(n.Delta, indented(depth+1)); err != nil {
		return err
	}
	return t.below(n, depth, stderr)
}

// below prints what stands below a call.
func (t *callRows) below(n *view.Node, depth int, stderr []view.Row) error {
	for _, e := range withStderr(n.Entries(), stderr) {
		var err error
		switch {
		case e.Kid != nil:
			err = t.call(e.Kid, depth+1, nil)
		case e.Asked != nil:
			err = t.write(callCells{title: plainTitle(indented(depth+2)+askedWords(e.Asked), plain), arrow: " "})
		case e.Row == nil:
			err = t.write(callCells{title: plainTitle(indented(depth+1)+skippedWords(&e), dim), arrow: " "})
		case t.told[e.Row.Part.Message]:
			delete(t.told, e.Row.Part.Message)
		case e.Row.Part.Role != session.RoleResponse: // which is in the call's own line
			err = t.message(e.Row, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withStderr puts lines of the server's stderr where they came.
func withStderr(entries []view.Entry, stderr []view.Row) (all []view.Entry) {
	if len(stderr) == 0 {
		return entries
	}
	for i := range entries {
		for len(stderr) > 0 && stderr[0].Part.Message.Seq < entries[i].Seq() {
			all = append(all, view.Entry{Row: &stderr[0]})
			stderr = stderr[1:]
		}
		all = append(all, entries[i])
	}
	for i := range stderr {
		all = append(all, view.Entry{Row: &stderr[i]})
	}
	return all
}

// message prints a message below a call, or a line of the server's stderr.
func (t *callRows) message(l *view.Row, depth int) error {
	c := partCells(l)
	c.offset = t.when(l.Part.At)
	c.title.indent = indented(depth)
	return t.write(c)
}

// partCells are those of a message below a call, but for its time.
func partCells(l *view.Row) callCells {
	p := &l.Part
	c := callCells{number: strconv.FormatUint(p.Message.Seq, 10), arrow: arrows[p.Lane], lane: p.Lane}
	if p.Lane == tap.Stderr {
		c.title = plainTitle(escape(l.About), dim)
		return c
	}
	c.title = partTitle(l)
	if p.Kind == jsonrpc.Response || p.Kind == jsonrpc.ErrorResponse {
		c.took = formatDuration(p.Latency)
	}
	return c
}

func indented(depth int) string {
	return strings.Repeat("  ", min(depth, maxIndentedCalls))
}

// delta prints what changed from one answer to the next.
func (t *callRows) delta(d *view.Delta, indent string) error {
	for _, text := range deltaWords(d, t.room(indent)) {
		if err := t.write(callCells{title: plainTitle(indent+text, plain), arrow: " "}); err != nil {
			return err
		}
	}
	return nil
}

// write lays out one line: it cuts and pads, then paints, then writes.
func (t *callRows) write(c callCells) error {
	if t.width > 0 {
		c.title = c.title.fit(max(t.width-t.fixed(), 1))
	}
	p := t.paint
	var b strings.Builder
	b.WriteString(t.prefix + p.paint(pad(c.number, t.digits, true), dim) + " ")
	if t.has[columnCallTime] {
		b.WriteString(" " + p.paint(pad(c.offset, t.offset, true), dim))
	}
	b.WriteString(" " + p.paint(c.arrow, laneStyles[c.lane]))
	switch {
	case t.has[columnStatus]:
		b.WriteString(" " + p.paint(pad(strings.TrimSpace(c.mark.sign+" "+c.mark.word), markWidth, false), c.mark.style))
	case !t.tree:
		b.WriteString(" " + p.paint(pad(c.mark.sign, 1, false), c.mark.style))
	}
	if t.has[columnCallTook] {
		b.WriteString(" " + p.paint(pad(c.took, tookWidth, true), dim))
	}
	if t.has[columnParts] {
		b.WriteString(" " + p.paint(pad(c.parts, partsWidth, true), dim))
	}
	if t.tree {
		b.WriteString(" ")
	} else {
		b.WriteString("  ")
	}
	b.WriteString(c.title.paint(p))
	_, err := t.w.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	return err
}

// end implements [callPrinter].
func (t *callRows) end(s *summary) error {
	if err := t.flush(); err != nil {
		return err
	}
	l := lines{w: t.w}
	if t.started && s.label == "" {
		l.printf("\n")
	}
	s.print(&l, t.paint, t.width)
	return l.err
}

// branch prints a call and all that belongs to it as a tree. Times below it are
// relative to it.
func (t *callRows) branch(n *view.Node, stderr []view.Row) error {
	c := t.trunk(n, false)
	c.offset = t.when(n.Call.At)
	if err := t.write(c); err != nil {
		return err
	}
	return t.twigs(n, "", n.Call.At, 1, stderr)
}

// trunk is the line of a call.
func (t *callRows) trunk(n *view.Node, nested bool) callCells {
	c, mark := n.Call, markOf(n.Call, t.live)
	cells := callCells{number: strconv.FormatUint(c.Ref.Seq, 10), arrow: arrows[c.Lane], lane: c.Lane, title: callTitle(n, nested)}
	cells.title.result = "" // it stands below
	cells.title.fault = joinWords("  ", mark.sign+" "+mark.word+" "+callTook(c, t.ended()), cells.title.fault)
	cells.title.faultStyle = mark.style
	return cells
}

// twigs prints what stands below a call, with guides.
func (t *callRows) twigs(n *view.Node, guide string, from time.Duration, depth int, stderr []view.Row) error {
	entries := withStderr(n.Entries(), stderr)
	changes := deltaWords(n.Delta, t.room(guide+"└─ "))
	for i := range entries {
		e := &entries[i]
		knee, below := guide+"├─ ", guide+"│  "
		if i == len(entries)-1 && len(changes) == 0 {
			knee, below = guide+"└─ ", guide+"   "
		}
		if depth >= maxIndentedCalls { // it gets no deeper
			below = guide
		}
		var c callCells
		switch {
		case e.Kid != nil:
			c = t.trunk(e.Kid, true)
			c.offset = "+" + formatOffset(e.Kid.Call.At-from)
		case e.Row != nil:
			c = partCells(e.Row)
			c.offset = "+" + formatOffset(e.Row.Part.At-from)
			if c.took != "" {
				c.title.fault = joinWords("  ", "after "+c.took, c.title.fault)
				if !e.Row.Failed {
					c.title.faultStyle = dim
				}
			}
		case e.Asked != nil:
			c = callCells{arrow: " ", title: plainTitle(askedWords(e.Asked), plain)}
		default:
			c = callCells{arrow: " ", title: plainTitle(skippedWords(e), dim)}
		}
		c.title.indent = knee
		if err := t.write(c); err != nil {
			return err
		}
		if e.Kid != nil {
			if err := t.twigs(e.Kid, below, from, depth+1, nil); err != nil {
				return err
			}
		}
	}
	for i, text := range changes {
		knee := guide + "└─ "
		if i > 0 {
			knee = guide + strings.Repeat(" ", 3)
		}
		if err := t.write(callCells{arrow: " ", title: plainTitle(knee+text, plain)}); err != nil {
			return err
		}
	}
	return nil
}

// maxAlike is how many notifications of one kind in a row that belong to no call
// are printed before the rest of them is only counted.
const maxAlike = 3

// repeats counts lines that are alike.
type repeats struct {
	method string
	lane   tap.Lane
	n      uint64
}

// loose prints what belongs to no call. Nobody waits for the end of a row of
// notifications while more are coming.
func (t *callRows) loose(l *view.Row) error {
	if l.Part.Kind == jsonrpc.Notification && !t.follow {
		if t.again.n > 0 && t.again.method == l.Method && t.again.lane == l.Part.Lane {
			if t.again.n++; t.again.n > maxAlike {
				return nil
			}
		} else {
			if err := t.flush(); err != nil {
				return err
			}
			t.again = repeats{strings.Clone(l.Method), l.Part.Lane, 1}
		}
	} else if err := t.flush(); err != nil {
		return err
	}
	c := looseCells(l)
	c.offset = t.when(l.Part.At)
	return t.write(c)
}

// flush tells how many notifications were not printed.
func (t *callRows) flush() error {
	again := t.again
	t.again = repeats{}
	if again.n <= maxAlike {
		return nil
	}
	return t.write(callCells{
		arrow: arrows[again.lane], lane: again.lane, title: plainTitle(escape(fmt.Sprintf("… %d more %s", again.n-maxAlike, again.method)), dim),
	})
}

// looseCells are those of a line that belongs to no call, but for its time.
func looseCells(l *view.Row) callCells {
	p := &l.Part
	c := callCells{number: strconv.FormatUint(p.Message.Seq, 10), arrow: arrows[p.Lane], lane: p.Lane}
	c.title = newTitle(l.Title())
	c.title.fault = joinWords(", ", fault(l), odd(l))
	switch {
	case p.Lane == tap.Stderr || p.Kind == jsonrpc.Notification || p.Lane == tap.Lifecycle && l.Kind == tap.EventResponse:
	default:
		c.title.name = strings.TrimSpace(rowKind(l) + " " + c.title.name)
	}
	if p.Lane == tap.Lifecycle || p.Lane == tap.Stderr {
		c.title.style = dim
	}
	if l.Failed {
		c.mark = callMark{"✗", "", boldRed}
	}
	return c
}
