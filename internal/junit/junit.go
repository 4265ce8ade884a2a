// Package junit writes test results as JUnit XML, with the elements that build servers
// agree on.
package junit

import (
	"encoding/xml"
	"io"
)

// A Suite is a list of test cases.
type Suite struct {
	Name  string
	Cases []Case
}

// A Case is a test case. It passed if it neither failed nor was skipped. If Error is set, it could not
// be run.
type Case struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    string   `xml:"time,attr,omitempty"` // in seconds
	Error   *Message `xml:"error,omitempty"`
	Failure *Message `xml:"failure,omitempty"`
	Skipped *Message `xml:"skipped,omitempty"`
	Out     string   `xml:"system-out,omitempty"`
	Count   int      `xml:"-"` // the number of tests that it stands for, 0 for one
}

// A Message explains a failure, or why a test was skipped.
type Message struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

type counts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr,omitempty"`
	Skipped  int `xml:"skipped,attr,omitempty"`
}

type suite struct {
	Name string `xml:"name,attr"`
	counts
	Cases []Case `xml:"testcase"`
}

// Write writes a document with a name and suites.
func Write(w io.Writer, name string, suites []Suite) error {
	doc := struct {
		XMLName xml.Name `xml:"testsuites"`
		Name    string   `xml:"name,attr"`
		counts
		Suites []suite `xml:"testsuite"`
	}{Name: name}
	for _, s := range suites {
		x := suite{Name: s.Name, Cases: s.Cases}
		for _, c := range s.Cases {
			n := max(c.Count, 1)
			x.Tests += n
			switch {
			case c.Error != nil:
				x.Errors += n
			case c.Failure != nil:
				x.Failures += n
			case c.Skipped != nil:
				x.Skipped += n
			}
		}
		doc.Tests += x.Tests
		doc.Failures += x.Failures
		doc.Errors += x.Errors
		doc.Skipped += x.Skipped
		doc.Suites = append(doc.Suites, x)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
