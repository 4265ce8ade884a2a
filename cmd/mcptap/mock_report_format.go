package main

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/mcptap/mcptap/replay"
)

// A mockReportWriter writes a report in one of the formats. NDJSON and text are
// written note by note, since a host may end the mock at any time; JUnit is one
// document.
type mockReportWriter interface {
	note(n jsonMockNote) error
	summary(s jsonMockSummary) error
}

// newMockReportWriter writes in the format of the file's name: text for .txt, JUnit for
// .xml, else NDJSON.
func newMockReportWriter(file, name string, w io.Writer) mockReportWriter {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".txt":
		return textMockReport{w, name}
	case ".xml":
		return &junitMockReport{w: w, name: name}
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

// maxMockKept is how many notes a JUnit report holds.
const maxMockKept = 10_000

// A junitMockReport keeps the notes until the end: the first of them, and how many
// failures there are beyond those.
type junitMockReport struct {
	w     io.Writer
	name  string
	notes []jsonMockNote
	lost  int
}

func (r *junitMockReport) note(n jsonMockNote) error {
	switch {
	case len(r.notes) < maxMockKept:
		r.notes = append(r.notes, n)
	case n.Failure:
		r.lost++
	}
	return nil
}

func (r *junitMockReport) summary(s jsonMockSummary) error {
	b := bufio.NewWriter(r.w)
	if r.lost > 0 {
		r.notes = append(r.notes, jsonMockNote{Kind: "more", Failure: true, More: r.lost, Text: fmt.Sprintf("%d more failures", r.lost)})
	}
	return errors.Join(writeJUnitMockReport(b, r.name, r.notes, s), b.Flush())
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
