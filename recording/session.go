package recording

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// A sessionSource is one session of a recording: its frames, and before them what began
// the run. They are numbered anew, as if there had been nothing else.
type sessionSource struct {
	rec    *store.Recording
	number int
	survey *session.Survey
	// now is the frame yielded last, as recorded.
	now tap.Frame
}

// Session finds the frames of a session of a recording, which takes a pass over it. A
// session that does not exist is an error.
func Session(ctx context.Context, rec *store.Recording, number int) (Source, error) {
	s := &sessionSource{rec: rec, number: number, survey: session.NewSurvey(false)}
	for f, err := range rec.Frames(0) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		s.survey.Add(&f)
	}
	s.survey.End(0)
	if n := s.survey.Sessions(); number > n {
		return nil, NoSession(rec.Path(), n, number)
	}
	return s, nil
}

// Info implements [Source]. Gaps are left out: which session lacks the frames is
// not known, and the numbers are those of the recording.
func (s *sessionSource) Info() (store.Info, error) {
	info, err := s.rec.Info()
	info.Header.Label += fmt.Sprintf("#%d", s.number)
	info.Gaps = nil
	return info, err
}

// Frames implements [Source].
func (s *sessionSource) Frames(after uint64) iter.Seq2[tap.Frame, error] {
	return func(yield func(tap.Frame, error) bool) {
		tracker := session.Tracker{Survey: s.survey}
		seq := uint64(0)
		for f, err := range s.rec.Frames(0) {
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

// WriteRaw implements [Source].
func (s *sessionSource) WriteRaw(w io.Writer, _ tap.Frame) error { return s.rec.WriteRaw(w, s.now) }
