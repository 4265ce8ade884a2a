package tree

import (
	"cmp"
	"slices"
	"sort"
)

// A Pair says that one element of each of two lists belongs together.
type Pair struct{ A, B int }

const (
	// alignLevels is how often what lies between two anchors is searched for
	// anchors of its own.
	alignLevels = 8
	// exactCells is up to how many comparisons a stretch without anchors is
	// aligned exactly.
	exactCells = 4096
)

// Align finds a long common subsequence of two lists of hashes, in time near to
// linear whatever they are: what both begin and end with, then, if there is little
// to it, the shortest way from one to the other, else those that occur once in
// both, as far as they stand in one order (patience diff), and so on between
// those. Pairs ascend on both sides.
func Align(a, b []uint64) []Pair {
	var x aligner
	return x.align(a, b, nil)
}

// align is [Align] with memory that is used again, also that of the pairs.
func (x *aligner) align(a, b []uint64, pairs []Pair) []Pair {
	x.a, x.b, x.count, x.toB = a, b, 0, resized(x.toB, len(a))
	clear(x.toB)
	x.stretch(span{0, len(a), 0, len(b)}, 0)
	if pairs = pairs[:0]; cap(pairs) <= x.count {
		pairs = make([]Pair, 0, x.count+1)
	}
	for i, j := range x.toB {
		if j > 0 {
			pairs = append(pairs, Pair{i, int(j) - 1})
		}
	}
	return pairs
}

type aligner struct {
	a, b []uint64
	// toB is the place of each element in b, plus one; 0 if it has none. Count is
	// how many have one.
	toB     []int32
	count   int
	matcher matcher
	lengths []uint16
}

func (x *aligner) pair(i, j int) {
	x.toB[i] = int32(j) + 1
	x.count++
}

func (x *aligner) all(pairs []Pair) {
	for _, p := range pairs {
		x.pair(p.A, p.B)
	}
}

// A span is a stretch of both lists.
type span struct{ a, aEnd, b, bEnd int }

// stretch aligns what is in a span.
func (x *aligner) stretch(s span, level int) {
	for s.a < s.aEnd && s.b < s.bEnd && x.a[s.a] == x.b[s.b] {
		x.pair(s.a, s.b)
		s.a++
		s.b++
	}
	for s.a < s.aEnd && s.b < s.bEnd && x.a[s.aEnd-1] == x.b[s.bEnd-1] {
		s.aEnd--
		s.bEnd--
		x.pair(s.aEnd, s.bEnd)
	}
	n, m := s.aEnd-s.a, s.bEnd-s.b
	switch {
	case n == 0 || m == 0:
		return
	case n*m <= exactCells:
		x.exact(s)
		return
	case x.few(s):
		return
	}
	anchors := ascending(x.paired(s, true))
	if len(anchors) == 0 || level == alignLevels {
		x.all(ascending(x.paired(s, false)))
		return
	}
	x.all(anchors)
	for _, p := range append(anchors, Pair{s.aEnd, s.bEnd}) {
		x.stretch(span{s.a, p.A, s.b, p.B}, level+1)
		s.a, s.b = p.A+1, p.B+1
	}
}

// paired pairs equal elements of a span, see matcher, in the order of the first.
func (x *aligner) paired(s span, once bool) (pairs []Pair) {
	toB := x.matcher.match(x.a[s.a:s.aEnd], x.b[s.b:s.bEnd], once)
	n := 0
	for _, j := range toB {
		if j >= 0 {
			n++
		}
	}
	pairs = make([]Pair, 0, n+1)
	for i, j := range toB {
		if j >= 0 {
			pairs = append(pairs, Pair{s.a + i, s.b + int(j)})
		}
	}
	return pairs
}

// ascending returns the longest part of pairs, which ascend in A, that ascends
// in B too.
func ascending(pairs []Pair) []Pair {
	if slices.IsSortedFunc(pairs, func(p, q Pair) int { return cmp.Compare(p.B, q.B) }) {
		return pairs
	}
	tails := make([]int32, 0, len(pairs)) // the pair that ends the best run of each length
	before := make([]int32, len(pairs))
	for i, p := range pairs {
		k := len(tails)
		if k > 0 && pairs[tails[k-1]].B > p.B {
			k = sort.Search(k, func(k int) bool { return pairs[tails[k]].B > p.B })
		}
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

// exact aligns a small span by the table of all its longest common
// subsequences.
func (x *aligner) exact(s span) {
	n, m := s.aEnd-s.a, s.bEnd-s.b
	width := m + 1
	x.lengths = resized(x.lengths, (n+1)*width)
	length := x.lengths
	clear(length)
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if x.a[s.a+i] == x.b[s.b+j] {
				length[i*width+j] = length[(i+1)*width+j+1] + 1
			} else {
				length[i*width+j] = max(length[(i+1)*width+j], length[i*width+j+1])
			}
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		switch {
		case x.a[s.a+i] == x.b[s.b+j]:
			x.pair(s.a+i, s.b+j)
			i++
			j++
		case length[(i+1)*width+j] >= length[i*width+j+1]:
			i++
		default:
			j++
		}
	}
}
