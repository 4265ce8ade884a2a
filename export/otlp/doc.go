// Package otlp sends spans to an OpenTelemetry collector, over OTLP/HTTP with JSON
// (OTLP specification, OTLP/HTTP). The spans are those of package export, and their
// encoding too; the official SDK queues them and makes batches.
//
// A [Sender] holds a bounded number of spans: who hands over more waits. It tries
// again what can be tried again, unless there is a limit, so a collector that is away for
// a while gets everything afterwards. It is for whoever reads a
// recording, which can wait, and never for the tap that makes one.
//
// OTLP with protocol buffers, or over gRPC, would do the same at the price of both in
// the program and of their initialization at the start of every tap.
package otlp
