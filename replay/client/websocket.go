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

// WebSocket returns a connection to a WebSocket server as implemented by some SDKs: each message
// is a text frame, or a binary frame if it was recorded as such. No revision defines this
// transport.
func WebSocket(url string) Conn {
	return &webSocket{url: url, kind: websocket.TextMessage, writeTime: time.Minute}
}

// A webSocket is a connection over a WebSocket.
type webSocket struct {
	url  string
	to   chan<- Event
	ctx  context.Context
	sock *websocket.Conn
	work sync.WaitGroup
	mu   sync.Mutex
	// written is closed when the last message has been written. mu guards it.
	written chan struct{}
	// kind is the frame type of the last message that was recorded on a WebSocket. Messages
	// without a recorded type use it too.
	kind      int
	writeTime time.Duration // the timeout of a write
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
		refused := refusal(res, "", nil)
		refused.Err = fmt.Errorf("the server does not open a WebSocket: %w", refused.Err)
		return refused
	}
	sock.SetReadLimit(maxBody)
	c.ctx, c.to, c.sock, c.written = ctx, to, sock, make(chan struct{})
	close(c.written)
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
	c.mu.Lock()
	defer c.mu.Unlock()
	before, done := c.written, make(chan struct{})
	c.written = done
	c.work.Go(func() {
		defer close(done)
		<-before
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
	last := c.written
	c.mu.Unlock()
	<-last
	bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = c.sock.WriteControl(websocket.CloseMessage, bye, time.Now().Add(graceEOF))
	_ = c.sock.SetReadDeadline(time.Now().Add(graceEOF)) // for the close frame of the server
	c.work.Wait()
	c.sock.Close()
	return ""
}
