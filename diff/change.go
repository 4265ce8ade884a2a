package diff

import (
	"strconv"

	"github.com/mcptap/mcptap/internal/jsontree"
)

// usual lists the members of _meta of two messages that are what both sessions say at
// first.
func (e *engine) usual(a, b jsontree.Value) map[string]bool {
	all := map[string]bool{}
	for name := range usualMeta {
		all[name] = e.a.says(name, a.Get("_meta", name)) && e.b.says(name, b.Get("_meta", name))
	}
	return all
}

// says reports whether a member of _meta is what the session says at first, or
// is not there.
func (s *Session) says(name string, v jsontree.Value) bool {
	return !v.Exists() || s.first[name] == v.Hash()
}

// each walks the members of two objects: those of the first, in their order, then those
// that only the second has. One may be absent. Those that are the same are left out,
// except with same.
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
	if never(w, c) || e.open(w, c) {
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

// never reports whether a change is of a member that does not count.
func never(w *where, c *jsontree.Change) bool {
	if len(c.Path) < 2 {
		return false
	}
	name, last := c.Path[1].Name, c.Path[len(c.Path)-1].Name
	switch {
	case neverMember(w.part, w.method, name), w.p != nil && w.p.opens && greetingMembers[name]:
		return true
	case name == "nextCursor":
		return c.A.Kind() == jsontree.String && c.B.Kind() == jsontree.String
	case name == "task" || name == "tasks": // what tells one task from another
		return w.part == result && len(c.Path) > 2 && (last == "taskId" || last == "createdAt" || last == "lastUpdatedAt")
	case name == "_meta" && len(c.Path) > 2 && w.part != fault:
		return neverMeta[c.Path[2].Name] || w.usual[c.Path[2].Name]
	}
	return false
}

// open takes apart the params, the result or the _meta of a message of which the other
// side has none: its members have rules of their own.
func (e *engine) open(w *where, c *jsontree.Change) bool {
	v, n := c.A, len(c.Path)
	if !v.Exists() {
		v = c.B
	}
	if c.Kind != jsontree.Added && c.Kind != jsontree.Removed || w.part == fault || v.Kind() != jsontree.Object || v.Opaque() ||
		n > 2 || n == 2 && c.Path[1].Name != "_meta" || n == 1 && v.Len() == 0 {
		return false
	}
	each(c.A, c.B, false, func(name string, x, y jsontree.Value) { e.tree(w, c.Path.With(jsontree.To(name)), x, y) })
	return true
}
