package jsontree

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
)

// A Pair holds the indexes of an element in each of two lists that correspond.
type Pair struct{ A, B int }

const (
	// maxLevels is the maximum recursion depth of the search for anchors.
	maxLevels = 8
	// maxCells is the maximum size of the table that aligns a stretch exactly.
	maxCells = 4096
)

// Align returns a long common subsequence of two lists of hashes, in nearly linear time:
// the common prefix and suffix, the elements that are unique in both lists and in the
// same order (patience diff), and recursively the same between these. Short stretches are
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

// stretch aligns the elements between two positions.
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

// exact finds a longest common subsequence by dynamic programming.
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
	type count struct{ inA, inB, b int }
	counts := make(map[uint64]count, len(b))
	for j, h := range b {
		counts[h] = count{inB: counts[h].inB + 1, b: j}
	}
	for _, h := range a {
		if c, ok := counts[h]; ok {
			c.inA++
			counts[h] = c
		}
	}
	for i, h := range a {
		if c := counts[h]; c.inA == 1 && c.inB == 1 {
			pairs = append(pairs, Pair{i, c.b})
		}
	}
	return pairs
}

// counted pairs equal elements, the first with the first, the second with the second, in
// the order of a. Zero elements have no counterpart.
func counted(a, b []uint64) (pairs []Pair) {
	first := make(map[uint64]int32, len(b)) // the next index in b, plus one
	later := make([]int32, len(b))          // for each element of b, the next equal one, plus one
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

// ascending returns the longest subsequence of pairs that ascends in B too; pairs ascend in
// A.
func ascending(pairs []Pair) (best []Pair) {
	tails := make([]int32, 0, len(pairs)) // the last pair of the best run of each length
	before := make([]int32, len(pairs))   // the pair before each pair in its run, -1 if none
	for i, p := range pairs {
		k := sort.Search(len(tails), func(k int) bool { return pairs[tails[k]].B > p.B })
		if k == len(tails) {
			tails = append(tails, 0)
		}
		tails[k], before[i] = int32(i), -1
		if k > 0 {
			before[i] = tails[k-1]
		}
	}
	if len(tails) > 0 {
		for i := tails[len(tails)-1]; i >= 0; i = before[i] {
			best = append(best, pairs[i])
		}
	}
	slices.Reverse(best)
	return best
}

// A pairing records which elements of two arrays correspond.
type pairing struct {
	a, b         []Value
	toB          []int  // for each element of a the index in b, -1 for none
	moved        []bool // elements of a whose order changed
	taken        []bool // elements of b that are paired
	leftA, leftB []int  // elements that are not paired
}

// pairElements pairs the elements that are equal, then those with the same key at any
// index, then the others by their positions between those that did not move.
func pairElements(a, b []Value) *pairing {
	p := &pairing{a: a, b: b, toB: slices.Repeat([]int{-1}, len(a)), moved: make([]bool, len(a)), taken: make([]bool, len(b))}
	for i := range a {
		p.leftA = append(p.leftA, i)
	}
	for j := range b {
		p.leftB = append(p.leftB, j)
	}
	stay := Align(keys(a, p.leftA, Value.Hash), keys(b, p.leftB, Value.Hash))
	p.pair(stay)
	p.drop()
	found := p.match(Value.Hash)
	for rank := range keyNames {
		found = append(found, p.match(func(v Value) uint64 { return v.key(rank) })...)
	}
	found = append(found, p.match(Value.innerKey)...)
	p.byPlace(p.inOrder(stay, found))
	return p
}

func (p *pairing) pair(pairs []Pair) {
	for _, x := range pairs {
		p.toB[x.A], p.taken[x.B] = x.B, true
	}
}

// drop removes the paired elements from those that are left.
func (p *pairing) drop() {
	p.leftA = slices.DeleteFunc(p.leftA, func(i int) bool { return p.toB[i] >= 0 })
	p.leftB = slices.DeleteFunc(p.leftB, func(j int) bool { return p.taken[j] })
}

// match pairs the unpaired elements with the same key, the first with the first, the
// second with the second. A key of 0 means none.
func (p *pairing) match(key func(Value) uint64) []Pair {
	if len(p.leftA) == 0 || len(p.leftB) == 0 {
		return nil
	}
	found := counted(keys(p.a, p.leftA, key), keys(p.b, p.leftB, key))
	for k, x := range found {
		found[k] = Pair{p.leftA[x.A], p.leftB[x.B]}
	}
	p.pair(found)
	p.drop()
	return found
}

func keys(all []Value, at []int, key func(Value) uint64) []uint64 {
	out := make([]uint64, len(at))
	for k, i := range at {
		out[k] = key(all[i])
	}
	return out
}

// inOrder adds the found pairs that keep their order to those that stay, and marks the
// rest as moved.
func (p *pairing) inOrder(stay, found []Pair) []Pair {
	slices.SortFunc(found, compareA)
	var same []Pair
	for _, x := range found {
		p.moved[x.A] = true
		a := sort.Search(len(stay), func(k int) bool { return stay[k].A > x.A })
		b := sort.Search(len(stay), func(k int) bool { return stay[k].B > x.B })
		if a == b {
			same = append(same, x)
		}
	}
	for _, x := range ascending(same) {
		p.moved[x.A] = false
		stay = append(stay, x)
	}
	slices.SortFunc(stay, compareA)
	return stay
}

func compareA(x, y Pair) int { return cmp.Compare(x.A, y.A) }

// byPlace pairs the unpaired elements between those that stay.
func (p *pairing) byPlace(stay []Pair) {
	as, bs := p.leftA, p.leftB
	for _, s := range append(stay, Pair{len(p.a), len(p.b)}) {
		i, j := sort.SearchInts(as, s.A), sort.SearchInts(bs, s.B)
		p.between(as[:i], bs[:j])
		if as, bs = as[i:], bs[j:]; len(as) == 0 || len(bs) == 0 {
			return
		}
	}
}

// between pairs the elements between two that stay: those with the same shape, and between
// these the first with the first.
func (p *pairing) between(as, bs []int) {
	shapesA, keyedA := shapes(p.a, as)
	shapesB, keyedB := shapes(p.b, bs)
	var alike []Pair
	if keyedA || keyedB || len(as) != len(bs) {
		alike = Align(shapesA, shapesB)
	}
	i, j := 0, 0
	for _, x := range append(alike, Pair{len(as), len(bs)}) {
		for ; i < x.A && j < x.B; i, j = i+1, j+1 {
			v, w := p.a[as[i]], p.b[bs[j]]
			if v.Kind() == w.Kind() && (v.ownKey() == 0 || w.ownKey() == 0) {
				p.pair([]Pair{{as[i], bs[j]}})
			}
		}
		if x.A < len(as) {
			p.pair([]Pair{{as[x.A], bs[x.B]}})
		}
		i, j = x.A+1, x.B+1
	}
}

// shapes returns the keys of elements or, for elements without a key, a hash of their kind
// and the names of their members. It reports whether any has a key.
func shapes(all []Value, at []int) (shapes []uint64, keyed bool) {
	shapes = keys(all, at, Value.ownKey)
	for k, i := range at {
		v := all[i]
		if shapes[k] != 0 {
			keyed = true
			continue
		}
		shapes[k] = mix(uint64(v.Kind()), seeds.array)
		if v.Kind() == Object {
			for m := range v.children() {
				shapes[k] += mix(m.node().name, seeds.null)
			}
		}
	}
	return shapes, keyed
}

// keyNames are the members that usually identify an object, the best first.
var keyNames = [...]string{"name", "id", "uri", "uriTemplate", "key"}

// key returns a hash of one of these members, 0 if there is none.
func (v Value) key(rank int) uint64 {
	m := v.member(keyNames[rank])
	if m.Kind() != String && m.Kind() != Number {
		return 0
	}
	return mix(m.Hash(), uint64(rank)+1) | 1
}

// ownKey returns the best of these, 0 for none. A UUID that no other element has is likely to be new on
// each run, so it does not count.
func (v Value) ownKey() uint64 {
	for rank, name := range keyNames {
		if key := v.key(rank); key != 0 && !v.member(name).isUUID() {
			return key
		}
	}
	return 0
}

// isUUID reports whether the value is a UUID in text, with or without its hyphens.
func (v Value) isUUID() bool {
	if v.Kind() != String {
		return false
	}
	text := v.text()
	if len(text) == 36 && text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-' {
		text = bytes.ReplaceAll(text, []byte("-"), nil)
	}
	return len(text) == 32 && len(bytes.Trim(text, "0123456789abcdefABCDEF")) == 0
}

// maxInner is the number of descendants that are searched for a key.
const maxInner = 32

// innerKey returns the first key of a descendant of a value without one, 0 for none.
func (v Value) innerKey() uint64 {
	if v.Kind() < Array || v.ownKey() != 0 {
		return 0
	}
	for i := v.i + 1; i < min(v.node().next, v.i+maxInner); i++ {
		w := Value{v.doc, i}
		if w.node().nameTo == 0 || w.Kind() != String && w.Kind() != Number {
			continue
		}
		for rank, name := range keyNames {
			if w.is(name) {
				return mix(w.Hash(), uint64(rank)+1) | 1
			}
		}
	}
	return 0
}
