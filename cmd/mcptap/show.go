package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

const showLong = `Lists the frames of a recording, a line each:

  number, time since the start, where it went (→ to the server, ← to the client,
  ! the server's stderr, · about the run), what it is, how long after its request
  a response came, its size, its method and what it is about, and which request
  it answers (#7).

Requests that got no answer are named at the end. With a number, one frame is
shown in full: its JSON laid out, nothing else about it changed.

What was recorded is never sent to the terminal as it is: characters that could
move the cursor, change their neighbours' order or hide are spelled out. --raw
writes the exact bytes; so does --raw --lane to_client, for all of a lane.`

type showOptions struct {
	raw    bool
	json   bool
	follow bool
	lane   string
}

func newShow(a *app) *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:               "show REC [NUMBER] [flags]",
		Short:             "Show the frames of a recording, or one of them",
		Long:              showLong,
		Example:           "  mcptap show @last\n  mcptap show @last 17\n  mcptap show @last 17 --raw\n  mcptap show @live --follow",
		Args:              takes(1, 2, "a recording"),
		ValidArgsFunction: a.completeRecording,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), a, args)
		},
		DisableFlagsInUseLine: true,
	}
	o.addFlags(cmd)
	return cmd
}

func (o *showOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.raw, "raw", false, "write the exact bytes, of one frame or of one --lane")
	addJSON(cmd, &o.json)
	f.BoolVarP(&o.follow, "follow", "f", false, "wait for more while the recording is live")
	f.StringVar(&o.lane, "lane", "", "only this `lane`: to_server, to_client, stderr or life")
	_ = cmd.RegisterFlagCompletionFunc("lane", cobra.FixedCompletions([]string{"to_server", "to_client", "stderr", "life"}, cobra.ShellCompDirectiveNoFileComp))
}

func (o *showOptions) run(ctx context.Context, a *app, args []string) error {
	number := uint64(0)
	if len(args) == 2 {
		n, err := strconv.ParseUint(args[1], 10, 64)
		if err != nil || n == 0 {
			return withHint(fmt.Errorf("%s is no frame number", quote(args[1])), "the first column of `mcptap show REC` has them")
		}
		number = n
	}
	if err := o.check(number); err != nil {
		return err
	}
	path, err := a.find(args[0])
	if err != nil {
		return err
	}
	rec, err := openRecording(path)
	if err != nil {
		return err
	}
	switch {
	case number > 0 && o.raw:
		f, err := rec.Frame(number)
		if err != nil {
			return err
		}
		return rec.WriteRaw(a.stdout, f)
	case number > 0:
		return showOne(ctx, a, rec, number, o.json)
	case o.raw:
		return o.rawLane(ctx, a, rec)
	}
	return o.list(ctx, a, rec)
}

// check refuses combinations that mean nothing.
func (o *showOptions) check(number uint64) error {
	if o.lane != "" {
		if _, err := tap.ParseLane(o.lane); err != nil {
			return fmt.Errorf("--lane: %w", err)
		}
	}
	switch {
	case o.raw && o.json:
		return withHint(errors.New("--raw and --json exclude each other"), "--json has the bytes too, when a frame's number is given")
	case o.raw && number == 0 && o.lane == "":
		return withHint(errors.New("--raw needs a frame's number, or a --lane"),
			"the bytes of two lanes are no stream; `mcptap export` writes them all")
	case number > 0 && (o.follow || o.lane != ""):
		return errors.New("--follow and --lane are for the list, not for one frame")
	}
	return nil
}

// frames yields what the list shows, and each frame before it has been counted
// by the pairer, whatever lane it is on.
func (o *showOptions) frames(ctx context.Context, rec *store.Recording) iter.Seq2[tap.Frame, error] {
	if o.follow {
		return rec.Follow(ctx, 0)
	}
	return func(yield func(tap.Frame, error) bool) {
		for f, err := range rec.Frames(0) {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(f, err) || err != nil {
				return
			}
		}
	}
}

func (o *showOptions) rawLane(ctx context.Context, a *app, rec *store.Recording) error {
	for f, err := range o.frames(ctx, rec) {
		if err != nil {
			return err
		}
		if f.Lane.String() == o.lane {
			if err := rec.WriteRaw(a.stdout, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// list prints the rows, and at the end what they add up to.
func (o *showOptions) list(ctx context.Context, a *app, rec *store.Recording) error {
	info, err := rec.Info()
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(a.stdout, 32<<10)
	v := newViewer(rec.WriteRaw)
	var p rowPrinter = newTextRows(w, a.palette(), a.width(), info)
	if o.json {
		p = &jsonRows{w: w}
	}
	for f, err := range o.frames(ctx, rec) {
		if err != nil {
			return errors.Join(w.Flush(), err)
		}
		r, err := v.row(&f)
		if err != nil {
			return errors.Join(w.Flush(), err)
		}
		if o.lane != "" && f.Lane.String() != o.lane {
			continue
		}
		if err := p.row(&r); err != nil {
			return err
		}
		if o.follow {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return errors.Join(w.Flush(), ctx.Err())
	}
	if info, err = rec.Info(); err != nil {
		return errors.Join(w.Flush(), err)
	}
	if err := p.end(v, info); err != nil {
		return err
	}
	return w.Flush()
}
