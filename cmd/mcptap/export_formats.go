package main

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	formats "github.com/mcptap/mcptap/export"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// exportFormats are the formats of `mcptap export`. import reads the first two.
var exportFormats = []string{"ndjson", "txtar", "har", "otlp", "mermaid"}

// exportFormat is what was asked for, else what the name of the file says.
func exportFormat(format, file string) (string, error) {
	if format == "" {
		switch strings.ToLower(filepath.Ext(file)) {
		case ".txtar":
			return "txtar", nil
		case ".har":
			return "har", nil
		}
		return "ndjson", nil
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

// newExporter returns what writes a format.
func newExporter(format string, w *bufio.Writer, raw func(io.Writer, tap.Frame) error) exporter {
	switch format {
	case "txtar":
		return newTranscriptWriter(w, raw)
	case "har":
		return &viewExporter{raw: raw, open: func(a formats.About) formats.Writer { return formats.NewHAR(w, a) }}
	case "otlp":
		return &viewExporter{raw: raw, open: func(a formats.About) formats.Writer { return formats.NewOTLP(w, a) }}
	case "mermaid":
		return &viewExporter{raw: raw, open: func(a formats.About) formats.Writer { return formats.NewMermaid(w, a) }}
	}
	return &ndjsonWriter{w: w, raw: raw}
}

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
