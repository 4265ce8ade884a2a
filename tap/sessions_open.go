package tap

import "strings"

// opens returns the session that a message of the client belongs to where
// nothing in the request's head names one.
func (s *Sessions) opens(x *exchangeState, f *Frame, m *Message) *session {
	if f.Form == FormText || f.Form == FormBinary || x.socket {
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
	case modern || EraOf(Revision(x.version)) == Modern:
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
	s.unname(in, keyClient) // it is no session of 2026-07-28
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
		if in = s.before(x); in != nil && in.Facts.Era == Legacy {
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

// byClient returns the session of 2026-07-28 of a client that says who it is.
func (s *Sessions) byClient(x *exchangeState, client string) *session {
	if client == "" {
		return nil
	}
	if in := s.named(sessionKey(keyClient, x.path, client, x.credentials)); in != nil {
		return in
	}
	// Its credentials have changed.
	if in, ok := s.conns.Get(x.conn); ok && in.Kind == SessionClient && in.settled && !in.probe &&
		in.path == x.path && in.client == client && in.Facts.Era != Legacy {
		return in
	}
	return nil
}

// before returns the session that an exchange without any name goes on with,
// nil if there is none.
func (s *Sessions) before(x *exchangeState) *session {
	if x.path == "" { // there is no head to go by
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
