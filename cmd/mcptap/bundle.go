package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	bundlefile "github.com/mcptap/mcptap/bundle/file"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	redactfile "github.com/mcptap/mcptap/redact/file"
)

const bundleLong = `Writes one zip file to attach to a bug report, with

  summary.md         for an issue tracker: client and server, failed and slow calls,
                     missing responses, the end of stderr
  page.html          a self-contained page that shows the recording
  recording.mcptap   the recording, to show, mock, replay and diff
  README.txt         describes the other files

All of them are made from a copy without secrets (see mcptap redact); what was replaced
is printed. No rule finds every secret: read what you send. A FILE with the extension
.md gets the summary alone. Any command that takes a REC reads a bundle.`

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
	f.StringVarP(&o.out, "output", "o", "", "write to this `file`, with the extension "+bundlefile.Ext+", or "+bundlefile.SummaryExt+" for the summary alone")
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
	opt, err := redactfile.Options("--rule", o.rules, o.emails)
	if err == nil {
		opt.Key, err = redactfile.Key("")
	}
	if err != nil {
		return err
	}
	to := bundlefile.Options{Out: o.out, Keep: o.keep, Redact: opt, Version: programVersion(), Now: a.now, Say: a.say}
	found, err := to.Write(ctx, src, arg, file.Session)
	if err != nil {
		return err
	}
	if o.keep {
		a.say("the bundle contains secrets, because of --keep-secrets")
		return nil
	}
	return (&redactOptions{json: o.json}).report(a, found)
}

func (o *bundleOptions) check(arg string) error {
	switch ext := strings.ToLower(filepath.Ext(o.out)); {
	case o.out == "":
		return hint.With(errors.New("mcptap bundle needs -o FILE"), "`mcptap bundle "+arg+" -o bug.mcptap"+bundlefile.Ext+"`")
	case ext != bundlefile.Ext && ext != bundlefile.SummaryExt:
		return hint.With(fmt.Errorf("-o: %s has neither the extension %s nor %s", term.Quote(o.out), bundlefile.Ext, bundlefile.SummaryExt),
			"to write a recording without secrets, use `mcptap redact`; to write text, `mcptap export`")
	case o.keep && (o.emails || len(o.rules) > 0):
		return errors.New("--emails and --rule have no effect with --keep-secrets")
	}
	return checkOutput("-o", o.out, o.force)
}
