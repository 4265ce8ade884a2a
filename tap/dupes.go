package tap

import (
	"bytes"
	"encoding/binary"
)

// How far duplicate names are looked for. Within these bounds one name costs a
// few nanoseconds, and at worst a hundred comparisons.
const (
	dupeLevels = 32  // levels of objects inside one another
	dupeNames  = 128 // names remembered of one object
	dupeFirst  = 32  // names that take no allocation
)

// dupes finds members of one object that have the same name (RFC 8259 section
// 4): parsers differ in which of them they take, and hide the others. It needs
// the whole frame, since names are compared where they stand.
type dupes struct {
	any     bool     // some object has a duplicate
	names   []string // those of the envelope, not yet taken
	levels  int      // objects open, also those beyond dupeLevels
	objects [dupeLevels]dupeObject
	// The names of the open objects, outermost first: count of them, the first
	// ones in keys, the others in more. A slice of keys would be simpler and
	// would move all of this to the heap.
	count int
	keys  [dupeFirst]dupeKey
	more  []dupeKey
}

type dupeObject struct {
	first int    // index of its first name
	mask  uint64 // a bit for each hash seen
}

type dupeKey struct {
	from int // where the token stands in the frame
	n    uint32
	hash uint32
}

// open says that an object begins.
func (d *dupes) open() {
	if d.levels < dupeLevels {
		d.objects[d.levels] = dupeObject{first: d.count}
	}
	d.levels++
}

// close says that the innermost object ends.
func (d *dupes) close() {
	if d.levels--; d.levels < dupeLevels {
		d.count = d.objects[d.levels].first
		d.more = d.more[:max(0, d.count-dupeFirst)]
	}
}

func (d *dupes) at(i int) *dupeKey {
	if i < dupeFirst {
		return &d.keys[i]
	}
	return &d.more[i-dupeFirst]
}

func (d *dupes) add(k dupeKey) {
	if d.count < dupeFirst {
		d.keys[d.count] = k
	} else {
		d.more = append(d.more, k)
	}
	d.count++
}

// key takes the name whose token is raw[from:to]; outer says that the object is
// the envelope.
func (d *dupes) key(raw []byte, from, to int, outer bool) {
	if d.levels > dupeLevels {
		return
	}
	token := raw[from:to]
	if escaped(token) {
		token = []byte(`"` + unquote(token) + `"`)
	}
	o := &d.objects[d.levels-1]
	h := hashName(token)
	bit := uint64(1) << (h & 63)
	if o.mask&bit != 0 && d.seen(raw, token, h, o.first) {
		d.any = true
		if outer {
			d.report(string(token[1 : len(token)-1]))
		}
		return
	}
	if d.count-o.first < dupeNames {
		o.mask |= bit
		d.add(dupeKey{from, uint32(to - from), h})
	}
}

// seen reports whether one of the names from the first on equals token, which
// holds no escapes.
func (d *dupes) seen(raw, token []byte, h uint32, first int) bool {
	for i := first; i < d.count; i++ {
		k := d.at(i)
		if k.hash != h {
			continue
		}
		other := raw[k.from : k.from+int(k.n)]
		if bytes.Equal(other, token) && !escaped(other) {
			return true
		}
		if escaped(other) && unquote(other) == string(token[1:len(token)-1]) {
			return true
		}
	}
	return false
}

// report notes a name of the envelope once.
func (d *dupes) report(name string) {
	for _, n := range d.names {
		if n == name {
			return
		}
	}
	if len(d.names) < dupeNames {
		d.names = append(d.names, name)
	}
}

// take returns the names of the envelope that just ended.
func (d *dupes) take() []string {
	names := d.names
	d.names = nil
	return names
}

// hashName mixes a name's length, first and last bytes, which tells apart the
// names that one object has; equal hashes are compared in full.
func hashName(b []byte) uint32 {
	const k = 0x9e3779b97f4a7c15
	h := uint64(len(b)) * k
	if len(b) >= 8 {
		h ^= binary.LittleEndian.Uint64(b)
		h = h*k ^ binary.LittleEndian.Uint64(b[len(b)-8:])
	} else {
		for _, c := range b {
			h = h<<8 ^ uint64(c) ^ h>>56
		}
	}
	h *= k
	return uint32(h >> 32)
}
