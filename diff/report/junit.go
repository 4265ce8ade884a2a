package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/internal/term/escape"
)

// The elements of JUnit XML that build servers agree on.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr,omitempty"`
	Failure *junitFailure `xml:"failure,omitempty"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes a test suite for each comparison, with a test case for the session and one
// for each group of calls. A case fails if one of its differences is a failure; the others
// are its output. Recordings without a counterpart are the cases of another suite.
func JUnit(w io.Writer, s *Set) error {
	all := junitSuites{Name: "mcptap diff"}
	for _, r := range s.Reports {
		all.Suites = append(all.Suites, newSuite(r, s))
	}
	if len(s.Unpaired) > 0 {
		all.Suites = append(all.Suites, unpairedSuite(s))
	}
	for i := range all.Suites {
		suite := &all.Suites[i]
		for _, c := range suite.Cases {
			suite.Tests++
			if c.Failure != nil {
				suite.Failures++
			}
		}
		all.Tests += suite.Tests
		all.Failures += suite.Failures
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func newSuite(r *diff.Report, s *Set) junitSuite {
	suite := junitSuite{Name: escape.Escape(r.A.Name + " → " + r.B.Name)}
	byCase := map[[2]string][]*diff.Difference{}
	for i := range r.Differences {
		d := &r.Differences[i]
		of := [2]string{d.Method, d.Name}
		byCase[of] = append(byCase[of], d)
	}
	add := func(class, name string, took time.Duration, of []*diff.Difference, counts *diff.Counts) {
		c := junitCase{Class: escape.Escape(class), Name: escape.Escape(name)}
		if took > 0 {
			c.Time = fmt.Sprintf("%.6f", took.Seconds())
		}
		c.fill(of, counts, s)
		suite.Cases = append(suite.Cases, c)
	}
	add("session", "opening and notifications", 0, byCase[[2]string{}], nil)
	delete(byCase, [2]string{})
	for _, g := range r.Groups {
		method, name := g.Method, g.Name
		if g.Others {
			method = "(others)"
		}
		if name == "" {
			name = method
		}
		add(method, name, g.MedianB, byCase[[2]string{g.Method, g.Name}], &g.Counts)
	}
	return suite
}

// fill adds the differences of a case. Counts includes those that are not listed.
func (c *junitCase) fill(of []*diff.Difference, counts *diff.Counts, s *Set) {
	var fails, others strings.Builder
	var worst *diff.Difference
	for _, d := range of {
		to := &others
		if s.Fails && d.Class >= s.FailOn {
			to = &fails
			if worst == nil || d.Class > worst.Class {
				worst = d
			}
		}
		describe(to, d)
	}
	c.Out = others.String()
	switch {
	case worst != nil:
		c.Failure = &junitFailure{strings.TrimPrefix(Location(worst)+": "+Means(worst), ": "), worst.Class.String(), fails.String()}
	case counts != nil && s.Fails:
		for class := s.FailOn; class < diff.Classes; class++ {
			if counts[class] > 0 {
				c.Failure = &junitFailure{"there are differences that were not told", class.String(), ""}
			}
		}
	}
}

// describe writes a difference as text.
func describe(b *strings.Builder, d *diff.Difference) {
	where := strings.Fields(CallOf(d) + " " + Numbers(d) + " " + Location(d))
	fmt.Fprintf(b, "%s: %s: %s", d.Class, strings.Join(where, " "), Means(d))
	if d.Reason != "" {
		fmt.Fprintf(b, " (%s)", escape.Escape(d.Reason))
	}
	if t := Times(d); t != "" {
		fmt.Fprintf(b, "; %s", t)
	}
	b.WriteByte('\n')
	for _, l := range Lines(d) {
		fmt.Fprintf(b, "  %s\n", l)
	}
}

func unpairedSuite(s *Set) junitSuite {
	suite := junitSuite{Name: "recordings"}
	for _, u := range s.Unpaired {
		c := junitCase{Class: "recordings", Name: escape.Escape(u.Name)}
		text := "only the " + u.directory() + " directory has it"
		if s.Fails && s.FailOn <= diff.Behaviour {
			c.Failure = &junitFailure{text, diff.Behaviour.String(), ""}
		} else {
			c.Out = text
		}
		suite.Cases = append(suite.Cases, c)
	}
	return suite
}
