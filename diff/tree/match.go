package tree

import "math/bits"

// A matcher finds equal elements of two lists. It uses its memory again. Long lists
// are parted by the first bits of their hashes, so that each part's table stays in the
// processor's cache: in one large table nearly every step would wait for memory.
type matcher struct {
	index table
	a, b  []element
	endA  []int32 // of each part
	endB  []int32
	slots []uint32
	later []int32
	toB   []int32
}

// An element is one of a list, with its place.
type element struct {
	hash uint64
	at   int32
}

// partSize is about how many elements a part has.
const partSize = 1 << 12

// match returns the place in b of the elements of a that have one, -1 for the others.
// With once, those are paired that occur once in both; else the first of equal ones
// with the first, the second with the second. It is valid until the next call.
func (x *matcher) match(a, b []uint64, once bool) []int32 {
	parts := 1 << bits.Len(uint(max(len(a), len(b))/partSize))
	x.a, x.endA = parted(x.a, x.endA, a, parts)
	x.b, x.endB = parted(x.b, x.endB, b, parts)
	x.toB = resized(x.toB, len(a))
	for i := range x.toB {
		x.toB[i] = -1
	}
	fromA, fromB := int32(0), int32(0)
	for k := range parts {
		pa, pb := x.a[fromA:x.endA[k]], x.b[fromB:x.endB[k]]
		switch fromA, fromB = x.endA[k], x.endB[k]; {
		case len(pa) == 0 || len(pb) == 0:
		case once:
			x.unique(pa, pb)
		default:
			x.counted(pa, pb)
		}
	}
	return x.toB
}

// resized returns a list of a length, in the memory of another if there is enough.
func resized[T any](list []T, n int) []T {
	if cap(list) < n {
		return make([]T, n)
	}
	return list[:n]
}

// parted sorts hashes into parts by their first bits. Within a part they keep their
// order. Ends are where the parts end.
func parted(to []element, ends []int32, hashes []uint64, parts int) ([]element, []int32) {
	to, ends = resized(to, len(hashes)), resized(ends, parts)
	if parts == 1 {
		for i, h := range hashes {
			to[i] = element{h, int32(i)}
		}
		ends[0] = int32(len(hashes))
		return to, ends
	}
	clear(ends)
	shift := 65 - bits.Len(uint(parts))
	for _, h := range hashes {
		ends[h>>shift]++
	}
	sum := int32(0)
	for k, n := range ends { // where each begins
		ends[k] = sum
		sum += n
	}
	for i, h := range hashes {
		k := h >> shift
		to[ends[k]] = element{h, int32(i)}
		ends[k]++
	}
	return to, ends
}

// unique pairs the elements that occur once on both sides of a part.
func (x *matcher) unique(a, b []element) {
	x.index.reset(len(a))
	x.slots = resized(x.slots, len(a))
	for i, v := range a {
		slot := x.index.slot(v.hash)
		e := &x.index.entries[slot]
		e.a = min(e.a+1, 2)
		x.slots[i] = slot
	}
	for _, v := range b {
		if e := x.index.find(v.hash); e != nil {
			e.b = min(e.b+1, 2)
			e.at = v.at
		}
	}
	for i, v := range a {
		if e := &x.index.entries[x.slots[i]]; e.a == 1 && e.b == 1 {
			x.toB[v.at] = e.at
		}
	}
}

// counted pairs the first of equal elements of a part with the first, the second with
// the second, and so on.
func (x *matcher) counted(a, b []element) {
	x.index.reset(len(b))
	x.later = resized(x.later, len(b)) // links each element with the next equal one
	for j := len(b) - 1; j >= 0; j-- {
		e := &x.index.entries[x.index.slot(b[j].hash)]
		x.later[j], e.at = e.at, int32(j)+1
	}
	for _, v := range a {
		if e := x.index.find(v.hash); e != nil && e.at > 0 {
			j := e.at - 1
			x.toB[v.at] = b[j].at
			e.at = x.later[j]
		}
	}
}
