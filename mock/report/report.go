// Package report reports how the sessions of a mock deviate from its recording: on stderr, and in a
// file as text, NDJSON or JUnit XML.
package report

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mcptap/mcptap/internal/junit"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/mock"
	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/text"
)

const (
	// maxMessages limits the notes on stderr. The report has all of them.
	maxMessages = 50
	// maxUnrequested limits the number of unsent recorded requests that are listed.
	maxUnrequested = 100
)

// Options selects what is reported and what is a failure.
type Options struct {
	File           string // the file to write the report to; "" for none
	Strict, Verify bool
}

// A Report reports how sessions deviate from the recording: failures, inexact matches and
// requests without a response on stderr, everything in a file. It is safe for concurrent use.
type Report struct {
	say      func(line string) // prints a line on stderr
	opt      Options
	mu       sync.Mutex
	coverage *replay.Coverage
	file     *os.File
	to       writer
	err      error // the first write error
	counts   map[string]int
	messages int // number of messages on stderr
	failures int
	// faults are the faults of --fault; applied reports which of them had an effect. paths are
	// those of --ignore; ignored reports which of them matched.
	faults           []replay.Fault
	paths            []replay.Path
	applied, ignored []bool
}

// New starts a report for the scripts of the named recording.
func New(opt Options, say func(string), name string, scripts ...*replay.Script) (*Report, error) {
	r := &Report{say: say, opt: opt, coverage: replay.NewCoverage(scripts...), counts: map[string]int{}}
	if opt.File == "" {
		return r, nil
	}
	var err error
	if r.file, err = os.OpenFile(opt.File, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return nil, fmt.Errorf("--report: %w", err)
	}
	r.to = newWriter(opt.File, name, r.file)
	return r, nil
}

// Note records a note of a session.
func (r *Report) Note(n replay.Note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(n, 1, r.fails(n.Kind))
}

// add records a note that stands for count events.
func (r *Report) add(n replay.Note, count int, failure bool) {
	r.counts[n.Kind.String()] += count
	if failure {
		r.failures++
	}
	switch {
	case n.Kind == replay.NoteResponse, n.Kind == replay.NoteRelaxed: // later messages may not fit
		r.print(n.Deviation())
	case failure, n.Kind == replay.NoteRefused, n.Kind == replay.NoteVersion, n.Kind == replay.NoteSilence && n.Waits, n.Kind == replay.NoteLeft: // the client may wait in vain
		r.print(n.Text)
	}
	if r.to != nil && r.err == nil {
		r.err = r.to.note(newJSONNote(n, failure))
	}
}

func (r *Report) fails(kind replay.NoteKind) bool {
	return kind.Fails() || r.opt.Strict && kind.Deviates() || r.opt.Verify && kind == replay.NoteUnrequested
}

// print prints a message on stderr, up to maxMessages.
func (r *Report) print(text string) {
	if r.messages++; r.messages <= maxMessages {
		r.say("mock: " + text)
	}
	if r.messages == maxMessages {
		r.say("mock: further messages suppressed; --report FILE has all of them")
	}
}

// Over adds the requests of a session that has ended to the coverage.
func (r *Report) Over(s *replay.Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.coverage.Add(s)
	for i, applied := range s.Struck() {
		r.applied[i] = r.applied[i] || applied
	}
	for i, ignored := range s.Ignored() {
		r.ignored[i] = r.ignored[i] || ignored
	}
}

// Watch sets the faults of --fault and the paths of --ignore, so that [Report.End] can warn about
// those that match nothing.
func (r *Report) Watch(opt *replay.Options) {
	r.faults, r.applied = opt.Faults, make([]bool, len(opt.Faults))
	r.paths, r.ignored = opt.Ignore, make([]bool, len(opt.Ignore))
}

// Problems reports the problems of a recording, which may have been edited by hand. With --verify
// they count as failures.
func (r *Report) Problems(name string, rec *mock.Recording) {
	first, more := rec.Problems()
	for _, p := range first {
		r.say(fmt.Sprintf("mock: %s: frame %d: %s", name, p.Frame, p.Text))
	}
	if more > 0 {
		r.say(fmt.Sprintf("mock: %s: %d more problems of this kind", name, more))
	}
	if r.opt.Verify {
		r.failures += len(first) + more
	}
}

// End ends the report for a run that ended with err. failed reports that the sessions did not match
// the recording and that there was no other error.
func (r *Report) End(err error) (failed bool, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if refused := replay.NoteRefused; r.counts[refused.String()] > 0 && r.coverage.Recorded() > 0 && r.coverage.Sent() == 0 {
		r.add(replay.Note{Kind: refused, Text: "all requests were refused: the recording was not played"}, 0, true)
	}
	missing := r.coverage.Recorded() - r.coverage.Sent()
	unrequested := r.coverage.Unrequested(maxUnrequested)
	for i, n := range unrequested {
		count := 1
		if i == len(unrequested)-1 {
			count = missing - i
		}
		r.add(n, count, r.fails(n.Kind))
	}
	if r.opt.Verify && missing > 0 {
		r.say(fmt.Sprintf("mock: the client sent %d of the %d recorded requests", r.coverage.Sent(), r.coverage.Recorded()))
	}
	for i, f := range r.faults {
		if !r.applied[i] && f.Chance == 0 {
			r.say(fmt.Sprintf("mock: warning: --fault '%v' matched nothing", f))
		}
	}
	for i, p := range r.paths {
		if !r.ignored[i] {
			r.say(fmt.Sprintf("mock: warning: --ignore %v matched nothing", p))
		}
	}
	if r.to != nil && r.err == nil {
		r.err = r.to.summary(jsonSummary{
			V: text.Version, Type: "summary", Passed: r.failures == 0,
			Recorded: r.coverage.Recorded(), Sent: r.coverage.Sent(), Notes: r.counts,
		})
	}
	if r.file != nil {
		r.err = errors.Join(r.err, r.file.Close())
	}
	switch {
	case r.err != nil:
		return false, errors.Join(err, fmt.Errorf("--report: %w", r.err))
	case r.failures > 0 && (err == nil || errors.Is(err, context.Canceled)):
		return true, nil
	}
	return false, err
}

// A writer writes a report in one of the formats. NDJSON and text are written note by note, since
// a host may end the mock at any time. JUnit XML is one document.
type writer interface {
	note(n jsonNote) error
	summary(s jsonSummary) error
}

// newWriter returns a writer for the format that the file name implies: text for .txt, JUnit XML
// for .xml, NDJSON otherwise.
func newWriter(file, name string, w io.Writer) writer {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".txt":
		return textWriter{w, name}
	case ".xml":
		return &junitWriter{w: w, name: name}
	}
	return ndjsonWriter{w}
}

// jsonNote is a line of the NDJSON report.
type jsonNote struct {
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

type jsonDifference struct {
	Path     string `json:"path"`
	Recorded string `json:"recorded,omitempty"`
	Live     string `json:"live,omitempty"`
}

// jsonSummary is the last line of the NDJSON report.
type jsonSummary struct {
	V        int            `json:"v"`
	Type     string         `json:"type"`
	Passed   bool           `json:"passed"`
	Recorded int            `json:"recorded_requests"`
	Sent     int            `json:"sent_requests"`
	Notes    map[string]int `json:"notes"`
}

func newJSONNote(n replay.Note, failure bool) jsonNote {
	j := jsonNote{
		V: text.Version, Type: "note", Kind: n.Kind.String(), Failure: failure, Message: n.Live, Method: n.Method,
		Subject: n.Subject, Frame: n.Frame.Seq, UsedBy: n.UsedBy, More: n.More, Text: n.Text,
	}
	for _, d := range n.Differences {
		j.Differences = append(j.Differences, jsonDifference(d))
	}
	return j
}

// ndjsonWriter writes one line per note, and a summary.
type ndjsonWriter struct{ w io.Writer }

func (r ndjsonWriter) note(n jsonNote) error       { return r.line(n) }
func (r ndjsonWriter) summary(s jsonSummary) error { return r.line(s) }

func (r ndjsonWriter) line(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = r.w.Write(append(line, '\n'))
	return err
}

// textWriter writes text for people.
type textWriter struct {
	w    io.Writer
	name string
}

func (r textWriter) note(n jsonNote) error {
	mark := "note"
	if n.Failure {
		mark = "FAIL"
	}
	_, err := fmt.Fprintf(r.w, "%s  %-9s  %s\n", mark, n.Kind, safe.String(n.Text))
	return err
}

func (r textWriter) summary(s jsonSummary) error {
	verdict := "FAILED"
	if s.Passed {
		verdict = "passed"
	}
	_, err := fmt.Fprintf(r.w, "%s: %s, the client sent %d of %d recorded requests\n", verdict, safe.String(r.name), s.Sent, s.Recorded)
	return err
}

// maxMockKept is the maximum number of notes in a JUnit report.
const maxMockKept = 10_000

// A junitWriter keeps the first notes until the end, and counts the failures beyond those.
type junitWriter struct {
	w     io.Writer
	name  string
	notes []jsonNote
	lost  int
}

func (r *junitWriter) note(n jsonNote) error {
	switch {
	case len(r.notes) < maxMockKept:
		r.notes = append(r.notes, n)
	case n.Failure:
		r.lost++
	}
	return nil
}

func (r *junitWriter) summary(s jsonSummary) error {
	b := bufio.NewWriter(r.w)
	return errors.Join(junit.Write(b, "mcptap mock", []junit.Suite{r.suite(s)}), b.Flush())
}

// suite returns a suite with a case for the session as a whole, one for each note that is a
// failure, and a skipped one for each unsent request that is not a failure. Other notes are the
// output of the first case.
func (r *junitWriter) suite(s jsonSummary) junit.Suite {
	whole := junit.Case{Class: "session", Name: fmt.Sprintf("the client sent %d of %d recorded requests", s.Sent, s.Recorded)}
	cases := []junit.Case{whole}
	var others strings.Builder
	for _, n := range r.notes {
		text := safe.String(n.Text)
		c := junit.Case{Class: n.Kind, Name: safe.String(strings.TrimSpace(n.Method + " " + n.Subject))}
		switch {
		case n.Message != 0:
			c.Name = strings.TrimSpace(fmt.Sprintf("message %d %s", n.Message, c.Name))
		case n.Frame != 0:
			c.Name = strings.TrimSpace(fmt.Sprintf("frame %d %s", n.Frame, c.Name))
		}
		switch {
		case n.Failure:
			c.Failure = &junit.Message{Message: text, Type: n.Kind, Text: text}
		case n.Kind == replay.NoteUnrequested.String():
			c.Skipped = &junit.Message{Message: text}
		default:
			fmt.Fprintf(&others, "%s: %s\n", n.Kind, text)
			continue
		}
		cases = append(cases, c)
	}
	if r.lost > 0 {
		text := fmt.Sprintf("%d more failures", r.lost)
		cases = append(cases, junit.Case{Class: "more", Count: r.lost, Failure: &junit.Message{Message: text, Type: "more", Text: text}})
	}
	cases[0].Out = others.String()
	return junit.Suite{Name: safe.String(r.name), Cases: cases}
}
