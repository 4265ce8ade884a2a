package web

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// A meter sums up the calls of a recording as `mcptap stats` does: each session
// by itself, so that what one client numbers does not mix with what another does.
type meter struct {
	*tap.SessionMeter
	stats *tap.Stats
	raw   Reader
	last  time.Duration // when the last frame crossed
}

func newMeter(r Reader, session int) *meter {
	stats := tap.NewStats("", maxSlowest)
	return &meter{SessionMeter: tap.NewSessionMeter(stats, session), stats: stats, raw: r}
}

// add takes the next frame.
func (m *meter) add(f *tap.Frame) error {
	m.last = f.At
	switch {
	case f.Whole():
		m.Add(f)
	case f.Lane == tap.ToServer || f.Lane == tap.ToClient:
		message, err := peek(m.raw, f)
		if err != nil {
			return err
		}
		m.AddMessage(f, &message)
	}
	return nil
}

var errNoSession = errors.New("there is no session")

// measure sums up what there is of a recording now: of one session, or of all for
// 0. What has no answer yet waits until now where the recording is live.
func measure(ctx context.Context, r Reader, session int) (*statsJSON, error) {
	m := newMeter(r, session)
	var frame tap.Frame // one for all, as its address goes far
	for f, err := range r.Frames(0) {
		if err == nil && f.Seq%1024 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		frame = f
		if err := m.add(&frame); err != nil {
			return nil, err
		}
	}
	if n := max(m.Sessions(), 1); session > n {
		return nil, fmt.Errorf("%w %d: the recording has %d", errNoSession, session, n)
	}
	rec, err := r.Recording()
	if err != nil {
		return nil, err
	}
	live, end := rec.Status == statusLive, rec.Duration
	if live {
		end = max(end, time.Since(rec.Header.Start))
	}
	m.Finish(end)
	j := newStatsJSON(m.stats, end)
	j.Live = live
	return j, nil
}
