package tap

import (
	"slices"

	"github.com/mcptap/mcptap/internal/bounded"
)

// ready makes the zero value ready.
func (s *Sessions) ready() {
	if s.names == nil {
		s.names = map[string]*session{}
		s.open.Max, s.gone.Max = MaxSessions, MaxGoneSessions
		s.exchanges.Max, s.conns.Max = MaxExchanges, MaxExchanges
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
	oldest, full := s.open.Put(x.Number, x)
	s.open.Touch(x.Number)
	if full {
		s.forget(oldest)
	}
}

// forget keeps of a session only its number and its names.
func (s *Sessions) forget(x *session) {
	for _, key := range x.keys {
		delete(s.names, key)
		s.gone.Put(key, x)
	}
	x.keys = nil
	s.settle(x)
	x.Facts, x.finding, x.events = Facts{}, Finding{}, bounded.Map[uint64, seenEvent]{}
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
	x, ok := s.gone.Get(key)
	if !ok {
		return nil
	}
	s.gone.Delete(key)
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
