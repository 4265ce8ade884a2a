package diff

import (
	"slices"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// A pair is a call on both sides, or on one.
type pair struct {
	a, b *call
	// up is the pair in which it is nested, nil for none. asked are the pairs nested in it.
	up    *pair
	asked []*pair
	// rest are the notes on each side without a counterpart.
	rest [2][]*note
	// nested reports that the other side has this call nested in another one.
	nested bool
	// opens reports that the calls open their sessions; see document.
	opens bool
	// differs reports that there is a difference in it. worst is the highest class.
	// differences are indexes in the report, if calls are listed.
	differs     bool
	worst       Class
	differences []int
}

// one returns the call of either side.
func (p *pair) one() *call {
	if p.a != nil {
		return p.a
	}
	return p.b
}

// refs returns the first requests of a pair.
func (p *pair) refs() (a, b session.Ref) {
	if p.a != nil {
		a = p.a.ref
	}
	if p.b != nil {
		b = p.b.ref
	}
	return a, b
}

// alignCalls pairs calls: equal ones, then those of the same tool, prompt or resource, then those
// with the same method and arguments. Pairs are in the order of the first list. Calls that only
// the second list has follow the pair that precedes them there.
func alignCalls(as, bs []*call) (pairs []*pair) {
	x := aligner{as: as, bs: bs, toB: slices.Repeat([]int{-1}, len(as)), toA: slices.Repeat([]int{-1}, len(bs))}
	x.by(func(u *call) (uint64, bool) { return u.key, true })
	x.by(func(u *call) (uint64, bool) { return u.weak, true })
	// Renamed tools, prompts and resources: the other side never uses them.
	inA, inB := map[uint64]bool{}, map[uint64]bool{}
	for _, u := range as {
		inA[u.weak] = true
	}
	for _, u := range bs {
		inB[u.weak] = true
	}
	x.by(func(u *call) (uint64, bool) {
		return jsontree.Mix(jsontree.HashString(u.method), u.args+uint64(u.lane)), !inA[u.weak] || !inB[u.weak]
	})
	extra, after := map[int][]*pair{}, -1 // by index in as
	for j, u := range bs {
		if x.toA[j] >= 0 {
			after = x.toA[j]
			continue
		}
		extra[after] = append(extra[after], &pair{b: u})
	}
	pairs = extra[-1]
	for i, u := range as {
		p := &pair{a: u}
		if j := x.toB[i]; j >= 0 {
			p.b = bs[j]
		}
		pairs = append(append(pairs, p), extra[i]...)
	}
	return pairs
}

type aligner struct {
	as, bs   []*call
	toB, toA []int // the counterparts, -1 for none
}

// by pairs the remaining calls with the same key.
func (x *aligner) by(keyOf func(*call) (key uint64, ok bool)) {
	group := func(calls []*call, to []int) (keys []uint64, groups map[uint64][]int) {
		groups = map[uint64][]int{}
		for i, u := range calls {
			if key, ok := keyOf(u); ok && to[i] < 0 {
				if groups[key] == nil {
					keys = append(keys, key)
				}
				groups[key] = append(groups[key], i)
			}
		}
		return keys, groups
	}
	keys, inA := group(x.as, x.toB)
	_, inB := group(x.bs, x.toA)
	for _, key := range keys {
		x.group(inA[key], inB[key])
	}
}

// group pairs calls in order. If one side has more, the responses decide which are unpaired.
func (x *aligner) group(a, b []int) {
	var same []jsontree.Pair
	if len(a) != len(b) {
		same = jsontree.Align(answers(x.as, a), answers(x.bs, b))
	}
	i, j := 0, 0
	for _, p := range append(same, jsontree.Pair{A: len(a), B: len(b)}) {
		for ; i < p.A && j < p.B; i, j = i+1, j+1 {
			x.pair(a[i], b[j])
		}
		if p.A < len(a) {
			x.pair(a[p.A], b[p.B])
		}
		i, j = p.A+1, p.B+1
	}
}

func answers(calls []*call, at []int) []uint64 {
	all := make([]uint64, len(at))
	for k, i := range at {
		all[k] = calls[i].answer.value
	}
	return all
}

func (x *aligner) pair(i, j int) { x.toB[i], x.toA[j] = j, i }

// A leftover is a notification or a nested call without a counterpart in the same call.
type leftover struct {
	value uint64
	at    *pair
	note  *note
	asked *call // nil for a note
	guess bool  // it is uncertain to which call it belongs
	taken bool
}

// A pool holds the leftovers of both sides.
type pool [2][]leftover

// matchInside pairs the nested calls and the notes of calls. A leftover whose call is a guess may
// have its counterpart in another call. The notes as and bs, which belong to no call, are added
// to loose.
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

// add pairs equal nested calls of a pair of calls, in order, and adds the rest to the pool. A
// server request on only one side may be nested in a call on the other side.
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
	left := map[*call]bool{}
	for side, calls := range surplus(as, bs, func(u *call) uint64 { return u.key }, func(u *call) bool { return u.guess }) {
		for _, u := range calls {
			left[u] = true
			x[side] = append(x[side], leftover{value: u.key, guess: u.guess, asked: u, at: p})
		}
	}
	same := map[uint64][]*call{}
	for _, u := range bs {
		if !left[u] {
			same[u.key] = append(same[u.key], u)
		}
	}
	for _, u := range as {
		if !left[u] {
			p.asked = append(p.asked, &pair{a: u, b: same[u.key][0], up: p})
			same[u.key] = same[u.key][1:]
		}
	}
}

// addNotes adds surplus notes to the pool.
func (x *pool) addNotes(p *pair, as, bs []note) {
	for side, notes := range surplusNotes(as, bs) {
		for _, n := range notes {
			loose := p.one() == nil && (n.role == session.RoleLog || n.role == session.RoleUnsolicited)
			x[side] = append(x[side], leftover{value: n.same(), guess: n.guess || loose, note: n, at: p})
		}
	}
}

// match pairs leftovers with the same value if the call of one of them is a guess.
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

// join pairs two leftovers. Nested calls are compared as part of the call of the first side if
// they are nested there.
func (l *leftover) join(with *leftover) {
	l.taken, with.taken = true, true
	if l.asked == nil {
		return
	}
	p := l.at
	if l.asked.parent == nil {
		l.at.nested, p = true, with.at
	} else if with.asked.parent == nil {
		with.at.nested = true
	}
	p.asked = append(p.asked, &pair{a: l.asked, b: with.asked, up: p})
}

// surplus returns the elements that one list has more often than the other: those that are a guess,
// then the last ones.
func surplus[T any](as, bs []T, value func(T) uint64, guess func(T) bool) (rest [2][]T) {
	lists := [2][]T{as, bs}
	for side, list := range lists {
		more := map[uint64]int{}
		for _, v := range list {
			more[value(v)]++
		}
		for _, v := range lists[1-side] {
			more[value(v)]--
		}
		left := make([]bool, len(list))
		for _, guesses := range []bool{true, false} {
			for i, v := range slices.Backward(list) {
				if key := value(v); more[key] > 0 && guess(v) == guesses {
					more[key]--
					left[i] = true
				}
			}
		}
		for i, v := range list {
			if left[i] {
				rest[side] = append(rest[side], v)
			}
		}
	}
	return rest
}

// surplusNotes returns the notes that one list has more often than the other.
func surplusNotes(as, bs []note) (rest [2][]*note) {
	if sameNotes(as, bs) {
		return rest
	}
	return surplus(pointers(as), pointers(bs), (*note).same, func(n *note) bool { return n.guess })
}

func pointers(notes []note) []*note {
	all := make([]*note, len(notes))
	for i := range notes {
		all[i] = &notes[i]
	}
	return all
}

// sameNotes reports whether two lists have the same notes in the same order.
func sameNotes(as, bs []note) bool {
	return slices.EqualFunc(as, bs, func(a, b note) bool { return a.same() == b.same() })
}
