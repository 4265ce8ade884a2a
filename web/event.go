package web

import (
	"fmt"
	"strings"

	"github.com/mcptap/mcptap/tap"
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
		return joinWords(" ", e.Method, e.Target), e.Error
	case tap.EventResponse:
		status := joinWords(" ", fmt.Sprint(e.Status), e.Reason, by)
		if e.Status >= 400 {
			return "", joinWords(", ", status, e.Error)
		}
		return status, e.Error
	case tap.EventRewrite:
		return joinWords(": ", e.What, joinWords(" became ", e.Before, e.After)), e.Error
	case tap.EventEnd:
		return by, e.Error
	}
	return "", e.Error
}
