package diff

import (
	"cmp"
	"slices"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// A pair is a call of both sides, or of one.
type pair struct {
	a, b *call
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

// one returns the call of either side.
func (p *pair) one() *call {
	if p.a != nil {
		return p.a
	}
	return p.b
}

// alignCalls pairs calls: those that ask for the same, then those that ask it of
// the same tool, prompt or resource, then those with the same method and
// arguments. Pairs come in the order of the first list, with those that are only
// in the second where they stand there.
func alignCalls(as, bs []*call) []*pair {
	x := aligner{as: as, bs: bs, toB: make([]int, len(as)), takenB: make([]bool, len(bs))}
	for i := range x.toB {
		x.toB[i] = -1
	}
	x.by(func(u *call) (uint64, bool) { return u.key, true })
	x.by(func(u *call) (uint64, bool) { return u.weak, true })
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
	x.by(func(u *call) (uint64, bool) {
		return jsontree.Mix(jsontree.HashString(u.method), u.args+uint64(u.lane)), !inA[u.weak] || !inB[u.weak]
	})
}

type aligner struct {
	as, bs []*call
	toB    []int
	takenB []bool
}

// places are those of the units with one key.
type places struct{ a, b []int }

// by pairs the units that are left and have one key, of those that have any.
func (x *aligner) by(keyOf func(*call) (key uint64, ok bool)) {
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

func answers(units []*call, at []int) []uint64 {
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

// A leftover is a notification, or a call that the server asked, that the other side
// does not have within the same call.
type leftover struct {
	value uint64
	at    *pair
	note  *note
	asked *call // nil for a note
	guess bool  // where it belongs is not certain
	taken bool
}

// A pool holds the leftovers of both sides.
type pool [2][]leftover

// matchInside pairs what is inside of calls: what the server asked within them, and
// their notifications. What is left over in one call, or belongs to none, may be that
// of another one on the other side, if it is a guess where it belongs. Loose takes the
// messages as and bs, which belong to no call.
func matchInside(pairs []*pair, loose *pair, as, bs []note) {
	var x pool
	for _, p := range pairs {
		x.add(p)
	}
	if loose != nil {
		x.addNotes(loose, as, bs)
	}
	x.match()
	left := map[*pair]*[2][]*call{}
	for side := range x {
		for _, l := range x[side] {
			switch {
			case l.taken:
			case l.note != nil:
				l.at.rest[side] = append(l.at.rest[side], l.note)
			case l.asked.parent != nil:
				if left[l.at] == nil {
					left[l.at] = &[2][]*call{}
				}
				left[l.at][side] = append(left[l.at][side], l.asked)
			}
		}
	}
	var inner []*pair
	for _, p := range pairs {
		if rest := left[p]; rest != nil {
			for _, q := range alignCalls(rest[0], rest[1]) {
				q.up = p
				p.asked = append(p.asked, q)
			}
		}
		inner = append(inner, p.asked...)
	}
	if len(inner) > 0 {
		matchInside(inner, nil, nil, nil)
	}
}

// add pairs what is the same within a pair of calls, in order, and adds the rest. Of a
// call on one side only, all is missing, but the server may have asked it within a
// call on the other side.
func (x *pool) add(p *pair) {
	if p.a == nil || p.b == nil {
		if u := p.one(); u.parent == nil && u.lane == tap.ToClient {
			side := 0
			if p.a == nil {
				side = 1
			}
			x[side] = append(x[side], leftover{value: u.key, guess: true, asked: u, at: p})
		}
		return
	}
	x.addNotes(p, p.a.notes, p.b.notes)
	as, bs := withoutPings(p.a.asked, p.b.asked)
	same := map[uint64][]*call{}
	for _, u := range bs {
		same[u.key] = append(same[u.key], u)
	}
	for _, u := range as {
		if both := same[u.key]; len(both) > 0 {
			same[u.key] = both[1:]
			p.asked = append(p.asked, &pair{a: u, b: both[0], up: p})
			continue
		}
		x[0] = append(x[0], leftover{value: u.key, guess: u.guess, asked: u, at: p})
	}
	for _, u := range bs {
		if rest := same[u.key]; len(rest) > 0 && rest[0] == u {
			same[u.key] = rest[1:]
			x[1] = append(x[1], leftover{value: u.key, guess: u.guess, asked: u, at: p})
		}
	}
}

// addNotes adds the notes that each list has more of than the other.
func (x *pool) addNotes(p *pair, as, bs []note) {
	for side, notes := range surplus(as, bs) {
		for _, n := range notes {
			loose := p.one() == nil && (n.role == session.RoleLog || n.role == session.RoleUnsolicited)
			x[side] = append(x[side], leftover{value: n.same(), guess: n.guess || loose, note: n, at: p})
		}
	}
}

// match pairs leftovers of one value, if it is a guess where one of the two belongs.
func (x *pool) match() {
	if len(x[0]) == 0 || len(x[1]) == 0 {
		return
	}
	sure, guessed := map[uint64][]*leftover{}, map[uint64][]*leftover{}
	for i := range x[1] {
		to, l := sure, &x[1][i]
		if l.guess {
			to = guessed
		}
		to[l.value] = append(to[l.value], l)
	}
	take := func(a *leftover, from map[uint64][]*leftover) bool {
		same := from[a.value]
		if len(same) > 0 {
			from[a.value] = same[1:]
			a.join(same[0])
		}
		return len(same) > 0
	}
	for i := range x[0] {
		if a := &x[0][i]; !take(a, guessed) && a.guess {
			take(a, sure)
		}
	}
}

// join pairs two leftovers. Questions are compared within the call of the first side, if
// they were asked within one there.
func (l *leftover) join(with *leftover) {
	l.taken, with.taken = true, true
	if l.asked == nil {
		return
	}
	p := l.at
	if l.asked.parent == nil {
		l.at.elsewhere, p = true, with.at
	} else if with.asked.parent == nil {
		with.at.elsewhere = true
	}
	p.asked = append(p.asked, &pair{a: l.asked, b: with.asked, up: p})
}

// surplus returns the notes of each list that the other does not have as often: the last
// ones.
func surplus(as, bs []note) (rest [2][]*note) {
	if sameNotes(as, bs) {
		return rest
	}
	lists := [2][]note{as, bs}
	for side := range lists {
		left, other := map[uint64]int{}, lists[1-side]
		for i := range other {
			left[other[i].same()]++
		}
		for i := range lists[side] {
			n := &lists[side][i]
			if left[n.same()]--; left[n.same()] < 0 {
				rest[side] = append(rest[side], n)
			}
		}
	}
	return rest
}

// sameNotes is the usual case.
func sameNotes(as, bs []note) bool {
	return slices.EqualFunc(as, bs, func(a, b note) bool { return a.same() == b.same() })
}
