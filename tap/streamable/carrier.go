package streamable

// A carrier holds what one lane forwards of the chunk that is being cut. The
// cutter goes through the chunk from its start and says of each part whether it
// passes as it is or is held back; what was held is later released, as it was
// or with other bytes in its place. Whatever happens, the bytes that have not
// been replaced come out in their order.
//
// While nothing is held or replaced, what is forwarded is the chunk itself and
// nothing is copied.
type carrier struct {
	chunk []byte
	done  int // what the cutter has gone through
	// chunk[from:to] passes, behind out.
	from, to int
	out      []byte
	held     []byte
}

// roomy is how many bytes of memory a carrier keeps for its next chunk.
const roomy = 16 << 10

func (c *carrier) begin(chunk []byte) {
	c.chunk, c.done, c.from, c.to = chunk, 0, 0, 0
	if cap(c.out) > roomy {
		c.out = nil
	}
	c.out = c.out[:0]
}

// left is what the cutter has not gone through.
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

// hold keeps the next n bytes back.
func (c *carrier) hold(n int) {
	c.held = append(c.held, c.chunk[c.done:c.done+n]...)
	c.done += n
}

// release forwards what was held.
func (c *carrier) release() { c.releaseAs(c.held) }

// releaseAs forwards b in the place of what was held.
func (c *carrier) releaseAs(b []byte) {
	c.settle()
	c.out = append(c.out, b...)
	if c.held = c.held[:0]; cap(c.held) > roomy {
		c.held = nil
	}
}

// drop forgets the rest of the chunk and what was held.
func (c *carrier) drop() {
	c.done = len(c.chunk)
	c.held = nil
}

// passAll forwards everything that has not been forwarded yet.
func (c *carrier) passAll() {
	if len(c.held) > 0 {
		c.release()
	}
	c.pass(len(c.left()))
}

// settle copies what passes, so that something else can follow it.
func (c *carrier) settle() {
	c.out = append(c.out, c.chunk[c.from:c.to]...)
	c.from, c.to = c.done, c.done
}

// finish returns what is to be forwarded. It is valid until the next begin.
func (c *carrier) finish() []byte {
	if len(c.out) == 0 {
		return c.chunk[c.from:c.to]
	}
	c.settle()
	return c.out
}
