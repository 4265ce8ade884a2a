package stats

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/listing"
	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A printer prints statistics as text.
type printer struct {
	*term.Printer
}

// Print prints the statistics as text.
func (m *Report) Print(l *term.Printer) error {
	t := printer{l}
	all := m.all()
	h := newHistogram(all)
	if len(m.groups) > 0 {
		t.groups(m, &h)
		t.Printf("\n")
	}
	t.calls("SLOWEST", m.Slowest(), m.recordings > 1, 0)
	t.waiting(m)
	t.histogram(&h, all.Count())
	t.sum(m)
	return l.Err
}

// narrow reports whether the line is too narrow for full method names and a column per kind of
// failure.
func (t *printer) narrow() bool { return t.Width > 0 && t.Width < 100 }

// groups prints a row per group.
func (t *printer) groups(m *Report, h *histogram) {
	cols := []term.Column{
		{Title: "CALL", Least: 24},
		{Title: "CALLS", Right: true},
		{Title: "ERRORS", Right: true},
		{Title: "ISERROR", Right: true, Rank: 2},
		{Title: "CANCELLED", Right: true, Rank: 5},
		{Title: m.unanswered(), Right: true, Rank: 3},
		{Title: "P50", Right: true},
		{Title: "P95", Right: true, Rank: 4},
		{Title: "P99", Right: true, Rank: 1},
		{Title: "MAX", Right: true},
		{Title: "TIME", Right: true, Rank: 6},
		{Title: "SHARE", Right: true},
		{Title: "→ BYTES", Right: true, Rank: 8},
		{Title: "← BYTES", Right: true, Rank: 7},
		{Title: "SPREAD", Rank: 9},
	}
	var rows [][]term.Cell
	for _, g := range m.groups {
		row := groupRow(g, m.Top.Latency.Sum(), h)
		if t.narrow() {
			row[0].Text = groupName(g, true)
			row[2].Text, row[3].Text = countCell(g.Statuses.Errors()), ""
		} else if t.Width > 0 { // one long name must not cost the others a column
			row[0].Text = term.Fit(row[0].Text, t.Width/4)
		}
		rows = append(rows, row)
	}
	t.Table(cols, rows)
	for _, g := range m.groups {
		if g.Others {
			t.Printf("%s\n", t.Paint(fmt.Sprintf("more than %d methods and names: others are counted as (others)", session.MaxStatsGroups), term.Dim))
			break
		}
	}
}

func groupRow(g *session.StatsGroup, time time.Duration, h *histogram) []term.Cell {
	s, l := &g.Statuses, &g.Latency
	row := []term.Cell{
		{Text: groupName(g, false), Style: term.Bold}, {Text: countCell(s.Calls()), Style: term.Plain},
		{Text: countCell(s[session.CallError]), Style: term.Red}, {Text: countCell(s[session.CallToolError]), Style: term.Red}, {Text: countCell(s.Cancelled()), Style: term.Red}, {Text: countCell(s.Unanswered()), Style: term.Red},
		{}, {}, {}, {}, {}, {},
		{Text: view.Size(g.BytesToServer), Style: term.Dim}, {Text: view.Size(g.BytesToClient), Style: term.Dim}, {Text: h.spark(l), Style: term.Plain},
	}
	if l.Count() > 0 {
		for i, d := range []string{
			view.Took(l.Quantile(500)), view.Took(l.Quantile(950)), view.Took(l.Quantile(990)),
			view.Took(l.Max()), view.Took(l.Sum()), formatShare(l.Sum(), time),
		} {
			row[6+i].Text = d
		}
	}
	return row
}

// countCell returns a cell with a number, empty for 0.
func countCell(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// formatShare formats part of a whole as a percentage.
func formatShare(part, whole time.Duration) string {
	if whole == 0 {
		return ""
	}
	percent := 100 * float64(part) / float64(whole)
	switch {
	case percent >= 9.95:
		return fmt.Sprintf("%.0f%%", percent)
	case percent >= 0.05:
		return fmt.Sprintf("%.1f%%", percent)
	}
	return "<0.1%"
}

// groupName returns the name of a group, escaped. The short form uses one word for methods that take
// a name.
func groupName(g *session.StatsGroup, short bool) string {
	method := g.Method
	if short && g.Name != "" {
		method = map[string]string{"tools/call": "tool", "tools/invoke": "tool", "prompts/get": "prompt"}[method]
	}
	name := strings.TrimSpace(method + " " + g.Name)
	if g.Others {
		name = "(others)"
	}
	return callName(g.Lane, g.Nested, name)
}

// callName returns the name of a call, marked with its sender and whether it was nested.
func callName(lane tap.Lane, nested bool, name string) string {
	mark := listing.Arrows[lane] + " "
	if nested {
		mark = "↳ " + mark
	}
	return mark + safe.String(name)
}

// maxName is the maximum width of a call with its arguments.
const maxName = 80

// calls prints some calls with their first frames, and how many more there are. If several is set,
// each call names its recording.
func (t *printer) calls(title string, calls []session.StatsCall, several bool, more uint64) {
	if len(calls) == 0 {
		return
	}
	cols := []term.Column{{Title: title, Right: true}, {Title: "RECORDING"}, {Title: "FRAME", Right: true}, {Title: "CALL", Least: 16}, {Title: "STATE", Rank: 1}}
	var rows [][]term.Cell
	for i := range calls {
		c := &calls[i]
		recording := ""
		if several {
			recording = safe.String(c.Recording)
		}
		name := callName(c.Lane, c.Parent != (session.Ref{}), view.JoinWords(" ", view.NewTitle(c.Method, c.Subject).Name, c.Arguments))
		rows = append(rows, []term.Cell{
			{Text: view.Took(c.Took), Style: term.Bold}, {Text: recording, Style: term.Plain}, {Text: "#" + strconv.FormatUint(c.Ref.Seq, 10), Style: term.Dim},
			{Text: term.Fit(name, maxName), Style: term.Plain}, {Text: callState(c), Style: term.Plain},
		})
	}
	t.Table(cols, rows)
	if more > 0 {
		t.Printf("and %d more\n", more)
	}
	t.Printf("\n")
}

// callState returns the state of a call, why there is no response, and its parent.
func callState(c *session.StatsCall) string {
	var words []string
	if c.State != session.StateDone {
		words = append(words, string(c.State))
	}
	switch {
	case c.Status != session.CallPending || c.StreamEnd.By == "":
	case c.StreamEnd.By == "client":
		words = append(words, "the client hung up")
	default:
		words = append(words, "the stream ended")
	}
	if c.Parent != (session.Ref{}) {
		words = append(words, fmt.Sprintf("within #%d", c.Parent.Seq))
	}
	return strings.Join(words, ", ")
}

// unanswered is the title for calls without a response, which are pending if all recordings are live.
func (m *Report) unanswered() string {
	if m.live > 0 && m.live == m.recordings {
		return "PENDING"
	}
	return "UNANSWERED"
}

// mostWaiting limits the unanswered calls that are listed.
const mostWaiting = 10

func (t *printer) waiting(m *Report) {
	calls := m.Waiting()
	calls = calls[:min(len(calls), mostWaiting)]
	n := m.Top.Statuses.Unanswered() + m.nested.Statuses.Unanswered()
	t.calls(m.unanswered(), calls, m.recordings > 1, n-uint64(len(calls)))
}

// histogram draws the latencies of all calls.
func (t *printer) histogram(h *histogram, total uint64) {
	if total == 0 {
		return
	}
	labels, numbers, most := 0, 0, uint64(0)
	for i, n := range h.counts {
		labels = max(labels, term.Width(h.label(i)))
		numbers = max(numbers, len(strconv.FormatUint(n, 10)))
		most = max(most, n)
	}
	width := t.Width
	if width == 0 {
		width = 80
	}
	room := min(max(width-labels-numbers-4, 8), 60)
	t.Printf("%s\n", t.Paint("LATENCY of "+term.Plural(total, "call", "calls")+" with a response", term.Dim))
	for i, n := range h.counts {
		line := term.Pad(h.label(i), labels, true) + "  " + term.Pad(countCell(n), numbers, true)
		if b := bar(n, most, room); b != "" {
			line += "  " + t.Paint(b, term.Cyan)
		}
		t.Printf("%s\n", strings.TrimRight(line, " "))
	}
	t.Printf("\n")
}

// sum prints the totals.
func (t *printer) sum(m *Report) {
	both := m.statuses()
	head := term.Plural(m.Top.Statuses.Calls(), "call", "calls")
	if n := m.nested.Statuses.Calls(); n > 0 {
		head += fmt.Sprintf(" and %d within them", n)
	}
	parts := []string{head}
	for _, c := range []struct {
		n         uint64
		one, many string
	}{
		{both[session.CallError], "error", "errors"}, {both[session.CallToolError], "isError", "isError"},
		{both.Cancelled(), "cancelled", "cancelled"}, {both.Unanswered(), "without a response", "without a response"},
	} {
		if c.n > 0 {
			parts = append(parts, t.Paint(term.Plural(c.n, c.one, c.many), term.Red))
		}
	}
	t.Printf("%s\n", strings.Join(parts, ", "))
	line := fmt.Sprintf("%s in calls, %s recorded", view.Took(m.Top.Latency.Sum()), view.Took(m.duration))
	if m.recordings > 1 {
		line += fmt.Sprintf(" in %d recordings", m.recordings)
	}
	switch {
	case m.live == 1 && m.recordings == 1:
		line += ", live"
	case m.live > 0:
		line += fmt.Sprintf(", %d of them live", m.live)
	}
	t.Printf("%s\n", line)
	t.start("handshake", &m.Handshake, m.recordings)
	t.start("first result after the handshake", &m.Useful, m.recordings)
}

// start prints how long after the start of the recordings something happened.
func (t *printer) start(what string, l *session.Latencies, recordings int) {
	switch {
	case l.Count() == 0:
	case recordings == 1:
		t.Printf("%s %s after the start\n", what, view.Took(l.Min()))
	case l.Count() == 1:
		t.Printf("%s %s after the start, in 1 of %d recordings\n", what, view.Took(l.Min()), recordings)
	default:
		t.Printf("%s %s to %s after the start, median %s, in %d\n", what,
			view.Took(l.Min()), view.Took(l.Max()), view.Took(l.Quantile(500)), l.Count())
	}
}

// A histogram is a series of bins whose limits grow by 1, 2, 5, 10 and so on, or by powers of ten if
// there would be too many.
type histogram struct {
	limits []time.Duration // bin i holds durations d with limits[i] <= d < limits[i+1]
	counts []uint64
}

// maxBins limits the lines of a histogram with limits 1, 2, 5.
const maxBins = 14

// newHistogram chooses bins for the durations.
func newHistogram(l *session.Latencies) histogram {
	if l.Count() == 0 {
		return histogram{}
	}
	limits := limitsBetween(l.Min(), l.Max(), []int64{1, 2, 5})
	if len(limits)-1 > maxBins {
		limits = limitsBetween(l.Min(), l.Max(), []int64{1})
	}
	return histogram{limits: limits, counts: countsBetween(l, limits)}
}

// limitsBetween returns the limits of the bins from least to most. They are at least a
// microsecond, because shorter times are not measured.
func limitsBetween(least, most time.Duration, steps []int64) []time.Duration {
	limits := []time.Duration{0}
	const end = 1000 * time.Hour // longer durations belong to the last bin
	for ten := time.Microsecond; ten < end; ten *= 10 {
		for _, step := range steps {
			limit := ten * time.Duration(step)
			if limit <= least {
				limits[0] = limit
				continue
			}
			if limits = append(limits, limit); limit > most {
				return limits
			}
		}
	}
	return limits
}

// countsBetween counts the durations in each bin.
func countsBetween(l *session.Latencies, limits []time.Duration) []uint64 {
	counts := make([]uint64, len(limits)-1)
	before := uint64(0)
	for i := range counts {
		upto := l.Count()
		if i < len(counts)-1 {
			upto = l.Below(limits[i+1])
		}
		counts[i], before = upto-before, upto
	}
	return counts
}

// label returns the range of a bin.
func (h *histogram) label(i int) string {
	return fmt.Sprintf("%s – %s", formatLimit(h.limits[i]), formatLimit(h.limits[i+1]))
}

// formatLimit formats a limit without trailing zeros.
func formatLimit(d time.Duration) string {
	for _, u := range []struct {
		name string
		unit time.Duration
	}{{"s", time.Second}, {"ms", time.Millisecond}} {
		if d >= u.unit {
			return fmt.Sprintf("%d%s", d/u.unit, u.name)
		}
	}
	return fmt.Sprintf("%dµs", d/time.Microsecond)
}

// bar draws part of a whole in at most width columns, to an eighth of a column. A part above 0 gets at
// least an eighth.
func bar(n, whole uint64, width int) string {
	const part = "▏▎▍▌▋▊▉"
	if n == 0 || whole == 0 {
		return ""
	}
	eighths := max(1, int(float64(n)/float64(whole)*float64(width*8)+0.5))
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune(part)[rest-1])
	}
	return text
}

// spark draws the counts of the bins, one column per bin.
func (h *histogram) spark(l *session.Latencies) string {
	if l.Count() == 0 || len(h.limits) == 0 {
		return ""
	}
	levels := []rune("▁▂▃▄▅▆▇█")
	counts := countsBetween(l, h.limits)
	most := uint64(0)
	for _, n := range counts {
		most = max(most, n)
	}
	var b strings.Builder
	for _, n := range counts {
		if n == 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(levels[int(float64(n)/float64(most)*float64(len(levels)-1)+0.5)])
	}
	return strings.TrimRight(b.String(), " ")
}
