package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/term"

	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// callRows prints calls for a person: a line per call, its entries below it. With tree,
// guides connect them, and times below a call are relative to it.
type callRows struct {
	rowTable
	tree     bool
	live     bool // the recording is live
	follow   bool
	ended    func() time.Duration // how long the recording ran
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

func newCallRows(l *term.Printer, info store.Info, tree bool) *callRows {
	t := &callRows{
		rowTable: newRowTable(l, info), tree: tree, live: info.Status == store.Live,
		ended: func() time.Duration { return info.Duration }, printed: map[session.Ref]bool{},
	}
	if tree {
		t.gap = " "
		t.offset++ // for the sign of relative times
	}
	t.choose = t.setColumns
	t.choose()
	return t
}

// setColumns selects the columns for the width.
func (t *callRows) setColumns() {
	t.cols = []term.Column{
		{Title: "NO", Right: true}, {Title: "TIME", Right: true, Rank: 2}, {Title: " "}, {Title: "STATUS"},
		{Title: "TOOK", Right: true, Rank: 1}, {Title: "PARTS", Right: true, Rank: 3},
	}
	t.widths = []int{t.digits, t.offset, 1, 0, 0, 0}
	if !t.tree {
		t.widths[3], t.widths[4] = markWidth, tookWidth
		if t.Width == 0 || t.Width >= wide {
			t.widths[5] = partsWidth
		}
	}
	t.omit(leastCall)
	if !t.tree && t.Width > 0 && t.Width-t.fixed() < leastStatus {
		t.cols[3].Title, t.widths[3] = " ", 1
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

// item implements [itemPrinter].
func (t *callRows) item(i *view.Item) error {
	if err := t.header("CALL"); err != nil {
		return err
	}
	if i.Node == nil && !i.Open {
		return t.standalone(i.Row)
	}
	if err := t.flush(); err != nil {
		return err
	}
	var c callCells
	if i.Node == nil {
		t.printed[i.Row.Part.Message] = true
		c = standaloneCells(i.Row)
		c.offset, c.title.method = t.when(i.Row.Part.At), ""
	} else {
		c = t.callCells(i.Node, false)
		c.offset = t.when(i.Node.Call.At)
	}
	if err := t.print(c); err != nil || i.Open {
		return err
	}
	entries := branch{guide: "  ", depth: 1, from: i.Node.Call.At}
	if t.tree {
		entries.guide = ""
	}
	return t.below(i.Node, i.Stderr, entries)
}

// A branch is where the entries below a call are printed.
type branch struct {
	guide string // precedes the title
	depth int
	from  time.Duration // the start of the top-level call
}

// below prints the entries below a call. A list has the changes of the response first, a
// tree last. A list omits the response, which is in the line of the call.
func (t *callRows) below(n *view.Node, stderr []view.Row, at branch) error {
	knee, corner, line, space := "", "", "  ", "  "
	if t.tree {
		knee, corner, line, space = "├─ ", "└─ ", "│  ", "   "
	}
	changes := deltaWords(n.Delta, t.room(at.guide+corner))
	if !t.tree {
		if err := t.texts(changes, at.guide, at.guide); err != nil {
			return err
		}
		changes = nil
	}
	entries := slices.DeleteFunc(withStderr(n.Entries(), stderr), t.isAbove)
	for i := range entries {
		e := &entries[i]
		indent, next := at.guide+knee, branch{at.guide + line, at.depth + 1, at.from}
		if i == len(entries)-1 && len(changes) == 0 {
			indent, next.guide = at.guide+corner, at.guide+space
		}
		if at.depth >= maxIndentedCalls { // do not indent further
			next.guide = at.guide
		}
		c := t.entryCells(e, at.from)
		if c.title.indent = indent; e.Asked != nil && !t.tree {
			c.title.indent = next.guide
		}
		if err := t.print(c); err != nil {
			return err
		}
		if e.Kid != nil {
			if err := t.below(e.Kid, nil, next); err != nil {
				return err
			}
		}
	}
	return t.texts(changes, at.guide+corner, at.guide+space)
}

// isAbove reports whether an entry of a list is printed already: with its call, or when it
// arrived.
func (t *callRows) isAbove(e view.Entry) bool {
	if t.tree || e.Row == nil {
		return false
	}
	p := &e.Row.Part
	if t.printed[p.Message] {
		delete(t.printed, p.Message)
		return true
	}
	return p.Role == session.RoleResponse
}

// texts prints lines of one text, the first after one indent, the others after another.
func (t *callRows) texts(lines []string, first, other string) error {
	for i, text := range lines {
		indent := other
		if i == 0 {
			indent = first
		}
		if err := t.print(callCells{arrow: " ", title: plainTitle(indent+text, term.Plain)}); err != nil {
			return err
		}
	}
	return nil
}

// callCells returns the cells of a call, without its time. In a tree the title has the
// status, and an entry below it the result.
func (t *callRows) callCells(n *view.Node, nested bool) callCells {
	c := n.Call
	cells := callCells{
		number: strconv.FormatUint(c.Ref.Seq, 10), arrow: arrows[c.Lane], lane: c.Lane,
		mark: markOf(c, t.live), took: callTook(c, t.ended()), title: callTitle(n, nested),
	}
	if k := n.Further(); k > 0 {
		cells.parts = strconv.FormatUint(k, 10)
	}
	if t.tree {
		cells.title.result = ""
		cells.title.fault = view.JoinWords("  ", cells.mark.sign+" "+cells.mark.word+" "+cells.took, cells.title.fault)
		cells.title.faultStyle = cells.mark.style
	}
	return cells
}

// entryCells returns the cells of an entry below a call that began at an offset.
func (t *callRows) entryCells(e *view.Entry, from time.Duration) (c callCells) {
	when := t.when
	if t.tree {
		when = func(at time.Duration) string { return "+" + term.Offset(at-from) }
	}
	switch {
	case e.Kid != nil:
		c = t.callCells(e.Kid, true)
		c.offset = when(e.Kid.Call.At)
	case e.Asked != nil:
		c = callCells{arrow: " ", title: plainTitle(askedWords(e.Asked), term.Plain)}
	case e.Row == nil:
		c = callCells{arrow: " ", title: plainTitle(skippedWords(e), term.Dim)}
	default:
		c = partCells(e.Row)
		c.offset = when(e.Row.Part.At)
		if t.tree && c.took != "" {
			c.title.fault = view.JoinWords("  ", "after "+c.took, c.title.fault)
			if !e.Row.Failed {
				c.title.faultStyle = term.Dim
			}
		}
	}
	return c
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

// partCells returns the cells of a message below a call, without its time.
func partCells(l *view.Row) callCells {
	p := &l.Part
	c := callCells{number: strconv.FormatUint(p.Message.Seq, 10), arrow: arrows[p.Lane], lane: p.Lane}
	if p.Lane == tap.Stderr {
		c.title = plainTitle(safe.String(l.About), term.Dim)
		return c
	}
	c.title = partTitle(l)
	if p.Kind == jsonrpc.Response || p.Kind == jsonrpc.ErrorResponse {
		c.took = view.Took(p.Latency)
	}
	return c
}

// print prints a line.
func (t *callRows) print(c callCells) error {
	mark := c.mark.sign
	if t.widths[3] > 1 {
		mark = strings.TrimSpace(mark + " " + c.mark.word)
	}
	return t.write([]term.Cell{
		{Text: c.number, Style: term.Dim}, {Text: c.offset, Style: term.Dim}, {Text: c.arrow, Style: laneStyles[c.lane]}, {Text: mark, Style: c.mark.style}, {Text: c.took, Style: term.Dim}, {Text: c.parts, Style: term.Dim},
	}, c.title)
}

func (t *callRows) end(s *summary) error {
	if err := t.flush(); err != nil {
		return err
	}
	return t.rowTable.end(s)
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
		arrow: arrows[repeated.lane], lane: repeated.lane,
		title: plainTitle(safe.String(fmt.Sprintf("… %d more %s", repeated.n-maxAlike, repeated.method)), term.Dim),
	})
}

// standaloneCells returns the cells of a row that belongs to no call, without its time.
func standaloneCells(l *view.Row) callCells {
	p := &l.Part
	c := callCells{number: strconv.FormatUint(p.Message.Seq, 10), arrow: arrows[p.Lane], lane: p.Lane}
	c.title = newTitle(l.Title())
	c.title.fault = view.JoinWords(", ", fault(l), odd(l))
	switch {
	case p.Lane == tap.Stderr || p.Kind == jsonrpc.Notification || p.Lane == tap.Lifecycle && l.Kind == tap.EventResponse:
	default:
		c.title.name = strings.TrimSpace(rowKind(l) + " " + c.title.name)
	}
	if p.Lane == tap.Lifecycle || p.Lane == tap.Stderr {
		c.title.style = term.Dim
	}
	if l.Failed {
		c.mark = callMark{"✗", "", term.BoldRed}
	}
	return c
}
