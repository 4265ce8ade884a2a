package main

import (
	"context"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/store"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

const (
	// seenFrames is how many frames of a recording are read to complete the
	// values of a filter, and seenValues how many of each are offered.
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

// seen collects the values that the beginning of a recording has, the most
// frequent first. Where there is no such recording, there are none.
func (a *app) seen(ctx context.Context, arg string) (s filter.Seen) {
	path, err := a.find(arg)
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
	for f, err := range readFrames(ctx, rec, 1, false) {
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
	return filter.Seen{Methods: frequent(counts[0]), Tools: frequent(counts[1]), Prompts: frequent(counts[2]), URIs: frequent(counts[3])}
}

func frequent(counts map[string]int) []string {
	var all []string
	for v := range counts {
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b string) int {
		if c := counts[b] - counts[a]; c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	return all[:min(len(all), seenValues)]
}
