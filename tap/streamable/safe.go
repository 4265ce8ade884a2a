package streamable

import (
	"fmt"
	"time"
)

// A cutter that panics must not stop the traffic. The lane then continues blind:
// its bytes are forwarded without being recorded.

// cutUp is like [upLane.feed] but forwards the bytes after a panic.
func (c *conn) cutUp(chunk []byte, at time.Time) (out, rest []byte) {
	if c.blindUp {
		return chunk, nil
	}
	defer func() {
		if v := recover(); v != nil {
			c.blindUp = true
			c.up.passAll()
			out, rest = c.up.finish(), nil
			c.failed(v)
		}
	}()
	return c.up.feed(chunk, at)
}

// cutDown is like [downLane.feed] but forwards the bytes after a panic.
func (c *conn) cutDown(chunk []byte, at time.Time) (out []byte) {
	if c.blindDown {
		return chunk
	}
	defer func() {
		if v := recover(); v != nil {
			c.blindDown = true
			c.down.passAll()
			out = c.down.finish()
			c.failed(v)
			c.letGo()
		}
	}()
	return c.down.feed(chunk, at)
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
func (c *conn) endUp() (out []byte) {
	defer func() {
		if v := recover(); v != nil {
			c.failed(v)
		}
		if ex := c.up.ex; ex != nil {
			c.requestOver(ex, false)
		}
	}()
	if c.blindUp {
		c.up.sink.close(false)
		return nil
	}
	return c.up.end()
}

// endDown ends the server lane and returns the remaining bytes to forward.
func (c *conn) endDown(clean bool) (out []byte) {
	defer func() {
		if v := recover(); v != nil {
			c.failed(v)
		}
		c.responsesOver()
	}()
	if c.blindDown {
		c.down.sink.close(false)
		return nil
	}
	return c.down.end(clean)
}

// failed reports the failure of a cutter.
func (c *conn) failed(reason any) {
	c.warned.Do(func() {
		if c.warn == nil {
			return
		}
		c.warn(fmt.Sprintf("a connection could not be read any more, its traffic goes on: %v", reason))
	})
	if ex := c.first(); ex != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if ex.why == "" {
			ex.by, ex.why = byTap, fmt.Sprintf("the rest was not recorded, since the tap failed to read it: %v", reason)
		}
	}
}
