package export

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// Spans converts the calls of one recording to spans, with the names of OpenTelemetry's semantic
// conventions for MCP. The parent of a span is the one in _meta.traceparent of its request, or else
// the call that it belongs to. The calls of a session without a traceparent share a trace. The ids
// depend only on the recording's id.
//
// Memory grows only with the number of open calls.
type Spans struct {
	about   About
	tracker session.Tracker
	traces  map[session.Ref]traced // of open calls
	last    time.Duration
}

// A traced is the position of a call in its trace.
type traced struct {
	spanContext
	parent  string // the id of a span, or ""
	session int
}

// A spanContext identifies a span. Its ids are in hex.
type spanContext struct{ trace, span, state string }

// NewSpans returns a Spans. It does not use about.Facts.
func NewSpans(about About) *Spans {
	return &Spans{about: about, traces: map[session.Ref]traced{}}
}

// Add adds the next frame and returns the spans of the calls that end with it. It does not retain
// the frame.
func (x *Spans) Add(f *tap.Frame) []Span {
	x.last = max(x.last, f.At)
	r := x.tracker.Add(f)
	for i := range r.Parts {
		if p := &r.Parts[i]; p.Role == session.RoleRequest {
			x.begin(r, i, p)
		}
	}
	return x.spans(r.Ended)
}

// Open returns the spans of the calls that have not ended. They end with the recording. Add must not
// be called afterwards.
func (x *Spans) Open() []Span { return x.spans(x.tracker.Open()) }

func (x *Spans) spans(calls []*session.Call) (all []Span) {
	for _, c := range calls {
		all = append(all, x.span(c))
	}
	return all
}

// begin records the trace of a request.
func (x *Spans) begin(r *session.Entry, i int, p *session.Part) {
	m := &r.Message
	if m.Kind == jsonrpc.Batch {
		m = &m.Batch[i]
	}
	up := traceContext(m.Params)
	if up.span == "" && p.Parent.Seq > 0 {
		if t, ok := x.traces[p.Parent]; ok {
			up.trace = t.trace
		}
		up.span = x.spanID(p.Parent)
	}
	if up.trace == "" {
		up.trace = x.traceID(r.Session)
	}
	x.traces[p.Message] = traced{
		spanContext: spanContext{up.trace, x.spanID(p.Message), up.state}, parent: up.span, session: r.Session,
	}
}

// tracestate matches a tracestate of W3C Trace Context.
var tracestate = regexp.MustCompile(`^` + stateMember + `(?:,` + stateMember + `)*$`)

const (
	stateMember   = `[ \t]*[a-z0-9][a-z0-9_*/@-]*=[ -+\x2d-<>-~]*[!-+\x2d-<>-~][ \t]*`
	maxTracestate = 512
)

// traceContext returns the span in _meta of the params of a request, or the zero value.
func traceContext(params []byte) (c spanContext) {
	if !bytes.Contains(params, []byte(`traceparent`)) {
		return c
	}
	var p struct {
		Meta struct {
			Traceparent string `json:"traceparent"`
			Tracestate  string `json:"tracestate"`
		} `json:"_meta"`
	}
	if json.Unmarshal(params, &p) != nil {
		return c
	}
	trace, span, ok := parseTraceparent(p.Meta.Traceparent)
	if !ok {
		return c
	}
	if len(p.Meta.Tracestate) > maxTracestate || !tracestate.MatchString(p.Meta.Tracestate) {
		p.Meta.Tracestate = ""
	}
	return spanContext{trace, span, p.Meta.Tracestate}
}

// parseTraceparent parses a traceparent of W3C Trace Context. Versions above 00 may have more fields.
func parseTraceparent(s string) (trace, span string, ok bool) {
	fields := strings.SplitN(s, "-", 5)
	if len(fields) < 4 || fields[0] == "ff" || fields[0] == "00" && (len(fields) > 4 || fields[3] > "03") {
		return "", "", false
	}
	for i, size := range []int{2, 32, 16, 2} {
		if len(fields[i]) != size || strings.Trim(fields[i], "0123456789abcdef") != "" {
			return "", "", false
		}
	}
	trace, span = fields[1], fields[2]
	return trace, span, strings.Trim(trace, "0") != "" && strings.Trim(span, "0") != ""
}

// id derives a stable id, which is never all zeros.
func (x *Spans) id(what string, a, b uint64, size int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d/%d", what, x.about.Header.ID, a, b))
	sum[0] |= 1
	return hex.EncodeToString(sum[:size])
}

// traceID returns the trace of the calls of a session without a traceparent.
func (x *Spans) traceID(session int) string { return x.id("trace", uint64(session), 0, 16) }

func (x *Spans) spanID(r session.Ref) string { return x.id("span", r.Seq, uint64(r.Index), 8) }

// targets maps methods to the attribute for the subject of a request; see [jsonrpc.Subject].
var targets = map[string]string{
	"tools/call": "gen_ai.tool.name", "prompts/get": "gen_ai.prompt.name",
	"resources/read": "mcp.resource.uri", "resources/subscribe": "mcp.resource.uri", "resources/unsubscribe": "mcp.resource.uri",
}

// span returns the span of a call that has ended, or of an open one.
func (x *Spans) span(c *session.Call) Span {
	t, ok := x.traces[c.Ref]
	if !ok {
		t.spanContext = spanContext{trace: x.traceID(0), span: x.spanID(c.Ref)}
	}
	delete(x.traces, c.Ref)
	end := x.last
	if c.Status.Settled() {
		end = max(c.End, c.At)
	}
	s := Span{
		TraceID: t.trace, SpanID: t.span, State: t.state, Parent: t.parent, Name: c.Method, Kind: kindClient,
		Start: nanos(x.about.at(c.At)), End: nanos(x.about.at(end)),
	}
	transport, protocol, operation, id, requester := "pipe", "", "", "", ""
	if c.Exchange > 0 {
		transport, protocol = "tcp", "http"
	}
	if c.Method == "tools/call" {
		operation = "execute_tool"
	}
	if in, known := x.tracker.Sessions.Session(t.session); known {
		id = in.Name
	}
	if c.Lane == tap.ToClient {
		requester = "server"
	}
	target := targets[c.Method]
	subject := c.Subject
	switch {
	case target == "":
		subject = ""
	case strings.HasPrefix(target, "gen_ai.") && subject != "":
		s.Name += " " + subject
	}
	s.Attributes = texts("mcp.method.name", c.Method, "jsonrpc.request.id", strings.Trim(string(c.ID), `"`),
		"mcp.protocol.version", string(c.Revision), "network.transport", transport, "network.protocol.name", protocol,
		target, subject, "gen_ai.operation.name", operation, "mcp.session.id", id)
	s.Attributes = append(append(s.Attributes, frameNumber(c.Ref.Seq)), texts("mcptap.asked_by", requester)...)
	setStatus(&s, c)
	for i := range c.Parts {
		p := &c.Parts[i]
		if p.Role != session.RoleRequest && p.Role != session.RoleResponse {
			s.Events = append(s.Events, SpanEvent{
				Name: p.Role.String(), Time: nanos(x.about.at(p.At)),
				Attributes: append(texts("mcp.method.name", p.Method), frameNumber(p.Message.Seq)),
			})
		}
	}
	return s
}

// setStatus describes how a call failed, if it did.
func setStatus(s *Span, c *session.Call) {
	kind, message, code := "", c.ErrorText, ""
	switch c.Status {
	case session.CallDone, session.CallListening: // an open subscription has not failed
		return
	case session.CallError:
		kind, code = cmp.Or(c.ErrorCode, "_OTHER"), c.ErrorCode
	case session.CallToolError:
		kind = "tool_error"
	case session.CallCancelled, session.CallCancelledLate:
		kind, message = "cancelled", c.CancelReason
	default:
		kind, message = "unanswered", "no response was recorded ("+string(c.State(true))+")"
	}
	s.Attributes = append(s.Attributes, texts("rpc.response.status_code", code, "error.type", kind)...)
	s.Status = SpanStatus{Message: message, Code: statusFail}
}
