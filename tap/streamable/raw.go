package streamable

import (
	"fmt"

	"github.com/mcptap/mcptap/tap"
)

// unread records bytes that are not read as HTTP or WebSocket. If they may have
// secrets that cannot be found, only their number is recorded.
func (tr *traffic) unread(ex *exchange, s *side, lane tap.Lane, p []byte, secret bool) {
	if secret {
		s.unread += uint64(len(p))
		return
	}
	tr.rec.Piece(ex.n, lane, tap.FormBytes, p, true)
}

// unreadNote notes how many bytes were not recorded.
func (s *side) unreadNote(up bool) {
	if s.unread == 0 {
		return
	}
	from := byServer
	if up {
		from = byClient
	}
	s.note(fmt.Sprintf("%d bytes from the %s were not recorded, as there may be secrets in them", s.unread, from))
	s.unread = 0
}

// newSocket returns the cutter of one direction of a WebSocket.
func (tr *traffic) newSocket(ex *exchange, s *side, lane tap.Lane, fresh bool) *wsCut {
	s.socket = true
	w := &wsCut{out: wsMessages{note: s.note, record: func(form tap.Form, p []byte, end bool) {
		tr.rec.Piece(ex.n, lane, form, p, end)
		if form == tap.FormClose {
			tr.mu.Lock()
			s.closes = true
			tr.mu.Unlock()
		}
	}}}
	if ex.ws.deflate {
		w.inflate = &inflate{fresh: fresh, note: s.note}
	}
	return w
}
