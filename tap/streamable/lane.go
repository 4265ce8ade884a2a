package streamable

import (
	"time"

	"github.com/mcptap/mcptap/tap"
)

// A laneState is the kind of data that one side is sending.
type laneState uint8

const (
	stateBetween laneState = iota // nothing, or an empty line before a request
	stateHead                     // a head
	stateBody                     // a body
	stateWaiting                  // of a client: waiting for the server to decide about the protocol
	stateSocket                   // a WebSocket
	stateRaw                      // unreadable data
	stateOwn                      // discarded data: the tap responds itself
)

// A lane is the common part of [upLane] and [downLane].
type lane struct {
	*traffic
	carrier
	name  tap.Lane
	state laneState
	scan  headScan
	began time.Time // when the first byte of the head arrived
	body  bodyCut
	ex    *exchange // exchange of the current request or response, nil between them
	sink  *sink
	ws    *wsCut
	blind bool // its cutter failed, see [conn.cut]
}

// side returns the direction of the current exchange.
func (l *lane) side() *side {
	if l.name == tap.ToServer {
		return &l.ex.up
	}
	return &l.ex.down
}

// socket reads the next bytes of a WebSocket. After an error everything passes unread.
func (l *lane) socket(p []byte) {
	n, err := l.ws.write(p)
	l.side().bytes += uint64(n)
	l.pass(n)
	if err != nil {
		l.side().note(err.Error())
		l.ws.close()
		l.state = stateRaw
	}
}

// unread records bytes that are not read as HTTP or WebSocket. Those after an error of a
// WebSocket are recorded as bytes. Others may have heads with secrets that cannot be found,
// so only their number is recorded.
func (l *lane) unread(p []byte) {
	s := l.side()
	s.bytes += uint64(len(p))
	if l.ws == nil && !l.keepSecrets {
		s.unread += uint64(len(p))
		return
	}
	l.rec.Piece(l.ex.n, l.name, tap.FormBytes, p, true)
}

// newSocket makes the cutter of a WebSocket.
func (l *lane) newSocket(fresh bool) {
	tr, ex, s := l.traffic, l.ex, l.side()
	s.socket = true
	from := byServer
	if l.name == tap.ToServer {
		from = byClient
	}
	l.ws = &wsCut{out: wsMessages{note: s.note, from: from, record: func(form tap.Form, p []byte, end bool) {
		tr.rec.Piece(ex.n, l.name, form, p, end)
		if form == tap.FormClose {
			tr.mu.Lock()
			s.closes = true
			tr.mu.Unlock()
		}
	}}}
	if ex.ws.deflate {
		l.ws.inflate = &inflate{fresh: fresh, note: s.note}
	}
	l.state = stateSocket
}

// endBody ends a body, and with it the current request or response.
func (l *lane) endBody() {
	l.sink.close(true)
	h := parseTrailer(l.body.trailer)
	l.side().trailer = textFields(h.fields)
	l.ex, l.sink, l.state = nil, nil, stateBetween
}

// endRest records the rest at the end of the connection. complete reports a proper end; it
// returns whether the WebSocket, if there is one, ended properly too.
func (l *lane) endRest(complete bool) bool {
	l.sink.close(complete)
	if l.ws != nil {
		l.ws.close()
		complete = l.ws.out.saw
	}
	return complete
}
