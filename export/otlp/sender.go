// Package otlp sends spans to an OpenTelemetry collector, using OTLP/HTTP with JSON (OTLP
// specification, OTLP/HTTP). Package export creates and encodes the spans.
//
// A [Sender] holds a bounded number of spans; [Sender.Send] blocks while too many are queued. It
// retries indefinitely, so that a collector that is down for a while eventually receives
// everything. Only a process that reads a recording uses it, never the tap.
//
// It does not use the official SDK, which would convert each span twice for a queue, and would
// initialize protocol buffers and gRPC whenever a tap starts.
package otlp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcptap/mcptap/export"
	"github.com/mcptap/mcptap/internal/term/escape"
)

const (
	// maxQueue limits the queued spans, not counting the current batch.
	maxQueue = 1000
	// batchPause is the time to wait for more spans in a batch.
	batchPause = 250 * time.Millisecond

	// responseTime limits one request.
	responseTime = 10 * time.Second
	// maxResponse limits the bytes read of a response, and maxMessage those of its message in a
	// warning.
	maxResponse = 64 << 10
	maxMessage  = 200

	// firstPause is the approximate pause before the first retry. It doubles with each retry, up
	// to lastPause.
	firstPause = time.Second
	lastPause  = 30 * time.Second
	// longestPause limits Retry-After.
	longestPause = 24 * time.Hour
	// patience is the number of consecutive failures after which a busy collector causes a
	// warning. A Retry-After above lastPause causes one immediately.
	patience = 3
)

// TracesURL returns the URL for traces of the collector at a base URL: /v1/traces below it, unless
// it already ends with that (OTLP Exporter Configuration, Endpoint URLs for OTLP/HTTP). The error
// does not quote the URL, which may contain a password.
func TracesURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, errors.New("not a valid URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the scheme is neither http nor https")
	case u.Hostname() == "":
		return nil, errors.New("no host")
	}
	u.Fragment, u.RawFragment = "", ""
	if !strings.HasSuffix(u.Path, "/v1/traces") {
		u = u.JoinPath("v1", "traces")
	}
	return u, nil
}

// Attributes parses a list such as a=1,b=2, the form of OTEL_RESOURCE_ATTRIBUTES. It skips
// malformed pairs.
func Attributes(list string) (all []export.Attribute) {
	for pair := range strings.SplitSeq(list, ",") {
		key, value, _ := strings.Cut(pair, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if plain, err := url.PathUnescape(value); err == nil {
			value = plain
		}
		if key != "" && value != "" {
			all = append(all, export.Attribute{Key: key, Value: export.Value{String: value}})
		}
	}
	return all
}

// A Config describes a Sender.
type Config struct {
	// URL is the collector's URL for traces, see [TracesURL]. User information in it becomes an
	// Authorization field.
	URL *url.URL
	// Header is added to each request.
	Header http.Header
	// Program and Version identify the program that created the spans.
	Program, Version string
	// Resource is added to the resource of all spans, except for keys that it already has.
	Resource []export.Attribute
	// Warn is called once, with one line, if spans are not delivered. The line may quote the
	// collector, but not secrets in URL or Header.
	Warn func(line string)
}

// A Sender sends spans. Send and Close must be called from one goroutine.
type Sender struct {
	cfg    Config
	client http.Client
	queue  chan queued
	done   chan struct{} // closed at the end of the sending goroutine
	ctx    context.Context
	cancel context.CancelFunc // stops retries
	warned sync.Once
	pause  func(context.Context, time.Duration) error
}

// A queued is a span and its resource.
type queued struct {
	resource []export.Attribute
	span     export.Span
}

// NewSender starts a Sender.
func NewSender(cfg Config) *Sender { return newSender(cfg, pause) }

func newSender(cfg Config, pause func(context.Context, time.Duration) error) *Sender {
	s := &Sender{cfg: cfg, queue: make(chan queued, maxQueue), done: make(chan struct{}), pause: pause}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.client.Timeout = responseTime
	// A redirect would send the header fields to another URL.
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	go s.run()
	return s
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err()
}

// Send queues spans of one resource. It waits while too many are queued.
func (s *Sender) Send(resource []export.Attribute, spans []export.Span) {
	resource = slices.Clone(resource)
	for _, a := range s.cfg.Resource {
		if !slices.ContainsFunc(resource, func(b export.Attribute) bool { return a.Key == b.Key }) {
			resource = append(resource, a)
		}
	}
	for _, span := range spans {
		s.queue <- queued{resource, span}
	}
}

// Limit stops retries after d. It may be called from any goroutine.
func (s *Sender) Limit(d time.Duration) { time.AfterFunc(d, s.cancel) }

// Close sends the queued spans. It returns when they have been delivered, or at the limit.
func (s *Sender) Close() {
	close(s.queue)
	<-s.done
	s.cancel()
	s.client.CloseIdleConnections()
}

// run sends the queue in batches.
func (s *Sender) run() {
	defer close(s.done)
	for first := range s.queue {
		batch := []queued{first}
		full := time.After(batchPause)
	collect:
		for len(batch) < export.SpansPerLine {
			select {
			case next, ok := <-s.queue:
				if !ok {
					break collect
				}
				batch = append(batch, next)
			case <-full:
				break collect
			}
		}
		for len(batch) > 0 {
			n := 1
			for n < len(batch) && slices.Equal(batch[n].resource, batch[0].resource) {
				n++
			}
			s.post(batch[:n])
			batch = batch[n:]
		}
	}
}

// post sends spans of one resource until the collector accepts or refuses them.
func (s *Sender) post(batch []queued) {
	spans := make([]export.Span, len(batch))
	for i := range batch {
		spans[i] = batch[i].span
	}
	scope := export.Scope{Program: s.cfg.Program, Version: s.cfg.Version, Resource: batch[0].resource}
	body, err := export.OTLPLine(scope, spans)
	if err != nil {
		s.warn("receives no traces: " + err.Error())
		return
	}
	for tries := 0; s.ctx.Err() == nil; tries++ {
		next, done := s.try(body, len(batch))
		if done || s.ctx.Err() != nil {
			return
		}
		if !next.busy || tries+1 == patience || next.after > lastPause {
			s.warn(next.why + "; mcptap keeps trying")
		}
		if s.pause(s.ctx, cmp.Or(next.after, backoff(tries))) != nil {
			return
		}
	}
}

// A retry is why a request must be repeated.
type retry struct {
	why   string
	after time.Duration // Retry-After, or 0
	busy  bool          // the collector responded
}

// try posts once. If done is set, there is no point in retrying.
func (s *Sender) try(body []byte, spans int) (next retry, done bool) {
	req, err := http.NewRequestWithContext(s.ctx, http.MethodPost, s.cfg.URL.String(), bytes.NewReader(body))
	if err != nil {
		s.warn("cannot receive traces: " + reason(err))
		return retry{}, true
	}
	for name, values := range s.cfg.Header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", s.cfg.Program+"/"+s.cfg.Version)
	resp, err := s.client.Do(req)
	if err != nil {
		return retry{why: "cannot be reached: " + reason(err)}, false
	}
	defer resp.Body.Close()
	response, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	switch status := resp.StatusCode; {
	case status >= 200 && status <= 299:
		s.partial(response, spans)
	case status == http.StatusTooManyRequests || status == http.StatusBadGateway ||
		status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout: // Retryable Response Codes
		after := retryAfter(resp.Header.Get("Retry-After"), time.Now())
		return retry{why: "does not accept traces now: " + resp.Status, after: after, busy: true}, false
	case err != nil:
		return retry{why: "ended its response early: " + reason(err)}, false
	default:
		s.warn("refuses traces: " + resp.Status)
	}
	return retry{}, true
}

// retryAfter parses the field: seconds or a date (RFC 9110 section 10.2.3). It returns 0 if the field
// is neither.
func retryAfter(field string, now time.Time) time.Duration {
	field = strings.TrimSpace(field)
	if seconds, err := strconv.ParseUint(field, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(longestPause/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(field); err == nil {
		return min(max(at.Sub(now), 0), longestPause)
	}
	return 0
}

// backoff returns the pause after a number of tries, with a random part, so that many taps do not
// retry at the same time.
func backoff(tries int) time.Duration {
	d := min(firstPause<<min(tries, 5), lastPause)
	return d/2 + rand.N(d)
}

// partial warns if the collector accepted only some spans (OTLP specification, Partial
// Success).
func (s *Sender) partial(response []byte, spans int) {
	var r struct {
		Partial struct {
			Rejected json.RawMessage `json:"rejectedSpans"` // a number, or a string with one
			Message  string          `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(response, &r) != nil {
		return
	}
	rejected := strings.Trim(string(r.Partial.Rejected), `"`)
	if rejected == "" || rejected == "0" || rejected == "null" {
		return
	}
	s.warn(fmt.Sprintf("rejects %s of %d spans: %s",
		escape.Shorten(rejected, maxMessage), spans, escape.Shorten(r.Partial.Message, maxMessage)))
}

// reason returns why a request failed, without its URL.
func reason(err error) string {
	var wrong *url.Error
	if errors.As(err, &wrong) {
		err = wrong.Err
	}
	return err.Error()
}

// warn reports the first problem with the collector.
func (s *Sender) warn(what string) {
	s.warned.Do(func() {
		bare := url.URL{Scheme: s.cfg.URL.Scheme, Host: s.cfg.URL.Host, Path: s.cfg.URL.Path}
		s.cfg.Warn(bare.String() + " " + what)
	})
}
