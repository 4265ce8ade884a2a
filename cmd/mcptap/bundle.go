package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/bundle"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/redact"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/web"
)

const bundleLong = `Writes one zip file to attach to a bug report, with

  summary.md         for an issue tracker: client and server, failed and slow calls,
                     missing responses, the end of stderr
  page.html          a self-contained page that shows the recording
  recording.mcptap   the recording, to show, mock, replay and diff
  README.txt         what the others are

All of them are made from a copy without secrets (see mcptap redact); what was replaced
is printed. No rule finds every secret: read what you send. A FILE with the extension
.md gets the summary alone. Any command that takes a REC reads a bundle.`

// bundleExt is the extension of a bundle, summaryExt that of a summary alone.
const (
	bundleExt  = ".zip"
	summaryExt = ".md"
)

type bundleOptions struct {
	redactFlags
	out   string
	force bool
	keep  bool
	json  bool
}

func newBundle(a *app) *cobra.Command {
	var o bundleOptions
	cmd := &cobra.Command{
		Use:               "bundle REC -o FILE [flags]",
		Short:             "Write a file for a bug report, without secrets",
		Long:              bundleLong,
		Example:           "  mcptap bundle @last -o bug.mcptap.zip\n  mcptap bundle @last -o bug.md\n  mcptap bundle 3f2a -o bug.mcptap.zip --emails --rule 'key:customer*'",
		Args:              takes(1, 1, "a recording"),
		ValidArgsFunction: a.completeRecording,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), a, args[0])
		},
		DisableFlagsInUseLine: true,
	}
	f := cmd.Flags()
	f.StringVarP(&o.out, "output", "o", "", "write to this `file`, with the extension "+bundleExt+", or "+summaryExt+" for the summary alone")
	addForce(cmd, &o.force)
	o.add(f)
	f.BoolVar(&o.keep, "keep-secrets", false, "do not replace secrets")
	addJSON(cmd, &o.json)
	return cmd
}

func (o *bundleOptions) run(ctx context.Context, a *app, arg string) error {
	if err := o.check(arg); err != nil {
		return err
	}
	file, err := a.open(ctx, arg)
	if err != nil {
		return err
	}
	if o.keep {
		file.SetMaxRaw(math.MaxInt64)
	}
	src, err := file.Source(ctx)
	if err != nil {
		return err
	}
	info, err := src.Info()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mcptap-bundle-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	copied := filepath.Join(dir, bundle.Recording)
	found, err := o.copy(ctx, a, src, copied, file.Session == 0 && info.Status != store.Live)
	if err != nil {
		return err
	}
	if err := o.write(ctx, a, copied, info, found); err != nil {
		return fmt.Errorf("bundle %s: %w", arg, recording.Packed(err, copied))
	}
	if o.keep {
		a.say("the bundle contains secrets, because of --keep-secrets")
		return nil
	}
	return (&redactOptions{json: o.json}).report(a, found)
}

// copy makes the recording for the bundle. A file that needs no change and has no writer
// is copied byte for byte, so frames of any size need no memory.
func (o *bundleOptions) copy(
	ctx context.Context, a *app, src recording.Source, to string, still bool,
) ([]redact.Finding, error) {
	opt, err := o.options("--rule")
	if err == nil {
		opt.Key, err = redactKey("")
	}
	if err != nil {
		return nil, err
	}
	rec, whole := src.(*store.Recording)
	switch {
	case !o.keep:
		r := redact.New(opt)
		if err := redactTo(ctx, to, src, r); err != nil {
			return nil, err
		}
		warnKept(a, r)
		return r.Findings(), nil
	case whole && still:
		return nil, copyFile(rec.Path(), to)
	}
	info, err := src.Info()
	if err != nil {
		return nil, err
	}
	return nil, recording.Copy(ctx, to, info.Header, src, nil)
}

func (o *bundleOptions) check(arg string) error {
	switch ext := strings.ToLower(filepath.Ext(o.out)); {
	case o.out == "":
		return hint.With(errors.New("mcptap bundle needs -o FILE"), "`mcptap bundle "+arg+" -o bug.mcptap"+bundleExt+"`")
	case ext != bundleExt && ext != summaryExt:
		return hint.With(fmt.Errorf("-o: %s has neither the extension %s nor %s", term.Quote(o.out), bundleExt, summaryExt),
			"to write a recording without secrets, use `mcptap redact`; to write text, `mcptap export`")
	case o.keep && (o.emails || len(o.rules) > 0):
		return errors.New("--emails and --rule have no effect with --keep-secrets")
	}
	return checkOutput("-o", o.out, o.force)
}

// write writes the bundle or the summary. The content is from the copy; the status is
// that of the original, as is the id if there is no copy.
func (o *bundleOptions) write(
	ctx context.Context, a *app, copied string, was store.Info, found []redact.Finding,
) error {
	rec, err := store.Open(copied)
	if err != nil {
		return err
	}
	info, err := rec.Info()
	if err != nil {
		return err
	}
	was.ExtendLive(a.now())
	info.Duration = max(info.Duration, was.Duration)
	about := bundle.About{
		Header: info.Header, Status: was.Status.String(), Duration: info.Duration, Gaps: info.Gaps,
		Program: "mcptap " + programVersion(), Secrets: o.keep,
	}
	for _, f := range found {
		about.Replaced += f.Times
	}
	summary := func(w io.Writer) error { return bundle.WriteSummary(ctx, w, rec, about) }
	if strings.EqualFold(filepath.Ext(o.out), summaryExt) {
		about.Header.ID = was.Header.ID
		return recording.WriteFile(o.out, summary)
	}
	about.Bundle = filepath.Base(o.out)
	parts := []bundle.Part{
		{Name: bundle.Readme, Write: func(w io.Writer) error { return bundle.WriteReadme(w, o.keep) }},
		{Name: bundle.Summary, Write: summary},
		{Name: bundle.Page, Write: func(w io.Writer) error {
			return web.Offline(ctx, w, web.Reader{FrameReader: packed{rec, was.Status}, Key: info.Header.ID})
		}},
		{Name: bundle.Recording, Write: func(w io.Writer) error { return readFileInto(w, copied) }},
	}
	return recording.WriteFile(o.out, func(w io.Writer) error { return bundle.Pack(w, a.now(), parts) })
}

// A packed recording is the copy under its name in the bundle, with the status of the
// original: the copy of a live recording is cut.
type packed struct {
	*store.Recording
	was store.Status
}

// Info implements [web.FrameReader].
func (p packed) Info() (store.Info, error) {
	info, err := p.Recording.Info()
	info.Path, info.Status = bundle.Recording, p.was
	return info, err
}

func readFileInto(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

func copyFile(from, to string) error {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(readFileInto(f, from), f.Close())
}
