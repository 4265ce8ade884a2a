package stdio

import (
	"errors"
	"io"
	"runtime/debug"
	"sync/atomic"

	"github.com/mcptap/mcptap/tap"
)

// readBytes is how much a pump reads at once: as much as a pipe holds.
const readBytes = 64 << 10

// What a pump is doing, as the end of the run needs to know it.
const (
	stateRecording int32 = iota // inside the recorder, or between two states
	stateReading                // waiting for its source
	stateWriting                // waiting for its receiver
	stateDone
)

// A pump carries one lane. It is one goroutine, and its reads and writes block
// in the kernel.
type pump struct {
	lane tap.Lane
	src  io.Reader
	dst  io.Writer
	rec  tap.Recorder
	// over is set at the end of the run: from then on the recorder is not
	// ours, so what a read still brings is neither recorded nor forwarded.
	over *atomic.Bool
	// atEOF passes the end of src on to dst. atBroken passes the loss of dst
	// back to src. Each is called at most once, and only one of them.
	atEOF, atBroken func()

	state atomic.Int32
	reads atomic.Int64  // chunks read, to see whether anything moves
	done  chan struct{} // closed when the lane is over
}

// start runs the pump.
func (p *pump) start() {
	p.done = make(chan struct{})
	go p.run()
}

func (p *pump) run() {
	defer close(p.done)
	defer p.state.Store(stateDone)
	// The recorder's memory may be mapped from a file. A page of it that cannot be
	// had is a fault, which must end the recording and not the program.
	debug.SetPanicOnFault(true)
	buf := make([]byte, readBytes)
	for !p.over.Load() {
		p.state.Store(stateReading)
		n, err := p.src.Read(buf)
		p.state.Store(stateRecording)
		p.reads.Add(1)
		if p.over.Load() {
			return
		}
		if err != nil {
			p.end(err)
			return
		}
		p.rec.Chunk(p.lane, buf[:n]) // law 3
		if p.over.Load() {
			return
		}
		p.state.Store(stateWriting)
		written, err := p.dst.Write(buf[:n])
		p.state.Store(stateRecording)
		if p.over.Load() {
			return
		}
		if err != nil {
			p.broken(n-written, err)
			return
		}
	}
}

// finished reports whether the lane is over.
func (p *pump) finished() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// end passes on the end of the source. It is recorded first: what the peer
// does about it comes later.
func (p *pump) end(err error) {
	e := tap.Event{Name: tap.EventEOF, Lane: p.lane.String()}
	if !errors.Is(err, io.EOF) {
		e.Error = err.Error()
	}
	p.rec.Chunk(p.lane, nil)
	p.rec.Event(0, e)
	p.atEOF()
}

// broken passes back that the receiver is gone.
func (p *pump) broken(lost int, err error) {
	p.rec.Chunk(p.lane, nil)
	p.rec.Event(0, tap.Event{Name: tap.EventBroken, Lane: p.lane.String(),
		Bytes: uint64(lost), Error: err.Error()})
	p.atBroken()
}
