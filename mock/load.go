package mock

import (
	"fmt"
	"io"
	"iter"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
)

// batchSize is how many frames go from the reading to the making of the script at
// once, and inFlight how many such batches there are at most.
const (
	batchSize = 256
	inFlight  = 8
)

// A Recording is a script with its payloads.
type Recording struct {
	*replay.Script
	spool *spool
}

// Close lets go of the payloads.
func (r *Recording) Close() error { return r.spool.Close() }

// Load makes a script of the frames of one session, whose Raw must be whole. The
// payloads of a large recording go into a temporary file, so that memory is needed
// for an index only. The error is that of the frames, or of the file.
func Load(frames iter.Seq2[tap.Frame, error], opt replay.Options) (*Recording, error) {
	return load(frames, opt, &spool{limit: memory})
}

func load(frames iter.Seq2[tap.Frame, error], opt replay.Options, s *spool) (*Recording, error) {
	b := replay.NewBuilder(opt, s)
	var err error
	for batch := range prepared(frames, b.Preparer()) {
		for i := range batch {
			if err == nil {
				err = batch[i].add(b)
			}
		}
	}
	if err == nil {
		err = s.flush()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return &Recording{b.Script(), s}, nil
}

// A readFrame is a frame with what a Preparer says of it, or the error that ended
// the frames.
type readFrame struct {
	frame    tap.Frame
	prepared replay.Prepared
	err      error
}

func (r *readFrame) add(b *replay.Builder) error {
	if r.err != nil {
		return r.err
	}
	return b.AddPrepared(&r.frame, &r.prepared)
}

// read finds out what a frame says.
func (r *readFrame) read(p *replay.Preparer) {
	f := &r.frame
	switch {
	case r.err != nil:
	case !f.Whole():
		r.err = fmt.Errorf("frame %d: %w", f.Seq, io.ErrUnexpectedEOF)
	case f.Lane == tap.ToServer || f.Lane == tap.ToClient:
		m := tap.PeekFrame(f)
		f.Raw = tap.Payload(f)
		r.prepared = p.Prepare(f, &m)
	}
}

// prepared reads the frames, and what they say, on a goroutine of its own: together
// that takes about as long as the rest of the work.
func prepared(frames iter.Seq2[tap.Frame, error], p *replay.Preparer) <-chan []readFrame {
	to := make(chan []readFrame, inFlight)
	go func() {
		defer close(to)
		batch, size := make([]readFrame, 0, batchSize), 0
		for f, err := range frames {
			r := readFrame{frame: f, err: err}
			r.read(p)
			batch = append(batch, r)
			if size += len(f.Raw); len(batch) == batchSize || size > memory/inFlight || r.err != nil {
				to <- batch
				batch, size = make([]readFrame, 0, batchSize), 0
			}
			if r.err != nil {
				return
			}
		}
		to <- batch
	}()
	return to
}
