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
			words = append(words, "request guessed: the id was not read")
		}
	}
	return strings.Join(words, ", ")
}

func oddPart(p *session.Part) string {
	switch {
	case p.Clash != (session.Ref{}):
		return fmt.Sprintf("id in use by #%d", p.Clash.Seq)
	case p.Role == session.RoleRepeat:
		return "repeated response"
	case p.Role == session.RoleReplay:
		return fmt.Sprintf("repeats #%d", p.First.Seq)
	case p.Role == session.RoleOrphan:
		return "no such request"
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

// A summary is what a listing adds up to.
type summary struct {
	counts rowCounts
	info   store.Info
	// unanswered are the calls without a response, beyond how many more there are.
	unanswered []session.Request
	beyond     uint64
	// selected says that only a part was asked for, and shown how many frames,
	// or calls, that was.
	selected bool
	shown    uint64
	// byCall says that calls were listed, and calls how many there are, if that
	// is known.
	byCall bool
	calls  *uint64
	// pending says that it was asked for what has no response: then unanswered and stderr,
	// the last lines of the server, are shown though only a part was asked for.
	pending bool
	stderr  lastLines
	// notes are what else there is to say.
	notes []string
	// label is the recording's, where there are several.
	label string
}

// end prints the sums, and the unanswered calls.
func (t *textRows) end(s *summary) error {
	l := lines{w: t.w}
	if t.started && s.label == "" {
		l.printf("\n")
	}
	s.print(&l, t.paint, t.width)
	return l.err
}

func (s *summary) print(l *lines, p palette, width int) {
	frames := plural(s.counts.frames, "frame", "frames")
	switch {
	case s.byCall && s.calls == nil:
		frames = plural(s.shown, "call", "calls") + ", " + frames
	case s.byCall && s.selected:
		frames = fmt.Sprintf("%d of %s, ", s.shown, plural(*s.calls, "call", "calls")) + frames
	case s.byCall:
		frames = plural(*s.calls, "call", "calls") + ", " + frames
	case s.selected:
		frames = fmt.Sprintf("%d of %s", s.shown, frames)
	}
	words := []string{frames, formatSize(s.counts.bytes), "in " + formatDuration(s.info.Duration)}
	if n := s.counts.errors; n > 0 {
		words = append(words, plural(n, "error", "errors"))
	}
	if w := statusWord(s.info); w != "" {
		words = append(words, w)
	}
	title := ""
	if s.label != "" {
		title = escape(s.label) + ": "
	}
	for i, line := range wrap(title, words, width) {
		if errors := plural(s.counts.errors, "error", "errors"); s.counts.errors > 0 {
			line = strings.Replace(line, errors, p.paint(errors, red), 1)
		}
		l.printf("%s%s\n", strings.Repeat("  ", min(i, 1)), line)
	}
	for _, g := range s.info.Gaps {
		s.paragraph(l, p, width, "missing: ", []string{fmt.Sprintf("frames %d to %d passed but were not recorded", g.From, g.To)}, red)
	}
	for _, n := range s.notes {
		s.paragraph(l, p, width, "", []string{n}, plain)
	}
	if len(s.unanswered) > 0 && (s.pending || !s.selected) {
		s.waiting(l, p, width)
	}
	for i, line := range s.stderr {
		if i == 0 {
			l.printf("last lines of the server on stderr:\n")
		}
		l.printf("%s\n", p.paint(fit("  "+line, width), dim))
	}
}

// lastLines are the last lines of the server's stderr, escaped, with their times.
type lastLines []string

// add takes a piece of stderr.
func (l *lastLines) add(f *tap.Frame) {
	const most = 5
	line, _, _ := strings.Cut(strings.TrimRight(string(f.Raw[:min(len(f.Raw), 1000)]), "\r\n"), "\n")
	if *l = append(*l, formatOffset(f.At)+"  "+escape(line)); len(*l) > most {
		*l = (*l)[1:]
	}
}

// waiting names the unanswered calls.
func (s *summary) waiting(l *lines, p palette, width int) {
	what := "no response to: "
	if s.info.Status == store.Live {
		what = "waiting for a response: "
	}
	var names []string
	for i, q := range s.unanswered {
		if i == 10 {
			names = append(names, fmt.Sprintf("and %d more", uint64(len(s.unanswered)-i)+s.beyond))
			break
		}
		name := fit(fmt.Sprintf("#%d %s", q.Ref.Seq, escape(view.NewTitle(q.Method, q.Subject).Name)), 60)
		waited := formatDuration(max(s.info.Duration-q.At, 0))
		switch {
		case q.Lost:
			waited = "its stream ended"
		case q.Status == session.CallInputRequired:
			waited = "input required, " + waited
		case q.Status == session.CallWorking:
			waited = "task, " + waited
		}
		names = append(names, name+" ("+waited+")")
	}
	s.paragraph(l, p, width, what, names, plain)
}

func (s *summary) paragraph(l *lines, p palette, width int, title string, words []string, as style) {
	for i, line := range wrap(title, words, width) {
		l.printf("%s%s\n", strings.Repeat("  ", min(i, 1)), p.paint(line, as))
	}
}

// wrap joins words with commas, in lines of at most width columns; those after
// the first are two columns shorter, for an indent. What is longer than a line
// is broken at its spaces, and cut where it has none. 0 stands for any width.
func wrap(title string, words []string, width int) (out []string) {
	if width <= 0 {
		return []string{title + strings.Join(words, ", ")}
	}
	line := title
	next := func() {
		if s := strings.TrimSpace(line); s != "" {
			out = append(out, fit(s, width-2*min(len(out), 1)))
		}
		line = ""
	}
	fits := func(s string) bool { return columns.StringWidth(s) <= width-2*min(len(out), 1) }
	for i, w := range words {
		if i < len(words)-1 {
			w += ","
		}
		if i > 0 {
			line += " "
		}
		if !fits(line+w) && columns.StringWidth(w) <= width-2 {
			next()
		}
		for j, piece := range strings.Split(w, " ") {
			if j > 0 {
				line += " "
			}
			if !fits(line + piece) {
				next()
			}
			line += piece
		}
	}
	next()
	return out
}

// statusWord says what became of a recording, where that is worth a word.
func statusWord(info store.Info) string {
	switch info.Status {
	case store.Live:
		return "live"
	case store.Cut:
		if info.Err != nil {
			return "cut off; the rest is still in its queue: " + escape(info.Err.Error())
		}
		if n := len(info.Gaps); n > 0 && info.Gaps[n-1].To+1 >= info.Frames {
			return "cut off: the end could not be written"
		}
		return "cut off: the tap was killed"
	case store.Damaged:
		return "damaged"
	}
	return ""
}
