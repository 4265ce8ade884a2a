package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcptap/mcptap/check"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap/view"
)

// Text prints the findings of a recording.
func Text(l *term.Printer, r *Recording) error {
	width := l.TextWidth(100)
	name := r.Name
	if r.Arg != name {
		name += " (" + r.Arg + ")"
	}
	l.Printf("%s\n", l.Paint("Recording "+term.Fit(escape.String(name), max(width-10, 20)), term.Bold))
	class := check.Class(0)
	for i, f := range r.Findings {
		if f.Class != class {
			class = f.Class
			l.Printf("\n%s\n", l.Paint(class.String(), Styles[class]))
		}
		parts := []string{Words(f)}
		if l.Width > 0 {
			parts = term.FoldHard(parts[0], max(width-6, 20))
		}
		for i, part := range parts {
			l.Printf("  %s%s\n", strings.Repeat(" ", 2*min(i, 1)), part)
		}
		if i+1 == len(r.Findings) || r.Findings[i+1].Rule != f.Rule || r.Findings[i+1].Class != f.Class {
			printRule(l, f.Rule, width)
		}
	}
	if len(r.Findings) > 0 {
		l.Printf("\n")
	}
	for _, g := range r.Gates {
		l.Printf("%s\n", term.Fit(g.Text(), width))
	}
	if r.Judged() > 0 || r.Accepted > 0 {
		printChecklist(l, r.Checklist, width)
	}
	if r.Accepted > 0 {
		l.Printf("%s\n", r.accepted())
	}
	for _, line := range term.Fold(summary(r.Report), width) {
		l.Printf("%s\n", line)
	}
	return l.Err
}

// Rule prints a rule.
func Rule(l *term.Printer, r *check.Rule) error {
	l.Printf("%s  %s\n\n", r.ID, r.ClassText())
	for _, text := range []string{r.Text, "Fix: " + r.Fix} {
		for _, line := range term.Fold(text, l.TextWidth(100)-2) {
			l.Printf("  %s\n", line)
		}
	}
	l.Printf("\n  Binds      %s\n  Transport  %s\n  Revisions  %s\n  Source     %s\n", r.Side, r.Transport, strings.Join(r.RevisionNames(), ", "), r.SourceText())
	return l.Err
}

// Styles are the styles of the classes.
var Styles = map[check.Class]term.Style{check.ClientBreaking: term.BoldRed, check.Must: term.BoldRed, check.Should: term.BoldCyan, check.Observation: term.Dim}

// printRule prints the requirement of a rule and the fix.
func printRule(l *term.Printer, r *check.Rule, width int) {
	text := r.Text
	if r.Side != "both" {
		text = r.Side + ": " + text
	}
	printFolded(l, fmt.Sprintf("    %-9s ", r.ID), text, width)
	printFolded(l, fmt.Sprintf("    %-9s fix: ", ""), r.Fix, width)
}

// printFolded prints a text wrapped to a width, the first line after lead and the others
// aligned with it.
func printFolded(l *term.Printer, lead, text string, width int) {
	columns := utf8.RuneCountInString(lead)
	for _, line := range term.Fold(text, max(width-columns, 20)) {
		l.Printf("%s%s\n", lead, line)
		lead = strings.Repeat(" ", columns)
	}
}

// Words describes a finding, escaped: where it is, how often, and what offends.
func Words(f *check.Finding) string {
	where := Frames(f.Frames)
	if f.Count > uint64(len(f.Frames)) {
		where += fmt.Sprintf(" … (%d×)", f.Count)
	}
	return escape.String(view.JoinWords("  ", where, f.Fault()))
}

// Frames returns the numbers of frames as they are printed.
func Frames(frames []uint64) string {
	words := make([]string, len(frames))
	for i, n := range frames {
		words[i] = fmt.Sprintf("#%d", n)
	}
	return strings.Join(words, " ")
}

// printChecklist prints the topics by state.
func printChecklist(l *term.Printer, items []check.ChecklistItem, width int) {
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
		if len(names) > 0 {
			printFolded(l, fmt.Sprintf("%-17s  ", state.mark), strings.Join(names, ", "), width)
		}
	}
}

// maxUnjudged limits how many unjudged rules are named, and maxReasons how many are named with a
// reason.
const (
	maxUnjudged = 4
	maxReasons  = 2
)

// summary counts findings by class, and rules by verdict.
func summary(r *check.Report) string {
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
	var not, reasons []string
	for _, j := range r.Judgements {
		switch {
		case j.Held+j.Violated == 0:
			not = append(not, j.Rule.ID)
			for _, why := range j.Reasons[:min(len(j.Reasons), 1)] {
				reasons = append(reasons, j.Rule.ID+": "+why.Text)
			}
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
		if len(not) <= maxReasons && len(reasons) == len(not) {
			return text + " (" + strings.Join(reasons, "; ") + ")"
		}
		more := ""
		if len(not) > maxUnjudged {
			not, more = not[:maxUnjudged], " …"
		}
		text += " (" + strings.Join(not, " ") + more + "; --json has the reasons)"
	}
	return text
}
