package jsontree

import (
	"cmp"
	"slices"
	"sort"
)

// A Pair is an element of each of two lists that belong together.
type Pair struct{ A, B int }

const (
	// maxLevels is how often what lies between two anchors is searched for anchors of
	// its own.
	maxLevels = 8
	// maxCells is up to how many comparisons a stretch is aligned exactly.
	maxCells = 4096
)

// Align returns a long common subsequence of two lists of hashes, in time nearly linear
// whatever they are: what both begin and end with, what occurs once in both as far as
// it stands in one order (patience diff), and so on between those. Short stretches are
// aligned exactly. Pairs ascend on both sides.
func Align(a, b []uint64) []Pair {
	x := aligner{a: a, b: b}
	x.stretch(Pair{}, Pair{len(a), len(b)}, 0)
	return x.pairs
}

type aligner struct {
	a, b  []uint64
	pairs []Pair
}

// stretch aligns what lies between two places.
func (x *aligner) stretch(from, to Pair, level int) {
	for from.A < to.A && from.B < to.B && x.a[from.A] == x.b[from.B] {
		x.pairs = append(x.pairs, from)
		from = Pair{from.A + 1, from.B + 1}
	}
	end := to
	for from.A < to.A && from.B < to.B && x.a[to.A-1] == x.b[to.B-1] {
		to = Pair{to.A - 1, to.B - 1}
	}
	if from.A < to.A && from.B < to.B {
		x.middle(from, to, level)
	}
	for ; to != end; to = (Pair{to.A + 1, to.B + 1}) {
		x.pairs = append(x.pairs, to)
	}
}

func (x *aligner) middle(from, to Pair, level int) {
	a, b := x.a[from.A:to.A], x.b[from.B:to.B]
	if len(a)*len(b) <= maxCells {
		x.exact(from, a, b)
		return
	}
	anchors := ascending(unique(a, b))
	if len(anchors) == 0 || level == maxLevels {
		for _, p := range ascending(counted(a, b)) {
			x.pairs = append(x.pairs, Pair{from.A + p.A, from.B + p.B})
		}
		return
	}
	next := from
	for _, p := range anchors {
		at := Pair{from.A + p.A, from.B + p.B}
		x.stretch(next, at, level+1)
		x.pairs = append(x.pairs, at)
		next = Pair{at.A + 1, at.B + 1}
	}
	x.stretch(next, to, level+1)
}

// exact finds a longest common subsequence with the table of all of them.
func (x *aligner) exact(from Pair, a, b []uint64) {
	width := len(b) + 1
	length := make([]uint16, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i*width+j] = length[(i+1)*width+j+1] + 1
			} else {
				length[i*width+j] = max(length[(i+1)*width+j], length[i*width+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			x.pairs = append(x.pairs, Pair{from.A + i, from.B + j})
			i++
			j++
		case length[(i+1)*width+j] >= length[i*width+j+1]:
			i++
		default:
			j++
		}
	}
}

// unique pairs the elements that occur once in both lists, in the order of a.
func unique(a, b []uint64) (pairs []Pair) {
	places := make(map[uint64]int, len(b)) // in b; with a complement, the place of the pair
	twice := map[uint64]bool{}
	for j, h := range b {
		if _, ok := places[h]; ok {
			twice[h] = true
		}
		places[h] = j
	}
	for i, h := range a {
		switch j, ok := places[h]; {
		case !ok || len(twice) > 0 && twice[h]:
		case j >= 0:
			places[h] = ^len(pairs)
			pairs = append(pairs, Pair{i, j})
		default:
			pairs[^j].A = -1 // it occurs again
		}
	}
	return slices.DeleteFunc(pairs, func(p Pair) bool { return p.A < 0 })
}

// counted pairs equal elements, the first with the first, the second with the second, in
// the order of a. An element of 0 has no counterpart.
func counted(a, b []uint64) (pairs []Pair) {
	first := make(map[uint64]int32, len(b)) // the next place in b, plus one
	later := make([]int32, len(b))          // the one after a place
	for j := len(b) - 1; j >= 0; j-- {
		if b[j] != 0 {
			later[j], first[b[j]] = first[b[j]], int32(j+1)
		}
	}
	for i, h := range a {
		if j := first[h]; j > 0 {
			pairs = append(pairs, Pair{i, int(j) - 1})
			first[h] = later[j-1]
		}
	}
	return pairs
}

// ascending returns the longest part of pairs, which ascend in A, that ascends in B too.
func ascending(pairs []Pair) []Pair {
	if slices.IsSortedFunc(pairs, func(p, q Pair) int { return cmp.Compare(p.B, q.B) }) {
		return pairs
	}
	tails := make([]int32, 0, len(pairs)) // the pair that ends the best run of each length
	before := make([]int32, len(pairs))
	for i, p := range pairs {
		k := sort.Search(len(tails), func(k int) bool { return pairs[tails[k]].B > p.B })
		before[i] = -1
		if k > 0 {
			before[i] = tails[k-1]
		}
		if k == len(tails) {
			tails = append(tails, int32(i))
		} else {
			tails[k] = int32(i)
		}
	}
	best := make([]Pair, len(tails))
	for i, k := tails[len(tails)-1], len(best)-1; i >= 0; i, k = before[i], k-1 {
		best[k] = pairs[i]
	}
	return best
}
