package jsontree

import (
	"hash/maphash"
	"math/bits"
)

// seeds keys the hashes of this process.
var seeds = func() (s struct {
	text                         maphash.Seed
	array, object, null, yes, no uint64
	mixer                        uint64
}) {
	s.text = maphash.MakeSeed()
	for i, to := range []*uint64{&s.array, &s.object, &s.null, &s.yes, &s.no, &s.mixer} {
		*to = maphash.Bytes(s.text, []byte{'#', byte(i)})
	}
	s.mixer |= 1
	return s
}()

// HashString returns the hash of a text that is not JSON, such as a method.
func HashString(s string) uint64 { return maphash.String(seeds.text, s) }

// Mix makes one hash of two; their order counts.
func Mix(a, b uint64) uint64 { return chain(a, b) }

// hashText hashes a text of a kind, so that a name differs from a string.
func hashText(kind byte, text []byte) uint64 {
	return mix(maphash.Bytes(seeds.text, text), uint64(kind)+seeds.mixer)
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^seeds.mixer, b^seeds.object)
	return hi ^ lo
}

// chain adds an element to the hash of those before it.
func chain(h, element uint64) uint64 { return mix(bits.RotateLeft64(h, 23)+element, seeds.array) }

// pair is the hash of a member. Those of an object are added up, as their order does
// not count.
func pair(name, value uint64) uint64 { return mix(name, value+seeds.null) }

// end closes the hash of an array or an object of n children.
func (s sums) end(n uint32) sums {
	return sums{mix(s.value, uint64(n)+seeds.yes), mix(s.spelled, uint64(n)+seeds.yes)}
}

// HashWithout returns [Value.Hash] and [Value.Spelled] of what a value would be without the
// members and elements that leave returns true for. The path is valid during the call.
// What stands below an opaque value counts.
func HashWithout(v Value, leave func(Path) bool) (value, spelled uint64) {
	s := hashWithout(v, nil, leave)
	return s.value, s.spelled
}

func hashWithout(v Value, at Path, leave func(Path) bool) sums {
	if v.Kind() < Array || v.Opaque() {
		return sums{v.Hash(), v.Spelled()}
	}
	seed, n, i := seeds.array, uint32(0), -1
	if v.Kind() == Object {
		seed = seeds.object
	}
	s := sums{seed, seed}
	for name, c := range v.All() {
		step := To(name)
		if i++; v.Kind() == Array {
			step = Step{Kind: Element, Index: i}
		}
		below := append(at, step)
		if leave(below) {
			continue
		}
		n++
		if h := hashWithout(c, below, leave); v.Kind() == Array {
			s = sums{chain(s.value, h.value), chain(s.spelled, h.spelled)}
		} else {
			s = s.member(c.node().name, h, c.repeats())
		}
	}
	return s.end(n)
}

// member adds a member to the hash of an object, with those that it hides.
func (s sums) member(name uint64, v sums, r repeats) sums {
	if r.n > 0 {
		v.spelled = chain(v.spelled, r.hash)
	}
	return sums{s.value + pair(name, v.value), s.spelled + pair(name, v.spelled)}
}
