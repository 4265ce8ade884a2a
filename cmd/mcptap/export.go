package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/store"
)

const exportLong = `Writes a recording as text.

ndjson, the default, is one JSON object a line and loses nothing: a line that
describes the recording, a line a frame with its bytes (raw, or raw_base64 if they
are not UTF-8 or more than 64 MiB), and a line that ends it.

txtar is a transcript to read and to edit: a paragraph a frame. Times are rounded
to a microsecond, the bytes are exact.

Of REC#2 it writes the second session alone, and numbers its frames anew.

` + "`mcptap import`" + ` reads both.

The others are for other tools, and lose something:

har is an HTTP Archive 1.2 for the network panel of a browser. Of a recording of
stdio each message becomes a POST to http://stdio.invalid, and says so.

otlp is traces of OpenTelemetry, as a file of OTLP/JSON: a span a call, with the
names of the semantic conventions for MCP, below the span that _meta.traceparent of
its request names.

mermaid is a sequence diagram for Markdown, of as many messages as Mermaid draws.`

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
		Short:             "Write a recording as text: NDJSON, a transcript, HAR, OTLP or a diagram",
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
	f.StringVar(&o.format, "format", "", "`ndjson`, txtar, har, otlp or mermaid; by default that of FILE's extension, or ndjson")
	f.StringVarP(&o.out, "output", "o", "", "write to `FILE` instead of stdout")
	addForce(cmd, &o.force)
	f.BoolVar(&o.salvage, "salvage", false, "get what can be read out of a damaged recording")
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
		err = withHint(err, "`mcptap export "+arg+" --salvage` gets what can be read behind the damage too")
	}
	return err
}

// exportTo writes one recording. What was written before an error is no whole
// file in either format: it lacks the end. But it ends with a whole frame, which
// an [unfinished] error names.
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

// unfinishedTo says of an error how far the export to a file got, "" for stdout.
func unfinishedTo(file string, err error) error {
	var u unfinished
	switch {
	case !errors.As(err, &u):
		return err
	case file != "":
		return fmt.Errorf("%s was not written: after frame %d: %w", file, u.last, err)
	}
	return fmt.Errorf("the export ends after frame %d: %w", u.last, err)
}

// find turns what a person typed for a whole recording into its file. It must be a recording,
// not a text or a bundle.
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
