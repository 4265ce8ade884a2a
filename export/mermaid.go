package export

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// maxMermaid is the approximate maximum size of a diagram. Mermaid refuses 50,000 characters.
const maxMermaid = 45_000

// maxWords limits the characters in the text of an arrow.
const maxWords = 80

// A mermaidWriter writes a sequence diagram in a Markdown code block. It has as many messages as
// Mermaid can draw, and the number of those left out.
type mermaidWriter struct {
	output
	tracker session.Tracker
	left    int // messages that did not fit
	silent  int // missing responses that did not fit
}

// newMermaid writes the head of a diagram.
func newMermaid(w io.Writer, about About) *mermaidWriter {
	m := &mermaidWriter{output: output{w: w}}
	m.printf("```mermaid\nsequenceDiagram\n    participant C as %s\n    participant S as %s\n",
		words(party(about.Facts.Client, "client")), words(party(about.Facts.Server, "server")))
	return m
}

func party(p session.Party, otherwise string) string {
	if p.Name == "" {
		return otherwise
	}
	return view.JoinWords(" ", p.Name, p.Version)
}

// Add implements [writer].
func (m *mermaidWriter) Add(f *tap.Frame) error {
	r := m.tracker.Add(f)
	if f.Lane == tap.Lifecycle && m.hasRoom() {
		m.event(r)
	}
	for i := range r.Parts {
		l := view.NewMessageRow(r, i)
		if m.hasRoom() {
			m.message(&l)
		} else {
			m.left++
		}
	}
	m.unanswered(r.Ended)
	for _, c := range r.Ended {
		if c.Notes&session.NoteHungUp != 0 && m.hasRoom() {
			m.printf("    Note over C,S: the client hung up, %d %s is cancelled\n", c.Ref.Seq, words(view.NewTitle(c.Method, c.Subject).Name))
		}
	}
	return m.err
}

func (m *mermaidWriter) hasRoom() bool { return m.size <= maxMermaid }

// unanswered draws the missing responses.
func (m *mermaidWriter) unanswered(calls []*session.Call) {
	for _, c := range calls {
		switch {
		case !c.Status.Unanswered() && c.Notes&session.NoteNoMessage == 0:
		case m.hasRoom():
			m.missing(c)
		default:
			m.silent++
		}
	}
}

// missing draws the missing response, or what the call is waiting for.
func (m *mermaidWriter) missing(c *session.Call) {
	from, to := ends(c.Lane)
	title := words(view.NewTitle(c.Method, c.Subject).Name)
	switch last, ok := c.Waits(); {
	case c.Notes&session.NoteNoMessage != 0:
		m.printf("    %s--x%s: %d %s\n", to, from, c.Answer.Seq, words(c.ErrorText))
	case ok:
		m.printf("    %s--x%s: no response to %d %s\n", to, from, last.Message.Seq, title)
	case c.Status == session.CallInputRequired:
		m.printf("    Note over C,S: %d %s still requires input\n", c.Ref.Seq, title)
	default:
		m.printf("    Note over C,S: the task of %d %s has not ended\n", c.Ref.Seq, title)
	}
}

// ends returns the sender and the receiver of a message.
func ends(lane tap.Lane) (from, to string) {
	if lane == tap.ToClient {
		return "S", "C"
	}
	return "C", "S"
}

// message draws an arrow: solid for a request, dashed for a response, with an open head for a
// notification, with a cross for a failure.
func (m *mermaidWriter) message(l *view.Row) {
	from, to := ends(l.Part.Lane)
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
			after = " (" + view.Took(l.Part.Latency) + ")"
		}
	case jsonrpc.Invalid:
		arrow, text = "-x", "invalid: "+l.About
	}
	m.printf("    %s%s%s: %d %s%s\n", from, arrow, to, l.Part.Message.Seq, words(text), after)
}

// event draws events that end or break a run.
func (m *mermaidWriter) event(r *session.Entry) {
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
			return
		}
		text = fmt.Sprintf("HTTP %d %s", e.Status, e.Reason)
	default:
		return
	}
	m.printf("    Note over C,S: %d %s\n", r.Frame.Seq, words(text))
}

// Close implements [writer].
func (m *mermaidWriter) Close() error {
	m.unanswered(m.tracker.Open())
	if m.silent > 0 {
		m.printf("    Note over C,S: %d more requests got no response\n", m.silent)
	}
	if m.left > 0 {
		m.printf("    Note over C,S: %d more messages are left out\n", m.left)
	}
	m.printf("```\n")
	return m.err
}

// words makes a text safe for a diagram: it cannot end the line or the code block.
func words(s string) string {
	s = escape.String(strings.TrimSpace(strings.ReplaceAll(s, "\n", " ")))
	if utf8.RuneCountInString(s) > maxWords {
		s = string([]rune(s)[:maxWords-1]) + "…"
	}
	return entities.Replace(s)
}

var entities = strings.NewReplacer("#", "#35;", ";", "#59;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "\\", "#92;", "`", "#96;",
	"$", "#36;", "%", "#37;", "{", "#123;", "}", "#125;")
