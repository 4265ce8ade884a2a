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

// A pairing says which elements of two arrays belong together.
type pairing struct {
	a, b         []Value
	toB          []int  // for each element of a the one of b, -1 for none
	moved        []bool // elements of a that stand in another order
	taken        []bool // elements of b
	leftA, leftB []int  // those that are not paired
}

// pairElements pairs the elements that are equal, then those that have the same key,
// wherever they stand, then the others by their places between those that did not move.
func pairElements(a, b []Value) *pairing {
	p := &pairing{a: a, b: b, toB: make([]int, len(a)), moved: make([]bool, len(a)), taken: make([]bool, len(b))}
	for i := range p.toB {
		p.toB[i] = -1
	}
	stay := Align(hashes(a), hashes(b))
	p.pair(stay)
	for i, j := range p.toB {
		if j < 0 {
			p.leftA = append(p.leftA, i)
		}
	}
	for j, taken := range p.taken {
		if !taken {
			p.leftB = append(p.leftB, j)
		}
	}
	found := p.match(Value.Hash)
	for rank := range keyNames {
		found = append(found, p.match(func(v Value) uint64 { return v.key(rank) })...)
	}
	found = append(found, p.match(Value.innerKey)...)
	p.byPlace(p.inOrder(stay, found))
	return p
}

func hashes(all []Value) []uint64 {
	out := make([]uint64, len(all))
	for i, v := range all {
		out[i] = v.Hash()
	}
	return out
}

func (p *pairing) pair(pairs []Pair) {
	for _, x := range pairs {
		p.toB[x.A], p.taken[x.B] = x.B, true
	}
}

// match pairs elements that are left and have the same key, the first with the first,
// the second with the second. A key of 0 is none.
func (p *pairing) match(key func(Value) uint64) []Pair {
	if len(p.leftA) == 0 || len(p.leftB) == 0 {
		return nil
	}
	found := counted(keys(p.a, p.leftA, key), keys(p.b, p.leftB, key))
	for k, x := range found {
		found[k] = Pair{p.leftA[x.A], p.leftB[x.B]}
	}
	p.pair(found)
	p.leftA = slices.DeleteFunc(p.leftA, func(i int) bool { return p.toB[i] >= 0 })
	p.leftB = slices.DeleteFunc(p.leftB, func(j int) bool { return p.taken[j] })
	return found
}

func keys(all []Value, at []int, key func(Value) uint64) []uint64 {
	out := make([]uint64, len(at))
	for k, i := range at {
		out[k] = key(all[i])
	}
	return out
}

// inOrder adds to the pairs that stay those of the found ones that stand in the same
// order, and marks the others as moved.
func (p *pairing) inOrder(stay, found []Pair) []Pair {
	if len(found) == 0 {
		return stay
	}
	slices.SortFunc(found, func(x, y Pair) int { return cmp.Compare(x.A, y.A) })
	same := found[:0:0]
	for _, x := range found {
		p.moved[x.A] = true
		a := sort.Search(len(stay), func(k int) bool { return stay[k].A > x.A })
		b := sort.Search(len(stay), func(k int) bool { return stay[k].B > x.B })
		if a == b {
			same = append(same, x)
		}
	}
	if same = ascending(same); len(same) == 0 {
		return stay
	}
	for _, x := range same {
		p.moved[x.A] = false
	}
	stay = append(stay, same...)
	slices.SortFunc(stay, func(x, y Pair) int { return cmp.Compare(x.A, y.A) })
	return stay
}

// byPlace pairs what is left between elements that stay.
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

// between pairs what stands between two elements that stay: those that look alike, and
// between these the first with the first.
func (p *pairing) between(as, bs []int) {
	if len(as) == 0 || len(bs) == 0 {
		return
	}
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

// shapes are the keys of elements, or where they have none what members they have or
// what kind they are. It reports whether any has a key.
func shapes(all []Value, at []int) (shapes []uint64, keyed bool) {
	shapes = make([]uint64, len(at))
	for k, i := range at {
		v := all[i]
		if shapes[k] = v.ownKey(); shapes[k] != 0 {
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

// keyNames are the members by which objects are usually known, the best first.
var keyNames = [...]string{"name", "id", "uri", "uriTemplate", "key"}

// key is a hash of one of these members, 0 if the value has no such member.
func (v Value) key(rank int) uint64 {
	m := v.member(keyNames[rank])
	if m.Kind() != String && m.Kind() != Number {
		return 0
	}
	return mix(m.Hash(), uint64(rank)+1) | 1
}

// ownKey is the best of them, 0 for none.
func (v Value) ownKey() uint64 {
	for rank := range keyNames {
		if key := v.key(rank); key != 0 {
			return key
		}
	}
	return 0
}

// maxInner is how many values inside another are searched for a key.
const maxInner = 32

// innerKey is the first key inside a value that has none of its own, 0 for none.
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
