package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/diff/load"
	diffreport "github.com/mcptap/mcptap/diff/report"
	"github.com/mcptap/mcptap/internal/endpoint"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/replay/client"
	"github.com/mcptap/mcptap/replay/run"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

const replayLong = `Plays the client of a recorded session against a live server, records the new session,
and compares the two: a regression test of a server in one command. The server is a
command that is started for it, or a URL, on any transport.

Requests that were in flight together are sent together; others wait for the responses
they depend on. Cursors, task ids and other values from the server are taken from its
live responses. Requests of the server (sampling, elicitation, roots) get the recorded
responses.

The report and the exit code are those of ` + "`" + `mcptap diff` + "`" + `. The exit code is also 1
if part of the session could not be played. --update then replaces the old recording
with the new one, after asking. --revision plays the session in another protocol revision.

--only '#14' plays one call and what it depends on. --set changes its arguments and
shows the new response next to the recorded one.`

const replayExample = `  mcptap replay @last -- npx -y @modelcontextprotocol/server-everything
  mcptap replay testdata/session.ndjson --ignore @timestamps -- ./server --stdio
  mcptap replay 3f2a --to http://localhost:3001/mcp --fail-on breaking
  mcptap replay @last --revision 2026-07-28 -- ./server
  mcptap replay @last --only '#14' --set 'params.arguments.city="Oslo"' -- ./server`

type replayOptions struct {
	diff     diffOptions
	at       endpoint.Server
	revision string
	pace     string
	timeout  time.Duration
	label    string
	update   bool
	yes      bool
	set      []string
	noSave   bool
}

func newReplay(a *app) *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:     "replay REC [flags] (--to URL | -- CMD [ARG…])",
		Short:   "Play a recorded client against a live server, and compare",
		Long:    replayLong,
		Example: replayExample,
		Args:    cobra.ArbitraryArgs,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			names, _ := a.completeRecording(cmd, args, prefix)
			return names, cobra.ShellCompDirectiveDefault // exports and transcripts are files
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			rec, command, err := replayWords(cmd, args, o.at.To)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), a, rec, command)
		},
		DisableFlagsInUseLine: true,
	}
	o.addFlags(cmd, a)
	return cmd
}

// replayWords separates the recording from the server's command.
func replayWords(cmd *cobra.Command, args []string, to string) (rec string, command []string, err error) {
	advice := "usage: `" + cmd.UseLine() + "`"
	dash := cmd.ArgsLenAtDash()
	if dash < 0 {
		dash = len(args)
	}
	switch words := args[:dash]; {
	case len(words) == 0:
		return "", nil, hint.With(errors.New("mcptap replay needs a recording"), advice)
	case len(words) > 1:
		return "", nil, hint.With(fmt.Errorf("mcptap replay takes no argument %s", term.Quote(words[1])), "the server's command follows --: "+advice)
	case to == "" && len(args) == dash:
		return "", nil, hint.With(errors.New("mcptap replay needs a server"), "its command after --, or its URL with --to")
	case to != "" && len(args) > dash:
		return "", nil, errors.New("--to and a command cannot be combined")
	}
	return args[0], args[dash:], nil
}

func (o *replayOptions) addFlags(cmd *cobra.Command, a *app) {
	f := cmd.Flags()
	addServerURL(cmd, &o.at, "`URL` of the server: http://, https://, ws:// or wss://")
	f.StringVar(&o.revision, "revision", "", "play the session in this protocol `revision`, such as 2026-07-28")
	f.StringVar(&o.pace, "pace", "brisk", "time between requests: `pace` is brisk, instant, recorded, or a speed such as 10x")
	f.DurationVar(&o.timeout, "timeout", client.DefaultTimeout, "`time` a response may take beyond what was recorded")
	f.StringVar(&o.label, "label", "", "`name` of the new recording (default: that of the old one)")
	f.BoolVar(&o.update, "update", false, "replace the old recording with the new one, after asking")
	f.StringArrayVar(&o.set, "set", nil, "with --only, change the calls, as `'path=value'`, such as 'params.arguments.city=\"Oslo\"'")
	f.BoolVar(&o.noSave, "no-save", false, "do not keep the new recording")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	o.diff.addFlags(cmd, a)
	f.Lookup("only").Usage = "play only calls that match a `filter`, or a frame number such as #14, and what they depend on"
	fixed := func(flag string, values ...string) {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	fixed("pace", "brisk", "instant", "recorded", "10x")
	fixed("revision", replayRevisions()...)
}

// replayRevisions are the supported revisions.
func replayRevisions() (names []string) {
	for _, r := range jsonrpc.Revisions {
		if jsonrpc.EraOf(r) != "" && r[0] == '2' {
			names = append(names, string(r))
		}
	}
	return names
}

// check validates the flags.
func (o *replayOptions) check() (play client.Options, err error) {
	if play.Pace, err = replay.ParsePace(o.pace); err != nil {
		return play, fmt.Errorf("--pace: %w", err)
	}
	switch {
	case o.timeout <= 0:
		return play, errors.New("--timeout must be positive")
	case o.revision != "" && !slices.Contains(replayRevisions(), o.revision):
		return play, hint.With(fmt.Errorf("--revision: unknown revision %s", term.Quote(o.revision)), strings.Join(replayRevisions(), ", "))
	case o.yes && !o.update:
		return play, errors.New("--yes requires --update")
	case len(o.set) > 0 && o.diff.only == "":
		return play, hint.With(errors.New("--set requires --only, which selects the calls to change"), `--only '#14' --set 'params.arguments.city="Oslo"'`)
	case len(o.set) > 0 && (o.diff.out != "" || o.diff.format != "" && o.diff.format != "text"):
		return play, errors.New("--set cannot be combined with --format or --output")
	case o.update && o.noSave:
		return play, errors.New("--update and --no-save cannot be combined")
	case o.update && o.diff.only != "":
		return play, errors.New("--update cannot be combined with --only")
	}
	play.Timeout, play.Revision = o.timeout, jsonrpc.Revision(o.revision)
	return play, o.at.CheckTransport()
}

func (o *replayOptions) run(ctx context.Context, a *app, name string, command []string) error {
	play, err := o.check()
	if err != nil {
		return err
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		if dir, err := a.dataDir(); err != nil || len(store.Labelled(dir, name)) == 0 {
			return hint.With(fmt.Errorf("%s is a directory", term.Quote(name)), "name a recording or an export")
		}
	}
	if o.update && !o.yes && (!term.IsTerminal(a.stdin) || !term.IsTerminal(a.stderr)) {
		return errors.New("not a terminal: pass --yes to confirm --update")
	}
	opt, set, err := o.diff.check()
	if err != nil {
		return err
	}
	opt.Check = ctx.Err
	r := run.Run{
		Differ: load.Differ{Ctx: ctx, Open: a.open, Say: a.say, Opt: opt, Set: &set}, Play: play, Server: o.at, Label: o.label, Version: programVersion(),
		Update: o.update, Yes: o.yes, NoSave: o.noSave, Baselines: o.diff.baselines, NeverFail: o.diff.failOn == "never", Format: o.diff.format,
		Dir: a.dataDir, Ask: a.ask, Say: a.say, Out: a.stdout, Printer: a.printer,
		Write: func(set *diffreport.Set, head func(*term.Printer) error) error { return o.diff.write(a, set, head) },
		Warn:  func(opt *diff.Options) { o.diff.warn(a, opt) },
	}
	if o.diff.only != "" {
		if r.Differ.Only, err = a.parseOnly(o.diff.only); err != nil {
			return err
		}
	}
	if r.Edits, err = run.ParseEdits(o.set); err != nil {
		return err
	}
	if err = r.Do(name, command); errors.Is(err, run.ErrNo) {
		return exitCode(exitNegative)
	}
	return err
}
