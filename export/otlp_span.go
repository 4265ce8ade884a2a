package export

import (
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"go.opentelemetry.io/otel/attribute"
)

// texts leaves out those that are empty.
func texts(pairs ...string) (list []attribute.KeyValue) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, attribute.String(pairs[i], pairs[i+1]))
		}
	}
	return list
}

// number is the number of a frame.
func number(key string, n uint64) attribute.KeyValue { return attribute.Int64(key, int64(n)) }

// Resource says whose calls those of a recording are. Each key is there once.
func Resource(h *tap.Header, f *session.Facts) []attribute.KeyValue {
	service := f.Client.Name
	if service == "" {
		service = "mcp-client"
	}
	return texts("service.name", service, "service.version", f.Client.Version, "mcptap.recording.id", h.ID,
		"mcptap.recording.label", h.Label, "mcptap.server.name", f.Server.Name, "mcptap.server.version", f.Server.Version)
}

// targets are the attributes that name what a method is about; see
// [jsonrpc.Subject].
var targets = map[string]string{
	"tools/call": "gen_ai.tool.name", "prompts/get": "gen_ai.prompt.name",
	"resources/read": "mcp.resource.uri", "resources/subscribe": "mcp.resource.uri", "resources/unsubscribe": "mcp.resource.uri",
}

// span makes a span of a call that is over, or of one that will not be.
func (x *Spans) span(c *session.Call) Span {
	t, ok := x.traces[c.Ref]
	if !ok {
		t.context = x.context(c.Ref, x.traceID(0), t.parent.TraceState())
	}
	delete(x.traces, c.Ref)
	s := Span{Context: t.context, Parent: t.parent, Name: c.Method, Start: x.about.at(c.At), End: x.about.at(x.last)}
	if c.Status.Settled() {
		s.End = x.about.at(max(c.End, c.At))
	}
	target := targets[c.Method]
	if strings.HasPrefix(target, "gen_ai.") && c.Subject != "" {
		s.Name += " " + c.Subject
	}
	s.Attributes = texts("mcp.method.name", c.Method, "jsonrpc.request.id", strings.Trim(string(c.ID), `"`),
		"mcp.protocol.version", string(c.Revision))
	if c.Exchange > 0 {
		s.Attributes = append(s.Attributes, texts("network.transport", "tcp", "network.protocol.name", "http")...)
	} else {
		s.Attributes = append(s.Attributes, attribute.String("network.transport", "pipe"))
	}
	if target != "" {
		s.Attributes = append(s.Attributes, texts(target, c.Subject)...)
	}
	if c.Method == "tools/call" {
		s.Attributes = append(s.Attributes, attribute.String("gen_ai.operation.name", "execute_tool"))
	}
	if in, known := x.tracker.Sessions.Session(t.session); known {
		s.Attributes = append(s.Attributes, texts("mcp.session.id", in.Name)...)
	}
	s.Attributes = append(s.Attributes, number("mcptap.frame", c.Ref.Seq))
	if c.Lane == tap.ToClient {
		s.Attributes = append(s.Attributes, attribute.String("mcptap.asked_by", "server"))
	}
	status(&s, c)
	x.events(&s, c)
	return s
}

// status says how a call ended.
func status(s *Span, c *session.Call) {
	kind, words := "", c.ErrorText
	switch c.Status {
	case session.CallDone:
		return
	case session.CallError:
		kind = c.ErrorCode
		s.Attributes = append(s.Attributes, texts("rpc.response.status_code", c.ErrorCode)...)
		if kind == "" {
			kind = "_OTHER"
		}
	case session.CallToolError:
		kind = "tool_error"
	case session.CallCancelled, session.CallCancelledLate:
		kind, words = "cancelled", c.CancelReason
	case session.CallListening: // a subscription that goes on has not failed
		return
	default:
		kind, words = "unanswered", "no answer was recorded ("+c.Status.String()+")"
	}
	s.Attributes = append(s.Attributes, attribute.String("error.type", kind))
	s.Failed, s.Message = true, words
}

// events are what belongs to a call beside its request and its answer.
func (x *Spans) events(s *Span, c *session.Call) {
	for i := range c.Parts {
		p := &c.Parts[i]
		if p.Role == session.RoleRequest || p.Role == session.RoleResponse {
			continue
		}
		s.Events = append(s.Events, SpanEvent{
			Name: p.Role.String(), At: x.about.at(p.At),
			Attributes: append(texts("mcp.method.name", p.Method), number("mcptap.frame", p.Message.Seq)),
		})
	}
}
