package tap

import "slices"

// MaxExchanges is how many HTTP exchanges, and how many connections, may be open in
// a recording. Of more, those that have been open longest are forgotten: what comes
// on them later is taken for that of an exchange without a head. No machine has
// more ports.
const MaxExchanges = 1 << 16

// An openMap holds what is known of what is open, by number, the last
// [MaxExchanges] of them.
type openMap[V any] struct {
	by map[uint64]opened[V]
	// order are the keys as they came. Some are not in by any more, or anew.
	order []openKey
	count uint64
}

// opened is a value with the number of its openKey.
type opened[V any] struct {
	value V
	n     uint64
}

type openKey struct{ key, n uint64 }

func (o *openMap[V]) get(key uint64) V { return o.by[key].value }

func (o *openMap[V]) delete(key uint64) { delete(o.by, key) }

// put sets a value, and returns one that had to be forgotten for it.
func (o *openMap[V]) put(key uint64, value V) (forgotten V, ok bool) {
	if o.by == nil {
		o.by = map[uint64]opened[V]{}
	}
	if old, known := o.by[key]; known {
		o.by[key] = opened[V]{value, old.n}
		return forgotten, false
	}
	o.count++
	o.by[key] = opened[V]{value, o.count}
	o.order = append(o.order, openKey{key, o.count})
	if len(o.by) > MaxExchanges {
		o.settle()
		oldest := o.order[0].key
		forgotten, ok = o.get(oldest), true
		delete(o.by, oldest)
		o.order = o.order[1:]
	}
	if len(o.order) > 2*len(o.by)+64 {
		o.order = slices.DeleteFunc(o.order, o.over)
	}
	return forgotten, ok
}

// settle takes the keys off the beginning that are not open any more.
func (o *openMap[V]) settle() {
	for len(o.order) > 0 && o.over(o.order[0]) {
		o.order = o.order[1:]
	}
}

func (o *openMap[V]) over(k openKey) bool { return o.by[k.key].n != k.n }
