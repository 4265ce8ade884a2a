package tree

import "slices"

// arrays compares two arrays that differ. What is the same is aligned; what is
// left between is paired by what it calls itself, else by its place.
func (c *comparer) arrays(a, b Value) {
	first, firstPlace, firstTaken := len(c.scratch), len(c.places), len(c.taken)
	c.scratch = slices.Grow(c.scratch, a.Len()+b.Len())
	la, lb := c.children(a), c.children(b)
	ops := arrayOps{a: la, b: lb}
	ops.toB, c.places = pushed(c.places, len(la))
	ops.takenB, c.taken = pushed(c.taken, len(lb))
	ops.align(c)
	for i, x := range la {
		if c.over {
			break
		}
		j := ops.toB[i]
		c.path = append(c.path, Step{Kind: Element, Index: i})
		switch {
		case j == gone:
			c.told(Removed, x, Value{})
		case j < 0:
			c.moved(x, lb[-j-movedBase], -j-movedBase)
		default:
			c.compare(x, lb[j])
		}
		c.path = c.path[:len(c.path)-1]
	}
	for j, y := range lb {
		if !ops.takenB[j] && !c.over {
			c.path = append(c.path, Step{Kind: Element, Index: j})
			c.told(Added, Value{}, y)
			c.path = c.path[:len(c.path)-1]
		}
	}
	c.scratch, c.places, c.taken = c.scratch[:first], c.places[:firstPlace], c.taken[:firstTaken]
}

// pushed makes room for n more on a stack, and empties it.
func pushed[T any](stack []T, n int) (list, grown []T) {
	first := len(stack)
	stack = slices.Grow(stack, n)[:first+n]
	list = stack[first : first+n : first+n]
	clear(list)
	return list, stack
}

func (c *comparer) moved(x, y Value, to int) {
	if c.over {
		return
	}
	c.change = Change{Kind: Moved, Path: c.path, A: x, B: y, To: to}
	c.over = !c.tell(&c.change)
}

const (
	// gone is the place of an element that is not there after.
	gone = -1
	// movedBase is what the place of one that was moved is told apart by: it is
	// kept as -(place + movedBase).
	movedBase = 2
)

// arrayOps is what becomes of each element of an array.
type arrayOps struct {
	a, b   []Value
	toB    []int
	takenB []bool
}

func (o *arrayOps) align(c *comparer) {
	for i := range o.toB {
		o.toB[i] = gone
	}
	var left span
	ha, hb := c.hashesOf(o.a, o.b)
	c.pairs = append(c.aligner.align(ha, hb, c.pairs), Pair{len(o.a), len(o.b)})
	for _, p := range c.pairs {
		left.aEnd, left.bEnd = p.A, p.B
		o.between(c, left)
		if p.A < len(o.a) {
			o.pair(p.A, p.B)
		}
		left.a, left.b = p.A+1, p.B+1
	}
	o.findMoved(c)
}

func (o *arrayOps) pair(i, j int) { o.toB[i], o.takenB[j] = j, true }

// hashesOf lists the hashes of two lists.
func (c *comparer) hashesOf(a, b []Value) (ha, hb []uint64) {
	c.hashes = slices.Grow(c.hashes[:0], len(a)+len(b))
	for i := range a {
		c.hashes = append(c.hashes, a[i].Hash())
	}
	for i := range b {
		c.hashes = append(c.hashes, b[i].Hash())
	}
	return c.hashes[:len(a):len(a)], c.hashes[len(a):]
}

// between pairs what stands between two elements that are the same.
func (o *arrayOps) between(c *comparer, s span) {
	n, m := s.aEnd-s.a, s.bEnd-s.b
	if n == 0 || m == 0 {
		return
	}
	c.ids = resized(c.ids, n+m)
	ha, hb := c.ids[:n:n], c.ids[n:]
	named, namedB := identities(o.a[s.a:s.aEnd], ha), identities(o.b[s.b:s.bEnd], hb)
	if n == m && !named && !namedB {
		for k := range n {
			o.pairLike(s.a+k, s.b+k)
		}
		return
	}
	at, bt := 0, 0
	c.within = append(c.aligner.align(ha, hb, c.within), Pair{n, m})
	for _, p := range c.within {
		for at < p.A && bt < p.B {
			o.pairLike(s.a+at, s.b+bt)
			at++
			bt++
		}
		if p.A < n {
			o.pair(s.a+p.A, s.b+p.B)
		}
		at, bt = p.A+1, p.B+1
	}
}

// pairLike pairs two elements unless they are of different kinds, or call
// themselves by other names altogether.
func (o *arrayOps) pairLike(i, j int) {
	x, y := o.a[i], o.b[j]
	if x.Kind() != y.Kind() {
		return
	}
	if nx, ny := identity(x), identity(y); nx != ny && nx != 0 && ny != 0 && !sameInPart(x, y) {
		return
	}
	o.pair(i, j)
}

// sameInPart reports whether two objects have one of the members in common by
// which they may be known: the id where the name has changed, say.
func sameInPart(x, y Value) bool {
	for _, name := range identityNames {
		if v := x.member(name); v.Exists() && v.Equal(y.member(name)) {
			return true
		}
	}
	return false
}

// identities are what elements call themselves. Where they do not, it is what
// members they have, or what kind they are. It reports whether any does.
func identities(all []Value, ids []uint64) (named bool) {
	for i, v := range all {
		if ids[i] = identity(v); ids[i] != 0 {
			named = true
			continue
		}
		ids[i] = mix(uint64(v.Kind()), seeds.array)
		if v.Kind() == Object {
			for m := range v.Children() {
				ids[i] += mix(m.node().name, seeds.null)
			}
		}
	}
	return named
}

// identity is the hash of the member by which an object is usually known, 0 if
// it has none.
func identity(v Value) uint64 {
	if v.Kind() != Object {
		return 0
	}
	best, rank := Value{}, len(identityNames)
	for m := range v.Children() {
		for r, name := range identityNames[:rank] {
			if (m.Kind() == String || m.Kind() == Number) && m.is(name) {
				best, rank = m, r
				break
			}
		}
	}
	if rank == len(identityNames) {
		return 0
	}
	return mix(best.Hash(), uint64(rank)+1) | 1
}

var identityNames = [...]string{"name", "id", "uri", "uriTemplate", "key"}

// findMoved finds elements that are gone in one place and new in another.
func (o *arrayOps) findMoved(c *comparer) {
	c.hashes = c.hashes[:0] // there is room for all of both
	for i := range o.a {
		if o.toB[i] == gone {
			c.hashes = append(c.hashes, o.a[i].Hash())
		}
	}
	n, m := len(c.hashes), 0
	for j := range o.b {
		if !o.takenB[j] {
			c.hashes = append(c.hashes, o.b[j].Hash())
			m++
		}
	}
	if n == 0 || m == 0 {
		return
	}
	places := make([]int32, 0, m)
	for j := range o.b {
		if !o.takenB[j] {
			places = append(places, int32(j))
		}
	}
	toB := c.aligner.matcher.match(c.hashes[:n:n], c.hashes[n:], false)
	for i := range o.a {
		if o.toB[i] != gone {
			continue
		}
		if at := toB[0]; at >= 0 {
			j := int(places[at])
			o.takenB[j] = true
			o.toB[i] = -j - movedBase
		}
		toB = toB[1:]
	}
}
