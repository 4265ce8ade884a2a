package streamable

// A carrier collects the bytes that a lane forwards of the current chunk. The
// cutter reads the chunk from its start and decides whether each part
// passes unchanged or is held. Held bytes are released later, unchanged
// or replaced. In any case, the bytes that were not
// replaced are forwarded in order.
//
// While nothing is held or replaced, the chunk itself is forwarded and
// nothing is copied.
type carrier struct {
	chunk []byte
	done  int // end of what the cutter has read
	// chunk[from:to] passes, after out.
	from, to int
	out      []byte
	held     []byte
}

func (c *carrier) begin(chunk []byte) {
	c.chunk, c.done, c.from, c.to, c.out = chunk, 0, 0, 0, nil
}

// left returns the bytes that the cutter has not read.
func (c *carrier) left() []byte { return c.chunk[c.done:] }

// pass forwards the next n bytes. Nothing may be held.
func (c *carrier) pass(n int) {
	if c.to != c.done {
		c.settle()
		c.from = c.done
	}
	c.done += n
	c.to = c.done
}

// hold holds the next n bytes.
func (c *carrier) hold(n int) {
	c.held = append(c.held, c.chunk[c.done:c.done+n]...)
	c.done += n
}

// release forwards the held bytes.
func (c *carrier) release() { c.releaseAs(c.held) }

// releaseAs forwards b instead of the held bytes.
func (c *carrier) releaseAs(b []byte) {
	c.settle()
	c.out = append(c.out, b...)
	c.held = nil
}

// drop discards the held bytes and the rest of the chunk.
func (c *carrier) drop() {
	c.done = len(c.chunk)
	c.held = nil
}

// passAll forwards everything else.
func (c *carrier) passAll() {
	if len(c.held) > 0 {
		c.release()
	}
	c.pass(len(c.left()))
}

// settle copies the passed bytes, so that others can follow them.
func (c *carrier) settle() {
	c.out = append(c.out, c.chunk[c.from:c.to]...)
	c.from, c.to = c.done, c.done
}

// finish returns the bytes to forward. They are valid until the next begin.
func (c *carrier) finish() []byte {
	if len(c.out) == 0 {
		return c.chunk[c.from:c.to]
	}
	c.settle()
	return c.out
}
