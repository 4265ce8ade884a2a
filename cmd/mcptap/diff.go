package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	checkload "github.com/mcptap/mcptap/check/load"
	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/diff/load"
	diffreport "github.com/mcptap/mcptap/diff/report"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/show"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
)

const diffLong = `Compares two sessions call by call. A and B are recordings or exports; for two
directories, recordings with equal labels are compared.

Calls are paired by what they ask for. Ids, tokens, white space, and the order of
members and of independent calls do not matter. JSON in text is compared as JSON, and
a JSON Schema by what it allows. Each difference has a class and a reason:

  breaking    breaks clients: a tool is gone, an argument is required, a call fails
  behaviour   a different result or action
  expected    follows from the protocol revision
  timing      much slower or faster
  cosmetic    the same in another form

The exit code is 1 if there is a difference of class behaviour or worse (--fail-on), and
2 if a file of a directory could not be read.

--baseline names more recordings of the same server as A. Differences among these are
noise, and are ignored. --ignore ignores a path, optionally of one method or tool, or
values that look like @timestamps, @uuids or @durations:

  --ignore '$.result.structuredContent.generatedAt'
  --ignore 'tools/call now: $.result.content[*].text'`

type diffOptions struct {
	baselines, ignore []string
	only              string
	failOn            string
	json              bool
	format, out       string
	force, noPager    bool
	slower            time.Duration
}

func newDiff(a *app) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff A B [flags]",
		Short: "Compare two sessions: what changed, and whether it matters",
		Long:  diffLong,
		Example: "  mcptap diff 3f2a @last\n  mcptap diff before.ndjson after.ndjson --format markdown\n" +
			"  mcptap diff before/ after/ --fail-on breaking --format junit -o diff.xml\n  mcptap diff 3f2a @last --baseline 91bc --only method:tools/call",
		Args: takes(2, 2, "two recordings"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 1 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeRecording(cmd, nil, prefix)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.paged(o.noPager || o.json, func() error { return o.run(cmd.Context(), a, args[0], args[1]) })
		},
		DisableFlagsInUseLine: true,
	}
	o.addFlags(cmd, a)
	addNoPager(cmd, &o.noPager)
	return cmd
}

// diffFormats are the values of --format, text first. --json is the format jsonFormat.
var diffFormats = []string{"text", "markdown", "html", "junit"}

const jsonFormat = "json"

func (o *diffOptions) addFlags(cmd *cobra.Command, a *app) {
	f := cmd.Flags()
	f.StringArrayVar(&o.baselines, "baseline", nil, "another `recording` of the same server as A, to find noise (repeatable)")
	f.StringArrayVar(&o.ignore, "ignore", nil, "ignore a `path`, or "+strings.Join(diff.Presets(), ", ")+" (repeatable)")
	f.StringVar(&o.only, "only", "", "compare only calls that match a `filter`, or a frame number of A such as #14")
	f.StringVar(&o.failOn, "fail-on", "behaviour", "exit with 1 for differences of this `class` or worse, or never")
	f.StringVar(&o.format, "format", "", "`text`, markdown, html or junit")
	f.StringVarP(&o.out, "output", "o", "", "write to `FILE` instead of stdout")
	addForce(cmd, &o.force)
	f.DurationVar(&o.slower, "slower", diff.DefaultSlower, "report a change of time of at least this `difference`, if it is also a factor of two")
	addJSON(cmd, &o.json)
	fixed := func(name string, words ...string) {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	fixed("fail-on", append(diff.ClassNames(), "never")...)
	fixed("format", diffFormats...)
	fixed("ignore", diff.Presets()...)
	_ = cmd.RegisterFlagCompletionFunc("baseline", func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return a.completeRecording(cmd, nil, prefix)
	})
	_ = cmd.RegisterFlagCompletionFunc("only", func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.completeShow(cmd, args[:1], prefix)
	})
}

// check reads the flags.
func (o *diffOptions) check() (opt diff.Options, set diffreport.Set, err error) {
	opt = diff.Options{Marked: o.only != "", Slower: o.slower, Ratio: diff.DefaultRatio, Most: diff.DefaultMost}
	for _, text := range o.ignore {
		rule, err := diff.ParseRule(text)
		if err != nil {
			return opt, set, hint.With(fmt.Errorf("--ignore: %w", err), "`mcptap diff --help` has examples")
		}
		opt.Ignore = append(opt.Ignore, rule)
	}
	if o.failOn != "never" {
		set.Fails = true
		if set.FailOn, err = diff.ParseClass(o.failOn); err != nil {
			return opt, set, hint.With(fmt.Errorf("--fail-on: %w", err), "with never, the exit code is always 0")
		}
	}
	switch {
	case o.json && o.format != "":
		err = errors.New("--json and --format cannot be combined")
	case o.format == jsonFormat:
		err = errors.New("--format json no longer exists: use --json")
	case o.format != "" && !slices.Contains(diffFormats, o.format):
		err = hint.With(fmt.Errorf("--format: unknown format %s", term.Quote(o.format)), strings.Join(diffFormats, ", "))
	case o.slower <= 0:
		err = fmt.Errorf("--slower: invalid duration %v", o.slower)
	}
	if o.json {
		o.format = jsonFormat
	}
	if err == nil {
		err = checkOutput("-o", o.out, o.force)
	}
	return opt, set, err
}

// diffHeap is heapGoal for diffs.
const diffHeap = 360 << 20

func (o *diffOptions) run(ctx context.Context, a *app, first, second string) error {
	opt, set, err := o.check()
	if err != nil {
		return err
	}
	opt.Check = ctx.Err
	if debug.SetMemoryLimit(-1) == heapGoal {
		debug.SetMemoryLimit(diffHeap)
	}
	d := load.Differ{Ctx: ctx, Open: a.open, Say: a.say, Opt: opt, Set: &set}
	if o.only != "" {
		if d.Only, err = a.parseOnly(o.only); err != nil {
			return err
		}
	}
	switch dirs := [2]bool{a.opener().IsDir(first), a.opener().IsDir(second)}; {
	case dirs[0] && dirs[1]:
		if len(o.baselines) > 0 {
			err = errors.New("--baseline cannot be used with directories")
		} else {
			err = d.Directories(first, second)
		}
	case dirs[0] || dirs[1]:
		err = hint.With(errors.New("cannot compare a recording with a directory"), "compare two recordings, or two directories of them")
	default:
		err = d.Recordings(first, second, o.baselines)
	}
	if err != nil {
		return err
	}
	if err := d.Only.Check(); err != nil {
		return err
	}
	if err := o.write(a, &set, nil); err != nil {
		return err
	}
	o.warn(a, &opt)
	if len(d.Skipped) > 0 {
		return exitCode(exitFailure)
	}
	if set.Failed() {
		return exitCode(exitNegative)
	}
	return nil
}

// warn reports the --ignore rules that matched nothing.
func (o *diffOptions) warn(a *app, opt *diff.Options) {
	for i, rule := range opt.Ignore {
		if !rule.Matched() {
			a.say(fmt.Sprintf("--ignore %q matched no difference", o.ignore[i]))
		}
	}
}

// write writes the report to its destination, after head unless that is nil.
func (o *diffOptions) write(a *app, set *diffreport.Set, head func(*term.Printer) error) error {
	to := func(l *term.Printer) error {
		out := bufio.NewWriter(l.W)
		l.W = out
		var err error
		if head != nil {
			err = head(l)
		}
		switch o.format {
		case jsonFormat:
			err = errors.Join(err, diffreport.JSON(out, set))
		case "markdown":
			err = errors.Join(err, diffreport.Markdown(out, set))
		case "html":
			err = errors.Join(err, diffreport.HTML(out, set))
		case "junit":
			err = errors.Join(err, diffreport.JUnit(out, set))
		default:
			err = errors.Join(err, diffreport.Text(l, set))
		}
		return errors.Join(err, out.Flush())
	}
	if o.out == "" || o.out == "-" {
		return to(a.printer(a.stdout))
	}
	return recording.WriteFile(o.out, func(w io.Writer) error { return to(&term.Printer{W: w}) })
}

// parseOnly reads --only.
func (a *app) parseOnly(text string) (*load.Only, error) {
	frames, ok, err := show.ParseRanges(strings.Fields(text))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--only: %w", err)
	case ok && len(frames) > 0:
		return &load.Only{Frames: frames, Text: text}, nil
	}
	f, err := a.parseFilter(text)
	if err == nil {
		err = checkload.WithoutFindings(f)
	}
	return &load.Only{Filter: f, Text: text}, err
}
