// Package jsontree reads JSON values as trees and compares them. It is the only
// place where values are compared. It is pure.
//
// [Parse] validates a text once and makes a [Value] of it. Every value has a hash,
// so that equal ones are known at once and one that moved is found again. Two values
// are equal if they are so by value: the order of members, white space, escapes and
// the spelling of numbers do not count; absent, null and empty differ. Numbers are
// compared by their exact decimal value and never pass through a float. [Compare]
// reports each place where two values differ. Strings that hold JSON are compared as
// JSON. [Lines] returns where two texts differ, by lines and words.
//
// Everything takes time nearly linear in the size of its input, as recorded traffic
// may be hostile. Hashes are keyed anew in each process, so no input can be made to
// collide.
package jsontree

import (
	"bytes"
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"
)

// A Kind is the JSON type of a value.
type Kind uint8

// The kinds. Absent is the kind of the zero [Value].
const (
	Absent Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"absent", "null", "boolean", "number", "string", "array", "object"}

// String returns absent, null, boolean, number, string, array or object.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind"
}

// A Value is a value in a text that was read. It refers to the text. The zero Value is
// absent.
type Value struct {
	doc *doc
	i   uint32
}

func (v Value) node() *node { return &v.doc.nodes[v.i] }

// Exists reports whether there is a value, which may be null.
func (v Value) Exists() bool { return v.doc != nil }

// Kind returns the kind of the value.
func (v Value) Kind() Kind {
	if v.doc == nil {
		return Absent
	}
	return v.node().kind
}

// Hash is equal for equal values, and 0 for one that is absent. Hashes of different
// processes cannot be compared.
func (v Value) Hash() uint64 {
	if v.doc == nil {
		return 0
	}
	return v.node().value
}

// Spelled is a hash that also differs where numbers of the same value are written in
// different ways, such as 1 and 1.0, or where a name occurs twice in one object.
func (v Value) Spelled() uint64 {
	if v.doc == nil {
		return 0
	}
	return v.node().spelled
}

// Equal reports whether two values are the same, which two absent ones are.
func (v Value) Equal(w Value) bool { return v.Kind() == w.Kind() && v.Hash() == w.Hash() }

// Same reports whether two values are equal, written in the same way, and hide the same
// repeats.
func (v Value) Same(w Value) bool {
	return v.Equal(w) && v.Spelled() == w.Spelled() && v.repeats() == w.repeats()
}

// Repeats returns how many members of the same name stand before a member in its object
// and are hidden by it, and a hash of their values.
func (v Value) Repeats() (n int, hash uint64) {
	r := v.repeats()
	return r.n, r.hash
}

func (v Value) repeats() repeats {
	if !v.HasRepeats() {
		return repeats{}
	}
	return v.doc.repeats[int(v.i)]
}

// HasRepeats reports whether a name occurs twice in any object of the text.
func (v Value) HasRepeats() bool { return v.doc != nil && v.doc.repeats != nil }

// Raw returns the text of the value, nil if it is absent.
func (v Value) Raw() []byte {
	if v.doc == nil {
		return nil
	}
	n := v.node()
	return v.doc.raw[n.from:n.to]
}

// Offset returns where the value begins in the text that was read.
func (v Value) Offset() int {
	if v.doc == nil {
		return 0
	}
	return int(v.node().from)
}

// Len returns the number of elements or members.
func (v Value) Len() int {
	if v.doc == nil {
		return 0
	}
	return int(v.node().n)
}

// Opaque reports whether the elements or members were not kept, see [MaxNodes] and
// [Reader.ParseTop].
func (v Value) Opaque() bool { return v.doc != nil && v.node().opaque }

// Text returns the content of a string, and "" for anything else.
func (v Value) Text() string { return string(v.text()) }

// text is Text without a copy if there are no escapes.
func (v Value) text() []byte {
	if v.Kind() != String {
		return nil
	}
	return unquoted(v.Raw())
}

// unquoted returns the content of a quoted string.
func unquoted(token []byte) []byte {
	body := token[1 : len(token)-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return body
	}
	return appendUnescaped(make([]byte, 0, len(body)), body)
}

// True reports whether the value is true.
func (v Value) True() bool { return v.Kind() == Bool && v.Hash() == seeds.yes }

// name returns the name of a member, and "" for anything else.
func (v Value) name() string {
	if raw := v.RawName(); len(raw) > 0 {
		return string(unquoted(raw))
	}
	return ""
}

// RawName returns the name of a member as it is written, in quotes, and nothing for
// other values.
func (v Value) RawName() []byte {
	if v.doc == nil {
		return nil
	}
	n := v.node()
	return v.doc.raw[n.nameFrom:n.nameTo]
}

// is reports whether a member has a name.
func (v Value) is(name string) bool {
	raw := v.RawName()
	if len(raw) == 0 {
		return false
	}
	body := raw[1 : len(raw)-1]
	if len(body) <= len(name) { // escapes are longer than what they stand for
		return string(body) == name
	}
	return bytes.IndexByte(body, '\\') >= 0 && v.name() == name
}

// All yields the members of an object with their names, in the order in which they
// stand, or the elements of an array with "". A member that a later one of the same
// name hides is left out.
func (v Value) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for c := range v.children() {
			if !yield(c.name(), c) {
				return
			}
		}
	}
}

// children yields what All does, without the names.
func (v Value) children() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.doc == nil {
			return
		}
		nodes := v.doc.nodes
		for i := v.i + 1; i < nodes[v.i].next; i = nodes[i].next {
			if !nodes[i].hidden && !yield(Value{v.doc, i}) {
				return
			}
		}
	}
}

// list returns the children.
func (v Value) list() []Value {
	all := make([]Value, 0, v.Len())
	for c := range v.children() {
		all = append(all, c)
	}
	return all
}

// Get follows names from object to object. It returns an absent Value if there is no
// such member.
func (v Value) Get(names ...string) Value {
	for _, name := range names {
		v = v.member(name)
	}
	return v
}

func (v Value) member(name string) Value {
	if v.Kind() == Object {
		for c := range v.children() {
			if c.is(name) {
				return c
			}
		}
	}
	return Value{}
}

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

// Remove takes members and elements out of a value: those for which gone returns true,
// which is called with the path from the value on, valid during the call, and with what
// is left of the member or element. An element leaves a null in its place, so that the
// others keep theirs. What stands below an opaque value stays. With names, only members of
// the value with these names are looked at.
func (v Value) Remove(gone func(Path, Value) bool, names ...string) {
	if v.Kind() >= Array && !v.Opaque() {
		if v.doc.path == nil {
			v.doc.path = make(Path, 0, 4)
		}
		v.remove(v.doc.path, gone, names)
	}
}

// remove reports whether it removed anything.
func (v Value) remove(at Path, gone func(Path, Value) bool, names []string) (removed bool) {
	n, i := v.node(), -1
	for c := range v.children() {
		i++
		var step Step
		switch known := slices.IndexFunc(names, c.is); {
		case known >= 0:
			step.Name = names[known]
		case names != nil:
			continue
		case n.kind == Array:
			step = Step{Kind: Element, Index: i}
		default:
			step.Name = c.name()
		}
		below, x := append(at, step), c.node()
		if x.kind >= Array && !x.opaque && c.remove(below, gone, nil) {
			removed = true
		}
		if gone(below, c) {
			x.kind, x.sums, x.hidden = Null, sums{seeds.null, seeds.null}, n.kind == Object
			removed = true
		}
	}
	if removed {
		v.sum()
	}
	return removed
}

// sum makes the hashes of an array or an object of those of its children.
func (v Value) sum() {
	n := v.node()
	n.sums, n.n = sums{seeds.array, seeds.array}, 0
	if n.kind == Object {
		n.sums = sums{seeds.object, seeds.object}
	}
	for c := range v.children() {
		n.n++
		if x := c.node(); n.kind == Array {
			n.sums = sums{chain(n.value, x.value), chain(n.spelled, x.spelled)}
		} else {
			n.sums = n.member(x.name, x.sums, c.repeats())
		}
	}
	n.sums = n.end(n.n)
}
