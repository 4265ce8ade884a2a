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

// A rowPrinter prints the rows of a listing as they come, and a summary.
type rowPrinter interface {
	row(r *view.Row, deltas []*view.Delta) error
	end(s *summary) error
	// skipHeader omits the column titles.
	skipHeader()
}

// textRows prints rows for a person. On a narrow terminal it omits columns.
type textRows struct {
	rowTable
	digits int // of the numbers
	offset int // width of the times
	when   func(time.Duration) string
	http   bool          // the recording has HTTP exchanges
	ended  time.Duration // how long the recording ran
}

const (
	kindWidth    = 8
	latencyWidth = 6
	sizeWidth    = 7
	// leastAbout is the width of the last column below which others are omitted.
	leastAbout = 16
	// wideEnough is the least width of a line with sizes, wide that of one with
	// the numbers of HTTP exchanges.
	wideEnough = 72
	wide       = 90
)

func newTextRows(w *bufio.Writer, paint palette, width int, info store.Info) *textRows {
	t := &textRows{
		rowTable: rowTable{w: w, paint: paint, width: width, gap: "  "},
		digits:   numberWidth(info),
		offset:   max(len("0.000s"), len(formatOffset(info.Duration))), when: formatOffset,
		http: info.Header.Transport == "http", ended: info.Duration,
	}
	t.choose()
	return t
}

// numberWidth returns the width of the frame numbers of a recording.
func numberWidth(info store.Info) int { return len(strconv.FormatUint(max(info.Frames, 999), 10)) }

// choose selects the columns.
func (t *textRows) choose() {
	t.cols = []column{
		{title: "NO", right: true}, {title: "TIME", right: true, rank: 3}, {title: "EXCH", right: true, rank: 6}, {},
		{title: "KIND", rank: 1}, {title: "TO", right: true, rank: 4}, {title: "TOOK", right: true, rank: 2}, {title: "SIZE", right: true, rank: 5},
	}
	t.widths = []int{t.digits, t.offset, 0, 1, kindWidth, t.digits + 1, latencyWidth, 0}
	if t.http && (t.width == 0 || t.width >= wide) {
		t.widths[2] = t.digits + 1
	}
	if t.width == 0 || t.width >= wideEnough {
		t.widths[7] = sizeWidth
	}
	t.omit(leastAbout)
}

func (t *textRows) row(r *view.Row, deltas []*view.Delta) error {
	if err := t.header("ABOUT"); err != nil {
		return err
	}
	p := &r.Part
	var exchange, to, took, size string
	if p.Exchange > 0 {
		exchange = strconv.FormatUint(p.Exchange, 10)
	}
	if p.Lane != tap.Lifecycle {
		size = formatSize(r.Size)
	}
	if l, ok := r.Answer(); ok {
		to = "#" + strconv.FormatUint(l.Request.Seq, 10)
		took = formatDuration(l.Latency)
	}
	if p.Unanswered && p.Kind == jsonrpc.Request {
		took = ">" + formatDuration(max(t.ended-p.At, 0))
	}
	title, kindStyle := newTitle(r.Title()), plain
	title.fault = joinWords(", ", fault(r), odd(r))
	switch {
	case r.Failed:
		kindStyle = boldRed
	case p.Lane == tap.Stderr || p.Lane == tap.Lifecycle:
		kindStyle, title.style = dim, dim
	case r.Kind == "request":
		title.style = bold
	}
	err := t.write([]cell{
		{strconv.FormatUint(p.Message.Seq, 10), dim}, {t.when(p.At), dim}, {exchange, dim}, {arrows[p.Lane], laneStyles[p.Lane]},
		{fit(rowKind(r), kindWidth), kindStyle}, {to, dim}, {fit(took, latencyWidth), plain}, {size, dim},
	}, title)
	for _, d := range deltas {
		for _, text := range deltaWords(d, t.room("  ")) {
			if err == nil {
				err = t.write(make([]cell, len(t.cols)), plainTitle("  "+text, plain))
			}
		}
	}
	return err
}

// labelWidth is the width of the column with the label of the recording.
const labelWidth = 14

// labelColumn returns the column with a label, for a line of the given width.
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

// clock returns a function that formats the time of day at an offset from start.
func clock(start time.Time, zone *time.Location) func(time.Duration) string {
	return func(d time.Duration) string { return start.Add(d).In(zone).Format(clockLayout) }
}

const clockLayout = "15:04:05.000"

// withLabel prepares for rows of several recordings: they begin with a label and have
// the time of day.
func (t *textRows) withLabel(label string, when func(time.Duration) string) {
	t.prefix, t.when = labelColumn(label, t.width), when
	t.digits, t.offset = max(t.digits, labelledDigits), len(clockLayout)
	t.choose()
}

// labelledDigits is the least width of numbers when several recordings are listed.
const labelledDigits = 5

var arrows = [tap.Lanes]string{tap.Lifecycle: "·", tap.ToServer: "→", tap.ToClient: "←", tap.Stderr: "!"}

var laneStyles = [tap.Lanes]style{tap.Lifecycle: dim, tap.ToServer: cyan, tap.ToClient: magenta, tap.Stderr: dim}

// rowKind returns the kind of a row. The heads of HTTP messages and rows without a
// message have kinds of their own.
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

// shortKind returns a kind that fits its column.
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

// fault describes what went wrong, escaped. It does not rely on colour.
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

// odd describes anomalies in how messages relate to others.
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

// A summary describes a whole listing.
type summary struct {
	counts rowCounts
	info   store.Info
	// unanswered holds the first calls without a response, beyond counts the others.
	unanswered []session.Request
	beyond     uint64
	// selected reports whether only part of the recording was selected, and shown how
	// many frames or calls were.
	selected bool
	shown    uint64
	// byCall reports whether calls were listed. calls is their number, nil if unknown.
	byCall bool
	calls  *uint64
	// pending reports whether requests without a response were selected. Then the summary
	// includes unanswered and stderr, the last lines of the server, in any case.
	pending bool
	stderr  lastLines
	// notes are printed after the counts.
	notes []string
	// label is the label of the recording, if there are several.
	label string
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

// lastLines holds the last lines of the server's stderr, escaped, with their times.
type lastLines []string

// add adds the first line of a piece of stderr.
func (l *lastLines) add(f *tap.Frame) {
	const limit = 5
	line, _, _ := strings.Cut(strings.TrimRight(string(f.Raw[:min(len(f.Raw), 1000)]), "\r\n"), "\n")
	if *l = append(*l, formatOffset(f.At)+"  "+escape(line)); len(*l) > limit {
		*l = (*l)[1:]
	}
}

// waiting prints the unanswered calls.
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

// wrap joins words with commas, in lines of at most width columns. Lines after the
// first are two columns shorter, for an indent. A word longer than a line is broken
// at its spaces, and cut if it has none. A width of 0 means unlimited.
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

// statusWord describes the status of a recording, "" if it is complete.
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
