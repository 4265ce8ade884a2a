package tap

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

// nearestRank is what Quantile is an estimate of.
func nearestRank(sorted []time.Duration, permille int) time.Duration {
	rank := (len(sorted)*permille + 999) / 1000
	return sorted[max(rank, 1)-1]
}

var permilles = []int{0, 1, 10, 100, 250, 500, 750, 900, 950, 990, 999, 1000}

// shapes are distributions that recordings have, and some that they have not.
var shapes = []struct {
	name string
	draw func(*rand.Rand) time.Duration
}{
	{"flat", func(r *rand.Rand) time.Duration { return time.Duration(r.Int64N(int64(time.Second))) }},
	{"long tail", func(r *rand.Rand) time.Duration { return time.Duration(math.Exp(r.NormFloat64()*3 + 14)) }},
	{"two peaks", func(r *rand.Rand) time.Duration {
		return time.Duration(1+r.IntN(2)*999) * (time.Millisecond + time.Duration(r.IntN(1000)))
	}},
	{"all scales", func(r *rand.Rand) time.Duration { return time.Duration(r.Uint64() >> (1 + r.UintN(63))) }},
	{"tiny", func(r *rand.Rand) time.Duration { return time.Duration(r.IntN(200)) }},
	{"one value", func(*rand.Rand) time.Duration { return 123456789 }},
}

func TestLatencyQuantiles(t *testing.T) {
	for _, shape := range shapes {
		for _, n := range []int{1, 2, 3, 10, 101, 1000, 20_000} {
			rng := rand.New(rand.NewPCG(uint64(n), 1))
			var l, left, right Latencies
			var all []time.Duration
			for range n {
				d := shape.draw(rng)
				all = append(all, d)
				l.Add(d)
				if rng.IntN(3) == 0 {
					left.Add(d)
				} else {
					right.Add(d)
				}
			}
			slices.Sort(all)
			if l.Min() != all[0] || l.Max() != all[n-1] || l.Count() != uint64(n) {
				t.Fatalf("%s %d: min %v, max %v, count %d", shape.name, n, l.Min(), l.Max(), l.Count())
			}
			for _, p := range permilles {
				got, want := l.Quantile(p), nearestRank(all, p)
				if off := math.Abs(float64(got-want)) / max(float64(want), 1); off > 1.0/128 {
					t.Errorf("%s %d: %d‰ is %v, want %v, %.3f %% off", shape.name, n, p, got, want, 100*off)
				}
			}
			left.Merge(&right)
			if !reflect.DeepEqual(left, l) {
				t.Errorf("%s %d: merged %+v, want %+v", shape.name, n, left, l)
			}
		}
	}
}

// Each number of nanoseconds is in the bucket that it belongs to: the buckets
// follow one another, and none is wider than 1 in 64 of where it begins.
func TestLatencyBuckets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	values := []uint64{0, 1, 63, 64, 65, 127, 128, 129, 255, 256, math.MaxInt64 - 1, math.MaxInt64}
	for range 100_000 {
		values = append(values, rng.Uint64()>>(1+rng.UintN(63)))
	}
	slices.Sort(values)
	last := -1
	for _, v := range values {
		octave, step := latencyBucket(v)
		if step < 0 || step >= latencySteps || octave > 57 {
			t.Fatalf("%d is in bucket %d of octave %d", v, step, octave)
		}
		at := octave*latencySteps + step
		if at < last {
			t.Fatalf("%d comes before what is smaller", v)
		}
		last = at
		middle := uint64(latencyMiddle(octave, step))
		if o, s := latencyBucket(middle); o != octave || s != step {
			t.Fatalf("the middle of the bucket of %d is %d, in another", v, middle)
		}
		if off := max(middle, v) - min(middle, v); off > v/128 {
			t.Fatalf("%d is taken for %d", v, middle)
		}
	}
}

func TestLatencyBelow(t *testing.T) {
	var l Latencies
	for _, d := range []time.Duration{0, 1, 10, 64, 100, 1000, 1024} {
		l.Add(d)
	}
	for below, want := range map[time.Duration]uint64{0: 0, 1: 1, 2: 2, 64: 3, 65: 4, 101: 5, 1024: 6, 2000: 7} {
		if got := l.Below(below); got != want {
			t.Errorf("%d are below %d, want %d", got, below, want)
		}
	}
}

// Hostile times do not overflow, and no number of them takes much memory.
func TestLatencyExtremes(t *testing.T) {
	var l Latencies
	if l.Quantile(500) != 0 || l.Min() != 0 || l.Max() != 0 || l.Below(1) != 0 {
		t.Errorf("%+v", l)
	}
	l.Add(-5)
	for range 3 {
		l.Add(math.MaxInt64)
	}
	if l.Sum() != math.MaxInt64 || l.Min() != 0 || l.Quantile(1000) != math.MaxInt64 {
		t.Errorf("sum %v, min %v, greatest %v", l.Sum(), l.Min(), l.Quantile(1000))
	}
	l.Merge(&l)
	if l.Count() != 8 || l.Sum() != math.MaxInt64 {
		t.Errorf("%d, %v", l.Count(), l.Sum())
	}
	for shift := range 63 {
		for step := range latencySteps {
			l.Add(time.Duration(1)<<shift + time.Duration(step)<<max(shift-6, 0))
		}
	}
	if n := len(l.octaves); n > 58 {
		t.Errorf("%d octaves", n)
	}
}

// The rank is that of whole numbers, also where a product would overflow.
func TestLatencyRank(t *testing.T) {
	for _, c := range []struct {
		count    uint64
		permille int
		want     uint64
	}{
		{0, 500, 0}, {1, 0, 0}, {1, 1, 1}, {10, 500, 5}, {11, 500, 6}, {1000, 999, 999}, {1001, 999, 1000},
		{100, 2000, 100}, {100, -1, 0}, {math.MaxUint64, 1000, math.MaxUint64}, {math.MaxUint64, 500, 1 << 63},
	} {
		if got := (&Latencies{count: c.count}).rank(c.permille); got != c.want {
			t.Errorf("rank %d‰ of %d is %d, want %d", c.permille, c.count, got, c.want)
		}
	}
}

func TestTopCalls(t *testing.T) {
	for _, most := range []int{0, 1, 2, 5, 100} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(most), 2))
			all := make([]StatsCall, 57)
			top, merged := topCalls{most: most}, topCalls{most: most}
			var half topCalls
			half.most = most
			for i := range all {
				all[i] = StatsCall{Ref: Ref{Seq: uint64(i)}, Took: time.Duration(rng.IntN(20))}
				top.add(all[i])
				if i < 30 {
					merged.add(all[i])
				} else {
					half.add(all[i])
				}
				if len(top.calls) > 2*most {
					t.Fatalf("%d are kept", len(top.calls))
				}
			}
			merged.merge(&half)
			slices.SortStableFunc(all, func(a, b StatsCall) int { return int(b.Took - a.Took) })
			want := all[:min(most, len(all))]
			for _, got := range [][]StatsCall{top.sort(), merged.sort()} {
				if !slices.Equal(got, want) {
					t.Errorf("got  %v\nwant %v", got, want)
				}
			}
		})
	}
}
