package replay

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strconv"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A sum stands for a JSON value: two values have the same one if they are equal,
// with 128 bits of chance against anything else. It is made with seeds that
// nobody outside of the process knows, so that nobody can make two collide, and
// it never leaves the process.
type sum [2]uint64

// seeds are what the sums of one script are made with.
type seeds [2]maphash.Seed

func newSeeds() seeds { return seeds{maphash.MakeSeed(), maphash.MakeSeed()} }

// of sums bytes of a kind.
func (s *seeds) of(kind byte, b []byte) sum {
	const spread = 0x9e3779b97f4a7c15
	k := uint64(kind) * spread
	return sum{maphash.Bytes(s[0], b) ^ k, maphash.Bytes(s[1], b) ^ k}
}

// A hasher sums JSON values: objects whatever the order of their members,
// strings whatever their escapes, numbers by value. One pass over the bytes,
// however deep they are nested. Its buffers serve as stacks.
type hasher struct {
	seeds
	buf     []byte
	members []hashed
}

// A hashed is a member whose value has been summed.
type hashed struct {
	name []byte
	sum  sum
}

// value sums the value at i, but for what the paths lead to, and returns the
// offset behind it.
func (h *hasher) value(raw []byte, i int, ignore []Path) (sum, int) {
	switch c := classAt(raw, i); c {
	case '{':
		return h.object(raw, i, ignore, nil)
	case '[':
		return h.array(raw, i, ignore)
	default:
		end := skipScalar(raw, i)
		return h.scalar(raw[i:end]), end
	}
}

func (h *hasher) scalar(token []byte) sum {
	switch c := classAt(token, 0); {
	case c == '"':
		return h.of('s', decode(token))
	case c == '-' || c-'0' < 10:
		base := len(h.buf)
		h.buf = jsonrpc.AppendNumber(h.buf, token)
		s := h.of('n', h.buf[base:])
		h.buf = h.buf[:base]
		return s
	}
	return h.of('w', token)
}

func (h *hasher) array(raw []byte, i int, ignore []Path) (sum, int) {
	base, n := len(h.buf), 0
	w := into(raw, i)
	for at, ok := w.element(); ok; at, ok = w.element() {
		rest, here := ignore, false
		if ignore != nil {
			rest, here = below(ignore, strconv.Itoa(n))
		}
		n++
		if here {
			w.i = skip(raw, at)
			h.buf = append(h.buf, "ignored"...)
			continue
		}
		var s sum
		s, w.i = h.value(raw, at, rest)
		h.buf = appendSum(h.buf, s)
	}
	s := h.of('[', h.buf[base:])
	h.buf = h.buf[:base]
	return s, w.i
}

// object sums an object, but for the members that leave says so of.
func (h *hasher) object(raw []byte, i int, ignore []Path, leave func(name []byte) bool) (sum, int) {
	base := len(h.members)
	w := into(raw, i)
	for token, at, ok := w.member(); ok; token, at, ok = w.member() {
		name := decode(token)
		rest, here := ignore, false
		if ignore != nil {
			rest, here = below(ignore, string(name))
		}
		if here || leave != nil && leave(name) {
			w.i = skip(raw, at)
			continue
		}
		var s sum
		s, w.i = h.value(raw, at, rest)
		h.members = append(h.members, hashed{name, s})
	}
	s := h.sumMembers(base)
	h.members = h.members[:base]
	return s, w.i
}

// sumMembers sums the members from base on, and leaves them sorted and each of
// them once.
func (h *hasher) sumMembers(base int) sum {
	h.sort(base)
	return h.sorted(h.members[base:], nil)
}

// sort sorts the members from base on by name. Of several with one name it keeps
// the last.
func (h *hasher) sort(base int) {
	all := h.members[base:]
	less := func(a, b hashed) int { return cmp.Compare(string(a.name), string(b.name)) }
	if !slices.IsSortedFunc(all, less) {
		slices.SortStableFunc(all, less)
	}
	kept := 0
	for i := range all {
		if i+1 < len(all) && string(all[i].name) == string(all[i+1].name) {
			continue
		}
		all[kept] = all[i]
		kept++
	}
	h.members = h.members[:base+kept]
}

// sorted sums members that are sorted, but for those that leave says so of.
func (h *hasher) sorted(members []hashed, leave func(name []byte) bool) sum {
	base := len(h.buf)
	for i := range members {
		if leave != nil && leave(members[i].name) {
			continue
		}
		h.buf = binary.AppendUvarint(h.buf, uint64(len(members[i].name)))
		h.buf = append(h.buf, members[i].name...)
		h.buf = appendSum(h.buf, members[i].sum)
	}
	s := h.of('{', h.buf[base:])
	h.buf = h.buf[:base]
	return s
}

func appendSum(dst []byte, s sum) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, s[0]), s[1])
}
