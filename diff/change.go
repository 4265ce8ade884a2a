package diff

import (
	"strconv"

	"github.com/mcptap/mcptap/internal/jsonpath"
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
		case e.err != nil || neverMember(w.part, w.method, name):
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
	if neverPath(w.part, c.Path) || isDefault(w, c) || e.outsideMeta(w, c) {
		return
	}
	f := &finding{kind: kindOf(c.Kind), class: Behaviour, path: c.Path, a: c.A, b: c.B, to: c.To}
	switch {
	case c.Kind == jsontree.Repeated:
		f.a, f.b, f.what = jsontree.Value{}, jsontree.Value{}, repeated(c)
	case c.Kind == jsontree.Respelled:
		f.class = Cosmetic
	case c.Kind == jsontree.Added || c.Kind == jsontree.Removed:
		e.expect(w, f)
	}
	switch {
	case f.class != Behaviour || c.Kind == jsontree.Repeated:
	case w.part == fault:
		e.errorMember(w, f)
	case isEmpty(w, f):
		f.class, f.reason = Cosmetic, "an object without members says as much as none"
	case w.classify != nil:
		w.classify(f)
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

// isEmpty reports whether params, or the arguments in them, are there without
// members on one side only.
func isEmpty(w *where, f *finding) bool {
	v := f.a
	if f.kind == Added {
		v = f.b
	}
	return w.part == params && (f.kind == Added || f.kind == Removed) && v.Kind() == jsontree.Object && v.Len() == 0 &&
		(len(f.path) == 1 || len(f.path) == 2 && f.path[1].Name == "arguments")
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

// isDefault reports whether a member that is there on one side only has the
// value that it has where it is not there, as the specification documents it.
func isDefault(w *where, c *jsontree.Change) bool {
	v := c.A
	switch c.Kind {
	case jsontree.Added:
		v = c.B
	case jsontree.Removed:
	default:
		return false
	}
	for i := range defaults {
		d := &defaults[i]
		if string(v.Raw()) == d.value && (d.method == "" || d.method == w.method) && d.path.Exactly(c.Path) {
			return true
		}
	}
	return false
}

// defaults are the documented ones. That of resultType is expected instead, as
// 2026-07-28 requires it.
var defaults = []struct {
	method string
	path   jsonpath.Pattern
	value  string
}{
	{"tools/call", jsonpath.Must("$.result.isError"), "false"},
	{"elicitation/create", jsonpath.Must("$.params.mode"), `"form"`},
	{"tools/list", jsonpath.Must("$.result.tools[*].annotations.readOnlyHint"), "false"},
	{"tools/list", jsonpath.Must("$.result.tools[*].annotations.destructiveHint"), "true"},
	{"tools/list", jsonpath.Must("$.result.tools[*].annotations.idempotentHint"), "false"},
	{"tools/list", jsonpath.Must("$.result.tools[*].annotations.openWorldHint"), "true"},
	{"tools/list", jsonpath.Must("$.result.tools[*].execution.taskSupport"), `"forbidden"`},
	{"prompts/list", jsonpath.Must("$.result.prompts[*].arguments[*].required"), "false"},
}

// errorMember finds the class of a change in an error: its code counts, its
// words do not.
func (e *engine) errorMember(w *where, f *finding) {
	if len(f.path) < 2 {
		return
	}
	switch f.path[1].Name {
	case "message":
		if f.kind == Changed {
			f.class, f.reason = Cosmetic, "the code says what it means"
		}
	case "code":
		if e.missingResource(w, f) {
			f.class, f.same = Expected, true
			f.reason, f.page = "a missing resource is -32602 in 2026-07-28", "2026-07-28/basic/index#error-codes"
		}
	}
}

// missingResource reports whether two codes are those of a missing resource
// before and since 2026-07-28.
func (e *engine) missingResource(w *where, f *finding) bool {
	old, new, revOld, revNew := string(f.a.Raw()), string(f.b.Raw()), e.revA, e.revB
	if old == "-32602" {
		old, new, revOld, revNew = new, old, revNew, revOld
	}
	return w.method == "resources/read" && old == "-32002" && new == "-32602" &&
		known(revOld) && known(revNew) && revOld < rev2026 && revNew >= rev2026
}
