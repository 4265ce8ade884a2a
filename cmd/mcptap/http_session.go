package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// findSession turns what a person typed for a recording into its file and the
// session that REC#2 names, 0 for all there is.
func (a *app) findSession(arg string) (path string, session int, err error) {
	dir, err := a.dataDir()
	if err != nil {
		return "", 0, err
	}
	return store.Resolve(dir, arg)
}

// A sessionSource is an exportSource of one session of a recording: its frames,
// and before them what began the run. They are numbered anew, as if there had
// been nothing else.
type sessionSource struct {
	*store.Recording
	ctx    context.Context
	number int
	index  session.SessionIndex
	// now is the frame that was handed over last, as it stands in the recording.
	now tap.Frame
}

// newSessionSource finds the frames of a session, which takes a first pass. A
// session that does not exist is an error.
func newSessionSource(ctx context.Context, rec *store.Recording, number int) (*sessionSource, error) {
	s := &sessionSource{Recording: rec, ctx: ctx, number: number}
	sessions := &session.Sessions{}
	for f, err := range rec.Frames(0) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		s.of(sessions, &f)
		s.index.Note(sessions)
	}
	if n := sessions.Count(); number > n {
		return nil, noSession(rec, n, number)
	}
	return s, nil
}

// of returns the session of the next frame, as far as it is known by then.
func (s *sessionSource) of(sessions *session.Sessions, f *tap.Frame) int {
	if f.Lane == tap.Lifecycle || f.Lane == tap.Stderr {
		return sessions.Add(f, nil)
	}
	m := jsonrpc.PeekFrame(f)
	return sessions.Add(f, &m)
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
		sessions := &session.Sessions{}
		seq := uint64(0)
		for f, err := range s.Recording.Frames(0) {
			n := 0
			if err == nil {
				n = s.of(sessions, &f)
			}
			if err == nil && s.index.Of(&f, n) != s.number && !isStart(&f) {
				continue
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

// isStart reports whether a frame says what the recording is of.
func isStart(f *tap.Frame) bool {
	if f.Lane != tap.Lifecycle || f.Exchange != 0 {
		return false
	}
	e, err := tap.ParseEvent(f.Raw)
	return err == nil && e.Name == tap.EventStart
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
var errWhole = errors.New("takes a whole recording, not one session of it")
