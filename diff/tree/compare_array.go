package tree

// arrays compares two arrays that differ. What is the same is aligned; what is
// left between is paired by what it calls itself, else by its place.
func (c *comparer) arrays(a, b Value) {
	first := len(c.scratch)
	la := c.children(a)
	lb := c.children(b)
	ops := arrayOps{a: la, b: lb, toB: make([]int, len(la)), takenB: make([]bool, len(lb))}
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
			c.at(Step{Kind: Element, Index: j}, func() { c.told(Added, Value{}, y) })
		}
	}
	c.scratch = c.scratch[:first]
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
	pairs := Align(c.hashesOf(o.a, o.b))
	for _, p := range append(pairs, Pair{len(o.a), len(o.b)}) {
		left.aEnd, left.bEnd = p.A, p.B
		o.between(left)
		if p.A < len(o.a) {
			o.pair(p.A, p.B)
		}
		left.a, left.b = p.A+1, p.B+1
	}
	o.findMoved()
}

func (o *arrayOps) pair(i, j int) { o.toB[i], o.takenB[j] = j, true }

// hashesOf lists the hashes of two lists.
func (c *comparer) hashesOf(a, b []Value) (ha, hb []uint64) {
	c.hashes = c.hashes[:0]
	for i := range a {
		c.hashes = append(c.hashes, a[i].Hash())
	}
	for i := range b {
		c.hashes = append(c.hashes, b[i].Hash())
	}
	return c.hashes[:len(a):len(a)], c.hashes[len(a):]
}

// between pairs what stands between two elements that are the same.
func (o *arrayOps) between(s span) {
	n, m := s.aEnd-s.a, s.bEnd-s.b
	if n == 0 || m == 0 {
		return
	}
	ha, named := identities(o.a[s.a:s.aEnd])
	hb, namedB := identities(o.b[s.b:s.bEnd])
	if n == m && !named && !namedB {
		for k := range n {
			o.pairLike(s.a+k, s.b+k)
		}
		return
	}
	at, bt := 0, 0
	for _, p := range append(Align(ha, hb), Pair{n, m}) {
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
// members they have, or what kind they are. Named reports whether any does.
func identities(all []Value) (ids []uint64, named bool) {
	ids = make([]uint64, len(all))
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
	return ids, named
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
func (o *arrayOps) findMoved() {
	var added table
	count := 0
	for j := range o.b {
		if !o.takenB[j] {
			count++
		}
	}
	if count == 0 {
		return
	}
	added.reset(count)
	later := make([]int32, len(o.b))
	for j := len(o.b) - 1; j >= 0; j-- {
		if !o.takenB[j] {
			e := added.entry(o.b[j].Hash())
			later[j], e.at = e.at, int32(j)+1
		}
	}
	for i, x := range o.a {
		if o.toB[i] != gone {
			continue
		}
		if e := added.find(x.Hash()); e != nil && e.at > 0 {
			j := int(e.at) - 1
			e.at = later[j]
			o.takenB[j] = true
			o.toB[i] = -j - movedBase
		}
	}
}
