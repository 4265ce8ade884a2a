package jsontree

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// checkPairs checks that pairs ascend on both sides and pair equal elements.
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
