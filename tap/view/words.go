package view

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// EventWords describes an event of the run, and what went wrong. The texts contain what was
// recorded; escape them before printing. For an event of a newer program only the failure is
// described.
func EventWords(e *tap.Event) (about, fault string) { return eventWords(e, "") }

// eventWords is like EventWords, with a text for an unknown event.
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

// wordsOf returns the words of an event's row. The effect on calls and streams comes first.
func wordsOf(r *session.Entry, ended []Ended) (about, fault string) {
	e := &r.Event
	if e.Name == tap.EventEnd && !r.Failed { // the client may have closed a stream
		plain := *e
		plain.Error, plain.HalfClosed = "", e.HalfClosed && e.Error == ""
		e = &plain
	}
	about, fault = eventWords(e, beginning(r.Frame.Raw))
	if r.Resumes != 0 {
		about = JoinWords(", ", about, fmt.Sprintf("continues the stream of #%d", r.Resumes))
	}
	outcome := endedWords(ended)
	for i, c := range r.Waiting {
		if e.Name != tap.EventHangUp {
			break
		}
		if i == maxEnded {
			outcome = JoinWords(", ", outcome, "…")
			break
		}
		outcome = JoinWords(", ", outcome, fmt.Sprintf("#%d has no response yet", c.Ref.Seq))
	}
	switch {
	case !r.Failed: // such as a 401
		return JoinWords(", ", outcome, about, fault), ""
	case outcome != "" || e.Name == tap.EventEnd: // leave out the number of bytes
		about = ""
	}
	return about, JoinWords(", ", fault, outcome)
}

// maxEnded is the maximum number of calls that the end of an exchange names.
const maxEnded = 3

// endedWords describes the effect of the end of an exchange on its calls.
func endedWords(calls []Ended) string {
	var words []string
	for _, c := range calls {
		how := c.How()
		switch {
		case how == "":
			continue
		case c.Notes&session.NoteNoMessage != 0:
			how = "gets no JSON-RPC response"
		case how == "lost":
			how = "gets no response"
		default:
			how = "is " + how
		}
		if len(words) == maxEnded { // of a batch
			words = append(words, "…")
			break
		}
		words = append(words, fmt.Sprintf("#%d %s", c.Call.Seq, how))
	}
	return strings.Join(words, ", ")
}

// How returns how an exchange ended the call: refused, cancelled, lost, or "" if it did not.
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

// StreamEndWords describes how the stream for the response to a request of some offset
// ended without it.
func StreamEndWords(e *session.StreamEnd, at time.Duration) string {
	how := "the stream ended without the response"
	if e.By == "client" {
		how = "the client hung up"
	}
	return cmp.Or(e.Error, how) + " after " + Took(e.At-at)
}

// CancelWords describes which side cancelled a call, and the reason. The status usually shows the
// cancellation itself.
func CancelWords(c *session.Call) string {
	if c.Notes&session.NoteHungUp != 0 {
		return StreamEndWords(&c.StreamEnd, c.At)
	}
	text := By(c.CancelledBy)
	if c.Status != session.CallCancelled && c.Status != session.CallCancelledLate {
		text = "cancelled " + text
	}
	return JoinWords(": ", text, c.CancelReason)
}

// By names the sender of a lane.
func By(lane tap.Lane) string {
	return "by " + map[tap.Lane]string{tap.ToServer: "the client", tap.ToClient: "the server"}[lane]
}

// Cause returns the description of an error without what SDKs write before the cause. Rows show
// the code and the tool separately.
func Cause(text string) string {
	if m := boilerplate.FindStringSubmatchIndex(text); m != nil && m[1] < len(text) {
		return text[:m[3]] + text[m[1]:]
	}
	return text
}

// boilerplate matches what the row itself puts before a text, and what SDKs put there.
var boilerplate = regexp.MustCompile(`^((?:.{0,80}\bby the (?:client|server): |(?:.{0,40}  )?(?:-?\d+ |isError )?)?)` +
	`(?:McpError: )?(?:MCP error -?\d+: )?(?:(?:Input validation error: )?(?:Invalid arguments for|Error executing) tool [^\s:]+: )?`)

// NoNewlineWords describes a message with [Row.NoNewline].
const NoNewlineWords = "no newline after the message"

// JoinWords joins the texts that are not empty.
func JoinWords(sep string, words ...string) string {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" })
	return strings.Join(words, sep)
}

// httpWords describes the events of an HTTP recording.
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
	case tap.EventHangUp:
		return "the client hung up", ""
	case tap.EventEnd:
		return endWords(e), e.Error
	}
	return text, e.Error
}

// by names the side that caused the event.
func by(e *tap.Event) string {
	if e.By == "" {
		return ""
	}
	return "by the " + e.By
}

// responseWords describes a head. A status that refuses is a failure.
func responseWords(e *tap.Event) (about, fault string) {
	status := JoinWords(" ", strconv.Itoa(e.Status), cmp.Or(e.Reason, reasons[e.Status]))
	if e.By == "tap" {
		status += ", by the tap"
	}
	status = JoinWords(": ", status, e.Error, advice(e))
	if e.Status >= 400 || e.Error != "" {
		return "", status
	}
	return status, ""
}

// endWords describes the size of an exchange, the time until its response, and the side that
// ended it, unless an error names that.
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

// advice returns the field of a response's head with instructions for the client, such as the
// challenge of a 401.
func advice(e *tap.Event) string {
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
			return "retry after " + after + " s"
		default:
			return "retry after " + after
		}
	}
	if e.Status >= 300 && e.Status < 400 {
		return headerOf(e, "Location")
	}
	return ""
}

// headerOf returns the first value of a header of an event, "" if there is none.
func headerOf(e *tap.Event, name string) string {
	for _, h := range e.Header {
		if strings.EqualFold(h[0], name) {
			return h[1]
		}
	}
	return ""
}

// reasons are the phrases of RFC 9110, 15, and of those that extend it, for responses
// without one: HTTP/2 has none. Package net/http has them too, but may not be imported
// here.
var reasons = map[int]string{
	100: "Continue", 101: "Switching Protocols", 103: "Early Hints",
	200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content",
	205: "Reset Content", 206: "Partial Content",
	300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
	307: "Temporary Redirect", 308: "Permanent Redirect",
	400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
	405: "Method Not Allowed",
	406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
	411: "Length Required",
	412: "Precondition Failed", 413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type",
	416: "Range Not Satisfiable",
	417: "Expectation Failed", 421: "Misdirected Request", 422: "Unprocessable Content", 425: "Too Early",
	426: "Upgrade Required",
	428: "Precondition Required", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
	500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
	504: "Gateway Timeout",
	505: "HTTP Version Not Supported", 511: "Network Authentication Required",
}

// Size returns a number of bytes with a unit: 845 B, 1.2 KiB, 64 MiB.
func Size[N int64 | uint64](n N) string {
	for _, u := range []struct {
		name string
		n    float64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		// A value that would round to 1024 of a unit is one of the next.
		if v := float64(n) / u.n; v >= 1 || v*1024 >= 1023.5 {
			if v < 9.95 {
				return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " " + u.name
			}
			return fmt.Sprintf("%.0f %s", v, u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// Took returns a duration in about three digits: 85µs, 1.2ms, 123ms, 4.56s, 1m05s, 2h03m,
// 3d04h.
func Took(d time.Duration) string {
	switch {
	case d < -500*time.Nanosecond: // less is 0µs
		return "-" + Took(-max(d, -math.MaxInt64))
	case d < 0:
		return "0µs"
	case d < 999500*time.Nanosecond:
		return fmt.Sprintf("%.0fµs", float64(d)/1e3)
	case d < 99950*time.Microsecond:
		return fmt.Sprintf("%.1fms", float64(d)/1e6)
	case d < 999500*time.Microsecond:
		return fmt.Sprintf("%.0fms", float64(d)/1e6)
	case d < 9995*time.Millisecond:
		return fmt.Sprintf("%.2fs", float64(d)/1e9)
	case d < 59950*time.Millisecond:
		return fmt.Sprintf("%.1fs", float64(d)/1e9)
	}
	s := int64(math.Round(d.Seconds()))
	switch {
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	}
	return fmt.Sprintf("%dd%02dh", s/86400, s/3600%24)
}
