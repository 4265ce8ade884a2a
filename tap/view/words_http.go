package view

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/tap"
)

// httpWords are the words of the events of an HTTP recording.
func httpWords(e *tap.Event, text string) (about, fault string) {
	switch e.Name {
	case tap.EventConnect:
		return e.Remote, e.Error
	case tap.EventDisconnect:
		if e.Error != "" {
			return "", JoinWords(", ", by(e), e.Error)
		}
		return by(e), ""
	case tap.EventRequest:
		about = JoinWords(" ", e.Method, e.Target)
		if id := headerOf(e, "Last-Event-ID"); id != "" {
			about += ", after " + id
		}
		return about, e.Error
	case tap.EventResponse:
		return responseWords(e)
	case tap.EventRewrite:
		return JoinWords(": ", e.What, JoinWords(" → ", e.Before, e.After)), e.Error
	case tap.EventEnd:
		return endWords(e), e.Error
	}
	return text, e.Error
}

// by names the side that did it.
func by(e *tap.Event) string {
	if e.By == "" {
		return ""
	}
	return "by the " + e.By
}

// responseWords are those of a head. A status that refuses is a failure.
func responseWords(e *tap.Event) (about, fault string) {
	reason := e.Reason
	if reason == "" {
		reason = reasons[e.Status]
	}
	status := JoinWords(" ", strconv.Itoa(e.Status), reason)
	if e.By == "tap" {
		status += ", by mcptap itself"
	}
	status = JoinWords(": ", status, e.Error, telling(e))
	if e.Status >= 400 || e.Error != "" {
		return "", status
	}
	return status, ""
}

// endWords report how much an exchange was, how long its answer took to begin, and
// the side that ended it, which an error names too.
func endWords(e *tap.Event) string {
	var size, first, whose string
	if e.BytesUp > 0 || e.BytesDown > 0 {
		size = fmt.Sprintf("%s up, %s down", Size(e.BytesUp), Size(e.BytesDown))
	}
	if e.FirstByte > 0 {
		first = "first byte after " + Took(e.FirstByte)
	}
	switch {
	case e.HalfClosed:
		return JoinWords(", ", "after the client hung up", size, first)
	case e.Error == "":
		whose = by(e)
	}
	return JoinWords(", ", size, first, whose)
}

// telling is the field of a response's head that reports what the client is to do:
// a 401 has a challenge.
func telling(e *tap.Event) string {
	switch e.Status {
	case 401, 403:
		return headerOf(e, "WWW-Authenticate")
	case 405:
		if allowed := headerOf(e, "Allow"); allowed != "" {
			return "only " + allowed
		}
	case 429, 503:
		after := headerOf(e, "Retry-After")
		switch {
		case after == "":
		case strings.Trim(after, "0123456789") == "": // else it is a date (RFC 9110, 10.2.3)
			return "again after " + after + " s"
		default:
			return "again after " + after
		}
	}
	if e.Status >= 300 && e.Status < 400 {
		return headerOf(e, "Location")
	}
	return ""
}

// headerOf is the first value of a header of an event, "" if there is none.
func headerOf(e *tap.Event, name string) string {
	for _, h := range e.Header {
		if strings.EqualFold(h[0], name) {
			return h[1]
		}
	}
	return ""
}

// reasons are the phrases of RFC 9110, 15, and of those that extend it, for what
// came without: HTTP/2 has none. Package net/http, which has them too, is no
// package for this floor.
var reasons = map[int]string{
	100: "Continue", 101: "Switching Protocols", 103: "Early Hints",
	200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content", 205: "Reset Content", 206: "Partial Content",
	300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
	307: "Temporary Redirect", 308: "Permanent Redirect",
	400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
	406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required",
	412: "Precondition Failed", 413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable",
	417: "Expectation Failed", 421: "Misdirected Request", 422: "Unprocessable Content", 425: "Too Early", 426: "Upgrade Required",
	428: "Precondition Required", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
	500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
	505: "HTTP Version Not Supported", 511: "Network Authentication Required",
}
