package client

import (
	"net/http"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// TestWebSocketMessageTooLong: a message whose head announces a terabyte ends the
// connection before any of it is kept.
func TestWebSocketMessageTooLong(t *testing.T) {
	up := websocket.Upgrader{}
	url := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sock, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer sock.Close()
		if _, err := sock.NetConn().Write([]byte{0x81, 127, 0, 0, 1, 0, 0, 0, 0, 0}); err != nil {
			return
		}
		_, _, _ = sock.ReadMessage() // until the client has hung up
	}))
	to := make(chan Event, 1)
	c := WebSocket("ws" + url[len("http"):])
	if err := c.Open(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	select {
	case e := <-to:
		if !e.Gone || e.Raw != nil {
			t.Errorf("%d bytes, gone %v", len(e.Raw), e.Gone)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the client waits for the rest of it")
	}
}
