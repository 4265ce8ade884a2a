package main

import (
	"fmt"
	"strings"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A summary describes a whole listing.
type summary struct {
	view.Summary
	info     store.Info
	byCall   bool   // calls were listed
	selected bool   // only part of the recording was
	partial  bool   // not all frames were read, so the number of calls is unknown
	pending  bool   // requests without a response were selected
	label    string // of the recording, if there are several
}

func (s *summary) print(l *lines, p palette, width int) {
	frames := plural(s.Frames, "frame", "frames")
	switch {
	case s.byCall && s.partial:
		frames = plural(s.Shown, "call", "calls") + ", " + frames
	case s.byCall && s.selected:
		frames = fmt.Sprintf("%d of %s, ", s.Shown, plural(s.Calls, "call", "calls")) + frames
	case s.byCall:
		frames = plural(s.Calls, "call", "calls") + ", " + frames
	case s.selected:
		frames = fmt.Sprintf("%d of %s", s.Shown, frames)
	}
	words := []string{frames, formatSize(s.Bytes), "in " + formatDuration(s.info.Duration)}
	if n := s.Errors; n > 0 {
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
		if errors := plural(s.Errors, "error", "errors"); s.Errors > 0 {
			line = strings.Replace(line, errors, p.paint(errors, red), 1)
		}
		l.printf("%s%s\n", strings.Repeat("  ", min(i, 1)), line)
	}
	for _, g := range s.info.Gaps {
		s.paragraph(l, p, width, "missing: ",
			[]string{fmt.Sprintf("frames %d to %d passed but were not recorded", g.From, g.To)}, red)
	}
	for _, n := range s.notes() {
		s.paragraph(l, p, width, "", []string{n}, plain)
	}
	if len(s.Unanswered) > 0 && (s.pending || !s.selected) {
		s.requests(l, p, width)
		if how := exitWords(&s.Exit); how != "" {
			s.paragraph(l, p, width, "", []string{"the server " + how}, plain)
		}
	}
	for i := range s.Stderr {
		if i == 0 {
			l.printf("last lines of the server on stderr:\n")
		}
		line, _, _ := strings.Cut(s.Stderr[i].About, "\n")
		l.printf("%s\n", p.paint(fit("  "+formatOffset(s.Stderr[i].Part.At)+"  "+escape(line), width), dim))
	}
}

// notes returns sentences that follow the counts.
func (s *summary) notes() (all []string) {
	add := func(n uint64, one, many, rest string) {
		if n > 0 {
			all = append(all, plural(n, one, many)+" "+rest)
		}
	}
	add(s.Hidden, "HTTP frame is", "HTTP frames are", "hidden (use --http)")
	add(s.TooLarge, "response was", "responses were", "too large to compare")
	add(s.Forgotten, "response was", "responses were", "not compared: too many responses since the previous one")
	return all
}

// requests prints the requests without a response.
func (s *summary) requests(l *lines, p palette, width int) {
	what := "unanswered: "
	if s.info.Status == store.Live {
		what = "pending: "
	}
	var names []string
	for i, q := range s.Unanswered {
		if i == 10 {
			names = append(names, fmt.Sprintf("and %d more", uint64(len(s.Unanswered)-i)+s.Beyond))
			break
		}
		name := fit(fmt.Sprintf("#%d %s", q.Ref.Seq, escape(view.NewTitle(q.Method, q.Subject).Name)), 60)
		waited := formatDuration(max(s.info.Duration-q.At, 0))
		switch {
		case q.Lost, q.StreamEnd.By == "client":
			waited = view.StreamEndWords(&q.StreamEnd, q.At)
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
