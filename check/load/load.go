// Package load reads what package check works with: recordings, which it also searches with
// filters, locks, baselines and settings.
package load

import (
	"context"
	"slices"
	"time"

	"github.com/mcptap/mcptap/check"
	checkreport "github.com/mcptap/mcptap/check/report"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A Gate is a filter that something, or nothing, must match.
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

func (g *Gate) count(items []view.Item) {
	for _, it := range items {
		row := it.Row
		if it.Node != nil {
			row = &it.Node.Row
			g.Calls++
		} else {
			g.Frames++
		}
		seq := row.Part.Message.Seq
		if g.First == 0 || seq < g.First {
			g.First = seq
		}
	}
}

// Judge judges a recording, or one session of it, by rules. It returns the open calls, with which
// the report of the checker ends, and counts what the gates match.
func Judge(ctx context.Context, file *recording.File, rules []*check.Rule, gates []*Gate) (*check.Checker, []*session.Call, error) {
	info, err := file.Info()
	if err != nil {
		return nil, nil, err
	}
	last := info.Frames
	var survey *session.Survey
	if len(gates) > 0 || file.Session > 0 {
		if survey, err = surveyOf(ctx, file, last, info.Duration); err != nil {
			return nil, nil, err
		}
		if n := max(survey.Sessions(), 1); file.Session > n {
			return nil, nil, recording.NoSession(file.Path(), n, file.Session)
		}
	}
	tracker, checker := session.Tracker{Survey: survey}, check.New(rules)
	for _, g := range gates {
		g.begin(file.Session, survey)
	}
	for f, err := range recording.Read(ctx, file.Recording, 0, false) {
		if err != nil {
			return nil, nil, err
		}
		if f.Seq > last {
			break
		}
		if e := tracker.Add(&f); file.Session == 0 || e.Session == file.Session {
			checker.Add(e)
		}
		for _, g := range gates {
			items, _ := g.frames.Add(&f)
			g.count(items)
			items, _ = g.calls.Add(&f)
			g.count(slices.DeleteFunc(items, func(it view.Item) bool { return it.Node == nil }))
		}
	}
	for _, g := range gates {
		g.count(slices.DeleteFunc(g.calls.End(info.Duration), func(it view.Item) bool { return it.Node == nil }))
	}
	return checker, tracker.Open(), nil
}

// maxViolations is how many frames with a violation a filter knows.
const maxViolations = 1 << 20

// Findings returns the rules that frames of a recording violate, up to a frame.
func Findings(ctx context.Context, rec *store.Recording, last uint64) (map[uint64][]string, error) {
	found := map[uint64][]string{}
	checker := check.New(check.Rules())
	checker.Each(func(r *check.Rule, frame uint64) {
		if len(found) < maxViolations && !slices.Contains(found[frame], r.ID) {
			found[frame] = append(found[frame], r.ID)
		}
	})
	var tracker session.Tracker
	for f, err := range recording.Read(ctx, rec, 0, false) {
		if err != nil {
			return nil, err
		}
		if f.Seq > last {
			break
		}
		checker.Add(tracker.Add(&f))
	}
	checker.Report(tracker.Open())
	return found, nil
}

// surveyOf makes a first pass over a recording, up to a frame, to find its sessions and what
// becomes of requests.
func surveyOf(ctx context.Context, file *recording.File, last uint64, duration time.Duration) (*session.Survey, error) {
	survey := session.NewSurvey(true)
	for f, err := range recording.Read(ctx, file.Recording, 0, false) {
		if err != nil {
			return nil, err
		}
		if f.Seq > last {
			break
		}
		survey.Add(&f)
	}
	survey.End(duration)
	return survey, nil
}
