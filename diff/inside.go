package diff

import (
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// matchInside pairs what is inside of calls: what the server asked within them,
// and their notifications. What belongs to a call by guess, or to none, may be
// that of another one on the other side: what is left over in one call is looked
// for in the others.
func (e *engine) matchInside(pairs []*pair) {
	var asked pool[*unit]
	var notes pool[*note]
	for _, p := range pairs {
		p.matchAsked(&asked)
		p.matchNotes(&notes)
		p.poolAlone(&asked)
	}
	e.loose = &pair{}
	if !e.opt.Marked {
		e.loose.restA, e.loose.restB = cancelNotes(e.looseA, e.looseB)
	}
	e.loose.pool(&notes, true)
	for _, m := range asked.matches() {
		p := m.a.at
		switch {
		case m.a.item.parent == nil:
			m.a.at.elsewhere, p = true, m.b.at
		case m.b.item.parent == nil:
			m.b.at.elsewhere = true
		}
		p.asked = append(p.asked, &pair{a: m.a.item, b: m.b.item, up: p})
	}
	gone := map[*note]bool{}
	for _, m := range notes.matches() {
		gone[m.a.item], gone[m.b.item] = true, true
	}
	for _, p := range append(pairs, e.loose) {
		p.restA, p.restB = notGone(p.restA, gone), notGone(p.restB, gone)
	}
	for _, p := range pairs {
		p.pairAsked(asked.taken)
	}
}

func notGone(notes []*note, gone map[*note]bool) []*note {
	if len(gone) == 0 {
		return notes
	}
	kept := notes[:0]
	for _, n := range notes {
		if !gone[n] {
			kept = append(kept, n)
		}
	}
	return kept
}

// A pool holds what is left over, with where it is from.
type pool[T comparable] struct {
	a, b  []pooled[T]
	taken map[T]bool
}

type pooled[T comparable] struct {
	id    uint64
	guess bool // where it is from is not certain
	item  T
	at    *pair
}

type pooledPair[T comparable] struct{ a, b pooled[T] }

// matches pairs what says the same, where it is not certain of one of the two
// where it belongs.
func (x *pool[T]) matches() (all []pooledPair[T]) {
	x.taken = map[T]bool{}
	if len(x.a) == 0 || len(x.b) == 0 {
		return nil
	}
	sure, guessed := map[uint64][]pooled[T]{}, map[uint64][]pooled[T]{}
	for _, p := range x.b {
		if p.guess {
			guessed[p.id] = append(guessed[p.id], p)
		} else {
			sure[p.id] = append(sure[p.id], p)
		}
	}
	take := func(a pooled[T], from map[uint64][]pooled[T]) bool {
		list := from[a.id]
		if len(list) == 0 {
			return false
		}
		from[a.id] = list[1:]
		x.taken[a.item], x.taken[list[0].item] = true, true
		all = append(all, pooledPair[T]{a, list[0]})
		return true
	}
	for _, a := range x.a {
		if !take(a, guessed) && a.guess {
			take(a, sure)
		}
	}
	return all
}

// matchAsked pairs what is the same within a pair of calls, in order, and leaves
// the rest in the pool.
func (p *pair) matchAsked(rest *pool[*unit]) {
	as, bs := p.within()
	left := map[uint64][]*unit{}
	for _, u := range bs {
		left[u.key] = append(left[u.key], u)
	}
	for _, u := range as {
		if same := left[u.key]; len(same) > 0 {
			left[u.key] = same[1:]
			p.asked = append(p.asked, &pair{a: u, b: same[0], up: p})
			continue
		}
		rest.a = append(rest.a, pooled[*unit]{u.key, u.guess, u, p})
	}
	for _, u := range bs {
		if same := left[u.key]; len(same) > 0 && same[0] == u {
			left[u.key] = same[1:]
			rest.b = append(rest.b, pooled[*unit]{u.key, u.guess, u, p})
		}
	}
}

// within lists what was asked within both calls, but for pings.
func (p *pair) within() (as, bs []*unit) {
	if p.a != nil && p.b != nil {
		return withoutPings(p.a.asked, p.b.asked)
	}
	return nil, nil // of a call on one side only, all is missing
}

// poolAlone adds what the server asked outside of any call, on one side only: it
// may have been asked within one on the other side.
func (p *pair) poolAlone(rest *pool[*unit]) {
	switch u := p.one(); {
	case u.lane != tap.ToClient || p.a != nil && p.b != nil:
	case p.a != nil:
		rest.a = append(rest.a, pooled[*unit]{u.key, true, u, p})
	default:
		rest.b = append(rest.b, pooled[*unit]{u.key, true, u, p})
	}
}

// pairAsked pairs what is left within a pair of calls as far as it is alike.
func (p *pair) pairAsked(taken map[*unit]bool) {
	as, bs := p.within()
	paired := map[*unit]bool{}
	for _, q := range p.asked {
		paired[q.a], paired[q.b] = true, true
	}
	rest := func(units []*unit) (left []*unit) {
		for _, u := range units {
			if !paired[u] && !taken[u] {
				left = append(left, u)
			}
		}
		return left
	}
	for _, q := range alignUnits(rest(as), rest(bs)) {
		q.up = p
		p.asked = append(p.asked, q)
	}
	for _, q := range p.asked {
		q.matchInside()
	}
}

// matchInside pairs what is inside of a call within another.
func (p *pair) matchInside() {
	p.matchAsked(&pool[*unit]{})
	p.matchNotes(&pool[*note]{})
	p.pairAsked(nil)
}

// matchNotes cancels the notes that both calls have, and leaves the rest.
func (p *pair) matchNotes(rest *pool[*note]) {
	if p.a == nil || p.b == nil {
		return
	}
	p.restA, p.restB = cancelNotes(p.a.notes, p.b.notes)
	p.pool(rest, false)
}

// pool adds the notes that a pair has left. Loose reports that they belong to no
// call.
func (p *pair) pool(rest *pool[*note], loose bool) {
	unsure := func(n *note) bool {
		return n.guess || loose && (n.role == session.RoleLog || n.role == session.RoleUnsolicited)
	}
	for _, n := range p.restA {
		rest.a = append(rest.a, pooled[*note]{n.same(), unsure(n), n, p})
	}
	for _, n := range p.restB {
		rest.b = append(rest.b, pooled[*note]{n.same(), unsure(n), n, p})
	}
}

// cancelNotes returns the notes of each list that the other does not have.
func cancelNotes(as, bs []note) (restA, restB []*note) {
	if sameNotes(as, bs) {
		return nil, nil
	}
	left := map[uint64]int{}
	for i := range bs {
		left[bs[i].same()]++
	}
	for i := range as {
		if id := as[i].same(); left[id] > 0 {
			left[id]--
		} else {
			restA = append(restA, &as[i])
		}
	}
	// What is left of the second list are the last ones.
	for i := len(bs) - 1; i >= 0; i-- {
		if id := bs[i].same(); left[id] > 0 {
			left[id]--
			restB = append(restB, &bs[i])
		}
	}
	for i, j := 0, len(restB)-1; i < j; i, j = i+1, j-1 {
		restB[i], restB[j] = restB[j], restB[i]
	}
	return restA, restB
}

// sameNotes is the usual case.
func sameNotes(as, bs []note) bool {
	if len(as) != len(bs) {
		return false
	}
	for i := range as {
		if as[i].same() != bs[i].same() {
			return false
		}
	}
	return true
}
