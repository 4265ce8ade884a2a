package tree

import "sort"

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
	x := aligner{a: a, b: b, toB: make([]int32, len(a))}
	x.stretch(span{0, len(a), 0, len(b)}, 0)
	pairs := make([]Pair, 0, x.count)
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
	toB   []int32
	count int
	index table
	slots []*tableEntry
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
	anchors := ascending(x.unique(s))
	if len(anchors) == 0 || level == alignLevels {
		x.all(ascending(x.counted(s)))
		return
	}
	x.all(anchors)
	for _, p := range append(anchors, Pair{s.aEnd, s.bEnd}) {
		x.stretch(span{s.a, p.A, s.b, p.B}, level+1)
		s.a, s.b = p.A+1, p.B+1
	}
}

// unique pairs the elements that occur once on both sides of a span, in the
// order of the first.
func (x *aligner) unique(s span) (pairs []Pair) {
	x.index.reset(s.aEnd - s.a)
	x.slots = x.slots[:0]
	for i := s.a; i < s.aEnd; i++ {
		e := x.index.entry(x.a[i])
		e.a = min(e.a+1, 2)
		x.slots = append(x.slots, e)
	}
	for j := s.b; j < s.bEnd; j++ {
		if e := x.index.find(x.b[j]); e != nil {
			e.b = min(e.b+1, 2)
			e.at = int32(j)
		}
	}
	for i, e := range x.slots {
		if e.a == 1 && e.b == 1 {
			pairs = append(pairs, Pair{s.a + i, int(e.at)})
		}
	}
	return pairs
}

// counted pairs the first of equal elements with the first, the second with the
// second, and so on.
func (x *aligner) counted(s span) (pairs []Pair) {
	n := s.bEnd - s.b
	x.index.reset(n)
	// later links each element with the next equal one.
	later := make([]int32, n)
	for j := n - 1; j >= 0; j-- {
		e := x.index.entry(x.b[s.b+j])
		later[j], e.at = e.at, int32(j)+1
	}
	for i := s.a; i < s.aEnd; i++ {
		if e := x.index.find(x.a[i]); e != nil && e.at > 0 {
			j := int(e.at) - 1
			pairs = append(pairs, Pair{i, s.b + j})
			e.at = later[j]
		}
	}
	return pairs
}

// ascending returns the longest part of pairs, which ascend in A, that ascends
// in B too.
func ascending(pairs []Pair) []Pair {
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
	if len(tails) == 0 {
		return nil
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
	length := make([]uint16, (n+1)*width)
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
