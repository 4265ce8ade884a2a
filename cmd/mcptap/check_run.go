package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/check"
	"github.com/mcptap/mcptap/check/load"
	checkreport "github.com/mcptap/mcptap/check/report"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/tap/view"
)

// A checkRun collects the results of the recordings of one command.
type checkRun struct {
	*checkOptions
	a *app
	w *bufio.Writer
	// failOn is the class to fail on, 0 for none, and failed reports that something fails.
	failOn check.Class
	failed bool
	// unread has the errors of recordings that could not be read. unjudged has the names of
	// recordings for which no rule could be judged.
	unread   []error
	unjudged []string
	reports  []*check.Report         // before the baseline was applied
	all      []checkreport.Recording // for a format of package report
	// seen are the entries of the baseline that were found, rules those that were judged, by
	// their ids.
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

// addUnread adds a recording that could not be read. Say reports that the error is also printed.
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

// finish prints what is about all recordings, and writes the lock and the baseline.
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

// outcome returns the error or the exit code of the command. Given is the number of recordings
// on the command line.
func (r *checkRun) outcome(given int) error {
	switch {
	case len(r.unread) == 1 && given == 1:
		return r.unread[0]
	case len(r.unread) > 0:
		return exitCode(exitFailure)
	case r.failed:
		return exitCode(exitNo)
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
	file, _, _ := strings.Cut(arg, "#") // the other formats point to lines of a file
	if recording.IsText(file) {
		r.Lines = load.FrameLines(file)
	} else if _, err := os.Stat(file); err != nil {
		file = o.path // that of @last, or of a label
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
