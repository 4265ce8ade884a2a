package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// findSession turns what a person typed for a recording into its file and the
// session that REC#2 names, 0 for all there is. Of a text or a bundle a recording is made
// in a directory that is removed when the command ends.
func (a *app) findSession(arg string) (path string, session int, err error) {
	name := arg
	if before, after, ok := strings.Cut(arg, "#"); ok && !isFile(arg) {
		if n, err := strconv.Atoi(after); err == nil && n > 0 {
			name, session = before, n
		}
	}
	switch zip := isBundle(name); {
	case zip || isTextFile(name):
		dir, err := a.tempDir()
		if err != nil {
			return "", 0, err
		}
		if zip {
			path, err = importBundle(a.ctx, a, dir, name, unpackMost)
			if err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
		} else {
			path, err = a.readText(a.ctx, dir, name)
		}
		return path, session, err
	}
	dir, err := a.dataDir()
	if err != nil {
		return "", 0, err
	}
	return store.Resolve(dir, arg)
}

// isFile reports whether there is a file of that name.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

// tempDir makes a directory for what the command makes for itself.
func (a *app) tempDir() (string, error) {
	dir, err := os.MkdirTemp("", "mcptap-")
	a.temp = append(a.temp, dir)
	return dir, err
}

// A sessionSource is an exportSource of one session of a recording: its frames,
// and before them what began the run. They are numbered anew, as if there had
// been nothing else.
type sessionSource struct {
	*store.Recording
	ctx    context.Context
	number int
	survey *session.Survey
	// now is the frame passed on last, as recorded.
	now tap.Frame
}

// newSessionSource finds the frames of a session, which takes a first pass. A
// session that does not exist is an error.
func newSessionSource(ctx context.Context, rec *store.Recording, number int) (*sessionSource, error) {
	s := &sessionSource{Recording: rec, ctx: ctx, number: number, survey: session.NewSurvey(false)}
	for f, err := range rec.Frames(0) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		s.survey.Add(&f)
	}
	s.survey.End()
	if n := s.survey.Sessions(); number > n {
		return nil, noSession(rec, n, number)
	}
	return s, nil
}

// Info implements exportSource. What is missing in the recording may be of this
// session or of another; its numbers mean nothing here.
func (s *sessionSource) Info() (store.Info, error) {
	info, err := s.Recording.Info()
	info.Header.Label += fmt.Sprintf("#%d", s.number)
	info.Gaps = nil
	return info, err
}

// Frames implements exportSource.
func (s *sessionSource) Frames(after uint64) iter.Seq2[tap.Frame, error] {
	return func(yield func(tap.Frame, error) bool) {
		tracker := session.Tracker{Survey: s.survey}
		seq := uint64(0)
		for f, err := range s.Recording.Frames(0) {
			if err == nil {
				e := tracker.Add(&f)
				if e.Session != s.number && !(e.Event.Name == tap.EventStart && f.Exchange == 0) {
					continue
				}
			}
			s.now = f
			if seq++; err == nil && seq <= after {
				continue
			}
			f.Seq = seq
			if !yield(f, err) || err != nil {
				return
			}
		}
	}
}

// WriteRaw implements exportSource for the frame that was handed over last.
func (s *sessionSource) WriteRaw(w io.Writer, f tap.Frame) error {
	return s.Recording.WriteRaw(w, s.now)
}

// noSession is the error for a session that is not there, of n.
func noSession(rec *store.Recording, n, number int) error {
	sessions := "one session"
	if n != 1 {
		sessions = plural(n, "session", "sessions")
	}
	return fmt.Errorf("%s has %s, so there is no #%d", quote(filepath.Base(rec.Path())), sessions, number)
}

// errWhole is for commands that take no part of a recording.
var errWhole = errors.New("takes a whole recording, not a session of one")
