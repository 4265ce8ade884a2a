package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strings"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/diff/load"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/replay/client"
	replayreport "github.com/mcptap/mcptap/replay/report"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/streamable"
)

// A replayer plays a recording to a server and compares the result.
type replayer struct {
	o    *replayOptions
	a    *app
	ctx  context.Context
	d    load.Differ
	play client.Options

	arg      string
	from     *load.Recording
	plan     *client.Plan // nil once it was played
	requests int          // in the plan
	old      []*diff.Session

	// edits are those of --set, chosen the calls to edit, and resent the calls that were
	// sent, in order.
	edits  []edit
	chosen map[session.Ref]*resent
	resent []*resent

	notes []client.Note
	id    string // of the new recording
	made  string // its path
}

// read reads the recording, for the plan and the comparison.
func (r *replayer) read(name string) (err error) {
	if r.arg, r.from, err = name, nil, nil; isDir(name) {
		return hint.With(fmt.Errorf("%s is a directory", term.Quote(name)), "name a recording or an export")
	}
	if r.o.update && recording.IsBundle(name) {
		err := errors.New("--update cannot replace the recording in a bundle")
		return hint.With(err, "`mcptap import` makes a recording of it")
	}
	if r.from, err = r.d.Load(name); err != nil {
		return err
	}
	ahead := load.FrameCache{From: r.from} // one read for many: to read one frame takes as long
	planner := client.NewPlanner(ahead.Get)
	seen := planner.Add
	if r.chosen != nil {
		seen = func(e *session.Entry, marked bool) {
			planner.Add(e, marked)
			r.choose(e, marked)
		}
	}
	if r.old, err = r.d.Read(r.from, seen); err != nil {
		return err
	}
	if err := checkOnly(r.d.Only, r.o.diff.only); err != nil {
		return err
	}
	if len(r.old) > 1 {
		return hint.With(fmt.Errorf("%s has %s; name one to play", term.Quote(name), term.Plural(len(r.old), "session", "sessions")),
			"such as "+name+"#1")
	}
	if r.o.update && r.from.Session > 0 {
		return hint.With(errors.New("--update would also replace the other sessions of the recording"),
			"`mcptap export "+name+" -o FILE` writes one session")
	}
	r.plan = planner.Plan(r.d.Only != nil)
	if r.requests = r.plan.Requests(); r.plan.Steps() == 0 {
		return hint.With(fmt.Errorf("%s has no session to play", term.Quote(name)), "`mcptap show` lists its contents")
	}
	return nil
}

// perform plays and records the session.
func (r *replayer) perform(command []string) error {
	dir, err := r.a.dataDir()
	if err != nil {
		return err
	}
	var cfg streamable.Config
	h := r.header(command)
	if r.o.at.To != "" {
		if cfg, err = r.o.at.Config(); err != nil {
			return err
		}
		h.Transport, h.Upstream = "http", cfg.Upstream.Scheme+"://"+cfg.Upstream.Host
	}
	var broken error
	rec := store.Create(dir, h, store.Options{Warn: func(err error) { broken = err }})
	r.id, r.made = rec.Header().ID, rec.Path()
	r.play.Note = func(n client.Note) { r.notes = append(r.notes, n) }
	if cfg.Upstream == nil {
		err = client.Play(r.ctx, r.plan, client.Stdio(command, rec), r.play)
	} else {
		err = r.overHTTP(cfg, rec)
	}
	rec.Close()
	var none *client.ReachError
	if errors.As(err, &none) {
		// Of what was not played there is nothing to look at.
		return errors.Join(r.unreached(none), store.Remove(r.made), broken)
	}
	if err != nil && r.o.noSave {
		err = errors.Join(err, store.Remove(r.made))
	}
	return errors.Join(err, broken)
}

// unreached returns an error for a server that opened no session, with advice.
func (r *replayer) unreached(e *client.ReachError) error {
	to := r.o.at.To
	if u, err := url.Parse(to); err == nil {
		to = u.Redacted()
	}
	text := e.Error()
	advice := "check that it is running, and its address"
	switch {
	case e.Status >= 300 && e.Status < 400 && e.Location != "":
		advice = "it points to " + e.Location
	case e.Status == 401 || e.Status == 403:
		advice = "add a token with --header 'Authorization: Bearer …'"
	case e.Status == 404 || e.Status == 405:
		advice = "check the path: usually /mcp, or /sse for HTTP+SSE (--transport sse)"
	case e.Status > 0:
		advice = "check the URL, or set --transport"
	case strings.Contains(text, "certificate"):
		advice = "use --ca-file for a private certificate authority"
	}
	if e.Status > 0 {
		text = "the server at " + to + " did not open a session: " + text
	} else if strings.Contains(text, " could not be reached: ") {
		_, why, _ := strings.Cut(text, " could not be reached: ")
		text = "the server at " + to + " could not be reached: " + why
	}
	return hint.With(fmt.Errorf("--to: %s", text), advice)
}

// header returns the header of the new recording.
func (r *replayer) header(command []string) tap.Header {
	label := r.o.label
	if label == "" {
		label = r.from.Info.Header.Label
	}
	dir, _ := os.Getwd()
	return tap.Header{
		Label: label, Transport: "stdio", Command: command, Dir: dir,
		Program: "mcptap " + programVersion(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		ReplayOf: cmp.Or(r.from.Info.Header.ID, "a file"),
	}
}

// overHTTP plays to a URL through a tap of its own.
func (r *replayer) overHTTP(cfg streamable.Config, rec *store.Recorder) error {
	conn, closeTap, err := r.o.at.Dial(cfg, rec, r.plan.SSE())
	if err != nil {
		return err
	}
	return errors.Join(client.Play(r.ctx, r.plan, conn, r.play), closeTap())
}

// summary returns the part of the report about the replay itself.
func (r *replayer) summary() *replayreport.Report {
	s := &replayreport.Report{Of: r.from.Name, Requests: r.requests, Notes: r.notes}
	if !r.o.noSave {
		s.ID, s.Path = r.id, r.made
	}
	return s
}

// head returns what prints the part of the report about the replay itself. Formats without a
// place for it leave it to stderr.
func (r *replayer) head() func(*term.Printer) error {
	switch r.o.diff.format {
	case jsonFormat:
		return r.summary().JSON
	case "", "text":
		return r.summary().Text
	}
	r.summary().Say(func(line string) { r.a.say("replay: " + line) })
	return nil
}
