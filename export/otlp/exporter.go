package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/mcptap/mcptap/export"
)

const (
	// answerTime is how long a collector may take for an answer.
	answerTime = 10 * time.Second
	// maxAnswer is how many bytes of it are read.
	maxAnswer = 64 << 10
	// maxWords is how many bytes of what it says are repeated.
	maxWords = 200
)

// TracesURL is where the collector at a base URL takes traces: at /v1/traces below it,
// unless that is what it names (OTLP Exporter Configuration, Endpoint URLs for
// OTLP/HTTP). The error says what is wrong, and repeats none of it: there may be a
// password in it.
func TracesURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, errors.New("it cannot be read as a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("it begins with neither http:// nor https://")
	case u.Hostname() == "":
		return nil, errors.New("it names no host")
	}
	u.Fragment, u.RawFragment = "", ""
	if !strings.HasSuffix(u.Path, "/v1/traces") {
		u = u.JoinPath("v1", "traces")
	}
	return u, nil
}

// An exporter posts batches of spans.
type exporter struct {
	cfg    Config
	limit  limit
	client http.Client
	pause  func(context.Context, time.Duration) error
	now    func() time.Time
	warned sync.Once
}

func newExporter(cfg Config) *exporter {
	x := &exporter{cfg: cfg, pause: pause, now: time.Now}
	x.client.Timeout = answerTime
	// Another place would get the header fields too.
	x.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return x
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// ExportSpans implements [sdk.SpanExporter].
func (x *exporter) ExportSpans(_ context.Context, spans []sdk.ReadOnlySpan) error {
	for len(spans) > 0 {
		of, n := spans[0].Resource(), 1
		for n < len(spans) && spans[n].Resource().Equal(of) {
			n++
		}
		if err := x.export(of, spans[:n]); err != nil {
			return err
		}
		spans = spans[n:]
	}
	return nil
}

// Shutdown implements [sdk.SpanExporter].
func (x *exporter) Shutdown(context.Context) error {
	x.client.CloseIdleConnections()
	return nil
}

// export posts spans of one resource. What became of them has been said, so the SDK
// is told nothing.
func (x *exporter) export(of *resource.Resource, spans []sdk.ReadOnlySpan) error {
	list := make([]export.Span, len(spans))
	for i, s := range spans {
		list[i] = spanOf(s)
	}
	body, err := export.OTLPLine(export.Scope{Program: x.cfg.Program, Version: x.cfg.Version, Resource: of.Attributes()}, list)
	if err != nil {
		return err
	}
	x.post(body, len(list))
	return nil
}

// spanOf is the span that was handed to the SDK.
func spanOf(s sdk.ReadOnlySpan) export.Span {
	out := export.Span{
		Context: s.SpanContext(), Parent: s.Parent(), Name: s.Name(), Start: s.StartTime(), End: s.EndTime(),
		Attributes: s.Attributes(), Failed: s.Status().Code == codes.Error, Message: s.Status().Description,
	}
	for _, e := range s.Events() {
		out.Events = append(out.Events, export.SpanEvent{Name: e.Name, At: e.Time, Attributes: e.Attributes})
	}
	return out
}

// try posts once.
func (x *exporter) try(ctx context.Context, body []byte, spans int) (again retry, ok bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.cfg.URL.String(), bytes.NewReader(body))
	if err != nil {
		x.warn("cannot be asked to take traces: " + reason(err))
		return retry{}, true
	}
	for name, values := range x.cfg.Header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", x.cfg.Program+"/"+x.cfg.Version)
	resp, err := x.client.Do(req)
	if err != nil {
		return retry{why: "cannot be reached: " + reason(err)}, false
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode <= 299:
		x.partial(answer, spans)
	case mayRetry(resp.StatusCode):
		return retry{why: "does not take traces now: " + resp.Status, after: retryAfter(resp.Header.Get("Retry-After"), x.now()), busy: true}, false
	case err != nil:
		return retry{why: "does not answer to the end: " + reason(err)}, false
	default:
		x.warn("refuses traces: " + resp.Status)
	}
	return retry{}, true
}

// partial says that only some spans were taken (OTLP specification, Partial Success).
func (x *exporter) partial(answer []byte, spans int) {
	var a struct {
		Partial struct {
			Rejected json.RawMessage `json:"rejectedSpans"` // a number, as a text too
			Message  string          `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &a) != nil {
		return
	}
	rejected := strings.Trim(string(a.Partial.Rejected), `"`)
	if rejected == "" || rejected == "0" || rejected == "null" {
		return
	}
	x.warn(fmt.Sprintf("rejects %s of %d spans: %s", cut(rejected), spans, cut(a.Partial.Message)))
}

func cut(s string) string {
	if len(s) > maxWords {
		s = strings.ToValidUTF8(s[:maxWords], "") + "…"
	}
	return s
}

// reason is what went wrong with a request, without its URL.
func reason(err error) string {
	var wrong *url.Error
	if errors.As(err, &wrong) {
		err = wrong.Err
	}
	return err.Error()
}

// warn says something of the collector, if it is the first thing to say.
func (x *exporter) warn(what string) {
	x.warned.Do(func() {
		bare := url.URL{Scheme: x.cfg.URL.Scheme, Host: x.cfg.URL.Host, Path: x.cfg.URL.Path}
		x.cfg.Warn(bare.String() + " " + what)
	})
}
