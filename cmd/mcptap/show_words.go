package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/show"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
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
	for n < len(args) && o.Follow && a.isRecording(args[n]) {
		n++
	}
	w := &showWords{recordings: args[:n]}
	for _, rec := range w.recordings {
		w.all = w.all || o.Follow && rec == "@live"
	}
	rest := args[n:]
	if len(rest) == 0 {
		return w, nil
	}
	if number, minus := strings.CutPrefix(rest[0], "-"); len(rest) == 1 && minus && number != "" && strings.Trim(number, "0123456789") == "" {
		return nil, hint.With(fmt.Errorf("show has no flag %s", rest[0]), fewerHint)
	}
	for len(rest) > 0 {
		ranges, ok, err := show.ParseRanges(rest[:1])
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		w.ranges, rest = append(w.ranges, ranges...), rest[1:]
	}
	w.query = strings.Join(rest, " ")
	if one := args[n]; w.query == "" && len(w.ranges) == 1 && w.ranges[0].From == w.ranges[0].To && !o.ByCall() && !strings.ContainsAny(one, ".-") {
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

// completeShow offers the ids of recordings to the shell, and then what a filter
// is made of: keys, and the values that the recording has.
func (a *app) completeShow(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeRecording(cmd, args, prefix)
	}
	word := strings.TrimPrefix(prefix, wordMark)
	var seen filter.Seen
	if strings.Contains(word, ":") {
		if path, _, err := a.opener().Path(cmd.Context(), args[0]); err == nil {
			seen = show.Seen(cmd.Context(), path)
		}
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
