package listing

import (
	"cmp"
	"fmt"
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

// Frames prints rows as a table. On a narrow terminal it omits columns.
type Frames struct {
	rowTable
	http  bool          // the recording has HTTP exchanges
	ended time.Duration // the duration of the recording
	// Findings are the rules that frames violate, nil if they were not computed.
	Findings map[uint64][]string
}

const (
	kindWidth    = 8
	latencyWidth = 6
	sizeWidth    = 7
	// leastAbout is the minimum width of the last column, below which others are omitted.
	leastAbout = 16
	// wideEnough is the minimum width of a line with sizes, and wide that of a line with the
	// numbers of HTTP exchanges.
	wideEnough = 72
	wide       = 90
)

// NewFrames returns a printer of frames.
func NewFrames(l *term.Printer, info store.Info) *Frames {
	t := &Frames{
		rowTable: newRowTable(l, info), http: info.Header.Transport == "http", ended: info.Duration,
	}
	t.choose = t.setColumns
	t.choose()
	return t
}

// setColumns selects the columns for the width.
func (t *Frames) setColumns() {
	t.cols = []term.Column{
		{Title: "NO", Right: true}, {Title: "TIME", Right: true, Rank: 3}, {Title: "EXCH", Right: true, Rank: 6}, {},
		{Title: "KIND", Rank: 1}, {Title: "REQ", Right: true, Rank: 4}, {Title: "TOOK", Right: true, Rank: 2},
		{Title: "SIZE", Right: true, Rank: 5},
	}
	t.widths = []int{t.digits, t.offset, 0, 1, kindWidth, t.digits + 1, tookWidth, 0}
	if t.http && (t.Width == 0 || t.Width >= wide) {
		t.widths[2] = t.digits + 1
	}
	if t.Width == 0 || t.Width >= wideEnough {
		t.widths[7] = sizeWidth
	}
	t.omit(leastAbout)
}

// Item implements [Printer].
func (t *Frames) Item(i *view.Item) error { return t.Row(i.Row, i.Deltas) }

// Row prints a frame, and how its responses differ from previous ones.
func (t *Frames) Row(r *view.Row, deltas []*view.Delta) error {
	if err := t.header("ABOUT"); err != nil {
		return err
	}
	p := &r.Part
	var exchange, to, took, size string
	if p.Exchange > 0 {
		exchange = strconv.FormatUint(p.Exchange, 10)
	}
	if p.Lane != tap.Lifecycle {
		size = view.Size(r.Size)
	}
	if l, ok := r.Answer(); ok {
		to = "#" + strconv.FormatUint(l.Request.Seq, 10)
		took = view.Took(l.Latency)
	}
	cancelled := ""
	switch {
	case p.Kind != jsonrpc.Request:
	case p.Cancelled:
		cancelled = "cancelled"
	case p.Unanswered:
		took = ">" + view.Took(cmp.Or(p.Waited, max(t.ended-p.At, 0)))
	}
	if r.Refuses.Seq > 0 {
		to = "#" + strconv.FormatUint(r.Refuses.Seq, 10)
	}
	title, kindStyle := newTitle(r.Title()), term.Plain
	title.fault = view.JoinWords(", ", strings.Join(t.Findings[p.Message.Seq], " "), fault(r), odd(r), cancelled)
	switch {
	case r.Failed:
		kindStyle = term.BoldRed
	case p.Lane == tap.Stderr || p.Lane == tap.Lifecycle:
		kindStyle, title.style = term.Dim, term.Dim
	case r.Kind == "request":
		title.style = term.Bold
	}
	err := t.write([]term.Cell{
		{Text: strconv.FormatUint(p.Message.Seq, 10), Style: term.Dim}, {Text: t.when(p.At), Style: term.Dim}, {Text: exchange, Style: term.Dim},
		{Text: Arrows[p.Lane], Style: laneStyles[p.Lane]},
		{Text: term.Fit(rowKind(r), kindWidth), Style: kindStyle}, {Text: to, Style: term.Dim}, {Text: term.Fit(took, tookWidth), Style: term.Plain}, {Text: size, Style: term.Dim},
	}, title)
	for _, d := range deltas {
		for _, text := range deltaWords(d, t.room("  ")) {
			if err == nil {
				err = t.write(make([]term.Cell, len(t.cols)), plainTitle("  "+text, term.Plain))
			}
		}
	}
	return err
}

// Arrows are the symbols of the lanes.
var Arrows = [tap.Lanes]string{tap.Lifecycle: "·", tap.ToServer: "→", tap.ToClient: "←", tap.Stderr: "!"}

var laneStyles = [tap.Lanes]term.Style{tap.Lifecycle: term.Dim, tap.ToServer: term.Cyan, tap.ToClient: term.Magenta, tap.Stderr: term.Dim}

// rowKind returns the kind of a row. The heads of HTTP messages, and rows without a message, have
// their own kinds.
func rowKind(r *view.Row) string {
	if r.Part.Lane == tap.Lifecycle {
		switch r.Kind {
		case tap.EventRequest:
			return "http req"
		case tap.EventResponse:
			return "http res"
		}
	}
	if r.Sort != "" {
		return r.Sort
	}
	return shortKind(r.Kind)
}

// shortKind returns the name of a kind that fits the column.
func shortKind(kind string) string {
	switch kind {
	case "notification":
		return "notify"
	case tap.EventSpawnFailed:
		return "no start"
	case tap.EventDisconnect:
		return "closed"
	case tap.EventHangUp:
		return "hang up"
	}
	return safe.String(kind)
}

// fault describes what went wrong, escaped. It does not rely on colour.
func fault(r *view.Row) string {
	var words []string
	if r.Truncated { // this explains the rest
		words = append(words, "truncated: bytes are missing")
	}
	if inside := inside(r); inside != "" {
		words = append(words, inside)
	}
	if r.Fault != "" {
		words = append(words, r.Fault)
	}
	return safe.String(strings.Join(words, ", "))
}

// odd describes anomalies in the relations of messages.
func odd(r *view.Row) string {
	var words []string
	for i := range r.Messages {
		p := &r.Messages[i]
		if w := oddPart(r, p); w != "" && len(words) < 3 { // for a batch
			words = append(words, w)
		}
		if p.Guess && p.Request != (session.Ref{}) && r.Unread {
			words = append(words, "request guessed: the id was not read")
		}
	}
	return strings.Join(words, ", ")
}

func oddPart(r *view.Row, p *session.Part) string {
	switch {
	case p.Clash != (session.Ref{}):
		return fmt.Sprintf("id in use by #%d", p.Clash.Seq)
	case p.Role == session.RoleRepeat:
		return "repeated response"
	case p.Role == session.RoleReplay:
		return fmt.Sprintf("repeats #%d", p.First.Seq)
	case p.Role == session.RoleOrphan:
		return safe.String(view.NoRequestWords(r.ID, r.Alike))
	case p.Role == session.RoleUnmatched:
		return "no such call"
	case p.Role == session.RoleUnread:
		return "too large to parse"
	case p.Role == session.RoleLate:
		return "after its cancellation"
	case p.Late && p.Call != (session.Ref{}):
		return fmt.Sprintf("after the end of #%d", p.Call.Seq)
	}
	return ""
}

// inside names the request to which a line that is not a message holds the response, or returns "".
func inside(r *view.Row) string {
	if r.Alike == nil || r.Part.Role != session.RoleInvalid {
		return ""
	}
	return view.InsideWords(r.Alike)
}

// deltaWords describes how a response differs from the previous one, one line per change, escaped. A
// change wider than room takes three lines; a room of 0 means unlimited.
func deltaWords(d *view.Delta, room int) (out []string) {
	if d == nil {
		return nil
	}
	if len(d.Changes) == 0 {
		return []string{fmt.Sprintf("= same as #%d", d.Previous.Seq)}
	}
	out = append(out, fmt.Sprintf("≠ changed from #%d:", d.Previous.Seq))
	for _, c := range d.Changes {
		path, before, after := safe.String(c.Path), safe.String(c.Old), safe.String(c.New)
		line := "~ " + path + ": " + before + " → " + after
		switch {
		case c.Old == "":
			line = "+ " + path + ": " + after
		case c.New == "":
			line = "- " + path + ": " + before
		case room > 0 && term.Width(line) > room:
			out = append(out, "~ "+path+":", "  - "+before)
			line = "  + " + after
		}
		out = append(out, line)
	}
	if d.More > 0 {
		out = append(out, "… "+term.Plural(uint64(d.More), "more change", "more changes"))
	}
	return out
}
