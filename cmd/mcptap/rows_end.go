package main

import (
	"fmt"
	"strings"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

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
		s.paragraph(l, p, width, "missing: ", []string{fmt.Sprintf("frames %d to %d crossed but could not be recorded", g.From, g.To)}, red)
	}
	for _, n := range s.notes {
		s.paragraph(l, p, width, "", []string{n}, plain)
	}
	if len(s.unanswered) > 0 && (s.pending || !s.selected) {
		s.waiting(l, p, width)
	}
	for i, line := range s.stderr {
		if i == 0 {
			l.printf("the server's last lines on stderr:\n")
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
			return "cut off, and the rest waits in its queue: " + escape(info.Err.Error())
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
