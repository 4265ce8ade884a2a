package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/mcptap/mcptap/replay/client"
	"github.com/mcptap/mcptap/tap/session"
)

// jsonReplay is the first line of `replay --json`, jsonReplayNote one for each note.
// The names are stable.
type jsonReplay struct {
	V    int    `json:"v"`
	Type string `json:"type"` // "replay"
	Of   string `json:"of"`
	// ID and Path are the new recording's.
	ID       string `json:"id"`
	Path     string `json:"path"`
	Requests int    `json:"requests"`
}

type jsonReplayNote struct {
	V       int    `json:"v"`
	Type    string `json:"type"` // "note"
	Kind    string `json:"kind"`
	Frame   uint64 `json:"frame,omitempty"`
	Method  string `json:"method,omitempty"`
	Subject string `json:"subject,omitempty"`
	Text    string `json:"text"`
	// Frames are all that it is about, where those may be several.
	Frames []uint64 `json:"frames,omitempty"`
}

// maxReplayNotes is how many notes are told to a person.
const maxReplayNotes = 50

// head is what the report says of the replay itself: what could not be done as
// recorded. Formats that have no place for that leave it to stderr.
func (r *replayer) head() func(io.Writer, palette) error {
	switch r.o.diff.format {
	case jsonFormat:
		return r.jsonHead
	case "", "text":
		return r.textHead
	}
	for i, n := range r.notes {
		if i == maxReplayNotes {
			r.a.say(fmt.Sprintf("replay: and %d notes more", len(r.notes)-i))
			break
		}
		r.a.say("replay: " + n.Text)
	}
	return nil
}

func (r *replayer) jsonHead(w io.Writer, _ palette) error {
	err := writeJSON(w, jsonReplay{V: jsonVersion, Type: "replay", Of: r.from.name, ID: r.id, Path: r.made, Requests: r.requests})
	for _, n := range r.notes {
		if err == nil {
			line := jsonReplayNote{V: jsonVersion, Type: "note", Kind: n.Kind.String(), Frame: n.Frame.Seq, Method: n.Method, Subject: n.Subject, Text: n.Text}
			for _, ref := range n.Requests {
				line.Frames = append(line.Frames, ref.Seq)
			}
			err = writeJSON(w, line)
		}
	}
	return err
}

func (r *replayer) textHead(w io.Writer, p palette) error {
	if len(r.notes) == 0 {
		return nil
	}
	l := lines{w: w}
	l.printf("%s\n", p.paint(fmt.Sprintf("REPLAY (%d)", len(r.notes)), bold))
	for i, n := range r.notes {
		if i == maxReplayNotes {
			l.printf("  and %d more, see --json\n", len(r.notes)-i)
			break
		}
		l.printf("  %s\n", p.paint(escape(n.Text), replayStyle(n.Kind)))
	}
	l.printf("\n")
	return l.err
}

// replayStyle is how a note is painted: what failed stands out.
func replayStyle(k client.NoteKind) style {
	switch k {
	case client.NoteTimeout, client.NoteDied, client.NoteUnsent, client.NoteRefused, client.NoteUnknown, client.NoteVersion:
		return red
	}
	return dim
}

// lostRequests are the requests that the live server did not answer, or was not asked,
// with what is known of why. What ended the session is said once: of the requests that
// waited then, else of the first that was not sent. Where nothing ended it, it had not
// been opened.
func lostRequests(notes []client.Note) map[session.Ref]string {
	lost := map[session.Ref]string{}
	died := "the session was not opened"
	for _, n := range notes {
		switch n.Kind {
		case client.NoteTimeout:
			lost[n.Frame] = "it was not answered in time"
		case client.NoteRefused:
			if _, why, ok := strings.Cut(n.Text, " was not answered: "); ok && n.Frame != (session.Ref{}) {
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
