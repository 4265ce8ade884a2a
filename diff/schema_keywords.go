package diff

import (
	"strconv"

	"github.com/mcptap/mcptap/internal/jsontree"
)

// A keyword is how one keyword of JSON Schema is compared. Those without a rule
// are compared as they are, with nobody knowing what they do.
type keyword struct {
	compare func(x *schemer, path jsontree.Path, a, b jsontree.Value)
}

// keywords are those of which it is known what they allow.
var keywords map[string]keyword

// init breaks what would be a cycle: most keywords hold schemas.
func init() {
	keywords = map[string]keyword{
		"type": {skip}, "enum": {skip}, "const": {skip}, // see types and values
		"$defs": {skip}, "definitions": {skip}, // compared where they are used
		"$ref":    {annotation(unclear)}, // it leads nowhere, or it would have been followed
		"$schema": {annotation(words)}, "$id": {annotation(words)}, "$comment": {annotation(words)}, "title": {annotation(words)},
		"examples": {annotation(words)}, "deprecated": {annotation(words)}, "description": {annotation(texts)},
		"default":  {annotation(neither)},
		"required": {(*schemer).required}, "properties": {(*schemer).properties}, "patternProperties": {(*schemer).byName},
		"additionalProperties": {(*schemer).compare}, "unevaluatedProperties": {(*schemer).compare}, "propertyNames": {(*schemer).compare},
		"items": {(*schemer).items}, "prefixItems": {(*schemer).items}, "additionalItems": {(*schemer).compare},
		"unevaluatedItems": {(*schemer).compare}, "contains": {(*schemer).compare},
		"allOf":   {func(x *schemer, path jsontree.Path, a, b jsontree.Value) { x.alternatives(path, a, b, tighter) }},
		"minimum": {limit(1)}, "exclusiveMinimum": {limit(1)}, "minLength": {count0}, "minItems": {count0}, "minProperties": {count0},
		"maximum": {limit(-1)}, "exclusiveMaximum": {limit(-1)}, "maxLength": {limit(-1)}, "maxItems": {limit(-1)}, "maxProperties": {limit(-1)},
		"not": {restriction}, "dependentRequired": {restriction}, "dependentSchemas": {restriction}, "dependencies": {restriction},
		"multipleOf": {multiples}, "pattern": {restriction}, "format": {restriction}, "uniqueItems": {unique},
	}
}

func skip(*schemer, jsontree.Path, jsontree.Value, jsontree.Value) {}

// annotation compares what allows nothing and forbids nothing.
func annotation(does effect) func(*schemer, jsontree.Path, jsontree.Value, jsontree.Value) {
	return func(x *schemer, path jsontree.Path, a, b jsontree.Value) {
		if !a.Equal(b) {
			x.tell(schemaChange{kindOfTwo(a, b), does, path, a, b, ""})
		}
	}
}

// count0 compares how many there must be at least, where 0 is no limit.
func count0(x *schemer, path jsontree.Path, a, b jsontree.Value) {
	if isZero(a) && isZero(b) {
		return
	}
	limit(1)(x, path, a, b)
}

// isZero reports whether a number is 0, or is not there.
func isZero(v jsontree.Value) bool {
	order, ok := jsontree.CompareNumbers(v.Raw(), []byte("0"))
	return !v.Exists() || v.Kind() == jsontree.Number && ok && order == 0
}

// multiples compares of what numbers must be multiples.
func multiples(x *schemer, path jsontree.Path, a, b jsontree.Value) {
	old, errOld := strconv.ParseInt(string(a.Raw()), 10, 64)
	new, errNew := strconv.ParseInt(string(b.Raw()), 10, 64)
	switch {
	case a.Equal(b) || errOld != nil || errNew != nil || old <= 0 || new <= 0:
		restriction(x, path, a, b)
	case new%old == 0:
		x.tell(schemaChange{Changed, tighter, path, a, b, ""})
	case old%new == 0:
		x.tell(schemaChange{Changed, looser, path, a, b, ""})
	default:
		restriction(x, path, a, b)
	}
}

// limit compares limits: with 1, a higher one allows less.
func limit(up int) func(*schemer, jsontree.Path, jsontree.Value, jsontree.Value) {
	return func(x *schemer, path jsontree.Path, a, b jsontree.Value) {
		c := schemaChange{kind: kindOfTwo(a, b), path: path, a: a, b: b}
		order, ok := 0, a.Kind() == jsontree.Number && b.Kind() == jsontree.Number
		if ok {
			order, ok = jsontree.CompareNumbers(a.Raw(), b.Raw())
		}
		switch {
		case ok && order == 0:
			if a.Spelled() == b.Spelled() {
				return
			}
			c.kind = Respelled
		case !a.Exists(), ok && order*up < 0:
			c.effect = tighter
		case !b.Exists(), ok:
			c.effect = looser
		}
		x.tell(c)
	}
}

// restriction compares what allows less when it is there, and of which two
// cannot be compared.
func restriction(x *schemer, path jsontree.Path, a, b jsontree.Value) {
	c := schemaChange{kindOfTwo(a, b), unclear, path, a, b, ""}
	switch {
	case a.Equal(b):
		return
	case !a.Exists():
		c.effect = tighter
	case !b.Exists():
		c.effect = looser
	}
	x.tell(c)
}

func unique(x *schemer, path jsontree.Path, a, b jsontree.Value) {
	switch {
	case a.True() == b.True():
	case b.True():
		x.tell(schemaChange{kindOfTwo(a, b), tighter, path, a, b, ""})
	default:
		x.tell(schemaChange{kindOfTwo(a, b), looser, path, a, b, ""})
	}
}

// required compares the lists of what must be there. What became of a property
// that is gone is told by properties.
func (x *schemer) required(path jsontree.Path, a, b jsontree.Value) {
	inA, inB := byHash(a), byHash(b)
	before, after := memberNames(x.inA.Get("properties")), memberNames(x.inB.Get("properties"))
	for _, v := range elements(b) {
		if _, there := inA[v.Hash()]; !there {
			x.tell(schemaChange{Added, tighter, path, jsontree.Value{}, v, quoted(v.Text()) + " is required now"})
		}
	}
	for _, v := range elements(a) {
		_, there := inB[v.Hash()]
		if name := v.Text(); !there && !(before[name] && !after[name]) {
			x.tell(schemaChange{Removed, looser, path, v, jsontree.Value{}, quoted(name) + " is not required any more"})
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

func byHash(v jsontree.Value) map[uint64]jsontree.Value {
	all := map[uint64]jsontree.Value{}
	if v.Kind() == jsontree.Array {
		for _, c := range v.All() {
			all[c.Hash()] = c
		}
	}
	return all
}

// properties compares what an object may hold. That a new one is required is
// told by required.
func (x *schemer) properties(path jsontree.Path, a, b jsontree.Value) {
	required := map[string]bool{}
	for _, v := range elements(x.inB.Get("required")) {
		required[v.Text()] = true
	}
	each(a, b, x.refs, func(name string, v, w jsontree.Value) {
		at := path.With(jsontree.To(name))
		switch {
		case !v.Exists():
			if !required[name] {
				x.tell(schemaChange{Added, x.addition(), at, v, w, quoted(name) + " is new, and optional"})
			}
		case !w.Exists():
			x.tell(schemaChange{Removed, gone, at, v, w, quoted(name) + " is gone"})
		default:
			x.compare(at, v, w)
		}
	})
}

// addition is what a new property does: where no others were allowed, it allows more.
func (x *schemer) addition() effect {
	if other := x.inA.Get("additionalProperties"); other.Kind() == jsontree.Bool && !other.True() {
		return looser
	}
	return neither
}

// byName compares schemas by what they are for.
func (x *schemer) byName(path jsontree.Path, a, b jsontree.Value) {
	each(a, b, x.refs, func(name string, v, w jsontree.Value) { x.compare(path.With(jsontree.To(name)), v, w) })
}

// items compares the schema of all elements, or those of each.
func (x *schemer) items(path jsontree.Path, a, b jsontree.Value) {
	if a.Kind() != jsontree.Array && b.Kind() != jsontree.Array {
		x.compare(path, a, b)
		return
	}
	la, lb := elements(a), elements(b)
	for i := range max(len(la), len(lb)) {
		var v, w jsontree.Value
		if i < len(la) {
			v = la[i]
		}
		if i < len(lb) {
			w = lb[i]
		}
		x.compare(path.With(jsontree.Step{Kind: jsontree.Element, Index: i}), v, w)
	}
}

// alternatives compares lists of schemas, of which the order does not count.
// More does what one more of them does. Those that are on one side only are
// compared with one another in order, as one that was changed.
func (x *schemer) alternatives(path jsontree.Path, a, b jsontree.Value, more effect) {
	fewer := tighter
	if more == tighter {
		fewer = looser
	}
	la, lb := elements(a), elements(b)
	left := map[uint64][]int{}
	for j, w := range lb {
		h := x.whole(x.b, w).Hash()
		left[h] = append(left[h], j)
	}
	var restA, restB []int
	taken := make([]bool, len(lb))
	for i, v := range la {
		h := x.whole(x.a, v).Hash()
		same := left[h]
		if len(same) == 0 {
			restA = append(restA, i)
			continue
		}
		left[h] = same[1:]
		taken[same[0]] = true
		x.compare(path.With(jsontree.Step{Kind: jsontree.Element, Index: i}), v, lb[same[0]])
	}
	for j := range lb {
		if !taken[j] {
			restB = append(restB, j)
		}
	}
	for k := range max(len(restA), len(restB)) {
		switch {
		case k >= len(restB):
			i := restA[k]
			x.tell(schemaChange{Removed, fewer, path.With(jsontree.Step{Kind: jsontree.Element, Index: i}), la[i], jsontree.Value{}, ""})
		case k >= len(restA):
			j := restB[k]
			x.tell(schemaChange{Added, more, path.With(jsontree.Step{Kind: jsontree.Element, Index: j}), jsontree.Value{}, lb[j], ""})
		default:
			i, j := restA[k], restB[k]
			x.compare(path.With(jsontree.Step{Kind: jsontree.Element, Index: i}), la[i], lb[j])
		}
	}
}
