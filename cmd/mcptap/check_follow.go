package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcptap/mcptap/check"
	checkreport "github.com/mcptap/mcptap/check/report"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/show"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/session"
)

// follow prints each finding of a live recording when it is found, until the recording has
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
