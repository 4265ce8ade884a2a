package diff

import (
	"slices"

	"github.com/mcptap/mcptap/internal/jsontree"
)

// maxMerged is how many bytes of schemas are written anew within one comparison.
const maxMerged = 8 << 20

// whole follows a reference within a schema to where it leads, and adds what stands
// beside it, which counts as well since 2019-09: a description, a default, a limit.
func (x *schemer) whole(root, v jsontree.Value) jsontree.Value {
	for range maxRefs {
		ref := v.Get("$ref")
		if ref.Kind() != jsontree.String {
			return v
		}
		to := pointer(root, ref.Text())
		switch {
		case !to.Exists():
			return v
		case besides(v) && to.Kind() == jsontree.Object:
			v = x.merge(to, v, noneBeside...)
		default:
			v = to
		}
	}
	return v
}

// noneBeside are the keywords that add nothing to the reference they stand beside.
var noneBeside = []string{"$ref", "$defs", "definitions", "$schema", "$id", "$comment"}

// besides reports whether something stands beside a reference that counts.
func besides(v jsontree.Value) bool {
	for name := range v.All() {
		if !slices.Contains(noneBeside, name) {
			return true
		}
	}
	return false
}

// merge makes one schema of two. Of a keyword that both have the second's counts;
// what is dropped of the second does not. Where too much would have to be written it
// gives up, which is told in the end.
func (x *schemer) merge(first, second jsontree.Value, drop ...string) jsontree.Value {
	if x.merged += len(first.Raw()) + len(second.Raw()); x.merged > maxMerged || first.Opaque() || second.Opaque() {
		x.left = -1
		return first
	}
	text := []byte{'{'}
	add := func(m jsontree.Value) {
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(append(append(text, m.RawName()...), ':'), m.Raw()...)
	}
	replaced := map[string]bool{}
	for name := range second.All() {
		if !slices.Contains(drop, name) {
			replaced[name] = true
		}
	}
	for name, m := range first.All() {
		if !replaced[name] {
			add(m)
		}
	}
	for name, m := range second.All() {
		if replaced[name] {
			add(m)
		}
	}
	doc, err := jsontree.Parse(append(text, '}'))
	if err != nil {
		return first
	}
	return doc
}

// without is a schema that lacks a keyword.
func (x *schemer) without(v jsontree.Value, name string) jsontree.Value {
	empty, _ := jsontree.Parse([]byte("{}"))
	return x.merge(empty, v, name)
}

// choice is the keyword by which a schema leaves a choice, "" for none.
func choice(v jsontree.Value) string {
	for _, name := range []string{"anyOf", "oneOf"} {
		if len(elements(v.Get(name))) > 0 {
			return name
		}
	}
	return ""
}

// maxChoices bounds the alternatives that are tried one by one.
const maxChoices = 16

// choices compares a schema that leaves a choice with one that leaves none. It reports
// whether it did: where there is a choice on both sides, or one of types alone, the
// keywords are compared.
func (x *schemer) choices(path jsontree.Path, a, b jsontree.Value) bool {
	nameA, nameB := choice(a), choice(b)
	if (nameA == "") == (nameB == "") || x.left < 0 {
		return false
	}
	list, name := a, nameA
	if nameA == "" {
		list, name = b, nameB
	}
	alts := elements(list.Get(name))
	if altTypes(list) != 0 || len(alts) > maxChoices {
		return false
	}
	rest := x.without(list, name)
	root := x.a
	if nameA == "" {
		root = x.b
	}
	c := schemaChange{Added, unclear, path.With(jsontree.To(name)), jsontree.Value{}, list.Get(name), "there is a choice now"}
	if nameB == "" {
		c.kind, c.a, c.b, c.what = Removed, list.Get(name), jsontree.Value{}, "there is no choice any more"
	}
	var effects []effect
	for _, alt := range alts {
		one := x.merge(rest, x.whole(root, alt))
		if nameB == "" {
			effects = append(effects, x.silently(one, b))
		} else {
			effects = append(effects, x.silently(a, one))
		}
	}
	c.effect = chosen(effects, nameB == "")
	x.tell(c)
	return true
}

// chosen is what it does to have a choice, by what each alternative alone does: with
// one that allows as much as before, nothing that was allowed is lost. Left reports that
// there was a choice before and is none any more.
func chosen(each []effect, left bool) effect {
	most, least := looser, tighter
	if left {
		most, least = tighter, looser
	}
	all := true
	for _, e := range each {
		if e == neither || e == most {
			return most
		}
		all = all && e == least
	}
	if all {
		return least
	}
	return unclear
}

// silently compares two schemas and tells nobody. It returns what the change does as a
// whole.
func (x *schemer) silently(a, b jsontree.Value) effect {
	var less, more, other bool
	tell, left := x.tell, x.left
	x.tell = func(c schemaChange) {
		less = less || c.effect == tighter || c.effect == both || c.effect == gone
		more = more || c.effect == looser || c.effect == both
		other = other || c.effect == unclear
	}
	x.compare(nil, a, b)
	x.tell = tell
	switch {
	case x.left < left/2: // it took too much of what there is
		return unclear
	case less && more:
		return both
	case less:
		return tighter
	case other:
		return unclear
	case more:
		return looser
	}
	return neither
}
