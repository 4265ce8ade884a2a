package main

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/replay"
)

var mockReportFormats = []string{"text", "json", "ndjson", "junit"}

// formatOf is the format of the report.
func (o *mockReportOptions) formatOf() (string, error) {
	switch {
	case o.format != "" && !slices.Contains(mockReportFormats, o.format):
		return "", fmt.Errorf("--report-format: unknown format %s (want text, json, ndjson or junit)", quote(o.format))
	case o.format != "" && o.file == "":
		return "", fmt.Errorf("--report-format needs --report FILE")
	case o.format != "":
		return o.format, nil
	}
	switch strings.ToLower(filepath.Ext(o.file)) {
	case ".txt", ".text", ".log":
		return "text", nil
	case ".json":
		return "json", nil
	case ".xml":
		return "junit", nil
	}
	return "ndjson", nil
}

// A mockReportWriter writes a report in one of the formats. NDJSON and text are
// written note by note, since a host may end the mock at any time; the other two
// are one document.
type mockReportWriter interface {
	note(n jsonMockNote) error
	summary(s jsonMockSummary) error
}

func newMockReportWriter(format, name string, w io.Writer) mockReportWriter {
	switch format {
	case "text":
		return textMockReport{w, name}
	case "json":
		return &wholeMockReport{w: w, write: writeJSONMockReport}
	case "junit":
		return &wholeMockReport{w: w, write: func(w io.Writer, notes []jsonMockNote, s jsonMockSummary) error {
			return writeJUnitMockReport(w, name, notes, s)
		}}
	}
	return ndjsonMockReport{w}
}

// jsonMockNote is a line of the report.
type jsonMockNote struct {
	V           int              `json:"v"`
	Type        string           `json:"type"`
	Kind        string           `json:"kind"`
	Failure     bool             `json:"failure"`
	Message     uint64           `json:"message,omitempty"`
	Method      string           `json:"method,omitempty"`
	Subject     string           `json:"subject,omitempty"`
	Frame       uint64           `json:"frame,omitempty"`
	UsedBy      uint64           `json:"used_by,omitempty"`
	Differences []jsonDifference `json:"differences,omitempty"`
	More        int              `json:"more_differences,omitempty"`
	Text        string           `json:"text"`
}

// more is for how many failures it stands that are not kept, 0 for a note of its own.
func (n *jsonMockNote) more() int {
	if n.Kind == "more" {
		return n.More
	}
	return 0
}

type jsonDifference struct {
	Path     string `json:"path"`
	Recorded string `json:"recorded,omitempty"`
	Live     string `json:"live,omitempty"`
}

// jsonMockSummary is its last line.
type jsonMockSummary struct {
	V        int            `json:"v"`
	Type     string         `json:"type"`
	Passed   bool           `json:"passed"`
	Recorded int            `json:"recorded_requests"`
	Asked    int            `json:"asked_requests"`
	Notes    map[string]int `json:"notes"`
}

func newJSONMockNote(n replay.Note, failure bool) jsonMockNote {
	j := jsonMockNote{
		V: jsonVersion, Type: "note", Kind: n.Kind.String(), Failure: failure, Message: n.Live, Method: n.Method,
		Subject: n.Subject, Frame: n.Frame.Seq, UsedBy: n.UsedBy, More: n.More, Text: n.Text,
	}
	for _, d := range n.Differences {
		j.Differences = append(j.Differences, jsonDifference(d))
	}
	return j
}

// ndjsonMockReport writes a line a note, and a summary.
type ndjsonMockReport struct{ w io.Writer }

func (r ndjsonMockReport) note(n jsonMockNote) error       { return r.line(n) }
func (r ndjsonMockReport) summary(s jsonMockSummary) error { return r.line(s) }

func (r ndjsonMockReport) line(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = r.w.Write(append(line, '\n'))
	return err
}

// textMockReport is for people.
type textMockReport struct {
	w    io.Writer
	name string
}

func (r textMockReport) note(n jsonMockNote) error {
	mark := "note"
	if n.Failure {
		mark = "FAIL"
	}
	_, err := fmt.Fprintf(r.w, "%s  %-9s  %s\n", mark, n.Kind, escape(n.Text))
	return err
}

func (r textMockReport) summary(s jsonMockSummary) error {
	verdict := "FAILED"
	if s.Passed {
		verdict = "passed"
	}
	_, err := fmt.Fprintf(r.w, "%s: %s, %d of %d recorded requests were asked for\n", verdict, escape(r.name), s.Asked, s.Recorded)
	return err
}

// maxMockKept is how many notes a report that is one document holds.
const maxMockKept = 10_000

// A wholeMockReport keeps the notes until the end: the first of them, and how many failures
// there are beyond those.
type wholeMockReport struct {
	w     io.Writer
	notes []jsonMockNote
	lost  int
	write func(w io.Writer, notes []jsonMockNote, s jsonMockSummary) error
}

func (r *wholeMockReport) note(n jsonMockNote) error {
	switch {
	case len(r.notes) < maxMockKept:
		r.notes = append(r.notes, n)
	case n.Failure:
		r.lost++
	}
	return nil
}

func (r *wholeMockReport) summary(s jsonMockSummary) error {
	b := bufio.NewWriter(r.w)
	if r.lost > 0 {
		r.notes = append(r.notes, jsonMockNote{
			V: jsonVersion, Type: "note", Kind: "more", Failure: true, More: r.lost, Text: fmt.Sprintf("%d more failures", r.lost),
		})
	}
	if err := r.write(b, r.notes, s); err != nil {
		return err
	}
	return b.Flush()
}

func writeJSONMockReport(w io.Writer, notes []jsonMockNote, s jsonMockSummary) error {
	s.Type = "report"
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		jsonMockSummary
		Details []jsonMockNote `json:"details"`
	}{s, append([]jsonMockNote{}, notes...)})
}

// JUnit's elements, as far as build servers agree about them.
type junitMockSuites struct {
	XMLName  xml.Name       `xml:"testsuites"`
	Name     string         `xml:"name,attr"`
	Tests    int            `xml:"tests,attr"`
	Failures int            `xml:"failures,attr"`
	Suite    junitMockSuite `xml:"testsuite"`
}

type junitMockSuite struct {
	Name     string          `xml:"name,attr"`
	Tests    int             `xml:"tests,attr"`
	Failures int             `xml:"failures,attr"`
	Skipped  int             `xml:"skipped,attr"`
	Cases    []junitMockCase `xml:"testcase"`
}

type junitMockCase struct {
	Class   string            `xml:"classname,attr"`
	Name    string            `xml:"name,attr"`
	Failure *junitMockMessage `xml:"failure,omitempty"`
	Skipped *junitMockMessage `xml:"skipped,omitempty"`
	Out     string            `xml:"system-out,omitempty"`
}

type junitMockMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// writeJUnitMockReport writes a suite with a case for the session as a whole, one
// for each note that is a failure, and one, skipped, for each request that was not
// asked for and need not be. Other notes are the output of the first case.
func writeJUnitMockReport(w io.Writer, name string, notes []jsonMockNote, s jsonMockSummary) error {
	whole := junitMockCase{Class: "session", Name: fmt.Sprintf("%d of %d recorded requests were asked for", s.Asked, s.Recorded)}
	suite := junitMockSuite{Name: escape(name), Tests: 1}
	var others strings.Builder
	var cases []junitMockCase
	for _, n := range notes {
		text := escape(n.Text)
		c := junitMockCase{Class: n.Kind, Name: escape(strings.TrimSpace(n.Method + " " + n.Subject))}
		switch {
		case n.Message != 0:
			c.Name = strings.TrimSpace(fmt.Sprintf("message %d %s", n.Message, c.Name))
		case n.Frame != 0:
			c.Name = strings.TrimSpace(fmt.Sprintf("frame %d %s", n.Frame, c.Name))
		}
		switch {
		case n.Failure:
			c.Failure = &junitMockMessage{Message: text, Type: n.Kind, Text: text}
			suite.Failures += max(1, n.more())
			suite.Tests += max(1, n.more()) - 1
		case n.Kind == replay.NoteUnasked.String():
			c.Skipped = &junitMockMessage{Message: text}
			suite.Skipped++
		default:
			fmt.Fprintf(&others, "%s: %s\n", n.Kind, text)
			continue
		}
		suite.Tests++
		cases = append(cases, c)
	}
	whole.Out = others.String()
	suite.Cases = append([]junitMockCase{whole}, cases...)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	err := enc.Encode(junitMockSuites{Name: "mcptap mock", Tests: suite.Tests, Failures: suite.Failures, Suite: suite})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n")
	return err
}
