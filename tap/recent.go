package tap

import "hash/maphash"

// A recent remembers the last [PairerMemory] words and what belongs to each. It
// does so for every request, so it is a ring with chains through it, which costs
// a third of what a map with a ring beside it does. The zero value is ready.
type recent[V any] struct {
	slots []recentSlot[V] // the oldest is at next, once there is no room
	next  int
	heads []uint16 // for each value of the hash, its first slot, from 1
}

type recentSlot[V any] struct {
	key    string
	hash   uint64
	after  uint16 // the next slot of the same chain, from 1; 0 at its end
	linked bool   // it is in its chain, as long as its word has not come again
	value  V
}

var recentSeed = maphash.MakeSeed()

// get finds what belongs to a word, nil if it is not remembered. It may be
// changed, until the next put.
func (x *recent[V]) get(key []byte) *V {
	if len(x.heads) == 0 {
		return nil
	}
	hash := maphash.Bytes(recentSeed, key)
	for i := *x.head(hash); i != 0; i = x.slots[i-1].after {
		if s := &x.slots[i-1]; s.hash == hash && s.key == string(key) {
			return &s.value
		}
	}
	return nil
}

// put remembers a word and forgets the oldest beyond the limit.
func (x *recent[V]) put(key string, value V) {
	hash := maphash.String(recentSeed, key)
	if len(x.slots) < PairerMemory {
		x.slots = append(x.slots, recentSlot[V]{})
		x.grow()
	}
	x.unlink(x.slots[x.next].hash, x.next)
	for i := *x.head(hash); i != 0; i = x.slots[i-1].after {
		if s := &x.slots[i-1]; s.hash == hash && s.key == key {
			x.unlink(hash, int(i-1))
			break
		}
	}
	x.slots[x.next] = recentSlot[V]{key: key, hash: hash, value: value}
	x.link(x.next)
	x.next = (x.next + 1) % PairerMemory
}

func (x *recent[V]) head(hash uint64) *uint16 { return &x.heads[hash&uint64(len(x.heads)-1)] }

func (x *recent[V]) link(slot int) {
	s := &x.slots[slot]
	head := x.head(s.hash)
	s.after, s.linked = *head, true
	*head = uint16(slot + 1)
}

// unlink takes a slot out of its chain, if it is in.
func (x *recent[V]) unlink(hash uint64, slot int) {
	s := &x.slots[slot]
	if !s.linked {
		return
	}
	at := x.head(hash)
	for int(*at) != slot+1 {
		at = &x.slots[*at-1].after
	}
	*at, s.linked = s.after, false
}

// grow keeps the chains short.
func (x *recent[V]) grow() {
	if len(x.slots) <= len(x.heads) {
		return
	}
	x.heads = make([]uint16, max(16, 2*len(x.heads)))
	for i := range x.slots {
		if x.slots[i].linked {
			x.link(i)
		}
	}
}
