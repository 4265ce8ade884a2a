package listing

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

// Calls prints calls as text: a line per call, with its entries below it. With tree, guides connect
// them, and times below a call are relative to it.
type Calls struct {
	rowTable
	tree     bool
	Live     bool // the recording is live
	Follow   bool
	Ended    func() time.Duration // returns the duration of the recording
	repeated repeats
	// printed holds the messages of open calls that were printed.
	printed map[session.Ref]bool
}

const (
	partsWidth = 5
	tookWidth  = latencyWidth + 1 // including the >
	// leastCall is the minimum width of the last column, below which others are omitted;
	// leastStatus is its width below which the status is reduced to its sign.
	leastCall, leastStatus = 20, 12
	// maxIndentedCalls limits the levels of calls that are indented.
	maxIndentedCalls = 12
)

// NewCalls returns a printer of calls; tree draws them as trees.
func NewCalls(l *term.Printer, info store.Info, tree bool) *Calls {
	t := &Calls{
		rowTable: newRowTable(l, info), tree: tree, Live: info.Status == store.Live,
		Ended: func() time.Duration { return info.Duration }, printed: map[session.Ref]bool{},
	}
	if tree {
		t.gap = " "
		t.offset++ // for the + of relative times
	}
	t.choose = t.setColumns
	t.choose()
	return t
}

// setColumns selects the columns for the width.
func (t *Calls) setColumns() {
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

// callCells holds the cells of a line, with their styles.
type callCells struct {
	number, offset, arrow string
	state                 session.State
	mark                  callMark
	took, parts           string
	title                 title
	lane                  tap.Lane
}

// Item implements [Printer].
func (t *Calls) Item(i *view.Item) error {
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

// below prints the entries below a call. A list shows the changes of the response first, a tree last.
// A list omits the response, which is part of the call's line.
func (t *Calls) below(n *view.Node, stderr []view.Row, at branch) error {
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

// isAbove reports whether an entry of a list has already been printed: with its call, or when it
// arrived.
func (t *Calls) isAbove(e view.Entry) bool {
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

// texts prints lines of one text, the first with one indent and the others with another.
func (t *Calls) texts(lines []string, first, other string) error {
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

// callCells returns the cells of a call, without its time. In a tree, the title includes the status,
// and an entry below it has the result.
func (t *Calls) callCells(n *view.Node, nested bool) callCells {
	c := n.Call
	state := c.State(!t.Live)
	cells := callCells{
		number: strconv.FormatUint(c.Ref.Seq, 10), arrow: Arrows[c.Lane], lane: c.Lane,
		state: state, mark: marks[state], took: callTook(c, state, t.Ended()), title: callTitle(n, nested),
	}
	if k := n.Further(); k > 0 {
		cells.parts = strconv.FormatUint(k, 10)
	}
	if t.tree {
		cells.title.result = ""
		cells.title.fault = view.JoinWords("  ", cells.mark.sign+" "+string(cells.state)+" "+cells.took, cells.title.fault)
		cells.title.faultStyle = cells.mark.style
	}
	return cells
}

// entryCells returns the cells of an entry below a call that started at from.
func (t *Calls) entryCells(e *view.Entry, from time.Duration) (c callCells) {
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
	c := callCells{number: strconv.FormatUint(p.Message.Seq, 10), arrow: Arrows[p.Lane], lane: p.Lane}
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
func (t *Calls) print(c callCells) error {
	mark := c.mark.sign
	if t.widths[3] > 1 {
		mark = strings.TrimSpace(mark + " " + string(c.state))
	}
	return t.write([]term.Cell{
		{Text: c.number, Style: term.Dim}, {Text: c.offset, Style: term.Dim}, {Text: c.arrow, Style: laneStyles[c.lane]}, {Text: mark, Style: c.mark.style}, {Text: c.took, Style: term.Dim}, {Text: c.parts, Style: term.Dim},
	}, c.title)
}

// End implements [Printer].
func (t *Calls) End(s *Summary) error {
	if err := t.flush(); err != nil {
		return err
	}
	return t.rowTable.End(s)
}

// maxAlike limits the consecutive notifications with the same method, outside calls, that are
// printed; the others are counted.
const maxAlike = 3

// repeats counts consecutive notifications with the same method.
type repeats struct {
	method string
	lane   tap.Lane
	n      uint64
}

// standalone prints a row that belongs to no call. When following, it prints every notification,
// because the count would come too late.
func (t *Calls) standalone(l *view.Row) error {
	if l.Part.Kind == jsonrpc.Notification && !t.Follow {
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
func (t *Calls) flush() error {
	repeated := t.repeated
	t.repeated = repeats{}
	if repeated.n <= maxAlike {
		return nil
	}
	return t.print(callCells{
		arrow: Arrows[repeated.lane], lane: repeated.lane,
		title: plainTitle(safe.String(fmt.Sprintf("… %d more %s", repeated.n-maxAlike, repeated.method)), term.Dim),
	})
}

// standaloneCells returns the cells of a row that belongs to no call, without its time.
func standaloneCells(l *view.Row) callCells {
	p := &l.Part
	c := callCells{number: strconv.FormatUint(p.Message.Seq, 10), arrow: Arrows[p.Lane], lane: p.Lane}
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
		c.mark = callMark{"✗", term.BoldRed}
	}
	return c
}

// A callMark shows the state of a call as a sign, in a style.
type callMark struct {
	sign  string
	style term.Style
}

// marks are the signs and styles of the states of calls.
var marks = map[session.State]callMark{
	session.StatePending: {"…", term.BoldCyan}, session.StateNeedsInput: {"?", term.BoldCyan}, session.StateWorking: {"…", term.BoldCyan},
	session.StateListening: {"»", term.Cyan}, session.StateUnanswered: {"…", term.BoldRed}, session.StateLost: {"✗", term.BoldRed}, session.StateDone: {"✓", term.Green},
	session.StateFailed: {"✗", term.BoldRed}, session.StateErred: {"✗", term.BoldRed}, session.StateRefused: {"✗", term.BoldRed},
	session.StateChallenged: {"?", term.BoldCyan}, session.StateCutOff: {"✗", term.BoldRed}, session.StateCancelled: {"⊘", term.Magenta},
	session.StateTooLate: {"⊘", term.Magenta}, session.StateEnded: {"»", term.Cyan},
}

// markWidth is the width of the longest word, including the sign.
const markWidth = len("x needs input")

// callTook returns how long a call took or, after a >, how long it had waited by the end of the
// recording.
func callTook(c *session.Call, state session.State, end time.Duration) string {
	switch {
	case c.Status.Settled():
		return view.Took(c.End - c.At)
	case state == session.StateEnded:
		return view.Took(c.Until(end) - c.At)
	}
	return ">" + view.Took(c.Until(end)-c.At)
}

// callTitle returns the title of a call; nested reports whether it is printed below its
// parent.
func callTitle(n *view.Node, nested bool) title {
	t := newTitle(n.Title())
	t.style, t.fault = term.Bold, callFault(n, nested)
	return t
}

// callFault describes the failure and the anomalies of a call, escaped; nested reports
// whether the call is printed below its parent.
func callFault(n *view.Node, nested bool) string {
	c := n.Call
	var words []string
	if failure := view.JoinWords(" ", c.ErrorCode, c.ErrorText); failure != "" {
		words = append(words, failure)
	}
	if c.Notes&session.NoteStreamEnded != 0 { // the reason for a cancellation
		words = append(words, view.StreamEndWords(&c.StreamEnd, c.At))
	}
	if c.Cancel != (session.Ref{}) {
		words = append(words, view.CancelWords(c))
	}
	if c.Parent != (session.Ref{}) && !nested {
		words = append(words, fmt.Sprintf("within #%d", c.Parent.Seq))
		if c.Guess {
			words = append(words, "probably")
		}
	}
	if n.Row.Part.Clash != (session.Ref{}) {
		words = append(words, fmt.Sprintf("id in use by #%d", n.Row.Part.Clash.Seq))
	}
	for i, text := range noteWords {
		if c.Notes>>i&1 == 1 && text != "" {
			words = append(words, text)
		}
	}
	if n.NoNewline {
		words = append(words, view.NoNewlineWords)
	}
	if n.Row.Truncated {
		words = append(words, "truncated: bytes are missing")
	}
	if c.Parent != (session.Ref{}) && nested && c.Guess {
		words = append(words, "probably of this call")
	}
	return safe.String(strings.Join(words, ", "))
}

// noteWords describes the notes of a call, by bit; "" marks a note that is shown in another place.
var noteWords = []string{
	"",
	"progress token in use",
	"duplicate member",
	"id or method truncated",
	"response without an id",
	"a probe",
	"requestState missing or changed",
	"cancellation refused",
	"no longer tracked",
	"", // shown by the status of the response
	"asks for authorization",
	"", // see view.CancelWords
	"", // see view.StreamEndWords
	"", // shown by the mark
	"", // shown by the error
}

// partTitle returns the title of a message below a call, with its anomalies.
func partTitle(l *view.Row) title {
	p := &l.Part
	var t title
	switch p.Role {
	case session.RoleProgress:
		t.name, t.args = "progress", l.Preview
	case session.RoleCancel:
		t.name, t.args = "cancelled", l.Preview
	case session.RoleInterim, session.RoleResponse, session.RoleLate, session.RoleRepeat:
		t.name, t.result = responseNames[p.Role], l.Preview
	default:
		t = newTitle(l.Title())
		t.method = ""
	}
	t.args, t.result, t.faultStyle = safe.String(t.args), safe.String(t.result), term.Red
	var words []string
	if l.Failed && l.Fault != "" {
		words = append(words, l.Fault)
	}
	if p.Late && p.Role != session.RoleLate && p.Role != session.RoleRepeat {
		words = append(words, "after the end")
	}
	if p.Clash != (session.Ref{}) {
		words = append(words, fmt.Sprintf("id in use by #%d", p.Clash.Seq))
	}
	if l.Truncated {
		words = append(words, "truncated: bytes are missing")
	}
	if p.Guess && p.Request == (session.Ref{}) {
		words = append(words, "probably of this call")
	}
	t.fault = safe.String(strings.Join(words, ", "))
	return t
}

// responseNames names the responses below a call.
var responseNames = map[session.Role]string{
	session.RoleInterim: "interim response", session.RoleResponse: "response", session.RoleLate: "late response",
	session.RoleRepeat: "another response",
}

// askedWords describes a request embedded in a result.
func askedWords(e *session.EmbeddedRequest) string {
	response := "no response"
	if e.Response != (session.Ref{}) {
		response = view.JoinWords(" ", fmt.Sprintf("response in #%d", e.Response.Seq), e.Answer)
	}
	return safe.String(view.JoinWords(" ", "asks", e.Method, e.Subject) + ": " + response)
}

// skippedWords describes the entries omitted at one point.
func skippedWords(e *view.Entry) string {
	var words []string
	if e.Roles != nil {
		for role, n := range e.Roles {
			if n > 0 {
				words = append(words, fmt.Sprintf("%d more %s", n, skippedRoles[role]))
			}
		}
	}
	if e.Calls > 0 {
		words = append(words, fmt.Sprintf("%d more calls", e.Calls))
	}
	return "… " + strings.Join(words, ", ")
}

// skippedRoles names the roles in counts of omitted entries.
var skippedRoles = [session.Roles]string{
	session.RoleInvalid: "invalid", session.RoleRequest: "request", session.RoleRetry: "requests",
	session.RoleCancel: "cancel", session.RoleProgress: "progress", session.RoleLog: "log",
	session.RoleNotification: "notifications", session.RoleInterim: "interim responses",
	session.RoleResponse: "responses", session.RoleLate: "late responses",
	session.RoleRepeat: "other responses", session.RoleOrphan: "orphans",
	session.RoleUnmatched: "unmatched", session.RoleUnsolicited: "unsolicited", session.RoleUnread: "unread",
	session.RoleReplay: "sent again",
}
