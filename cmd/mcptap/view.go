package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A viewer turns frames, in order, into rows. It holds only open calls, so memory
// does not grow with the recording.
type viewer struct {
	tracker session.Tracker
	// only is the session to count, 0 for all.
	only   int
	counts rowCounts
}

// rowCounts holds the totals of a listing.
type rowCounts struct {
	frames uint64
	errors uint64 // as session.Tally counts them
	bytes  int64
}

func newViewer() *viewer {
	return &viewer{}
}

// row reads the next frame.
func (v *viewer) row(f *tap.Frame) view.Row { return view.NewRow(v.next(f)) }

// next reads the next frame and returns its entry.
func (v *viewer) next(f *tap.Frame) *session.Entry {
	r := v.tracker.Add(f)
	if v.only != 0 && r.Session != v.only {
		return r
	}
	v.counts.frames++
	v.counts.bytes += f.Size
	v.counts.errors += r.Errors()
	return r
}

// extendLive sets the duration of a live recording to the time until now, so that
// pending requests show how long they have waited.
func extendLive(info *store.Info, now time.Time) {
	if info.Status == store.Live {
		info.Duration = max(info.Duration, now.Sub(info.Header.Start))
	}
}

// salvage exports the readable part of a recording and reports what is missing.
func salvage(a *app, path string, write func(recording.Source) error) error {
	rec, r, err := store.OpenSalvage(path)
	if err != nil {
		return err
	}
	if err := write(rec); err != nil {
		return err
	}
	if r.Frames == 0 {
		return fmt.Errorf("%s: no frame could be read", path)
	}
	var lost []string
	for i, m := range r.Missing {
		if i == 10 {
			lost = append(lost, fmt.Sprintf("and %d more times", len(r.Missing)-i))
			break
		}
		lost = append(lost, fmt.Sprintf("%d-%d", m.From, m.To))
	}
	if len(lost) > 0 {
		a.say("lost: frames " + strings.Join(lost, ", "))
	}
	if r.Torn > 0 {
		a.say(plural(r.Torn, "frame is", "frames are") + " truncated: bytes are missing")
	}
	if !r.EndKnown {
		a.say("frames after the last one may be missing")
	}
	if r.GaveUp > 0 {
		a.say("could not read the last " + formatSize(r.GaveUp) + " of the file")
	}
	if len(lost) > 0 || r.Torn > 0 || !r.EndKnown || r.GaveUp > 0 {
		a.say(plural(r.Frames, "frame was", "frames were") + " saved")
		return exitCode(exitNo)
	}
	return nil
}

// A title is the last column of a line about a message or a call. The name comes
// first, the method of a tool last. All texts are escaped.
type title struct {
	indent, name, args, result, fault, method string
	// style is that of the name, faultStyle that of the failure.
	style, faultStyle style
}

// newTitle returns the title of a row or a call.
func newTitle(t view.Title) title {
	return title{name: escape(t.Name), args: escape(t.Args), result: escape(t.Result), method: escape(t.Method), faultStyle: red}
}

// plainTitle returns a title of one text.
func plainTitle(text string, as style) title { return title{name: text, style: as, faultStyle: red} }

// Separators before the parts of a title.
const (
	argsGap   = " "
	resultGap = " → "
	faultGap  = "  "
)

// leastPreview is the width below which a part of a title is left out.
const leastPreview = 6

// fit cuts the title to a width. It omits the method first; then the arguments and the
// result share the space after the name. A failure takes precedence over these.
func (t title) fit(room int) title {
	t.indent = fit(t.indent, room)
	room = max(room-columns.StringWidth(t.indent), 1)
	if t.width() <= room {
		return t
	}
	t.method = ""
	if t.fault != "" {
		// The failure needs the name as context.
		least := min(room/2, columns.StringWidth(t.name))
		if least > 0 {
			least += len(faultGap)
		}
		t.fault = fit(t.fault, max(room-least, 1))
	}
	left := room - part("", t.fault, faultGap)
	t.name = fit(t.name, max(left, 1))
	left -= columns.StringWidth(t.name)
	args, result := part("", t.args, argsGap), part("", t.result, resultGap)
	if args+result > left {
		args = min(args, max(left/2, left-result))
		t.args = preview(t.args, args-len(argsGap))
		t.result = preview(t.result, left-part("", t.args, argsGap)-columns.StringWidth(resultGap))
	}
	return t
}

// preview cuts a text to a width, and returns "" if too little would remain.
func preview(text string, width int) string {
	if width < leastPreview && columns.StringWidth(text) > width {
		return ""
	}
	return fit(text, width)
}

// part returns the width of a text with the texts before it.
func part(before, text, gap string) int {
	if text == "" {
		return 0
	}
	return columns.StringWidth(before) + columns.StringWidth(gap) + columns.StringWidth(text)
}

func (t title) width() int {
	return columns.StringWidth(t.name) + part("", t.args, argsGap) + part("", t.result, resultGap) + part("", t.fault, faultGap) +
		part("", t.method, faultGap)
}

// paint returns the title as printed.
func (t title) paint(p palette) string {
	var b strings.Builder
	b.WriteString(t.indent)
	add := func(gap, text string, as style) {
		if text != "" {
			if b.Len() > len(t.indent) {
				b.WriteString(gap)
			}
			b.WriteString(p.paint(text, as))
		}
	}
	add("", t.name, t.style)
	add(argsGap, t.args, plain)
	if t.result != "" {
		gap := resultGap
		if b.Len() == len(t.indent) {
			gap = strings.TrimLeft(gap, " ")
		}
		b.WriteString(p.paint(gap, dim) + t.result)
	}
	add(faultGap, t.fault, t.faultStyle)
	add(faultGap, t.method, dim)
	return b.String()
}
