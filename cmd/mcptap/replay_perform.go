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
	"github.com/mcptap/mcptap/replay/client"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/streamable"
)

// A replayer plays a recording to a server and compares what it gets.
type replayer struct {
	o    *replayOptions
	a    *app
	ctx  context.Context
	d    differ
	play client.Options

	arg      string
	from     *compared
	plan     *client.Plan // nil once it was played
	requests int          // in the plan
	old      []*diff.Session

	// edits are those of --set, chosen the calls that they are for, and
	// resent those that were sent, in their order.
	edits  []edit
	chosen map[session.Ref]*resent
	resent []*resent

	notes []client.Note
	id    string // of the new recording
	made  string // its path
}

// read reads the recording: for the plan and for the comparison.
func (r *replayer) read(name string) (err error) {
	if r.arg, r.from, err = name, nil, nil; isDir(name) {
		return withHint(fmt.Errorf("%s is a directory", quote(name)), "a recording, or a file that `mcptap export` wrote")
	}
	if r.from, err = r.d.open(name); err != nil {
		return err
	}
	ahead := frameCache{from: r.from} // one read for many: to read one frame takes as long
	planner := client.NewPlanner(ahead.get)
	seen := planner.Add
	if r.chosen != nil {
		seen = func(e *session.Entry, marked bool) {
			planner.Add(e, marked)
			r.choose(e, marked)
		}
	}
	if r.old, err = r.d.read(r.from, seen); err != nil {
		return err
	}
	if len(r.old) > 1 {
		return withHint(fmt.Errorf("%s has %s, and one at a time is played", quote(name), plural(len(r.old), "session", "sessions")),
			"name one: "+name+"#1")
	}
	if r.o.update && r.from.session > 0 {
		return withHint(errors.New("--update would replace the other sessions of the recording too"),
			"`mcptap export "+name+" -o FILE` makes a recording of one")
	}
	r.plan = planner.Plan(r.d.only != nil)
	if r.requests = r.plan.Requests(); r.plan.Steps() == 0 {
		return withHint(fmt.Errorf("%s holds nothing that could be played", quote(name)), "`mcptap show` shows what is in it")
	}
	return nil
}

// perform plays the session, and records it.
func (r *replayer) perform(command []string) error {
	dir, err := r.a.dataDir()
	if err != nil {
		return err
	}
	var cfg streamable.Config
	h := r.header(command)
	if r.o.at.to != "" {
		if cfg, err = r.o.at.config(); err != nil {
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
	return errors.Join(err, broken)
}

// unreached says which server did not open a session, and what may help.
func (r *replayer) unreached(e *client.ReachError) error {
	to := r.o.at.to
	if u, err := url.Parse(to); err == nil {
		to = u.Redacted()
	}
	said := e.Error()
	hint := "is it running, and is that its address?"
	switch {
	case e.Status >= 300 && e.Status < 400 && e.Location != "":
		hint = "it points to " + e.Location
	case e.Status == 401 || e.Status == 403:
		hint = "--header 'Authorization: Bearer …' brings a token along"
	case e.Status == 404 || e.Status == 405:
		hint = "is the path right? Many servers have it as /mcp, those of HTTP+SSE as /sse (--transport sse)"
	case e.Status > 0:
		hint = "is that the URL of an MCP server? --transport says what it speaks"
	case strings.Contains(said, "certificate"):
		hint = "--ca-file trusts a certificate authority of your own"
	}
	if e.Status > 0 {
		said = "the server at " + to + " opens no session: " + said
	} else if strings.Contains(said, " could not be reached: ") {
		_, why, _ := strings.Cut(said, " could not be reached: ")
		said = "the server at " + to + " could not be reached: " + why
	}
	return withHint(fmt.Errorf("--to: %s", said), hint)
}

// header is what the new recording says of itself.
func (r *replayer) header(command []string) tap.Header {
	label := r.o.label
	if label == "" {
		label = r.from.info.Header.Label
	}
	dir, _ := os.Getwd()
	return tap.Header{
		Label: label, Transport: "stdio", Command: command, Dir: dir,
		Program: "mcptap " + programVersion(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		ReplayOf: cmp.Or(r.from.info.Header.ID, "a file"),
	}
}

// overHTTP plays to a URL through a tap of its own.
func (r *replayer) overHTTP(cfg streamable.Config, rec *store.Recorder) error {
	conn, closeTap, err := r.o.at.dial(cfg, rec, r.plan.SSE())
	if err != nil {
		return err
	}
	return errors.Join(client.Play(r.ctx, r.plan, conn, r.play), closeTap())
}
