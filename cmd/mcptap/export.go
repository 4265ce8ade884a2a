package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	formats "github.com/mcptap/mcptap/export"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

const exportLong = `Writes a recording, or one session of it (REC#2), in another format. ` + "`" + `mcptap import` + "`" + `
reads the first two.

  ndjson    one JSON object per line, complete: the recording, its frames with their
            bytes (raw, or raw_base64), and its end (the default)
  txtar     a transcript to read and edit; times are rounded to a microsecond
  har       HTTP Archive 1.2, for the network panel of a browser; messages on stdio
            become POSTs to http://stdio.invalid
  otlp      OpenTelemetry traces as OTLP/JSON: a span per call, with the semantic
            conventions for MCP, below the span in _meta.traceparent
  mermaid   a sequence diagram for Markdown, limited to what Mermaid can draw`

type exportOptions struct {
	format  string
	out     string
	force   bool
	salvage bool
}

func newExport(a *app) *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:               "export REC [flags]",
		Short:             "Convert a recording to NDJSON, a transcript, HAR, OTLP or a diagram",
		Long:              exportLong,
		Example:           "  mcptap export @last -o session.ndjson\n  mcptap export @last --format txtar | less\n  mcptap export @last -o session.har",
		Args:              takes(1, 1, "a recording"),
		ValidArgsFunction: a.completeRecording,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), a, args[0])
		},
		DisableFlagsInUseLine: true,
	}
	o.addFlags(cmd)
	return cmd
}

func (o *exportOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "", "`ndjson`, txtar, har, otlp or mermaid (default: by the extension of FILE, or ndjson)")
	f.StringVarP(&o.out, "output", "o", "", "write to `FILE` instead of stdout")
	addForce(cmd, &o.force)
	f.BoolVar(&o.salvage, "salvage", false, "write what can be read of a damaged recording")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(exportFormats, cobra.ShellCompDirectiveNoFileComp))
}

func (o *exportOptions) run(ctx context.Context, a *app, arg string) error {
	format, err := exportFormat(o.format, o.out)
	if err != nil {
		return err
	}
	if err := checkOutput("-o", o.out, o.force); err != nil {
		return err
	}
	path, session, err := a.findSession(arg)
	if err != nil {
		return err
	}
	write := func(src exportSource) error {
		if o.out == "" || o.out == "-" {
			return unfinishedTo("", exportTo(ctx, a.stdout, format, src))
		}
		return unfinishedTo(o.out, writeFile(o.out, func(w io.Writer) error { return exportTo(ctx, w, format, src) }))
	}
	if o.salvage && session > 0 {
		return fmt.Errorf("export --salvage %w", errWhole)
	}
	if o.salvage {
		return salvage(a, path, write)
	}
	rec, err := store.Open(path)
	if err != nil {
		return err
	}
	var src exportSource = rec
	if session > 0 {
		if src, err = newSessionSource(ctx, rec, session); err != nil {
			return err
		}
	}
	if err = write(src); errors.Is(err, store.ErrDamaged) {
		err = withHint(err, "`mcptap export "+arg+" --salvage` writes the frames after the damage too")
	}
	return err
}

// exportTo writes one recording. After an error the output is incomplete, as it lacks
// the end, but it stops after a whole frame, which an [unfinished] error names.
func exportTo(ctx context.Context, to io.Writer, format string, src exportSource) error {
	w := bufio.NewWriterSize(to, 64<<10)
	x := newExporter(format, w, src.WriteRaw)
	info, err := src.Info()
	if err != nil {
		return err
	}
	if err := x.begin(info); err != nil {
		return err
	}
	at, last := info.Duration, uint64(0)
	for f, err := range src.Frames(0) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = x.frame(f)
		}
		if err != nil {
			return errors.Join(unfinished{err, last}, w.Flush())
		}
		at, last = max(at, f.At), f.Seq // of a live one there may be more by now
	}
	if err := x.end(at, info.Status); err != nil {
		return err
	}
	return w.Flush()
}

// An unfinished error ended an export after a frame, 0 before the first.
type unfinished struct {
	error
	last uint64
}

func (u unfinished) Unwrap() error { return u.error }

// unfinishedTo adds to an error how far the export got; file is "" for stdout.
func unfinishedTo(file string, err error) error {
	var u unfinished
	switch {
	case !errors.As(err, &u):
		return err
	case file != "":
		return fmt.Errorf("write %s: after frame %d: %w", file, u.last, err)
	}
	return fmt.Errorf("export ended after frame %d: %w", u.last, err)
}

// find returns the file of an argument that must name a whole recording, not a text, a
// bundle or a session.
func (a *app) find(arg string) (string, error) {
	dir, err := a.dataDir()
	if err != nil {
		return "", err
	}
	path, session, err := store.Resolve(dir, arg)
	if err == nil && session > 0 {
		err = fmt.Errorf("%s: this %w", quote(arg), errWhole)
	}
	return path, err
}

// completeRecording offers the ids of recordings to the shell.
func (a *app) completeRecording(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	dir, err := a.dataDir()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return store.Completions(dir, prefix), cobra.ShellCompDirectiveDefault
}

// exportFormat returns the format of --format or, without it, that of the file
// extension.
var exportFormats = []string{"ndjson", "txtar", "har", "otlp", "mermaid"}

// exportExts maps file extensions to formats. A file without an extension is NDJSON.
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
			return "", withHint(fmt.Errorf("--output: unknown extension %s", quote(ext)), "use "+strings.Join(known, ", ")+", or set --format")
		}
		return format, nil
	}
	if !slices.Contains(exportFormats, format) {
		return "", withHint(fmt.Errorf("--format: unknown format %s", quote(format)), formatList())
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

// newExporter returns the exporter of a format.
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

// headOf returns the header of a text export.
func headOf(info store.Info) text.Head {
	return text.Head{Header: info.Header, Status: info.Status.String(), End: info.Duration, Gaps: info.Gaps}
}

// An ndjsonExporter exports NDJSON.
type ndjsonExporter struct{ to *text.NDJSONWriter }

func (n ndjsonExporter) begin(info store.Info) error { return n.to.Begin(headOf(info)) }

func (n ndjsonExporter) frame(f tap.Frame) error { return n.to.Frame(f) }

func (n ndjsonExporter) end(at time.Duration, status store.Status) error {
	return n.to.End(at, status.String())
}

// A txtarExporter exports txtar, with descriptions for people.
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

// A viewExporter exports the formats of other tools.
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
