// Package otlp sends spans to an OpenTelemetry collector, over OTLP/HTTP with JSON
// (OTLP specification, OTLP/HTTP). Package export makes and encodes the spans.
//
// A [Sender] holds a bounded number of spans; [Sender.Send] blocks while too many are
// queued. It retries without a limit, so that a collector that is down for a while
// receives everything later. A process that reads a recording uses it, never the tap.
//
// It does not use the official SDK, which would convert each span twice for a queue, and
// initialize protocol buffers and gRPC at the start of every tap.
package otlp
