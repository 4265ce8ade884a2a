package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/tap/session"
	"github.com/spf13/cobra"
)

const statsLong = `Sums up the calls of recordings: for each method, tool and prompt how many there
were, how they ended, how long they took, and how much crossed.

  CALL        → is what the client asked, ← what the server asked, and ↳ what was
              asked within another call, whose time holds this one
  ERRORS      were answered with a JSON-RPC error, FAILED with isError (where
              there is no room, ERRORS has both), CANCELLED were cancelled, and
              OPEN have no answer
  P50 … MAX   are the latencies of those that were answered; percentiles are less
              than 1 % off, the rest is exact
  SHARE       is the part of the time of all calls but those marked ↳
  SPREAD      is how the latencies are distributed over the lines of LATENCY below

A call ends with the answer that ends it: one that became a task, or was asked
again with more input, took until then. A subscription took until it was
acknowledged. One that HTTP refused with another status than 401 is among ERRORS;
one with 401 does not count, as the client asks again when it has a token. A
request of 2026-07-28 whose client hung up was CANCELLED by that. With a
directory, all recordings in it are summed up. Of one that is live, all that is
there so far; of REC#2, its second session.`

type statsOptions struct {
	json    bool
	noPager bool
	sort    string
}

// slowest is how many of the slowest calls are listed.
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
		Short:   "Sum up calls: how many, how long, what failed",
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
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(statsOrders, cobra.ShellCompDirectiveNoFileComp))
}

// statsOrders are the values of --sort.
var statsOrders = []string{"time", "calls", "errors", "p99", "max", "bytes"}

func (o *statsOptions) check() error {
	if !slices.Contains(statsOrders, o.sort) {
		return withHint(fmt.Errorf("--sort: %s is none of %s", quote(o.sort), strings.Join(statsOrders, ", ")), "leave it out for time")
	}
	return nil
}

func (o *statsOptions) run(ctx context.Context, a *app, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	m, err := o.measure(ctx, a, args)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(a.stdout)
	if o.json {
		return errors.Join(writeStatsJSON(w, m), w.Flush())
	}
	l := lines{w: w}
	t := statsText{l: &l, p: a.palette(), width: a.width()}
	t.print(m)
	return errors.Join(l.err, w.Flush())
}

// order sorts groups: what was asked within other calls comes last. They come
// in the order of time.
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

// faults is how many calls did not end as they should.
func faults(g *session.StatsGroup) uint64 {
	return g.Statuses.Errors() + g.Statuses.Cancelled() + g.Statuses.Unanswered()
}
