package diff

import (
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
)

// compareTasks compares whether two calls became tasks, and what was said of
// these: in 2025-11-25 (basic/utilities/tasks) and in the extension of
// 2026-07-28 under other names. How often a client asks how they stand does not
// count.
func (e *engine) compareTasks(p *pair) {
	if p.a.task == nil && p.b.task == nil {
		return
	}
	var a, b payload
	if p.a.task != nil {
		a = *p.a.task
	}
	if p.b.task != nil {
		b = *p.b.task
	}
	w := p.of(InAnswer, tap.ToServer+tap.ToClient-p.a.lane, a.ref(), b.ref())
	w.part = result
	at := jsontree.Path{jsontree.To("task")}
	switch {
	case !b.there:
		e.report(w, &finding{class: Behaviour, kind: Removed, path: at, what: "it does not become a task"})
		return
	case !a.there:
		e.report(w, &finding{class: Behaviour, kind: Added, path: at, what: "it becomes a task"})
		return
	}
	x, y, ok := e.load(&a, &b)
	if !ok {
		return
	}
	for _, names := range [][]string{{"ttl", "ttlMs"}, {"pollInterval", "pollIntervalMs"}, {"status"}, {"statusMessage"}} {
		e.tree(w, at.With(jsontree.To(names[0])), either(x, names...), either(y, names...))
	}
}
