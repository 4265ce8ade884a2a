package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/check"
	checkreport "github.com/mcptap/mcptap/check/report"
	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/tap/view"
)

// checkFormats are the values of --format.
var checkFormats = []string{"text", "json", "markdown", "sarif", "junit", "github"}

// recording returns the results of a recording for package report.
func (o *checkOptions) recording(arg, name string, found *check.Report) checkreport.Recording {
	r := checkreport.Recording{Name: name, Report: found, Accepted: o.accepted}
	for _, g := range o.filters {
		r.Gates = append(r.Gates, checkreport.Gate{Text: g.words(), Failed: g.failed()})
	}
	file, _, _ := strings.Cut(arg, "#")
	if recording.IsText(file) {
		r.Lines = frameLines(file)
	} else if _, err := os.Stat(file); err != nil {
		file = o.path // that of @last, or of a label
	}
	r.File = nearPath(file)
	return r
}

// nearPath returns the path of a file with slashes, relative to the working directory if it is
// below that: build servers know files by such paths.
func nearPath(file string) string {
	if dir, err := os.Getwd(); err == nil && filepath.IsAbs(file) {
		if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
			file = rel
		}
	}
	return filepath.ToSlash(file)
}

// frameLines returns the lines of a text on which its frames begin. Without them, findings
// point to the first line.
func frameLines(name string) map[uint64]int {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	lines, r := map[uint64]int{}, bufio.NewReader(f)
	for n := 1; ; n++ {
		head, err := r.ReadSlice('\n')
		var seq uint64
		if rest, ok := bytes.CutPrefix(head, []byte("-- ")); ok {
			number, _, _ := bytes.Cut(rest, []byte(" "))
			seq, _ = strconv.ParseUint(string(number), 10, 64)
		} else if _, rest, ok := bytes.Cut(head, []byte(`"type":"frame","seq":`)); ok && head[0] == '{' {
			number, _, _ := bytes.Cut(rest, []byte(","))
			seq, _ = strconv.ParseUint(string(number), 10, 64)
		}
		if seq > 0 && lines[seq] == 0 {
			lines[seq] = n
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line
			_, err = r.ReadSlice('\n')
		}
		if err != nil {
			return lines
		}
	}
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

// textWidth returns the width of texts: that of the terminal, at most 100 columns.
func textWidth(a *app) int {
	if w := a.width(); w > 0 {
		return min(w, 100)
	}
	return 100
}

// writeText prints the findings of a recording.
func (o *checkOptions) writeText(a *app, w io.Writer, arg, name string, r *check.Report) error {
	l, p, width := term.Printer{W: w}, a.palette(), textWidth(a)
	if arg != name {
		name += " (" + arg + ")"
	}
	l.Printf("%s\n", p.Paint("Recording "+term.Fit(safe.String(name), max(width-10, 20)), term.Bold))
	class := check.Class(0)
	for i, f := range r.Findings {
		if f.Class != class {
			class = f.Class
			l.Printf("\n%s\n", p.Paint(class.String(), classStyles[class]))
		}
		if i == 0 || r.Findings[i-1].Rule != f.Rule || r.Findings[i-1].Class != f.Class {
			writeRule(&l, f.Rule, width)
		}
		parts := []string{findingWords(f)}
		if a.width() > 0 {
			parts = term.FoldHard(parts[0], max(width-6, 20))
		}
		for i, part := range parts {
			l.Printf("    %s%s\n", strings.Repeat(" ", 2*min(i, 1)), part)
		}
	}
	if len(r.Findings) > 0 {
		l.Printf("\n")
	}
	for _, g := range o.filters {
		l.Printf("%s\n", term.Fit(g.words(), width))
	}
	if r.Judged() > 0 || o.accepted > 0 {
		writeChecklist(&l, o.checklist, width)
	}
	if o.accepted > 0 {
		l.Printf("%s in the baseline\n", term.Plural(o.accepted, "finding is", "findings are"))
	}
	l.Printf("%s\n", checkSummary(r))
	return l.Err
}

var classStyles = map[check.Class]term.Style{check.ClientBreaking: term.BoldRed, check.Must: term.BoldRed, check.Should: term.BoldCyan, check.Observation: term.Dim}

// writeRule prints what a rule requires, and the advice.
func writeRule(l *term.Printer, r *check.Rule, width int) {
	text := r.Text
	if r.Side != "both" {
		text = r.Side + ": " + text
	}
	for i, line := range term.Fold(text, max(width-12, 20)) {
		id := r.ID
		if i > 0 {
			id = ""
		}
		l.Printf("  %-9s %s\n", id, line)
	}
	for i, line := range term.Fold(r.Fix, max(width-17, 20)) {
		lead := "fix:"
		if i > 0 {
			lead = ""
		}
		l.Printf("  %-9s %-4s %s\n", "", lead, line)
	}
}

// findingWords describes a finding, escaped: where it is, how often, and what offends.
func findingWords(f *check.Finding) string {
	where := frameList(f.Frames)
	if f.Count > uint64(len(f.Frames)) {
		where += fmt.Sprintf(" … (%d×)", f.Count)
	}
	return safe.String(view.JoinWords("  ", where, view.JoinWords(" ", f.Subject, f.Path), f.Text))
}

// frameList returns the numbers of frames as they are printed.
func frameList(frames []uint64) string {
	words := make([]string, len(frames))
	for i, n := range frames {
		words[i] = fmt.Sprintf("#%d", n)
	}
	return strings.Join(words, " ")
}

// words describes the outcome of a gate, escaped.
func (g *gate) words() string {
	mark, flag := "✓", "--expect"
	if g.failed() {
		mark = "✗"
	}
	if g.forbid {
		flag = "--forbid"
	}
	what := "nothing matches"
	switch {
	case g.ofCalls > 0:
		what = fmt.Sprintf("%s, first #%d", term.Plural(g.ofCalls, "call matches", "calls match"), g.first)
	case g.ofFrames > 0:
		what = fmt.Sprintf("%s, first #%d", term.Plural(g.ofFrames, "frame matches", "frames match"), g.first)
	}
	return safe.String(fmt.Sprintf("%s %s '%s': %s", mark, flag, g.query, what))
}

// writeChecklist prints the topics by state.
func writeChecklist(l *term.Printer, items []check.ChecklistItem, width int) {
	for _, state := range []struct{ name, mark string }{{"right", "✓ seen and right"}, {"wrong", "✗ seen and wrong"}, {"not seen", "· not seen"}} {
		var names []string
		for _, it := range items {
			if it.State == state.name {
				name := it.Topic
				if len(it.Rules) > 0 {
					name += " (" + strings.Join(it.Rules, " ") + ")"
				}
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			continue
		}
		for i, line := range term.Fold(strings.Join(names, ", "), max(width-19, 20)) {
			lead := state.mark
			if i > 0 {
				lead = ""
			}
			l.Printf("%-17s  %s\n", lead, line)
		}
	}
}

// A checklistJSON is a topic of the checklist in `check --json`.
type checklistJSON struct {
	V         int    `json:"v"`
	Type      string `json:"type"` // topic
	Recording string `json:"recording"`
	check.ChecklistItem
}

// maxUnjudged is how many rules that could not be judged are named.
const maxUnjudged = 4

// checkSummary counts findings by class, and rules by verdict.
func checkSummary(r *check.Report) string {
	byClass := map[string]int{}
	for _, f := range r.Findings {
		byClass[f.Class.String()]++
	}
	var classes []string
	for _, name := range check.Classes {
		if n := byClass[name]; n > 0 {
			classes = append(classes, fmt.Sprintf("%d %s", n, name))
		}
	}
	held := 0
	var not []string
	for _, j := range r.Judgements {
		switch {
		case j.Held+j.Violated == 0:
			not = append(not, j.Rule.ID)
		case j.Violated == 0:
			held++
		}
	}
	text := term.Plural(len(r.Findings), "finding", "findings")
	if len(classes) > 0 {
		text += " (" + strings.Join(classes, ", ") + ")"
	}
	if r.More > 0 {
		text += fmt.Sprintf(" and %d more violations", r.More)
	}
	text += "; " + term.Plural(held, "rule holds", "rules hold")
	if len(not) > 0 {
		text += fmt.Sprintf(", %d could not be judged", len(not))
		more := ""
		if len(not) > maxUnjudged {
			not, more = not[:maxUnjudged], " …"
		}
		text += " (" + strings.Join(not, " ") + more + "; --json has the reasons)"
	}
	return text
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

func newFindingJSON(kind, name string, f *check.Finding) findingJSON {
	return findingJSON{
		1, kind, name, f.Rule.ID, f.Class.String(), f.Subject, f.Path, f.Text, f.Count, f.Frames, f.Session, string(f.Revision), f.Rule.Text, f.Rule.Fix, f.Rule.SourceText(),
	}
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

// A checkErrorJSON is a recording that could not be read in `check --json`.
type checkErrorJSON struct {
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

// writeJSON writes one line for each finding, each rule that was judged, and each gate.
func (o *checkOptions) writeJSON(w io.Writer, name string, r *check.Report) error {
	for _, f := range r.Findings {
		if err := term.WriteJSON(w, newFindingJSON("finding", name, f)); err != nil {
			return err
		}
	}
	for _, j := range r.Judgements {
		if err := term.WriteJSON(w, judgementJSON{1, "rule", name, j.Rule.ID, j.Held, j.Violated, j.NotJudged, j.Reasons}); err != nil {
			return err
		}
	}
	if o.accepted > 0 {
		if err := term.WriteJSON(w, acceptedJSON{1, "accepted", name, o.accepted}); err != nil {
			return err
		}
	}
	for _, it := range o.checklist {
		if err := term.WriteJSON(w, checklistJSON{1, "topic", name, it}); err != nil {
			return err
		}
	}
	for _, g := range o.filters {
		kind := "expect"
		if g.forbid {
			kind = "forbid"
		}
		if err := term.WriteJSON(w, gateJSON{1, kind, name, g.query, g.ofCalls, g.ofFrames, g.first, g.failed()}); err != nil {
			return err
		}
	}
	return nil
}
