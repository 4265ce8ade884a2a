package web

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/session"
)

// maxHeld is how many rows of an undecided unit are held: the first ones, and the latest.
const maxHeld = 64

// A unit is what is decided together: in the view of calls a call with all that
// was asked within it, otherwise a request that later frames decide on.
type unit struct {
	root session.Ref
	call session.Ref
	held []row
	// later are the updates of these rows, for when they are shown.
	later []update
	// shown says that its rows go to the page as they come, firm that nothing
	// can change that any more.
	shown, firm bool
	dirty       bool
	open        int // how many of its members are not over
	members     map[session.Ref]*member
}

// A member is what a filter reads of a call of a unit, or of a request that is a
// unit.
type member struct {
	frame     tap.Frame
	item      filter.Item
	found     filter.Found // in all its messages so far
	answered  bool
	cancelled bool
	over      bool
}

func newMember(it *filter.Item) *member {
	m := &member{frame: *it.Frame, item: *it}
	m.frame.Raw = nil
	// A small frame keeps alive what was stored with it.
	for _, s := range []*string{&m.item.Method, &m.item.Tool, &m.item.Prompt, &m.item.URI, &m.item.Revision} {
		*s = strings.Clone(*s)
	}
	m.item.ID = bytes.Clone(it.ID)
	m.item.Frame = &m.frame
	return m
}

// add adds a further message of a call to the item: what is true of any message,
// the kind of the answer, the size of all.
func (m *member) add(p *session.Part, it *filter.Item) {
	m.item.Is |= it.Is
	m.frame.Size += it.Frame.Size
	m.frame.Truncated = m.frame.Truncated || it.Frame.Truncated
	m.item.Status = max(m.item.Status, it.Status)
	switch p.Role {
	case session.RoleResponse, session.RoleLate:
		m.item.Kind = it.Kind
	}
}

// note adds what the filter finds in a message.
func (g *gatherer) note(m *member, it *filter.Item) {
	if g.needs.Has(filter.NeedPayload) {
		m.found.Add(g.search(it))
	}
}

// matches reports whether the filter matches a member.
func (g *gatherer) matches(u *unit) bool {
	for _, m := range u.members {
		it := m.item
		it.Is &^= filter.IsPending | filter.IsCancelled
		if !m.answered {
			it.Is |= filter.IsPending
		}
		if g.calls && !m.over { // it has taken as long as that
			it.Latency, it.Answered = max(g.last-m.frame.At, 0), true
		}
		if m.cancelled {
			it.Is |= filter.IsCancelled
		}
		if g.filter.Match(&it, m.found) {
			return true
		}
	}
	return false
}

// ask takes a request in the view of frames, on which later frames decide.
func (g *gatherer) ask(r row, p *session.Part, it *filter.Item) {
	m := newMember(it)
	g.note(m, it)
	u := &unit{root: p.Message, call: p.Call, held: []row{r}, open: 1, members: map[session.Ref]*member{p.Message: m}}
	g.units[p.Message] = u
	g.touch(u)
}

// ofCall takes a row in the view of calls.
func (g *gatherer) ofCall(r row, p *session.Part, it *filter.Item) {
	u := g.units[p.Call]
	switch {
	case u == nil && p.Call != p.Message: // its call is over
		if g.isOver(p.Call) {
			g.send(r)
		} else {
			g.single(r, it)
		}
		return
	case u == nil:
		if u = g.units[p.Parent]; u == nil {
			u = &unit{root: p.Call, call: p.Call, members: map[session.Ref]*member{}, shown: g.isOver(p.Parent)}
			u.firm = u.shown
		}
		u.open++
		g.units[p.Call] = u
	}
	m := u.members[p.Call]
	if m == nil {
		m = newMember(it)
		u.members[p.Call] = m
	} else {
		m.add(p, it)
	}
	if !u.firm {
		g.note(m, it)
	}
	if u.shown {
		g.send(r)
	} else {
		u.hold(r)
	}
	g.touch(u)
}

func (u *unit) hold(r row) {
	if len(u.held) == maxHeld {
		u.held = u.held[:maxHeld-1]
	}
	u.held = append(u.held, r)
}

// note keeps an update until its row is shown. Of several the last says all, but
// for what comes of the request itself.
func (u *unit) note(up update) {
	for i := range u.later {
		if old := &u.later[i]; old.ID == up.ID {
			if up.Answer == 0 {
				up.Answer, up.Latency = old.Answer, old.Latency
			}
			*old = up
			return
		}
	}
	if len(u.later) < maxHeld {
		u.later = append(u.later, up)
	}
}

// touch notes that what a unit is may have changed.
func (g *gatherer) touch(u *unit) {
	if u.dirty || u.firm {
		return
	}
	u.dirty = true
	if len(g.dirty) > 1024 && len(g.dirty) > 2*len(g.units) {
		g.dirty = slices.DeleteFunc(g.dirty, func(u *unit) bool { return !u.dirty })
	}
	g.dirty = append(g.dirty, u)
}

// answered and cancelled take news of a request or a call.
func (g *gatherer) answered(p *session.Part) {
	if g.calls {
		return // the end of the call counts
	}
	if u := g.units[p.Request]; u != nil {
		u.members[p.Request].answered = true
		g.touch(u)
	}
}

func (g *gatherer) cancelled(p *session.Part) {
	if u := g.units[p.Call]; u != nil && u.members[p.Call] != nil {
		u.members[p.Call].cancelled = true
		g.touch(u)
	}
}

// close takes a call that is over: nothing can change it any more.
func (g *gatherer) close(c *session.Call) {
	if g.all {
		return
	}
	refs := []session.Ref{c.Ref}
	if !g.calls {
		refs = c.Requests
	}
	for _, ref := range refs {
		u := g.units[ref]
		if u == nil {
			continue
		}
		if m := u.members[ref]; m != nil {
			m.end(c, ref, g.calls)
		}
		delete(g.units, ref)
		if u.open--; u.open > 0 {
			g.touch(u)
		} else {
			g.decide(u)
			u.firm, u.members = true, nil
		}
		if u.shown && g.calls {
			g.shown.Put(ref, struct{}{})
		}
	}
}

// end notes what the end of a call says.
func (m *member) end(c *session.Call, ref session.Ref, whole bool) {
	m.cancelled = ref == c.Ref && c.Cancel != session.Ref{}
	if !whole {
		return
	}
	m.answered = c.Status.Settled() && !(c.Status == session.CallCancelled && c.FirstAnswer == 0)
	if m.over = c.Status.Settled(); m.over {
		m.item.Latency, m.item.Answered = c.End-c.At, true
	}
}

// decide shows a unit, or drops it, as things stand.
func (g *gatherer) decide(u *unit) {
	u.dirty = false
	if u.firm || g.matches(u) == u.shown {
		return
	}
	if u.shown = !u.shown; !u.shown {
		delete(g.sent, u.call)
		g.updates = append(g.updates, update{ID: idOf(u.root), Drop: true})
		return
	}
	if !g.calls {
		g.sent[u.call] = struct{}{}
	}
	for _, r := range u.held {
		g.send(r)
	}
	g.updates = append(g.updates, u.later...)
	u.held, u.later = u.held[:min(len(u.held), 1)], nil
}

// pause decides on what is open: all that there is has been read.
func (g *gatherer) pause() {
	for _, u := range g.dirty {
		if u.dirty {
			g.decide(u)
		}
	}
	clear(g.dirty)
	g.dirty = g.dirty[:0]
}

// isShown reports whether the page has rows of a call.
func (g *gatherer) isShown(call session.Ref) bool {
	if !g.calls {
		_, ok := g.sent[call]
		return ok
	}
	if u := g.units[call]; u != nil {
		return u.shown
	}
	return g.isOver(call)
}

// isOver reports whether a call is over of which something was sent.
func (g *gatherer) isOver(call session.Ref) bool {
	_, ok := g.shown.Get(call)
	return ok
}

// maxPast is how many calls that are over are remembered.
const maxPast = 4096
