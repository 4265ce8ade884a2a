package tree

import (
	"bytes"
	"iter"
)

// A Kind says what a value is in JSON.
type Kind uint8

// The kinds. Absent is no value at all.
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

// A Value is one value of a [Doc]. The zero Value is absent. It holds on to the
// text that it was read from.
type Value struct {
	doc *Doc
	i   uint32
}

// Root returns the whole of what was read.
func (d *Doc) Root() Value { return Value{d, 0} }

func (v Value) node() *node { return &v.doc.nodes[v.i] }

// Exists reports whether there is a value, be it null.
func (v Value) Exists() bool { return v.doc != nil }

// Kind says what the value is.
func (v Value) Kind() Kind {
	if v.doc == nil {
		return Absent
	}
	return v.node().kind
}

// Hash is equal for equal values, and 0 for one that is absent. Hashes of
// different processes cannot be compared.
func (v Value) Hash() uint64 {
	if v.doc == nil {
		return 0
	}
	return v.node().value
}

// Spelled is a hash that also differs where numbers of the same value are
// written in different ways, such as 1 and 1.0, or where a name occurs twice in one
// object.
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

// Repeats is how many members of the same name stand before a member in its object, and
// are hidden by it.
func (v Value) Repeats() int { return v.repeats().n }

// RepeatsHash is a hash of those members, 0 if there are none.
func (v Value) RepeatsHash() uint64 { return v.repeats().sum }

// HasRepeats reports whether any name occurs twice in an object of the same text.
func (v Value) HasRepeats() bool { return v.doc != nil && len(v.doc.repeats) > 0 }

func (v Value) repeats() repeats {
	if v.doc == nil || v.doc.repeats == nil {
		return repeats{}
	}
	return v.doc.repeats[int(v.i)]
}

// Raw is the value as it stands, nil if it is absent.
func (v Value) Raw() []byte {
	if v.doc == nil {
		return nil
	}
	n := v.node()
	return v.doc.raw[n.from:n.to]
}

// Len is how many elements an array has, or members an object.
func (v Value) Len() int {
	if v.doc == nil {
		return 0
	}
	return int(v.node().n)
}

// Opaque reports whether elements or members are not kept apart, see
// [MaxNodes] and [Outline].
func (v Value) Opaque() bool { return v.doc != nil && v.node().opaque }

// Text is what a string says, and "" for anything else.
func (v Value) Text() string {
	if v.Kind() != String {
		return ""
	}
	return unquote(v.Raw())
}

// True reports whether the value is true.
func (v Value) True() bool { return v.Kind() == Bool && v.Hash() == seeds.yes }

// unquote decodes a string that was read.
func unquote(token []byte) string {
	body := token[1 : len(token)-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return string(body)
	}
	return string(appendUnescaped(make([]byte, 0, len(body)), body))
}

// said is what a string says, for reading only: it may be a part of the text that
// the value was read from.
func (v Value) said() []byte {
	token := v.Raw()
	body := token[1 : len(token)-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return body
	}
	return appendUnescaped(make([]byte, 0, len(body)), body)
}

// Name is the name of a member, and "" for anything else.
func (v Value) Name() string {
	if v.doc == nil {
		return ""
	}
	n := v.node()
	if n.nameTo == 0 {
		return ""
	}
	return unquote(v.doc.raw[n.nameFrom:n.nameTo])
}

// RawName is the name of a member as it stands, quotes included, nil for anything else.
func (v Value) RawName() []byte {
	if v.doc == nil {
		return nil
	}
	n := v.node()
	return v.doc.raw[n.nameFrom:n.nameTo]
}

// Children yields the elements of an array, or the members of an object in the
// order in which they stand.
func (v Value) Children() iter.Seq[Value] {
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

// Get follows names from object to object. It returns an absent Value where
// there is no such member.
func (v Value) Get(names ...string) Value {
	for _, name := range names {
		v = v.member(name)
	}
	return v
}

func (v Value) member(name string) Value {
	if v.Kind() != Object {
		return Value{}
	}
	for c := range v.Children() {
		if c.is(name) {
			return c
		}
	}
	return Value{}
}

// is reports whether a member has a name.
func (v Value) is(name string) bool {
	n := v.node()
	body := v.doc.raw[n.nameFrom+1 : n.nameTo-1]
	return string(body) == name || bytes.IndexByte(body, '\\') >= 0 && v.Name() == name
}

// NameHash is equal for members of one name.
func (v Value) NameHash() uint64 {
	if v.doc == nil {
		return 0
	}
	return v.node().name
}
