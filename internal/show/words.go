package show

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/check/load"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// ParseRanges parses frame numbers: 17, #17, 17-30, 17..30, 17.., ..30, separated by commas or
// spaces. ok is false if some word is not one of these.
func ParseRanges(words []string) (ranges []tap.Range, ok bool, err error) {
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

const (
	// seenFrames limits the frames read to complete the values of a filter, and seenValues the
	// values of each kind.
	seenFrames = 20_000
	seenValues = 100
)

// Seen returns the values at the beginning of a recording, most frequent first. It returns none if
// there is no such recording.
func Seen(ctx context.Context, path string) (s filter.Seen) {
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
		URIs: frequent(counts[3]), Rules: load.RuleIDs()}
}

func frequent(counts map[string]int) []string {
	all := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	return all[:min(len(all), seenValues)]
}
