package tree

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// checkPairs holds that pairs ascend on both sides and say what is equal.
func checkPairs(t *testing.T, a, b []uint64, pairs []Pair) {
	t.Helper()
	last := Pair{-1, -1}
	for _, p := range pairs {
		if p.A <= last.A || p.B <= last.B || a[p.A] != b[p.B] {
			t.Fatalf("%v behind %v: %d and %d\n%v\n%v", p, last, a[p.A], b[p.B], a, b)
		}
		last = p
	}
}

// TestAlignFindsTheShortestWay changes long lists in a few places, and wants what
// is left to be found whole, be it one value again and again.
func TestAlignFindsTheShortestWay(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	for round := range 400 {
		values := []uint64{1, 2, 5, 1 << 40}[rng.IntN(4)]
		a := make([]uint64, 200+rng.IntN(300))
		for i := range a {
			a[i] = rng.Uint64N(values)
		}
		b, edits := slices.Clone(a), rng.IntN(fewEdits+1)
		for range edits {
			i := rng.IntN(len(b))
			if rng.IntN(2) == 0 {
				b = slices.Delete(b, i, i+1)
			} else {
				b = slices.Insert(b, i, rng.Uint64N(values))
			}
		}
		pairs := Align(a, b)
		checkPairs(t, a, b, pairs)
		if alone := len(a) + len(b) - 2*len(pairs); alone > edits {
			t.Errorf("round %d: %d edits, and %d elements are on one side only", round, edits, alone)
		}
	}
}

func TestAlignOfAnything(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	list := func() []uint64 {
		all := make([]uint64, rng.IntN(400))
		values := uint64(1 + rng.IntN(600))
		for i := range all {
			all[i] = rng.Uint64N(values)
		}
		return all
	}
	for range 500 {
		a, b := list(), list()
		pairs := Align(a, b)
		checkPairs(t, a, b, pairs)
		for i, v := range a {
			if j := slices.Index(b, v); j >= 0 && len(pairs) == 0 {
				t.Fatalf("element %d is also element %d, and nothing is paired", i, j)
			}
		}
		if got := Align(a, a); len(got) != len(a) {
			t.Fatalf("a list has %d of its %d elements in common with itself", len(got), len(a))
		}
	}
}
