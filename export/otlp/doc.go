// Package otlp sends spans to an OpenTelemetry collector, over OTLP/HTTP with JSON
// (OTLP specification, OTLP/HTTP). Package export makes and encodes the spans.
//
// A [Sender] holds a bounded number of spans; [Sender.Send] blocks while too many are
// queued. It retries for as long as there is no limit, so a collector that is away for
// a while receives everything later. A process that reads a recording uses it, never
// the tap itself.
//
// The official SDK is not used: it would decode and encode each span once more, for a
// queue. Protocol buffers and gRPC would be initialized at the start of every tap.
package otlp
