package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/mcptap/mcptap/replay"
)

// maxMockWords is how many notes are said on stderr. The report has them all.
const maxMockWords = 50

// A mockReport says in what a session was not what was recorded: on stderr what
// went wrong and what was matched inexactly, in a file everything. The file is written note by note, since a host
// may end the mock at any time.
type mockReport struct {
	a      *app
	strict bool
	file   *os.File
	err    error // of the first write that failed
	counts map[string]int
	said   int
	wrong  int
}

func newMockReport(a *app, file string, strict bool) (*mockReport, error) {
	r := &mockReport{a: a, strict: strict, counts: map[string]int{}}
	if file != "" {
		f, err := os.Create(file)
		if err != nil {
			return nil, fmt.Errorf("--report: %w", err)
		}
		r.file = f
	}
	return r, nil
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
	Asked    int            `json:"asked_requests"`
	Notes    map[string]int `json:"notes"`
}

// note takes a note.
func (r *mockReport) note(n replay.Note) {
	failure := n.Kind.Fails() || r.strict && n.Kind.Deviates()
	r.counts[n.Kind.String()]++
	if failure {
		r.wrong++
	}
	if failure || n.Kind == replay.NoteRelaxed { // nothing inexact in silence
		if r.said++; r.said <= maxMockWords {
			r.a.say("mock: " + n.Text)
		}
		if r.said == maxMockWords {
			r.a.say("mock: the rest is not said here")
		}
	}
	j := jsonMockNote{
		V: jsonVersion, Type: "note", Kind: n.Kind.String(), Failure: failure, Message: n.Live, Method: n.Method,
		Subject: n.Subject, Frame: n.Frame.Seq, UsedBy: n.UsedBy, More: n.More, Text: n.Text,
	}
	for _, d := range n.Differences {
		j.Differences = append(j.Differences, jsonDifference(d))
	}
	r.write(j)
}

func (r *mockReport) write(v any) {
	if r.file == nil || r.err != nil {
		return
	}
	line, err := json.Marshal(v)
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	r.err = err
}

// end ends the report, and says whether the client got on with the recording.
func (r *mockReport) end(s *replay.Session) error {
	for _, n := range s.Unasked(maxMockUnasked) {
		r.note(n)
	}
	r.write(jsonMockSummary{
		V: jsonVersion, Type: "summary", Passed: r.wrong == 0,
		Recorded: s.Recorded(), Asked: s.Requests(), Notes: r.counts,
	})
	err := r.err
	if r.file != nil {
		err = errors.Join(err, r.file.Close())
	}
	if err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	if r.wrong > 0 {
		return exitCode(exitNo)
	}
	return nil
}

// maxMockUnasked is how many of the requests that were not asked for are named.
const maxMockUnasked = 100
