package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/check"
	"github.com/mcptap/mcptap/check/load"
	checkreport "github.com/mcptap/mcptap/check/report"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/show"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

const checkLong = `Judges recorded sessions by the rules of the specification, in the revision that is in
force at each message, and by what breaks real clients. Each rule has a class:

  client-breaking  common SDKs lose the call, the list or the connection
  must             a requirement of the specification is violated
  should           a recommendation of the specification is not followed
  observation      security, performance, hygiene

The exit code is 1 for findings of the class of --fail-on, or of a worse one. It is 2 if
nothing could be judged. --expect and --forbid take filters (` + "`mcptap help filter`" + `): a
recording fails if no frame or call matches an expected one, or any matches a forbidden
one. --explain prints rules.

Settings are read from ` + load.SettingsFile + ` in the directory of --lock, or in the current
directory. They have the names of flags, and a flag replaces the setting:

  check:
    fail-on: should
    no-rule: [perf, sec-03]
    lock: mcptap.lock
    forbid: ['latency:>2s']`

type checkOptions struct {
	json, noPager  bool
	live           bool // --follow
	format         string
	failOn         string
	only, without  []string
	expect, forbid []string
	explain        []string
	lock, baseline string
	locked         bool
	// updateLock and updateBaseline write the files instead of comparing with them.
	updateLock, updateBaseline bool

	filters []*load.Gate
	rules   []*check.Rule
	pinned  *check.Lock     // nil without --lock
	known   *check.Baseline // nil without --baseline
	last    *check.Checker  // of the last recording
	path    string          // of the last recording
	// notStarted is why the server of the last recording could not be started.
	notStarted string
	// checklist is the checklist of the last recording, and accepted the number of its
	// findings that the baseline lists.
	checklist []check.ChecklistItem
	accepted  int
}

func newCheck(a *app) *cobra.Command {
	o := checkOptions{failOn: check.Must.String(), format: "text"}
	cmd := &cobra.Command{
		Use:   "check REC… [flags]",
		Short: "Report violations of the specification",
		Long:  checkLong,
		Example: "  mcptap check @last\n  mcptap check ./session.txtar --fail-on should\n" +
			"  mcptap check @last --expect 'tool:search -is:error' --forbid 'latency:>2s'\n  mcptap check --explain rpc-07",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(o.explain) > 0 {
				return takes(0, 0, "")(cmd, args)
			}
			return takes(1, -1, "a recording")(cmd, args)
		},
		ValidArgsFunction: a.completeRecording,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.json && cmd.Flags().Changed("format") && o.format != "json" {
				return fmt.Errorf("--json and --format %s cannot be combined", o.format)
			}
			for _, name := range []string{"lock", "baseline"} {
				if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
					return fmt.Errorf("--%s: the name of the file is empty", name)
				}
			}
			if len(o.explain) == 0 {
				if err := load.Settings(cmd.Flags(), o.lock, a.say); err != nil {
					return err
				}
			}
			return a.paged(o.noPager || o.json || o.live, func() error { return o.run(cmd.Context(), a, args) })
		},
		DisableFlagsInUseLine: true,
	}
	o.addFlags(cmd)
	return cmd
}

func (o *checkOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	addJSON(cmd, &o.json)
	addNoPager(cmd, &o.noPager)
	f.BoolVarP(&o.live, "follow", "f", false, "print findings of a live recording when they occur, and the report at its end")
	f.StringVar(&o.format, "format", o.format, "print in this `format`: "+strings.Join(checkFormats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(checkFormats, cobra.ShellCompDirectiveNoFileComp))
	f.StringVar(&o.failOn, "fail-on", o.failOn, "exit with 1 for findings of this `class` or a worse one, or none: "+strings.Join(check.Classes, ", "))
	f.StringSliceVar(&o.only, "rule", nil, "judge only these `rules`, or families of rules such as rpc")
	f.StringSliceVar(&o.without, "no-rule", nil, "do not judge these `rules`, or families of rules")
	f.StringArrayVar(&o.expect, "expect", nil, "fail if no frame or call matches this `filter`")
	f.StringArrayVar(&o.forbid, "forbid", nil, "fail if a frame or call matches this `filter`")
	f.StringVar(&o.lock, "lock", "", "compare what the server offers with the lock in `file` (see mcptap pin)")
	f.BoolVar(&o.locked, "locked", false, "fail if something is offered that is not pinned")
	f.BoolVar(&o.updateLock, "update-lock", false, "write what is offered to the file of --lock")
	f.StringVar(&o.baseline, "baseline", "", "accept the findings that are listed in `file`")
	f.BoolVar(&o.updateBaseline, "update-baseline", false, "write the findings to the file of --baseline")
	f.StringSliceVar(&o.explain, "explain", nil, "print what `rules` require, and exit")
	_ = cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions(append(slices.Clone(check.Classes), "none"), cobra.ShellCompDirectiveNoFileComp))
	for _, name := range []string{"rule", "no-rule", "explain"} {
		_ = cmd.RegisterFlagCompletionFunc(name, completeRules)
	}
}

func completeRules(*cobra.Command, []string, string) (offers []string, _ cobra.ShellCompDirective) {
	for _, r := range check.Rules() {
		offers = append(offers, r.ID+"\t"+term.Fit(r.Text, 60))
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}

func (o *checkOptions) run(ctx context.Context, a *app, args []string) error {
	if len(o.explain) > 0 {
		return o.explainRules(a)
	}
	failOn, err := o.prepare(a)
	if err != nil {
		return err
	}
	if o.updateLock && len(args) > 1 {
		return errors.New("--update-lock: needs a single recording")
	}
	followed := context.Background()
	if o.live {
		if len(args) > 1 {
			return errors.New("--follow: needs a single recording")
		}
		name, err := o.follow(ctx, a, args[0])
		if err != nil {
			return err
		}
		args, followed, ctx = []string{name}, ctx, context.WithoutCancel(ctx)
	}
	r := checkRun{checkOptions: o, a: a, w: bufio.NewWriter(a.stdout), failOn: failOn, seen: map[check.Known]bool{}, rules: map[string]bool{}}
	for i, arg := range args {
		name, found, err := o.check(ctx, a, arg)
		switch {
		case err == nil:
			err = r.add(i, arg, name, found)
		case ctx.Err() == nil && (len(args) > 1 || o.format != "text"):
			err = r.addUnread(arg, err, len(args) > 1)
		}
		if err != nil {
			return err
		}
	}
	if err := r.finish(); err != nil {
		return err
	}
	if followed.Err() != nil {
		return followed.Err()
	}
	return r.outcome(len(args))
}

// prepare checks the options. It returns the class to fail on, 0 for none.
func (o *checkOptions) prepare(a *app) (failOn check.Class, err error) {
	if o.json {
		o.format = "json"
	}
	if !slices.Contains(checkFormats, o.format) {
		return 0, fmt.Errorf("--format: unknown format %s (want %s)", term.Quote(o.format), strings.Join(checkFormats, ", "))
	}
	if o.failOn != "none" {
		if failOn, err = check.ParseClass(o.failOn); err != nil {
			return 0, fmt.Errorf("--fail-on: unknown class %s (want %s, none)", term.Quote(o.failOn), strings.Join(check.Classes, ", "))
		}
	}
	if o.live && o.format != "text" && o.format != "json" {
		return 0, fmt.Errorf("--follow: cannot print %s before the end (want text or json)", o.format)
	}
	if err := o.read(); err != nil {
		return 0, err
	}
	only, err := load.Rules("--rule", o.only)
	if err != nil {
		return 0, err
	}
	without, err := load.Rules("--no-rule", o.without)
	if err != nil {
		return 0, err
	}
	for _, r := range check.Rules() {
		if (len(o.only) == 0 || slices.Contains(only, r)) && !slices.Contains(without, r) {
			o.rules = append(o.rules, r)
		}
	}
	for _, query := range o.expect {
		if err := o.addGate(a, query, false); err != nil {
			return 0, err
		}
	}
	for _, query := range o.forbid {
		if err := o.addGate(a, query, true); err != nil {
			return 0, err
		}
	}
	return failOn, nil
}

// read reads the lock and the baseline.
func (o *checkOptions) read() error {
	switch {
	case o.lock == "" && o.locked:
		return errors.New("--locked needs --lock")
	case o.lock == "" && o.updateLock:
		return errors.New("--update-lock needs --lock")
	case o.baseline == "" && o.updateBaseline:
		return errors.New("--update-baseline needs --baseline")
	}
	var err error
	if o.lock != "" && !o.updateLock {
		if o.pinned, err = load.ReadLock(o.lock); errors.Is(err, fs.ErrNotExist) {
			err = hint.With(fmt.Errorf("%s does not exist", term.Quote(o.lock)), "`mcptap pin REC -o "+o.lock+"` makes it")
		}
		if err != nil {
			return fmt.Errorf("--lock: %w", err)
		}
	}
	if o.baseline != "" && !o.updateBaseline {
		if o.known, err = load.ReadBaseline(o.baseline); errors.Is(err, fs.ErrNotExist) {
			err = hint.With(fmt.Errorf("%s does not exist", term.Quote(o.baseline)), "--update-baseline makes it")
		}
		if err != nil {
			return fmt.Errorf("--baseline: %w", err)
		}
	}
	return nil
}

func (o *checkOptions) addGate(a *app, query string, forbid bool) error {
	if strings.TrimSpace(query) == "" {
		return hint.With(errors.New("--expect and --forbid: the filter is empty"), "`mcptap help filter` explains filters")
	}
	f, err := a.parseFilter(query)
	if err == nil {
		err = load.WithoutFindings(f)
	}
	if err != nil {
		return err
	}
	o.filters = append(o.filters, &load.Gate{Gate: checkreport.Gate{Query: query, Forbid: forbid}, Filter: f})
	return nil
}

// check checks a recording, or one session of it.
func (o *checkOptions) check(ctx context.Context, a *app, arg string) (name string, _ *check.Report, err error) {
	file, err := a.open(ctx, arg)
	if err != nil {
		return "", nil, err
	}
	o.path = file.Path()
	checker, open, err := load.Judge(ctx, file, o.rules, o.filters)
	if err != nil {
		return "", nil, err
	}
	o.last, o.notStarted = checker, load.NotStarted(file.Recording)
	if o.pinned != nil {
		if err := checker.Compare(o.pinned, o.locked); err != nil {
			return "", nil, err
		}
	}
	info, err := file.Info()
	if err != nil {
		return "", nil, err
	}
	return cmp.Or(info.Header.Label, arg), checker.Report(open), nil
}

// explainRules prints rules.
func (o *checkOptions) explainRules(a *app) error {
	rules, err := load.Rules("--explain", o.explain)
	for i, r := range rules {
		if i > 0 && !o.json && err == nil {
			_, err = fmt.Fprintln(a.stdout)
		}
		if err == nil {
			err = o.explainRule(a, r)
		}
	}
	return err
}

func (o *checkOptions) explainRule(a *app, r *check.Rule) error {
	if o.json {
		return checkreport.RuleJSON(a.stdout, r)
	}
	return checkreport.Rule(a.printer(a.stdout), r)
}

// A checkRun collects the results of the recordings of one command.
type checkRun struct {
	*checkOptions
	a *app
	w *bufio.Writer
	// failOn is the class to fail on, 0 for none; failed reports whether something failed.
	failOn check.Class
	failed bool
	// unread holds the errors of recordings that could not be read, unjudged the names of
	// recordings for which no rule could be judged.
	unread   []error
	unjudged []string
	reports  []*check.Report         // before the baseline was applied
	all      []checkreport.Recording // for a format of package report
	// seen holds the baseline entries that were found, rules the ids of the rules that were
	// judged.
	seen  map[check.Known]bool
	rules map[string]bool
}

// noneJudged is the error for a recording for which no rule could be judged.
const noneJudged = "no rule could be judged"

// add adds the results of a recording, and prints them if the format allows it.
func (r *checkRun) add(i int, arg, name string, found *check.Report) error {
	nothing := (found.Judged() == 0 || found.Messages == 0) && len(r.filters) == 0 && !r.updateLock
	if nothing {
		r.unjudged = append(r.unjudged, term.Quote(arg))
	}
	r.reports = append(r.reports, &check.Report{Findings: slices.Clone(found.Findings)})
	r.checklist, r.accepted = r.last.Checklist(found), 0
	if r.known != nil {
		r.accepted = r.known.Apply(found, r.seen)
	}
	for _, j := range found.Judgements {
		r.rules[j.Rule.ID] = r.rules[j.Rule.ID] || j.Held+j.Violated > 0
	}
	fails := r.failOn != 0 && !r.updateBaseline && found.Worst() >= r.failOn
	r.failed = r.failed || fails || slices.ContainsFunc(r.filters, func(g *load.Gate) bool { return g.Failed() })
	one := r.recording(arg, name, found)
	switch r.format {
	case "json":
		return checkreport.JSON(r.w, &one)
	case "text":
		if i > 0 {
			fmt.Fprintln(r.w)
		}
		return checkreport.Text(r.a.printer(r.w), &one)
	}
	if nothing {
		one.Error = noneJudged
	}
	r.all = append(r.all, one)
	return nil
}

// addUnread adds a recording that could not be read. If say is set, it also prints the error.
func (r *checkRun) addUnread(arg string, err error, say bool) error {
	r.unread = append(r.unread, err)
	text := strings.Join(messages(err), "; ")
	if say {
		r.a.say(text)
	}
	r.all = append(r.all, checkreport.Recording{Name: arg, Report: &check.Report{}, Error: text})
	if r.format == "json" {
		return checkreport.ErrorJSON(r.w, arg, text)
	}
	return nil
}

// finish prints what concerns all recordings, and writes the lock and the baseline.
func (r *checkRun) finish() error {
	if write := checkreport.Formats[r.format]; write != nil {
		if err := errors.Join(write(r.w, r.all, r.failOn), r.stepSummary(r.a, r.all, r.failOn)); err != nil {
			return err
		}
	}
	if r.known != nil {
		for _, k := range r.known.Findings {
			if check.Lookup(k.Rule) == nil {
				r.a.say("warning: baseline: no rule " + term.Quote(k.Rule))
			}
		}
		for _, k := range r.known.Resolved(r.seen, r.rules) {
			r.a.say(fmt.Sprintf("baseline: resolved: %s (remove it with --update-baseline)", view.JoinWords(" ", k.Rule, k.Subject, k.Path)))
		}
	}
	err := r.w.Flush()
	if len(r.reports) > 0 {
		if r.updateLock && r.last != nil {
			err = errors.Join(err, load.UpdateLock(r.lock, r.last, r.a.say))
		}
		if r.updateBaseline && err == nil {
			err = load.UpdateBaseline(r.baseline, r.reports, r.rules, r.a.say)
		}
	}
	return err
}

// outcome returns the error or the exit code of the command. given is the number of
// recordings on the command line.
func (r *checkRun) outcome(given int) error {
	switch {
	case len(r.unread) == 1 && given == 1:
		return r.unread[0]
	case len(r.unread) > 0:
		return exitCode(exitFailure)
	case r.failed:
		return exitCode(exitNegative)
	case len(r.unjudged) == 1 && r.notStarted != "":
		return fmt.Errorf("check %s: %s", r.unjudged[0], r.notStarted)
	case len(r.unjudged) > 0:
		advice := "record a session with messages of a client and a server"
		if len(r.only)+len(r.without) > 0 {
			advice = "--rule and --no-rule may leave no rule for such a session"
		}
		return hint.With(fmt.Errorf("check %s: %s", strings.Join(r.unjudged, ", "), noneJudged), advice)
	}
	return nil
}

// checkFormats are the values of --format.
var checkFormats = []string{"text", "json", "markdown", "sarif", "junit", "github"}

// recording returns the results of a recording for package report.
func (o *checkOptions) recording(arg, name string, found *check.Report) checkreport.Recording {
	r := checkreport.Recording{Name: name, Arg: arg, Report: found, Accepted: o.accepted, Checklist: o.checklist}
	for _, g := range o.filters {
		r.Gates = append(r.Gates, g.Gate)
	}
	if o.format == "text" || o.format == "json" {
		return r
	}
	file, _, _ := strings.Cut(arg, "#") // the other formats refer to lines of a file
	if recording.IsText(file) {
		r.Lines = load.FrameLines(file)
	} else if _, err := os.Stat(file); err != nil {
		file = o.path // arg is @last or a label
	}
	r.File = load.NearPath(file)
	return r
}

// stepSummary adds the findings to the summary of a step of GitHub Actions.
func (o *checkOptions) stepSummary(a *app, all []checkreport.Recording, failOn check.Class) error {
	name := a.env("GITHUB_STEP_SUMMARY")
	if o.format != "github" || name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(checkreport.Markdown(f, all, failOn), f.Close())
}

// follow prints each finding of a live recording as it is found, until the recording has
// ended or ctx is done. It returns the name of the file.
func (o *checkOptions) follow(ctx context.Context, a *app, arg string) (string, error) {
	if arg == "@live" {
		if err := a.awaitLive(ctx); err != nil {
			return "", err
		}
	}
	file, err := a.open(ctx, arg)
	if err != nil {
		return "", err
	}
	info, err := file.Info()
	if err != nil || info.Status != store.Live {
		return arg, err
	}
	if file.Session > 0 {
		return "", hint.With(errors.New("--follow: a session of a live recording cannot be selected"), "omit #"+fmt.Sprint(file.Session))
	}
	name := info.Header.Label
	if name == "" {
		name = info.Header.ID
	}
	a.say("following " + term.Quote(name) + "; the report is printed when it ends, or at Ctrl-C")
	l := a.printer(a.stdout)
	tracker, checker := session.Tracker{}, check.New(o.rules)
	checker.Found(func(f *check.Finding) {
		switch {
		case l.Err != nil || o.known != nil && o.known.Has(f):
		case o.format == "json":
			l.Err = checkreport.FoundJSON(a.stdout, name, f)
		default:
			class := l.Paint(fmt.Sprintf("%-15s", f.Class), checkreport.Styles[f.Class])
			l.Printf("%s  %-9s %s\n", class, f.Rule.ID, term.Fit(checkreport.Words(f), max(l.Width-27, 0)))
		}
	})
	for f, err := range recording.Read(ctx, file.Recording, 0, true) {
		if err != nil || l.Err != nil {
			return "", errors.Join(err, l.Err)
		}
		checker.Add(tracker.Add(&f))
	}
	if o.format != "json" {
		l.Printf("\n")
	}
	return file.Path(), l.Err
}

// awaitLive waits until a recording is live.
func (a *app) awaitLive(ctx context.Context) error {
	dir, err := a.dataDir()
	if err != nil || len(store.LivePaths(dir)) > 0 {
		return err
	}
	a.say("no recording in " + dir + " is live; waiting for one to start")
	tick := time.NewTicker(show.JoinPause)
	defer tick.Stop()
	for len(store.LivePaths(dir)) == 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
