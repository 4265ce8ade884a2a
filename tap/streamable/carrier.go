package streamable

// A carrier collects the bytes that a lane forwards of the current chunk. The
// cutter reads the chunk from its start and decides whether each part
// passes unchanged or is held. Held bytes are released later, unchanged
// or replaced. In any case, the bytes that were not
// replaced are forwarded in order.
type carrier struct {
	left []byte // what the cutter has not read
	out  []byte // the bytes to forward, valid as long as the memory of the chunk
	held []byte
}

func (c *carrier) begin(chunk []byte) { c.left, c.out = chunk, nil }

// read returns the next n bytes.
func (c *carrier) read(n int) (p []byte) {
	p, c.left = c.left[:n:n], c.left[n:]
	return p
}

// pass forwards the next n bytes. Nothing may be held. The first ones are not copied.
func (c *carrier) pass(n int) {
	if p := c.read(n); len(c.out) == 0 {
		c.out = p
	} else {
		c.out = append(c.out, p...)
	}
}

// hold holds the next n bytes.
func (c *carrier) hold(n int) { c.held = append(c.held, c.read(n)...) }

// release forwards the held bytes.
func (c *carrier) release() { c.releaseAs(c.held) }

// releaseAs forwards b instead of the held bytes.
func (c *carrier) releaseAs(b []byte) {
	c.out = append(c.out, b...)
	c.held = nil
}

// drop discards the held bytes and the rest of the chunk.
func (c *carrier) drop() { c.left, c.held = nil, nil }

// passAll forwards everything else.
func (c *carrier) passAll() {
	c.release()
	c.pass(len(c.left))
}
