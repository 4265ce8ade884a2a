package session

import (
	"math"
	"slices"
	"time"
)

// Latencies is a set of durations. It takes 8 bytes for each. The zero value is
// empty.
type Latencies struct {
	all    []time.Duration
	sorted bool
	sum    time.Duration
}

// Add adds a duration. A negative one, as only a damaged recording has it, counts
// as zero.
func (l *Latencies) Add(d time.Duration) {
	d = max(d, 0)
	l.all, l.sorted = append(l.all, d), false
	l.sum = addTime(l.sum, d)
}

// addTime adds durations that are not negative. Recorded times are hostile: a
// sum that would overflow stays at the greatest there is.
func addTime(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Merge adds all durations of o.
func (l *Latencies) Merge(o *Latencies) {
	l.all, l.sorted = append(l.all, o.all...), false
	l.sum = addTime(l.sum, o.sum)
}

// order returns the durations in ascending order.
func (l *Latencies) order() []time.Duration {
	if !l.sorted {
		slices.Sort(l.all)
		l.sorted = true
	}
	return l.all
}

// Count returns the number of durations.
func (l *Latencies) Count() uint64 { return uint64(len(l.all)) }

// Sum returns the sum of the durations.
func (l *Latencies) Sum() time.Duration { return l.sum }

// Min returns the least duration, 0 if there are none.
func (l *Latencies) Min() time.Duration { return l.Quantile(0) }

// Max returns the greatest duration, 0 if there are none.
func (l *Latencies) Max() time.Duration { return l.Quantile(1000) }

// Quantile returns the smallest of the durations that at least permille of a
// thousand do not exceed (the nearest rank): 500 for the median, 990 for p99. It is
// 0 if there are none.
func (l *Latencies) Quantile(permille int) time.Duration {
	n := len(l.all)
	if n == 0 {
		return 0
	}
	rank := (n*min(max(permille, 0), 1000) + 999) / 1000
	return l.order()[max(rank, 1)-1]
}

// Below returns how many durations are less than d.
func (l *Latencies) Below(d time.Duration) uint64 {
	n, _ := slices.BinarySearch(l.order(), d)
	return uint64(n)
}
