package view

import (
	"fmt"
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// EventWords reports what an event of the run is about, and what went wrong. The
// texts hold what was recorded as it is; they must be escaped where they are shown. Of an
// event of a newer program only the failure is known.
func EventWords(e *tap.Event) (about, fault string) { return eventWords(e, "") }

// eventWords does so with a text for what it knows nothing of.
func eventWords(e *tap.Event, text string) (about, fault string) {
	switch e.Name {
	case tap.EventStart:
		return JoinWords(" ", strings.Join(e.Command, " "), JoinWords(" → ", e.Listen, e.Upstream)), ""
	case tap.EventSpawnFailed:
		return strings.Join(e.Command, " "), e.Error
	case tap.EventEOF:
		return laneWords(e.Lane), e.Error
	case tap.EventBroken:
		lost := ""
		if e.Bytes > 0 {
			lost = Size(e.Bytes) + " not delivered"
		}
		return laneWords(e.Lane), JoinWords(", ", e.Error, lost)
	case tap.EventSignal:
		return e.Signal, ""
	case tap.EventExit:
		return exitWords(e)
	case tap.EventGap:
		return "", gapWords(e)
	}
	return httpWords(e, text)
}

// laneWords names the lane of an event.
func laneWords(lane string) string {
	switch lane {
	case tap.ToServer.String():
		return "client to server"
	case tap.ToClient.String():
		return "server to client"
	}
	return lane
}

func exitWords(e *tap.Event) (about, fault string) {
	switch {
	case e.Signal != "":
		return "", "ended by " + e.Signal
	case e.Code != nil && *e.Code != 0:
		return "", fmt.Sprintf("code %d", *e.Code)
	case e.Code != nil:
		return "code 0", ""
	}
	return "", ""
}

func gapWords(e *tap.Event) string {
	missing, crossed := "", ""
	if e.From != 0 {
		missing = fmt.Sprintf("frames %d to %d are missing", e.From, e.To)
	}
	if e.Bytes > 0 {
		crossed = Size(e.Bytes) + " crossed unrecorded"
	}
	return JoinWords(", ", missing, crossed, e.Error)
}

// wordsOf are those of an event's row: with what it means for calls and streams.
// That stands first where there is no room for all.
func wordsOf(r *session.Entry, ended []Ended) (about, fault string) {
	e := &r.Event
	about, fault = eventWords(e, beginning(r.Frame.Raw))
	if r.Resumes != 0 {
		about = JoinWords(", ", about, fmt.Sprintf("goes on with the stream of #%d", r.Resumes))
	}
	outcome := endedWords(ended)
	switch {
	case !r.Failed: // a 401, say, as the specification expects it
		return JoinWords(", ", outcome, about, fault), ""
	case outcome != "" || e.Name == tap.EventEnd: // how many bytes it had matters less
		about = ""
	}
	return about, JoinWords(", ", fault, outcome)
}

// maxEnded is how many calls of an exchange its end names.
const maxEnded = 3

// endedWords reports what the end of an exchange means for the calls that it
// brought.
func endedWords(calls []Ended) string {
	var words []string
	for _, c := range calls {
		how, ok := map[string]string{"cancelled": "is cancelled", "lost": "gets no answer", "refused": "is refused"}[c.How()]
		if !ok {
			continue
		}
		if len(words) == maxEnded { // of a batch
			words = append(words, "…")
			break
		}
		words = append(words, fmt.Sprintf("#%d %s", c.Call.Seq, how))
	}
	return strings.Join(words, ", ")
}

// How names what became of the call: refused, cancelled, lost, or "" for nothing
// that an exchange does.
func (c *Ended) How() string {
	switch {
	case c.Notes&session.NoteRefused != 0:
		return "refused"
	case c.Notes&session.NoteHungUp != 0:
		return "cancelled"
	case c.Notes&session.NoteStreamEnded != 0 && !c.Settled:
		return "lost"
	}
	return ""
}

// JoinWords joins those of the texts that are not empty.
func JoinWords(sep string, words ...string) string {
	kept := make([]string, 0, len(words))
	for _, w := range words {
		if w != "" {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, sep)
}
