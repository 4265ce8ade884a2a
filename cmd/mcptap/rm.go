package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/view"
)

type rmOptions struct{ yes bool }

func newRm(a *app) *cobra.Command {
	var o rmOptions
	cmd := &cobra.Command{
		Use:     "rm REC… [flags]",
		Short:   "Remove recordings",
		Long:    "Deletes recordings permanently, after asking. Without a terminal, --yes is\nrequired. A live recording is never removed.",
		Example: "  mcptap rm 3f2a 91bc\n  mcptap rm @last --yes",
		Args:    takes(1, -1, "a recording"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			offers, directive := a.completeRecording(cmd, nil, prefix)
			return slices.DeleteFunc(offers, func(offer string) bool {
				word, _, _ := strings.Cut(offer, "\t")
				return slices.Contains(args, word)
			}), directive
		},
		RunE:                  func(_ *cobra.Command, args []string) error { return o.run(a, args) },
		DisableFlagsInUseLine: true,
	}
	o.addFlags(cmd)
	return cmd
}

func (o *rmOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
}

func (o *rmOptions) run(a *app, args []string) error {
	var infos []store.Info
	for _, arg := range args {
		path, err := a.findFile(arg)
		if err != nil {
			return err // nothing has been removed
		}
		if label, same := a.sameLabel(arg, path); len(same) > 1 {
			var ids []string
			for _, i := range same {
				ids = append(ids, safe.String(i.Header.ID))
			}
			return hint.With(fmt.Errorf("remove %s: %d recordings have this label: %s", term.Quote(label), len(same), strings.Join(ids, ", ")),
				"name one by its id; `mcptap ls` shows them")
		}
		if slices.ContainsFunc(infos, func(i store.Info) bool { return i.Path == path }) {
			continue
		}
		info := store.Stat(path)
		if info.Status == store.Live {
			return fmt.Errorf("remove %s: %w", path, store.ErrLive)
		}
		infos = append(infos, info)
	}
	if !o.yes {
		if err := a.confirm(infos); err != nil {
			return err
		}
	}
	var errs []error
	for _, info := range infos {
		err := store.Remove(info.Path)
		if err == nil {
			a.say("removed " + cmp.Or(view.JoinWords(" ", info.Header.ID, info.Header.Label), info.Path))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// confirm shows what would be removed and asks.
func (a *app) confirm(infos []store.Info) error {
	if !term.IsTerminal(a.stdin) || !term.IsTerminal(a.stderr) {
		return errors.New("not a terminal: pass --yes to confirm")
	}
	for _, i := range infos {
		h := i.Header
		fmt.Fprintf(a.stderr, "%s  %s  %s, %s, %s\n", safe.String(h.ID), term.Start(h.Start.In(a.zone), a.now()),
			safe.String(h.Label), term.Plural(i.Frames, "frame", "frames"), view.Size(i.Size))
	}
	if a.ask("Permanently remove " + term.Plural(len(infos), "recording", "recordings") + "?") {
		return nil
	}
	a.say("nothing was removed")
	return exitCode(exitNegative)
}
