package report

import (
	"io"

	"github.com/mcptap/mcptap/check"
	"github.com/mcptap/mcptap/internal/term"
)

// A lineJSON is the beginning of each line of `check --json`.
type lineJSON struct {
	V         int    `json:"v"`
	Type      string `json:"type"`
	Recording string `json:"recording"`
}

// A checklistJSON is a topic of the checklist in `check --json`.
type checklistJSON struct {
	lineJSON // topic
	check.ChecklistItem
}

// A findingJSON is a finding in `check --json`.
type findingJSON struct {
	lineJSON          // finding, or found while following
	Rule     string   `json:"rule"`
	Class    string   `json:"class"`
	Subject  string   `json:"subject,omitempty"`
	Path     string   `json:"path,omitempty"`
	Text     string   `json:"text,omitempty"`
	Count    uint64   `json:"count"`
	Frames   []uint64 `json:"frames"`
	Session  int      `json:"session,omitempty"`
	Revision string   `json:"revision,omitempty"`
	Requires string   `json:"requires"`
	Fix      string   `json:"fix"`
	Source   string   `json:"source"`
}

func newFindingJSON(kind, name string, f *check.Finding) findingJSON {
	return findingJSON{
		lineJSON{1, kind, name}, f.Rule.ID, f.Class.String(), f.Subject, f.Path, f.Text, f.Count, f.Frames, f.Session, string(f.Revision), f.Rule.Text, f.Rule.Fix, f.Rule.SourceText(),
	}
}

// FoundJSON prints a finding of a recording that is being followed.
func FoundJSON(w io.Writer, name string, f *check.Finding) error {
	return term.WriteJSON(w, newFindingJSON("found", name, f))
}

// A judgementJSON counts the verdicts of a rule in `check --json`.
type judgementJSON struct {
	lineJSON                 // rule
	Rule      string         `json:"rule"`
	Held      uint64         `json:"held"`
	Violated  uint64         `json:"violated"`
	NotJudged uint64         `json:"not_judged"`
	Reasons   []check.Reason `json:"reasons,omitempty"`
}

// A gateJSON is the outcome of --expect or --forbid in `check --json`.
type gateJSON struct {
	lineJSON        // expect or forbid
	Filter   string `json:"filter"`
	Calls    uint64 `json:"calls"`  // number of matches
	Frames   uint64 `json:"frames"` // number of matches
	First    uint64 `json:"first,omitempty"`
	Failed   bool   `json:"failed"`
}

// An errorJSON is a recording that could not be read in `check --json`.
type errorJSON struct {
	lineJSON        // error
	Error    string `json:"error"`
}

// An acceptedJSON counts the findings in the baseline, in `check --json`.
type acceptedJSON struct {
	lineJSON     // accepted
	Findings int `json:"findings"`
}

// A ruleJSON is a rule in `check --explain --json`.
type ruleJSON struct {
	V         int      `json:"v"`
	ID        string   `json:"id"`
	Class     string   `json:"class"`
	Revisions []string `json:"revisions"`
	Side      string   `json:"side"`
	Transport string   `json:"transport"`
	Text      string   `json:"text"`
	Source    string   `json:"source"`
	Fix       string   `json:"fix"`
}

// JSON prints one line for each finding, each rule that was judged, and each gate.
func JSON(w io.Writer, r *Recording) error {
	var lines []any
	for _, f := range r.Findings {
		lines = append(lines, newFindingJSON("finding", r.Name, f))
	}
	for _, j := range r.Judgements {
		lines = append(lines, judgementJSON{lineJSON{1, "rule", r.Name}, j.Rule.ID, j.Held, j.Violated, j.NotJudged, j.Reasons})
	}
	if r.Accepted > 0 {
		lines = append(lines, acceptedJSON{lineJSON{1, "accepted", r.Name}, r.Accepted})
	}
	for _, it := range r.Checklist {
		lines = append(lines, checklistJSON{lineJSON{1, "topic", r.Name}, it})
	}
	for _, g := range r.Gates {
		kind := "expect"
		if g.Forbid {
			kind = "forbid"
		}
		lines = append(lines, gateJSON{lineJSON{1, kind, r.Name}, g.Query, g.Calls, g.Frames, g.First, g.Failed()})
	}
	for _, line := range lines {
		if err := term.WriteJSON(w, line); err != nil {
			return err
		}
	}
	return nil
}

// ErrorJSON reports a recording that could not be read.
func ErrorJSON(w io.Writer, name, text string) error {
	return term.WriteJSON(w, errorJSON{lineJSON{1, "error", name}, text})
}

// RuleJSON prints a rule.
func RuleJSON(w io.Writer, r *check.Rule) error {
	return term.WriteJSON(w, ruleJSON{
		V: 1, ID: r.ID, Class: r.ClassText(), Revisions: r.RevisionNames(), Side: r.Side, Transport: r.Transport, Text: r.Text, Source: r.SourceText(), Fix: r.Fix,
	})
}
