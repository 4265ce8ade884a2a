package tap

import "slices"

// ready makes the zero value ready.
func (s *Sessions) ready() {
	if s.open == nil {
		s.open, s.names = map[int]*session{}, map[string]*session{}
		s.ends.older, s.ends.newer = &s.ends, &s.ends
	}
}

// begin makes a session.
func (s *Sessions) begin(kind SessionKind) *session {
	s.ready()
	s.count++
	return &session{Session: Session{Number: s.count, Kind: kind}}
}

// touch makes a session the one in which something happened last.
func (s *Sessions) touch(x *session) {
	switch {
	case s.ends.older == x:
		return
	case x.newer != nil:
		x.older.newer, x.newer.older = x.newer, x.older
	default:
		s.open[x.Number] = x
	}
	last := s.ends.older
	x.older, x.newer = last, &s.ends
	last.newer, s.ends.older = x, x
	if len(s.open) > MaxSessions {
		s.forget(s.ends.newer)
	}
}

// newest is the session in which something happened last, nil if there is none.
func (s *Sessions) newest() *session {
	if s.ends.older == nil || s.ends.older == &s.ends {
		return nil
	}
	return s.ends.older
}

// forget keeps of a session no more than its number and its names.
func (s *Sessions) forget(x *session) {
	x.older.newer, x.newer.older = x.newer, x.older
	x.older, x.newer = nil, nil
	delete(s.open, x.Number)
	for _, key := range x.keys {
		delete(s.names, key)
		s.gone.put(key, x)
	}
	x.keys = nil
	s.settle(x)
	x.Facts, x.finding, x.events = Facts{}, Finding{}, nil
	s.forgotten = append(s.forgotten, x)
}

// maxSessionKeys is how many names a session has at once. A client of
// 2026-07-28 has one for each of its credentials, which change by the hour.
const maxSessionKeys = 16

// name makes a session known by a name. Who had it before loses it.
func (s *Sessions) name(x *session, key string) {
	if s.names[key] == x {
		return
	}
	if old := s.names[key]; old != nil {
		old.keys = slices.DeleteFunc(old.keys, func(k string) bool { return k == key })
	}
	if len(x.keys) == maxSessionKeys {
		delete(s.names, x.keys[0])
		x.keys = slices.Delete(x.keys, 0, 1)
	}
	x.keys = append(x.keys, key)
	s.names[key] = x
}

// unname takes back the names that begin with one of some letters.
func (s *Sessions) unname(x *session, letters ...byte) {
	x.keys = slices.DeleteFunc(x.keys, func(key string) bool {
		if !slices.Contains(letters, key[0]) {
			return false
		}
		delete(s.names, key)
		return true
	})
}

// named returns the session with a name, nil if there is none. One that was
// forgotten comes back, without what was known of it.
func (s *Sessions) named(key string) *session {
	if x := s.names[key]; x != nil {
		return x
	}
	x := s.gone.take(key)
	if x == nil {
		return nil
	}
	s.name(x, key)
	return x
}

// maxUnsettled is how many sessions may wait to be gone on with under another
// name.
const maxUnsettled = 64

// mayGoOn notes a session that the client may go on with under another name.
func (s *Sessions) mayGoOn(x *session) {
	s.unsettled = append(s.unsettled, x)
	if len(s.unsettled) > maxUnsettled {
		s.unsettled = slices.Delete(s.unsettled, 0, 1)
	}
}

// settle notes that it goes on under the names that it has.
func (s *Sessions) settle(x *session) {
	if i := slices.Index(s.unsettled, x); i >= 0 {
		s.unsettled = slices.Delete(s.unsettled, i, i+1)
	}
	x.settled = true
}

// goneSessions remembers sessions that are not kept any more by their names.
type goneSessions struct {
	by   map[string]goneSession
	ring []string
	next int
}

type goneSession struct {
	*session
	slot int // its place in ring
}

func (g *goneSessions) put(key string, x *session) {
	if g.by == nil {
		g.by = map[string]goneSession{}
	}
	if len(g.ring) < MaxGoneSessions {
		g.ring = append(g.ring, "")
	}
	if old := g.ring[g.next]; g.by[old].slot == g.next {
		delete(g.by, old)
	}
	g.ring[g.next] = key
	g.by[key] = goneSession{x, g.next}
	g.next = (g.next + 1) % MaxGoneSessions
}

// take returns the session with a name, nil if there is none, and forgets the
// name.
func (g *goneSessions) take(key string) *session {
	x := g.by[key].session
	delete(g.by, key)
	return x
}
