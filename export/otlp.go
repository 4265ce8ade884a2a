package export

import (
	"cmp"
	"io"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// An otlpWriter writes traces in OpenTelemetry's file format: each line is OTLP/JSON with some
// spans (OpenTelemetry Protocol File Exporter). See [Spans].
type otlpWriter struct {
	w       io.Writer
	scope   Scope
	from    *Spans
	pending []Span
}

// SpansPerLine is the number of spans in a line. A frame that ends several calls may
// exceed it.
const SpansPerLine = 200

func newOTLP(w io.Writer, about About) *otlpWriter {
	scope := Scope{Program: about.Program, Version: about.Version, Resource: Resource(&about.Header, &about.Facts)}
	return &otlpWriter{w: w, scope: scope, from: NewSpans(about)}
}

// Add implements [writer].
func (o *otlpWriter) Add(f *tap.Frame) error {
	if o.pending = append(o.pending, o.from.Add(f)...); len(o.pending) >= SpansPerLine {
		return o.flush()
	}
	return nil
}

// Close implements [writer]. Open calls end with the recording.
func (o *otlpWriter) Close() error {
	o.pending = append(o.pending, o.from.Open()...)
	return o.flush()
}

// flush writes a line.
func (o *otlpWriter) flush() error {
	if len(o.pending) == 0 {
		return nil
	}
	line, err := OTLPLine(o.scope, o.pending)
	if err != nil {
		return err
	}
	clear(o.pending)
	o.pending = o.pending[:0]
	_, err = o.w.Write(append(line, '\n'))
	return err
}

// The members of OTLP/JSON: names in lower camel case, ids in hex, 64-bit numbers
// as strings, enumerations as numbers (OTLP specification, JSON Protobuf encoding).
type (
	otlpTraces struct {
		ResourceSpans []otlpResource `json:"resourceSpans"`
	}
	otlpResource struct {
		Resource struct {
			Attributes []Attribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []otlpScope `json:"scopeSpans"`
	}
	otlpScope struct {
		Scope struct {
			Name    string `json:"name"`
			Version string `json:"version,omitempty"`
		} `json:"scope"`
		Spans []Span `json:"spans"`
	}
	// A Span is a call in the form of OTLP/JSON.
	Span struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		State      string      `json:"traceState,omitempty"`
		Parent     string      `json:"parentSpanId,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []Attribute `json:"attributes,omitempty"`
		Events     []SpanEvent `json:"events,omitempty"`
		Status     SpanStatus  `json:"status"`
	}
	// A SpanEvent is a message of a call other than its request and its response.
	SpanEvent struct {
		Time       string      `json:"timeUnixNano"`
		Name       string      `json:"name"`
		Attributes []Attribute `json:"attributes,omitempty"`
	}
	// A SpanStatus is the zero value unless the call failed.
	SpanStatus struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code,omitempty"`
	}
	// An Attribute is a key with a non-empty value.
	Attribute struct {
		Key   string `json:"key"`
		Value Value  `json:"value"`
	}
	// A Value is a string or a decimal number.
	Value struct {
		String string `json:"stringValue,omitempty"`
		Int    string `json:"intValue,omitempty"`
	}
)

const (
	kindClient = 3
	statusFail = 2
)

// A Scope is the program that created spans, and their resource.
type Scope struct {
	Program, Version string
	Resource         []Attribute
}

// OTLPLine encodes spans of one scope as one line of OTLP/JSON, without a newline. It is a line of
// a file, or the body of a request over OTLP/HTTP.
func OTLPLine(scope Scope, spans []Span) ([]byte, error) {
	s := otlpScope{Spans: spans}
	s.Scope.Name, s.Scope.Version = scope.Program, scope.Version
	r := otlpResource{ScopeSpans: []otlpScope{s}}
	r.Resource.Attributes = scope.Resource
	return escape.JSON(otlpTraces{ResourceSpans: []otlpResource{r}})
}

// Resource returns the resource of a recording: its client, its server and itself.
func Resource(h *tap.Header, f *session.Facts) []Attribute {
	return texts("service.name", cmp.Or(f.Client.Name, "mcp-client"), "service.version", f.Client.Version,
		"mcptap.recording.id", h.ID, "mcptap.recording.label", h.Label,
		"mcptap.server.name", f.Server.Name, "mcptap.server.version", f.Server.Version)
}

// texts returns attributes for pairs of key and value, without the empty ones.
func texts(pairs ...string) (list []Attribute) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, Attribute{Key: pairs[i], Value: Value{String: pairs[i+1]}})
		}
	}
	return list
}

// frameNumber returns the attribute with the number of a frame.
func frameNumber(seq uint64) Attribute {
	return Attribute{Key: "mcptap.frame", Value: Value{Int: strconv.FormatUint(seq, 10)}}
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
