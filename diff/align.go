package diff

import (
	"cmp"
	"slices"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap/session"
)

// A pair is a call of both sides, or of one.
type pair struct {
	a, b *unit
	// up is the pair of the calls that these were asked within, nil if none.
	up *pair
	// asked are the calls within it.
	asked []*pair
	// rest are notes of each side that the other does not have.
	rest [2][]*note
	// elsewhere reports that it was asked within a call on the other side.
	elsewhere bool
	// opens reports that the calls open their sessions: see document.
	opens bool
	// worst is the highest class of a difference in it, told reports that there is
	// one.
	worst Class
	told  bool
	// differences are those in it, by their places in the report, where the
	// calls are listed.
	differences []int
}

// one is the unit on either side.
func (p *pair) one() *unit {
	if p.a != nil {
		return p.a
	}
	return p.b
}

// alignUnits pairs calls: those that ask for the same, then those that ask it of
// the same tool, prompt or resource, then those with the same method and
// arguments. Pairs come in the order of the first list, with those that are only
// in the second where they stand there.
func alignUnits(as, bs []*unit) []*pair {
	x := aligner{as: as, bs: bs, toB: make([]int, len(as)), takenB: make([]bool, len(bs))}
	for i := range x.toB {
		x.toB[i] = -1
	}
	x.by(func(u *unit) (uint64, bool) { return u.key, true })
	x.by(func(u *unit) (uint64, bool) { return u.weak, true })
	x.renamed()
	return x.pairs()
}

// renamed pairs calls of the same method with the same arguments, of tools,
// prompts and resources that the other side never uses.
func (x *aligner) renamed() {
	inA, inB := map[uint64]bool{}, map[uint64]bool{}
	for _, u := range x.as {
		inA[u.weak] = true
	}
	for _, u := range x.bs {
		inB[u.weak] = true
	}
	x.by(func(u *unit) (uint64, bool) {
		return jsontree.Mix(jsontree.HashString(u.method), u.args+uint64(u.lane)), !inA[u.weak] || !inB[u.weak]
	})
}

type aligner struct {
	as, bs []*unit
	toB    []int
	takenB []bool
}

// places are those of the units with one key.
type places struct{ a, b []int }

// by pairs the units that are left and have one key, of those that have any.
func (x *aligner) by(keyOf func(*unit) (key uint64, ok bool)) {
	groups := map[uint64]*places{}
	var order []*places
	group := func(key uint64) *places {
		g := groups[key]
		if g == nil {
			g = &places{}
			groups[key] = g
			order = append(order, g)
		}
		return g
	}
	for i, u := range x.as {
		if key, ok := keyOf(u); ok && x.toB[i] < 0 {
			g := group(key)
			g.a = append(g.a, i)
		}
	}
	for j, u := range x.bs {
		if key, ok := keyOf(u); ok && !x.takenB[j] {
			g := group(key)
			g.b = append(g.b, j)
		}
	}
	for _, g := range order {
		x.group(g)
	}
}

// group pairs the first with the first, the second with the second. Where one
// side has more, the answers tell which are missing.
func (x *aligner) group(g *places) {
	if len(g.a) == len(g.b) {
		for k := range g.a {
			x.pair(g.a[k], g.b[k])
		}
		return
	}
	if len(g.a) == 0 || len(g.b) == 0 {
		return
	}
	i, j := 0, 0
	same := jsontree.Align(answers(x.as, g.a), answers(x.bs, g.b))
	for _, p := range append(same, jsontree.Pair{A: len(g.a), B: len(g.b)}) {
		for i < p.A && j < p.B {
			x.pair(g.a[i], g.b[j])
			i++
			j++
		}
		if p.A < len(g.a) {
			x.pair(g.a[p.A], g.b[p.B])
		}
		i, j = p.A+1, p.B+1
	}
}

func answers(units []*unit, at []int) []uint64 {
	all := make([]uint64, len(at))
	for k, i := range at {
		all[k] = units[i].answer.value
	}
	return all
}

func (x *aligner) pair(i, j int) { x.toB[i], x.takenB[j] = j, true }

func (x *aligner) pairs() []*pair {
	type placed struct {
		*pair
		after, tie int
	}
	all := make([]placed, 0, max(len(x.as), len(x.bs)))
	toA := make([]int, len(x.bs))
	for i, u := range x.as {
		p := &pair{a: u}
		if j := x.toB[i]; j >= 0 {
			p.b, toA[j] = x.bs[j], i
		}
		all = append(all, placed{p, i, -1})
	}
	after := -1
	for j, u := range x.bs {
		if x.takenB[j] {
			after = toA[j]
			continue
		}
		all = append(all, placed{&pair{b: u}, after, j})
	}
	slices.SortFunc(all, func(p, q placed) int { return cmp.Or(cmp.Compare(p.after, q.after), cmp.Compare(p.tie, q.tie)) })
	pairs := make([]*pair, len(all))
	for i := range all {
		pairs[i] = all[i].pair
	}
	return pairs
}

// refs returns the first requests of a pair.
func (p *pair) refs() (a, b session.Ref) {
	if p == nil {
		return a, b
	}
	if p.a != nil {
		a = p.a.ref
	}
	if p.b != nil {
		b = p.b.ref
	}
	return a, b
}
