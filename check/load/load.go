// Package load loads what package check works with: recordings, to which it also applies
// filters, locks, baselines and settings.
package load

import (
	"context"
	"slices"

	"github.com/mcptap/mcptap/check"
	checkreport "github.com/mcptap/mcptap/check/report"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A Gate is a filter that must match something, or nothing.
type Gate struct {
	checkreport.Gate
	Filter *filter.Filter
	// frames and calls list what the filter matches.
	frames, calls *view.Listing
}

func (g *Gate) begin(number int, survey *session.Survey) {
	sel := view.Selection{Filter: g.Filter, Session: number, Span: view.Whole}
	g.frames, g.calls = view.NewListing(sel, view.Options{Plumbing: true}), view.NewListing(sel, view.Options{Calls: true, Flat: true})
	g.frames.Tracker.Survey, g.calls.Tracker.Survey = survey, survey
	g.Frames, g.Calls, g.First = 0, 0, 0
}

// count counts the matching items of one of the listings.
func (g *Gate) count(items []view.Item, calls bool) {
	for _, it := range items {
		row := it.Row
		switch {
		case !calls:
			g.Frames++
		case it.Node != nil:
			row = &it.Node.Row
			g.Calls++
		default:
			continue
		}
		seq := row.Part.Message.Seq
		if g.First == 0 || seq < g.First {
			g.First = seq
		}
	}
}

// NotStarted describes why the server of a recording could not be started; "" if it was.
func NotStarted(rec *store.Recording) string {
	var exit session.Exit
	if f, err := rec.Frame(1); err == nil && f.Lane == tap.Lifecycle {
		if e, err := tap.ParseEvent(f.Raw); err == nil {
			exit.Add(&e)
		}
	}
	return exit.NotStarted()
}

// eachFrame calls f for the frames of a recording up to a number.
func eachFrame(ctx context.Context, rec *store.Recording, last uint64, f func(*tap.Frame)) error {
	for frame, err := range recording.Read(ctx, rec, 0, false) {
		if err != nil {
			return err
		}
		if frame.Seq > last {
			break
		}
		f(&frame)
	}
	return nil
}

// Judge judges a recording, or one session of it, by rules, and counts the matches of the gates.
// It returns the open calls, for the report of the checker.
func Judge(ctx context.Context, file *recording.File, rules []*check.Rule, gates []*Gate) (*check.Checker, []*session.Call, error) {
	info, err := file.Info()
	if err != nil {
		return nil, nil, err
	}
	var survey *session.Survey
	if len(gates) > 0 || file.Session > 0 { // a first pass finds the sessions and the outcomes of requests
		survey = session.NewSurvey(true)
		if err := eachFrame(ctx, file.Recording, info.Frames, survey.Add); err != nil {
			return nil, nil, err
		}
		survey.End(info.Duration)
		if n := max(survey.Sessions(), 1); file.Session > n {
			return nil, nil, recording.NoSession(file.Path(), n, file.Session)
		}
	}
	tracker, checker := session.Tracker{Survey: survey}, check.New(rules)
	for _, g := range gates {
		g.begin(file.Session, survey)
	}
	err = eachFrame(ctx, file.Recording, info.Frames, func(f *tap.Frame) {
		if e := tracker.Add(f); file.Session == 0 || e.Session == file.Session {
			checker.Add(e)
		}
		for _, g := range gates {
			items, _ := g.frames.Add(f)
			g.count(items, false)
			items, _ = g.calls.Add(f)
			g.count(items, true)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	for _, g := range gates {
		g.count(g.calls.End(info.Duration), true)
	}
	return checker, tracker.Open(), nil
}

// maxViolations limits the violating frames that a filter knows.
const maxViolations = 1 << 20

// Findings returns the rules that each frame of a recording violates, up to frame last.
func Findings(ctx context.Context, rec *store.Recording, last uint64) (map[uint64][]string, error) {
	found := map[uint64][]string{}
	checker := check.New(check.Rules())
	checker.Each(func(r *check.Rule, frame uint64) {
		if len(found) < maxViolations && !slices.Contains(found[frame], r.ID) {
			found[frame] = append(found[frame], r.ID)
		}
	})
	var tracker session.Tracker
	if err := eachFrame(ctx, rec, last, func(f *tap.Frame) { checker.Add(tracker.Add(f)) }); err != nil {
		return nil, err
	}
	checker.Report(tracker.Open())
	return found, nil
}
