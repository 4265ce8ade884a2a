package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"regexp"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/view"
)

// OTLP writes traces in the file format of OpenTelemetry: a line of OTLP/JSON for
// some spans each (OpenTelemetry Protocol File Exporter). A span is a call, of the
// kind client, with the names of the semantic conventions for MCP. Its parent is
// what _meta.traceparent of its request says, else the call within which it was
// asked. Calls that nobody traced share a trace for each session, whose ids are
// made from the recording's.
type OTLP struct {
	about  About
	w      io.Writer
	feed   *view.Feed
	spans  []otlpSpan
	traces map[tap.Ref]trace // of calls that are open
	last   time.Duration
}

// spansPerLine is how many spans a line gets at most.
const spansPerLine = 200

// A trace is where a call stands among others.
type trace struct {
	id, parent, state string
	session           int
}

// NewOTLP returns a Writer of traces.
func NewOTLP(w io.Writer, about About) *OTLP {
	return &OTLP{about: about, w: w, feed: view.NewFeed(about.Raw), traces: map[tap.Ref]trace{}}
}

// Add implements [Writer].
func (o *OTLP) Add(f *tap.Frame) error {
	o.last = max(o.last, f.At)
	r, err := o.feed.Add(f)
	if err != nil {
		return err
	}
	for i := range r.Parts {
		p := &r.Parts[i]
		if p.Role == tap.RoleRequest {
			o.asked(r, i, p)
		}
	}
	for _, c := range r.Ended {
		o.span(c)
	}
	if len(o.spans) >= spansPerLine {
		return o.flush()
	}
	return nil
}

// asked remembers the trace of a request.
func (o *OTLP) asked(r *view.Row, i int, p *tap.Part) {
	m := &r.Message
	if m.Kind == tap.Batch {
		m = &m.Batch[i]
	}
	t := trace{session: r.Session}
	t.id, t.parent, t.state = traceContext(m.Params)
	if t.id == "" {
		if up, ok := o.traces[p.Parent]; ok && p.Parent.Seq > 0 {
			t.id = up.id
		} else {
			t.id = o.name("trace", uint64(r.Session), 0, 16)
		}
		if p.Parent.Seq > 0 {
			t.parent = o.spanID(p.Parent)
		}
	}
	o.traces[p.Message] = t
}

// traceParent is the form of the field (W3C Trace Context), of which ids of nothing
// but zeros are none.
var traceParent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)

// traceContext reads _meta of the params of a request.
func traceContext(params []byte) (id, parent, state string) {
	if !bytes.Contains(params, []byte(`traceparent`)) {
		return "", "", ""
	}
	var p struct {
		Meta struct {
			Traceparent string `json:"traceparent"`
			Tracestate  string `json:"tracestate"`
		} `json:"_meta"`
	}
	if json.Unmarshal(params, &p) != nil {
		return "", "", ""
	}
	m := traceParent.FindStringSubmatch(p.Meta.Traceparent)
	if m == nil || m[1] == zeros || m[2] == zeros[:16] {
		return "", "", ""
	}
	return m[1], m[2], p.Meta.Tracestate
}

const zeros = "00000000000000000000000000000000"

// name makes an id of some bytes, in hex, that is the same each time.
func (o *OTLP) name(what string, a, b uint64, size int) string {
	sum := sha256.Sum256([]byte(what + "/" + o.about.Header.ID + "/" + strconv.FormatUint(a, 10) + "/" + strconv.FormatUint(b, 10)))
	sum[0] |= 1 // never all zeros
	return hex.EncodeToString(sum[:size])
}

func (o *OTLP) spanID(r tap.Ref) string { return o.name("span", r.Seq, uint64(r.Index), 8) }

// Close implements [Writer]. Calls without an end get the recording's.
func (o *OTLP) Close() error {
	for _, c := range o.feed.Open() {
		o.span(c)
	}
	return o.flush()
}

// flush writes a line.
func (o *OTLP) flush() error {
	if len(o.spans) == 0 {
		return nil
	}
	line, err := safeJSON(otlpTraces{ResourceSpans: []otlpResource{{
		Resource:   otlpAttributes{o.resource()},
		ScopeSpans: []otlpScope{{Scope: otlpName{o.about.Program, o.about.Version}, Spans: o.spans}},
	}}})
	if err != nil {
		return err
	}
	o.spans = o.spans[:0]
	_, err = o.w.Write(append(line, '\n'))
	return err
}
