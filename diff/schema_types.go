package diff

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
)

// A typeSet is a set of the types that JSON Schema knows.
type typeSet uint8

const (
	typeNull typeSet = 1 << iota
	typeBoolean
	typeInteger
	typeFraction // a number that is no integer
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
	{"string", typeString}, {"array", typeArray}, {"object", typeObject},
}

func typeNamed(name string) typeSet {
	for _, t := range typeNames {
		if t.name == name {
			return t.set
		}
	}
	return 0
}

// String lists the types, such as "string or null".
func (s typeSet) String() string {
	var names []string
	for _, t := range typeNames {
		if s&t.set == t.set {
			names = append(names, t.name)
			s &^= t.set
		}
	}
	if s&typeFraction != 0 {
		names = append(names, "number with a fraction")
	}
	return strings.Join(names, " or ")
}

// typesOf is what a schema's type allows, or, where it has none, that of
// alternatives that say nothing but their type.
func typesOf(v jsontree.Value) typeSet {
	set := declared(v.Get("type"))
	if alt := altTypes(v); set == 0 && alt != 0 {
		return alt
	}
	if set == 0 {
		return typeAny
	}
	return set
}

func declared(t jsontree.Value) (set typeSet) {
	if t.Kind() == jsontree.String {
		return typeNamed(t.Text())
	}
	for _, one := range elements(t) {
		set |= typeNamed(one.Text())
	}
	return set
}

// altTypes are the types of an anyOf or oneOf whose schemas say nothing else, 0
// if it is none.
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

// onlyTypes reports whether the alternatives of a schema, if it has any, say
// nothing but their types.
func onlyTypes(v jsontree.Value) bool {
	return !v.Get("anyOf").Exists() && !v.Get("oneOf").Exists() || altTypes(v) != 0
}

// types compares what types are allowed.
func (x *schemer) types(path jsontree.Path, a, b jsontree.Value) {
	before, after := typesOf(a), typesOf(b)
	if before == after {
		return
	}
	c := schemaChange{kind: Changed, effect: both, path: path.With(jsontree.To("type")), a: a.Get("type"), b: b.Get("type")}
	switch {
	case after&^before == 0:
		c.effect, c.what = tighter, "it may not be "+(before&^after).String()+" any more"
	case before&^after == 0:
		c.effect, c.what = looser, "it may be "+(after&^before).String()+" too"
	default:
		c.what = "it is " + typeText(after) + " now instead of " + typeText(before)
	}
	x.tell(c)
}

func typeText(s typeSet) string {
	if s == typeAny {
		return "of any type"
	}
	return s.String()
}

// values compares enum and const, which is an enum of one.
func (x *schemer) values(path jsontree.Path, a, b jsontree.Value) {
	name, la, lb := "enum", allowed(a), allowed(b)
	if a.Get("const").Exists() && (b.Get("const").Exists() || !b.Get("enum").Exists()) {
		name = "const"
	}
	at := path.With(jsontree.To(name))
	switch {
	case la == nil && lb == nil:
		return
	case la == nil:
		x.tell(schemaChange{Added, tighter, at, jsontree.Value{}, firstOf(b), "only some values are allowed now"})
		return
	case lb == nil:
		x.tell(schemaChange{Removed, looser, at, firstOf(a), jsontree.Value{}, "any value is allowed now"})
		return
	}
	inA, inB := hashes(la), hashes(lb)
	for _, v := range la {
		if !inB[v.Hash()] {
			x.tell(schemaChange{Removed, tighter, at, v, jsontree.Value{}, inWords(v) + " is not allowed any more"})
		}
	}
	for _, v := range lb {
		if !inA[v.Hash()] {
			x.tell(schemaChange{Added, looser, at, jsontree.Value{}, v, inWords(v) + " is allowed too"})
		}
	}
}

// inWords is a value in a sentence.
func inWords(v jsontree.Value) string {
	text, _ := excerpt(v)
	return oneLine(text, 60)
}

// allowed lists the values that a schema names, nil if it names none.
func allowed(v jsontree.Value) []jsontree.Value {
	if c := v.Get("const"); c.Exists() {
		return []jsontree.Value{c}
	}
	if e := v.Get("enum"); e.Kind() == jsontree.Array {
		return append([]jsontree.Value{}, elements(e)...)
	}
	return nil
}

func firstOf(v jsontree.Value) jsontree.Value {
	if c := v.Get("const"); c.Exists() {
		return c
	}
	return v.Get("enum")
}

func hashes(all []jsontree.Value) map[uint64]bool {
	set := make(map[uint64]bool, len(all))
	for _, v := range all {
		set[v.Hash()] = true
	}
	return set
}

// pointer finds what a JSON pointer in a fragment leads to.
func pointer(root jsontree.Value, ref string) jsontree.Value {
	text, ok := strings.CutPrefix(ref, "#")
	if !ok || text != "" && text[0] != '/' {
		return jsontree.Value{}
	}
	if decoded, err := url.PathUnescape(text); err == nil {
		text = decoded
	}
	v := root
	for _, step := range strings.Split(text, "/")[1:] {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		if v.Kind() == jsontree.Array {
			i, err := strconv.Atoi(step)
			if err != nil {
				return jsontree.Value{}
			}
			v = follow(v, jsontree.Step{Kind: jsontree.Element, Index: i})
			continue
		}
		v = v.Get(step)
	}
	return v
}

// hasRefs reports whether a schema has references.
func hasRefs(v jsontree.Value) bool { return strings.Contains(string(v.Raw()), `"$ref"`) }
