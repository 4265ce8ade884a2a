package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync/atomic"

	"github.com/mcptap/mcptap/tap"
)

// Config describes what to run.
type Config struct {
	// Command is the argv of the server. Command[0] is looked up in PATH as execvp
	// does, and passed to the server unchanged.
	Command []string
	// Recorder records the traffic. If it is nil, nothing is recorded.
	Recorder tap.Recorder
	// Open, if set, returns the recorder in place of Recorder. It is called once the
	// server is running, so that both start in parallel, or with pid 0 if the server
	// could not be started. No byte is read from either side before it returns.
	Open func(pid int) tap.Recorder
	// Started, if set, is called once the server is running and signals to the tap
	// are forwarded to it, before the first byte is forwarded.
	Started func(pid int)
	// Warn, if set, is called at most once, with a message for the user, if the
	// recorder failed. Forwarding continues without it.
	Warn func(msg string)
}

// exitOwnFailure is the status for a failure of the tap itself, as for env(1). [Run]
// returns it with an error.
const exitOwnFailure = 125

// Statuses of a command that could not be started, as for env(1) and the shell.
const (
	exitCannotExec = 126
	exitNotFound   = 127
)

var errNoCommand = errors.New("no server command was given")

// recorder returns the recorder with its guard, after the attempt to start the server.
func (c *Config) recorder(pid int) (r tap.Recorder) {
	if c.Open == nil {
		return tap.Guard(c.Recorder, c.Warn)
	}
	defer func() {
		if v := recover(); v != nil {
			if r = tap.Guard(nil, nil); c.Warn != nil {
				c.Warn(fmt.Sprintf("recording stopped, traffic continues: %v", v))
			}
		}
	}()
	return tap.Guard(c.Open(pid), c.Warn)
}

// started returns the recorder of a server that is running.
func (c *Config) started(pid int) tap.Recorder {
	rec := c.recorder(pid)
	dir, _ := os.Getwd()
	rec.Event(0, tap.Event{Name: tap.EventStart, Transport: "stdio", Command: c.Command, Dir: dir, PID: pid})
	return rec
}

// spawnFailed records that there is no server.
func (c *Config) spawnFailed(err *spawnError) (int, error) {
	code := err.code()
	c.recorder(0).Event(0, tap.Event{Name: tap.EventSpawnFailed, Transport: "stdio", Command: c.Command, Code: &code, Error: err.Err.Error()})
	return code, err
}

// A spawnError is the error for a server that could not be started. Its code is the
// status that env(1) returns.
type spawnError struct {
	Name string
	Err  error
}

func (e *spawnError) Error() string { return fmt.Sprintf("cannot start %q: %v", e.Name, e.Err) }
func (e *spawnError) Unwrap() error { return e.Err }

// A Process is a server whose three pipes are used directly, without a tap. Make one
// with [Start].
type Process struct {
	// Stdin, Stdout and Stderr are our ends of its pipes. The caller closes them.
	Stdin          *os.File
	Stdout, Stderr *os.File

	pid    int
	ended  chan struct{}
	code   int
	signal string
}

// PID returns the server's process id.
func (p *Process) PID() int { return p.pid }

// Ended returns a channel that is closed when the server has ended. Other processes may
// still hold its pipes.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Status returns how the server ended: its exit status, or 128+n and the name of the
// signal n. It is valid once Ended is closed.
func (p *Process) Status() (code int, signal string) { return p.code, p.signal }

// readBytes is the size of a pump's reads: as much as a pipe holds.
const readBytes = 64 << 10

// The states of a pump.
const (
	stateRecording int32 = iota // inside the recorder, or between two states
	stateReading                // waiting for its source
	stateWriting                // waiting for its receiver
	stateDone
)

// A pump forwards one lane. It is one goroutine, and its reads and writes block in the
// kernel.
type pump struct {
	lane tap.Lane
	src  io.Reader
	dst  io.Writer
	rec  tap.Recorder
	// over is set at the end of the run. The recorder must not be used after that, so
	// what is read later is neither recorded nor forwarded.
	over *atomic.Bool
	// atEOF passes the end of src on to dst, atBroken the loss of dst back to src. At
	// most one of them is called, once.
	atEOF, atBroken func()

	state atomic.Int32
	reads atomic.Int64 // number of reads, to see whether there is progress
}

func (p *pump) run() {
	defer p.state.Store(stateDone)
	// The recorder's memory may be mapped from a file. A page fault in it must end the
	// recording and not the program.
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
func (p *pump) finished() bool { return p.state.Load() == stateDone }

// end passes on the end of the source. It is recorded first, since the peer may react
// to it.
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
	p.rec.Event(0, tap.Event{Name: tap.EventBroken, Lane: p.lane.String(), Bytes: uint64(lost), Error: err.Error()})
	p.atBroken()
}
