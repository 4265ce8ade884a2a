package web

import (
	"context"

	"github.com/mcptap/mcptap/check"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// maxFindings limits the findings that are sent, worst first.
const maxFindings = 500

// findingsJSON is the result of a check.
type findingsJSON struct {
	Findings []findingJSON `json:"findings"`
	// Left is the number of findings left out. More counts violations that belong to no finding.
	Left int    `json:"left,omitempty"`
	More uint64 `json:"more,omitempty"`
	// Held and NotJudged are the numbers of rules that hold and that could not be judged.
	Held      int    `json:"held"`
	NotJudged int    `json:"not_judged"`
	Read      uint64 `json:"read"` // the last frame that was judged
	Live      bool   `json:"live,omitempty"`
}

// findingJSON is a [check.Finding]. Its texts are escaped.
type findingJSON struct {
	Rule     string   `json:"rule"`
	Class    string   `json:"class"`
	Subject  string   `json:"subject,omitempty"`
	Path     string   `json:"path,omitempty"`
	Text     string   `json:"text,omitempty"`
	Count    uint64   `json:"count"`
	Frames   []uint64 `json:"frames"`
	Requires string   `json:"requires"`
	Fix      string   `json:"fix"`
	Source   string   `json:"source"`
}

// judge checks a recording as it is now: the session with a number, or all for 0. It runs one check at
// a time, because a check may keep much of a recording in memory.
func (s *Server) judge(ctx context.Context, r Reader, number int) (*findingsJSON, error) {
	select {
	case s.judging <- struct{}{}:
		defer func() { <-s.judging }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	rec, err := r.Recording()
	if err != nil {
		return nil, err
	}
	var survey *session.Survey
	if number > 0 {
		survey = session.NewSurvey(false)
		if err := recording.Each(ctx, r, survey.Add); err != nil {
			return nil, err
		}
		survey.End(rec.Duration)
		if n := max(survey.Sessions(), 1); number > n {
			return nil, noSession(number, n)
		}
	}
	tracker, checker, last := session.Tracker{Survey: survey}, check.New(check.Rules()), uint64(0)
	err = recording.Each(ctx, r, func(f *tap.Frame) {
		last = f.Seq
		if e := tracker.Add(f); number == 0 || e.Session == number {
			checker.Add(e)
		}
	})
	if err != nil {
		return nil, err
	}
	j := newFindingsJSON(checker.Report(tracker.Open()))
	j.Read, j.Live = last, rec.Status == store.Live
	return j, nil
}

func newFindingsJSON(r *check.Report) *findingsJSON {
	j := &findingsJSON{Findings: []findingJSON{}, More: r.More, Left: max(len(r.Findings)-maxFindings, 0)}
	for _, f := range r.Findings[:min(len(r.Findings), maxFindings)] {
		j.Findings = append(j.Findings, findingJSON{
			f.Rule.ID, f.Class.String(), brief(f.Subject), brief(f.Path), brief(f.Text), f.Count, f.Frames, f.Rule.Text, f.Rule.Fix, f.Rule.SourceText(),
		})
	}
	for _, v := range r.Judgements {
		switch {
		case v.Held+v.Violated == 0:
			j.NotJudged++
		case v.Violated == 0:
			j.Held++
		}
	}
	return j
}
