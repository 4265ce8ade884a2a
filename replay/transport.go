package replay

import (
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// Refuse takes back the requests and notifications of a frame: the transport refused
// it, with a status of HTTP, and the server's answer is none that a session has.
// Foreign says that this was for something that is not in the message, so that the
// same message is not refused otherwise; see [Session.Refused].
func (b *Builder) Refuse(frame uint64, foreign bool) {
	for c := b.s.find(session.Ref{Seq: frame}); int(c) < len(b.s.cues) && c != 0 && b.s.cues[c].seq == frame; c++ {
		x := &b.s.cues[c]
		switch x.kind {
		case cueRequest:
			b.s.requests--
		case cueNotification:
		default:
			continue
		}
		x.kind = cueRefused
		b.s.refused++
		if foreign {
			x.flags |= cueForeign
		}
		if b.s.opening == c {
			b.s.opening = 0
		}
	}
	for b.behind > 0 && b.s.cues[b.behind].kind == cueRefused {
		b.behind--
	}
}

// Opens reports whether the script has a request of the kind that a client begins
// with: an initialize, or for modern one that names its own version.
func (s *Script) Opens(modern bool) bool {
	return s.eras.opens(modern)
}

// Refused reports whether the next recorded message that is like this one of the
// client's was refused by the transport, and for nothing but itself. Then frame is
// that one, which counts as come, and the message is not to be received.
func (s *Session) Refused(raw []byte) (frame uint64, ok bool) {
	if s.script.refused == 0 {
		return 0, false
	}
	m := jsonrpc.Peek(raw)
	if m.Kind != jsonrpc.Request && m.Kind != jsonrpc.Notification {
		return 0, false
	}
	k := s.keyer.key(&m)
	t := &s.script.index.exact
	q, ok := t.queues[k.exact]
	if !ok {
		return 0, false
	}
	cur := s.cursor(byRefused, q)
	for c := cur.next(t); c != 0; c = t.next[c] {
		x := &s.script.cues[c]
		if s.arrived.come(c) || x.has(cueForeign) {
			cur.had = c
			continue
		}
		if x.kind != cueRefused {
			return 0, false
		}
		s.arrive(c)
		return x.seq, true
	}
	return 0, false
}

// Matched names the recorded request whose answer the message got that was received
// last, and its exchange; zero if there is none. Of a batch it is the first.
func (s *Session) Matched() (request session.Ref, exchange uint64) {
	if s.matched == 0 {
		return session.Ref{}, 0
	}
	c := &s.script.cues[s.matched]
	return c.message(), c.exchange
}

// BeginsAgain reports whether a message is what the recorded session began with and
// has come as often as it did there: its client begins anew.
func (s *Session) BeginsAgain(raw []byte) bool {
	first := s.script.opening
	if first == 0 || !s.arrived.come(first) {
		return false
	}
	m := jsonrpc.Peek(raw)
	if m.Kind != jsonrpc.Request {
		return false
	}
	k := s.keyer.key(&m)
	t := &s.script.index.exact
	if q, ok := t.queues[k.exact]; !ok || q.first != first {
		return false
	}
	cur := s.cursor(byExact, t.queues[k.exact])
	return s.skipUsed(t, cur) == 0
}
