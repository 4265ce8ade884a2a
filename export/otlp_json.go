package export

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/mcptap/mcptap/internal/term/escape"
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

// A Scope is what made some spans, and whose they are.
type Scope struct {
	Program, Version string
	Resource         []attribute.KeyValue
}

// OTLPLine encodes spans of one scope as one line of OTLP/JSON, without its end: a
// line of a file, and the body of a request over OTLP/HTTP.
func OTLPLine(scope Scope, spans []Span) ([]byte, error) {
	list := make([]otlpSpan, len(spans))
	for i := range spans {
		list[i] = encodeSpan(&spans[i])
	}
	return escape.JSON(otlpTraces{ResourceSpans: []otlpResource{{
		Resource:   otlpAttributes{encodeAttributes(scope.Resource)},
		ScopeSpans: []otlpScope{{Scope: otlpName{scope.Program, scope.Version}, Spans: list}},
	}}})
}

func encodeSpan(s *Span) otlpSpan {
	o := otlpSpan{
		TraceID: s.Context.TraceID().String(), SpanID: s.Context.SpanID().String(), State: s.Context.TraceState().String(),
		Name: s.Name, Kind: kindClient, Start: nanos(s.Start), End: nanos(s.End), Attributes: encodeAttributes(s.Attributes),
	}
	if s.Parent.IsValid() {
		o.Parent = s.Parent.SpanID().String()
	}
	for i := range s.Events {
		e := &s.Events[i]
		o.Events = append(o.Events, otlpEvent{Time: nanos(e.At), Name: e.Name, Attributes: encodeAttributes(e.Attributes)})
	}
	if s.Failed {
		o.Status = otlpStatus{Message: s.Message, Code: statusFail}
	}
	return o
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// encodeAttributes knows texts and numbers; there are no others.
func encodeAttributes(list []attribute.KeyValue) (all []otlpAttribute) {
	for _, a := range list {
		value := a.Value.String()
		o := otlpAttribute{Key: string(a.Key)}
		if a.Value.Type() == attribute.INT64 {
			o.Value.Int = &value
		} else {
			o.Value.String = &value
		}
		all = append(all, o)
	}
	return all
}
