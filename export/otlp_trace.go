package export

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// A Span is a call as a trace has it, of the kind client.
type Span struct {
	// Context has the ids. It is sampled, and has the state of a parent that
	// _meta names.
	Context trace.SpanContext
	// Parent is what _meta names, which is remote, or the call within which it
	// was asked; it is not valid where there is none.
	Parent     trace.SpanContext
	Name       string
	Start, End time.Time
	Attributes []attribute.KeyValue
	Events     []SpanEvent
	// Failed says that the call has no good end, Message why.
	Failed  bool
	Message string
}

// A SpanEvent is what belongs to a call beside its request and its answer.
type SpanEvent struct {
	Name       string
	At         time.Time
	Attributes []attribute.KeyValue
}

// Spans makes spans of the calls of one recording. Its memory grows with the calls
// that are open, and no further.
type Spans struct {
	about   About
	tracker session.Tracker
	traces  map[session.Ref]traced // of calls that are open
	last    time.Duration
}

// A traced is where a call stands among others.
type traced struct {
	context, parent trace.SpanContext
	session         int
}

// NewSpans makes a Spans. It needs no Facts.
func NewSpans(about About) *Spans {
	return &Spans{about: about, traces: map[session.Ref]traced{}}
}

// Add takes the next frame, of which it keeps nothing, and returns the spans of the
// calls that are over with it. The error is that of reading a frame that is not
// whole.
func (x *Spans) Add(f *tap.Frame) ([]Span, error) {
	x.last = max(x.last, f.At)
	r := x.tracker.Add(f)
	for i := range r.Parts {
		if p := &r.Parts[i]; p.Role == session.RoleRequest {
			x.asked(r, i, p)
		}
	}
	return x.spans(r.Ended), nil
}

// Open returns the spans of the calls that are not over. They end where the
// recording does, so it is called last.
func (x *Spans) Open() []Span { return x.spans(x.tracker.Open()) }

func (x *Spans) spans(calls []*session.Call) (all []Span) {
	for _, c := range calls {
		all = append(all, x.span(c))
	}
	return all
}

// asked remembers the trace of a request.
func (x *Spans) asked(r *session.Entry, i int, p *session.Part) {
	m := &r.Message
	if m.Kind == jsonrpc.Batch {
		m = &m.Batch[i]
	}
	t := traced{session: r.Session, parent: traceContext(m.Params)}
	if !t.parent.IsValid() && p.Parent.Seq > 0 {
		up, ok := x.traces[p.Parent]
		if !ok {
			up.context = x.context(p.Parent, x.traceID(r.Session), trace.TraceState{})
		}
		t.parent = up.context.WithTraceState(trace.TraceState{})
	}
	id := t.parent.TraceID()
	if !id.IsValid() {
		id = x.traceID(r.Session)
	}
	t.context = x.context(p.Message, id, t.parent.TraceState())
	x.traces[p.Message] = t
}

// traceContext reads _meta of the params of a request (W3C Trace Context, as the
// MCP conventions have it there). It is not valid where there is none.
func traceContext(params []byte) trace.SpanContext {
	if !bytes.Contains(params, []byte(`traceparent`)) {
		return trace.SpanContext{}
	}
	var p struct {
		Meta struct {
			Traceparent string `json:"traceparent"`
			Tracestate  string `json:"tracestate"`
		} `json:"_meta"`
	}
	if json.Unmarshal(params, &p) != nil {
		return trace.SpanContext{}
	}
	carrier := propagation.MapCarrier{"traceparent": p.Meta.Traceparent, "tracestate": p.Meta.Tracestate}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

// name makes an id that is the same each time.
func (x *Spans) name(what string, a, b uint64) [sha256.Size]byte {
	sum := sha256.Sum256([]byte(what + "/" + x.about.Header.ID + "/" + strconv.FormatUint(a, 10) + "/" + strconv.FormatUint(b, 10)))
	sum[0] |= 1 // never all zeros
	return sum
}

// traceID is that of the calls of a session that nobody traced.
func (x *Spans) traceID(session int) trace.TraceID {
	sum := x.name("trace", uint64(session), 0)
	return trace.TraceID(sum[:16])
}

// context names the span of a call.
func (x *Spans) context(r session.Ref, id trace.TraceID, state trace.TraceState) trace.SpanContext {
	sum := x.name("span", r.Seq, uint64(r.Index))
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: id, SpanID: trace.SpanID(sum[:8]), TraceFlags: trace.FlagsSampled, TraceState: state,
	})
}
