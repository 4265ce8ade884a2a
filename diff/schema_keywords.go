package diff

import (
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
)

// keywords compares all keywords except type, enum and const.
func (x *schemer) keywords(path jsontree.Path, a, b jsontree.Value) {
	outerA, outerB := x.inA, x.inB
	x.inA, x.inB = a, b
	defer func() { x.inA, x.inB = outerA, outerB }()
	// Equal references may have different targets.
	each(a, b, x.refs, func(name string, v, w jsontree.Value) {
		at := path.With(jsontree.To(name))
		if !v.Opaque() && !w.Opaque() {
			x.keyword(name, at, v, w)
		} else if !v.Equal(w) {
			x.report(Changed, unclear, at, v, w, "too large to compare")
		}
	})
}

// keyword compares a keyword. The effect of unknown keywords is unclear.
func (x *schemer) keyword(name string, path jsontree.Path, a, b jsontree.Value) {
	annotation := func(does effect) {
		if !a.Equal(b) {
			x.differ(does, path, a, b, "")
		}
	}
	switch name {
	case "type", "enum", "const": // see types and values
	case "$defs", "definitions": // compared where they are used
	case "$ref": // it could not be resolved
		annotation(unclear)
	case "$schema", "$id", "$comment", "title", "examples", "deprecated":
		annotation(words)
	case "description":
		annotation(texts)
	case "default":
		annotation(neither)
	case "required":
		x.required(path, a, b)
	case "properties":
		x.properties(path, a, b)
	case "patternProperties":
		each(a, b, x.refs, func(name string, v, w jsontree.Value) { x.compare(path.With(jsontree.To(name)), v, w) })
	case "additionalProperties", "unevaluatedProperties", "propertyNames", "additionalItems", "unevaluatedItems", "contains":
		x.compare(path, a, b)
	case "items", "prefixItems":
		x.items(path, a, b)
	case "anyOf", "oneOf":
		if !onlyTypes(x.inA) || !onlyTypes(x.inB) {
			x.inAnyOrder(path, a, b, looser)
		}
	case "allOf":
		x.inAnyOrder(path, a, b, tighter)
	case "minimum", "exclusiveMinimum":
		x.limit(path, a, b, 1)
	case "minLength", "minItems", "minProperties":
		if !isZero(a) || !isZero(b) { // 0 is not a limit
			x.limit(path, a, b, 1)
		}
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		x.limit(path, a, b, -1)
	case "multipleOf":
		x.restriction(path, a, b, multiples(a, b))
	case "not", "dependentRequired", "dependentSchemas", "dependencies", "pattern", "format":
		x.restriction(path, a, b, unclear)
	case "uniqueItems":
		if b.True() && !a.True() {
			x.differ(tighter, path, a, b, "")
		} else if a.True() && !b.True() {
			x.differ(looser, path, a, b, "")
		}
	default:
		if !a.Equal(b) {
			x.differ(unclear, path, a, b, "")
		} else if a.Spelled() != b.Spelled() {
			x.respelled(path, a, b)
		}
	}
}

// isZero reports whether a number is 0 or absent.
func isZero(v jsontree.Value) bool {
	order, ok := jsontree.CompareNumbers(v.Raw(), []byte("0"))
	return !v.Exists() || v.Kind() == jsontree.Number && ok && order == 0
}

// limit compares limits. If up is 1, a higher limit allows less; if it is -1, a lower one does.
func (x *schemer) limit(path jsontree.Path, a, b jsontree.Value, up int) {
	does, order, ok := neither, 0, a.Kind() == jsontree.Number && b.Kind() == jsontree.Number
	if ok {
		order, ok = jsontree.CompareNumbers(a.Raw(), b.Raw())
	}
	switch {
	case ok && order == 0:
		if a.Spelled() != b.Spelled() {
			x.report(Respelled, neither, path, a, b, "")
		}
		return
	case !a.Exists(), ok && order*up < 0:
		does = tighter
	case !b.Exists(), ok:
		does = looser
	}
	x.differ(does, path, a, b, "")
}

// restriction compares a keyword that allows less if it is present. changed is the effect of
// another value.
func (x *schemer) restriction(path jsontree.Path, a, b jsontree.Value, changed effect) {
	switch {
	case a.Equal(b):
		return
	case !a.Exists():
		changed = tighter
	case !b.Exists():
		changed = looser
	}
	x.differ(changed, path, a, b, "")
}

// multiples returns the effect of a change of multipleOf.
func multiples(a, b jsontree.Value) effect {
	old, errOld := strconv.ParseInt(string(a.Raw()), 10, 64)
	new, errNew := strconv.ParseInt(string(b.Raw()), 10, 64)
	switch {
	case errOld != nil || errNew != nil || old <= 0 || new <= 0:
	case new%old == 0:
		return tighter
	case old%new == 0:
		return looser
	}
	return unclear
}

// required compares the required properties. Properties that were removed are reported by
// [schemer.properties].
func (x *schemer) required(path jsontree.Path, a, b jsontree.Value) {
	inA, inB := hashes(elements(a)), hashes(elements(b))
	before, after := memberNames(x.inA.Get("properties")), memberNames(x.inB.Get("properties"))
	for _, v := range elements(b) {
		if !inA[v.Hash()] {
			x.differ(tighter, path, jsontree.Value{}, v, quoted(v.Text())+" is now required")
		}
	}
	for _, v := range elements(a) {
		if name := v.Text(); !inB[v.Hash()] && !(before[name] && !after[name]) {
			x.differ(looser, path, v, jsontree.Value{}, quoted(name)+" is no longer required")
		}
	}
}

func memberNames(v jsontree.Value) map[string]bool {
	names := map[string]bool{}
	for name := range v.All() {
		names[name] = true
	}
	return names
}

func hashes(all []jsontree.Value) map[uint64]bool {
	set := make(map[uint64]bool, len(all))
	for _, v := range all {
		set[v.Hash()] = true
	}
	return set
}

// properties compares the properties of an object. New required properties are reported by
// [schemer.required]. A new property allows more if additional properties were not allowed.
func (x *schemer) properties(path jsontree.Path, a, b jsontree.Value) {
	addition := neither
	if other := x.inA.Get("additionalProperties"); other.Kind() == jsontree.Bool && !other.True() {
		addition = looser
	}
	required := map[string]bool{}
	for _, v := range elements(x.inB.Get("required")) {
		required[v.Text()] = true
	}
	each(a, b, x.refs, func(name string, v, w jsontree.Value) {
		at := path.With(jsontree.To(name))
		switch {
		case !v.Exists() && required[name]:
		case !v.Exists():
			x.differ(addition, at, v, w, quoted(name)+" is new, and optional")
		case !w.Exists():
			x.differ(gone, at, v, w, quoted(name)+" is gone")
		default:
			x.compare(at, v, w)
		}
	})
}

// items compares the schemas of elements.
func (x *schemer) items(path jsontree.Path, a, b jsontree.Value) {
	if a.Kind() != jsontree.Array && b.Kind() != jsontree.Array {
		x.compare(path, a, b)
		return
	}
	la, lb := elements(a), elements(b)
	n := max(len(la), len(lb))
	la, lb = append(la, make([]jsontree.Value, n-len(la))...), append(lb, make([]jsontree.Value, n-len(lb))...)
	for i := range n {
		x.compare(path.With(jsontree.Step{Kind: jsontree.Element, Index: i}), la[i], lb[i])
	}
}

// A typeSet is a set of JSON Schema types.
type typeSet uint8

const (
	typeNull typeSet = 1 << iota
	typeBoolean
	typeInteger
	typeFraction // a number that is not an integer
	typeString
	typeArray
	typeObject
	typeNumber = typeInteger | typeFraction
	typeAny    = typeObject<<1 - 1
)

var typeNames = []struct {
	name string
	set  typeSet
}{
	{"null", typeNull}, {"boolean", typeBoolean}, {"number", typeNumber}, {"integer", typeInteger},
	{"string", typeString}, {"array", typeArray}, {"object", typeObject}, {"number with a fraction", typeFraction},
}

// String returns the types, such as "string or null".
func (s typeSet) String() string {
	if s == typeAny {
		return "of any type"
	}
	var names []string
	for _, t := range typeNames {
		if s&t.set == t.set {
			names = append(names, t.name)
			s &^= t.set
		}
	}
	return strings.Join(names, " or ")
}

// typesOf returns the types that a schema allows, from its type keyword or from alternatives that
// have only a type.
func typesOf(v jsontree.Value) typeSet {
	for _, set := range []typeSet{declared(v.Get("type")), altTypes(v)} {
		if set != 0 {
			return set
		}
	}
	return typeAny
}

func declared(t jsontree.Value) (set typeSet) {
	all := elements(t)
	if t.Kind() == jsontree.String {
		all = []jsontree.Value{t}
	}
	for _, one := range all {
		for _, t := range typeNames[:len(typeNames)-1] {
			if t.name == one.Text() {
				set |= t.set
			}
		}
	}
	return set
}

// altTypes returns the types of an anyOf or oneOf whose schemas have only a type, 0 for other
// schemas.
func altTypes(v jsontree.Value) (set typeSet) {
	for _, name := range []string{"anyOf", "oneOf"} {
		for _, one := range elements(v.Get(name)) {
			t := declared(one.Get("type"))
			if t == 0 || one.Len() != 1 {
				return 0
			}
			set |= t
		}
	}
	return set
}

// onlyTypes reports whether the alternatives of a schema, if any, have only a type.
func onlyTypes(v jsontree.Value) bool {
	return !v.Get("anyOf").Exists() && !v.Get("oneOf").Exists() || altTypes(v) != 0
}

// types compares the allowed types.
func (x *schemer) types(path jsontree.Path, a, b jsontree.Value) {
	before, after := typesOf(a), typesOf(b)
	does, what := both, after.String()+" instead of "+before.String()
	switch {
	case before == after:
		return
	case after&^before == 0:
		does, what = tighter, "no longer allows "+(before&^after).String()
	case before&^after == 0:
		does, what = looser, "now also allows "+(after&^before).String()
	}
	x.report(Changed, does, path.With(jsontree.To("type")), a.Get("type"), b.Get("type"), what)
}

// values compares enum and const. A const is an enum with one value.
func (x *schemer) values(path jsontree.Path, a, b jsontree.Value) {
	name := "enum"
	if a.Get("const").Exists() && (b.Get("const").Exists() || !b.Get("enum").Exists()) {
		name = "const"
	}
	at := path.With(jsontree.To(name))
	wholeA, la := allowed(a)
	wholeB, lb := allowed(b)
	switch {
	case !wholeA.Exists() && !wholeB.Exists():
		return
	case !wholeA.Exists():
		x.differ(tighter, at, wholeA, wholeB, "now allows only some values")
		return
	case !wholeB.Exists():
		x.differ(looser, at, wholeA, wholeB, "now allows any value")
		return
	}
	inA, inB := hashes(la), hashes(lb)
	for _, v := range la {
		if !inB[v.Hash()] {
			x.differ(tighter, at, v, jsontree.Value{}, inWords(v)+" is no longer allowed")
		}
	}
	for _, v := range lb {
		if !inA[v.Hash()] {
			x.differ(looser, at, jsontree.Value{}, v, inWords(v)+" is allowed too")
		}
	}
}

// allowed returns the value of const or enum, absent for none, and the values that it allows.
func allowed(v jsontree.Value) (whole jsontree.Value, all []jsontree.Value) {
	if c := v.Get("const"); c.Exists() {
		return c, []jsontree.Value{c}
	}
	if e := v.Get("enum"); e.Kind() == jsontree.Array {
		return e, elements(e)
	}
	return whole, nil
}

// inWords returns the text of a value for use in a sentence.
func inWords(v jsontree.Value) string {
	text, _ := excerpt(v)
	return oneLine(text, 60)
}

// quoted returns a recorded name in quotes.
func quoted(name string) string { return strconv.Quote(bounded(name)) }
