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

// A callPrinter prints calls as they come, and a summary.
type callPrinter interface {
	// node prints a call, or a row that belongs to no call, with what the server wrote
	// to its standard error meanwhile.
	node(n *view.Node, stderr []view.Row) error
	// open prints a call that has not ended, and part a message of one.
	open(n *view.Node) error
	part(l *view.Row) error
	end(s *summary) error
	skipHeader() // see rowPrinter
}

// callRows prints calls for a person: a line per call, its parts below it.
type callRows struct {
	rowTable
	digits   int // of the numbers
	offset   int // width of the times
	when     func(time.Duration) string
	live     bool // the recording is live
	follow   bool
	ended    func() time.Duration // how long the recording ran
	tree     bool
	repeated repeats
	// printed holds the messages of open calls that are printed.
	printed map[session.Ref]bool
}

const (
	partsWidth = 5
	tookWidth  = latencyWidth + 1 // with the >
	// leastCall is the width of the last column below which others are omitted, and
	// leastStatus that below which the status is reduced to its sign.
	leastCall, leastStatus = 20, 12
	// maxIndentedCalls is how many levels of calls are indented.
	maxIndentedCalls = 12
)

func newCallRows(w *bufio.Writer, paint palette, width int, info store.Info, tree bool) *callRows {
	t := &callRows{
		rowTable: rowTable{w: w, paint: paint, width: width, gap: "  "}, tree: tree, live: info.Status == store.Live,
		digits: numberWidth(info),
		offset: max(len("0.000s"), len(formatOffset(info.Duration))),
		ended:  func() time.Duration { return info.Duration }, when: formatOffset,
	}
	if tree {
		t.gap = " "
		t.offset++ // times are relative, with a sign
	}
	t.choose()
	return t
}

// withLabel is like the method of [textRows].
func (t *callRows) withLabel(label string, when func(time.Duration) string) {
	t.prefix, t.when = labelColumn(label, t.width), when
	t.digits, t.offset = max(t.digits, labelledDigits), max(t.offset, len(clockLayout))
	t.choose()
}

// choose selects the columns.
func (t *callRows) choose() {
	t.cols = []column{
		{title: "NO", right: true}, {title: "TIME", right: true, rank: 2}, {title: " "}, {title: "STATUS"},
		{title: "TOOK", right: true, rank: 1}, {title: "PARTS", right: true, rank: 3},
	}
	t.widths = []int{t.digits, t.offset, 1, 0, 0, 0}
	if !t.tree {
		t.widths[3], t.widths[4] = markWidth, tookWidth
		if t.width == 0 || t.width >= wide {
			t.widths[5] = partsWidth
		}
	}
	t.omit(leastCall)
	if !t.tree && t.width > 0 && t.width-t.fixed() < leastStatus {
		t.cols[3].title, t.widths[3] = " ", 1
	}
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
		return t.standalone(&n.Row)
	}
	if err := errors.Join(t.begin(), t.flush()); err != nil {
		return err
	}
	if t.tree {
		return t.treeCall(n, stderr)
	}
	return t.call(n, 0, stderr)
}

// begin prints the column titles, once.
func (t *callRows) begin() error { return t.header("CALL") }

// open implements [callPrinter].
func (t *callRows) open(n *view.Node) error {
	return errors.Join(t.begin(), t.flush(), t.print(t.line(n, 0)))
}

// part implements [callPrinter].
func (t *callRows) part(l *view.Row) error {
	if t.printed == nil {
		t.printed = map[session.Ref]bool{}
	}
	t.printed[l.Part.Message] = true
	c := standaloneCells(l)
	c.offset, c.title.method = t.when(l.Part.At), ""
	return errors.Join(t.begin(), t.flush(), t.print(c))
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

// call prints a call at a nesting depth, and its entries.
func (t *callRows) call(n *view.Node, depth int, stderr []view.Row) error {
	if err := t.print(t.line(n, depth)); err != nil {
		return err
	}
	if err := t.delta(n.Delta, indented(depth+1)); err != nil {
		return err
	}
	return t.below(n, depth, stderr)
}

// below prints the entries below a call.
func (t *callRows) below(n *view.Node, depth int, stderr []view.Row) error {
	for _, e := range withStderr(n.Entries(), stderr) {
		var err error
		switch {
		case e.Kid != nil:
			err = t.call(e.Kid, depth+1, nil)
		case e.Asked != nil:
			err = t.print(callCells{title: plainTitle(indented(depth+2)+askedWords(e.Asked), plain), arrow: " "})
		case e.Row == nil:
			err = t.print(callCells{title: plainTitle(indented(depth+1)+skippedWords(&e), dim), arrow: " "})
		case t.printed[e.Row.Part.Message]:
			delete(t.printed, e.Row.Part.Message)
		case e.Row.Part.Role != session.RoleResponse: // the call's own line has the response
			err = t.message(e.Row, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withStderr inserts lines of the server's stderr in order of arrival.
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
	return t.print(c)
}

// partCells returns the cells of a message below a call, without its time.
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

// delta prints how a response differs from the one before.
func (t *callRows) delta(d *view.Delta, indent string) error {
	for _, text := range deltaWords(d, t.room(indent)) {
		if err := t.print(callCells{title: plainTitle(indent+text, plain), arrow: " "}); err != nil {
			return err
		}
	}
	return nil
}

// print prints a line.
func (t *callRows) print(c callCells) error {
	mark := c.mark.sign
	if t.widths[3] > 1 {
		mark = strings.TrimSpace(mark + " " + c.mark.word)
	}
	return t.write([]cell{
		{c.number, dim}, {c.offset, dim}, {c.arrow, laneStyles[c.lane]}, {mark, c.mark.style}, {c.took, dim}, {c.parts, dim},
	}, c.title)
}

// end implements [callPrinter].
func (t *callRows) end(s *summary) error { return errors.Join(t.flush(), t.rowTable.end(s)) }

// treeCall prints a call and its entries as a tree. Times below a call are relative
// to it.
func (t *callRows) treeCall(n *view.Node, stderr []view.Row) error {
	c := t.treeCells(n, false)
	c.offset = t.when(n.Call.At)
	if err := t.print(c); err != nil {
		return err
	}
	return t.treeEntries(n, "", n.Call.At, 1, stderr)
}

// treeCells returns the cells of a call in a tree.
func (t *callRows) treeCells(n *view.Node, nested bool) callCells {
	c, mark := n.Call, markOf(n.Call, t.live)
	cells := callCells{number: strconv.FormatUint(c.Ref.Seq, 10), arrow: arrows[c.Lane], lane: c.Lane, title: callTitle(n, nested)}
	cells.title.result = "" // it is printed below
	cells.title.fault = joinWords("  ", mark.sign+" "+mark.word+" "+callTook(c, t.ended()), cells.title.fault)
	cells.title.faultStyle = mark.style
	return cells
}

// treeEntries prints the entries below a call, with guides.
func (t *callRows) treeEntries(n *view.Node, guide string, from time.Duration, depth int, stderr []view.Row) error {
	entries := withStderr(n.Entries(), stderr)
	changes := deltaWords(n.Delta, t.room(guide+"└─ "))
	for i := range entries {
		e := &entries[i]
		knee, below := guide+"├─ ", guide+"│  "
		if i == len(entries)-1 && len(changes) == 0 {
			knee, below = guide+"└─ ", guide+"   "
		}
		if depth >= maxIndentedCalls { // do not indent further
			below = guide
		}
		var c callCells
		switch {
		case e.Kid != nil:
			c = t.treeCells(e.Kid, true)
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
		if err := t.print(c); err != nil {
			return err
		}
		if e.Kid != nil {
			if err := t.treeEntries(e.Kid, below, from, depth+1, nil); err != nil {
				return err
			}
		}
	}
	for i, text := range changes {
		knee := guide + "└─ "
		if i > 0 {
			knee = guide + strings.Repeat(" ", 3)
		}
		if err := t.print(callCells{arrow: " ", title: plainTitle(knee+text, plain)}); err != nil {
			return err
		}
	}
	return nil
}

// maxAlike is how many consecutive notifications of one method outside calls are
// printed; the others are counted.
const maxAlike = 3

// repeats counts consecutive notifications of one method.
type repeats struct {
	method string
	lane   tap.Lane
	n      uint64
}

// standalone prints a row that belongs to no call. When following, it prints every
// notification, as the count would come too late.
func (t *callRows) standalone(l *view.Row) error {
	if l.Part.Kind == jsonrpc.Notification && !t.follow {
		if t.repeated.n > 0 && t.repeated.method == l.Method && t.repeated.lane == l.Part.Lane {
			if t.repeated.n++; t.repeated.n > maxAlike {
				return nil
			}
		} else {
			if err := t.flush(); err != nil {
				return err
			}
			t.repeated = repeats{strings.Clone(l.Method), l.Part.Lane, 1}
		}
	} else if err := t.flush(); err != nil {
		return err
	}
	c := standaloneCells(l)
	c.offset = t.when(l.Part.At)
	return t.print(c)
}

// flush prints how many notifications were omitted.
func (t *callRows) flush() error {
	repeated := t.repeated
	t.repeated = repeats{}
	if repeated.n <= maxAlike {
		return nil
	}
	return t.print(callCells{
		arrow: arrows[repeated.lane], lane: repeated.lane, title: plainTitle(escape(fmt.Sprintf("… %d more %s", repeated.n-maxAlike, repeated.method)), dim),
	})
}

// standaloneCells returns the cells of a row that belongs to no call, without its time.
func standaloneCells(l *view.Row) callCells {
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
