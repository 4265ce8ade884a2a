package view

import (
	"sort"

	"github.com/mcptap/mcptap/tap"
)

// recentFrames is how many frames a [Recent] holds at most.
const recentFrames = 1 << 16

// Recent holds the frames that were seen last, up to a number of bytes, for
// whoever wants to look at one again. Frames must come in order.
type Recent struct {
	limit  int
	frames []tap.Frame
	head   int
	bytes  int
}

// NewRecent makes a Recent that holds at most so many bytes of frames.
func NewRecent(limit int) *Recent { return &Recent{limit: limit} }

// Add takes the next frame.
func (c *Recent) Add(f *tap.Frame) {
	c.frames = append(c.frames, *f)
	c.bytes += len(f.Raw)
	for c.bytes > c.limit || len(c.frames)-c.head > recentFrames {
		c.bytes -= len(c.frames[c.head].Raw)
		c.frames[c.head] = tap.Frame{}
		c.head++
	}
	if c.head > 1024 && c.head > len(c.frames)/2 {
		n := copy(c.frames, c.frames[c.head:])
		clear(c.frames[n:])
		c.frames, c.head = c.frames[:n], 0
	}
}

// Get returns a frame by its number, if it is still there.
func (c *Recent) Get(seq uint64) (tap.Frame, bool) {
	held := c.frames[c.head:]
	i := sort.Search(len(held), func(i int) bool { return held[i].Seq >= seq })
	if i == len(held) || held[i].Seq != seq {
		return tap.Frame{}, false
	}
	return held[i], true
}
