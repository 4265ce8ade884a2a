package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A crossing is one message as the client sent it or got it.
type crossing struct {
	out    bool            // from the client to the server
	method string          // empty for a response
	id     string          // as JSON; empty for a notification
	body   json.RawMessage // params or result
	err    *jsonrpc.Error  // what a response says instead of a result
}

func (c crossing) isRequest() bool      { return c.method != "" && c.id != "" }
func (c crossing) isNotification() bool { return c.method != "" && c.id == "" }
func (c crossing) isResponse() bool     { return c.method == "" }

func (c crossing) String() string {
	arrow := "server"
	if c.out {
		arrow = "client"
	}
	switch {
	case c.isResponse():
		return fmt.Sprintf("answer %s of the %s", c.id, arrow)
	case c.isRequest():
		return fmt.Sprintf("%s %s of the %s", c.method, c.id, arrow)
	default:
		return fmt.Sprintf("%s of the %s", c.method, arrow)
	}
}

// A watch is an [mcp.Transport] that keeps what crosses it, in order. It is
// how the client knows what the wire did, which the SDK hides: it retries,
// answers and drops on its own. And it is how the client waits for a message
// instead of sleeping.
type watch struct {
	inner mcp.Transport

	mu      sync.Mutex
	seen    []crossing
	handled map[string]int // by method: what the SDK has taken notice of
	ended   error
	changed chan struct{} // closed and replaced at every change
}

func newWatch(inner mcp.Transport) *watch {
	return &watch{inner: inner, handled: map[string]int{}, changed: make(chan struct{})}
}

// Connect implements [mcp.Transport].
func (w *watch) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := w.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &watchedConn{Connection: conn, w: w}, nil
}

type watchedConn struct {
	mcp.Connection
	w       *watch
	writing sync.Mutex
}

// Read implements [mcp.Connection].
func (c *watchedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if err != nil {
		c.w.update(func() { c.w.ended = err })
		return nil, err
	}
	c.w.add(false, msg)
	return msg, nil
}

// Write implements [mcp.Connection].
func (c *watchedConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	// One at a time: who waits for a message in the watch, and then sends
	// another, must not overtake it.
	c.writing.Lock()
	defer c.writing.Unlock()
	c.w.add(true, msg) // before it can be answered
	return c.Connection.Write(ctx, msg)
}

func (w *watch) add(out bool, msg jsonrpc.Message) {
	c := crossing{out: out}
	switch m := msg.(type) {
	case *jsonrpc.Request:
		c.method, c.id, c.body = m.Method, idText(m.ID), m.Params
	case *jsonrpc.Response:
		c.id, c.body = idText(m.ID), m.Result
		if m.Error != nil && !errors.As(m.Error, &c.err) {
			c.err = &jsonrpc.Error{Message: m.Error.Error()}
		}
	}
	w.update(func() { w.seen = append(w.seen, c) })
}

// idText is an id as it stands in JSON, so that 1 and "1" differ.
func idText(id jsonrpc.ID) string {
	if !id.IsValid() {
		return ""
	}
	b, err := json.Marshal(id.Raw())
	if err != nil {
		return ""
	}
	return string(b)
}

func (w *watch) update(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	close(w.changed)
	w.changed = make(chan struct{})
}

// note is a middleware for what the client receives. What the SDK does about
// a notification, such as forgetting a cached list, is done when the
// notification counts as handled, not when it was read.
func (w *watch) note(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		w.update(func() { w.handled[method]++ })
		return res, err
	}
}

// until waits for done to be true of what crossed so far.
func (w *watch) until(ctx context.Context, what string, done func(seen []crossing) bool) error {
	return w.await(ctx, what, func() bool { return done(w.seen) })
}

// untilHandled waits until the SDK has taken notice of method n times.
func (w *watch) untilHandled(ctx context.Context, method string, n int) error {
	return w.await(ctx, method, func() bool { return w.handled[method] >= n })
}

func (w *watch) await(ctx context.Context, what string, done func() bool) error {
	for {
		w.mu.Lock()
		ok, ended, changed := done(), w.ended, w.changed
		w.mu.Unlock()
		if ok {
			return nil
		}
		if ended != nil {
			return fmt.Errorf("the connection ended before %s came: %w", what, ended)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s did not come: %w", what, context.Cause(ctx))
		}
	}
}

// mark is the place after all that crossed so far.
func (w *watch) mark() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

// since is what crossed after mark.
func (w *watch) since(mark int) []crossing {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen[mark:])
}

// howOften is how many times the SDK has taken notice of method.
func (w *watch) howOften(method string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.handled[method]
}

// The questions that are asked of what crossed.

func keepOnly(seen []crossing, keep func(crossing) bool) []crossing {
	var kept []crossing
	for _, c := range seen {
		if keep(c) {
			kept = append(kept, c)
		}
	}
	return kept
}

// of are the messages with the given method and direction.
func of(seen []crossing, out bool, method string) []crossing {
	return keepOnly(seen, func(c crossing) bool { return c.out == out && c.method == method })
}

// answerTo finds the response to a request and its place.
func answerTo(seen []crossing, req crossing) (crossing, int, bool) {
	i := slices.IndexFunc(seen, func(c crossing) bool {
		return c.isResponse() && c.out != req.out && c.id == req.id
	})
	if i < 0 {
		return crossing{}, 0, false
	}
	return seen[i], i, true
}

// field reads one member out of a message's body, by its path.
func (c crossing) field(path ...string) json.RawMessage {
	at := c.body
	for _, name := range path {
		var members map[string]json.RawMessage
		if json.Unmarshal(at, &members) != nil {
			return nil
		}
		at = members[name]
	}
	return at
}
