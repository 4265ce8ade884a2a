package diff

import (
	"strconv"

	"github.com/mcptap/mcptap/internal/jsontree"
)

// compareMembers compares two payloads, of which each member has a rule of its
// own.
func (e *engine) compareMembers(w *where, path jsontree.Path, a, b jsontree.Value) {
	if a.Kind() != jsontree.Object || b.Kind() != jsontree.Object || a.Opaque() || b.Opaque() {
		e.tree(w, path, a, b)
		return
	}
	union(a, b, func(name string, x, y jsontree.Value) {
		switch {
		case e.err != nil || neverMember(w.part, w.method, name) || w.p != nil && w.p.opens && greetingMembers[name]:
		case name == "_meta" && w.part != fault && (x.Kind() == jsontree.Object || y.Kind() == jsontree.Object) && !x.Opaque() && !y.Opaque():
			e.compareMeta(w, path.With(jsontree.To(name)), x, y)
		case name == "nextCursor" && x.Kind() == jsontree.String && y.Kind() == jsontree.String:
		default:
			e.tree(w, path.With(jsontree.To(name)), x, y)
		}
	})
}

// compareMeta compares two _meta, of which one may be absent.
func (e *engine) compareMeta(w *where, path jsontree.Path, a, b jsontree.Value) {
	union(a, b, func(name string, x, y jsontree.Value) {
		switch {
		case neverMeta[name]:
		case usualMeta[name] && e.a.says(name, x) && e.b.says(name, y):
		default:
			e.tree(w, path.With(jsontree.To(name)), x, y)
		}
	})
}

// says reports whether a member of _meta is what the session says at first, or
// is not there.
func (s *Session) says(name string, v jsontree.Value) bool {
	return !v.Exists() || s.first[name] == v.Hash()
}

// union walks the members of two objects that are not the same: those of the
// first, in their order, then those that only the second has. One may be absent.
func union(a, b jsontree.Value, visit func(name string, x, y jsontree.Value)) {
	each(a, b, false, visit)
}

// each walks the members of two objects likewise, with same also those that are the
// same.
func each(a, b jsontree.Value, same bool, visit func(name string, x, y jsontree.Value)) {
	inB := make(map[string]jsontree.Value, b.Len())
	for name, m := range b.All() {
		inB[name] = m
	}
	for name, m := range a.All() {
		y := inB[name]
		delete(inB, name)
		if same || !m.Same(y) {
			visit(name, m, y)
		}
	}
	for name, m := range b.All() {
		if _, left := inB[name]; left {
			visit(name, jsontree.Value{}, m)
		}
	}
}

// tree compares two values whatever they are.
func (e *engine) tree(w *where, path jsontree.Path, a, b jsontree.Value) {
	jsontree.Compare(a, b, path, func(c *jsontree.Change) bool {
		e.change(w, c)
		return e.err == nil
	})
}

// change takes a change that comparing two values has found: it leaves out what
// never counts and what the specification says is the same, and finds the class
// of the rest.
func (e *engine) change(w *where, c *jsontree.Change) {
	if neverPath(w.part, c.Path) || e.outsideMeta(w, c) {
		return
	}
	f := &finding{kind: kindOf(c.Kind), class: Behaviour, path: c.Path, a: c.A, b: c.B, to: c.To}
	switch c.Kind {
	case jsontree.Repeated:
		f.a, f.b, f.what = jsontree.Value{}, jsontree.Value{}, repeated(c)
		e.report(w, f)
		return
	case jsontree.Respelled:
		f.class = Cosmetic
	case jsontree.Added, jsontree.Removed:
		if w.anyForm && c.Path.String() == "$.client.capabilities.elicitation.form" || e.expect(w, f) {
			return
		}
	}
	if f.class == Behaviour {
		e.classify(w, f)
	}
	e.report(w, f)
}

// repeated describes a change of how often a name occurs in its object.
func repeated(c *jsontree.Change) string {
	times := func(v jsontree.Value) string {
		if n, _ := v.Repeats(); n > 0 {
			return strconv.Itoa(n+1) + " times"
		}
		return "once"
	}
	if times(c.A) == times(c.B) {
		return "the name occurs " + times(c.A) + " in its object, and another value stands before the last one"
	}
	return "the name occurs " + times(c.B) + " in its object instead of " + times(c.A)
}

func kindOf(k jsontree.ChangeKind) Kind {
	return [...]Kind{jsontree.Changed: Changed, jsontree.Removed: Removed, jsontree.Added: Added, jsontree.Moved: Moved, jsontree.Respelled: Respelled, jsontree.Repeated: Changed}[k]
}

// outsideMeta opens the params or the result of a message of which the other
// side has none: what is in its _meta has rules of its own.
func (e *engine) outsideMeta(w *where, c *jsontree.Change) bool {
	if len(c.Path) != 1 || c.A.Exists() && c.B.Exists() || w.part == fault {
		return false
	}
	v := c.A
	if !v.Exists() {
		v = c.B
	}
	if v.Kind() != jsontree.Object || v.Len() == 0 || v.Opaque() {
		return false
	}
	path := c.Path.With()
	union(c.A, c.B, func(name string, x, y jsontree.Value) {
		switch {
		case neverMember(w.part, w.method, name):
		case name == "_meta":
			e.compareMeta(w, path.With(jsontree.To(name)), x, y)
		default:
			e.tree(w, path.With(jsontree.To(name)), x, y)
		}
	})
	return true
}
