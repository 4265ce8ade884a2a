package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap/session"
)

// A histogram is a row of bins whose limits grow by 1, 2, 5, 10 and so on, or
// by tens where those would be too many.
type histogram struct {
	limits []time.Duration // bin i holds what is from limits[i] to below limits[i+1]
	counts []uint64
}

// maxBins is how many lines a histogram has at most, unless each holds ten times
// what the one before it does.
const maxBins = 14

// newHistogram chooses bins for all of the durations.
func newHistogram(l *session.Latencies) histogram {
	if l.Count() == 0 {
		return histogram{}
	}
	limits := limitsBetween(l.Min(), l.Max(), []int64{1, 2, 5})
	if len(limits)-1 > maxBins {
		limits = limitsBetween(l.Min(), l.Max(), []int64{1})
	}
	return histogram{limits: limits, counts: countsBetween(l, limits)}
}

// limitsBetween are the limits of the bins that hold least and most. They are
// microseconds or more: nothing is measured any finer.
func limitsBetween(least, most time.Duration, steps []int64) []time.Duration {
	limits := []time.Duration{0}
	const end = 1000 * time.Hour // what is longer falls into the last bin
	for ten := time.Microsecond; ten < end; ten *= 10 {
		for _, step := range steps {
			limit := ten * time.Duration(step)
			if limit <= least {
				limits[0] = limit
				continue
			}
			if limits = append(limits, limit); limit > most {
				return limits
			}
		}
	}
	return limits
}

// countsBetween counts the durations in each bin.
func countsBetween(l *session.Latencies, limits []time.Duration) []uint64 {
	counts := make([]uint64, len(limits)-1)
	before := uint64(0)
	for i := range counts {
		upto := l.Count()
		if i < len(counts)-1 {
			upto = l.Below(limits[i+1])
		}
		counts[i], before = upto-before, upto
	}
	return counts
}

// label says what a bin holds.
func (h *histogram) label(i int) string {
	return fmt.Sprintf("%s – %s", formatLimit(h.limits[i]), formatLimit(h.limits[i+1]))
}

// formatLimit returns a limit without digits that say nothing.
func formatLimit(d time.Duration) string {
	for _, u := range []struct {
		name string
		unit time.Duration
	}{{"s", time.Second}, {"ms", time.Millisecond}} {
		if d >= u.unit {
			return fmt.Sprintf("%d%s", d/u.unit, u.name)
		}
	}
	return fmt.Sprintf("%dµs", d/time.Microsecond)
}

// bar draws a part of a whole in so many columns, to an eighth of one. What is
// not nothing can be seen.
func bar(n, whole uint64, width int) string {
	const part = "▏▎▍▌▋▊▉"
	if n == 0 || whole == 0 {
		return ""
	}
	eighths := max(1, int(float64(n)/float64(whole)*float64(width*8)+0.5))
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune(part)[rest-1])
	}
	return text
}

// spark draws how durations are distributed among the bins, in a column each.
func (h *histogram) spark(l *session.Latencies) string {
	if l.Count() == 0 || len(h.limits) == 0 {
		return ""
	}
	levels := []rune("▁▂▃▄▅▆▇█")
	counts := countsBetween(l, h.limits)
	most := uint64(0)
	for _, n := range counts {
		most = max(most, n)
	}
	var b strings.Builder
	for _, n := range counts {
		if n == 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(levels[int(float64(n)/float64(most)*float64(len(levels)-1)+0.5)])
	}
	return strings.TrimRight(b.String(), " ")
}
