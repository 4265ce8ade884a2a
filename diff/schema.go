package diff

import (
	"strconv"

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

// A direction says who has to keep to a schema.
type direction bool

const (
	// intoServer is the schema of arguments: what it allows less fails clients.
	intoServer direction = false
	// outOfServer is that of results: what it allows more fails clients.
	outOfServer direction = true
)

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
	x.tell = func(c schemaChange) {
		f := &finding{kind: c.kind, path: c.path, a: c.a, b: c.b, what: c.what, class: c.effect.class(dir)}
		switch c.effect {
		case both:
			f.reason = "it allows other values"
		case unclear:
			f.reason = "whether it allows less cannot be told"
		case tighter:
			f.reason = "it allows less"
		case looser:
			f.reason = "it allows more"
		case texts:
			f.reason = "models read it"
		}
		if c.kind == Respelled {
			f.class = Cosmetic
		}
		if c.kind == Added || c.kind == Removed {
			e.expect(w, f)
		}
		e.report(w, f)
	}
	x.compare(path, a, b)
	if x.left < 0 || x.cut {
		e.report(w, &finding{class: Behaviour, kind: Changed, path: path, a: a, b: b, what: "it is too intertwined to be compared in full"})
	}
}

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

type schemaChange struct {
	kind   Kind
	effect effect
	path   jsontree.Path
	a, b   jsontree.Value
	what   string
}

// A schemer compares two schemas.
type schemer struct {
	a, b jsontree.Value // the whole of both, which references are resolved in
	refs bool           // there are references
	tell func(schemaChange)
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

const (
	// maxRefs is how many references may lead from one to the next.
	maxRefs = 32
	// maxSchemas is how many pairs of schemas are compared within one: references
	// can make a small one as large as they like.
	maxSchemas = 20_000
)

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
	if allows, only := extreme(a), extreme(b); allows != only {
		switch {
		case only == nothing:
			x.tell(schemaChange{Changed, tighter, path, a, b, "nothing is allowed here any more"})
			return
		case allows == nothing:
			x.tell(schemaChange{Changed, looser, path, a, b, "something is allowed here now"})
			return
		}
	}
	if a.Exists() && a.Kind() != jsontree.Object && a.Kind() != jsontree.Bool || b.Exists() && b.Kind() != jsontree.Object && b.Kind() != jsontree.Bool {
		x.tell(schemaChange{Changed, neither, path, a, b, "it is no schema"})
		return
	}
	if a.Opaque() || b.Opaque() {
		x.tell(schemaChange{Changed, unclear, path, a, b, "it is too large to be compared"})
		return
	}
	if x.choices(path, a, b) {
		return
	}
	x.types(path, a, b)
	x.values(path, a, b)
	x.keywords(path, a, b)
}

// maxSchemaDepth bounds what a schema made by an enemy costs.
const maxSchemaDepth = 500

// What a schema without any keywords allows.
const (
	depends = iota
	anything
	nothing
)

func extreme(v jsontree.Value) int {
	switch {
	case !v.Exists(), v.Kind() == jsontree.Object && v.Len() == 0, v.True():
		return anything
	case v.Kind() == jsontree.Bool:
		return nothing
	}
	return depends
}

// keywords compares all keywords but type, enum and const.
func (x *schemer) keywords(path jsontree.Path, a, b jsontree.Value) {
	outerA, outerB := x.inA, x.inB
	x.inA, x.inB = a, b
	defer func() { x.inA, x.inB = outerA, outerB }()
	simple := onlyTypes(a) && onlyTypes(b)
	// A reference may lead elsewhere though it is written the same.
	each(a, b, x.refs, func(name string, v, w jsontree.Value) {
		at := path.With(jsontree.To(name))
		switch rule := keywords[name]; {
		case v.Opaque() || w.Opaque():
			if !v.Equal(w) {
				x.tell(schemaChange{Changed, unclear, at, v, w, "it is too large to be compared"})
			}
		case name == "anyOf" || name == "oneOf":
			if !simple {
				x.alternatives(at, v, w, looser)
			}
		case rule.compare != nil:
			rule.compare(x, at, v, w)
		case !v.Equal(w):
			x.tell(schemaChange{kindOfTwo(v, w), unclear, at, v, w, ""})
		case v.Spelled() != w.Spelled():
			x.respelled(at, v, w)
		}
	})
}

// respelled reports the numbers in two values that are the same.
func (x *schemer) respelled(path jsontree.Path, a, b jsontree.Value) {
	jsontree.Compare(a, b, path, func(c *jsontree.Change) bool {
		if c.Kind == jsontree.Repeated { // see schemas
			return true
		}
		x.tell(schemaChange{kind: Respelled, path: c.Path, a: c.A, b: c.B})
		return true
	})
}

func kindOfTwo(a, b jsontree.Value) Kind {
	switch {
	case !a.Exists():
		return Added
	case !b.Exists():
		return Removed
	}
	return Changed
}

// quoted names something of a schema in a text.
func quoted(name string) string { return strconv.Quote(bounded(name)) }
