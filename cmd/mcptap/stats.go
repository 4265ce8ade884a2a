package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/session"
)

const statsLong = `Summarizes the calls of recordings by method, tool and prompt: how many, how they
ended, how long they took, and how many bytes they carried.

  CALL        → sent by the client, ← by the server; ↳ nested in another call, whose
              time includes it
  ERRORS      JSON-RPC errors and HTTP refusals other than 401
  ISERROR     results with isError; below 100 columns they are in ERRORS
  P50 … MAX   latencies of calls with a response; percentiles are within 1 %
  SHARE       share of the total time of all calls that are not nested
  SPREAD      distribution of the latencies over the lines of LATENCY below

A call that became a task, or needed more input, lasts until its final response. A
subscription lasts until it is acknowledged. A directory means all recordings in it.`

type statsOptions struct {
	json    bool
	noPager bool
	sort    string
	context bool
}

// slowest is the number of slowest calls listed.
func (o *statsOptions) slowest() int {
	if o.json {
		return 20
	}
	return 5
}

func newStats(a *app) *cobra.Command {
	o := statsOptions{sort: "time"}
	cmd := &cobra.Command{
		Use:     "stats REC… [flags]",
		Short:   "Summarize calls: counts, latencies, failures",
		Long:    statsLong,
		Example: "  mcptap stats @last\n  mcptap stats 3f2a 91bc --sort p99\n  mcptap stats ./recordings --json",
		Args:    takes(1, -1, "a recording"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			offers, directive := a.completeRecording(cmd, nil, prefix)
			return slices.DeleteFunc(offers, func(offer string) bool {
				word, _, _ := strings.Cut(offer, "\t")
				return slices.Contains(args, word)
			}), directive
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.paged(o.noPager || o.json, func() error { return o.run(cmd.Context(), a, args) })
		},
		DisableFlagsInUseLine: true,
	}
	o.addFlags(cmd)
	return cmd
}

func (o *statsOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	addJSON(cmd, &o.json)
	addNoPager(cmd, &o.noPager)
	f.StringVar(&o.sort, "sort", o.sort, "order by `what`: "+strings.Join(statsOrders, ", "))
	f.BoolVar(&o.context, "context", false, "print what the server costs the context of a model: definitions and results of tools")
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(statsOrders, cobra.ShellCompDirectiveNoFileComp))
}

// statsOrders are the values of --sort.
var statsOrders = []string{"time", "calls", "errors", "p99", "max", "bytes"}

func (o *statsOptions) check() error {
	if !slices.Contains(statsOrders, o.sort) {
		return hint.With(fmt.Errorf("--sort: unknown order %s (want %s)", term.Quote(o.sort), strings.Join(statsOrders, ", ")), "leave it out for time")
	}
	return nil
}

func (o *statsOptions) run(ctx context.Context, a *app, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.context {
		return o.runContext(ctx, a, args)
	}
	m, err := o.measure(ctx, a, args)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(a.stdout)
	if o.json {
		return errors.Join(writeStatsJSON(w, m), w.Flush())
	}
	l := a.printer(w)
	t := statsText{l}
	t.print(m)
	return errors.Join(l.Err, w.Flush())
}

// order sorts groups, nested calls last, otherwise by time.
func (o *statsOptions) order(groups []*session.StatsGroup) {
	by := map[string]func(*session.StatsGroup) uint64{
		"time":   func(*session.StatsGroup) uint64 { return 0 },
		"calls":  func(g *session.StatsGroup) uint64 { return g.Statuses.Calls() },
		"errors": func(g *session.StatsGroup) uint64 { return faults(g) },
		"p99":    func(g *session.StatsGroup) uint64 { return uint64(g.Latency.Quantile(990)) },
		"max":    func(g *session.StatsGroup) uint64 { return uint64(g.Latency.Max()) },
		"bytes":  func(g *session.StatsGroup) uint64 { return uint64(g.BytesToServer + g.BytesToClient) },
	}[o.sort]
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

// A measured holds the results of `stats`.
type measured struct {
	*session.Stats
	groups []*session.StatsGroup
	// top and nested are the totals of the groups.
	top, nested session.StatsGroup
	// recordings is how many there are, duration how long they ran together,
	// live how many are live, leftOut how many of a directory could not be read.
	recordings, live, leftOut int
	duration                  time.Duration
}

// statuses returns those of all calls, nested or not.
func (m *measured) statuses() session.StatusCounts {
	all := m.top.Statuses
	for i, n := range m.nested.Statuses {
		all[i] += n
	}
	return all
}

// all returns the latencies of all calls, nested or not.
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

// A statsSource is a recording or, if session is set, one of its sessions.
type statsSource struct {
	path    string
	session int
}

// find returns the recordings that the arguments name, each once.
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

// inside returns the recordings in a directory, oldest first. It reports and omits
// unreadable ones.
func (m *measured) inside(a *app, dir string) ([]string, error) {
	infos, err := store.List(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, info := range slices.Backward(infos) {
		switch {
		case !info.Status.Unreadable():
			paths = append(paths, info.Path)
		case !errors.Is(info.Err, store.ErrNotRecording):
			m.leftOut++
			a.say(fmt.Sprintf("skipped: %v", info.Err))
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no recordings in %s", dir)
	}
	return paths, nil
}

// read measures one recording, as far as it has been written.
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
		extendLive(&info, now)
		return info.Duration, err
	}); err != nil {
		return nil, info, err
	}
	if n := max(meter.Sessions(), 1); number > n {
		return nil, info, recording.NoSession(rec.Path(), n, number)
	}
	return stats, info, nil
}

// meterFrames passes the frames of a recording to a meter, and then its duration.
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
