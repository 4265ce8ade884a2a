package streamable

import (
	"fmt"
	"time"
)

// A cutter that panics must not stop the traffic. The lane then continues blind:
// its bytes are forwarded without being recorded.

// cut calls feed, which reads a chunk of a lane, but forwards the bytes after a panic.
func (c *conn) cut(l *lane, feed func([]byte, time.Time) []byte, chunk []byte, at time.Time) (out []byte) {
	if l.blind {
		return chunk
	}
	defer func() {
		if v := recover(); v != nil {
			l.blind = true
			l.passAll()
			out = l.out
			c.failed(v)
			if l == &c.down.lane {
				c.letGo()
			}
		}
	}()
	return feed(chunk, at)
}

// letGo releases a client lane that waits for the protocol of the connection after
// the other lane failed. The protocol is then unknown.
func (c *conn) letGo() {
	if ex := c.first(); ex != nil && ex.decided != nil {
		ex.tunnel = true
		c.decide(ex)
	}
}

// endUp ends the client lane and returns the remaining bytes to forward.
func (c *conn) endUp() []byte {
	defer func() {
		if ex := c.up.ex; ex != nil {
			c.requestOver(ex, false)
		}
	}()
	defer c.catch()
	if c.up.blind {
		c.up.sink.close(false)
		return nil
	}
	return c.up.end()
}

// endDown ends the server lane and returns the remaining bytes to forward.
func (c *conn) endDown(clean bool) []byte {
	defer c.responsesOver()
	defer c.catch()
	if c.down.blind {
		c.down.sink.close(false)
		return nil
	}
	return c.down.end(clean)
}

// catch is deferred around the end of a lane.
func (c *conn) catch() {
	if v := recover(); v != nil {
		c.failed(v)
	}
}

// failed reports the failure of a cutter.
func (c *conn) failed(reason any) {
	c.warned.Do(func() {
		if c.warn == nil {
			return
		}
		c.warn(fmt.Sprintf("a connection can no longer be read, its traffic continues: %v", reason))
	})
	if ex := c.first(); ex != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if ex.why == "" {
			ex.by, ex.why = byTap, fmt.Sprintf("the rest was not recorded, since the tap failed to read it: %v", reason)
		}
	}
}
