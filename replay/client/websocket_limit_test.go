package client

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcptap/mcptap/tap"
)

// TestWebSocketMessageTooLong: a message whose head announces a terabyte ends the connection before
// any of the message is stored.
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
		t.Fatal("the client waits for the rest of the event")
	}
}

// TestWebSocketServerThatDoesNotRead: sending to a server that does not read fails, and the
// connection can be closed.
func TestWebSocketServerThatDoesNotRead(t *testing.T) {
	up := websocket.Upgrader{}
	done := make(chan struct{})
	url := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sock, err := up.Upgrade(w, r, nil); err == nil {
			<-done
			sock.Close()
		}
	}))
	c := &webSocket{url: "ws" + url[len("http"):], writeTime: 100 * time.Millisecond}
	if err := c.Open(t.Context(), make(chan Event, 1)); err != nil {
		t.Fatal(err)
	}
	sent := c.Send(&Outgoing{raw: make([]byte, 64<<20)})
	select {
	case err := <-sent:
		if err == nil {
			t.Error("the message was sent")
		}
	case <-time.After(30 * time.Second):
		t.Error("the client waits for the server")
	}
	close(done)
	c.Close()
}

// TestWebSocketKinds: a message is sent in the recorded kind of frame; if none was recorded, in that
// of the last message.
func TestWebSocketKinds(t *testing.T) {
	up := websocket.Upgrader{}
	kinds := make(chan int, 5)
	url := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sock, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer sock.Close()
		for range cap(kinds) {
			kind, _, err := sock.ReadMessage()
			if err != nil {
				break
			}
			kinds <- kind
		}
		close(kinds)
	}))
	c := WebSocket("ws" + url[len("http"):])
	if err := c.Open(t.Context(), make(chan Event, 1)); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	want := []int{websocket.TextMessage, websocket.BinaryMessage, websocket.BinaryMessage, websocket.TextMessage, websocket.TextMessage}
	for _, form := range []tap.Form{tap.FormLine, tap.FormBinary, tap.FormLine, tap.FormText, tap.FormEvent} {
		m := NewOutgoing([]byte(`{"jsonrpc":"2.0","method":"a"}`))
		m.form = form
		if err := <-c.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	var got []int
	for kind := range kinds {
		got = append(got, kind)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestWebSocketKeepsTheOrder: messages are written in the order in which they were sent, even if the
// client does not wait for each.
func TestWebSocketKeepsTheOrder(t *testing.T) {
	const messages = 300
	got := make(chan string, messages)
	up := websocket.Upgrader{}
	url := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sock, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer sock.Close()
		for {
			_, raw, err := sock.ReadMessage()
			if err != nil {
				return
			}
			got <- string(raw)
		}
	}))
	c := WebSocket("ws" + url[len("http"):])
	if err := c.Open(t.Context(), make(chan Event, 1)); err != nil {
		t.Fatal(err)
	}
	for i := range messages {
		c.Send(&Outgoing{raw: fmt.Append(nil, i)})
	}
	for i := range messages {
		if s := <-got; s != fmt.Sprint(i) {
			t.Fatalf("message %d is %s", i, s)
		}
	}
	c.Close()
}
