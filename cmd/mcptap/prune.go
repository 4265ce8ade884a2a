package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/store"
)

const pruneLong = `Removes old recordings for good, by one rule or several:

  --older-than 30d   those that ended longer ago than that (units w, d, h, m)
  --max-size 2GB     those that began first, until the rest needs no more than that
  --keep-last 20     all but the 20 that began last; together with another rule, it
                     keeps those 20 from it

A recording goes if --older-than or --max-size says so and --keep-last does not
protect it. What is live counts, but is never removed; what is no recording neither
counts nor goes. A damaged recording goes by the time of its file. An imported one is
as old as what it holds. With --label, only the recordings with such a label count.

The list of what goes is printed first. Then it asks; where nobody can be asked, it
needs --yes. Nothing is ever removed but by this command and rm.`

type pruneOptions struct {
	rules  pruneRules
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
	f.StringVar(&o.older, "older-than", "", "remove what ended longer ago than this `age`, such as 30d")
	f.IntVar(&o.rules.keep, "keep-last", 0, "keep the `number` of recordings that began last")
	f.StringVar(&o.size, "max-size", "", "remove the oldest until the rest has this `size`, such as 2GB")
	f.StringVar(&o.label, "label", "", "only recordings whose label matches this `pattern`, such as 'github*'")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.BoolVarP(&o.dryRun, "dry-run", "n", false, "only list what would be removed")
	addJSON(cmd, &o.json)
}

// check reads the rules. Whatever is not certain removes nothing: in a script
// an argument may be empty that should not be.
func (o *pruneOptions) check(given func(flag string) bool) error {
	r := &o.rules
	r.hasOlder, r.hasKeep, r.hasSize = given("older-than"), given("keep-last"), given("max-size")
	var err error
	if r.hasOlder {
		if r.older, err = parseAge(o.older); err != nil {
			return fmt.Errorf("--older-than: %w", err)
		}
	}
	if r.hasSize {
		if r.size, err = parseSize(o.size); err != nil {
			return fmt.Errorf("--max-size: %w", err)
		}
	}
	if r.keep < 0 {
		return fmt.Errorf("--keep-last: %d is no number of recordings", r.keep)
	}
	if _, err := path.Match(o.label, ""); err != nil || given("label") && o.label == "" {
		return withHint(fmt.Errorf("--label: %s is no pattern", quote(o.label)), "* stands for any characters, ? for one, [a-z] for one of these")
	}
	if !r.hasOlder && !r.hasSize && !r.hasKeep {
		return withHint(errors.New("mcptap prune needs a rule"), "--older-than 30d, --keep-last 20 or --max-size 2GB")
	}
	return nil
}

func (o *pruneOptions) run(a *app) error {
	if !o.yes && !o.dryRun && (!isTerminal(a.stdin) || !isTerminal(a.stderr)) {
		return withHint(errors.New("removing recordings needs a yes, and there is nobody to ask"), "--yes, or --dry-run to see what would go")
	}
	dir, err := a.dataDir()
	if err != nil {
		return err
	}
	infos, err := store.List(dir)
	if err != nil {
		return err
	}
	all := prunable(infos, o.label)
	chosen := o.rules.choose(all, a.now())
	if err := o.list(a, chosen); err != nil {
		return err
	}
	if over := o.rules.over(all, chosen); over > 0 {
		a.say(formatSize(over) + " more than --max-size stays: what is live, or kept by --keep-last, is not removed")
	}
	switch {
	case len(chosen) == 0:
		a.say("nothing to remove in " + dir)
		return nil
	case o.dryRun:
		return nil
	case !o.yes && !confirmPrune(a, chosen):
		a.say("nothing was removed")
		return exitCode(exitNo)
	}
	return removePruned(chosen)
}

// confirmPrune asks whether what was listed shall go.
func confirmPrune(a *app, chosen []pruned) bool {
	fmt.Fprintf(a.stderr, "Remove %s, %s, for good? [y/N] ", plural(len(chosen), "recording", "recordings"), formatSize(sizeOf(chosen)))
	answer, _ := bufio.NewReader(a.stdin).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// removePruned deletes the recordings. One that is gone already is no failure.
func removePruned(chosen []pruned) error {
	var errs []error
	for _, p := range chosen {
		if err := store.Remove(p.Path); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// list prints what would go.
func (o *pruneOptions) list(a *app, chosen []pruned) error {
	w := bufio.NewWriter(a.stdout)
	if o.json {
		for i := range chosen {
			if err := writeJSON(w, newJSONPruned(&chosen[i], o.dryRun)); err != nil {
				return err
			}
		}
		return w.Flush()
	}
	if len(chosen) > 0 {
		l := lines{w: w}
		pruneTable(&l, a.palette(), a.width(), a.now().In(a.zone), chosen)
		if l.err != nil {
			return l.err
		}
	}
	return w.Flush()
}

func pruneTable(l *lines, p palette, width int, now time.Time, chosen []pruned) {
	cols := []column{
		{title: "ID"}, {title: "STARTED"}, {title: "LABEL", least: 12},
		{title: "SIZE", right: true}, {title: "STATE", rank: 1}, {title: "WHY"},
	}
	var rows [][]cell
	for i := range chosen {
		c := &chosen[i]
		id := escape(c.Header.ID)
		if id == "" {
			id = "-"
		}
		rows = append(rows, []cell{
			{id, bold}, {formatStart(c.began.In(now.Location()), now), plain}, {escape(c.Header.Label), plain},
			{formatSize(c.Size), dim}, {state(&c.Info), stateStyle(&c.Info)}, {c.why(now), plain},
		})
	}
	printTable(l, p, width, cols, rows)
}

// jsonPruned is a recording in `prune --json`. The names are stable.
type jsonPruned struct {
	V          int       `json:"v"`
	Type       string    `json:"type"` // "prune"
	ID         string    `json:"id"`
	Path       string    `json:"path"`
	Label      string    `json:"label"`
	Start      time.Time `json:"start"` // of a damaged one the time of its file
	End        time.Time `json:"end"`   // likewise
	Status     string    `json:"status"`
	SizeOnDisk int64     `json:"size_on_disk"`
	Reason     string    `json:"reason"` // older_than, keep_last or max_size
	DryRun     bool      `json:"dry_run,omitempty"`
}

func newJSONPruned(p *pruned, dryRun bool) jsonPruned {
	return jsonPruned{
		V: jsonVersion, Type: "prune", ID: p.Header.ID, Path: p.Path, Label: p.Header.Label, Start: p.began.UTC(), End: p.ended.UTC(),
		Status: p.Status.String(), SizeOnDisk: p.Size, Reason: p.reason.String(), DryRun: dryRun,
	}
}
