package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/prune"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/view"
)

const pruneLong = `Deletes old recordings permanently, by one or more rules:

  --older-than 30d   those that ended more than 30 days ago (units w, d, h, m)
  --max-size 2GB     the oldest, until the rest is not larger than this
  --keep-last 20     all but the 20 newest; with another rule, it protects these 20

Live recordings count but are never removed. The age of a damaged recording is
that of its file; the age of an imported one is that of its contents. --label limits all
rules to recordings with a matching label.

The list is printed, followed by a prompt. Without a terminal, --yes is required.`

type pruneOptions struct {
	rules  prune.Rules
	older  string
	size   string
	label  string
	yes    bool
	dryRun bool
	json   bool
}

func newPrune(a *app) *cobra.Command {
	var o pruneOptions
	cmd := &cobra.Command{
		Use:     "prune RULE… [flags]",
		Short:   "Remove old recordings by age, number or size",
		Long:    pruneLong,
		Example: "  mcptap prune --older-than 30d --dry-run\n  mcptap prune --older-than 2w --keep-last 20\n  mcptap prune --max-size 2GB --label 'github*' --yes",
		Args:    takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(cmd.Flags().Changed); err != nil {
				return err
			}
			return o.run(a)
		},
		DisableFlagsInUseLine: true,
	}
	o.addFlags(cmd)
	return cmd
}

func (o *pruneOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.older, "older-than", "", "remove recordings that ended longer than this `age` ago, such as 30d")
	f.IntVar(&o.rules.Keep, "keep-last", 0, "keep this `number` of the newest recordings")
	f.StringVar(&o.size, "max-size", "", "remove the oldest until the rest is at most this `size`, such as 2GB")
	f.StringVar(&o.label, "label", "", "only recordings with a label that matches this `pattern`, such as 'github*'")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.BoolVarP(&o.dryRun, "dry-run", "n", false, "only list what would be removed")
	addJSON(cmd, &o.json)
}

// check reads the rules. It refuses whatever is not certain, because a variable in a
// script may be empty by mistake.
func (o *pruneOptions) check(given func(flag string) bool) error {
	r := &o.rules
	r.HasOlder, r.HasKeep, r.HasSize = given("older-than"), given("keep-last"), given("max-size")
	var err error
	if r.HasOlder {
		if r.Older, err = prune.ParseAge(o.older); err != nil {
			return fmt.Errorf("--older-than: %w", err)
		}
	}
	if r.HasSize {
		if r.Size, err = term.ParseSize(o.size); err != nil {
			return fmt.Errorf("--max-size: %w", err)
		}
	}
	if r.Keep < 0 {
		return fmt.Errorf("--keep-last: invalid number %d", r.Keep)
	}
	if _, err := path.Match(o.label, ""); err != nil || given("label") && o.label == "" {
		return hint.With(fmt.Errorf("--label: invalid pattern %s", term.Quote(o.label)), "* matches any characters, ? one, [a-z] one of these")
	}
	if !r.HasOlder && !r.HasSize && !r.HasKeep {
		return hint.With(errors.New("mcptap prune needs at least one rule"), "--older-than 30d, --keep-last 20 or --max-size 2GB")
	}
	return nil
}

func (o *pruneOptions) run(a *app) error {
	if !o.yes && !o.dryRun && (!term.IsTerminal(a.stdin) || !term.IsTerminal(a.stderr)) {
		return hint.With(errors.New("not a terminal: pass --yes to confirm"), "--dry-run lists what would be removed")
	}
	dir, err := a.dataDir()
	if err != nil {
		return err
	}
	infos, err := store.List(dir)
	if err != nil {
		return err
	}
	all := prune.Candidates(infos, o.label)
	chosen := o.rules.Choose(all, a.now())
	if err := o.list(a, chosen); err != nil {
		return err
	}
	if over := o.rules.Over(all, chosen); over > 0 {
		a.say(view.Size(over) + " more than --max-size remain, because live recordings and those of --keep-last are not removed")
	}
	what := term.Plural(len(chosen), "recording", "recordings") + ", " + view.Size(prune.Size(chosen))
	switch {
	case len(chosen) == 0:
		a.say("nothing to remove in " + dir)
		return nil
	case o.dryRun:
		a.say("would remove " + what)
		return nil
	case !o.yes && !a.ask("Permanently remove "+what+"?"):
		a.say("nothing was removed")
		return exitCode(exitNegative)
	}
	if err := removePruned(chosen); err != nil {
		return err
	}
	a.say("removed " + what)
	return nil
}

// removePruned deletes the recordings. It ignores those that are already deleted.
func removePruned(chosen []prune.Candidate) error {
	var errs []error
	for _, p := range chosen {
		if err := store.Remove(p.Path); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// list prints what would be removed.
func (o *pruneOptions) list(a *app, chosen []prune.Candidate) error {
	w := bufio.NewWriter(a.stdout)
	if o.json {
		for i := range chosen {
			if err := prune.WriteJSON(w, &chosen[i], o.dryRun); err != nil {
				return err
			}
		}
		return w.Flush()
	}
	if len(chosen) > 0 {
		l := a.printer(w)
		prune.Table(l, a.now().In(a.zone), chosen)
		if l.Err != nil {
			return l.Err
		}
	}
	return w.Flush()
}
