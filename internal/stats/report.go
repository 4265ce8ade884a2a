// Package stats measures the calls of recordings and prints what they add up to: counts, latencies
// and failures, and what the tools of a server cost the context of a model.
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
)

// A Report is what the calls of recordings add up to.
type Report struct {
	*session.Stats
	groups []*session.StatsGroup
	// Top and nested are the totals of the groups.
	Top, nested session.StatsGroup
	// recordings is their number, duration the time they ran together, live the number of
	// live ones, LeftOut that of unreadable ones.
	recordings, live, LeftOut int
	duration                  time.Duration
	slowest                   int
}

// New returns the sum of no recordings. It lists at most slowest calls.
func New(slowest int) *Report {
	return &Report{Stats: session.NewStats("", slowest), slowest: slowest}
}

// statuses returns those of all calls, nested or not.
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

// Measure measures a recording as far as it has been written, or one of its sessions.
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
	meter.Finish(info.Duration)
	if n := max(meter.Sessions(), 1); number > n {
		return recording.NoSession(rec.Path(), n, number)
	}
	m.recordings++
	m.duration += info.Duration
	if info.Status == store.Live {
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

// sortGroups sorts groups, nested calls last, otherwise by time.
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

// faults returns how many calls did not succeed.
func faults(g *session.StatsGroup) uint64 {
	return g.Statuses.Errors() + g.Statuses.Cancelled() + g.Statuses.Unanswered()
}
