package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/text"
	"github.com/mcptap/mcptap/tap/view"
)

const pruneLong = `Deletes old recordings permanently, by one or more rules:

  --older-than 30d   those that ended longer ago (units w, d, h, m)
  --max-size 2GB     the oldest, until the rest is not larger than this
  --keep-last 20     all but the 20 newest; with another rule, it protects these 20

Live recordings count but are never removed. A damaged recording has the age of its
file, an imported one that of its contents. --label limits all rules to recordings
with a matching label.

The list is printed first; then it asks. Without a terminal to ask on, it needs --yes.`

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
	f.StringVar(&o.older, "older-than", "", "remove recordings that ended longer ago than this `age`, such as 30d")
	f.IntVar(&o.rules.keep, "keep-last", 0, "keep this `number` of the newest recordings")
	f.StringVar(&o.size, "max-size", "", "remove the oldest until the rest is at most this `size`, such as 2GB")
	f.StringVar(&o.label, "label", "", "only recordings with a label that matches this `pattern`, such as 'github*'")
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
		if r.size, err = term.ParseSize(o.size); err != nil {
			return fmt.Errorf("--max-size: %w", err)
		}
	}
	if r.keep < 0 {
		return fmt.Errorf("--keep-last: invalid number %d", r.keep)
	}
	if _, err := path.Match(o.label, ""); err != nil || given("label") && o.label == "" {
		return hint.With(fmt.Errorf("--label: invalid pattern %s", term.Quote(o.label)), "* matches any characters, ? one, [a-z] one of these")
	}
	if !r.hasOlder && !r.hasSize && !r.hasKeep {
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
	all := prunable(infos, o.label)
	chosen := o.rules.choose(all, a.now())
	if err := o.list(a, chosen); err != nil {
		return err
	}
	if over := o.rules.over(all, chosen); over > 0 {
		a.say(view.Size(over) + " more than --max-size remain, because live recordings and those of --keep-last are not removed")
	}
	switch {
	case len(chosen) == 0:
		a.say("nothing to remove in " + dir)
		return nil
	case o.dryRun:
		return nil
	case !o.yes && !a.ask(fmt.Sprintf("Permanently remove %s, %s?", term.Plural(len(chosen), "recording", "recordings"), view.Size(sizeOf(chosen)))):
		a.say("nothing was removed")
		return exitCode(exitNo)
	}
	return removePruned(chosen)
}

// removePruned deletes the recordings. It ignores those already deleted.
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
			if err := term.WriteJSON(w, newJSONPruned(&chosen[i], o.dryRun)); err != nil {
				return err
			}
		}
		return w.Flush()
	}
	if len(chosen) > 0 {
		l := a.printer(w)
		pruneTable(l, a.now().In(a.zone), chosen)
		if l.Err != nil {
			return l.Err
		}
	}
	return w.Flush()
}

func pruneTable(l *term.Printer, now time.Time, chosen []pruned) {
	cols := []term.Column{
		{Title: "ID"}, {Title: "STARTED"}, {Title: "LABEL", Least: 12},
		{Title: "SIZE", Right: true}, {Title: "STATE", Rank: 1}, {Title: "WHY"},
	}
	var rows [][]term.Cell
	for i := range chosen {
		c := &chosen[i]
		id := safe.String(c.Header.ID)
		if id == "" {
			id = "-"
		}
		rows = append(rows, []term.Cell{
			{Text: id, Style: term.Bold}, {Text: term.Start(c.began.In(now.Location()), now), Style: term.Plain}, {Text: safe.String(c.Header.Label), Style: term.Plain},
			{Text: view.Size(c.Size), Style: term.Dim}, {Text: state(&c.Info), Style: stateStyle(&c.Info)}, {Text: c.why(now), Style: term.Plain},
		})
	}
	l.Table(cols, rows)
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
		V: text.Version, Type: "prune", ID: p.Header.ID, Path: p.Path, Label: p.Header.Label, Start: p.began.UTC(), End: p.ended.UTC(),
		Status: p.Status.String(), SizeOnDisk: p.Size, Reason: p.reason.String(), DryRun: dryRun,
	}
}

// pruneRules select the recordings to remove.
type pruneRules struct {
	hasOlder, hasKeep, hasSize bool

	older time.Duration
	keep  int
	size  int64
}

// A pruned is a recording that may go.
type pruned struct {
	store.Info
	// began and ended are when it did; of a damaged one, when its file was last
	// written to.
	began, ended time.Time
	reason       pruneReason
}

// A pruneReason is the rule that selects a recording.
type pruneReason uint8

const (
	pruneNone pruneReason = iota
	pruneOlder
	pruneKeep
	pruneSize
)

// String returns the reason's stable name.
func (r pruneReason) String() string {
	return [...]string{"", "older_than", "keep_last", "max_size"}[r]
}

// why describes the reason.
func (p *pruned) why(now time.Time) string {
	switch p.reason {
	case pruneOlder:
		what := "ended"
		if p.Status.Unreadable() {
			what = "file is from"
		}
		return what + " " + formatAge(now.Sub(p.ended)) + " ago"
	case pruneKeep:
		return "beyond --keep-last"
	case pruneSize:
		return "beyond --max-size"
	}
	return ""
}

// formatAge returns an age in days, or in less where it is not one.
func formatAge(d time.Duration) string {
	if d < 48*time.Hour {
		return view.Took(d)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// prunable returns the recordings that count, those that began last first: all
// that are recordings at all and have such a label.
func prunable(infos []store.Info, label string) []pruned {
	var all []pruned
	for _, info := range infos {
		if errors.Is(info.Err, store.ErrNotRecording) {
			continue
		}
		if label != "" && !labelled(label, info.Header.Label) {
			continue
		}
		p := pruned{Info: info, began: info.Header.Start, ended: info.Header.Start.Add(info.Duration)}
		if info.Status.Unreadable() {
			p.began = fileTime(info.Path)
			p.ended = p.began
		}
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(a, b pruned) int {
		return cmp.Or(b.began.Compare(a.began), cmp.Compare(b.Path, a.Path))
	})
	return all
}

// labelled reports whether a label matches a pattern. A slash is a character
// like any other.
func labelled(pattern, label string) bool {
	flat := strings.NewReplacer("/", "\x00")
	ok, _ := path.Match(flat.Replace(pattern), flat.Replace(label))
	return ok
}

// fileTime is when a recording's file, or else its queue, was written to.
func fileTime(path string) time.Time {
	for _, name := range []string{path, path + store.QueueExt} {
		if info, err := os.Stat(name); err == nil {
			return info.ModTime()
		}
	}
	return time.Time{}
}

// choose returns those of all, which come in the order of [prunable], that go,
// the oldest first.
func (r *pruneRules) choose(all []pruned, now time.Time) []pruned {
	left := sizeOf(all)
	goes := make([]bool, len(all))
	pick := func(i int, reason pruneReason) {
		goes[i], all[i].reason = true, reason
		left -= all[i].Size
	}
	for i := range all {
		switch {
		case r.protects(all, i):
		case r.hasOlder && all[i].ended.Before(now.Add(-r.older)):
			pick(i, pruneOlder)
		case r.hasKeep && !r.hasOlder && !r.hasSize:
			pick(i, pruneKeep)
		}
	}
	for i := len(all) - 1; i >= 0 && r.hasSize && left > r.size; i-- {
		if !goes[i] && !r.protects(all, i) {
			pick(i, pruneSize)
		}
	}
	var chosen []pruned
	for i, p := range slices.Backward(all) {
		if goes[i] {
			chosen = append(chosen, p)
		}
	}
	return chosen
}

// protects reports whether no rule can remove a recording: it is live, kept, or of
// unknown age.
func (r *pruneRules) protects(all []pruned, i int) bool {
	return all[i].Status == store.Live || r.hasKeep && i < r.keep || all[i].began.IsZero()
}

// over is by how much what stays is larger than --max-size.
func (r *pruneRules) over(all, chosen []pruned) int64 {
	if !r.hasSize {
		return 0
	}
	return max(sizeOf(all)-sizeOf(chosen)-r.size, 0)
}

// sizeOf returns the total size of recordings, in bytes.
func sizeOf(all []pruned) (n int64) {
	for _, p := range all {
		n += p.Size
	}
	return n
}

// ageUnits are the units of an age.
var ageUnits = map[byte]time.Duration{'w': 7 * 24 * time.Hour, 'd': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second}

// parseAge parses an age such as 30d, 12h, 2w or 1d12h. A unit is required, so that days
// are not mistaken for hours.
func parseAge(s string) (time.Duration, error) {
	bad := fmt.Errorf("invalid age %s (want a number with a unit, such as 30d, 12h or 2w)", term.Quote(s))
	var total time.Duration
	rest := s
	for rest != "" {
		end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if end <= 0 {
			return 0, bad
		}
		n, err := strconv.ParseInt(rest[:end], 10, 64)
		unit := ageUnits[rest[end]]
		if err != nil || unit == 0 || n > int64((math.MaxInt64-total)/unit) {
			return 0, bad
		}
		total += time.Duration(n) * unit
		rest = rest[end+1:]
	}
	if s == "" {
		return 0, bad
	}
	return total, nil
}
