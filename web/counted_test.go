package web

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/mcptap/mcptap/tap"
)

// A countedReads counts the frames that its first reader reads.
type countedReads struct {
	memory
	views atomic.Int64
	first atomic.Int64
}

func (c *countedReads) Frames(after uint64) iter.Seq2[tap.Frame, error] {
	mine := c.views.Add(1) == 1
	return func(yield func(tap.Frame, error) bool) {
		for f, err := range c.memory.Frames(after) {
			if mine {
				c.first.Add(1)
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

// A oneReader is a source of one recording.
type oneReader struct{ r FrameReader }

func (o *oneReader) Recordings() ([]Recording, error) { return nil, nil }
func (o *oneReader) Open(string) (Reader, error)      { return Reader{FrameReader: o.r}, nil }
func (o *oneReader) Compare(context.Context, Side, Side) (*Comparison, error) {
	return nil, nil
}
