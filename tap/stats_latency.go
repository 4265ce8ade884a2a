package tap

import (
	"math"
	"math/bits"
	"time"
)

// latencySteps is into how many buckets each doubling of a latency is divided.
// The middle of a bucket is at most 1 in 128 away from what is in it.
const latencySteps = 64

// Latencies sums up durations in bounded memory: their number, sum, least and
// greatest exactly, and how they are distributed in buckets that are narrow in
// proportion to what they hold, so that a quantile is less than 1 % off. It
// takes half a KiB for each doubling that occurs, and 29 KiB at most. The zero
// value is empty.
type Latencies struct {
	count         uint64
	sum, min, max time.Duration
	// octaves holds the durations below latencySteps nanoseconds, then those
	// up to twice that, and so on; nil where there are none.
	octaves []*[latencySteps]uint64
}

// Add counts a duration. A negative one, as only a damaged recording has it,
// counts as zero.
func (l *Latencies) Add(d time.Duration) {
	d = max(d, 0)
	if l.count == 0 || d < l.min {
		l.min = d
	}
	l.max = max(l.max, d)
	l.count++
	l.sum = addTime(l.sum, d)
	octave, step := latencyBucket(uint64(d))
	l.steps(octave)[step]++
}

// addTime adds durations that are not negative. Recorded times are hostile: a
// sum that would overflow stays at the greatest there is.
func addTime(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func (l *Latencies) steps(octave int) *[latencySteps]uint64 {
	for octave >= len(l.octaves) {
		l.octaves = append(l.octaves, nil)
	}
	if l.octaves[octave] == nil {
		l.octaves[octave] = new([latencySteps]uint64)
	}
	return l.octaves[octave]
}

// latencyBucket is where a number of nanoseconds is counted.
func latencyBucket(ns uint64) (octave, step int) {
	octave = max(0, bits.Len64(ns/latencySteps))
	if octave > 0 {
		ns = ns>>(octave-1) - latencySteps
	}
	return octave, int(ns)
}

// latencyMiddle is the middle of a bucket.
func latencyMiddle(octave, step int) time.Duration {
	if octave == 0 {
		return time.Duration(step)
	}
	low := uint64(latencySteps+step) << (octave - 1)
	return time.Duration(low + (uint64(1)<<(octave-1)-1)/2)
}

// Merge counts all that o has counted.
func (l *Latencies) Merge(o *Latencies) {
	if o.count == 0 {
		return
	}
	if l.count == 0 || o.min < l.min {
		l.min = o.min
	}
	l.max = max(l.max, o.max)
	l.count += o.count
	l.sum = addTime(l.sum, o.sum)
	for i, from := range o.octaves {
		if from == nil {
			continue
		}
		to := l.steps(i)
		for j, n := range from {
			to[j] += n
		}
	}
}

// Count is how many durations there are, Sum what they add up to. Min and Max
// are the least and the greatest, 0 if there are none. All of them are exact.
func (l *Latencies) Count() uint64      { return l.count }
func (l *Latencies) Sum() time.Duration { return l.sum }
func (l *Latencies) Min() time.Duration { return l.min }
func (l *Latencies) Max() time.Duration { return l.max }

// Quantile returns the duration that is not exceeded by at least so many of a
// thousand durations: 500 for the median, 990 for p99. It is one that occurs
// (the nearest rank), but for an error of less than 1 %; the first and the last
// are exact. It is 0 if there are none.
func (l *Latencies) Quantile(permille int) time.Duration {
	rank := l.rank(permille)
	switch {
	case rank <= 1:
		return l.min
	case rank == l.count:
		return l.max
	}
	for i, steps := range l.octaves {
		if steps == nil {
			continue
		}
		for j, n := range steps {
			if rank <= n {
				return min(max(latencyMiddle(i, j), l.min), l.max)
			}
			rank -= n
		}
	}
	return l.max
}

// rank is the smallest number of durations that are so many of a thousand.
func (l *Latencies) rank(permille int) uint64 {
	hi, lo := bits.Mul64(l.count, uint64(min(max(permille, 0), 1000)))
	rank, rest := bits.Div64(hi, lo, 1000) // hi is at most 999
	if rest > 0 {
		rank++
	}
	return rank
}

// Below is how many durations are less than d. It is exact where d begins a
// bucket, and else as if each were in the middle of its own.
func (l *Latencies) Below(d time.Duration) (n uint64) {
	for i, steps := range l.octaves {
		if steps == nil {
			continue
		}
		for j, c := range steps {
			if c > 0 && latencyMiddle(i, j) < d {
				n += c
			}
		}
	}
	return n
}
