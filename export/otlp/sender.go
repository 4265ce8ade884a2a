package otlp

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcptap/mcptap/export"
)

const (
	// maxQueue is how many spans wait at most, beside a batch.
	maxQueue = 1000
	// batchPause is how long a batch waits for more spans.
	batchPause = 250 * time.Millisecond
)

// A Config says where spans go.
type Config struct {
	// URL is the collector's for traces, see [TracesURL]. A user in it becomes
	// Authorization.
	URL *url.URL
	// Header is added to each request.
	Header http.Header
	// Program and Version are what made the spans.
	Program, Version string
	// Warn is told once that spans do not arrive, in one line that repeats what the
	// collector says, but no secret of URL or Header.
	Warn func(line string)
}

// A Sender sends spans. It is not for use by several goroutines at once.
type Sender struct {
	cfg       Config
	exporter  *exporter
	processor sdk.SpanProcessor
	resource  *resource.Resource
	tracer    trace.Tracer // for that resource
}

// NewSender makes a Sender.
func NewSender(cfg Config) *Sender { return newSender(cfg, newExporter(cfg)) }

func newSender(cfg Config, x *exporter) *Sender {
	return &Sender{cfg: cfg, exporter: x, processor: sdk.NewBatchSpanProcessor(x,
		sdk.WithBlocking(), // the recording is the buffer
		sdk.WithMaxQueueSize(maxQueue), sdk.WithMaxExportBatchSize(export.SpansPerLine),
		sdk.WithBatchTimeout(batchPause), sdk.WithExportTimeout(0))}
}

// Send hands over spans. It waits while too many are on their way.
func (s *Sender) Send(of []attribute.KeyValue, spans []export.Span) {
	if r := resource.NewSchemaless(of...); s.tracer == nil || !r.Equal(s.resource) {
		// A provider has one resource, and that of a recording is not known in full
		// before its peers have named themselves.
		s.resource = r
		s.tracer = sdk.NewTracerProvider(
			sdk.WithResource(r), sdk.WithSpanProcessor(s.processor), sdk.WithSampler(sdk.AlwaysSample()),
			sdk.WithIDGenerator(given{}), sdk.WithRawSpanLimits(noLimits),
		).Tracer(s.cfg.Program, trace.WithInstrumentationVersion(s.cfg.Version))
	}
	for i := range spans {
		s.send(&spans[i])
	}
}

// noLimits leaves spans as they are: what a call keeps is bounded where it is made.
var noLimits = sdk.SpanLimits{
	AttributeValueLengthLimit: -1, AttributeValueDepthLimit: -1, AttributeCountLimit: -1, EventCountLimit: -1,
	LinkCountLimit: -1, AttributePerEventCountLimit: -1, AttributePerLinkCountLimit: -1,
}

func (s *Sender) send(x *export.Span) {
	ctx := context.WithValue(context.Background(), given{}, x.Context)
	if x.Parent.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, x.Parent)
	}
	_, span := s.tracer.Start(ctx, x.Name, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(x.Start), trace.WithAttributes(x.Attributes...))
	for i := range x.Events {
		e := &x.Events[i]
		span.AddEvent(e.Name, trace.WithTimestamp(e.At), trace.WithAttributes(e.Attributes...))
	}
	if x.Failed {
		span.SetStatus(codes.Error, x.Message)
	}
	span.End(trace.WithTimestamp(x.End))
}

// given is the generator of ids that the spans have already, and the key under which
// their context is handed to it.
type given struct{}

// NewIDs implements [sdk.IDGenerator].
func (given) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	c, _ := ctx.Value(given{}).(trace.SpanContext)
	return c.TraceID(), c.SpanID()
}

// NewSpanID implements [sdk.IDGenerator].
func (given) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	c, _ := ctx.Value(given{}).(trace.SpanContext)
	return c.SpanID()
}

// Limit says how long the collector is waited for from now on, all requests together.
// Then all that is there and all that comes is given up. The first limit counts. It may
// be called by any goroutine.
func (s *Sender) Limit(d time.Duration) { s.exporter.limit.start(d) }

// Close sends what waits, and returns when it has arrived or was given up.
func (s *Sender) Close() {
	// What fails has been said, and a limit ends this too.
	_ = s.processor.Shutdown(context.Background())
}
