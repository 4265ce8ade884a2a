package jsontree

import (
	"cmp"
	"slices"
	"sort"
)

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
