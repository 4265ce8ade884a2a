package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcptap/mcptap/tap"
)

// WebSocket makes a connection to a server on a WebSocket, one message a text frame or, where
// that was recorded, a binary one, as some SDKs speak it. No revision has that transport.
func WebSocket(url string) Conn {
	return &webSocket{url: url, kind: websocket.TextMessage, writeTime: time.Minute}
}

// A webSocket is a connection on a WebSocket.
type webSocket struct {
	url  string
	to   chan<- Event
	ctx  context.Context
	sock *websocket.Conn
	work sync.WaitGroup
	mu   sync.Mutex // one writes at a time
	// kind is that of the last message: what was not recorded on a WebSocket is sent as the
	// last that was.
	kind int
	// writeTime is how long the server may take to accept a message.
	writeTime time.Duration
}

func (c *webSocket) Open(ctx context.Context, to chan<- Event) error {
	d := websocket.Dialer{Subprotocols: []string{"mcp"}, HandshakeTimeout: endpointPatience}
	sock, res, err := d.DialContext(ctx, c.url, nil)
	if err != nil {
		if res == nil {
			return unwrapped(err)
		}
		if err := ownAnswer(res); err != nil {
			return err
		}
		return fmt.Errorf("the server does not open a WebSocket: %w", refusal(res, "", nil))
	}
	sock.SetReadLimit(maxBody) // by itself it takes as much as a server has
	c.ctx, c.to, c.sock = ctx, to, sock
	c.work.Go(c.read)
	return nil
}

func (c *webSocket) read() {
	for {
		_, raw, err := c.sock.ReadMessage()
		e := Event{Raw: raw}
		if err != nil {
			e = Event{Gone: true, Err: errors.New("the server closed the WebSocket")}
		}
		select {
		case c.to <- e:
		case <-c.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func (c *webSocket) Send(m *Outgoing) <-chan error {
	sent := make(chan error, 1)
	c.work.Go(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		_ = c.sock.SetWriteDeadline(time.Now().Add(c.writeTime))
		switch m.form {
		case tap.FormText:
			c.kind = websocket.TextMessage
		case tap.FormBinary:
			c.kind = websocket.BinaryMessage
		}
		sent <- c.sock.WriteMessage(c.kind, m.raw)
	})
	return sent
}

func (c *webSocket) HangUp(*Outgoing) bool { return false }
func (c *webSocket) CloseSend()            {}

func (c *webSocket) Close() string {
	if c.sock == nil {
		return ""
	}
	c.mu.Lock()
	bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = c.sock.WriteControl(websocket.CloseMessage, bye, time.Now().Add(graceEOF))
	c.mu.Unlock()
	_ = c.sock.SetReadDeadline(time.Now().Add(graceEOF)) // the server says goodbye too
	c.work.Wait()
	c.sock.Close()
	return ""
}
