package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

const showLong = `Lists the frames of a recording, a line each:

  number, time since the start, where it went (→ to the server, ← to the client,
  ! the server's stderr, · about the run), what it is, how long after its request
  a response came, its size, what it is about, and which request it answers (#7).
  A tool is named first, with its arguments or its result, and its method last.

Of HTTP only what went wrong is listed beside the messages; --http shows all of
it: connections, heads, ends. Requests that got no response are named at the end.

With a number, one frame is shown in full, of a request its response too. --curl
prints a command that repeats its HTTP request. 17..30 and 17,19 list these frames.

Any other word is a filter, as ` + "`mcptap help filter`" + ` explains:

  mcptap show @last tool:forecast is:error

--calls shows a line a call, and below it what belongs to it: progress, log
messages, what the server asked meanwhile, a cancellation. --tree draws that as a
tree, with times relative to the call. A filter then picks calls: is: holds what
is true of any message of it, kind: is that of its answer, size: is that of all
its frames, and text is looked for in each.

--since and --until take a time since the start (2s, 1m30s), before the end
(-30s), of the day (14:03:05), a whole one (2026-11-20T14:03:05Z) or a frame
(#120).

What was recorded is never sent to the terminal as it is: characters that could
move the cursor, change their neighbours' order or hide are spelled out. --raw
writes the exact bytes; so does --raw --lane to_client, for all of a lane.

A recording of HTTP traffic may hold several sessions: REC#2 is its second.

With --follow several recordings may be named, and @live stands for all that are
running or begin to; each line then says which it is of.`

const showExample = `  mcptap show @last
  mcptap show @last 17
  mcptap show @last method:tools/call latency:>1s
  mcptap show @last --calls is:pending
  mcptap show @last --lane stderr
  mcptap show -f @live -- -method:ping`

type showOptions struct {
	raw, json, follow, http   bool
	calls, tree, stderr, diff bool
	noPager, payload, curl    bool
	lane, since, until        string
}

func newShow(a *app) *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:               "show REC [NUMBER|FILTER…] [flags]",
		Short:             "Show the frames of a recording, or one of them",
		Long:              showLong,
		Example:           showExample,
		Args:              takes(1, -1, "a recording"),
		ValidArgsFunction: a.completeShow,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.paged(o.noPager || o.follow || o.json || o.raw || o.curl, func() error { return o.run(cmd.Context(), a, args) })
		},
		Annotations:           map[string]string{wordsAnnotation: ""},
		DisableFlagsInUseLine: true,
	}
	o.addFlags(cmd)
	return cmd
}

func (o *showOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.calls, "calls", false, "show a line a call, what belongs to it below")
	f.BoolVar(&o.tree, "tree", false, "show calls as trees")
	f.BoolVarP(&o.follow, "follow", "f", false, "wait for more while the recording is live")
	f.StringVar(&o.since, "since", "", "leave out what was before `when`: 2s, -30s, 14:03:05, #120")
	f.StringVar(&o.until, "until", "", "leave out what was after `when`")
	f.BoolVar(&o.http, "http", false, "show how HTTP carries the messages too: connections, heads, ends, comments")
	f.BoolVar(&o.stderr, "stderr", false, "with a filter or --calls: also the server's stderr around the matches")
	f.BoolVar(&o.diff, "diff", false, "say what changed from the last answer to the same method and arguments")
	f.StringVar(&o.lane, "lane", "", "only this `lane`: to_server, to_client, stderr or lifecycle")
	f.BoolVar(&o.raw, "raw", false, "write the exact bytes, of one frame or of one --lane")
	addJSON(cmd, &o.json)
	f.BoolVar(&o.payload, "payload", false, "with --json: every frame with its bytes, as with a number")
	f.BoolVar(&o.curl, "curl", false, "print a curl command that repeats the HTTP request of a frame")
	addNoPager(cmd, &o.noPager)
	_ = cmd.RegisterFlagCompletionFunc("lane", cobra.FixedCompletions([]string{"to_server", "to_client", "stderr", "lifecycle"}, cobra.ShellCompDirectiveNoFileComp))
	for _, name := range []string{"since", "until"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

func (o *showOptions) run(ctx context.Context, a *app, args []string) error {
	words, err := o.sort(a, args)
	if err != nil {
		return err
	}
	if err := o.check(words); err != nil {
		return err
	}
	want, err := o.selection(a, words)
	if err != nil {
		return err
	}
	if o.follow && (words.all || len(words.recordings) > 1) {
		return followSeveral(ctx, a, o, words, want)
	}
	path, session, err := a.findSession(words.recordings[0])
	if err != nil {
		return err
	}
	rec, err := store.Open(path)
	if err != nil {
		return err
	}
	if want.session, err = oneOf(rec, session); err != nil {
		return err
	}
	number := words.number
	switch {
	case number > 0 && o.raw:
		f, err := rec.Frame(number)
		if err != nil {
			return err
		}
		return rec.WriteRaw(a.stdout, f)
	case o.curl:
		return showCurl(ctx, a, rec, words.recordings[0], number)
	case number > 0:
		return o.showOne(ctx, a, rec, number)
	case o.raw && want.session > 0:
		return errors.New("--raw writes a lane of all sessions")
	case o.raw:
		return o.rawLane(ctx, a, rec, want)
	}
	return o.list(ctx, a, rec, want)
}

// oneOf returns the session of a recording that was asked for, 0 for all there
// is. Whether one of HTTP traffic has so many is found out by reading it.
func oneOf(rec *store.Recording, session int) (int, error) {
	if session == 0 {
		return 0, nil
	}
	info, err := rec.Info()
	switch {
	case err != nil:
		return 0, err
	case info.Header.Transport == "http":
		return session, nil
	case session > 1:
		return 0, fmt.Errorf("%s has one session, so there is no #%d", quote(filepath.Base(rec.Path())), session)
	}
	return 0, nil
}

// check refuses combinations that mean nothing.
func (o *showOptions) check(words *showWords) error {
	number := words.number
	if o.lane != "" {
		if _, err := tap.ParseLane(o.lane); err != nil {
			return fmt.Errorf("--lane: %w", err)
		}
	}
	switch {
	case o.payload && (!o.json || o.byCall()):
		return errors.New("--payload is for frames with --json")
	case o.curl && (number == 0 || o.raw || o.json || o.byCall()):
		return errors.New("--curl needs one frame's number, and no --raw, --json or --calls")
	case o.raw && o.json:
		return withHint(errors.New("--raw and --json exclude each other"), "--json has the bytes too, when a frame's number is given")
	case o.raw && number == 0 && o.lane == "":
		return withHint(errors.New("--raw needs a frame's number, or a --lane"),
			"the bytes of two lanes are no stream; `mcptap export` writes them all")
	case o.raw && (words.query != "" || o.byCall() || words.several()):
		return errors.New("--raw is for one frame, or for a lane of one recording")
	case number > 0 && (o.follow || o.lane != "" || o.since != "" || o.until != ""):
		return errors.New("--follow, --lane, --since and --until are for the list, not for one frame")
	case o.lane != "" && o.byCall():
		return withHint(errors.New("--lane is for frames, not for calls"), "dir:to_client picks the calls that the server asked")
	case o.tree && o.json:
		return withHint(errors.New("--tree is for people"), "`--calls --json` has the same, and says what stands below what")
	}
	return nil
}

// byCall reports whether calls are listed and not frames.
func (o *showOptions) byCall() bool { return o.calls || o.tree }

func (o *showOptions) rawLane(ctx context.Context, a *app, rec *store.Recording, want *selection) error {
	info, err := rec.Info()
	if err != nil {
		return err
	}
	span, err := want.span(rec, info)
	if err != nil {
		return err
	}
	for f, err := range readFrames(ctx, rec, span.first, o.follow) {
		if err != nil {
			return err
		}
		if span.after(&f) {
			break
		}
		if f.Lane == want.lane {
			if err := rec.WriteRaw(a.stdout, f); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// list prints what is wanted of one recording.
func (o *showOptions) list(ctx context.Context, a *app, rec *store.Recording, want *selection) error {
	info, err := rec.Info()
	if err != nil {
		return err
	}
	l, err := newLister(ctx, a, o, rec, info, want, "")
	if err != nil {
		return err
	}
	if err := l.all(ctx); err != nil {
		return errors.Join(l.w.Flush(), err)
	}
	return l.verdict(a)
}
