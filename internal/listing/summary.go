package listing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A Summary describes a whole listing.
type Summary struct {
	view.Summary
	Info     store.Info
	Took     time.Duration        // duration of the recording, or of the selected session
	ByCall   bool                 // calls were listed
	Selected bool                 // only part of the recording was selected
	Partial  bool                 // not all frames were read, so the number of calls is unknown
	Pending  bool                 // requests without a response were selected
	Label    string               // label of the recording, if there are several
	Sessions session.SessionTotal // number of sessions, if all were listed
	// Frame returns a frame of the recording.
	Frame func(seq uint64) (tap.Frame, error)
}

func (s *Summary) print(l *term.Printer) {
	frames := term.Plural(s.Frames, "frame", "frames")
	switch {
	case s.ByCall && s.Partial:
		frames = term.Plural(s.Shown, "call", "calls") + ", " + frames
	case s.ByCall && s.Selected && s.Shown == 0 && s.Loose > 0:
		frames = fmt.Sprintf("no calls, %d of %s", s.Loose, frames)
	case s.ByCall && s.Selected:
		frames = fmt.Sprintf("%d of %s, ", s.Shown, term.Plural(s.Calls, "call", "calls")) + frames
	case s.ByCall:
		frames = term.Plural(s.Calls, "call", "calls") + ", " + frames
	case s.Selected:
		frames = fmt.Sprintf("%d of %s", s.Shown, frames)
	}
	words := []string{frames, view.Size(s.Bytes), "in " + view.Took(s.Took)}
	if n := s.Errors; n > 0 {
		words = append(words, term.Plural(n, "error", "errors"))
	}
	if w := statusWord(s.Info); w != "" {
		words = append(words, w)
	}
	title := ""
	if s.Label != "" {
		title = safe.String(s.Label) + ": "
	}
	for i, line := range term.WrapList(title, words, l.Width) {
		if errors := term.Plural(s.Errors, "error", "errors"); s.Errors > 0 {
			line = strings.Replace(line, errors, l.Paint(errors, term.Red), 1)
		}
		l.Printf("%s%s\n", strings.Repeat("  ", min(i, 1)), line)
	}
	for _, g := range s.Info.Gaps {
		s.paragraph(l, "missing: ",
			[]string{fmt.Sprintf("frames %d to %d passed but were not recorded", g.From, g.To)}, term.Red)
	}
	for _, n := range s.notes() {
		s.paragraph(l, "", []string{n}, term.Plain)
	}
	if len(s.Unanswered) > 0 && (s.Pending || !s.Selected) {
		s.requests(l)
		if how := s.Exit.Words(); how != "" {
			s.paragraph(l, "", []string{safe.String(how)}, term.Plain)
		}
	}
	if len(s.Cancelled) > 0 && !s.Selected {
		s.cancelled(l)
	}
	if len(s.NextPages) > 0 && !s.Selected {
		s.nextPages(l)
	}
	s.rows(l, "last lines of the server on stderr:", s.Stderr)
	s.rows(l, "not messages, but from the server:", slices.DeleteFunc(s.Invalid, func(r view.Row) bool {
		return len(s.Unanswered) > 0 && r.Part.At < s.Unanswered[0].At
	}))
}

// rows prints the texts of rows after a title.
func (s *Summary) rows(l *term.Printer, title string, rows []view.Row) {
	for i := range rows {
		if i == 0 {
			l.Printf("%s\n", title)
		}
		text, _, _ := strings.Cut(rows[i].About, "\n")
		if r := &rows[i]; r.Part.Lane != tap.Stderr {
			text = fmt.Sprintf("#%d  %s", r.Part.Message.Seq, view.JoinWords(": ", inside(r), text))
		}
		l.Printf("%s\n", l.Paint(term.Fit("  "+term.Offset(rows[i].Part.At)+"  "+safe.String(text), l.Width), term.Dim))
	}
}

// notes returns phrases that follow the counts.
func (s *Summary) notes() (all []string) {
	add := func(n uint64, one, many, rest string) {
		if n > 0 {
			all = append(all, term.Plural(n, one, many)+" "+rest)
		}
	}
	add(s.Hidden, "HTTP frame is", "HTTP frames are", "hidden (use --http)")
	if s.Sessions > 1 && !s.Selected {
		all = append(all, fmt.Sprintf("%d sessions (%s#1 is the first)", s.Sessions, safe.String(cmp.Or(s.Info.Header.ID, "REC"))))
	}
	add(s.TooLarge, "response was", "responses were", "too large to compare")
	add(s.Forgotten, "response was", "responses were", "not compared: too many responses since the previous one")
	return all
}

// requests prints the requests without a response.
func (s *Summary) requests(l *term.Printer) {
	what := "unanswered: "
	if s.Info.Status == store.Live {
		what = "pending: "
	}
	var names []string
	for i, q := range s.Unanswered {
		if i == 10 {
			names = append(names, fmt.Sprintf("and %d more", uint64(len(s.Unanswered)-i)+s.Beyond))
			break
		}
		ref, at := q.Ref, q.At
		if !s.ByCall && q.Waits.Seq > 0 {
			ref, at = q.Waits, q.Since
		}
		name := s.requestName(ref, q.Method, q.Subject)
		waited := view.Took(max(s.Info.Duration-at, 0))
		if s.Info.Status == store.Cut {
			waited = ">" + waited // the end is unknown
		}
		switch {
		case q.Lost, q.StreamEnd.By == "client":
			waited = safe.String(view.StreamEndWords(&q.StreamEnd, at))
		case q.Status == session.CallInputRequired:
			waited = "input required, " + waited
		case q.Status == session.CallWorking:
			waited = "task, " + waited
		case q.ErrorText != "":
			waited = safe.String(q.ErrorText) + ", " + waited
		}
		names = append(names, name+" ("+waited+")")
	}
	s.paragraph(l, what, names, term.Plain)
}

// cancelled prints the calls that were cancelled without a response.
func (s *Summary) cancelled(l *term.Printer) {
	var names []string
	for _, c := range s.Cancelled {
		names = append(names, s.requestName(c.Ref, c.Method, c.Subject)+" (after "+view.Took(c.End-c.At)+")")
	}
	if n := s.Cancels - uint64(len(names)); n > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	s.paragraph(l, "cancelled: ", names, term.Plain)
}

// nextPages prints the lists whose next page the client did not request.
func (s *Summary) nextPages(l *term.Printer) {
	var names []string
	for i, p := range s.NextPages {
		if i == 3 {
			names = append(names, fmt.Sprintf("and %d more", len(s.NextPages)-i))
			break
		}
		names = append(names, fmt.Sprintf("#%d %s", p.List.Seq, safe.String(p.Method)))
	}
	s.paragraph(l, "next page not requested: ", names, term.Plain)
}

// requestName names a request in a list, with the beginning of its arguments.
func (s *Summary) requestName(ref session.Ref, method, subject string) string {
	title := view.NewTitle(method, subject)
	return term.Fit(fmt.Sprintf("#%d %s", ref.Seq, safe.String(view.JoinWords(" ", title.Name, view.Arguments(s.Frame, ref)))), 60)
}

func (s *Summary) paragraph(l *term.Printer, title string, words []string, as term.Style) {
	for i, line := range term.WrapList(title, words, l.Width) {
		l.Printf("%s%s\n", strings.Repeat("  ", min(i, 1)), l.Paint(line, as))
	}
}

// statusWord describes the status of a recording, or "" if it is complete.
func statusWord(info store.Info) string {
	switch info.Status {
	case store.Live:
		return "live"
	case store.Cut:
		if info.Err != nil {
			return "cut off; the rest is still in its queue: " + safe.String(info.Err.Error())
		}
		if n := len(info.Gaps); n > 0 && info.Gaps[n-1].To+1 >= info.Frames {
			return "cut off: the end could not be written"
		}
		return "cut off: its end was not recorded"
	case store.Damaged:
		return "damaged"
	}
	return ""
}
