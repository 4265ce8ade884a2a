package session

import (
	"slices"
	"strings"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// opens returns the session that a message of the client belongs to where
// nothing in the request's head names one.
func (s *Sessions) opens(x *exchangeState, f *tap.Frame, m *jsonrpc.Message) *session {
	if f.Form == tap.FormText || f.Form == tap.FormBinary || x.socket {
		in := s.begin(SessionSocket)
		in.settled = true
		return in
	}
	if client, ok := saysInitialize(m); ok {
		return s.handshake(x, client)
	}
	client, probe, modern := saysModern(m)
	switch {
	case probe:
		return s.discover(x, client)
	case modern || jsonrpc.EraOf(jsonrpc.Revision(x.version)) == jsonrpc.Modern:
		return s.ofClient(x, client)
	}
	if in := s.before(x); in != nil {
		return in
	}
	in := s.begin(SessionClient)
	s.mayOpen(x, in)
	return in
}

// handshake returns the session of an initialize.
func (s *Sessions) handshake(x *exchangeState, client string) *session {
	in := s.left(x, client)
	if in == nil {
		in = s.begin(SessionClient)
		in.client, in.path, in.agent = client, x.path, x.agent
		s.mayGoOn(in)
	}
	s.unname(in, keyClient) // it is not a session of 2026-07-28
	in.probe = false
	s.mayOpen(x, in)
	return in
}

// discover returns the session of a server/discover: that of its client if there
// is one, else one of its own, since the client may as well go on with an
// initialize.
func (s *Sessions) discover(x *exchangeState, client string) *session {
	if in := s.byClient(x, client); in != nil {
		return in
	}
	if in, ok := s.conns.Get(x.conn); ok && in.probe && in.path == x.path && in.client == client {
		s.mayOpen(x, in)
		return in
	}
	in := s.begin(SessionClient)
	in.client, in.path, in.agent, in.probe = client, x.path, x.agent, true
	s.mayGoOn(in)
	s.mayOpen(x, in)
	return in
}

// ofClient returns the session of a request of 2026-07-28.
func (s *Sessions) ofClient(x *exchangeState, client string) *session {
	in := s.byClient(x, client)
	if in == nil && client == "" {
		if in = s.before(x); in != nil && in.Facts.Era == jsonrpc.Legacy {
			in = nil
		}
	}
	if in == nil {
		if in = s.left(x, client); in == nil {
			in = s.begin(SessionClient)
			in.client, in.path, in.agent = client, x.path, x.agent
			s.mayGoOn(in)
		}
		s.mayOpen(x, in)
	}
	in.probe = false
	if client != "" {
		s.name(in, sessionKey(keyClient, x.path, client, x.credentials))
	}
	return in
}

// byClient returns the session of 2026-07-28 of a client that names itself.
func (s *Sessions) byClient(x *exchangeState, client string) *session {
	if client == "" {
		return nil
	}
	if in := s.named(sessionKey(keyClient, x.path, client, x.credentials)); in != nil {
		return in
	}
	// Its credentials have changed.
	if in, ok := s.conns.Get(x.conn); ok && in.Kind == SessionClient && in.settled && !in.probe &&
		in.path == x.path && in.client == client && in.Facts.Era != jsonrpc.Legacy {
		return in
	}
	return nil
}

// before returns the session that an exchange without any name goes on with,
// nil if there is none.
func (s *Sessions) before(x *exchangeState) *session {
	if x.path == "" { // its head was not recorded
		return s.open.Newest()
	}
	if in, ok := s.conns.Get(x.conn); ok && in.path == x.path && (in.agent == x.agent || x.agent == "") {
		return in
	}
	return s.named(sessionKey(keyAgent, x.path, x.agent, x.credentials))
}

// left returns the session that a client may go on with: it was refused, or it
// has only asked for the server's versions. Of several it is the one of the same
// connection, else the oldest.
func (s *Sessions) left(x *exchangeState, client string) *session {
	var found *session
	onConn, _ := s.conns.Get(x.conn)
	for _, in := range s.unsettled {
		switch {
		case in.path != x.path || !in.probe && in.opening > 0:
			continue
		case onConn == in:
			return in
		}
		same := in.agent == x.agent && (in.client == client || in.client == "" || client == "")
		if found == nil && same {
			found = in
		}
	}
	return found
}

// mayOpen notes that a request may open a session, if its response can be
// waited for.
func (s *Sessions) mayOpen(x *exchangeState, in *session) {
	if known, _ := s.exchanges.Get(x.Number); known != x {
		s.settle(in)
		return
	}
	x.opens = true
	in.opening++
}

// mediaIsStream reports whether a content type is that of an event stream.
func mediaIsStream(value string) bool {
	media, _, _ := strings.Cut(value, ";")
	return strings.EqualFold(strings.TrimSpace(media), "text/event-stream")
}

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
