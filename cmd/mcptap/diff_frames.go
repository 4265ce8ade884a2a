package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// A frameCache returns frames of a recording again that were read before. They
// are asked for nearly in order, and opening the file for each would take most
// of the time.
type frameCache struct {
	from *compared
	// first are the first frames, bytes of them.
	first map[uint64]tap.Frame
	bytes int64
	// ahead are those that were read last, from a number on.
	ahead []tap.Frame
	last  uint64 // the last that was asked for
}

// keep remembers a frame, if there is room.
func (c *frameCache) keep(f *tap.Frame) {
	if size := f.Size + frameSize; c.bytes+size <= heldFrames {
		c.bytes += size
		c.first[f.Seq] = *f
	}
}

// get returns a frame.
func (c *frameCache) get(seq uint64) (tap.Frame, error) {
	if f, ok := c.first[seq]; ok {
		return f, nil
	}
	i, ok := slices.BinarySearchFunc(c.ahead, seq, func(f tap.Frame, seq uint64) int { return cmp.Compare(f.Seq, seq) })
	if ok {
		c.last = seq
		return c.ahead[i], nil
	}
	const near = 64 // further on, it is likely that not all between is wanted
	inOrder := seq > c.last && seq-c.last <= near
	c.last = seq
	if inOrder {
		return c.read(seq)
	}
	return c.checked(c.from.frame(seq))
}

// read reads a frame and some of those behind it.
func (c *frameCache) read(seq uint64) (tap.Frame, error) {
	clear(c.ahead)
	c.ahead = c.ahead[:0]
	size := int64(0)
	for f, err := range c.from.frames(seq - 1) {
		if err != nil {
			return c.checked(f, err)
		}
		c.ahead = append(c.ahead, f)
		if size += f.Size + frameSize; size >= framesAhead {
			break
		}
	}
	if len(c.ahead) == 0 || c.ahead[0].Seq != seq {
		return c.checked(c.from.frame(seq))
	}
	return c.ahead[0], nil
}

// checked says of which recording a frame is gone.
func (c *frameCache) checked(f tap.Frame, err error) (tap.Frame, error) {
	if errors.Is(err, store.ErrNoFrame) {
		err = fmt.Errorf("a frame of %s is gone: %w", c.from.path, err)
	}
	return f, err
}
