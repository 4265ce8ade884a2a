package export

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
	"github.com/mcptap/mcptap/tap/view"
)

// A Format is a format that [Write] writes.
type Format struct {
	Name string `json:"name"`
	// Ext is the extension of its files, without the dot.
	Ext string `json:"-"`
	// About describes its use.
	About     string `json:"about"`
	MediaType string `json:"-"`
}

// The formats that can be imported again.
const (
	NDJSON = "ndjson"
	Txtar  = "txtar"
)

// Formats are the formats that [Write] writes.
var Formats = []Format{
	{NDJSON, "ndjson", "complete, for programs and mcptap import", "application/x-ndjson"},
	{Txtar, "txtar", "a transcript to read and edit", "text/plain; charset=utf-8"},
	{"har", "har", "for the network panel of a browser", "application/json"},
	{"otlp", "otlp.json", "OpenTelemetry traces", "application/json"},
	{"mermaid", "mmd", "a diagram for Markdown", "text/plain; charset=utf-8"},
}

// An Unfinished error ended an output after a frame.
type Unfinished struct {
	Err error
	// After is the number of the last frame that was written, 0 before the first.
	After uint64
}

// Error implements error.
func (u *Unfinished) Error() string { return u.Err.Error() }

// Unwrap returns the cause.
func (u *Unfinished) Unwrap() error { return u.Err }

// Write writes a recording in one of the [Formats]. After an error the output is
// incomplete, as it lacks the end, but it stops after a whole frame, which an
// [Unfinished] error names.
func Write(ctx context.Context, to io.Writer, format string, about About, frames iter.Seq2[tap.Frame, error]) error {
	w := bufio.NewWriterSize(to, 64<<10)
	x, err := newWriter(w, format, about)
	if err != nil {
		return err
	}
	last := uint64(0)
	for f, err := range frames {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = x.Add(&f)
		}
		if err != nil {
			return errors.Join(&Unfinished{err, last}, w.Flush())
		}
		last = f.Seq
	}
	if err := x.Close(); err != nil {
		return err
	}
	return w.Flush()
}

// newWriter returns the writer of a format.
func newWriter(w *bufio.Writer, format string, about About) (Writer, error) {
	head := text.Head{Header: about.Header, Status: about.Status, End: about.Duration, Gaps: about.Gaps}
	switch format {
	case NDJSON:
		x := &ndjsonWriter{to: text.NDJSONWriter{W: w, Raw: about.Raw}, status: head.Status, end: head.End}
		return x, x.to.Begin(head)
	case Txtar:
		x := &txtarWriter{to: text.TxtarWriter{W: w, Raw: about.Raw}}
		return x, x.to.Begin(head)
	case "har":
		return NewHAR(w, about), nil
	case "otlp":
		return NewOTLP(w, about), nil
	case "mermaid":
		return NewMermaid(w, about), nil
	}
	return nil, fmt.Errorf("unknown format %q", format)
}

// An ndjsonWriter writes NDJSON.
type ndjsonWriter struct {
	to     text.NDJSONWriter
	status string
	end    time.Duration
}

// Add implements [Writer].
func (n *ndjsonWriter) Add(f *tap.Frame) error {
	n.end = max(n.end, f.At) // a live recording may have more than its duration covers
	return n.to.Frame(*f)
}

// Close implements [Writer].
func (n *ndjsonWriter) Close() error { return n.to.End(n.end, n.status) }

// A txtarWriter writes a transcript, with words for people.
type txtarWriter struct {
	to      text.TxtarWriter
	tracker session.Tracker
}

// Add implements [Writer].
func (t *txtarWriter) Add(f *tap.Frame) error {
	row := view.NewRow(t.tracker.Add(f))
	about := []string{row.Kind, row.Method, row.About}
	if f.Lane == tap.Stderr || row.Kind == "invalid" {
		about = about[:1] // the payload shows the rest
	}
	if about[0] == f.Lane.String() {
		about = nil
	}
	if l, ok := row.Answer(); ok {
		about = append(about, fmt.Sprintf("#%d", l.Request.Seq))
	}
	return t.to.Frame(*f, about...)
}

// Close implements [Writer].
func (t *txtarWriter) Close() error { return nil }
