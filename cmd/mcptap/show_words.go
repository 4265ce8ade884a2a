package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// showWords are the arguments of show, sorted.
type showWords struct {
	recordings []string
	all        bool   // of those that are live, all
	number     uint64 // of the one frame that is asked for, 0 for none
	ranges     []tap.Range
	query      string
}

// several reports whether there may be more than one recording.
func (w *showWords) several() bool { return w.all || len(w.recordings) > 1 }

// isPair reports whether the ranges are two single frames.
func (w *showWords) isPair() bool {
	single := func(r tap.Range) bool { return r.From == r.To }
	return w.query == "" && len(w.ranges) == 2 && single(w.ranges[0]) && single(w.ranges[1])
}

// fewerHint is the advice for a flag that would list fewer frames.
const fewerHint = "list a range of frames, such as 1-5, or pipe the output to `head -n 5` or `tail -n 5`"

// parseArgs classifies the arguments: recordings, then numbers, then a filter.
func (o *showOptions) parseArgs(a *app, args []string) (*showWords, error) {
	for i, number := range args[1:] {
		if args[i] == "-n" && strings.Trim(number, "0123456789") == "" {
			return nil, hint.With(errors.New("show has no flag -n"), fewerHint)
		}
	}
	n := 1
	for n < len(args) && o.follow && a.isRecording(args[n]) {
		n++
	}
	w := &showWords{recordings: args[:n]}
	for _, rec := range w.recordings {
		w.all = w.all || o.follow && rec == "@live"
	}
	rest := args[n:]
	if len(rest) == 0 {
		return w, nil
	}
	if number, minus := strings.CutPrefix(rest[0], "-"); len(rest) == 1 && minus && number != "" && strings.Trim(number, "0123456789") == "" {
		return nil, hint.With(fmt.Errorf("show has no flag %s", rest[0]), fewerHint)
	}
	for len(rest) > 0 {
		ranges, ok, err := parseRanges(rest[:1])
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		w.ranges, rest = append(w.ranges, ranges...), rest[1:]
	}
	w.query = strings.Join(rest, " ")
	if one := args[n]; w.query == "" && len(w.ranges) == 1 && w.ranges[0].From == w.ranges[0].To && !o.byCall() && !strings.ContainsAny(one, ".-") {
		w.number, w.ranges = w.ranges[0].From, nil
	}
	return w, nil
}

// isRecording reports whether a word that follows a recording names another. It
// must be the whole name: the beginning of an id may be a word to search for.
func (a *app) isRecording(arg string) bool {
	if arg == "@last" || arg == "@live" {
		return true
	}
	isID := len(arg) == 8 && strings.Trim(arg, "0123456789abcdef") == ""
	if !isID && filepath.Ext(arg) != store.Ext {
		return false
	}
	if _, err := os.Stat(arg); err == nil {
		return true
	}
	dir, err := a.dataDir()
	if err != nil {
		return false
	}
	_, _, err = store.Resolve(dir, arg)
	return err == nil
}

// parseRanges reads numbers of frames: 17, #17, 17-30, 17..30, 17.., ..30, with commas or
// spaces between. It is false when some word is not one of these.
func parseRanges(words []string) (ranges []tap.Range, ok bool, err error) {
	for _, word := range words {
		for _, s := range strings.Split(word, ",") {
			from, to, isRange := strings.Cut(s, "..")
			if !isRange && strings.TrimPrefix(s, "-") == s {
				from, to, isRange = strings.Cut(s, "-")
			}
			from, to = strings.TrimPrefix(from, "#"), strings.TrimPrefix(to, "#")
			if from+to == "" || strings.Trim(from+to, "0123456789") != "" {
				return nil, false, nil
			}
			r := tap.Range{From: 1, To: math.MaxUint64}
			if from != "" {
				r.From, err = frameNumber(from)
			}
			if err == nil && to != "" {
				r.To, err = frameNumber(to)
			}
			if !isRange {
				r.To = r.From
			}
			if err == nil && r.From > r.To {
				err = fmt.Errorf("%s: there are no frames from %d to %d", term.Quote(word), r.From, r.To)
			}
			if err != nil {
				return nil, false, err
			}
			ranges = append(ranges, r)
		}
	}
	return ranges, true, nil
}

func frameNumber(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n == 0 {
		return 0, hint.With(fmt.Errorf("invalid frame number %s", term.Quote(s)),
			"the first column of `mcptap show REC` has them; to search for it as text: '\""+s+"\"'")
	}
	return n, nil
}

// parseFilter compiles a query. What is wrong with it is shown under it.
func (a *app) parseFilter(query string) (*filter.Filter, error) {
	f, err := filter.Parse(query)
	if err == nil {
		return f, nil
	}
	wrong, ok := err.(*filter.Error)
	if !ok {
		return nil, err
	}
	a.say("filter: " + wrong.Error())
	for line := range strings.Lines(wrong.Caret()) {
		fmt.Fprintf(a.stderr, "  %s\n", strings.TrimRight(line, "\n"))
	}
	a.say("hint: `mcptap help filter` explains filters")
	return nil, exitCode(exitFailure)
}

// A filter term may begin with a minus sign, as in -method:ping. On a command with
// wordsAnnotation, markWords hides an argument that cannot be a cluster of its flags from
// the parser of flags, with a prefix that no argument of a process can have. unmark
// removes the prefix.
const (
	wordsAnnotation = "filter"
	wordMark        = "\x00"
)

func markWords(root *cobra.Command, args []string) []string {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return append(args[:1:1], markWords(root, args[1:])...)
	}
	cmd, _, err := root.Find(args)
	if err != nil || cmd.Annotations[wordsAnnotation] == "" {
		return args
	}
	out := slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		notFlag := func(c rune) bool {
			return c != 'h' && (c >= utf8.RuneSelf || cmd.Flags().ShorthandLookup(string(c)) == nil)
		}
		if len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.ContainsFunc(arg[1:], notFlag) {
			out[i] = wordMark + arg
		}
	}
	return out
}

// unmark removes the prefix of markWords from arguments and from the values of flags.
func unmark(cmd *cobra.Command, args []string) {
	for i := range args {
		args[i] = strings.TrimPrefix(args[i], wordMark)
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if value, marked := strings.CutPrefix(f.Value.String(), wordMark); marked {
			_ = f.Value.Set(value) // a string, which is always valid
		}
	})
}

const (
	// seenFrames limits the frames read to complete the values of a filter, seenValues
	// the values of each kind.
	seenFrames = 20_000
	seenValues = 100
)

// completeShow offers the ids of recordings to the shell, and then what a filter
// is made of: keys, and the values that the recording has.
func (a *app) completeShow(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeRecording(cmd, args, prefix)
	}
	word := strings.TrimPrefix(prefix, wordMark)
	var seen filter.Seen
	if strings.Contains(word, ":") {
		seen = a.seen(cmd.Context(), args[0])
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	var out []string
	for _, c := range filter.Complete(word, len(word), seen) {
		text := word[:c.From] + c.Text + word[c.To:]
		if strings.ContainsAny(text, " \t\"'`\\$&|;<>()*?[]{}!#~") { // it would have to be quoted
			continue
		}
		if strings.HasSuffix(text, ":") {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		if c.Help != "" {
			text += "\t" + c.Help
		}
		out = append(out, text)
	}
	return out, directive
}

// seen returns the values in the beginning of a recording, the most frequent first. It
// returns none if there is no such recording.
func (a *app) seen(ctx context.Context, arg string) (s filter.Seen) {
	path, _, err := a.opener().Path(ctx, arg)
	if err != nil {
		return s
	}
	rec, err := store.Open(path)
	if err != nil {
		return s
	}
	tracker := &session.Tracker{}
	var items []filter.Item
	counts := [4]map[string]int{{}, {}, {}, {}}
	n := 0
	for f, err := range recording.Read(ctx, rec, 0, false) {
		if n++; err != nil || n > seenFrames {
			break
		}
		r := tracker.Add(&f)
		items = view.Items(items[:0], r)
		for i := range items {
			it := &items[i]
			for k, v := range [4]string{it.Method, it.Tool, it.Prompt, it.URI} {
				if _, known := counts[k][v]; v != "" && (known || len(counts[k]) < 10*seenValues) {
					counts[k][strings.Clone(v)]++
				}
			}
		}
	}
	return filter.Seen{Methods: frequent(counts[0]), Tools: frequent(counts[1]), Prompts: frequent(counts[2]),
		URIs: frequent(counts[3]), Rules: ruleIDs()}
}

func frequent(counts map[string]int) []string {
	all := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	return all[:min(len(all), seenValues)]
}
