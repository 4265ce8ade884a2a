package main

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/listing"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/store"
)

const lsLong = `Lists the recordings in the data directory, newest first.

STATE is empty if the run ended normally. Otherwise it is live (still recording),
exit 1 or the like (how the server failed), not started, cut off (mcptap was killed, or
the disk was full at the end), gaps (some frames are missing), damaged (also if the file
is truncated; see mcptap export --salvage) or no permission (to read the file). (probe)
marks a run that only asked the server for its revision. (3 sessions) marks a recording
with several sessions; SERVER, CLIENT and REVISION are those of the first. A REVISION
with a ? was requested by the client and not accepted.

A recording is listed if it matches all WORDs. A word is is:live, is:cut, is:replay,
part of the label, server, client or revision, or the beginning of the id. The exit
code is 1 if no recording matches.`

type lsOptions struct {
	json, noPager bool
	limit         int
}

func newLs(a *app) *cobra.Command {
	var o lsOptions
	cmd := &cobra.Command{
		Use:     "ls [WORD…] [flags]",
		Aliases: []string{"list"},
		Short:   "List the recordings",
		Long:    lsLong,
		Example: "  mcptap ls\n  mcptap ls weather is:live\n  mcptap ls --limit 10",
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, words []string) error {
			return a.paged(o.noPager || o.json, func() error { return o.run(a, words) })
		},
		ValidArgsFunction:     cobra.FixedCompletions([]string{"is:live", "is:cut", "is:replay"}, cobra.ShellCompDirectiveNoFileComp),
		DisableFlagsInUseLine: true,
	}
	o.addFlags(cmd)
	return cmd
}

func (o *lsOptions) addFlags(cmd *cobra.Command) {
	addJSON(cmd, &o.json)
	addNoPager(cmd, &o.noPager)
	cmd.Flags().IntVar(&o.limit, "limit", 0, "list only the `N` newest; 0 is all")
}

// lsWord reports whether a recording matches a word of `mcptap ls`.
func lsWord(word string) (func(*store.Info) bool, error) {
	what, isState := strings.CutPrefix(word, "is:")
	if !isState {
		word = strings.ToLower(word)
		return func(i *store.Info) bool {
			f := &i.Tally.Facts
			text := strings.Join([]string{i.Header.Label, f.Server.Name + " " + f.Server.Version, f.Client.Name + " " + f.Client.Version, string(f.Revision), f.Dialect}, "\n")
			return strings.Contains(strings.ToLower(text), word) || strings.HasPrefix(i.Header.ID, word)
		}, nil
	}
	switch what {
	case "live":
		return func(i *store.Info) bool { return i.Status == store.Live }, nil
	case "cut":
		return func(i *store.Info) bool { return i.Status == store.Cut }, nil
	case "replay":
		return func(i *store.Info) bool { return i.Header.ReplayOf != "" }, nil
	}
	return nil, hint.With(fmt.Errorf("unknown word %s", term.Quote(word)), "is:live, is:cut or is:replay")
}

func (o *lsOptions) run(a *app, words []string) error {
	if o.limit < 0 {
		return fmt.Errorf("--limit: %d is less than 0", o.limit)
	}
	dir, err := a.dataDir()
	if err != nil {
		return err
	}
	infos, err := store.List(dir)
	if err != nil {
		return err
	}
	if len(infos) == 0 && !o.json {
		a.say("no recordings in " + dir + " yet")
		a.say("hint: put `mcptap stdio --` in front of a server's command to record it, or try `mcptap demo`")
		return nil
	}
	for _, word := range words {
		matches, err := lsWord(word)
		if err != nil {
			return err
		}
		infos = slices.DeleteFunc(infos, func(i store.Info) bool { return !matches(&i) })
	}
	if len(words) > 0 && len(infos) == 0 {
		a.say("no recording matches " + strings.Join(words, " "))
		return exitCode(exitNegative)
	}
	if o.limit > 0 {
		infos = infos[:min(o.limit, len(infos))]
	}
	for i := range infos {
		infos[i].ExtendLive(a.now())
	}
	w := bufio.NewWriter(a.stdout)
	if o.json {
		for i := range infos {
			if err := listing.WriteRecordingJSON(w, &infos[i]); err != nil {
				return err
			}
		}
		return w.Flush()
	}
	return errors.Join(listing.Recordings(a.printer(w), a.now().In(a.zone), infos), w.Flush())
}
