package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/internal/junit"
	"github.com/mcptap/mcptap/internal/term/escape"
)

// JUnit writes a test suite for each comparison, with a test case for the session and one for
// each group of calls. A case fails if one of its differences is a failure. The other differences
// are its output. Recordings without a counterpart are the cases of a separate suite.
func JUnit(w io.Writer, s *Set) error {
	var suites []junit.Suite
	for _, r := range s.Reports {
		suites = append(suites, newSuite(r, s))
	}
	if len(s.Unpaired) > 0 {
		suites = append(suites, unpairedSuite(s))
	}
	return junit.Write(w, "mcptap diff", suites)
}

func newSuite(r *diff.Report, s *Set) junit.Suite {
	suite := junit.Suite{Name: escape.String(r.A.Name + " → " + r.B.Name)}
	byCase := map[[2]string][]*diff.Difference{}
	for i := range r.Differences {
		d := &r.Differences[i]
		of := [2]string{d.Method, d.Name}
		byCase[of] = append(byCase[of], d)
	}
	add := func(class, name string, took time.Duration, of []*diff.Difference, counts *diff.Counts) {
		c := junit.Case{Class: escape.String(class), Name: escape.String(name)}
		if took > 0 {
			c.Time = fmt.Sprintf("%.6f", took.Seconds())
		}
		fill(&c, of, counts, s)
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

// fill adds the differences of a case. counts includes those that are not listed.
func fill(c *junit.Case, of []*diff.Difference, counts *diff.Counts, s *Set) {
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
		c.Failure = &junit.Message{Message: strings.TrimPrefix(Location(worst)+": "+Means(worst), ": "), Type: worst.Class.String(), Text: fails.String()}
	case counts != nil && s.Fails:
		for class := s.FailOn; class < diff.Classes; class++ {
			if counts[class] > 0 {
				c.Failure = &junit.Message{Message: "differences are not listed", Type: class.String()}
			}
		}
	}
}

// describe writes a difference as text.
func describe(b *strings.Builder, d *diff.Difference) {
	where := strings.Fields(CallOf(d) + " " + Numbers(d) + " " + Location(d))
	fmt.Fprintf(b, "%s: %s: %s", d.Class, strings.Join(where, " "), Means(d))
	if d.Reason != "" {
		fmt.Fprintf(b, " (%s)", escape.String(d.Reason))
	}
	if t := Times(d); t != "" {
		fmt.Fprintf(b, "; %s", t)
	}
	b.WriteByte('\n')
	for _, l := range Lines(d) {
		fmt.Fprintf(b, "  %s\n", l)
	}
}

func unpairedSuite(s *Set) junit.Suite {
	suite := junit.Suite{Name: "recordings"}
	for _, u := range s.Unpaired {
		c := junit.Case{Class: "recordings", Name: escape.String(u.Name)}
		text := "only in the " + u.directory() + " directory"
		if s.Fails && s.FailOn <= diff.Behaviour {
			c.Failure = &junit.Message{Message: text, Type: diff.Behaviour.String()}
		} else {
			c.Out = text
		}
		suite.Cases = append(suite.Cases, c)
	}
	return suite
}
