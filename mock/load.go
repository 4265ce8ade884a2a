package mock

import (
	"fmt"
	"io"
	"iter"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A Recording is what can be played of a recording: the scripts of its sessions, with
// their payloads.
type Recording struct {
	// Script is the first session's.
	*replay.Script
	sessions []*played
	site     site
	spool    *spool
	// refuses says that HTTP is to refuse something on purpose.
	refuses bool
}

// A played is a session of a recording.
type played struct {
	*replay.Script
	number int
	conduct
}

// Close lets go of the payloads. No session may be played any more.
func (r *Recording) Close() error {
	return r.spool.Close()
}

// Scripts returns the scripts of the sessions, in the order in which they appeared
// in the recording.
func (r *Recording) Scripts() []*replay.Script {
	var all []*replay.Script
	for _, p := range r.sessions {
		all = append(all, p.Script)
	}
	return all
}

// Only leaves of a recording the session with that number, from 1 in the order in
// which the sessions appeared (see [session.Sessions]). It reports whether there is one
// in which something was said.
func (r *Recording) Only(number int) bool {
	for _, p := range r.sessions {
		if p.number == number {
			r.sessions, r.Script = []*played{p}, p.Script
			return true
		}
	}
	return false
}

// Load makes scripts of the frames of a recording, whose Raw must be whole. The
// payloads of a large one go into a temporary file, so that memory is needed for an
// index only. The error is that of the frames, or of the file.
func Load(frames iter.Seq2[tap.Frame, error], opt replay.Options) (*Recording, error) {
	return load(frames, opt, newSpool(), batchSize)
}

// load is Load with batches of a size.
func load(frames iter.Seq2[tap.Frame, error], opt replay.Options, s *spool, size int) (*Recording, error) {
	first := replay.NewBuilder(opt, s)
	l := newLoader(first, s)
	in := prepare(frames, first.Preparer(), size)
	for batch := range in.batches {
		if err := l.all(batch); err != nil {
			in.end()
			s.Close()
			return nil, err
		}
	}
	r := l.recording()
	for i := range opt.Faults {
		r.refuses = r.refuses || opt.Faults[i].Kind == replay.FaultStatus
	}
	return r, nil
}

// all takes the next frames.
func (l *loader) all(frames []readFrame) error {
	for i := range frames {
		if err := l.add(&frames[i]); err != nil {
			return err
		}
	}
	return nil
}

// A readFrame is a frame with what a Preparer says of it, or the error that ended
// the frames.
type readFrame struct {
	frame    tap.Frame
	payload  []byte
	prepared replay.Prepared
	err      error
}

// read finds out what a frame says.
func (r *readFrame) read(p *replay.Preparer) {
	f := &r.frame
	switch {
	case r.err != nil:
	case !f.Whole():
		r.err = fmt.Errorf("frame %d: %w", f.Seq, io.ErrUnexpectedEOF)
	case f.Lane == tap.ToServer || f.Lane == tap.ToClient:
		m := jsonrpc.PeekFrame(f)
		whole := *f
		whole.Raw = jsonrpc.Payload(f)
		r.payload, r.prepared = whole.Raw, p.Prepare(&whole, &m)
	}
}

// message is what a frame of traffic carries, and nothing for other frames.
func (r *readFrame) message() *jsonrpc.Message {
	if m := r.prepared.Message(); m != nil {
		return m
	}
	return &jsonrpc.Message{}
}

// batchSize is how many frames go from the reading to the making of the script at
// once, inFlight how many such batches there are at most, and batchBytes at about how
// many bytes one is full, however few its frames are.
const (
	batchSize  = 256
	inFlight   = 8
	batchBytes = 2 << 20
)

// A reading is frames that are read, with what they say, on a goroutine of its own:
// together that takes about as long as the rest of the work.
type reading struct {
	size    int // of a batch
	batches chan []readFrame
	stop    chan struct{}
}

func prepare(frames iter.Seq2[tap.Frame, error], p *replay.Preparer, size int) *reading {
	in := &reading{size, make(chan []readFrame, inFlight), make(chan struct{})}
	go in.run(frames, p)
	return in
}

func (in *reading) run(frames iter.Seq2[tap.Frame, error], p *replay.Preparer) {
	defer close(in.batches)
	batch, size := make([]readFrame, 0, in.size), 0
	for f, err := range frames {
		r := readFrame{frame: f, err: err}
		r.read(p)
		batch = append(batch, r)
		if size += len(f.Raw); len(batch) == in.size || size > batchBytes || r.err != nil {
			select {
			case in.batches <- batch:
			case <-in.stop:
				return
			}
			batch, size = make([]readFrame, 0, in.size), 0
		}
		if r.err != nil {
			return
		}
	}
	select {
	case in.batches <- batch:
	case <-in.stop:
	}
}

// end ends the reading, and returns when nothing is being read any more.
func (in *reading) end() {
	close(in.stop)
	for range in.batches {
	}
}
