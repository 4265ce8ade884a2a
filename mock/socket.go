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
	t, x := s.duplexTalk(r, formText)
	if t == nil {
		http.Error(w, "mcptap mock: the server is ending", http.StatusServiceUnavailable)
		return
	}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil { // the library has answered
		t.end()
		return
	}
	defer conn.Close()
	conn.SetReadLimit(maxMessage)
	t.attach(x)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			kind, raw, err := conn.ReadMessage()
			if err != nil || kind == websocket.TextMessage && !t.receive(raw) {
				return
			}
		}
	}()
	t.relay(conn, x, ended)
	t.detach(x, x.turn)
}

// closing is how long a WebSocket may take to be told that it is over.
const closing = 5 * time.Second

// relay writes the messages of a stream until it is over or the client gone.
func (t *talk) relay(conn *websocket.Conn, x *stream, ended <-chan struct{}) {
	for sent := 0; ; {
		events, over, broken := t.take(x, sent)
		for _, e := range events {
			if err := conn.WriteMessage(websocket.TextMessage, e.data); err != nil {
				return
			}
			sent++
		}
		switch {
		case over && len(events) > 0:
			continue
		case over && !broken:
			bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
			_ = conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(closing))
			return
		case over:
			return
		}
		select {
		case <-x.wake:
		case <-ended:
			return
		}
	}
}
