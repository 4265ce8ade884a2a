package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// Lines is a server at a URL as if it were a process on stdio: what is written is its
// input, a line a message, and what is read is its output. It knows of a session what
// its transport needs to know. Make one with [NewLines].
type Lines struct {
	conn    Conn
	refused func(id []byte, why string)
	ctx     context.Context
	cancel  context.CancelFunc
	events  chan Event
	out     *io.PipeReader
	in      *io.PipeWriter
	reading sync.WaitGroup

	mu         sync.Mutex
	initialize string        // the id of the initialize
	greeted    chan struct{} // closed when there is an answer to it, nil before it
	closed     bool
}

// NewLines reaches a server. Refused is told of each request, by its id, that gets no
// answer, since the transport refused it or broke off. It must not block.
func NewLines(conn Conn, refused func(id []byte, why string)) (*Lines, error) {
	l := &Lines{
		conn: conn, refused: refused, events: make(chan Event, 64),
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.out, l.in = io.Pipe()
	if err := conn.Open(l.ctx, l.events); err != nil {
		l.cancel()
		return nil, err
	}
	l.reading.Go(l.pass)
	return l, nil
}

// Read implements [io.Reader].
func (l *Lines) Read(p []byte) (int, error) { return l.out.Read(p) }

// Write sends one line. A notification is waited for until the server has taken it,
// so that what follows cannot overtake it, and so is the answer to an initialize, which
// says what the others must repeat.
func (l *Lines) Write(line []byte) (int, error) {
	raw := bytes.TrimSpace(line)
	if !l.awaitGreeting() {
		return 0, io.ErrClosedPipe
	}
	out := NewOutgoing(bytes.Clone(raw))
	if out.method == "initialize" {
		l.mu.Lock()
		l.initialize, l.greeted = out.ids[0], make(chan struct{})
		l.mu.Unlock()
	}
	sent := l.conn.Send(out)
	if len(out.ids) > 0 {
		return len(line), nil // what became of it is an event
	}
	select {
	case <-sent: // a refusal of a notification is nobody's business
	case <-l.ctx.Done():
		return 0, io.ErrClosedPipe
	}
	return len(line), nil
}

// awaitGreeting waits for the answer to the initialize, if one is under way. It
// reports whether the session goes on.
func (l *Lines) awaitGreeting() bool {
	l.mu.Lock()
	greeted := l.greeted
	l.mu.Unlock()
	if greeted == nil {
		return true
	}
	select {
	case <-greeted:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// greet says that the initialize has been answered, or will not be.
func (l *Lines) greet(id string) {
	if l.greeted != nil && id == l.initialize {
		close(l.greeted)
		l.greeted = nil
	}
}

// pass turns events into lines.
func (l *Lines) pass() {
	for {
		select {
		case e := <-l.events:
			switch {
			case e.Gone && e.On == nil:
				l.in.CloseWithError(e.Err) // without one it is the end
				l.cancel()
				return
			case e.Err != nil:
				l.mu.Lock()
				l.greet(e.On.ids[0])
				l.mu.Unlock()
				l.refused([]byte(e.On.ids[0]), e.Err.Error())
			default:
				l.learn(e.Raw)
				raw := bytes.TrimSpace(e.Raw)
				if e.On != nil && len(e.On.ids) > 0 && string(replay.Value(raw, "id")) == "null" {
					raw = replay.Rewrite(raw, []byte(e.On.ids[0]), "id") // the exchange alone says what it answers
				}
				if _, err := l.in.Write(asLine(raw)); err != nil {
					return
				}
			}
		case <-l.ctx.Done():
			return
		}
	}
}

// learn looks for the answer to the initialize.
func (l *Lines) learn(raw []byte) {
	m := jsonrpc.Peek(raw)
	if m.Kind != jsonrpc.Response && m.Kind != jsonrpc.ErrorResponse {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.greet(string(m.ID))
}

// Close ends the session.
func (l *Lines) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return errors.New("it is closed already")
	}
	l.closed = true
	l.mu.Unlock()
	l.conn.CloseSend()
	l.out.Close()
	l.conn.Close()
	l.cancel()
	l.reading.Wait()
	return l.in.Close()
}
