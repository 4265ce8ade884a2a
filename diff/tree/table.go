package tree

import "math/bits"

// A table is a map from hashes to entries that can be emptied and filled again
// without new memory. The hashes are keyed, so their bits are as good as any.
type table struct {
	entries []tableEntry
	mask    uint64
	used    []uint32
}

type tableEntry struct {
	key   uint64
	at    int32 // where it is
	a, b  uint8 // how often it occurs on each side, up to 2
	taken bool
}

// reset empties the table and makes room for n keys.
func (t *table) reset(n int) {
	size := 1 << bits.Len(uint(2*n))
	if size > len(t.entries) {
		t.entries, t.used = make([]tableEntry, size), t.used[:0]
	}
	for _, i := range t.used {
		t.entries[i] = tableEntry{}
	}
	t.used = t.used[:0]
	t.mask = uint64(size - 1)
}

// find returns the entry of a key, nil if there is none. It is valid until the next
// reset.
func (t *table) find(key uint64) *tableEntry {
	for i := key & t.mask; ; i = (i + 1) & t.mask {
		switch e := &t.entries[i]; {
		case !e.taken:
			return nil
		case e.key == key:
			return e
		}
	}
}

// slot returns the place of the entry of a key, which it makes if there is none. It is
// valid until the next reset.
func (t *table) slot(key uint64) uint32 {
	for i := key & t.mask; ; i = (i + 1) & t.mask {
		switch e := &t.entries[i]; {
		case !e.taken:
			*e = tableEntry{key: key, taken: true}
			t.used = append(t.used, uint32(i))
			return uint32(i)
		case e.key == key:
			return uint32(i)
		}
	}
}
