package streamable

import (
	"strconv"
	"strings"
)

// A framing determines the end of a body (RFC 9112, 6.3).
type framing uint8

const (
	noBody      framing = iota
	lengthBody          // Content-Length
	chunkedBody         // Transfer-Encoding: chunked
	closeBody           // until the connection ends
)

// requestFraming returns the framing of a request body, and the length of a [lengthBody].
// It refuses everything that readers may interpret differently, which request smuggling
// relies on.
func requestFraming(h *head, proto string) (framing, uint64, *refusal) {
	var codings []string
	for f := range h.all("Transfer-Encoding") {
		codings = append(codings, f.value)
	}
	lengths, length := 0, ""
	for f := range h.all("Content-Length") {
		lengths, length = lengths+1, f.value
	}
	switch {
	case len(codings) > 0 && lengths > 0:
		return 0, 0, refusef(400, "it has both Transfer-Encoding and Content-Length")
	case len(codings) > 0 && proto == "HTTP/1.0":
		return 0, 0, refusef(400, "it is HTTP/1.0 and has Transfer-Encoding")
	case len(codings) > 0 && !endsChunked(strings.Join(codings, ",")):
		return 0, 0, refusef(400, "its Transfer-Encoding does not end in one chunked")
	case len(codings) > 0:
		return chunkedBody, 0, nil
	case lengths > 1:
		return 0, 0, refusef(400, "it has Content-Length %d times", lengths)
	case lengths == 0:
		return noBody, 0, nil
	}
	n, ok := parseLength(length)
	switch {
	case !ok:
		return 0, 0, refusef(400, "its Content-Length is invalid")
	case n == 0:
		return noBody, 0, nil
	}
	return lengthBody, n, nil
}

// endsChunked reports whether a list consists of tokens, of which only the last is chunked.
func endsChunked(codings string) bool {
	list := strings.Split(codings, ",")
	for i, e := range list {
		e = strings.Trim(e, " \t")
		if !isToken(e) || strings.EqualFold(e, "chunked") != (i == len(list)-1) {
			return false
		}
	}
	return true
}

// parseLength parses a Content-Length, which consists of digits.
func parseLength(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil && len(s) <= 18
}

// responseFraming returns the framing of a response body. It is lenient: only a
// contradictory Content-Length is an error. HTTP/1.0 has no transfer codings.
func responseFraming(h *head, method string, line statusLine) (framing, uint64, error) {
	if method == "HEAD" || line.status < 200 || line.status == 204 || line.status == 304 {
		return noBody, 0, nil
	}
	if codings := h.list("Transfer-Encoding"); len(codings) > 0 && line.proto != "HTTP/1.0" {
		if codings[len(codings)-1] == "chunked" {
			return chunkedBody, 0, nil
		}
		return closeBody, 0, nil
	}
	lengths := h.list("Content-Length")
	if len(lengths) == 0 {
		return closeBody, 0, nil
	}
	n, ok := parseLength(lengths[0])
	for _, other := range lengths[1:] {
		ok = ok && other == lengths[0]
	}
	switch {
	case !ok:
		return 0, 0, refusef(502, "the Content-Length of the response is invalid")
	case n == 0:
		return noBody, 0, nil
	}
	return lengthBody, n, nil
}

// contentCodings returns the content codings of a body, in the order in which they were
// applied.
func contentCodings(h *head) []string {
	var out []string
	for _, name := range []string{"Content-Encoding", "Transfer-Encoding"} {
		for _, c := range h.list(name) {
			if c != "identity" && c != "chunked" {
				out = append(out, strings.TrimPrefix(c, "x-"))
			}
		}
	}
	return out
}

// mediaType returns the media type of a body without parameters, in lower case.
func mediaType(h *head) string {
	t, _, _ := strings.Cut(h.get("Content-Type"), ";")
	return strings.ToLower(strings.Trim(t, " \t"))
}

// isUpgrade reports whether a request asks for another protocol (RFC 9110, 7.8).
func isUpgrade(h *head) bool {
	for _, c := range h.list("Connection") {
		if c == "upgrade" {
			return h.get("Upgrade") != ""
		}
	}
	return false
}

func isJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}
