package tap

// holdQuestion holds a request of the server that was glanced at, unless its id
// is that of another one. Which call it is within follows the same rules as in
// [Tracker.cause]: of the requests that are open on its exchange the last, else
// the last that may be the cause of it.
func (m *Meter) holdQuestion(f *Frame) bool {
	t, g := &m.tracker, &m.glance
	id, method := m.key(g.id), string(g.method.of(g.b))
	if m.asked[id] != nil || t.rootsDue && method == "roots/list" {
		return false
	}
	var within *heldRequest
	if mayNest(method) {
		// Whatever is held came after all that the Tracker has.
		within = m.causeOf(f)
		if within == nil && len(t.streams)+t.pools[poolCausing].n+t.pools[poolTasks].n > 0 {
			return false
		}
	}
	r := m.keep(f)
	if r.within = within; within != nil {
		within.open++
	}
	m.asked[id] = r
	return true
}

// causeOf finds the held request for the sake of which the server asks
// something, nil if there is none among them.
func (m *Meter) causeOf(f *Frame) (cause *heldRequest) {
	for r := m.newest; r != nil; r = r.older {
		if f.Exchange != 0 && r.frame.Exchange == f.Exchange {
			return r
		}
		if cause == nil && mayCause(string(r.method.of(r.buf))) {
			if cause = r; f.Exchange == 0 {
				return r
			}
		}
	}
	if f.Exchange != 0 && m.tracker.streams[f.Exchange].n > 0 {
		return nil // that one is nearer
	}
	return cause
}

// answeredByClient takes the answer to a question of the server's that is held.
func (m *Meter) answeredByClient(f *Frame) bool {
	id := m.key(m.glance.id)
	r := m.asked[id]
	if r == nil || f.Form == FormEvent {
		return false
	}
	m.answered(r, f)
	delete(m.asked, id)
	if r.within != nil {
		r.within.open--
	}
	m.spare = append(m.spare, r)
	return true
}
