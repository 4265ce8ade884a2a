package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/view"
)

// eventWords says in words what an event is about, and what went wrong. An event
// of a newer program is about its text.
func eventWords(e *tap.Event, text string) (about, fault string) {
	switch e.Name {
	case tap.EventStart:
		if e.Transport == "http" {
			return joinWords(" → ", e.Listen, e.Upstream), ""
		}
		return strings.Join(e.Command, " "), ""
	case tap.EventSpawnFailed:
		return strings.Join(e.Command, " "), e.Error
	case tap.EventEOF:
		return e.Lane, e.Error
	case tap.EventBroken:
		lost := ""
		if e.Bytes > 0 {
			lost = formatSize(int64(e.Bytes)) + " not delivered"
		}
		return e.Lane, joinWords(", ", e.Error, lost)
	case tap.EventSignal:
		return e.Signal, ""
	case tap.EventExit:
		switch {
		case e.Signal != "":
			return "", "ended by " + e.Signal
		case e.Code != nil && *e.Code != 0:
			return "", fmt.Sprintf("code %d", *e.Code)
		case e.Code != nil:
			return "code 0", ""
		}
	case tap.EventGap:
		return "", gapText(e)
	default:
		return httpWords(e, text)
	}
	return "", ""
}

// httpWords are those of the events of an HTTP recording.
func httpWords(e *tap.Event, text string) (about, fault string) {
	switch e.Name {
	case tap.EventRequest:
		return joinWords(", ", joinWords(" ", e.Method, e.Target), after(field(e, "Last-Event-ID"))), e.Error
	case tap.EventResponse:
		reason := e.Reason
		if reason == "" {
			reason = http.StatusText(e.Status)
		}
		status := joinWords(" ", strconv.Itoa(e.Status), reason)
		if e.By == "tap" {
			status += ", by mcptap itself"
		}
		status = joinWords(": ", status, e.Error, telling(e))
		if e.Status >= 400 || e.Error != "" {
			return "", status
		}
		return status, ""
	case tap.EventEnd:
		if e.Error != "" { // which says by whom
			return "", e.Error
		}
		if e.BytesUp > 0 || e.BytesDown > 0 {
			about = fmt.Sprintf("%s up, %s down", formatSize(int64(e.BytesUp)), formatSize(int64(e.BytesDown)))
		}
		if e.FirstByte > 0 {
			about = joinWords(", ", about, "first byte after "+formatDuration(e.FirstByte))
		}
		if e.HalfClosed {
			return joinWords(", ", "after the client hung up", about), ""
		}
		return joinWords(", ", about, by(e)), ""
	case tap.EventConnect:
		return e.Remote, e.Error
	case tap.EventDisconnect:
		if e.Error != "" {
			return "", joinWords(", ", by(e), e.Error)
		}
		return by(e), ""
	case tap.EventRewrite:
		return joinWords(": ", e.What, joinWords(" → ", e.Before, e.After)), e.Error
	}
	return text, e.Error
}

// endedWords says what the end of an exchange means for the calls that it brought.
func endedWords(calls []view.Ended) string {
	var words []string
	for _, c := range calls {
		how := endedHow(c)
		if how == "" {
			continue
		}
		if len(words) == 3 { // of a batch
			return strings.Join(append(words, "…"), ", ")
		}
		words = append(words, fmt.Sprintf(map[string]string{
			"cancelled": "#%d is cancelled", "lost": "#%d gets no answer", "refused": "#%d is refused",
		}[how], c.Call.Seq))
	}
	return strings.Join(words, ", ")
}

// endedHow names what became of a call, "" for nothing that an exchange does.
func endedHow(c view.Ended) string {
	switch {
	case c.Notes&tap.NoteRefused != 0:
		return "refused"
	case c.Notes&tap.NoteHungUp != 0:
		return "cancelled"
	case c.Notes&tap.NoteStreamEnded != 0 && !c.Settled:
		return "lost"
	}
	return ""
}

// telling is the field of a response's head that says what the client is to do:
// a 401 has a challenge.
func telling(e *tap.Event) string {
	switch {
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		return field(e, "WWW-Authenticate")
	case e.Status == http.StatusMethodNotAllowed:
		if allowed := field(e, "Allow"); allowed != "" {
			return "only " + allowed
		}
	case e.Status == http.StatusTooManyRequests, e.Status == http.StatusServiceUnavailable:
		return after(field(e, "Retry-After"))
	case e.Status >= 300 && e.Status < 400:
		return field(e, "Location")
	}
	return ""
}

// field is the value of a field of a head, "" if there is none.
func field(e *tap.Event, name string) string {
	for _, h := range e.Header {
		if strings.EqualFold(h[0], name) {
			return h[1]
		}
	}
	return ""
}

func after(what string) string {
	if what == "" {
		return ""
	}
	return "after " + what
}

// by says who ended something.
func by(e *tap.Event) string {
	if e.By == "" {
		return ""
	}
	return "by the " + e.By
}

// joinWords joins what is not empty.
func joinWords(sep string, words ...string) string {
	kept := words[:0]
	for _, w := range words {
		if w != "" {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, sep)
}

func gapText(e *tap.Event) string {
	missing, crossed := "", ""
	if e.From != 0 {
		missing = fmt.Sprintf("frames %d to %d are missing", e.From, e.To)
	}
	if e.Bytes > 0 {
		crossed = formatSize(int64(e.Bytes)) + " crossed unrecorded"
	}
	return joinWords(", ", missing, crossed, e.Error)
}
