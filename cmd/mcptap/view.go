package main

import (
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A viewer turns frames, in order, into rows. It holds what is open and nothing
// else, so a recording may be of any length.
type viewer struct {
	tracker session.Tracker
	// only is the session that counts, 0 for all.
	only   int
	counts rowCounts
}

// rowCounts is what a listing sums up at its end.
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

// next reads the next frame, for whoever wants more of it than a row.
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

// An exportSource is what can be exported: a recording, or what is left of one.
type exportSource interface {
	Info() (store.Info, error)
	Frames(after uint64) iter.Seq2[tap.Frame, error]
	WriteRaw(w io.Writer, f tap.Frame) error
}

// asOf makes a live recording last until now, and not only until its last frame: so
// long have those waited that have no response.
func asOf(info *store.Info, now time.Time) {
	if info.Status == store.Live {
		info.Duration = max(info.Duration, now.Sub(info.Header.Start))
	}
}

// salvage exports what can be read and says what cannot.
func salvage(a *app, path string, write func(exportSource) error) error {
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

// A title is what a line shows of a message or a call, in its last column: what
// distinguishes it first, the method of a tool last. All texts are escaped.
type title struct {
	indent, name, args, result, fault, method string
	// style is that of the name, faultStyle that of the failure.
	style, faultStyle style
}

// newTitle has the texts of a row or a call.
func newTitle(t view.Title) title {
	return title{name: escape(t.Name), args: escape(t.Args), result: escape(t.Result), method: escape(t.Method), faultStyle: red}
}

// plainTitle is a title of one text.
func plainTitle(text string, as style) title { return title{name: text, style: as, faultStyle: red} }

// What stands before the parts of a title.
const (
	argsGap   = " "
	resultGap = " → "
	faultGap  = "  "
)

// leastPreview is the width below which a part of a title is left out.
const leastPreview = 6

// fit cuts the title to a width. The method goes first, then the arguments and the result
// share what the name leaves. A failure matters more than these.
func (t title) fit(room int) title {
	t.indent = fit(t.indent, room)
	room = max(room-columns.StringWidth(t.indent), 1)
	if t.width() <= room {
		return t
	}
	t.method = ""
	if t.fault != "" {
		// Without the name the failure means little.
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

// preview cuts a text to a width, and leaves out one of which too little would be left.
func preview(text string, width int) string {
	if width < leastPreview && columns.StringWidth(text) > width {
		return ""
	}
	return fit(text, width)
}

// part is the width of a text with what stands before it.
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

// paint is the title as it is printed.
func (t title) paint(p palette) string {
	var b strings.Builder
	b.WriteString(t.indent)
	put := func(gap, text string, as style) {
		if text != "" {
			if b.Len() > len(t.indent) {
				b.WriteString(gap)
			}
			b.WriteString(p.paint(text, as))
		}
	}
	put("", t.name, t.style)
	put(argsGap, t.args, plain)
	if t.result != "" {
		gap := resultGap
		if b.Len() == len(t.indent) {
			gap = strings.TrimLeft(gap, " ")
		}
		b.WriteString(p.paint(gap, dim) + t.result)
	}
	put(faultGap, t.fault, t.faultStyle)
	put(faultGap, t.method, dim)
	return b.String()
}
