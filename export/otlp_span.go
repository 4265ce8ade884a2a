package export

import (
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// The members of OTLP/JSON: names in lower camel case, ids in hex, 64-bit numbers
// as texts, enumerations as numbers (OTLP specification, JSON Protobuf encoding).
type (
	otlpTraces struct {
		ResourceSpans []otlpResource `json:"resourceSpans"`
	}
	otlpResource struct {
		Resource   otlpAttributes `json:"resource"`
		ScopeSpans []otlpScope    `json:"scopeSpans"`
	}
	otlpAttributes struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpScope struct {
		Scope otlpName   `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpName struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		String *string `json:"stringValue,omitempty"`
		Int    *string `json:"intValue,omitempty"`
		Bool   *bool   `json:"boolValue,omitempty"`
	}
	otlpSpan struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		State      string          `json:"traceState,omitempty"`
		Parent     string          `json:"parentSpanId,omitempty"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
		Events     []otlpEvent     `json:"events,omitempty"`
		Status     otlpStatus      `json:"status"`
	}
	otlpEvent struct {
		Time       string          `json:"timeUnixNano"`
		Name       string          `json:"name"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
	}
	otlpStatus struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code,omitempty"`
	}
)

const (
	kindClient = 3
	statusFail = 2
)

func text(key, value string) otlpAttribute {
	return otlpAttribute{Key: key, Value: otlpValue{String: &value}}
}

func number(key string, n uint64) otlpAttribute {
	s := strconv.FormatUint(n, 10)
	return otlpAttribute{Key: key, Value: otlpValue{Int: &s}}
}

// texts leaves out those that are empty.
func texts(pairs ...string) (list []otlpAttribute) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, text(pairs[i], pairs[i+1]))
		}
	}
	return list
}

func (o *OTLP) resource() []otlpAttribute {
	f := &o.about.Facts
	service := f.Client.Name
	if service == "" {
		service = "mcp-client"
	}
	return texts("service.name", service, "service.version", f.Client.Version, "mcptap.recording.id", o.about.Header.ID,
		"mcptap.recording.label", o.about.Header.Label, "mcptap.server.name", f.Server.Name, "mcptap.server.version", f.Server.Version)
}

func (o *OTLP) time(at time.Duration) string { return strconv.FormatInt(o.about.at(at).UnixNano(), 10) }

// targets are the attributes that name what a method is about; see
// [tap.Subject].
var targets = map[string]string{
	"tools/call": "gen_ai.tool.name", "prompts/get": "gen_ai.prompt.name",
	"resources/read": "mcp.resource.uri", "resources/subscribe": "mcp.resource.uri", "resources/unsubscribe": "mcp.resource.uri",
}

// span makes a span of a call that is over, or of one that will not be.
func (o *OTLP) span(c *tap.Call) {
	t, ok := o.traces[c.Ref]
	if !ok {
		t.id = o.name("trace", 0, 0, 16)
	}
	delete(o.traces, c.Ref)
	s := otlpSpan{TraceID: t.id, SpanID: o.spanID(c.Ref), State: t.state, Parent: t.parent, Name: c.Method, Kind: kindClient,
		Start: o.time(c.At), End: o.time(o.last)}
	if c.Status.Settled() {
		s.End = o.time(max(c.End, c.At))
	}
	target := targets[c.Method]
	if strings.HasPrefix(target, "gen_ai.") && c.Subject != "" {
		s.Name += " " + c.Subject
	}
	s.Attributes = texts("mcp.method.name", c.Method, "jsonrpc.request.id", strings.Trim(string(c.ID), `"`),
		"mcp.protocol.version", string(c.Revision), "network.transport", "pipe")
	if c.Exchange > 0 {
		s.Attributes[len(s.Attributes)-1] = text("network.transport", "tcp")
		s.Attributes = append(s.Attributes, text("network.protocol.name", "http"))
	}
	if target != "" {
		s.Attributes = append(s.Attributes, texts(target, c.Subject)...)
	}
	if c.Method == "tools/call" {
		s.Attributes = append(s.Attributes, text("gen_ai.operation.name", "execute_tool"))
	}
	if in, known := o.feed.Sessions().Session(t.session); known {
		s.Attributes = append(s.Attributes, texts("mcp.session.id", in.Name)...)
	}
	s.Attributes = append(s.Attributes, number("mcptap.frame", c.Ref.Seq))
	if c.Lane == tap.ToClient {
		s.Attributes = append(s.Attributes, text("mcptap.asked_by", "server"))
	}
	o.status(&s, c)
	o.events(&s, c)
	o.spans = append(o.spans, s)
}

// status says how a call ended.
func (o *OTLP) status(s *otlpSpan, c *tap.Call) {
	kind, words := "", c.ErrorText
	switch c.Status {
	case tap.CallDone:
		return
	case tap.CallError:
		kind = c.ErrorCode
		s.Attributes = append(s.Attributes, texts("rpc.response.status_code", c.ErrorCode)...)
		if kind == "" {
			kind = "_OTHER"
		}
	case tap.CallToolError:
		kind = "tool_error"
	case tap.CallCancelled, tap.CallCancelledLate:
		kind, words = "cancelled", c.CancelReason
	case tap.CallListening: // a subscription that goes on has not failed
		return
	default:
		kind, words = "unanswered", "no answer was recorded ("+c.Status.String()+")"
	}
	s.Attributes = append(s.Attributes, text("error.type", kind))
	s.Status = otlpStatus{Message: words, Code: statusFail}
}

// events are what belongs to a call beside its request and its answer.
func (o *OTLP) events(s *otlpSpan, c *tap.Call) {
	for i := range c.Parts {
		p := &c.Parts[i]
		if p.Role == tap.RoleRequest || p.Role == tap.RoleResponse {
			continue
		}
		s.Events = append(s.Events, otlpEvent{
			Time: o.time(p.At), Name: p.Role.String(),
			Attributes: append(texts("mcp.method.name", p.Method), number("mcptap.frame", p.Message.Seq)),
		})
	}
}
