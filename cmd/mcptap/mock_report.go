package main

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

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/junit"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/tap/text"

	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/mock"
	"github.com/mcptap/mcptap/replay"
)

// mockReportOptions are the flags that say what is reported, and what is a failure.
type mockReportOptions struct {
	file           string
	strict, verify bool
	force          bool
}

func (o *mockReportOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.file, "report", "", "write the deviations to `FILE`: text for .txt, JUnit for .xml, else NDJSON")
	addForce(cmd, &o.force)
	f.BoolVar(&o.strict, "strict", false, "fail if the client does anything that is not in the recording")
	f.BoolVar(&o.verify, "verify", false, "fail if the client does not send every recorded request")
}

// whole reports whether the report covers requests that were not sent.
func (o *mockReportOptions) whole() bool { return o.verify || o.file != "" }

// check refuses a report that would be written over the recording.
func (o *mockReportOptions) check(a *app, arg string) error {
	if o.file == "" {
		return nil
	}
	name, _, _ := strings.Cut(arg, "#")
	paths := []string{arg, name}
	if path, err := a.find(arg); err == nil {
		paths = append(paths, path)
	}
	for _, path := range paths {
		if sameFile(o.file, path) || samePath(o.file, path) {
			err := fmt.Errorf("--report %s would overwrite the recording %s", term.Quote(o.file), term.Quote(arg))
			return hint.With(err, "choose another file")
		}
	}
	return checkOutput("--report", o.file, o.force)
}

// unread is the verdict of a run that was ended before anything could be played.
func (o *mockReportOptions) unread(a *app) error {
	if !o.whole() {
		return nil
	}
	a.say("mock: interrupted while loading the recording")
	return exitCode(exitNo)
}

const (
	// maxMockMessages limits the notes on stderr. The report has all of them.
	maxMockMessages = 50
	// maxMockUnrequested limits the recorded requests that are named as not sent.
	maxMockUnrequested = 100
)

// A mockReport reports how sessions deviate from the recording: failures and inexact
// matches on stderr, everything in a file. It is safe for concurrent use.
type mockReport struct {
	a        *app
	opt      mockReportOptions
	mu       sync.Mutex
	coverage *replay.Coverage
	file     *os.File
	to       mockReportWriter
	err      error // of the first write that failed
	counts   map[string]int
	messages int // on stderr
	wrong    int
	// faults holds the faults of --fault, applied whether each had an effect. ignored
	// reports the same of the paths of --ignore.
	faults           []replay.Fault
	paths            []replay.Path
	applied, ignored []bool
}

// newMockReport starts a report on the scripts of the named recording.
func newMockReport(a *app, opt mockReportOptions, name string, scripts ...*replay.Script) (*mockReport, error) {
	r := &mockReport{a: a, opt: opt, coverage: replay.NewCoverage(scripts...), counts: map[string]int{}}
	if opt.file == "" {
		return r, nil
	}
	var err error
	if r.file, err = os.OpenFile(opt.file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return nil, fmt.Errorf("--report: %w", err)
	}
	r.to = newMockReportWriter(opt.file, name, r.file)
	return r, nil
}

// note records a note of a session.
func (r *mockReport) note(n replay.Note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take(n, 1, r.fails(n.Kind))
}

// take records a note that stands for count events.
func (r *mockReport) take(n replay.Note, count int, failure bool) {
	r.counts[n.Kind.String()] += count
	if failure {
		r.wrong++
	}
	switch {
	case n.Kind == replay.NoteResponse: // what follows may not fit what the user did
		r.say(n.Deviation())
	case failure, n.Kind == replay.NoteRelaxed, n.Kind == replay.NoteRefused: // report every inexact match
		r.say(n.Text)
	}
	if r.to != nil && r.err == nil {
		r.err = r.to.note(newJSONMockNote(n, failure))
	}
}

func (r *mockReport) fails(kind replay.NoteKind) bool {
	return kind.Fails() || r.opt.strict && kind.Deviates() || r.opt.verify && kind == replay.NoteUnrequested
}

// say prints a message on stderr, up to maxMockMessages.
func (r *mockReport) say(text string) {
	if r.messages++; r.messages <= maxMockMessages {
		r.a.say("mock: " + text)
	}
	if r.messages == maxMockMessages {
		r.a.say("mock: further messages suppressed; --report FILE has all of them")
	}
}

// over adds the requests of a session that has ended to the coverage.
func (r *mockReport) over(s *replay.Session) {
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

// watch records the faults of --fault and the paths of --ignore, to warn about those
// that match nothing.
func (r *mockReport) watch(opt *replay.Options) {
	r.faults, r.applied = opt.Faults, make([]bool, len(opt.Faults))
	r.paths, r.ignored = opt.Ignore, make([]bool, len(opt.Ignore))
}

// problems reports the problems of a recording written or edited by hand. With --verify
// they count as failures.
func (r *mockReport) problems(name string, rec *mock.Recording) {
	first, more := rec.Problems()
	for _, p := range first {
		r.a.say(fmt.Sprintf("mock: %s: frame %d: %s", name, p.Frame, p.Text))
	}
	if more > 0 {
		r.a.say(fmt.Sprintf("mock: %s: %d more problems of this kind", name, more))
	}
	if r.opt.verify {
		r.wrong += len(first) + more
	}
}

// end ends the report on a run that ended with err. If err is nil, it returns whether
// the sessions matched the recording.
func (r *mockReport) end(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if refused := replay.NoteRefused; r.counts[refused.String()] > 0 && r.coverage.Sent() == 0 {
		r.take(replay.Note{Kind: refused, Text: "all requests were refused: the recording was not played"}, 0, true)
	}
	missing := r.coverage.Recorded() - r.coverage.Sent()
	unrequested := r.coverage.Unrequested(maxMockUnrequested)
	for i, n := range unrequested {
		count := 1
		if i == len(unrequested)-1 {
			count = missing - i
		}
		r.take(n, count, r.fails(n.Kind))
	}
	if r.opt.verify && missing > 0 {
		r.a.say(fmt.Sprintf("mock: the client sent %d of the %d recorded requests", r.coverage.Sent(), r.coverage.Recorded()))
	}
	for i, f := range r.faults {
		if !r.applied[i] && f.Chance == 0 {
			r.a.say(fmt.Sprintf("mock: warning: --fault '%v' matched nothing", f))
		}
	}
	for i, p := range r.paths {
		if !r.ignored[i] {
			r.a.say(fmt.Sprintf("mock: warning: --ignore %v matched nothing", p))
		}
	}
	if r.to != nil && r.err == nil {
		r.err = r.to.summary(jsonMockSummary{
			V: text.Version, Type: "summary", Passed: r.wrong == 0,
			Recorded: r.coverage.Recorded(), Sent: r.coverage.Sent(), Notes: r.counts,
		})
	}
	if r.file != nil {
		r.err = errors.Join(r.err, r.file.Close())
	}
	switch {
	case r.err != nil:
		return errors.Join(err, fmt.Errorf("--report: %w", r.err))
	case r.wrong > 0 && (err == nil || errors.Is(err, context.Canceled)):
		return exitCode(exitNo)
	}
	return err
}

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
	Sent     int            `json:"sent_requests"`
	Notes    map[string]int `json:"notes"`
}

func newJSONMockNote(n replay.Note, failure bool) jsonMockNote {
	j := jsonMockNote{
		V: text.Version, Type: "note", Kind: n.Kind.String(), Failure: failure, Message: n.Live, Method: n.Method,
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
	_, err := fmt.Fprintf(r.w, "%s  %-9s  %s\n", mark, n.Kind, safe.String(n.Text))
	return err
}

func (r textMockReport) summary(s jsonMockSummary) error {
	verdict := "FAILED"
	if s.Passed {
		verdict = "passed"
	}
	_, err := fmt.Fprintf(r.w, "%s: %s, the client sent %d of %d recorded requests\n", verdict, safe.String(r.name), s.Sent, s.Recorded)
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
	return errors.Join(junit.Write(b, "mcptap mock", []junit.Suite{r.suite(s)}), b.Flush())
}

// suite returns a suite with a case for the session as a whole, one for each note that is a
// failure, and one, skipped, for each request that was not sent and need not be. Other notes
// are the output of the first case.
func (r *junitMockReport) suite(s jsonMockSummary) junit.Suite {
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
