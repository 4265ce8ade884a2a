package mock

import (
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// subprotocol is what clients of the TypeScript SDK ask a WebSocket for. No revision
// of the specification has one.
const subprotocol = "mcp"

// socket serves a WebSocket, which is a session: one message each way is one
// JSON-RPC message. This is the only file that knows the library.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{
		Subprotocols: []string{subprotocol}, WriteBufferSize: 32 << 10,
		CheckOrigin: func(*http.Request) bool { return true }, // the guard has
	}
	c, x := s.beginDuplex(r, formText)
	if c == nil {
		s.full(w)
		return
	}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil { // the library has answered
		c.end()
		return
	}
	defer conn.Close()
	conn.SetReadLimit(maxMessage)
	c.attach(x)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			kind, raw, err := conn.ReadMessage()
			if err != nil || kind == websocket.TextMessage && !c.receive(raw) {
				return
			}
		}
	}()
	c.relay(conn, x, ended)
	c.detach(x, x.turn)
}

// closing is how long a WebSocket may take to be told that it is over.
const closing = 5 * time.Second

// relay writes the messages of a stream until it is over or the client gone.
func (c *conversation) relay(conn *websocket.Conn, x *stream, ended <-chan struct{}) {
	for sent := 0; ; {
		t := c.take(x, sent, x.turn)
		for _, e := range t.pieces {
			_ = conn.SetWriteDeadline(time.Now().Add(writeTime))
			if err := conn.WriteMessage(websocket.TextMessage, e.data); err != nil {
				return
			}
			sent++
		}
		switch {
		case t.over && len(t.pieces) > 0:
			continue
		case t.over && !t.broken:
			bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
			_ = conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(closing))
			return
		case t.over:
			return
		}
		select {
		case <-x.wake:
		case <-ended:
			return
		}
	}
}
