package mock

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// events serves the event stream of HTTP+SSE (2024-11-05 basic/transports#http-with-sse). Each
// stream is a session.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	c, x := s.beginDuplex(r, formEvents)
	if c == nil {
		s.full(w)
		return
	}
	c.attach(x) // before the client learns the endpoint
	p := reply{w: w, r: r, srv: s, c: c, x: x}
	event := []byte("event: endpoint\ndata: /\n\n")
	if c.rec.opened != nil {
		p.played(c.rec.opened)
		event = c.rec.endpoint
	} else {
		p.begin()
	}
	query := url.Values{s.addresses.param: {c.id}}
	endpoint := &url.URL{Path: s.addresses.post, RawQuery: query.Encode()}
	_, _ = w.Write(withData(event, []byte(endpoint.String())))
	p.flush()
	p.run(x.turn)
}

// beginDuplex starts a session on a duplex stream.
func (s *Server) beginDuplex(r *http.Request, form streamForm) (*conversation, *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.only != nil {
		return nil, nil
	}
	c := s.begin(s.choose(r, &posted{}), true)
	c.duplex = c.stream(form)
	return c, c.duplex
}

// full reports whether no session can start, because the server is shutting down or records
// another session. If so, it answers the request.
func (s *Server) full(w http.ResponseWriter) bool {
	s.mu.Lock()
	closed, recording := s.closed, s.only != nil
	s.mu.Unlock()
	switch {
	case closed:
		http.Error(w, "mcptap mock: the server is shutting down", http.StatusServiceUnavailable)
	case recording:
		http.Error(w, "mcptap mock: each run records one session; restart mcptap to record another", http.StatusConflict)
	}
	return closed || recording
}

// attach starts playing on a stream.
func (c *conversation) attach(x *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.play.Attach(c.now(), x.id, replay.Duplex)
		c.pump()
	}
}

// receive handles a message from a WebSocket, and reports whether the session continues.
func (c *conversation) receive(raw []byte, binary bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	c.duplex.binary = binary
	c.accept(replay.Input{Stream: c.duplex.id, Raw: raw})
	c.pump()
	return true
}

// receiveOn handles a message of HTTP+SSE. It returns the stream for the HTTP response, nil if no
// response was recorded, and whether the session continues.
func (c *conversation) receiveOn(raw []byte) (x *stream, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil, false
	}
	x = c.stream(formUnknown)
	x.played = c.accept(replay.Input{Stream: x.id, Raw: raw}).Played
	c.pump()
	if !x.played {
		delete(c.streams, x.id)
		x = nil
	}
	return x, true
}

// postEvents handles a POST of HTTP+SSE. Responses are sent on the event stream. The specification
// does not define a status; all servers send 202.
func (s *Server) postEvents(w http.ResponseWriter, r *http.Request, c *conversation) {
	var p posted
	if !p.read(w, r, &replay.Head{}) {
		return
	}
	if p.message.Kind == jsonrpc.Other && c.duplex != nil && s.opens(w, r, &replay.Head{}, c, "", p.raw) {
		return
	}
	var x *stream
	ok := c.duplex != nil
	if ok {
		x, ok = c.receiveOn(p.raw)
	}
	switch {
	case !ok:
		s.refuse(w, r, replay.OverSession, &p)
	case x != nil:
		(&reply{w: w, r: r, srv: s, c: c, x: x}).run(0)
	default:
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "Accepted")
	}
}

// subprotocol is the subprotocol that clients of the TypeScript SDK request. No revision of the
// specification defines one.
const subprotocol = "mcp"

// socket serves a WebSocket. Each WebSocket is a session.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{
		Subprotocols: append(slices.Clone(s.rec.subprotocols), subprotocol), WriteBufferSize: 32 << 10,
		CheckOrigin: func(*http.Request) bool { return true }, // ServeHTTP has checked it
	}
	if s.full(w) || s.refusesUpgrade(w, r) {
		return
	}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	defer conn.Close()
	c, x := s.beginDuplex(r, formText)
	if c == nil {
		return
	}
	conn.SetReadLimit(maxMessage)
	c.attach(x)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			kind, raw, err := conn.ReadMessage()
			if err != nil || !c.receive(raw, kind == websocket.BinaryMessage) {
				return
			}
		}
	}()
	c.relay(conn, x, ended)
	c.detach(x, x.turn)
}

// refusesUpgrade refuses the n-th WebSocket request if the n-th recorded one was refused, and
// reports whether it did.
func (s *Server) refusesUpgrade(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	n := s.upgrades
	s.upgrades++
	s.mu.Unlock()
	if n >= len(s.rec.upgrades) || s.rec.upgrades[n] == nil {
		return false
	}
	s.outputs(w, r, replay.Refusal{Exchange: s.rec.upgrades[n], Script: s.rec.pages}.Outputs(nil))
	return true
}

// closing is the timeout for sending a close frame.
const closing = 5 * time.Second

// relay writes a stream to a WebSocket until it is over or the client is gone.
func (c *conversation) relay(conn *websocket.Conn, x *stream, ended <-chan struct{}) {
	for sent := 0; ; {
		t := c.take(x, sent, x.turn)
		for _, e := range t.pieces {
			_ = conn.SetWriteDeadline(time.Now().Add(writeTime))
			kind := websocket.TextMessage
			if e.binary {
				kind = websocket.BinaryMessage
			}
			if err := conn.WriteMessage(kind, e.data); err != nil {
				return
			}
			sent++
		}
		switch {
		case t.over && len(t.pieces) > 0:
			continue
		case t.over && !t.broken:
			bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
			if c.rec.closeFrame != nil {
				bye = c.rec.closeFrame
			}
			_ = conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(closing))
			return
		case t.over:
			return
		}
		select {
		case <-t.wake:
		case <-ended:
			return
		}
	}
}
