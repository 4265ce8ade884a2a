package web

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/session"
)

var errNoSession = errors.New("there is no session")

// measure sums up what there is of a recording now: of the session with that number, or of all for
// 0. What has no answer yet waits until now where the recording is live.
func measure(ctx context.Context, r FrameReader, number int) (*statsJSON, error) {
	stats := session.NewStats("", maxSlowest)
	m := session.NewMeter(stats, number)
	for f, err := range r.Frames(0) {
		if err == nil && f.Seq%1024 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		m.Add(&f)
	}
	if n := max(m.Sessions(), 1); number > n {
		return nil, fmt.Errorf("%w %d: the recording has %d", errNoSession, number, n)
	}
	info, err := r.Info()
	if err != nil {
		return nil, err
	}
	live, end := info.Status == store.Live, info.Duration
	if live {
		end = max(end, time.Since(info.Header.Start))
	}
	m.Finish(end)
	j := newStatsJSON(stats, end)
	j.Live = live
	return j, nil
}
