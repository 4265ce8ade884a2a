// Package report prints what a replay could not play as recorded, and the responses to changed
// requests.
package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/listing"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/replay/client"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
	"github.com/mcptap/mcptap/tap/view"
)

// A Report describes the outcome of a replay.
type Report struct {
	Of string // the name of the recording that was played
	// ID and Path are those of the new recording, "" if it is not kept.
	ID, Path string
	Requests int // in the plan
	Notes    []client.Note
	// Stderr has the last lines that the server wrote to stderr, if it left requests
	// unanswered.
	Stderr []string
}

// jsonHead is the first line of `replay --json`. It is followed by a jsonNote for each note.
// The names are stable.
type jsonHead struct {
	V    int    `json:"v"`
	Type string `json:"type"` // "replay"
	Of   string `json:"of"`
	// ID and Path are those of the new recording, absent with --no-save.
	ID       string `json:"id,omitempty"`
	Path     string `json:"path,omitempty"`
	Requests int    `json:"requests"`
}

type jsonNote struct {
	V       int    `json:"v"`
	Type    string `json:"type"` // "note"
	Kind    string `json:"kind"`
	Frame   uint64 `json:"frame,omitempty"`
	Method  string `json:"method,omitempty"`
	Subject string `json:"subject,omitempty"`
	Text    string `json:"text"`
	// Frames are all frames concerned, for kinds of notes that may concern several.
	Frames []uint64 `json:"frames,omitempty"`
}

// jsonStderr is a line that the server wrote to stderr. The names are stable.
type jsonStderr struct {
	V    int    `json:"v"`
	Type string `json:"type"` // "stderr"
	Text string `json:"text"`
}

// maxNotes limits the notes shown to a person.
const maxNotes = 50

// Say prints the notes as lines, for comparison formats that cannot contain them.
func (r *Report) Say(say func(line string)) {
	for i, n := range r.Notes {
		if i == maxNotes {
			say(fmt.Sprintf("and %d more notes", len(r.Notes)-i))
			break
		}
		say(n.Text)
	}
	for _, line := range r.Stderr {
		say("the server wrote to stderr: " + line)
	}
}

// JSON prints the report for a program.
func (r *Report) JSON(l *term.Printer) error {
	err := term.WriteJSON(l.W, jsonHead{V: text.Version, Type: "replay", Of: r.Of, ID: r.ID, Path: r.Path, Requests: r.Requests})
	for _, n := range r.Notes {
		if err == nil {
			line := jsonNote{V: text.Version, Type: "note", Kind: n.Kind.String(), Frame: n.Frame.Seq, Method: n.Method, Subject: n.Subject, Text: n.Text}
			for _, ref := range n.Requests {
				line.Frames = append(line.Frames, ref.Seq)
			}
			err = term.WriteJSON(l.W, line)
		}
	}
	for _, line := range r.Stderr {
		err = errors.Join(err, term.WriteJSON(l.W, jsonStderr{V: text.Version, Type: "stderr", Text: line}))
	}
	return err
}

// Text prints the report for a person.
func (r *Report) Text(l *term.Printer) error {
	if len(r.Notes) == 0 {
		return nil
	}
	l.Printf("%s\n", l.Paint(fmt.Sprintf("REPLAY (%d)", len(r.Notes)), term.Bold))
	for i, n := range r.Notes {
		if i == maxNotes {
			l.Printf("  and %d more, see --json\n", len(r.Notes)-i)
			break
		}
		l.Printf("  %s\n", l.Paint(escape.String(n.Text), style(n.Kind)))
	}
	for i, line := range r.Stderr {
		if i == 0 {
			l.Printf("  last lines of the server on stderr:\n")
		}
		l.Printf("%s\n", l.Paint(term.Fit("    "+escape.String(line), l.Width), term.Dim))
	}
	l.Printf("\n")
	return l.Err
}

// style returns the style of a note. Failures are red.
func style(k client.NoteKind) term.Style {
	switch k {
	case client.NoteTimeout, client.NoteDied, client.NoteUnsent, client.NoteRefused, client.NoteUnknown, client.NoteVersion:
		return term.Red
	}
	return term.Dim
}

// Lost returns the requests that the live server did not answer or did not receive, each with
// the reason if known. What ended the session is given as the reason once: for the requests
// that waited then, or else for the first one that was not sent. If nothing ended the session,
// it was never opened.
func Lost(notes []client.Note) map[session.Ref]string {
	lost := map[session.Ref]string{}
	died := "the session was not opened"
	for _, n := range notes {
		switch n.Kind {
		case client.NoteTimeout:
			lost[n.Frame] = "it was not answered in time"
		case client.NoteRefused:
			if _, why, ok := strings.Cut(n.Text, " got no response: "); ok && n.Frame != (session.Ref{}) {
				lost[n.Frame] = why
			} // else the answer was an error, which is compared
		case client.NoteDied:
			died = n.Text
			for _, ref := range n.Requests {
				lost[ref], died = n.Text, ""
			}
		case client.NoteUnsent:
			for _, ref := range n.Requests {
				lost[ref], died = died, ""
			}
		}
	}
	return lost
}

// A Resent is a recorded request that was changed and sent.
type Resent struct {
	Call  session.Ref
	Frame session.Ref // the request of the call that was changed
	Sent  []byte
	// Recorded and Now are the frames of the recorded response and of the live one. Then and
	// Response are their messages, nil for none.
	Recorded, Now  session.Part
	Then, Response []byte
	// RecordedStatus and Status are the HTTP statuses with which the request was refused, as text
	// with the frame, "" for none.
	RecordedStatus, Status string
	In                     string // the id of the recording with the live response, "" if it is not kept
}

// OK reports whether the live response is a success.
func (x *Resent) OK() bool {
	m := jsonrpc.Peek(x.Response)
	return x.Response != nil && !m.IsFailure()
}

// jsonResent is a changed call in `replay --set --json`. The names are stable.
type jsonResent struct {
	V    int    `json:"v"`
	Type string `json:"type"` // "resent"
	Call uint64 `json:"call"` // the frame of the recorded request
	// Request is the request sent, Recorded and Response are the two responses, all as
	// text; a missing response is absent.
	Request  string  `json:"request"`
	Recorded *string `json:"recorded,omitempty"`
	Response *string `json:"response,omitempty"`
	// RecordedStatus and Status are present if the request was refused with an HTTP status.
	RecordedStatus string `json:"recorded_status,omitempty"`
	Status         string `json:"status,omitempty"`
}

// JSON prints the request and its responses for a program.
func (x *Resent) JSON(w io.Writer) error {
	text := func(b []byte) *string {
		if b == nil {
			return nil
		}
		s := string(b)
		return &s
	}
	return term.WriteJSON(w, jsonResent{V: 1, Type: "resent", Call: x.Call.Seq, Request: string(x.Sent), Recorded: text(x.Then), Response: text(x.Response),
		RecordedStatus: x.RecordedStatus, Status: x.Status})
}

// Text prints the request, the recorded response and the live response.
func (x *Resent) Text(l *term.Printer) error {
	l.Printf("%s\n\n", l.Paint(fmt.Sprintf("request #%d, changed", x.Frame.Seq), term.Bold))
	message(l, x.Sent)
	response(l, "recorded response", &x.Recorded, x.Then, x.RecordedStatus)
	name := "response now"
	if x.In != "" {
		name += ", in " + x.In
	}
	response(l, name, &x.Now, x.Response, x.Status)
	return l.Err
}

func response(l *term.Printer, name string, p *session.Part, raw []byte, status string) {
	if raw == nil {
		l.Printf("\n%s: %s\n", name, cmp.Or(status, "none"))
		return
	}
	l.Printf("\n%s: #%d after %s\n\n", name, p.Message.Seq, view.Took(p.Latency.Round(time.Microsecond)))
	message(l, raw)
}

// message prints a message with one member per line.
func message(l *term.Printer, raw []byte) {
	p := &listing.Pretty{W: l.W, Paint: l.Palette}
	_, err := p.Write(raw)
	l.Err = cmp.Or(l.Err, err, p.Close())
}
