package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/view"
)

// eventText says in a row what an event of the run is about, and what went
// wrong.
func eventText(e *tap.Event) (about, fault string) {
	switch e.Name {
	case tap.EventStart:
		return joinWords(" ", strings.Join(e.Command, " "), joinWords(" in front of ", e.Listen, e.Upstream)), ""
	case tap.EventSpawnFailed:
		return strings.Join(e.Command, " "), e.Error
	case tap.EventEOF:
		return laneWords(e.Lane), e.Error
	case tap.EventBroken:
		if e.Bytes > 0 {
			fault = fmt.Sprintf("%d bytes not delivered", e.Bytes)
		}
		return laneWords(e.Lane), joinWords(", ", e.Error, fault)
	case tap.EventSignal:
		return e.Signal, ""
	case tap.EventExit:
		return exitText(e)
	case tap.EventGap:
		return "", gapText(e)
	}
	return httpText(e)
}

// laneWords names a lane for a person.
func laneWords(lane string) string {
	switch lane {
	case tap.ToServer.String():
		return "client to server"
	case tap.ToClient.String():
		return "server to client"
	}
	return lane
}

func exitText(e *tap.Event) (about, fault string) {
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

func gapText(e *tap.Event) string {
	var frames, size string
	if e.From != 0 {
		frames = fmt.Sprintf("frames %d to %d are missing", e.From, e.To)
	}
	if e.Bytes > 0 {
		size = fmt.Sprintf("%d bytes crossed unrecorded", e.Bytes)
	}
	return joinWords(", ", frames, size, e.Error)
}

// httpText does so for the events of HTTP.
func httpText(e *tap.Event) (about, fault string) {
	var by string
	if e.By != "" {
		by = "by the " + e.By
	}
	switch e.Name {
	case tap.EventConnect:
		return e.Remote, e.Error
	case tap.EventDisconnect:
		return by, e.Error
	case tap.EventRequest:
		return joinWords(", after ", joinWords(" ", e.Method, e.Target), headerOf(e, "Last-Event-ID")), e.Error
	case tap.EventResponse:
		status := joinWords(" ", fmt.Sprint(e.Status), e.Reason)
		if e.By == "tap" {
			status += ", by mcptap itself"
		}
		status = joinWords(", ", status, e.Error, telling(e))
		if e.Status >= 400 || e.Error != "" {
			return "", status
		}
		return status, ""
	case tap.EventRewrite:
		return joinWords(": ", e.What, joinWords(" became ", e.Before, e.After)), e.Error
	case tap.EventEnd:
		var size string
		if e.BytesUp > 0 || e.BytesDown > 0 {
			size = fmt.Sprintf("%d bytes up, %d down", e.BytesUp, e.BytesDown)
		}
		if e.HalfClosed {
			by = "after the client hung up"
		}
		return joinWords(", ", size, by, firstByte(e)), e.Error
	}
	return "", e.Error
}

// firstByte says how long the answer took to begin.
func firstByte(e *tap.Event) string {
	if e.FirstByte <= 0 {
		return ""
	}
	return "first byte after " + e.FirstByte.Round(10*time.Microsecond).String()
}

// telling is the field of a response's head that says what the client is to do:
// a 401 has a challenge.
func telling(e *tap.Event) string {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return headerOf(e, "WWW-Authenticate")
	case http.StatusMethodNotAllowed:
		if allowed := headerOf(e, "Allow"); allowed != "" {
			return "only " + allowed
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if after := headerOf(e, "Retry-After"); after != "" {
			return "again after " + after
		}
	}
	if e.Status >= 300 && e.Status < 400 {
		return headerOf(e, "Location")
	}
	return ""
}

// endedText says what the end of an exchange means for the calls that it brought.
func endedText(calls []view.Ended) string {
	var words []string
	for _, c := range calls {
		how := ""
		switch {
		case c.Notes&tap.NoteRefused != 0:
			how = "is refused"
		case c.Notes&tap.NoteHungUp != 0:
			how = "is cancelled"
		case c.Notes&tap.NoteStreamEnded != 0 && !c.Settled:
			how = "gets no answer"
		default:
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

// maxEnded is how many calls of an exchange its end names.
const maxEnded = 3

// headerOf is the first value of a header of an event, "" if there is none.
func headerOf(e *tap.Event, name string) string {
	for _, h := range e.Header {
		if strings.EqualFold(h[0], name) {
			return h[1]
		}
	}
	return ""
}
