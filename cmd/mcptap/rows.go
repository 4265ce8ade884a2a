package main

import (
	"bufio"
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

// A rowPrinter prints the rows of a listing as they come, and what they add up
// to.
type rowPrinter interface {
	row(r *view.Row, deltas []*view.Delta) error
	end(s *summary) error
	// untitled says that the titles of the columns have been printed.
	untitled()
}

// textRows prints rows for a person. The columns have fixed widths, as nothing
// is known of what comes, and the one that may be long stands last. On a narrow
// terminal columns are left out, in a fixed order.
type textRows struct {
	w       *bufio.Writer
	paint   palette
	width   int    // of the line, 0 for any
	prefix  string // before each row: which recording it is of
	digits  int    // of the numbers
	offset  int    // width of the times
	when    func(time.Duration) string
	http    bool          // there are exchanges
	ended   time.Duration // how long the recording ran
	has     [frameColumns]bool
	started bool
}

// The columns that may be left out, the first to go first.
const (
	columnExchange = iota
	columnSize
	columnTo
	columnTime
	columnTook
	columnKind
	frameColumns
)

const (
	kindWidth    = 8
	latencyWidth = 6
	sizeWidth    = 7
	// leastAbout is how much room the last column has before others go.
	leastAbout = 16
	// wideEnough is the width from which sizes are shown, wide that from which
	// the numbers of HTTP exchanges are.
	wideEnough = 72
	wide       = 90
)

func newTextRows(w *bufio.Writer, paint palette, width int, info store.Info) *textRows {
	t := &textRows{
		w: w, paint: paint, width: width,
		digits: len(strconv.FormatUint(max(info.Frames, 999), 10)),
		offset: max(len("0.000s"), len(formatOffset(info.Duration))), when: formatOffset,
		http: info.Header.Transport == "http", ended: info.Duration,
	}
	t.choose()
	return t
}

// choose decides on the columns.
func (t *textRows) choose() {
	t.has = [frameColumns]bool{
		columnExchange: t.http && (t.width == 0 || t.width >= wide),
		columnSize:     t.width == 0 || t.width >= wideEnough, columnTo: true, columnTime: true, columnTook: true, columnKind: true,
	}
	for i := 0; i < frameColumns && t.width > 0 && t.width-t.fixed() < leastAbout; i++ {
		t.has[i] = false
	}
}

// fixed is the width of all that stands before the last column.
func (t *textRows) fixed() int {
	n := columns.StringWidth(t.prefix) + t.digits + 3 // with the arrow
	for i, width := range [frameColumns]int{t.digits + 2, sizeWidth + 1, t.digits + 2, t.offset + 1, latencyWidth + 1, kindWidth + 1} {
		if t.has[i] {
			n += width
		}
	}
	return n + 2
}

func (t *textRows) row(r *view.Row, deltas []*view.Delta) error {
	if !t.started {
		t.started = true
		if err := t.write(cells{"NO", "TIME", " ", "EXCH", "KIND", "TO", "TOOK", "SIZE", plainTitle("ABOUT", dim)}, t.header); err != nil {
			return err
		}
	}
	p := &r.Part
	c := cells{number: strconv.FormatUint(p.Message.Seq, 10), offset: t.when(p.At), arrow: arrows[p.Lane], kind: rowKind(r), title: newTitle(r.Title())}
	if p.Exchange > 0 {
		c.exchange = strconv.FormatUint(p.Exchange, 10)
	}
	if p.Lane != tap.Lifecycle {
		c.size = formatSize(r.Size)
	}
	if l, ok := r.Answer(); ok {
		c.to = "#" + strconv.FormatUint(l.Request.Seq, 10)
		c.took = formatDuration(l.Latency)
	}
	if p.Unanswered && p.Kind == jsonrpc.Request {
		c.took = ">" + formatDuration(max(t.ended-p.At, 0))
	}
	c.title.fault = joinWords(", ", fault(r), odd(r))
	if err := t.write(c, func(c *cells) { t.style(c, r) }); err != nil {
		return err
	}
	for _, d := range deltas {
		room := 0
		if t.width > 0 {
			room = max(t.width-t.fixed()-2, 1)
		}
		for _, text := range deltaWords(d, room) {
			if err := t.write(cells{arrow: " ", title: plainTitle("  "+text, plain)}, func(*cells) {}); err != nil {
				return err
			}
		}
	}
	return nil
}

// labelWidth is how wide the column is that says which recording a row is of.
const labelWidth = 14

// labelColumn is that column, for a line of a width.
func labelColumn(label string, width int) string {
	if label == "" {
		return ""
	}
	n := labelWidth
	if width > 0 {
		n = min(n, width/5)
	}
	return pad(fit(escape(label), n), n, false) + " "
}

// clock returns the time of the day at an offset.
func clock(start time.Time, zone *time.Location) func(time.Duration) string {
	return func(d time.Duration) string { return start.Add(d).In(zone).Format(clockLayout) }
}

const clockLayout = "15:04:05.000"

// among says that the rows stand among those of other recordings: they begin
// with a label, and have the time of the day.
func (t *textRows) among(label string, when func(time.Duration) string) {
	t.prefix, t.when = labelColumn(label, t.width), when
	t.digits, t.offset = max(t.digits, amongDigits), len(clockLayout)
	t.choose()
}

// amongDigits is how wide numbers are at least where recordings are mixed.
const amongDigits = 5

func (t *textRows) untitled() { t.started = true }

// cells are the texts of one line.
type cells struct {
	number, offset, arrow, exchange, kind, to, took, size string
	title                                                 title
}

var arrows = [tap.Lanes]string{tap.Lifecycle: "·", tap.ToServer: "→", tap.ToClient: "←", tap.Stderr: "!"}

var laneStyles = [tap.Lanes]style{tap.Lifecycle: dim, tap.ToServer: cyan, tap.ToClient: magenta, tap.Stderr: dim}

// rowKind is the kind of a row. The head of an HTTP request is no request as
// others are, and what carries no message has a name of its own.
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

// shortKind is a kind that fits its column.
func shortKind(kind string) string {
	switch kind {
	case "notification":
		return "notify"
	case tap.EventSpawnFailed:
		return "no start"
	case tap.EventDisconnect:
		return "closed"
	}
	return escape(kind)
}

// fault is what went wrong, escaped. It names the failure in words, so that
// nobody needs the colour.
func fault(r *view.Row) string {
	var words []string
	if r.Truncated { // which explains the rest
		words = append(words, "truncated: bytes are missing")
	}
	if r.Failed && r.Fault != "" {
		words = append(words, r.Fault)
	}
	return escape(strings.Join(words, ", "))
}

// odd says what is odd about how a message relates to others.
func odd(r *view.Row) string {
	var words []string
	for i := range r.Messages {
		p := &r.Messages[i]
		if w := oddPart(p); w != "" && len(words) < 3 { // of a batch
			words = append(words, w)
		}
		if p.Guess && p.Request != (session.Ref{}) && r.Unread {
			words = append(words, "its request is a guess: the id was not read")
		}
	}
	return strings.Join(words, ", ")
}

func oddPart(p *session.Part) string {
	switch {
	case p.Clash != (session.Ref{}):
		return fmt.Sprintf("id in use by #%d", p.Clash.Seq)
	case p.Role == session.RoleRepeat:
		return "answered before"
	case p.Role == session.RoleReplay:
		return fmt.Sprintf("sent before in #%d", p.First.Seq)
	case p.Role == session.RoleOrphan:
		return "answers nothing"
	case p.Role == session.RoleUnmatched:
		return "no such call"
	case p.Role == session.RoleUnread:
		return "too large to be read"
	case p.Role == session.RoleLate:
		return "after its cancellation"
	case p.Late && p.Call != (session.Ref{}):
		return fmt.Sprintf("after the end of #%d", p.Call.Seq)
	}
	return ""
}

func (t *textRows) header(c *cells) {
	for _, s := range []*string{&c.number, &c.offset, &c.exchange, &c.kind, &c.to, &c.took, &c.size} {
		*s = t.paint.paint(*s, dim)
	}
}

// style paints the cells of a row, which have their widths already.
func (t *textRows) style(c *cells, r *view.Row) {
	p := t.paint
	for _, s := range []*string{&c.number, &c.offset, &c.exchange, &c.to, &c.size} {
		*s = p.paint(*s, dim)
	}
	c.arrow = p.paint(c.arrow, laneStyles[r.Part.Lane])
	switch {
	case r.Failed:
		c.kind = p.paint(c.kind, boldRed)
	case r.Part.Lane == tap.Stderr || r.Part.Lane == tap.Lifecycle:
		c.kind, c.title.style = p.paint(c.kind, dim), dim
	case r.Kind == "request":
		c.title.style = bold
	}
}

// write lays out one line: it cuts and pads, then paints, then writes.
func (t *textRows) write(c cells, dress func(*cells)) error {
	c.number = pad(c.number, t.digits, true)
	c.offset = pad(c.offset, t.offset, true)
	c.exchange = pad(c.exchange, t.digits+1, true)
	c.kind = pad(fit(c.kind, kindWidth), kindWidth, false)
	c.to = pad(c.to, t.digits+1, true)
	c.took = pad(fit(c.took, latencyWidth), latencyWidth, true)
	c.size = pad(c.size, sizeWidth, true)
	dress(&c)
	var b strings.Builder
	b.WriteString(t.prefix + c.number + " ")
	put := func(column int, text string) {
		if t.has[column] {
			b.WriteString(" " + text)
		}
	}
	put(columnTime, c.offset)
	put(columnExchange, c.exchange)
	b.WriteString(" " + c.arrow)
	put(columnKind, c.kind)
	put(columnTo, c.to)
	put(columnTook, c.took)
	put(columnSize, c.size)
	if t.width > 0 {
		c.title = c.title.fit(max(t.width-t.fixed(), 1))
	}
	b.WriteString("  " + c.title.paint(t.paint))
	_, err := t.w.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	return err
}
