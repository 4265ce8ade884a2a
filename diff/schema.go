package diff

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
)

// An effect is the effect of a change on the values that a JSON Schema allows.
type effect uint8

const (
	neither effect = iota
	unclear        // unknown
	tighter        // allows less
	looser         // allows more
	both           // allows less in one way and more in another
	gone           // a property was removed
	words          // only text for people changed
	texts          // only text for models changed
)

var effectReasons = map[effect]string{
	both: "allows other values", unclear: "may allow less",
	tighter: "allows less", looser: "allows more", texts: "models read this text",
}

// A direction is the direction of the values that a schema describes.
type direction bool

const (
	// intoServer is the direction of arguments: allowing less breaks clients.
	intoServer direction = false
	// outOfServer is the direction of results: allowing more breaks clients.
	outOfServer direction = true
)

// class returns the class of a difference with the effect.
func (x effect) class(dir direction) Class {
	switch {
	case x == both, x == gone, x == tighter && dir == intoServer, x == looser && dir == outOfServer:
		return Breaking
	case x == words:
		return Cosmetic
	}
	return Behaviour
}

// schemas compares two JSON Schemas by the values that they allow (2026-07-28
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
		return // the targets of references are equal too
	}
	x := schemer{a: a, b: b, active: map[[2]uint64]bool{}, left: maxSchemas}
	x.refs = hasRefs(a) || hasRefs(b)
	x.report = func(kind Kind, does effect, path jsontree.Path, a, b jsontree.Value, what string) {
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
		e.report(w, &finding{class: Behaviour, kind: Changed, path: path, a: a, b: b, what: "too complex to compare in full"})
	}
}

// A schemer compares two schemas.
type schemer struct {
	a, b   jsontree.Value // the root schemas
	refs   bool           // there are references
	report func(kind Kind, does effect, path jsontree.Path, a, b jsontree.Value, what string)
	// active are the pairs of schemas that are being compared, since references may be cyclic.
	// left is the number of further comparisons allowed.
	active map[[2]uint64]bool
	left   int
	cut    bool // a schema was too deep
	// merged is the total size of the inputs of merge.
	merged int
	// inA and inB are the schemas whose keywords are being compared.
	inA, inB jsontree.Value
}

// Limits for hostile schemas.
const (
	// maxRefs is the maximum length of a chain of references.
	maxRefs = 32
	// maxSchemas is the maximum number of pairs of schemas to compare. References can make the
	// number exponential.
	maxSchemas     = 20_000
	maxSchemaDepth = 500
	// maxMerged is the maximum value of schemer.merged.
	maxMerged = 8 << 20
	// maxChoices is the maximum number of alternatives that are compared individually.
	maxChoices = 16
)

// differ reports a change. Its kind depends on which of the values exist.
func (x *schemer) differ(does effect, path jsontree.Path, a, b jsontree.Value, what string) {
	kind := Changed
	switch {
	case !a.Exists():
		kind = Added
	case !b.Exists():
		kind = Removed
	}
	x.report(kind, does, path, a, b, what)
}

// compare compares two schemas. An absent schema allows anything.
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
		x.report(Changed, tighter, path, a, b, "no longer allows any value")
	case nothing(a) && !nothing(b):
		x.report(Changed, looser, path, a, b, "now allows values")
	case !isSchema(a) || !isSchema(b):
		x.report(Changed, neither, path, a, b, "not a schema")
	case a.Opaque() || b.Opaque():
		x.report(Changed, unclear, path, a, b, "too large to compare")
	case x.choice(path, a, b):
	default:
		x.types(path, a, b)
		x.values(path, a, b)
		x.keywords(path, a, b)
	}
}

// respelled reports the numbers in equal values that are spelled differently.
func (x *schemer) respelled(path jsontree.Path, a, b jsontree.Value) {
	jsontree.Compare(a, b, path, func(c *jsontree.Change) bool {
		if c.Kind != jsontree.Repeated { // see schemas
			x.report(Respelled, neither, c.Path, c.A, c.B, "")
		}
		return true
	})
}

// alternatives returns the alternatives of a schema and their keyword. A schema without such a
// keyword is its own only alternative.
func alternatives(v jsontree.Value) (keyword string, all []jsontree.Value) {
	for _, name := range []string{"anyOf", "oneOf"} {
		if all := elements(v.Get(name)); len(all) > 0 {
			return name, all
		}
	}
	return "", []jsontree.Value{v}
}

// choice compares a schema that has alternatives to one that has none, and reports whether it did.
// Each alternative is merged with the other keywords and compared to the other schema. If both
// schemas have alternatives, or one has only alternative types, the keywords are compared instead.
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
	does, what, most, least := unclear, "now a choice", looser, tighter
	if nameA != "" {
		what, most, least = "no longer a choice", tighter, looser
	}
	// One alternative that allows at least as much as the other schema is sufficient.
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

// silently compares two schemas without reporting and returns the overall effect.
func (x *schemer) silently(a, b jsontree.Value) effect {
	var less, more, other bool
	report, left := x.report, x.left
	x.report = func(_ Kind, does effect, _ jsontree.Path, _, _ jsontree.Value, _ string) {
		less = less || does == tighter || does == both || does == gone
		more = more || does == looser || does == both
		other = other || does == unclear
	}
	x.compare(nil, a, b)
	x.report = report
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

// inAnyOrder compares lists of schemas whose order does not matter. more is the effect of an
// additional schema. Schemas without an equal counterpart are compared in order.
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

// unconstraining are the keywords that do not constrain a reference in the same schema.
var unconstraining = []string{"$ref", "$defs", "definitions", "$schema", "$id", "$comment"}

// whole resolves a reference and merges the keywords next to it, which apply since draft 2019-09.
func (x *schemer) whole(root, v jsontree.Value) jsontree.Value {
	for range maxRefs {
		ref := v.Get("$ref")
		if ref.Kind() != jsontree.String {
			return v
		}
		to, constrained := pointer(root, ref.Text()), false
		for name := range v.All() {
			constrained = constrained || !slices.Contains(unconstraining, name)
		}
		switch {
		case !to.Exists():
			return v
		case constrained && to.Kind() == jsontree.Object:
			v = x.merge(to, v, unconstraining...)
		default:
			v = to
		}
	}
	return v
}

// merge returns a schema with the keywords of two schemas. The first may be absent. The keywords
// of the second take precedence, except those in drop, which are omitted. If maxMerged is exceeded,
// merge returns the first schema and ends the comparison.
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

// pointer resolves a reference that is a fragment with a JSON pointer.
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
