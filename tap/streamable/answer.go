package streamable

import (
	"fmt"
	"slices"

	"github.com/mcptap/mcptap/tap"
)

// reasons are the reason phrases of the responses of the tap itself. The connection ends
// with them.
var reasons = map[int]string{
	400: "Bad Request", 403: "Forbidden", 408: "Request Timeout", 431: "Request Header Fields Too Large", 502: "Bad Gateway",
}

// setOwn makes the tap respond to an exchange itself. An exchange with a response just ends
// with it.
func (tr *traffic) setOwn(ex *exchange, why *refusal) {
	text := why.why
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if why.status != 502 { // of a request that gets a 502, the rest is still recorded
		text = "the request was refused: " + text
		ex.up.over, ex.up.complete = true, true
	}
	ex.own, ex.by, ex.why = why.status, byTap, text
	if !ex.down.over && !slices.Contains(tr.queue, ex) {
		tr.queue = append(tr.queue, ex)
	}
}

// answer records the response of the tap to an exchange, ends the exchange and returns the
// bytes for the client.
func (tr *traffic) answer(ex *exchange) []byte {
	text := "mcptap: " + ex.why + "\n"
	fields := [][2]string{
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Length", fmt.Sprint(len(text))},
		{"Connection", "close"},
	}
	out := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\n", ex.own, reasons[ex.own])
	for _, f := range fields {
		out = fmt.Appendf(out, "%s: %s\r\n", f[0], f[1])
	}
	out = append(out, "\r\n"...)
	tr.rec.Event(ex.n, tap.Event{Name: tap.EventResponse, By: byTap, Proto: "HTTP/1.1",
		Status: ex.own, Reason: reasons[ex.own], Header: fields})
	if ex.method != "HEAD" {
		out = append(out, text...)
		tr.rec.Piece(ex.n, tap.ToClient, tap.FormBody, []byte(text), true)
		ex.down.bytes = uint64(len(text))
	}
	tr.responseOver(ex, true)
	return out
}
