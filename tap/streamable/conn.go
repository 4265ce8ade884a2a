package streamable

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// linger is how long the tap reads from a client after its last
// response. A connection that is closed with unread data is
// reset, and the client might lose the response.
const linger = time.Second

// maxAfter is the maximum number of bytes that are recorded of a request after its 502.
const maxAfter = 4 << 20

// A conn is a client connection and the corresponding server connection.
// There is one goroutine for each direction.
type conn struct {
	traffic
	client wire
	server wire // once it is dialed
	dialed bool
	up     upLane
	down   downLane

	// downDone is closed when the server lane has ended.
	downDone chan struct{}
	// toClient is held while recording and writing a response to the client.
	toClient sync.Mutex
	// silent, guarded by toClient, reports that the tap itself has sent the last response.
	silent bool
	// mute reports that nothing more is written to the server.
	mute atomic.Bool
	// toServer is held while writing to the server.
	toServer sync.Mutex
	// reset reports that a write to the server failed because the server reset the connection.
	reset atomic.Bool
	// relayed reports that the client has the end of the server's bytes.
	relayed atomic.Bool
	// late is how many bytes may still be recorded of the request that got a 502.
	late   int
	warned sync.Once

	stopping sync.Mutex
	stopped  bool
}

func (t *Tap) newConn(c net.Conn) *conn {
	k := &conn{client: wire{Conn: c, socket: c}, downDone: make(chan struct{})}
	k.Tap, k.traffic.conn = t, t.conns.Add(1)
	k.local, _, _ = net.SplitHostPort(c.LocalAddr().String())
	k.up.lane = lane{traffic: &k.traffic, name: tap.ToServer}
	k.down.lane = lane{traffic: &k.traffic, name: tap.ToClient}
	return k
}

// serve forwards in both directions until the end of the connection.
func (c *conn) serve() {
	// The recorder may write to memory that is mapped from a file. A page of
	// it that cannot be allocated must end the recording and not the program.
	debug.SetPanicOnFault(true)
	c.rec.Event(0, tap.Event{Name: tap.EventConnect, Conn: c.traffic.conn, Remote: c.client.RemoteAddr().String()})
	c.serveUp()
	if c.dialed {
		<-c.downDone
		c.server.finish()
	} else {
		c.endDown(false)
	}
	c.client.finish()
	c.mu.Lock()
	by, how := c.goneBy, c.goneHow
	c.mu.Unlock()
	if how == hungUp {
		how = ""
	}
	c.rec.Event(0, tap.Event{Name: tap.EventDisconnect, Conn: c.traffic.conn, By: by, Error: how})
}

// serveUp forwards from the client until its end.
func (c *conn) serveUp() {
	if err := c.secure(); err != nil {
		c.lost(byClient, "did not speak TLS as expected: "+err.Error())
		return
	}
	buf := make([]byte, smallRead)
	waits := false      // whether it waits for the rest of a head
	var began time.Time // when that head began
	defer func() {
		if waits {
			c.heads.Add(-1)
		}
	}()
	for {
		n, err := c.client.Read(buf)
		if n > 0 {
			c.take(buf[:n])
			buf = grown(buf, n)
		}
		if waits && errors.Is(err, os.ErrDeadlineExceeded) {
			c.up.lateHead()
			c.mute.Store(true)
			c.sendOwn(c.up.refused)
		}
		if err != nil {
			c.clientEnded(err)
			return
		}
		within := c.up.state == stateHead
		switch {
		case within && !waits:
			c.heads.Add(1)
			began = c.up.began
			c.client.expire(headTime)
		case within && began != c.up.began: // pipelined: the next one
			began = c.up.began
			c.client.expire(headTime)
		case waits && !within:
			c.heads.Add(-1)
			if c.up.state != stateOwn && c.late == 0 {
				_ = c.client.socket.SetReadDeadline(time.Time{})
			}
		}
		waits = within
	}
}

// headTime is the time limit for a request head. Servers have limits from ten seconds to a
// minute.
var headTime = time.Minute

// secure does the TLS handshake if the tap listens with TLS.
func (c *conn) secure() error {
	if c.serverTLS == nil {
		return nil
	}
	c.stopping.Lock()
	c.client = c.client.wrapped(tls.Server, c.serverTLS)
	c.stopping.Unlock()
	return c.client.handshake(c.ctx)
}

// take forwards a chunk from the client.
func (c *conn) take(chunk []byte) {
	if c.late > 0 {
		c.takeLate(chunk)
		return
	}
	for at := time.Now(); len(chunk) > 0 && !c.mute.Load(); {
		c.forward(c.cut(&c.up.lane, c.up.feed, chunk, at))
		rest := c.up.left
		switch {
		case c.mute.Load():
		case c.up.state == stateOwn:
			c.mute.Store(true)
			c.sendOwn(c.up.refused)
		case len(rest) > 0:
			<-c.up.ex.decided
			c.up.resume()
		}
		chunk = rest
	}
}

// takeLate records the rest of a request that got a 502. Many clients send a body after its
// head, and some never do: the response does not wait for it.
func (c *conn) takeLate(chunk []byte) {
	c.late = max(0, c.late-len(chunk))
	if c.late > 0 {
		c.cut(&c.up.lane, c.up.feed, chunk, time.Now())
	}
	switch {
	case c.late > 0 && c.up.state == stateBody:
		return
	case c.up.state == stateBody:
		c.up.ex.up.note(restNotRecorded)
	}
	c.late = 0
	c.up.giveUp()
}

const restNotRecorded = "the rest of the request was not recorded"

// forward writes to the server, which it dials first if necessary.
func (c *conn) forward(out []byte) {
	if len(out) == 0 || c.mute.Load() || !c.dialed && !c.reach() {
		return
	}
	c.toServer.Lock()
	defer c.toServer.Unlock()
	if _, err := c.server.Write(out); err != nil {
		// The server cannot be written to. Its last bytes must still be
		// read, and how it ended.
		how, _ := ended(err)
		c.lost(byServer, how)
		c.reset.Store(errors.Is(err, syscall.ECONNRESET))
		c.mute.Store(true)
		if c.relayed.Load() {
			c.client.abort() // the only way left to inform the client
		}
	}
}

// wasReset reports whether the server reset the connection although a read returned a proper
// end. The kernel reports a reset once: if a write was waiting, to that write, which then returns.
func (c *conn) wasReset() bool {
	for range 20 {
		if c.toServer.TryLock() {
			c.toServer.Unlock()
			break
		}
		time.Sleep(time.Millisecond) // after a proper end, the write may wait forever
	}
	return c.reset.Load()
}

// reach dials the server and starts its lane. At that time a request has been read
// as far as possible, so that there can be a response to a failure.
func (c *conn) reach() bool {
	server, err := c.dial(c.ctx)
	if err != nil {
		c.mute.Store(true)
		c.unreachable(err)
		return false
	}
	c.stopping.Lock()
	c.server, c.dialed = server, true
	if c.stopped {
		c.server.abort()
	}
	c.stopping.Unlock()
	go c.serveDown()
	return true
}

// unreachable sends the response for a server that cannot be reached.
func (c *conn) unreachable(err error) {
	why := "the server at " + c.hosts.upstream.String() + " could not be reached: " + err.Error()
	c.lost(byTap, why)
	first := c.first()
	if first != nil && first == c.up.ex && c.up.state == stateBody {
		c.late = maxAfter
	} else {
		c.up.giveUp()
	}
	if first == nil || first.method == "" {
		c.client.abort() // it would not understand a response
		return
	}
	c.setOwn(first, refusef(502, "%s", why))
	c.sendOwn(first)
}

// sendOwn sends the response of the tap to an exchange if it is its turn. If not,
// the server lane does so later. If the server has begun to respond,
// the connection is aborted.
func (c *conn) sendOwn(ex *exchange) {
	c.toClient.Lock()
	defer c.toClient.Unlock()
	c.mu.Lock()
	late := ex.answering || ex.down.over
	c.mu.Unlock()
	if !late {
		c.answerPending()
		return
	}
	c.lost(byTap, ex.why)
	c.silent = true
	c.client.abort()
	if c.dialed {
		c.server.abort()
	}
}

// answerPending sends the response of the tap if it is its turn. The caller must hold
// toClient.
func (c *conn) answerPending() {
	ex := c.pending()
	if ex == nil || c.silent {
		return
	}
	c.silent = true
	c.lost(byTap, ex.why)
	_, _ = c.client.Write(c.answer(ex))
	c.client.closeWrite(true)
	c.client.expire(linger)
	if c.dialed {
		c.server.abort()
	}
}

// clientEnded forwards the end of the client's bytes.
func (c *conn) clientEnded(err error) {
	if c.late > 0 && c.late < maxAfter && errors.Is(err, os.ErrDeadlineExceeded) { // see linger
		c.up.ex.up.note(restNotRecorded)
	}
	how, broken := ended(err)
	c.lost(byClient, how)
	if !broken {
		c.hangUp()
	}
	c.forward(c.endUp())
	switch {
	case !c.dialed:
	case broken:
		c.abort(&c.server)
	default:
		c.server.closeWrite(errors.Is(err, io.EOF))
	}
}

// serveDown forwards from the server until its end.
func (c *conn) serveDown() {
	defer close(c.downDone)
	debug.SetPanicOnFault(true)
	buf := make([]byte, smallRead)
	for {
		n, err := c.server.Read(buf)
		if n > 0 {
			if !c.give(buf[:n]) {
				return
			}
			buf = grown(buf, n)
		}
		if err != nil {
			c.serverEnded(err)
			return
		}
	}
}

// give forwards a chunk from the server, and reports whether the client accepted it.
func (c *conn) give(chunk []byte) bool {
	c.toClient.Lock()
	defer c.toClient.Unlock()
	if c.silent {
		return true
	}
	out := c.cut(&c.down.lane, c.down.feed, chunk, time.Now())
	if len(out) > 0 {
		if _, err := c.client.Write(out); err != nil {
			how, _ := ended(err)
			c.lost(byClient, how)
			c.endDown(false)
			c.server.abort()
			c.client.abort()
			return false
		}
	}
	c.answerPending()
	return true
}

// serverEnded forwards the end of the server's bytes, so that the client sees the same: a
// proper end, also within a message, one without the closing alert of TLS, or a reset.
func (c *conn) serverEnded(err error) {
	how, broken := ended(err)
	broken = broken || c.wasReset()
	c.lost(byServer, how)
	c.toClient.Lock()
	defer c.toClient.Unlock()
	clean := errors.Is(err, io.EOF) && !broken
	// A body that ends with the connection looks complete unless the connection is reset.
	broken = broken || !clean && c.down.endless()
	out := c.endDown(clean)
	if c.silent {
		return
	}
	if len(out) > 0 {
		_, _ = c.client.Write(out)
	}
	if broken {
		c.abort(&c.client)
		return
	}
	c.client.closeWrite(clean)
	c.relayed.Store(true)
	if c.mute.Load() {
		c.client.expire(linger)
	}
}

// abort aborts one side because of the end of the other. If the tap was stopped, [conn.stop] ends both.
func (c *conn) abort(w *wire) {
	c.stopping.Lock()
	defer c.stopping.Unlock()
	if !c.stopped {
		w.abort()
	}
}

// stop ends the connection because the tap is closed.
func (c *conn) stop() {
	c.lost(byTap, "the tap was stopped")
	open := c.first() != nil
	c.stopping.Lock()
	defer c.stopping.Unlock()
	c.stopped = true
	for _, w := range []wire{c.client, c.server} {
		switch {
		case w.socket == nil:
		case open:
			w.abort()
		default:
			w.finish()
		}
	}
}
