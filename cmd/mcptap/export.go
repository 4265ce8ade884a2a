package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	formats "github.com/mcptap/mcptap/export"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
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
	names := cobra.FixedCompletions(exportFormats(), cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("format", names)
}

func (o *exportOptions) run(ctx context.Context, a *app, arg string) error {
	if err := checkOutput("-o", o.out, o.force); err != nil {
		return err
	}
	format, err := exportFormat(o.format, o.out)
	if err != nil {
		return err
	}
	if o.salvage {
		return o.runSalvage(ctx, a, arg, format)
	}
	file, err := a.open(ctx, arg)
	if err != nil {
		return err
	}
	src, err := file.Source(ctx)
	if err != nil {
		return err
	}
	if err = o.write(ctx, a, format, src); errors.Is(err, store.ErrDamaged) {
		err = hint.With(err, "`mcptap export "+arg+" --salvage` writes the frames after the damage too")
	}
	return err
}

// write writes a recording to the output. The error reports how far it got.
func (o *exportOptions) write(ctx context.Context, a *app, format string, src recording.Source) error {
	to := func(w io.Writer) error { return recording.Export(ctx, w, format, src, programVersion()) }
	var err error
	stdout := o.out == "" || o.out == "-"
	if stdout {
		err = to(a.stdout)
	} else {
		err = recording.WriteFile(o.out, to)
	}
	var u *formats.Unfinished
	switch {
	case !errors.As(err, &u):
		return err
	case stdout:
		return fmt.Errorf("export ended after frame %d: %w", u.After, err)
	}
	return fmt.Errorf("write %s: after frame %d: %w", o.out, u.After, err)
}

// runSalvage exports the readable part of a recording.
func (o *exportOptions) runSalvage(ctx context.Context, a *app, arg, format string) error {
	path, session, err := a.findSession(arg)
	if err != nil {
		return err
	}
	if session > 0 {
		return fmt.Errorf("export --salvage %w", errWhole)
	}
	return salvage(a, arg, path, func(src recording.Source) error { return o.write(ctx, a, format, src) })
}

// exportExts maps file extensions to formats. A file without an extension is NDJSON.
var exportExts = map[string]string{
	"": "ndjson", ".ndjson": "ndjson", ".txtar": "txtar", ".har": "har", ".otlp": "otlp",
	".mmd": "mermaid", ".md": "mermaid",
}

// exportFormat returns the format of --format, or else that of the file's extension.
func exportFormat(format, file string) (string, error) {
	if format == "" {
		ext := strings.ToLower(filepath.Ext(file))
		if ext == store.Ext {
			ext = "" // WriteFile refuses it
		}
		format, ok := exportExts[ext]
		if !ok {
			known := slices.Sorted(maps.Keys(exportExts))[1:]
			err := fmt.Errorf("--output: unknown extension %s", term.Quote(ext))
			if ext == ".html" || ext == ".htm" {
				return "", hint.With(err, "`mcptap bundle` includes a page, and the viewer (mcptap web) exports one")
			}
			return "", hint.With(err, "use "+strings.Join(known, ", ")+", or set --format")
		}
		return format, nil
	}
	names := exportFormats()
	if last := len(names) - 1; !slices.Contains(names, format) {
		list := strings.Join(names[:last], ", ") + " or " + names[last]
		return "", hint.With(fmt.Errorf("--format: unknown format %s", term.Quote(format)), list)
	}
	return format, nil
}

func exportFormats() (names []string) {
	for _, f := range formats.Formats {
		names = append(names, f.Name)
	}
	return names
}
