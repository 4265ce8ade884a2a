// Package report writes the results of a check: as text, as JSON, for build servers (SARIF,
// JUnit, annotations of GitHub Actions) and as Markdown. It is pure.
package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/mcptap/mcptap/check"
	"github.com/mcptap/mcptap/internal/junit"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/internal/term/escape"
)

// A Recording is a recording that was checked.
type Recording struct {
	// Name is the label, Arg the argument that named the recording, and File its path, with
	// slashes; "" if it is not a file.
	Name, Arg, File string
	// Lines are the lines of frames in File, nil if it is not text.
	Lines map[uint64]int
	*check.Report
	// Gates are the outcomes of the --expect and --forbid filters.
	Gates []Gate
	// Accepted is the number of findings left out because a baseline lists them.
	Accepted int
	// Checklist lists the topics of the specification, and which of them were seen.
	Checklist []check.ChecklistItem
	// Error is why the recording could not be read, "" if it could. Report is then empty.
	Error string
}

// A Gate is a filter that must match something, or nothing.
type Gate struct {
	Query  string
	Forbid bool // nothing must match
	// Calls and Frames count the matches, and First is the first matching frame.
	Calls, Frames, First uint64
}

// Failed reports whether a forbidden filter matches, or an expected one does not.
func (g *Gate) Failed() bool { return (g.Frames+g.Calls > 0) == g.Forbid }

// Text describes the outcome of a gate, escaped.
func (g *Gate) Text() string {
	mark, flag := "✓", "--expect"
	if g.Failed() {
		mark = "✗"
	}
	if g.Forbid {
		flag = "--forbid"
	}
	what := "nothing matches"
	switch {
	case g.Calls > 0:
		what = fmt.Sprintf("%s, first #%d", term.Plural(g.Calls, "call matches", "calls match"), g.First)
	case g.Frames > 0:
		what = fmt.Sprintf("%s, first #%d", term.Plural(g.Frames, "frame matches", "frames match"), g.First)
	}
	return escape.String(fmt.Sprintf("%s %s '%s': %s", mark, flag, g.Query, what))
}

// A Format writes the results of recordings. Findings of class failOn or worse are failures;
// failOn is 0 if none are.
type Format func(w io.Writer, all []Recording, failOn check.Class) error

// Formats are the formats by name.
var Formats = map[string]Format{"sarif": SARIF, "junit": JUnit, "markdown": Markdown, "github": GitHub}

// maxRows limits the findings on a page and in annotations. Services refuse larger ones.
const maxRows = 1000

// accepted counts the findings in the baseline.
func (r *Recording) accepted() string {
	return term.Plural(r.Accepted, "finding is", "findings are") + " in the baseline"
}

// rows returns the first findings, which are the worst, and the number of those left out.
func (r *Recording) rows() (rows []*check.Finding, left int) {
	n := min(len(r.Findings), maxRows)
	return r.Findings[:n], len(r.Findings) - n
}

// fails reports whether a finding is a failure.
func fails(f *check.Finding, failOn check.Class) bool { return failOn != 0 && f.Class >= failOn }

// words describes a finding in one line, escaped for a terminal: the fault, then the
// requirement.
func words(f *check.Finding) string {
	return escape.String(fmt.Sprintf("%s. %s", f.Fault(), f.Rule.Text))
}

// frames names the first frames of a finding, and how often it occurred.
func frames(f *check.Finding) string {
	text := Frames(f.Frames)
	if f.Count > uint64(len(f.Frames)) {
		text += fmt.Sprintf(" … (%d times)", f.Count)
	}
	return text
}

// JUnit writes a test case for each rule that was judged.
func JUnit(w io.Writer, all []Recording, failOn check.Class) error {
	var suites []junit.Suite
	for _, r := range all {
		s := junit.Suite{Name: escape.String(r.Name)}
		if r.Error != "" {
			s.Cases = append(s.Cases, junit.Case{Class: "check", Name: "the recording can be judged", Error: &junit.Message{Message: escape.String(r.Error)}})
		}
		byRule := map[string][]*check.Finding{}
		for _, f := range r.Findings {
			byRule[f.Rule.ID] = append(byRule[f.Rule.ID], f)
		}
		for _, j := range r.Judgements {
			c := junit.Case{Class: "check", Name: j.Rule.ID + " " + j.Rule.Text}
			var failed, other []string
			for _, f := range byRule[j.Rule.ID] {
				line := frames(f) + " " + words(f)
				if fails(f, failOn) {
					failed = append(failed, line)
				} else {
					other = append(other, line)
				}
			}
			c.Out = strings.Join(other, "\n")
			switch {
			case len(failed) > 0:
				c.Failure = &junit.Message{Message: failed[0], Type: j.Rule.Worst().String(), Text: strings.Join(append(failed, "fix: "+j.Rule.Fix), "\n")}
			case j.Held+j.Violated == 0:
				c.Skipped = &junit.Message{Message: "could not be judged"}
				if len(j.Reasons) > 0 {
					c.Skipped.Message = j.Reasons[0].Text
				}
			}
			s.Cases = append(s.Cases, c)
		}
		if r.Accepted > 0 {
			s.Cases = append(s.Cases, junit.Case{Class: "check", Name: "baseline", Out: r.accepted()})
		}
		for _, g := range r.Gates {
			c := junit.Case{Class: "check", Name: g.Text()}
			if g.Failed() {
				c.Failure = &junit.Message{Message: c.Name}
			}
			s.Cases = append(s.Cases, c)
		}
		suites = append(suites, s)
	}
	return junit.Write(w, "mcptap check", suites)
}

// markdown escapes recorded text so that it cannot become markup.
var markdown = strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "[", `\[`, "]", `\]`, "`", "'", "*", `\*`, "_", `\_`, "@", "&#64;", "\\", `\\`, "#", "&#35;")

// Markdown writes a table of the findings of each recording.
func Markdown(w io.Writer, all []Recording, failOn check.Class) error {
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintf(&b, "### %s\n\n", markdown.Replace(escape.String(r.Name)))
		switch {
		case r.Error != "":
			fmt.Fprintf(&b, "Error: %s\n\n", markdown.Replace(escape.String(r.Error)))
		case len(r.Findings) == 0 && r.Accepted > 0:
			b.WriteString("No new findings.\n\n")
		case len(r.Findings) == 0:
			b.WriteString("No findings.\n\n")
		default:
			b.WriteString("| | class | rule | finding | frames |\n|---|---|---|---|---|\n")
		}
		rows, left := r.rows()
		for _, f := range rows {
			mark := ""
			if fails(f, failOn) {
				mark = "✗"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s<br>%s | %s |\n", mark, f.Class, f.Rule.ID, markdown.Replace(words(f)), markdown.Replace(f.Rule.Fix), markdown.Replace(frames(f)))
		}
		if left > 0 {
			fmt.Fprintf(&b, "\n%d more findings are left out.\n", left)
		}
		if r.Accepted > 0 {
			fmt.Fprintf(&b, "\n%s\n", r.accepted())
		}
		for _, g := range r.Gates {
			fmt.Fprintf(&b, "\n- %s\n", markdown.Replace(g.Text()))
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// GitHub writes GitHub Actions commands, which show each finding as an annotation: an error if
// it is a failure.
func GitHub(w io.Writer, all []Recording, failOn check.Class) error {
	var b strings.Builder
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, r := range all {
		if r.Error != "" {
			fmt.Fprintf(&b, "::error title=mcptap check::%s\n", data.Replace(escape.String(r.Error)))
		}
		rows, left := r.rows()
		for _, f := range rows {
			level := "notice"
			switch {
			case fails(f, failOn):
				level = "error"
			case f.Class >= check.Should:
				level = "warning"
			}
			title := ""
			if r.File != "" {
				title = fmt.Sprintf("file=%s,", property.Replace(escape.String(r.File)))
				if r.Lines != nil {
					title += fmt.Sprintf("line=%d,", r.line(f))
				}
			}
			title += "title=" + property.Replace(f.Rule.ID+" "+f.Class.String())
			fmt.Fprintf(&b, "::%s %s::%s\n", level, title, data.Replace(frames(f)+" "+words(f)+" ("+f.Rule.Fix+")"))
		}
		if left > 0 {
			fmt.Fprintf(&b, "::warning title=mcptap check::%d more findings are left out\n", left)
		}
		if r.Accepted > 0 {
			fmt.Fprintf(&b, "::notice title=mcptap check::%s\n", data.Replace(escape.String(r.Name)+": "+r.accepted()))
		}
		for _, g := range r.Gates {
			if g.Failed() {
				fmt.Fprintf(&b, "::error title=mcptap check::%s\n", data.Replace(g.Text()))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// line returns the line of the first frame of a finding, 1 if it is not known.
func (r *Recording) line(f *check.Finding) int {
	if len(f.Frames) > 0 && r.Lines[f.Frames[0]] > 0 {
		return r.Lines[f.Frames[0]]
	}
	return 1
}
