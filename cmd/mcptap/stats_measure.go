package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/session"
)

// A measured is what `stats` prints.
type measured struct {
	*session.Stats
	groups []*session.StatsGroup
	// top and nested are the sums of the groups.
	top, nested session.StatsGroup
	// recordings is how many there are, duration how long they ran together,
	// live how many are live, leftOut how many of a directory could not be read.
	recordings, live, leftOut int
	duration                  time.Duration
}

// statuses are those of all calls, within others or not.
func (m *measured) statuses() session.StatusCounts {
	all := m.top.Statuses
	for i, n := range m.nested.Statuses {
		all[i] += n
	}
	return all
}

// all are the latencies of all calls, within others or not.
func (m *measured) all() *session.Latencies {
	var all session.Latencies
	all.Merge(&m.top.Latency)
	all.Merge(&m.nested.Latency)
	return &all
}

func (o *statsOptions) measure(ctx context.Context, a *app, args []string) (*measured, error) {
	m := &measured{Stats: session.NewStats("", o.slowest())}
	found, err := m.find(a, args)
	if err != nil {
		return nil, err
	}
	for _, one := range found {
		rec, err := store.Open(one.path)
		if err != nil {
			return nil, err
		}
		stats, info, err := o.read(ctx, rec, one.session, a.now())
		if err != nil {
			return nil, err
		}
		m.recordings++
		m.duration += info.Duration
		if info.Status == store.Live {
			m.live++
		}
		m.Merge(stats)
	}
	m.groups = m.Groups()
	o.order(m.groups)
	m.top, m.nested = m.Total(false), m.Total(true)
	return m, nil
}

// A statsSource is a recording, or with session one of its sessions.
type statsSource struct {
	path    string
	session int
}

// find returns what the arguments mean, each once.
func (m *measured) find(a *app, args []string) ([]statsSource, error) {
	var found []statsSource
	for _, arg := range args {
		path, session, err := a.findSession(arg)
		if err != nil || isDir(path) {
			if !isDir(arg) {
				return nil, err
			}
			inside, err := m.inside(a, arg)
			if err != nil {
				return nil, err
			}
			for _, path := range inside {
				found = append(found, statsSource{path: path})
			}
			continue
		}
		found = append(found, statsSource{path, session})
	}
	seen := map[statsSource]bool{}
	return slices.DeleteFunc(found, func(one statsSource) bool {
		name, err := filepath.Abs(one.path)
		key := statsSource{name, one.session}
		again := err == nil && seen[key]
		seen[key] = true
		return again
	}), nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// inside returns the recordings in a directory, the oldest first. What cannot
// be read is left out, and said.
func (m *measured) inside(a *app, dir string) ([]string, error) {
	infos, err := store.List(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, info := range slices.Backward(infos) {
		switch {
		case info.Status != store.Damaged:
			paths = append(paths, info.Path)
		case !errors.Is(info.Err, store.ErrNotRecording):
			m.leftOut++
			a.say(fmt.Sprintf("left out: %v", info.Err))
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("there are no recordings in %s", dir)
	}
	return paths, nil
}

// read sums up one recording, as far as it is there now.
func (o *statsOptions) read(ctx context.Context, rec *store.Recording, number int, now time.Time) (*session.Stats, store.Info, error) {
	info, err := rec.Info()
	if err != nil {
		return nil, info, err
	}
	name := info.Header.ID
	if name == "" {
		name = filepath.Base(rec.Path())
	}
	stats := session.NewStats(name, o.slowest())
	meter := session.NewMeter(stats, number)
	if err := meterFrames(ctx, rec, meter, func() (time.Duration, error) {
		info, err = rec.Info()
		asOf(&info, now)
		return info.Duration, err
	}); err != nil {
		return nil, info, err
	}
	if n := max(meter.Sessions(), 1); number > n {
		return nil, info, noSession(rec, n, number)
	}
	return stats, info, nil
}

// meterFrames gives the frames of a recording to a meter, and at the end how long it
// ran.
func meterFrames(ctx context.Context, rec *store.Recording, m *session.Meter, end func() (time.Duration, error)) error {
	for f, err := range rec.Frames(0) {
		if err == nil && f.Seq%1024 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		m.Add(&f)
	}
	at, err := end()
	if err != nil {
		return err
	}
	m.Finish(at)
	return nil
}
