package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/listing"
	"github.com/mcptap/mcptap/internal/show"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/view"
)

const showLong = `Lists the frames of a recording, one per line: number, time since the start, direction
(→ to the server, ← to the client, ! stderr of the server, · event of the run), kind,
for responses the request and the latency, size, and contents. Requests without a
response are named at the end.

--calls lists calls instead, each with its progress, logs, nested requests and
cancellation. --tree draws calls as trees. Both accept filters.

A number shows one frame in full, and for a request its response. --curl prints a
command that repeats the frame's HTTP request. 17,19 and 17-30 list these frames.
Other words form a filter, applied to these frames if numbers precede it; see
` + "`" + `mcptap help filter` + "`" + `:

  mcptap show @last tool:forecast is:error
  mcptap show @last 17-30 is:error

HTTP heads and connections are listed only if they failed, or with --http.

--since and --until take a time since the start (2s, 1m30s), a time before the end
(-30s), a time of day (14:03:05), a date and time (2026-11-20T14:03:05Z) or a frame (#120).

Control characters, and characters that hide or reorder text, are escaped. --raw writes
the exact bytes of one frame, or of one --lane.

--follow waits for more frames. It takes several recordings; @live means all that are
running or start later.`

const showExample = `  mcptap show @last
  mcptap show @last 17
  mcptap show @last method:tools/call latency:>1s
  mcptap show @last --calls is:pending
  mcptap show @last --lane stderr
  mcptap show -f @live -- -method:ping`

type showOptions struct {
	show.Options
	raw, noPager, curl bool
	lane               string
}

func newShow(a *app) *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:     "show REC [NUMBER|FILTER…] [flags]",
		Short:   "Show the frames or calls of a recording, or one frame",
		Long:    showLong,
		Example: showExample,
		Args: func(cmd *cobra.Command, args []string) error {
			unmark(cmd, args)
			return takes(1, -1, "a recording")(cmd, args)
		},
		ValidArgsFunction: a.completeShow,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.paged(o.noPager || o.Follow || o.JSON || o.raw || o.curl,
				func() error { return o.run(cmd.Context(), a, args) })
		},
		Annotations:           map[string]string{wordsAnnotation: "yes"},
		DisableFlagsInUseLine: true,
	}
	o.addFlags(cmd)
	return cmd
}

func (o *showOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.Calls, "calls", false, "list calls, each with its messages below")
	f.BoolVar(&o.Tree, "tree", false, "draw calls as trees")
	f.BoolVarP(&o.Follow, "follow", "f", false, "wait for more frames while the recording is live")
	f.StringVar(&o.Since, "since", "", "skip frames before `when`: 2s, -30s, 14:03:05, #120")
	f.StringVar(&o.Until, "until", "", "skip frames after `when`")
	f.BoolVar(&o.HTTP, "http", false, "also list HTTP connections, heads, ends and comments")
	f.BoolVar(&o.Stderr, "stderr", false, "with a filter or --calls, also list the server's stderr around the matches")
	f.BoolVar(&o.Diff, "diff", false, "show what changed since the last response to the same method and arguments; of two frame numbers, how they differ")
	f.StringVar(&o.lane, "lane", "", "only this `lane`: to_server, to_client, stderr or lifecycle")
	f.BoolVar(&o.raw, "raw", false, "write the exact bytes of one frame or one --lane")
	addJSON(cmd, &o.JSON)
	f.BoolVar(&o.Payload, "payload", false, "with --json, include the bytes of every frame")
	f.BoolVar(&o.curl, "curl", false, "print a curl command that repeats the HTTP request of a frame")
	addNoPager(cmd, &o.noPager)
	_ = cmd.RegisterFlagCompletionFunc("lane",
		cobra.FixedCompletions([]string{"to_server", "to_client", "stderr", "lifecycle"}, cobra.ShellCompDirectiveNoFileComp))
	for _, name := range []string{"since", "until"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

func (o *showOptions) run(ctx context.Context, a *app, args []string) error {
	o.Out, o.Printer, o.Zone, o.Now, o.Say = a.stdout, a.printer, a.zone, a.now, a.say
	words, err := o.parseArgs(a, args)
	if err != nil {
		return err
	}
	if err := o.check(words); err != nil {
		return err
	}
	sel, err := o.selection(a, words)
	if err != nil {
		return err
	}
	if o.Follow && (words.all || len(words.recordings) > 1) {
		return o.several(a, words, sel)
	}
	path, session, err := a.findSession(words.recordings[0])
	if err != nil {
		return err
	}
	rec, err := store.Open(path)
	if err != nil {
		return err
	}
	if sel.Session, err = recording.Selected(rec, session); err != nil {
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
		return listing.Curl(ctx, a.stdout, rec, number, words.recordings[0], a.dirArg())
	case number > 0:
		return o.showOne(ctx, a, rec, number)
	case o.Diff && !o.ByCall() && words.isPair():
		return o.showTwo(ctx, a, rec, words.ranges[0].From, words.ranges[1].From)
	case o.raw && sel.Session > 0:
		return errors.New("--raw cannot select a session")
	case o.raw:
		return o.rawLane(ctx, a, rec, sel.Lane)
	}
	err = noMatchExit(show.List(ctx, &o.Options, rec, sel))
	if err == exitCode(exitNegative) && words.query != "" {
		if _, _, named := a.opener().Path(ctx, words.query); named == nil {
			a.say("hint: to compare two recordings: `mcptap diff" + a.dirArg() + " " + term.ShellQuote(words.recordings[0]) + " " + term.ShellQuote(words.query) + "`")
		}
	}
	return err
}

// several lists several recordings together.
func (o *showOptions) several(a *app, words *showWords, sel view.Selection) error {
	dir, err := a.dataDir()
	if err != nil {
		return err
	}
	var paths []string
	for _, arg := range words.recordings {
		if arg == "@live" {
			paths = append(paths, store.LivePaths(dir)...)
			continue
		}
		path, err := a.find(arg)
		if err != nil {
			return err
		}
		paths = append(paths, path)
	}
	return noMatchExit(show.Several(a.ctx, &o.Options, sel, dir, paths, words.all))
}

// noMatchExit returns the exit code for a listing that nothing matched.
func noMatchExit(err error) error {
	if errors.Is(err, show.ErrNone) {
		return exitCode(exitNegative)
	}
	return err
}

// check refuses combinations without a meaning.
func (o *showOptions) check(words *showWords) error {
	number := words.number
	if o.lane != "" {
		if _, err := tap.ParseLane(o.lane); err != nil {
			return fmt.Errorf("--lane: %w", err)
		}
	}
	switch {
	case o.Payload && (!o.JSON || o.ByCall()):
		return errors.New("--payload requires --json, and frames")
	case o.curl && (number == 0 || o.raw || o.JSON || o.ByCall()):
		return errors.New("--curl needs one frame number, and no --raw, --json or --calls")
	case o.raw && o.JSON:
		return hint.With(errors.New("--raw and --json cannot be combined"), "use --json --payload for the bytes")
	case o.raw && number == 0 && o.lane == "":
		return hint.With(errors.New("--raw needs a frame number or a --lane"),
			"to write all lanes, use `mcptap export`")
	case o.raw && (words.query != "" || o.ByCall() || words.several()):
		return errors.New("--raw writes one frame or one lane of one recording")
	case number > 0 && (o.Follow || o.lane != "" || o.Since != "" || o.Until != ""):
		return errors.New("--follow, --lane, --since and --until cannot be used with a frame number")
	case o.lane != "" && o.ByCall():
		return hint.With(errors.New("--lane cannot be used with calls"),
			"use the filter dir:to_client for calls by the server")
	case o.Tree && o.JSON:
		return hint.With(errors.New("--tree and --json cannot be combined"), "use --calls --json")
	}
	return nil
}

// selection returns what the arguments select; its time span depends on the recording.
func (o *showOptions) selection(a *app, words *showWords) (sel view.Selection, err error) {
	sel.Ranges = words.ranges
	if sel.ByLane = o.lane != ""; sel.ByLane {
		sel.Lane, _ = tap.ParseLane(o.lane) // checked
	}
	if n := words.number; n > 0 {
		sel.Ranges = []tap.Range{{From: n, To: n}}
	}
	if err = o.CheckSpan(); err != nil || words.query == "" {
		return sel, err
	}
	if sel.Filter, err = a.parseFilter(words.query); err != nil {
		return sel, err
	}
	if o.Follow && sel.Needs(filter.NeedFindings) {
		return sel, hint.With(errors.New("--follow cannot filter by findings"), "omit --follow")
	}
	if o.Follow && !o.ByCall() && sel.Needs(filter.NeedFuture) {
		return sel, hint.With(errors.New("--follow cannot filter by later events, such as a cancellation or a missing response"),
			"omit --follow, or add --calls")
	}
	return sel, nil
}

func (o *showOptions) rawLane(ctx context.Context, a *app, rec *store.Recording, lane tap.Lane) error {
	info, err := rec.Info()
	if err != nil {
		return err
	}
	span, err := o.Span(info)
	if err != nil {
		return err
	}
	for f, err := range recording.Read(ctx, rec, 0, o.Follow) {
		if err != nil {
			return err
		}
		if span.Before(&f) {
			break
		}
		if f.Lane == lane && span.Holds(&f) {
			if err := rec.WriteRaw(a.stdout, f); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// showOne shows a frame in full, and the response if it is a request.
func (o *showOptions) showOne(ctx context.Context, a *app, rec *store.Recording, number uint64) error {
	one, err := a.findOne(ctx, rec, number, o.Diff)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(a.stdout, 32<<10)
	if o.JSON {
		err = one.WriteJSON(w)
	} else {
		err = one.Print(a.printer(w))
		if err == nil && o.Diff && one.Delta == nil {
			_, err = fmt.Fprintln(w, "no earlier response to the same method, tool, prompt or resource")
		}
	}
	return errors.Join(err, w.Flush())
}

// showTwo shows how two frames differ, and how their responses differ if both are requests.
func (o *showOptions) showTwo(ctx context.Context, a *app, rec *store.Recording, from, to uint64) error {
	w := bufio.NewWriterSize(a.stdout, 32<<10)
	before, err := a.findOne(ctx, rec, from, false)
	if err != nil {
		return err
	}
	after, err := a.findOne(ctx, rec, to, false)
	if err != nil {
		return err
	}
	err = listing.PrintTwo(a.printer(w), &before.Frame, &after.Frame, o.JSON)
	x, okX := before.Responses[0]
	y, okY := after.Responses[0]
	if err == nil && okX && okY && x.Request.Seq == from && y.Request.Seq == to {
		var f, g tap.Frame
		if f, err = rec.Frame(x.Message.Seq); err == nil {
			g, err = rec.Frame(y.Message.Seq)
		}
		if err == nil {
			err = listing.PrintTwo(a.printer(w), &f, &g, o.JSON)
		}
	}
	return errors.Join(err, w.Flush())
}

// findOne reads a frame and those paired with it, for printing on stdout.
func (a *app) findOne(ctx context.Context, rec *store.Recording, number uint64, diff bool) (*listing.One, error) {
	one, err := listing.FindOne(ctx, rec, number, diff)
	if err != nil {
		return nil, err
	}
	one.Zone = a.zone
	if a.terminal() != nil {
		one.Limit = listing.MaxScreen
	}
	one.Info.ExtendLive(a.now())
	return one, nil
}

// showWords are the classified arguments of show.
type showWords struct {
	recordings []string
	all        bool   // all live recordings
	number     uint64 // of the one frame that is asked for, 0 for none
	ranges     []tap.Range
	query      string
}

// several reports whether there may be more than one recording.
func (w *showWords) several() bool { return w.all || len(w.recordings) > 1 }

// isPair reports whether the ranges are two single frames.
func (w *showWords) isPair() bool {
	single := func(r tap.Range) bool { return r.From == r.To }
	return w.query == "" && len(w.ranges) == 2 && single(w.ranges[0]) && single(w.ranges[1])
}

// fewerHint is the hint for a flag that would list fewer frames.
const fewerHint = "list a range of frames, such as 1-5, or pipe the output to `head -n 5` or `tail -n 5`"

// parseArgs classifies the arguments: recordings, then numbers, then a filter.
func (o *showOptions) parseArgs(a *app, args []string) (*showWords, error) {
	for i, number := range args[1:] {
		if args[i] == "-n" && strings.Trim(number, "0123456789") == "" {
			return nil, hint.With(errors.New("show has no flag -n"), fewerHint)
		}
	}
	n := 1
	for n < len(args) && o.Follow && a.isRecording(args[n]) {
		n++
	}
	w := &showWords{recordings: args[:n]}
	for _, rec := range w.recordings {
		w.all = w.all || o.Follow && rec == "@live"
	}
	rest := args[n:]
	if len(rest) == 0 {
		return w, nil
	}
	if number, minus := strings.CutPrefix(rest[0], "-"); len(rest) == 1 && minus && number != "" && strings.Trim(number, "0123456789") == "" {
		return nil, hint.With(fmt.Errorf("show has no flag %s", rest[0]), fewerHint)
	}
	for len(rest) > 0 {
		ranges, ok, err := show.ParseRanges(rest[:1])
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		w.ranges, rest = append(w.ranges, ranges...), rest[1:]
	}
	w.query = strings.Join(rest, " ")
	if one := args[n]; w.query == "" && len(w.ranges) == 1 && w.ranges[0].From == w.ranges[0].To && !o.ByCall() && !strings.ContainsAny(one, ".-") {
		w.number, w.ranges = w.ranges[0].From, nil
	}
	return w, nil
}

// isRecording reports whether a word after a recording names another one. It must be the
// whole name: the beginning of an id may be a word to search for.
func (a *app) isRecording(arg string) bool {
	if arg == "@last" || arg == "@live" {
		return true
	}
	if !store.IsID(arg) && filepath.Ext(arg) != store.Ext {
		return false
	}
	if _, err := os.Stat(arg); err == nil {
		return true
	}
	dir, err := a.dataDir()
	if err != nil {
		return false
	}
	_, _, err = store.Resolve(dir, arg)
	return err == nil
}
