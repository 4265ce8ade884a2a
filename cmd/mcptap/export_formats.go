package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	formats "github.com/mcptap/mcptap/export"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

// exportFormats are the formats of `mcptap export`. import reads the first two.
var exportFormats = []string{"ndjson", "txtar", "har", "otlp", "mermaid"}

// exportExts are the formats by the extension of a file. NDJSON is also what a file
// without one gets.
var exportExts = map[string]string{
	"": "ndjson", ".ndjson": "ndjson", ".txtar": "txtar", ".har": "har", ".otlp": "otlp", ".mmd": "mermaid", ".md": "mermaid",
}

// exportFormat returns the format of --format, or else that of the file's extension.
func exportFormat(format, file string) (string, error) {
	if format == "" {
		ext := strings.ToLower(filepath.Ext(file))
		if ext == store.Ext {
			ext = "" // which writeFile refuses
		}
		format, ok := exportExts[ext]
		if !ok {
			known := slices.Sorted(maps.Keys(exportExts))[1:]
			return "", withHint(fmt.Errorf("--output: no format has the extension %s", quote(ext)), "use "+strings.Join(known, ", ")+", or set --format")
		}
		return format, nil
	}
	if !slices.Contains(exportFormats, format) {
		return "", withHint(fmt.Errorf("--format: there is no format %s", quote(format)), formatList())
	}
	return format, nil
}

// formatList names the formats for a person.
func formatList() string {
	last := len(exportFormats) - 1
	return strings.Join(exportFormats[:last], ", ") + " or " + exportFormats[last]
}

// An exporter writes a recording in one of the formats.
type exporter interface {
	begin(info store.Info) error
	frame(f tap.Frame) error
	end(at time.Duration, status store.Status) error
}

// newExporter returns what writes a format.
func newExporter(format string, w *bufio.Writer, raw func(io.Writer, tap.Frame) error) exporter {
	switch format {
	case "txtar":
		return &txtarExporter{&text.TxtarWriter{W: w, Raw: raw}, newViewer()}
	case "har":
		return &viewExporter{raw: raw, open: func(a formats.About) formats.Writer { return formats.NewHAR(w, a) }}
	case "otlp":
		return &viewExporter{raw: raw, open: func(a formats.About) formats.Writer { return formats.NewOTLP(w, a) }}
	case "mermaid":
		return &viewExporter{raw: raw, open: func(a formats.About) formats.Writer { return formats.NewMermaid(w, a) }}
	}
	return ndjsonExporter{&text.NDJSONWriter{W: w, Raw: raw}}
}

// headOf returns what a text says of a recording.
func headOf(info store.Info) text.Head {
	return text.Head{Header: info.Header, Status: info.Status.String(), End: info.Duration, Gaps: info.Gaps}
}

// An ndjsonExporter is the exporter of NDJSON.
type ndjsonExporter struct{ to *text.NDJSONWriter }

func (n ndjsonExporter) begin(info store.Info) error { return n.to.Begin(headOf(info)) }

func (n ndjsonExporter) frame(f tap.Frame) error { return n.to.Frame(f) }

func (n ndjsonExporter) end(at time.Duration, status store.Status) error {
	return n.to.End(at, status.String())
}

// A txtarExporter is the exporter of txtar: it chooses the words for the reader.
type txtarExporter struct {
	to   *text.TxtarWriter
	view *viewer
}

func (t *txtarExporter) begin(info store.Info) error { return t.to.Begin(headOf(info)) }

func (t *txtarExporter) frame(f tap.Frame) error {
	row := t.view.row(&f)
	about := []string{row.Kind, row.Method, row.About}
	if f.Lane == tap.Stderr || row.Kind == "invalid" {
		about = about[:1] // the payload says it better
	}
	if about[0] == f.Lane.String() {
		about = nil
	}
	if l, ok := row.Answer(); ok {
		about = append(about, fmt.Sprintf("#%d", l.Request.Seq))
	}
	return t.to.Frame(f, about...)
}

func (t *txtarExporter) end(time.Duration, store.Status) error { return nil }

// A viewExporter is the exporter of the formats of other tools.
type viewExporter struct {
	raw  func(io.Writer, tap.Frame) error
	open func(formats.About) formats.Writer
	to   formats.Writer
}

func (v *viewExporter) begin(info store.Info) error {
	v.to = v.open(formats.About{
		Header: info.Header, Facts: info.Tally.Facts, Program: "mcptap", Version: programVersion(), Raw: v.raw,
	})
	return nil
}

func (v *viewExporter) frame(f tap.Frame) error { return v.to.Add(&f) }

func (v *viewExporter) end(time.Duration, store.Status) error { return v.to.Close() }
