package main

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// A rowPrinter prints the rows of a listing as they come, and what they add up
// to.
type rowPrinter interface {
	row(r *row) error
	end(v *viewer, info store.Info) error
}

// textRows prints rows for a person. The columns have fixed widths, as nothing
// is known of what comes, and the one that may be long stands last.
type textRows struct {
	w       *bufio.Writer
	paint   palette
	width   int // of the line, 0 for any
	digits  int // of the numbers
	offset  int // width of the times
	size    bool
	started bool
}

const (
	kindWidth    = 8
	latencyWidth = 6
	sizeWidth    = 7
)

func newTextRows(w *bufio.Writer, paint palette, width int, info store.Info) *textRows {
	return &textRows{
		w: w, paint: paint, width: width,
		digits: len(strconv.FormatUint(max(info.Frames, 999), 10)),
		offset: max(len("0.000s"), len(formatOffset(info.Duration))),
		size:   width == 0 || width >= 72,
	}
}

func (t *textRows) row(r *row) error {
	if !t.started {
		t.started = true
		if err := t.write(cells{"NO", "TIME", " ", "KIND", "TO", "TOOK", "SIZE", "ABOUT", ""}, t.header); err != nil {
			return err
		}
	}
	f := r.frame
	c := cells{number: strconv.FormatUint(f.Seq, 10), offset: formatOffset(f.At), arrow: arrows[f.Lane], kind: shortKind(r.kind), about: about(r)}
	if f.Lane != tap.Life {
		c.size = formatSize(f.Size)
	}
	if l, ok := r.answers(); ok {
		c.to = "#" + strconv.FormatUint(l.Request.Seq, 10)
		c.took = formatDuration(l.Latency)
	}
	c.fault = fault(r)
	if odd := oddLinks(r); odd != "" {
		c.fault = strings.TrimPrefix(c.fault+", "+odd, ", ")
	}
	return t.write(c, func(c *cells) { t.style(c, r) })
}

// cells are the texts of one line.
type cells struct{ number, offset, arrow, kind, to, took, size, about, fault string }

var arrows = [tap.Lanes]string{tap.Life: "·", tap.ToServer: "→", tap.ToClient: "←", tap.Stderr: "!"}

// shortKind is a kind that fits its column.
func shortKind(kind string) string {
	switch kind {
	case "notification":
		return "notify"
	case tap.EventSpawnFailed:
		return "no start"
	}
	return escape(kind)
}

// about is what a row's message is about, escaped.
func about(r *row) string {
	return escape(strings.TrimSpace(r.method + " " + r.about))
}

// fault is what went wrong, escaped. It names the failure in words, so that
// nobody needs the colour.
func fault(r *row) string {
	var words []string
	if r.failed && r.fault != "" {
		words = append(words, r.fault)
	}
	if r.frame.Torn {
		words = append(words, "torn: bytes are missing")
	}
	return escape(strings.Join(words, ", "))
}

// oddLinks says what is odd about how a message relates to others.
func oddLinks(r *row) string {
	var words []string
	for _, l := range r.links {
		switch l.Kind {
		case tap.Clashes:
			words = append(words, fmt.Sprintf("id in use by #%d", l.Request.Seq))
		case tap.Repeats:
			words = append(words, "answered before")
		case tap.Orphan:
			words = append(words, "answers nothing")
		}
		if len(words) == 3 {
			break // of a batch
		}
	}
	return strings.Join(words, ", ")
}

func (t *textRows) header(c *cells) {
	for _, s := range []*string{&c.number, &c.offset, &c.kind, &c.to, &c.took, &c.size, &c.about} {
		*s = t.paint.paint(*s, dim)
	}
}

// style paints the cells of a row, which have their widths already.
func (t *textRows) style(c *cells, r *row) {
	p := t.paint
	c.number, c.offset, c.to, c.size = p.paint(c.number, dim), p.paint(c.offset, dim), p.paint(c.to, dim), p.paint(c.size, dim)
	lane := [tap.Lanes]style{tap.Life: dim, tap.ToServer: cyan, tap.ToClient: magenta, tap.Stderr: dim}[r.frame.Lane]
	c.arrow = p.paint(c.arrow, lane)
	switch {
	case r.failed:
		c.kind = p.paint(c.kind, boldRed)
	case r.frame.Lane == tap.Stderr || r.frame.Lane == tap.Life:
		c.kind, c.about = p.paint(c.kind, dim), p.paint(c.about, dim)
	case r.kind == "request":
		c.about = p.paint(c.about, bold)
	}
	c.fault = p.paint(c.fault, red)
}

// write lays out one line: it cuts and pads, then paints, then writes.
func (t *textRows) write(c cells, dress func(*cells)) error {
	left := t.digits + 2 + t.offset + 1 + 1 + 1 + kindWidth + 1 + t.digits + 1 + 1 + latencyWidth + 2
	c.number = pad(c.number, t.digits, true)
	c.offset = pad(c.offset, t.offset, true)
	c.kind = pad(fit(c.kind, kindWidth), kindWidth, false)
	c.to = pad(c.to, t.digits+1, true)
	c.took = pad(c.took, latencyWidth, true)
	if t.size {
		c.size = " " + pad(c.size, sizeWidth, true)
		left += sizeWidth + 1
	} else {
		c.size = ""
	}
	if t.width > 0 {
		room := max(t.width-left, 8)
		c.about, c.fault = share(c.about, c.fault, room)
	}
	gap := ""
	if c.about != "" && c.fault != "" {
		gap = "  "
	}
	dress(&c)
	line := c.number + "  " + c.offset + " " + c.arrow + " " + c.kind + " " + c.to + " " + c.took + c.size + "  " + c.about + gap + c.fault
	_, err := t.w.WriteString(strings.TrimRight(line, " ") + "\n")
	return err
}

// share cuts two texts that stand side by side. A failure matters more than
// what it was about, but without the method it means little.
func share(about, fault string, room int) (string, string) {
	if fault == "" {
		return fit(about, room), ""
	}
	least := min(14, room/2)
	if w := columns.StringWidth(about); w < least {
		least = w
	}
	if least > 0 {
		least += 2
	}
	fault = fit(fault, room-least)
	return fit(about, max(room-columns.StringWidth(fault)-2, 1)), fault
}

// end prints the sums, and the requests that nobody answered.
func (t *textRows) end(v *viewer, info store.Info) error {
	l := lines{w: t.w}
	parts := []string{plural(v.counts.frames, "frame", "frames"), formatSize(v.counts.bytes), "in " + formatDuration(info.Duration)}
	sum := strings.Join(parts, ", ")
	if n := v.counts.errors; n > 0 {
		sum += ", " + t.paint.paint(plural(n, "error", "errors"), red)
	}
	if s := statusWord(info); s != "" {
		sum += ", " + s
	}
	if t.started {
		l.printf("\n")
	}
	l.printf("%s\n", sum)
	for _, g := range info.Gaps {
		l.printf("%s\n", t.paint.paint(fmt.Sprintf("missing: frames %d to %d crossed but could not be recorded", g.From, g.To), red))
	}
	open := v.pairer.Open()
	if len(open) == 0 {
		return l.err
	}
	what := "no answer to: "
	if info.Status == store.Live {
		what = "waiting for an answer: "
	}
	var names []string
	for i, r := range open {
		if i == 10 {
			names = append(names, fmt.Sprintf("and %d more", len(open)-i))
			break
		}
		names = append(names, fit(fmt.Sprintf("#%d %s", r.Ref.Seq, about(&row{method: r.Method, about: v.asked[r.Ref].about})), 60))
	}
	l.printf("%s\n", what+strings.Join(names, ", "))
	return l.err
}

// statusWord says what became of a recording, where that is worth a word.
func statusWord(info store.Info) string {
	switch info.Status {
	case store.Live:
		return "live"
	case store.Cut:
		if info.Err != nil {
			return "cut off, and the rest waits in its queue: " + escape(info.Err.Error())
		}
		return "cut off: the tap was killed"
	case store.Damaged:
		return "damaged"
	}
	return ""
}
