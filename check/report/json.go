package report

import (
	"io"

	"github.com/mcptap/mcptap/check"
	"github.com/mcptap/mcptap/internal/term"
)

// A checklistJSON is a topic of the checklist in `check --json`.
type checklistJSON struct {
	V         int    `json:"v"`
	Type      string `json:"type"` // topic
	Recording string `json:"recording"`
	check.ChecklistItem
}

// A findingJSON is a finding in `check --json`.
type findingJSON struct {
	V         int      `json:"v"`
	Type      string   `json:"type"` // finding, or found while the recording is followed
	Recording string   `json:"recording"`
	Rule      string   `json:"rule"`
	Class     string   `json:"class"`
	Subject   string   `json:"subject,omitempty"`
	Path      string   `json:"path,omitempty"`
	Text      string   `json:"text,omitempty"`
	Count     uint64   `json:"count"`
	Frames    []uint64 `json:"frames"`
	Session   int      `json:"session,omitempty"`
	Revision  string   `json:"revision,omitempty"`
	Requires  string   `json:"requires"`
	Fix       string   `json:"fix"`
	Source    string   `json:"source"`
}

// FoundJSON prints a finding of a recording that is followed.
func FoundJSON(w io.Writer, name string, f *check.Finding) error {
	return writeFinding(w, "found", name, f)
}

func writeFinding(w io.Writer, kind, name string, f *check.Finding) error {
	return term.WriteJSON(w, findingJSON{
		1, kind, name, f.Rule.ID, f.Class.String(), f.Subject, f.Path, f.Text, f.Count, f.Frames, f.Session, string(f.Revision), f.Rule.Text, f.Rule.Fix, f.Rule.SourceText(),
	})
}

// A judgementJSON counts the verdicts of a rule in `check --json`.
type judgementJSON struct {
	V         int            `json:"v"`
	Type      string         `json:"type"` // rule
	Recording string         `json:"recording"`
	Rule      string         `json:"rule"`
	Held      uint64         `json:"held"`
	Violated  uint64         `json:"violated"`
	NotJudged uint64         `json:"not_judged"`
	Reasons   []check.Reason `json:"reasons,omitempty"`
}

// A gateJSON is the outcome of --expect or --forbid in `check --json`.
type gateJSON struct {
	V         int    `json:"v"`
	Type      string `json:"type"` // expect or forbid
	Recording string `json:"recording"`
	Filter    string `json:"filter"`
	Calls     uint64 `json:"calls"`  // that match
	Frames    uint64 `json:"frames"` // that match
	First     uint64 `json:"first,omitempty"`
	Failed    bool   `json:"failed"`
}

// An errorJSON is a recording that could not be read in `check --json`.
type errorJSON struct {
	V         int    `json:"v"`
	Type      string `json:"type"` // error
	Recording string `json:"recording"`
	Error     string `json:"error"`
}

// An acceptedJSON counts the findings that the baseline has, in `check --json`.
type acceptedJSON struct {
	V         int    `json:"v"`
	Type      string `json:"type"` // accepted
	Recording string `json:"recording"`
	Findings  int    `json:"findings"`
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
	name := r.Name
	for _, f := range r.Findings {
		if err := writeFinding(w, "finding", name, f); err != nil {
			return err
		}
	}
	for _, j := range r.Judgements {
		if err := term.WriteJSON(w, judgementJSON{1, "rule", name, j.Rule.ID, j.Held, j.Violated, j.NotJudged, j.Reasons}); err != nil {
			return err
		}
	}
	if r.Accepted > 0 {
		if err := term.WriteJSON(w, acceptedJSON{1, "accepted", name, r.Accepted}); err != nil {
			return err
		}
	}
	for _, it := range r.Checklist {
		if err := term.WriteJSON(w, checklistJSON{1, "topic", name, it}); err != nil {
			return err
		}
	}
	for _, g := range r.Gates {
		kind := "expect"
		if g.Forbid {
			kind = "forbid"
		}
		if err := term.WriteJSON(w, gateJSON{1, kind, name, g.Query, g.Calls, g.Frames, g.First, g.Failed()}); err != nil {
			return err
		}
	}
	return nil
}

// ErrorJSON prints that a recording could not be read.
func ErrorJSON(w io.Writer, name, text string) error {
	return term.WriteJSON(w, errorJSON{1, "error", name, text})
}

// RuleJSON prints a rule.
func RuleJSON(w io.Writer, r *check.Rule) error {
	return term.WriteJSON(w, ruleJSON{
		V: 1, ID: r.ID, Class: r.ClassText(), Revisions: r.RevisionNames(), Side: r.Side, Transport: r.Transport, Text: r.Text, Source: r.SourceText(), Fix: r.Fix,
	})
}
