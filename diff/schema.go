package diff

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
)

// An effect is what a change of a JSON Schema does to what it allows.
type effect uint8

const (
	neither effect = iota
	unclear        // nobody can tell
	tighter        // it allows less
	looser         // it allows more
	both           // less of one thing and more of another
	gone           // a property that was known is not any more
	words          // only what it says to people changed
	texts          // only what it says to models changed
)

var effectReasons = map[effect]string{
	both: "it allows other values", unclear: "whether it allows less cannot be told",
	tighter: "it allows less", looser: "it allows more", texts: "models read it",
}

// A direction says who has to keep to a schema.
type direction bool

const (
	// intoServer is the schema of arguments: what it allows less fails clients.
	intoServer direction = false
	// outOfServer is that of results: what it allows more fails clients.
	outOfServer direction = true
)

// class is what an effect means for those who relied on the schema.
func (x effect) class(dir direction) Class {
	switch {
	case x == both, x == gone, x == tighter && dir == intoServer, x == looser && dir == outOfServer:
		return Breaking
	case x == words:
		return Cosmetic
	}
	return Behaviour
}

// schemas compares two JSON Schemas by what they allow (2026-07-28
// server/tools#tool, JSON Schema 2020-12 and draft-07).
func (e *engine) schemas(w *where, path jsontree.Path, a, b jsontree.Value, dir direction) {
	if a.HasRepeats() || b.HasRepeats() {
		jsontree.Compare(a, b, path, func(c *jsontree.Change) bool {
			if c.Kind == jsontree.Repeated {
				e.change(w, c)
			}
			return true
		})
	}
	if a.Equal(b) && a.Spelled() == b.Spelled() {
		return // whatever references in them lead to is the same
	}
	x := schemer{a: a, b: b, active: map[[2]uint64]bool{}, left: maxSchemas}
	x.refs = hasRefs(a) || hasRefs(b)
	x.tell = func(kind Kind, does effect, path jsontree.Path, a, b jsontree.Value, what string) {
		f := &finding{kind: kind, path: path, a: a, b: b, what: what, class: does.class(dir), reason: effectReasons[does]}
		if kind == Respelled {
			f.class = Cosmetic
		}
		if kind == Added || kind == Removed {
			e.expect(w, f)
		}
		e.report(w, f)
	}
	x.compare(path, a, b)
	if x.left < 0 || x.cut {
		e.report(w, &finding{class: Behaviour, kind: Changed, path: path, a: a, b: b, what: "it is too intertwined to be compared in full"})
	}
}

// A schemer compares two schemas.
type schemer struct {
	a, b jsontree.Value // the whole of both, which references are resolved in
	refs bool           // there are references
	tell func(kind Kind, does effect, path jsontree.Path, a, b jsontree.Value, what string)
	// active are the pairs of schemas that are being compared: references may
	// lead round and round. Left is how many more may be.
	active map[[2]uint64]bool
	left   int
	cut    bool // it was too deep
	// merged counts the bytes of schemas that were written anew.
	merged int
	// inA and inB are the schemas whose keywords are being compared.
	inA, inB jsontree.Value
}

// What a schema made by an enemy may cost.
const (
	// maxRefs is how many references may lead from one to the next.
	maxRefs = 32
	// maxSchemas is how many pairs of schemas are compared within one: references
	// can make a small one as large as they like.
	maxSchemas     = 20_000
	maxSchemaDepth = 500
	// maxMerged is how many bytes of schemas are written anew within one comparison.
	maxMerged = 8 << 20
	// maxChoices bounds the alternatives that are tried one by one.
	maxChoices = 16
)

// differ tells of a change whose kind shows in what is there.
func (x *schemer) differ(does effect, path jsontree.Path, a, b jsontree.Value, what string) {
	kind := Changed
	switch {
	case !a.Exists():
		kind = Added
	case !b.Exists():
		kind = Removed
	}
	x.tell(kind, does, path, a, b, what)
}

// compare compares two schemas, of which one may be absent: that is one that
// allows anything.
func (x *schemer) compare(path jsontree.Path, a, b jsontree.Value) {
	a, b = x.whole(x.a, a), x.whole(x.b, b)
	if a.Equal(b) && (!x.refs || !a.Exists()) {
		if a.Spelled() != b.Spelled() {
			x.respelled(path, a, b)
		}
		return
	}
	pair := [2]uint64{a.Hash(), b.Hash()}
	if len(path) > maxSchemaDepth {
		x.cut = true
		return
	}
	if x.left--; x.left < 0 || x.active[pair] {
		return
	}
	x.active[pair] = true
	defer delete(x.active, pair)
	isSchema := func(v jsontree.Value) bool {
		return !v.Exists() || v.Kind() == jsontree.Object || v.Kind() == jsontree.Bool
	}
	nothing := func(v jsontree.Value) bool { return v.Kind() == jsontree.Bool && !v.True() }
	switch {
	case nothing(b) && !nothing(a):
		x.tell(Changed, tighter, path, a, b, "nothing is allowed here any more")
	case nothing(a) && !nothing(b):
		x.tell(Changed, looser, path, a, b, "something is allowed here now")
	case !isSchema(a) || !isSchema(b):
		x.tell(Changed, neither, path, a, b, "it is no schema")
	case a.Opaque() || b.Opaque():
		x.tell(Changed, unclear, path, a, b, "it is too large to be compared")
	case x.choice(path, a, b):
	default:
		x.types(path, a, b)
		x.values(path, a, b)
		x.keywords(path, a, b)
	}
}

// respelled reports the numbers in two values that are the same.
func (x *schemer) respelled(path jsontree.Path, a, b jsontree.Value) {
	jsontree.Compare(a, b, path, func(c *jsontree.Change) bool {
		if c.Kind != jsontree.Repeated { // see schemas
			x.tell(Respelled, neither, c.Path, c.A, c.B, "")
		}
		return true
	})
}

// alternatives are the schemas by which one leaves a choice, with the keyword. One
// without the keyword is a choice of one.
func alternatives(v jsontree.Value) (keyword string, all []jsontree.Value) {
	for _, name := range []string{"anyOf", "oneOf"} {
		if all := elements(v.Get(name)); len(all) > 0 {
			return name, all
		}
	}
	return "", []jsontree.Value{v}
}

// choice compares a schema that leaves a choice with one that leaves none, and reports
// whether it did: each alternative alone, with what stands beside the choice, is compared
// with the other schema. Where both leave a choice, or one of types alone, the keywords
// are compared.
func (x *schemer) choice(path jsontree.Path, a, b jsontree.Value) bool {
	nameA, as := alternatives(a)
	nameB, bs := alternatives(b)
	if (nameA == "") == (nameB == "") || x.left < 0 || altTypes(a)|altTypes(b) != 0 || len(as)+len(bs) > maxChoices+1 {
		return false
	}
	alone := func(root, v jsontree.Value, name string, all []jsontree.Value) []jsontree.Value {
		if name == "" {
			return all
		}
		rest := x.merge(jsontree.Value{}, v, name)
		for i, one := range all {
			all[i] = x.merge(rest, x.whole(root, one))
		}
		return all
	}
	does, what, most, least := unclear, "there is a choice now", looser, tighter
	if nameA != "" {
		what, most, least = "there is no choice any more", tighter, looser
	}
	// With one alternative that allows as much as before, nothing that was allowed is lost.
	all := true
	for _, v := range alone(x.a, a, nameA, as) {
		for _, w := range alone(x.b, b, nameB, bs) {
			one := x.silently(v, w)
			if one == neither || one == most {
				does = most
			}
			all = all && one == least
		}
	}
	if all {
		does = least
	}
	name := nameA + nameB
	x.differ(does, path.With(jsontree.To(name)), a.Get(name), b.Get(name), what)
	return true
}

// silently compares two schemas and returns what the change does as a whole.
func (x *schemer) silently(a, b jsontree.Value) effect {
	var less, more, other bool
	tell, left := x.tell, x.left
	x.tell = func(_ Kind, does effect, _ jsontree.Path, _, _ jsontree.Value, _ string) {
		less = less || does == tighter || does == both || does == gone
		more = more || does == looser || does == both
		other = other || does == unclear
	}
	x.compare(nil, a, b)
	x.tell = tell
	switch {
	case x.left < left/2: // it used too much of the budget
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

// inAnyOrder compares lists of schemas, of which the order does not count. More does what
// one more of them does. Those that are on one side only are compared with one another
// in order, as one that was changed.
func (x *schemer) inAnyOrder(path jsontree.Path, a, b jsontree.Value, more effect) {
	fewer := tighter + looser - more
	la, lb := elements(a), elements(b)
	at := func(i int) jsontree.Path { return path.With(jsontree.Step{Kind: jsontree.Element, Index: i}) }
	same := map[uint64][]int{}
	for j, w := range lb {
		h := x.whole(x.b, w).Hash()
		same[h] = append(same[h], j)
	}
	var restA, restB []int
	taken := make([]bool, len(lb))
	for i, v := range la {
		h := x.whole(x.a, v).Hash()
		if len(same[h]) == 0 {
			restA = append(restA, i)
			continue
		}
		j := same[h][0]
		same[h], taken[j] = same[h][1:], true
		x.compare(at(i), v, lb[j])
	}
	for j := range lb {
		if !taken[j] {
			restB = append(restB, j)
		}
	}
	for k := range max(len(restA), len(restB)) {
		switch {
		case k >= len(restB):
			x.differ(fewer, at(restA[k]), la[restA[k]], jsontree.Value{}, "")
		case k >= len(restA):
			x.differ(more, at(restB[k]), jsontree.Value{}, lb[restB[k]], "")
		default:
			x.compare(at(restA[k]), la[restA[k]], lb[restB[k]])
		}
	}
}

// noneBeside are the keywords that add nothing to the reference they stand beside.
var noneBeside = []string{"$ref", "$defs", "definitions", "$schema", "$id", "$comment"}

// whole follows a reference within a schema to where it leads, and adds what stands
// beside it, which counts as well since 2019-09: a description, a default, a limit.
func (x *schemer) whole(root, v jsontree.Value) jsontree.Value {
	for range maxRefs {
		ref := v.Get("$ref")
		if ref.Kind() != jsontree.String {
			return v
		}
		to, beside := pointer(root, ref.Text()), false
		for name := range v.All() {
			beside = beside || !slices.Contains(noneBeside, name)
		}
		switch {
		case !to.Exists():
			return v
		case beside && to.Kind() == jsontree.Object:
			v = x.merge(to, v, noneBeside...)
		default:
			v = to
		}
	}
	return v
}

// merge makes one schema of two, of which the first may be absent. Of a keyword that both
// have the second's counts; what is dropped of the second does not. Where too much would
// have to be written it gives up, which is told in the end.
func (x *schemer) merge(first, second jsontree.Value, drop ...string) jsontree.Value {
	if x.merged += len(first.Raw()) + len(second.Raw()); x.merged > maxMerged || first.Opaque() || second.Opaque() {
		x.left = -1
		return first
	}
	text, replaced := []byte{'{'}, map[string]bool{}
	add := func(of jsontree.Value, chosen bool) {
		for name, m := range of.All() {
			if replaced[name] == chosen {
				text = append(append(append(append(text, m.RawName()...), ':'), m.Raw()...), ',')
			}
		}
	}
	for name := range second.All() {
		replaced[name] = !slices.Contains(drop, name)
	}
	add(first, false)
	add(second, true)
	doc, err := jsontree.Parse(append(text[:max(len(text)-1, 1)], '}'))
	if err != nil {
		return first
	}
	return doc
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
		if v.Kind() != jsontree.Array {
			v = v.Get(step)
			continue
		}
		i, err := strconv.Atoi(step)
		if err != nil {
			return jsontree.Value{}
		}
		v = follow(v, jsontree.Step{Kind: jsontree.Element, Index: i})
	}
	return v
}

// hasRefs reports whether a schema has references.
func hasRefs(v jsontree.Value) bool { return strings.Contains(string(v.Raw()), `"$ref"`) }
