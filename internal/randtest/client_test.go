package randtest

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A reply is what the client received on one exchange, or on the only stream.
type reply struct {
	raw    []byte // exactly
	body   []byte // without framing
	status string // the status of the last head; "" before it
	fields []string
	how    string // how it ended: length, chunked, close, broken off, hang-up; "" while it has not
}

// A client plays the client half of a plan.
type client struct {
	p     *Plan
	v     Vars
	eager bool // it waits only for what a step needs
	// unordered reports that lines come from concurrent exchanges, so they may arrive in any
	// order.
	unordered bool
	addr      string
	arrived   func(*Step) // waits until the server has noticed a step; may be nil
	stdin     io.WriteCloser
	patience  time.Duration

	mu    sync.Mutex
	cond  sync.Cond
	got   map[*Exchange]*reply
	conns map[int]*clientConn
	upTo  map[*Step]int // how much of a body or how many events have arrived by a step
	said  map[*Step]int // how many events with messages
}

type clientConn struct {
	net.Conn
	r    *bufio.Reader
	busy bool
}

func newClient(p *Plan, v Vars) *client {
	c := &client{p: p, v: maps.Clone(v), patience: 10 * time.Second, got: map[*Exchange]*reply{nil: {}}, conns: map[int]*clientConn{}, upTo: map[*Step]int{}, said: map[*Step]int{}}
	c.cond.L = &c.mu
	n, said := map[*Exchange]int{}, map[*Exchange]int{}
	for _, s := range p.Steps {
		switch {
		case !s.Server || s.Kind == stderr:
			continue
		case s.Kind == event:
			n[s.X]++
			if s.Body != "" {
				said[s.X]++
			}
			c.said[s] = said[s.X]
		case s.Kind == body || s.X == nil:
			n[s.X] += len(c.v.expand(s.Text))
		}
		c.upTo[s] = n[s.X]
	}
	return c
}

// has reports whether the output of a server step has arrived. The caller holds the lock.
func (c *client) has(s *Step) bool {
	got := c.got[s.X]
	switch {
	case !s.Server || s.Kind == stderr:
		return true
	case got == nil:
		return false
	case got.how != "":
		return true
	case s.Kind == head:
		return got.status != ""
	case s.Kind == event && c.arrived == nil: // comments may be missing
		return len(messagesIn(got.body)) >= c.said[s]
	case s.Kind == event:
		return len(blocks(got.body)) >= c.upTo[s]
	case s.Kind == end || s.Kind == abort:
		return false
	}
	return len(got.body) >= c.upTo[s]
}

// blocks splits the body of an event stream after each empty line.
func blocks(b []byte) (all []string) {
	text := string(b)
	for {
		i := strings.Index(text, "\n\n")
		j := strings.Index(text, "\n\r\n")
		switch {
		case i < 0 && j < 0:
			return all
		case i < 0 || j >= 0 && j < i:
			i = j + 3
		default:
			i += 2
		}
		all = append(all, text[:i])
		text = text[i:]
	}
}

// messagesIn returns the messages in an event stream.
func messagesIn(b []byte) (all []string) {
	for _, block := range blocks(b) {
		for line := range strings.Lines(block) {
			if data, ok := strings.CutPrefix(line, "data:"); ok && strings.TrimSpace(data) != "" {
				all = append(all, strings.TrimSpace(data))
			}
		}
	}
	return all
}

// wait waits until everything that a step needs has arrived. The error names what did not.
func (c *client) wait(needs []*Step) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	late := false
	timer := time.AfterFunc(c.patience, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		late = true
		c.cond.Broadcast()
	})
	defer timer.Stop()
	for _, n := range needs {
		for !c.has(n) && !late {
			c.cond.Wait()
		}
		if !c.has(n) {
			return fmt.Errorf("did not get %s of a%d: %s", n.Kind, n.Act, visible(n.Text))
		}
	}
	return nil
}

// run does the steps of the client, and waits for those of the server.
func (c *client) run() error {
	planned := map[*Step]bool{}
	for i, s := range c.p.Steps {
		planned[s] = true
		if s.Server {
			continue
		}
		needs := c.p.Steps[:i]
		if c.eager {
			needs = slices.DeleteFunc(slices.Clone(s.Needs), func(n *Step) bool { return !planned[n] })
			for _, before := range c.p.Steps[:i] { // what follows on another connection may overtake it
				if c.p.Transport == sse && before.Kind == head {
					needs = append(needs, before)
				}
			}
		}
		if err := c.wait(needs); err != nil {
			return err
		}
		if err := c.do(s); err != nil {
			return fmt.Errorf("a%d: %w", s.Act, err)
		}
	}
	return c.wait(c.p.Steps)
}

func (c *client) do(s *Step) error {
	switch {
	case s.Kind == closeIn:
		return c.stdin.Close()
	case s.Kind == hangUp:
		c.hangUp(s.X)
	case s.X == nil:
		_, err := io.WriteString(c.stdin, c.v.expand(s.Text))
		return err
	default:
		if err := c.send(s); err != nil {
			return err
		}
	}
	if c.arrived != nil {
		c.arrived(s)
	}
	return nil
}

func (c *client) hangUp(x *Exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if got := c.got[x]; got.how == "" {
		got.how = "hang-up"
		c.conns[x.Number].Close()
	}
}

// send sends a request.
func (c *client) send(s *Step) error {
	conn, err := c.conn(s.X)
	if err != nil {
		return err
	}
	c.mu.Lock()
	text := c.p.wire(s, c.v)
	got := &reply{}
	c.got[s.X] = got
	c.mu.Unlock()
	if _, err := io.WriteString(conn, text); err != nil {
		return err
	}
	go c.read(s.X, conn, got)
	return nil
}

// conn returns the connection for an exchange: the planned one if it is free.
func (c *client) conn(x *Exchange) (*clientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, earlier := range c.p.exchanges() {
		if old := c.conns[earlier.Number]; earlier.Conn == x.Conn && old != nil && !old.busy {
			old.busy = true
			c.conns[x.Number] = old
			return old, nil
		}
	}
	n, err := net.Dial("tcp", c.addr)
	if err != nil {
		return nil, err
	}
	conn := &clientConn{Conn: n, r: bufio.NewReader(n), busy: true}
	c.conns[x.Number] = conn
	return conn, nil
}

// line adds a line that arrived on the only stream.
func (c *client) line(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got[nil].body = append(c.got[nil].body, text...)
	c.cond.Broadcast()
}

func (c *client) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got[nil].how = "close"
	c.cond.Broadcast()
}

func (c *client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.Close()
	}
}

// read reads a response.
func (c *client) read(x *Exchange, conn *clientConn, got *reply) {
	r := responseReader{r: conn.r, got: got, locked: func(change func()) {
		c.mu.Lock()
		defer c.mu.Unlock()
		change()
		c.learn(x, got)
		c.cond.Broadcast()
	}}
	how, reusable := r.all()
	r.locked(func() {
		if got.how == "" {
			got.how = how
		}
		if conn.busy = !reusable; !reusable {
			conn.Close()
		}
	})
}

// learn stores the values that the server chose. The caller holds the lock.
func (c *client) learn(x *Exchange, got *reply) {
	for _, s := range c.p.Steps {
		if s.X != x || s.Kind != head {
			continue
		}
		if _, name, ok := strings.Cut(s.Text, "Mcp-Session-Id: {{"); ok {
			name, _, _ = strings.Cut(name, "}}")
			if value, ok := field(got.fields, "mcp-session-id"); ok {
				c.v[name] = value
			}
		}
	}
	n := 0
	for _, block := range blocks(got.body) {
		name := ""
		for line := range strings.Lines(block) {
			line = strings.TrimRight(line, "\r\n")
			if id, ok := strings.CutPrefix(line, "id: "); ok {
				n++
				c.v[fmt.Sprintf("event%d.%d", x.Number, n)] = id
			}
			if value, ok := strings.CutPrefix(line, "event: "); ok {
				name = value
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok && name == "endpoint" {
				c.v["endpoint"] = data
			}
		}
	}
}

func field(fields []string, name string) (string, bool) {
	for _, f := range fields {
		if n, value, _ := strings.Cut(f, ":"); strings.EqualFold(n, name) {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

// A responseReader reads one response, and keeps all of it.
type responseReader struct {
	r      *bufio.Reader
	got    *reply
	locked func(func())
}

func (r *responseReader) line() (string, error) {
	text, err := r.r.ReadString('\n')
	r.locked(func() { r.got.raw = append(r.got.raw, text...) })
	return strings.TrimRight(text, "\r\n"), err
}

const brokenOff = "broken off"

// all reads the response. It returns how that ended, and whether the connection can be
// used for another request.
func (r *responseReader) all() (how string, reusable bool) {
	for {
		status, fields, err := r.head()
		if err != nil {
			return brokenOff, false
		}
		if strings.HasPrefix(status, "1") && !strings.HasPrefix(status, "101") {
			continue
		}
		connection, _ := field(fields, "connection")
		length, found := field(fields, "content-length")
		coding, _ := field(fields, "transfer-encoding")
		r.locked(func() { r.got.status, r.got.fields = status, fields })
		reusable = !strings.EqualFold(connection, "close")
		switch {
		case strings.EqualFold(coding, "chunked"):
			how = r.chunked()
		case found:
			n, _ := strconv.Atoi(length)
			how = "length"
			if r.part(n) != nil {
				how = brokenOff
			}
		case strings.HasPrefix(status, "204") || strings.HasPrefix(status, "304"):
			how = "length"
		default:
			how = "close"
			if err := r.part(1 << 30); err != io.EOF {
				how = brokenOff
			}
			reusable = false
		}
		return how, reusable && how != brokenOff
	}
}

func (r *responseReader) head() (status string, fields []string, err error) {
	first, err := r.line()
	if err != nil {
		return "", nil, err
	}
	_, status, _ = strings.Cut(first, " ")
	for {
		text, err := r.line()
		if err != nil || text == "" {
			return status, fields, err
		}
		fields = append(fields, text)
	}
}

func (r *responseReader) chunked() string {
	for {
		text, err := r.line()
		size, _, _ := strings.Cut(text, ";")
		n, bad := strconv.ParseUint(size, 16, 31)
		switch {
		case err != nil || bad != nil:
			return brokenOff
		case n == 0:
			return r.trailer()
		}
		if r.part(int(n)) != nil {
			return brokenOff
		}
		if text, err := r.line(); err != nil || text != "" {
			return brokenOff
		}
	}
}

func (r *responseReader) trailer() string {
	for {
		text, err := r.line()
		switch {
		case err != nil:
			return brokenOff
		case text == "":
			return "chunked"
		}
	}
}

// part reads up to a number of bytes of the body.
func (r *responseReader) part(n int) error {
	for n > 0 {
		_, err := r.r.Peek(1)
		if err != nil {
			return err
		}
		b, _ := r.r.Peek(min(n, r.r.Buffered()))
		r.locked(func() {
			r.got.raw = append(r.got.raw, b...)
			r.got.body = append(r.got.body, b...)
		})
		n -= len(b)
		_, _ = r.r.Discard(len(b))
	}
	return nil
}

// planned returns the reply that an exchange must get, as a client reads it.
func planned(p *Plan, x *Exchange, v Vars) *reply {
	got := &reply{}
	text := p.received(x, true, v)
	r := responseReader{r: bufio.NewReader(strings.NewReader(text)), got: got, locked: func(f func()) { f() }}
	got.how, _ = r.all()
	for _, s := range p.Steps {
		if s.X == x && s.Kind == hangUp {
			got.how = "hang-up"
		}
	}
	return got
}

// ofConnection are the fields specific to a connection or a body. A server that plays a recording
// generates them.
var ofConnection = []string{"Connection", "Content-Length", "Date", "Keep-Alive", "Trailer", "Transfer-Encoding"}

// messages returns the view of a client that considers the messages of a response, its status and its
// end.
func (r *reply) messages() string {
	var b strings.Builder
	status, _, _ := strings.Cut(r.status, " ")
	fmt.Fprintf(&b, "status %s\n", status)
	if kind, _ := field(r.fields, "content-type"); strings.HasPrefix(kind, "text/event-stream") {
		fmt.Fprintln(&b, strings.Join(messagesIn(r.body), "\n"))
	} else {
		fmt.Fprintf(&b, "%s\n", r.body)
	}
	how := r.how
	if how != brokenOff && how != "hang-up" && how != "" {
		how = "whole"
	}
	fmt.Fprintf(&b, "-- %s\n", how)
	return b.String()
}

// exactly returns everything that a client gets of a recorded response, whatever the framing.
func (r *reply) exactly() string {
	var fields []string
	for _, f := range r.fields {
		name, value, _ := strings.Cut(f, ":")
		if name = textproto.CanonicalMIMEHeaderKey(name); !slices.Contains(ofConnection, name) {
			fields = append(fields, name+": "+strings.TrimSpace(value)+"\n")
		}
	}
	slices.Sort(fields)
	return strings.Join(fields, "") + "\n" + string(r.body)
}
