package export

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// maxMermaid is about the largest size of a diagram. Mermaid refuses 50,000
// characters.
const maxMermaid = 45_000

// maxWords is the largest number of characters in the text of an arrow.
const maxWords = 80

// Mermaid writes a sequence diagram in a Markdown code block. It has as many messages
// as Mermaid draws, and the number of those that are left out.
type Mermaid struct {
	about   About
	w       io.Writer
	tracker session.Tracker
	size    int
	begun   bool
	left    int // messages without room
	silent  int // missing responses without room
}

// NewMermaid returns a Writer of a diagram.
func NewMermaid(w io.Writer, about About) *Mermaid {
	return &Mermaid{about: about, w: w}
}

func (m *Mermaid) line(format string, args ...any) error {
	n, err := fmt.Fprintf(m.w, format+"\n", args...)
	m.size += n
	return err
}

// begin writes the head once.
func (m *Mermaid) begin() error {
	if m.begun {
		return nil
	}
	m.begun = true
	return m.line("```mermaid\nsequenceDiagram\n    participant C as %s\n    participant S as %s",
		words(party(m.about.Facts.Client, "client")), words(party(m.about.Facts.Server, "server")))
}

func party(p session.Party, otherwise string) string {
	if p.Name == "" {
		return otherwise
	}
	return view.JoinWords(" ", p.Name, p.Version)
}

// Add implements [Writer].
func (m *Mermaid) Add(f *tap.Frame) error {
	if err := m.begin(); err != nil {
		return err
	}
	r := m.tracker.Add(f)
	if f.Lane == tap.Lifecycle {
		if err := m.event(r); err != nil {
			return err
		}
	}
	for i := range r.Parts {
		l := view.NewMessageRow(r, i)
		if m.size > maxMermaid {
			m.left++
		} else if err := m.message(&l); err != nil {
			return err
		}
	}
	return m.unanswered(r.Ended)
}

// unanswered draws missing responses.
func (m *Mermaid) unanswered(calls []*session.Call) error {
	for _, c := range calls {
		if !c.Status.Unanswered() {
			continue
		}
		if m.size > maxMermaid {
			m.silent++
			continue
		}
		from, to := "S", "C"
		if c.Lane == tap.ToClient {
			from, to = to, from
		}
		title := words(view.NewTitle(c.Method, c.Subject).Name)
		if err := m.line("    %s--x%s: no response to %d %s", from, to, c.Ref.Seq, title); err != nil {
			return err
		}
	}
	return nil
}

// message draws an arrow: solid for a request, dashed for a response, with an open
// head for a notification, with a cross for a failure.
func (m *Mermaid) message(l *view.Row) error {
	from, to := "C", "S"
	if l.Part.Lane == tap.ToClient {
		from, to = to, from
	}
	title := l.Title()
	arrow, text, after := "->>", view.JoinWords(" → ", view.JoinWords(" ", title.Name, title.Args), title.Result), ""
	switch l.Part.Kind {
	case jsonrpc.Notification:
		arrow = "-)"
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		arrow = "-->>"
		if l.Failed {
			arrow, text = "--x", view.JoinWords(": ", title.Name, l.Fault)
		}
		if l.Part.Request.Seq > 0 {
			after = " (" + took(l.Part.Latency) + ")"
		}
	case jsonrpc.Invalid:
		arrow, text = "-x", "invalid: "+l.About
	}
	return m.line("    %s%s%s: %d %s%s", from, arrow, to, l.Part.Message.Seq, words(text), after)
}

// event draws the events that end or break a run.
func (m *Mermaid) event(r *session.Entry) error {
	text := ""
	switch e := &r.Event; e.Name {
	case tap.EventExit:
		text = "the server exits"
		if e.Signal != "" {
			text += ", " + e.Signal
		} else if e.Code != nil {
			text += fmt.Sprintf(", code %d", *e.Code)
		}
	case tap.EventSpawnFailed:
		text = "the server could not be started: " + e.Error
	case tap.EventGap:
		text = "frames are missing here"
	case tap.EventResponse:
		if !r.Failed {
			return nil
		}
		text = fmt.Sprintf("HTTP %d %s", e.Status, e.Reason)
	default:
		return nil
	}
	if m.size > maxMermaid {
		return nil
	}
	return m.line("    Note over C,S: %d %s", r.Frame.Seq, words(text))
}

// Close implements [Writer].
func (m *Mermaid) Close() error {
	if err := m.begin(); err != nil {
		return err
	}
	if err := m.unanswered(m.tracker.Open()); err != nil {
		return err
	}
	if m.silent > 0 {
		if err := m.line("    Note over C,S: %d more requests got no response", m.silent); err != nil {
			return err
		}
	}
	if m.left > 0 {
		if err := m.line("    Note over C,S: %d more messages are left out", m.left); err != nil {
			return err
		}
	}
	return m.line("```")
}

// words makes text safe in a diagram: it cannot end the line or the code block.
func words(s string) string {
	s = escape.String(strings.TrimSpace(strings.ReplaceAll(s, "\n", " ")))
	if utf8.RuneCountInString(s) > maxWords {
		s = string([]rune(s)[:maxWords-1]) + "…"
	}
	return entities.Replace(s)
}

// took returns a duration with its unit.
func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + " µs"
	case d < 10*time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
}

var entities = strings.NewReplacer("#", "#35;", ";", "#59;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "\\", "#92;", "`", "#96;",
	"$", "#36;", "%", "#37;", "{", "#123;", "}", "#125;")
