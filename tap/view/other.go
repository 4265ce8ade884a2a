package view

import (
	"encoding/binary"
	"strconv"

	"github.com/mcptap/mcptap/tap"
)

// OtherWords reports what a frame is that carries no message: the name of its sort,
// which is body, bytes, ping, pong, close, event, priming, comment or endpoint,
// and what it is about. about is "" where the payload says it, and both are where
// nothing is known, as of a line on stdio or of an event that is not whole.
// Whoever shows about escapes it.
func OtherWords(f *tap.Frame) (sort, about string) {
	switch f.Form {
	case tap.FormEvent:
		if f.Whole() {
			sort, about = sseWords(f.Raw)
			return sort, beginning([]byte(about))
		}
	case tap.FormBody:
		return "body", ""
	case tap.FormBytes:
		return "bytes", ""
	case tap.FormPing:
		return "ping", ""
	case tap.FormPong:
		return "pong", ""
	case tap.FormClose:
		// A status code and a text, or nothing (RFC 6455, 5.5.1).
		if len(f.Raw) >= 2 {
			code := binary.BigEndian.Uint16(f.Raw)
			return "close", JoinWords(": ", JoinWords(" ", strconv.Itoa(int(code)), closeCodes[code]), beginning(f.Raw[2:]))
		}
		return "close", "without a status"
	}
	return "", ""
}

// closeCodes are what the commonest codes mean (RFC 6455, 7.4.1).
var closeCodes = map[uint16]string{
	1000: "normal closure", 1001: "going away", 1002: "protocol error", 1003: "unsupported data", 1007: "invalid data",
	1008: "policy violation", 1009: "message too big", 1010: "extension missing", 1011: "server error",
}

// sseWords does so for a server-sent event. One with an id and no data is how a
// server gives the client early an id to go on from (2025-11-25, transports,
// "Sending Messages to the Server"); comments alone keep a connection open.
func sseWords(raw []byte) (sort, about string) {
	e := tap.ParseServerSentEvent(raw)
	again := ""
	if e.Retry != "" {
		again = "reconnect after " + e.Retry + " ms"
	}
	switch {
	case len(e.Data) > 0:
		if e.Name == "endpoint" { // of HTTP+SSE: where the client is to post
			return e.Name, beginning(e.Data)
		}
		return "event", JoinWords(": ", e.Name, beginning(e.Data))
	case e.HasID && e.ID != "":
		return "priming", JoinWords(", ", "no data, resume from id "+e.ID, again)
	case e.Comments != nil:
		return "comment", JoinWords(", ", beginning(e.Comments), again)
	}
	return "event", JoinWords(", ", "no data", e.Name, again)
}
