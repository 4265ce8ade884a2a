package diff

import (
	"fmt"
	"slices"

	"github.com/mcptap/mcptap/internal/jsontree"
)

// A listing is a kind of list: the member of the result that contains it, the key of its
// elements, and the noun for an element. unreadA and unreadB report that a side has more pages
// that the client did not read.
type listing struct {
	member, key, thing string
	unreadA, unreadB   bool
	// openA and openB report that the rest of a list is unknown, because the client read only
	// some of its pages. skipped counts the elements that are not compared for that reason.
	openA, openB bool
	skipped      *int
}

var listings = map[string]listing{
	"tools/list":               {member: "tools", key: "name", thing: "tool"},
	"prompts/list":             {member: "prompts", key: "name", thing: "prompt"},
	"resources/list":           {member: "resources", key: "uri", thing: "resource"},
	"resources/templates/list": {member: "resourceTemplates", key: "uriTemplate", thing: "resource template"},
	"roots/list":               {member: "roots", key: "uri", thing: "root"},
}

// comparePages compares lists in several pages.
func (e *engine) comparePages(w *where, p *pair) {
	as, bs := e.pages(p.a), e.pages(p.b)
	l, ok := listings[w.method]
	if e.err != nil || !ok {
		return
	}
	path := jsontree.Path{jsontree.To(w.part.String())}
	switch {
	case p.a.broken != nil || p.b.broken != nil: // later pages are unknown
		e.compareBroken(p)
		n := min(len(as), len(bs))
		as, bs = as[:n], bs[:n]
	case len(as) != len(bs) && !unread(as) && !unread(bs):
		e.report(w, &finding{class: Cosmetic, kind: Changed, path: path,
			what: fmt.Sprintf("it comes in %s instead of %d", count(uint64(len(bs)), "page"), len(as))})
	}
	e.compareLists(w, l, path, as, bs)
}

// compareBroken compares how the last requested pages failed.
func (e *engine) compareBroken(p *pair) {
	var a, b payload
	f := &finding{class: Behaviour, kind: Changed, what: "no longer fails"}
	page := 0
	if u := p.a.broken; u != nil {
		a, page = u.answer, len(p.a.pages)+2
	}
	if u := p.b.broken; u != nil {
		b, page = u.answer, len(p.b.pages)+2
		f.class, f.what = Breaking, "now fails"
		if !u.answered() {
			f.what = "got no response"
		}
	}
	w := p.of(InResponse, other(p.a.lane), a.ref(), b.ref())
	w.part = fault
	if p.a.broken != nil && p.b.broken != nil && p.a.broken.answered() == p.b.broken.answered() {
		e.comparePayload(w, a, b)
		return
	}
	f.what = fmt.Sprintf("page %d %s", page, f.what)
	if f.a, f.b = e.value(&a), e.value(&b); e.err == nil {
		e.report(w, f)
	}
}

func (e *engine) pages(u *call) (all []jsontree.Value) {
	all = append(all, e.value(&u.answer))
	for i := range u.pages {
		all = append(all, e.value(&u.pages[i]))
	}
	return all
}

// compareLists compares two lists, each in one or more pages: the elements by key, and the other
// members of the first pages.
func (e *engine) compareLists(w *where, l listing, path jsontree.Path, as, bs []jsontree.Value) {
	if as[0].Kind() == jsontree.Object && bs[0].Kind() == jsontree.Object {
		w.usual = e.usual(as[0], bs[0])
		each(as[0], bs[0], false, func(name string, x, y jsontree.Value) {
			if name != l.member && name != "nextCursor" {
				e.tree(w, path.With(jsontree.To(name)), x, y)
			}
		})
		l.unreadA, l.unreadB = unread(as), unread(bs)
		l.openA, l.openB = l.unreadA, l.unreadB && (l.unreadA || len(as)+len(bs) > 2)
		l.skipped = new(int)
		x, y := as[len(as)-1].Get("nextCursor"), bs[len(bs)-1].Get("nextCursor")
		if x.Exists() != y.Exists() && !l.openA && !l.openB {
			e.tree(w, path.With(jsontree.To("nextCursor")), x, y)
		}
	}
	if odd(as, l) || odd(bs, l) {
		e.compareOddPages(w, l, path, as, bs)
		return
	}
	e.shapes(w, path, as[0], bs[0])
	at := path
	if as[0].Kind() == jsontree.Object || bs[0].Kind() == jsontree.Object { // the 002 dialect has bare arrays
		at = path.With(jsontree.To(l.member))
	}
	e.compareKeyed(w, l, at, listed(as, l), listed(bs, l), func(at jsontree.Path, x, y jsontree.Value) { e.definition(w, l, at, x, y) })
	if l.openA != l.openB || l.openA && *l.skipped > 0 {
		e.reportOpen(w, &l, path)
	}
}

// unread reports whether a list has more pages that the client did not read.
func unread(pages []jsontree.Value) bool {
	return pages[len(pages)-1].Get("nextCursor").Kind() == jsontree.String
}

// reportOpen reports a list that a client did not read to its end.
func (e *engine) reportOpen(w *where, l *listing, path jsontree.Path) {
	if w.p != nil && (w.p.a.broken != nil || w.p.b.broken != nil) {
		return // the client could not read further
	}
	f := &finding{class: Behaviour, kind: Changed, path: path, what: "the second client did not read the list to its end"}
	switch {
	case l.openA && l.openB:
		f.class, f.what = Cosmetic, "the clients did not read the list to its end"
	case l.openA:
		f.what = "the first client did not read the list to its end"
	}
	if n := *l.skipped; n > 0 {
		f.what += fmt.Sprintf(", so %s that only one side has cannot be compared", count(uint64(n), l.thing))
	}
	of := *w
	of.by = other(w.by)
	e.report(&of, f)
}

// compareOddPages compares pages in order. Some of them have no readable list.
func (e *engine) compareOddPages(w *where, l listing, path jsontree.Path, as, bs []jsontree.Value) {
	whole := func(v jsontree.Value) bool { return v.Kind() != jsontree.Object || v.Opaque() }
	for i := range max(len(as), len(bs)) {
		var x, y jsontree.Value
		if i < len(as) {
			x = as[i]
		}
		if i < len(bs) {
			y = bs[i]
		}
		at := path
		if !whole(x) && !whole(y) {
			at, x, y = path.With(jsontree.To(l.member)), x.Get(l.member), y.Get(l.member)
		}
		e.tree(w, at, x, y)
	}
}

// shapes reports a list that is a bare array on one side and inside an object on the other.
func (e *engine) shapes(w *where, path jsontree.Path, a, b jsontree.Value) {
	if a.Kind() == b.Kind() {
		return
	}
	f := &finding{class: Behaviour, kind: Changed, path: path, a: a, b: b, what: "the list is now inside an object"}
	if b.Kind() == jsontree.Array {
		f.what = "the list is no longer inside an object"
	}
	if e.oneDialect() {
		f.expected("the 002 dialect has bare lists", "")
	}
	e.report(w, f)
}

// listed returns the elements of all pages of a list.
func listed(pages []jsontree.Value, l listing) (all []jsontree.Value) {
	for _, p := range pages {
		all = append(all, elements(l.of(p))...)
	}
	return all
}

// of returns the list in a page.
func (l *listing) of(page jsontree.Value) jsontree.Value {
	if page.Kind() == jsontree.Object {
		return page.Get(l.member)
	}
	return page
}

// odd reports whether a page has no list or an opaque one.
func odd(pages []jsontree.Value, l listing) bool {
	return slices.ContainsFunc(pages, func(p jsontree.Value) bool { return l.of(p).Kind() != jsontree.Array || l.of(p).Opaque() })
}

// compareKeyed compares two lists by the keys of their elements. Elements with the same key
// are compared in order.
func (e *engine) compareKeyed(w *where, l listing, at jsontree.Path, as, bs []jsontree.Value, both func(jsontree.Path, jsontree.Value, jsontree.Value)) {
	later := map[uint64][]int{}
	for j, y := range bs {
		later[y.Get(l.key).Hash()] = append(later[y.Get(l.key).Hash()], j)
	}
	taken := make([]bool, len(bs))
	last, moved := -1, false
	for _, x := range as {
		key := x.Get(l.key)
		same := later[key.Hash()]
		step := jsontree.Step{Kind: jsontree.Keyed, Name: key.Text()}
		if len(same) == 0 {
			e.oneDefinition(w, l, at.With(step), x, jsontree.Value{})
			continue
		}
		j := same[0]
		later[key.Hash()] = same[1:]
		taken[j] = true
		moved, last = moved || j < last, max(last, j)
		if y := bs[j]; !x.Same(y) {
			both(at.With(step), x, y)
		}
	}
	for j, y := range bs {
		if !taken[j] {
			e.oneDefinition(w, l, at.With(jsontree.Step{Kind: jsontree.Keyed, Name: y.Get(l.key).Text()}), jsontree.Value{}, y)
		}
	}
	if moved {
		e.report(w, &finding{class: Cosmetic, kind: Reordered, path: at, what: "the " + l.thing + "s are listed in another order"})
	}
}

// oneDefinition reports an element that only one list has.
func (e *engine) oneDefinition(w *where, l listing, path jsontree.Path, x, y jsontree.Value) {
	if x.Exists() && l.openB || !x.Exists() && l.openA {
		*l.skipped++
		return
	}
	name := quoted(path[len(path)-1].Name)
	f := &finding{class: Behaviour, kind: Added, path: path, a: x, b: y, what: "the " + l.thing + " " + name + " is new", names: l.thing != "argument"}
	if x.Exists() {
		f.class, f.kind, f.what = Breaking, Removed, "the "+l.thing+" "+name+" is gone"
		if l.unreadB {
			f.what += " from the pages that were read"
		}
		if l.member == "roots" {
			f.class = Behaviour
		}
	}
	if l.thing == "argument" && y.Get("required").True() {
		f.class, f.what = Breaking, "the argument "+name+" is new and required"
	}
	e.report(w, f)
}

// definition compares two definitions with the same key.
func (e *engine) definition(w *where, l listing, path jsontree.Path, a, b jsontree.Value) {
	if a.Kind() != jsontree.Object || b.Kind() != jsontree.Object || a.Opaque() || b.Opaque() {
		e.tree(w, path, a, b)
		return
	}
	of := *w
	of.of = ofDefinition
	each(a, b, false, func(name string, x, y jsontree.Value) {
		at := path.With(jsontree.To(name))
		switch {
		case l.thing == "tool" && name == "inputSchema" && x.Exists() && y.Exists():
			e.schemas(w, at, x, y, intoServer)
		case l.thing == "tool" && name == "outputSchema" && x.Exists() && y.Exists():
			e.schemas(w, at, x, y, outOfServer)
		case x.Opaque() || y.Opaque():
			e.tree(&of, at, x, y)
		case l.thing == "tool" && (name == "annotations" || name == "execution"): // their members have defaults
			each(x, y, false, func(name string, v, w jsontree.Value) { e.tree(&of, at.With(jsontree.To(name)), v, w) })
		case l.thing == "prompt" && name == "arguments":
			e.compareKeyed(&of, listing{member: "arguments", key: "name", thing: "argument"}, at, elements(x), elements(y),
				func(at jsontree.Path, x, y jsontree.Value) { e.tree(&of, at, x, y) })
		default:
			e.tree(&of, at, x, y)
		}
	})
}

// elements returns the elements of an array.
func elements(v jsontree.Value) (all []jsontree.Value) {
	if v.Kind() == jsontree.Array {
		for _, c := range v.All() {
			all = append(all, c)
		}
	}
	return all
}
