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
	events  chan event
	out     *io.PipeReader
	in      *io.PipeWriter
	reading sync.WaitGroup

	mu sync.Mutex
	// player knows which header fields a message needs.
	player     player
	initialize string        // the id of the initialize
	greeted    chan struct{} // closed when there is an answer to it, nil before it
	lists      map[string]bool
	revision   jsonrpc.Revision
	closed     bool
}

// NewLines reaches a server. Refused is told of each request, by its id, that gets no
// answer, since the transport refused it or broke off. It must not block.
func NewLines(conn Conn, refused func(id []byte, why string)) (*Lines, error) {
	l := &Lines{
		conn: conn, refused: refused, events: make(chan event, 64), lists: map[string]bool{},
		player: player{fields: map[string][]headerField{}},
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.out, l.in = io.Pipe()
	if err := conn.open(l.ctx, l.events); err != nil {
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
	m := jsonrpc.Peek(raw)
	out := &outgoing{raw: raw, kind: m.Kind, method: m.Method}
	l.mu.Lock()
	if m.Kind == jsonrpc.Request {
		id := string(m.ID)
		out.ids = []string{id}
		switch m.Method {
		case "initialize":
			l.initialize, l.greeted = id, make(chan struct{})
		case "tools/list":
			l.lists[id] = true
		}
	}
	out.header = l.player.header(out)
	revision := l.revision
	l.mu.Unlock()
	sent := l.conn.post(out)
	if m.Kind == jsonrpc.Request {
		return len(line), nil // what became of it is an event
	}
	select {
	case <-sent: // a refusal of a notification is nobody's business
	case <-l.ctx.Done():
		return 0, io.ErrClosedPipe
	}
	if m.Method == "notifications/initialized" {
		l.mu.Lock()
		l.player.target.agreed = revision
		l.mu.Unlock()
		l.conn.opened(l.ctx, revision, true)
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
			case e.gone && e.on == nil:
				l.in.CloseWithError(e.err) // without one it is the end
				l.cancel()
				return
			case e.err != nil:
				l.mu.Lock()
				l.greet(e.on.ids[0])
				l.mu.Unlock()
				l.refused([]byte(e.on.ids[0]), e.err.Error())
			default:
				l.learn(e.raw)
				raw := bytes.TrimSpace(e.raw)
				if e.on != nil && len(e.on.ids) > 0 && string(replay.Value(raw, "id")) == "null" {
					raw = replay.Rewrite(raw, []byte(e.on.ids[0]), "id") // the exchange alone says what it answers
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

// learn reads from an answer what later requests have to repeat.
func (l *Lines) learn(raw []byte) {
	m := jsonrpc.Peek(raw)
	if m.Kind != jsonrpc.Response && m.Kind != jsonrpc.ErrorResponse {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.greet(string(m.ID))
	switch id := string(m.ID); {
	case id == l.initialize && l.revision == "":
		if v, ok := textOf(lookup(m.Result, "protocolVersion")); ok {
			l.revision = jsonrpc.Revision(v)
		}
	case l.lists[id]:
		delete(l.lists, id)
		learnFields(l.player.fields, m.Result)
	}
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
	l.conn.closeSend()
	l.out.Close()
	l.conn.close()
	l.cancel()
	l.reading.Wait()
	return l.in.Close()
}
