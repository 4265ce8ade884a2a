// Package jsontree parses JSON values into trees and compares them. It is the only
// package that compares JSON values. It is pure.
//
// [Parse] validates a text and returns a [Value]. Every value has a hash, which finds
// equal values and moved ones. Values are compared by meaning: the order of members,
// white space, escapes and the spelling of numbers are ignored; absent, null and empty
// differ. Numbers are compared by their exact decimal value and are never converted to
// floating point. [Compare] reports each place where two values differ. Strings that
// hold JSON are compared as JSON. [Lines] compares two texts by lines and words.
//
// Recorded traffic may be hostile, so all functions take nearly linear time, and hashes
// are keyed with a random seed for each process.
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

// A Value is a value in a parsed text. It refers to the text. The zero Value is absent.
type Value struct {
	doc *doc
	i   uint32
}

func (v Value) node() *node { return &v.doc.nodes[v.i] }

// Exists reports whether the value is present. It may be null.
func (v Value) Exists() bool { return v.doc != nil }

// Kind returns the kind of the value.
func (v Value) Kind() Kind {
	if v.doc == nil {
		return Absent
	}
	return v.node().kind
}

// Hash returns a hash that is the same for equal values, and 0 for an absent one. Hashes
// of different processes cannot be compared.
func (v Value) Hash() uint64 {
	if v.doc == nil {
		return 0
	}
	return v.node().value
}

// Spelled returns a hash that also depends on the spelling of numbers, such as 1 and 1.0,
// and on members hidden by a later one of the same name.
func (v Value) Spelled() uint64 {
	if v.doc == nil {
		return 0
	}
	return v.node().spelled
}

// Equal reports whether two values are equal. Two absent values are equal.
func (v Value) Equal(w Value) bool { return v.Kind() == w.Kind() && v.Hash() == w.Hash() }

// Same reports whether two values are equal, spelled alike, and hide the same repeated
// members.
func (v Value) Same(w Value) bool {
	return v.Equal(w) && v.Spelled() == w.Spelled() && v.repeats() == w.repeats()
}

// Repeats returns the number of members of the same name that precede a member in its
// object and are hidden by it, and a hash of their values.
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

// Offset returns the offset of the value in the parsed text.
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

// Opaque reports whether the elements or members were not kept, because the text has too
// many values or because of [Reader.ParseTop].
func (v Value) Opaque() bool { return v.doc != nil && v.node().opaque }

// Text returns the content of a string, and "" for anything else.
func (v Value) Text() string { return string(v.text()) }

// text is like Text but does not copy a string without escapes.
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

// RawName returns the quoted name of a member as it is spelled, and nil for other values.
func (v Value) RawName() []byte {
	if v.doc == nil {
		return nil
	}
	n := v.node()
	return v.doc.raw[n.nameFrom:n.nameTo]
}

// is reports whether a value is a member with the given name.
func (v Value) is(name string) bool {
	raw := v.RawName()
	if len(raw) == 0 {
		return false
	}
	body := raw[1 : len(raw)-1]
	if len(body) <= len(name) { // escapes are longer than what they encode
		return string(body) == name
	}
	return bytes.IndexByte(body, '\\') >= 0 && v.name() == name
}

// All yields the members of an object with their names, in the order of the text, or the
// elements of an array with "". It skips members hidden by a later one of the same name.
func (v Value) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for c := range v.children() {
			if !yield(c.name(), c) {
				return
			}
		}
	}
}

// children is All without the names.
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

// Get follows member names from object to object. It returns an absent Value if there is
// no such member.
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

// seeds are the hash seeds of this process.
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

// HashString returns the hash of a string that is not JSON, such as a method name.
func HashString(s string) uint64 { return maphash.String(seeds.text, s) }

// Mix combines two hashes. The result depends on their order.
func Mix(a, b uint64) uint64 { return chain(a, b) }

// hashText hashes a text of a kind, so that a name and a string differ.
func hashText(kind byte, text []byte) uint64 {
	return mix(maphash.Bytes(seeds.text, text), uint64(kind)+seeds.mixer)
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^seeds.mixer, b^seeds.object)
	return hi ^ lo
}

// chain adds an element to the hash of its predecessors.
func chain(h, element uint64) uint64 { return mix(bits.RotateLeft64(h, 23)+element, seeds.array) }

// end completes the hash of an array or an object with n children.
func (s sums) end(n uint32) sums {
	return sums{mix(s.value, uint64(n)+seeds.yes), mix(s.spelled, uint64(n)+seeds.yes)}
}

// HashWithout returns the [Value.Hash] and [Value.Spelled] that an object would have
// without the members for whose names omit returns true, and 0 if no member is left. For
// other values it returns their hashes.
func (v Value) HashWithout(omit func(name string) bool) (value, spelled uint64) {
	if v.Kind() != Object || v.Opaque() {
		return v.Hash(), v.Spelled()
	}
	s, n := sums{seeds.object, seeds.object}, uint32(0)
	for name, c := range v.All() {
		if !omit(name) {
			s = s.member(c.node().name, c.node().sums, c.repeats())
			n++
		}
	}
	if n == 0 {
		return 0, 0
	}
	s = s.end(n)
	return s.value, s.spelled
}

// member adds a member and the hidden members of its name to the hash of an object. The
// hashes of members are summed, as their order does not count.
func (s sums) member(name uint64, v sums, r repeats) sums {
	if r.n > 0 {
		v.spelled = chain(v.spelled, r.hash)
	}
	return sums{s.value + mix(name, v.value+seeds.null), s.spelled + mix(name, v.spelled+seeds.null)}
}

// Remove removes the members and elements of a value for which gone returns true. It calls
// gone with the path from the value, valid during the call, and with what is left of the
// member or element. A removed element becomes null, so that the others keep their
// indexes. The children of an opaque value are not visited. If names are given, only the
// members of the value with these names are visited.
func (v Value) Remove(gone func(Path, Value) bool, names ...string) {
	v.remove(make(Path, 0, 4), gone, names)
}

// remove reports whether it removed anything.
func (v Value) remove(at Path, gone func(Path, Value) bool, names []string) (removed bool) {
	if v.Kind() < Array || v.Opaque() {
		return false
	}
	n, i := v.node(), -1
	for c := range v.children() {
		i++
		step := Step{Kind: Element, Index: i}
		if n.kind == Object {
			step = To(c.name())
		}
		if names != nil && !slices.Contains(names, step.Name) {
			continue
		}
		below, x := append(at, step), c.node()
		removed = c.remove(below, gone, nil) || removed
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

// sum computes the hashes of an array or an object from those of its children.
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
