package export

import (
	"io"

	"github.com/mcptap/mcptap/tap"
)

// OTLP writes traces in the file format of OpenTelemetry: a line of OTLP/JSON for
// some spans each (OpenTelemetry Protocol File Exporter). A span is a call, of the
// kind client, with the names of the semantic conventions for MCP. Its parent is
// what _meta.traceparent of its request says, else the call within which it was
// asked. Calls that nobody traced share a trace for each session, whose ids are
// made from the recording's.
type OTLP struct {
	w       io.Writer
	scope   Scope
	from    *Spans
	pending []Span
}

// SpansPerLine is how many spans a line gets, but for those that end with one frame.
const SpansPerLine = 200

// NewOTLP returns a Writer of traces.
func NewOTLP(w io.Writer, about About) *OTLP {
	scope := Scope{Program: about.Program, Version: about.Version, Resource: Resource(&about.Header, &about.Facts)}
	return &OTLP{w: w, scope: scope, from: NewSpans(about)}
}

// Add implements [Writer].
func (o *OTLP) Add(f *tap.Frame) error {
	spans, err := o.from.Add(f)
	if err != nil {
		return err
	}
	if o.pending = append(o.pending, spans...); len(o.pending) >= SpansPerLine {
		return o.flush()
	}
	return nil
}

// Close implements [Writer]. Calls without an end get the recording's.
func (o *OTLP) Close() error {
	o.pending = append(o.pending, o.from.Open()...)
	return o.flush()
}

// flush writes a line.
func (o *OTLP) flush() error {
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
