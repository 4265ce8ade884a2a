// Package export writes recordings in the text formats of package tap/text, and in formats of other
// tools: HAR for the network panels of browsers, OpenTelemetry traces, and Mermaid for Markdown.
//
// [Write] converts the frames of one recording, in order. Its memory is bounded except for open
// calls. The package is pure; the command line and the viewer use it.
//
// The formats of other tools lose the exact bytes, stderr, and anything that is not a message.
// NDJSON loses nothing.
package export

import (
	"bufio"
	"cmp"
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

// About describes a recording without its frames.
type About struct {
	Header tap.Header
	// Facts are those of the whole recording, from its tally: a diagram starts with names that
	// the frames only show later.
	Facts session.Facts
	// Program and Version identify the creator of the file.
	Program, Version string
	// Raw writes all bytes of a frame whose Raw is truncated. May be nil if there is none.
	Raw func(w io.Writer, f tap.Frame) error
	// Status, Duration and Gaps are used for [text.Head], in NDJSON and transcripts.
	Status   string
	Duration time.Duration
	Gaps     []tap.Range
}

// at returns the wall-clock time at an offset in the recording.
func (a *About) at(offset time.Duration) time.Time { return a.Header.Start.Add(offset).UTC() }

// The formats that can be imported.
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

// An Unfinished is an error that ended the output after a frame.
type Unfinished struct {
	Err error
	// After is the number of the last frame written, 0 for none.
	After uint64
}

// Error implements error.
func (u *Unfinished) Error() string { return u.Err.Error() }

// Unwrap returns the cause.
func (u *Unfinished) Unwrap() error { return u.Err }

// Write writes a recording in one of the [Formats]. After an error the output is incomplete, because
// it lacks the end, but it stops after a complete frame, which an [Unfinished] error names.
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
			failed := w.Flush()
			if errors.Is(err, failed) { // the output ends anywhere, not after a frame
				return err
			}
			return errors.Join(&Unfinished{err, last}, failed)
		}
		last = f.Seq
	}
	if err := x.Close(); err != nil {
		return err
	}
	return w.Flush()
}

// A writer writes a recording in one format.
type writer interface {
	// Add adds the next frame. It does not retain f.
	Add(f *tap.Frame) error
	// Close writes open entries and the end. The file is valid even without frames.
	Close() error
}

// newWriter returns the writer of a format.
func newWriter(w *bufio.Writer, format string, about About) (writer, error) {
	head := text.Head{Header: about.Header, Status: about.Status, End: about.Duration, Gaps: about.Gaps}
	switch format {
	case NDJSON:
		x := &ndjsonWriter{to: text.NDJSONWriter{W: w, Raw: about.Raw}, status: head.Status, end: head.End}
		return x, x.to.Begin(head)
	case Txtar:
		x := &txtarWriter{to: text.TxtarWriter{W: w, Raw: about.Raw}}
		return x, x.to.Begin(head)
	case "har":
		return newHAR(w, about), nil
	case "otlp":
		return newOTLP(w, about), nil
	case "mermaid":
		return newMermaid(w, about), nil
	}
	return nil, fmt.Errorf("unknown format %q", format)
}

// An ndjsonWriter writes NDJSON.
type ndjsonWriter struct {
	to     text.NDJSONWriter
	status string
	end    time.Duration
}

// Add implements [writer].
func (n *ndjsonWriter) Add(f *tap.Frame) error {
	n.end = max(n.end, f.At) // frames of a live recording may be newer than its duration
	return n.to.Frame(*f)
}

// Close implements [writer].
func (n *ndjsonWriter) Close() error { return n.to.End(n.end, n.status) }

// A txtarWriter writes a transcript, with descriptions of the frames.
type txtarWriter struct {
	to      text.TxtarWriter
	tracker session.Tracker
}

// Add implements [writer].
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

// Close implements [writer].
func (t *txtarWriter) Close() error { return nil }

// An output is the output of a writer. It keeps the first error.
type output struct {
	w    io.Writer
	size int // bytes written
	err  error
}

func (o *output) printf(format string, args ...any) {
	if o.err == nil {
		var n int
		n, o.err = fmt.Fprintf(o.w, format, args...)
		o.size += n
	}
}

func (o *output) fail(err error) { o.err = cmp.Or(o.err, err) }
