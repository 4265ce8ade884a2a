package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/check"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/stats"
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
subscription lasts until it is acknowledged. A directory means all recordings and exports
in it.`

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
	f.StringVar(&o.sort, "sort", o.sort, "order by `what`: "+strings.Join(stats.Orders, ", "))
	f.BoolVar(&o.context, "context", false, "print what the server costs the context of a model: definitions and results of tools")
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(stats.Orders, cobra.ShellCompDirectiveNoFileComp))
}

func (o *statsOptions) check() error {
	if !slices.Contains(stats.Orders, o.sort) {
		return hint.With(fmt.Errorf("--sort: unknown order %s (want %s)", term.Quote(o.sort), strings.Join(stats.Orders, ", ")), "leave it out for time")
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
		return errors.Join(m.WriteJSON(w), w.Flush())
	}
	return errors.Join(m.Print(a.printer(w)), w.Flush())
}

// measure measures the recordings that the arguments name.
func (o *statsOptions) measure(ctx context.Context, a *app, args []string) (*stats.Report, error) {
	m := stats.New(o.slowest())
	found, leftOut, err := stats.Sources(args, a.opener().IsDir, a.findSession, a.say)
	if err != nil {
		return nil, err
	}
	m.LeftOut = leftOut
	for _, one := range found {
		rec, err := store.Open(one.Path)
		if err == nil {
			err = m.Measure(ctx, rec, one.Session, a.now())
		}
		if err != nil {
			return nil, err
		}
	}
	m.Finish(o.sort)
	return m, nil
}

// runContext prints how much of a model's context servers use.
func (o *statsOptions) runContext(ctx context.Context, a *app, args []string) error {
	found, _, err := stats.Sources(args, a.opener().IsDir, a.findSession, a.say)
	if err != nil {
		return err
	}
	var c check.Context
	for _, one := range found {
		rec, err := store.Open(one.Path)
		if err != nil {
			return err
		}
		var tracker session.Tracker
		for f, err := range recording.Read(ctx, rec, 0, false) {
			if err != nil {
				return err
			}
			if e := tracker.Add(&f); one.Session == 0 || e.Session == one.Session {
				c.Add(e)
			}
		}
	}
	w := bufio.NewWriter(a.stdout)
	if o.json {
		err = stats.WriteContextJSON(w, &c)
	} else {
		err = stats.PrintContext(a.printer(w), &c)
	}
	return errors.Join(err, w.Flush())
}
