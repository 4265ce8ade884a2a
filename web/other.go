package web

import (
	"encoding/binary"
	"fmt"

	"github.com/mcptap/mcptap/tap"
)

// otherText says what a frame is that carries no message: the name of its sort,
// for the page, and what it is about. Both are "" where that is not known.
func otherText(f *tap.Frame) (kind, about string) {
	switch f.Form {
	case tap.FormEvent:
		if f.Whole() {
			return sseText(f.Raw)
		}
	case tap.FormBody:
		return "body", ""
	case tap.FormBinary, tap.FormBytes:
		return "bytes", ""
	case tap.FormPing:
		return "ping", ""
	case tap.FormPong:
		return "pong", ""
	case tap.FormClose:
		// A status code and a text, or nothing (RFC 6455, 5.5.1).
		if len(f.Raw) >= 2 {
			return "close", joinWords(" ", fmt.Sprint(binary.BigEndian.Uint16(f.Raw)), string(f.Raw[2:]))
		}
		return "close", "without a status"
	}
	return "", ""
}

// sseText does so for a server-sent event. One with an id and no data is how a
// server tells the client early from where it can go on (2025-11-25, transports,
// "Sending Messages to the Server"); comments alone keep a connection open.
func sseText(raw []byte) (kind, about string) {
	e := tap.ParseServerSentEvent(raw)
	again := ""
	if e.Retry != "" {
		again = "reconnect after " + e.Retry + " ms"
	}
	switch {
	case len(e.Data) > 0:
		kind = "event"
		if e.Name == "endpoint" { // of HTTP+SSE: where the client is to post
			return e.Name, string(e.Data)
		}
		return kind, joinWords(": ", e.Name, string(e.Data))
	case e.HasID && e.ID != "":
		return "priming", joinWords(", ", "no data, resume from id "+e.ID, again)
	case e.Comments != nil:
		return "comment", joinWords(", ", string(e.Comments), again)
	}
	return "event", joinWords(", ", "no data", e.Name, again)
}
