// Package stats measures the calls of recordings and prints statistics: counts, latencies and
// failures, and how much of a model's context the tools of a server use.
package stats

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A Report holds the statistics of the calls of recordings.
type Report struct {
	*session.Stats
	groups []*session.StatsGroup
	// Top and nested are the totals of the groups.
	Top, nested session.StatsGroup
	// recordings is the number of recordings, duration their total duration, live the number of
	// live ones, and LeftOut the number of unreadable ones.
	recordings, live, LeftOut int
	duration                  time.Duration
	slowest                   int
}

// New returns an empty report. It lists at most slowest calls.
func New(slowest int) *Report {
	return &Report{Stats: session.NewStats("", slowest), slowest: slowest}
}

// statuses returns the statuses of all calls, nested or not.
func (m *Report) statuses() session.StatusCounts {
	all := m.Top.Statuses
	for i, n := range m.nested.Statuses {
		all[i] += n
	}
	return all
}

// all returns the latencies of all calls, nested or not.
func (m *Report) all() *session.Latencies {
	var all session.Latencies
	all.Merge(&m.Top.Latency)
	all.Merge(&m.nested.Latency)
	return &all
}

// Measure adds what has been written of a recording, or of one of its sessions.
func (m *Report) Measure(ctx context.Context, rec *store.Recording, number int, now time.Time) error {
	info, err := rec.Info()
	if err != nil {
		return err
	}
	name := info.Header.ID
	if name == "" {
		name = filepath.Base(rec.Path())
	}
	stats := session.NewStats(name, m.slowest)
	meter := session.NewMeter(stats, number)
	if err := recording.Each(ctx, rec, meter.Add); err != nil {
		return err
	}
	if info, err = rec.Info(); err != nil {
		return err
	}
	info.ExtendLive(now)
	stats.Live = info.Status == store.Live
	meter.Finish(info.Duration)
	if n := max(meter.Sessions(), 1); number > n {
		return recording.NoSession(rec.Path(), n, number)
	}
	view.AddArguments(rec.Frame, stats.Slowest())
	view.AddArguments(rec.Frame, stats.Waiting())
	m.recordings++
	m.duration += info.Duration
	if stats.Live {
		m.live++
	}
	m.Merge(stats)
	return nil
}

// Finish computes the groups in an order, and their totals.
func (m *Report) Finish(order string) {
	m.groups = m.Groups()
	sortGroups(m.groups, order)
	m.Top, m.nested = m.Total(false), m.Total(true)
}

// Orders are the values of --sort.
var Orders = []string{"time", "calls", "errors", "p99", "max", "bytes"}

// sortGroups sorts groups, nested calls last, ties by time.
func sortGroups(groups []*session.StatsGroup, order string) {
	by := map[string]func(*session.StatsGroup) uint64{
		"time":   func(*session.StatsGroup) uint64 { return 0 },
		"calls":  func(g *session.StatsGroup) uint64 { return g.Statuses.Calls() },
		"errors": func(g *session.StatsGroup) uint64 { return faults(g) },
		"p99":    func(g *session.StatsGroup) uint64 { return uint64(g.Latency.Quantile(990)) },
		"max":    func(g *session.StatsGroup) uint64 { return uint64(g.Latency.Max()) },
		"bytes":  func(g *session.StatsGroup) uint64 { return uint64(g.BytesToServer + g.BytesToClient) },
	}[order]
	slices.SortStableFunc(groups, func(a, b *session.StatsGroup) int {
		if a.Nested != b.Nested {
			if b.Nested {
				return -1
			}
			return 1
		}
		return cmp.Compare(by(b), by(a))
	})
}

// faults returns the number of calls that did not succeed.
func faults(g *session.StatsGroup) uint64 {
	return g.Statuses.Errors() + g.Statuses.Cancelled() + g.Statuses.Unanswered()
}
