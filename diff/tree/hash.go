package tree

import (
	"hash/maphash"
	"math/bits"
)

// The kinds of text that are hashed, so that a name is no string.
const (
	tagString = '"'
	tagName   = ':'
	tagNumber = '0'
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

// hashText hashes a text of a kind.
func hashText(tag byte, text []byte) uint64 {
	return mix(maphash.Bytes(seeds.text, text), uint64(tag)+seeds.mixer)
}

// HashString hashes a text for those who compare texts with one another, such
// as words that stand for a value.
func HashString(s string) uint64 { return maphash.String(seeds.text, s) }

// mix makes one hash of two.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^seeds.mixer, b^seeds.object)
	return hi ^ lo
}

// Mix makes one hash of two; which comes first counts.
func Mix(a, b uint64) uint64 { return chain(a, b) }

// chain adds an element to the hash of those before it.
func chain(h, element uint64) uint64 { return mix(bits.RotateLeft64(h, 23)+element, seeds.array) }

// pair is the hash of a member.
func pair(name, value uint64) uint64 { return mix(name, value+seeds.null) }

// end closes the hash of an array or an object.
func (s sums) end(n uint64) sums {
	return sums{mix(s.value, n+seeds.yes), mix(s.spelled, n+seeds.yes)}
}
