package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/stdio"
)

// The times that a server may take to exit after the end of its stdin, and after SIGTERM
// (basic/lifecycle#shutdown).
const (
	graceEOF  = 2 * time.Second
	graceTerm = 2 * time.Second
)

// maxLine is the maximum length of a line. Tests change it.
var maxLine = maxBody

// Stdio returns a connection to a server process, which Open starts. The recorder, which may be
// nil, records the session as a tap does.
func Stdio(command []string, rec tap.Recorder) Conn {
	if rec == nil {
		rec = new(tap.Discard)
	}
	return &process{command: command, rec: rec}
}

// A process is a connection to a process.
type process struct {
	command []string
	rec     tap.Recorder
	server  *stdio.Process
	to      chan<- Event
	ctx     context.Context

	mu      sync.Mutex
	written chan struct{} // closed when the last message has been written
	ended   bool          // nothing more will be sent
	endedAt time.Time
	lanes   sync.WaitGroup
}

func (c *process) Open(ctx context.Context, to chan<- Event) error {
	c.ctx = ctx
	dir, _ := os.Getwd()
	server, err := stdio.Start(c.command)
	if err != nil {
		c.rec.Event(0, tap.Event{Name: tap.EventSpawnFailed, Transport: "stdio", Command: c.command, Error: err.Error()})
		return err
	}
	c.server, c.to = server, to
	c.rec.Event(0, tap.Event{Name: tap.EventStart, Transport: "stdio", Command: c.command, Dir: dir, PID: server.PID()})
	c.written = make(chan struct{})
	close(c.written)
	c.lanes.Add(3)
	go c.read(tap.ToClient, server.Stdout)
	go c.read(tap.Stderr, server.Stderr)
	return nil
}

func (c *process) HangUp(*Outgoing) bool { return false }

func (c *process) Send(m *Outgoing) <-chan error {
	line := m.line
	if line == nil {
		line = asLine(m.raw)
	} else if !bytes.HasSuffix(line, []byte("\n")) {
		line = append(bytes.Clone(line), '\n')
	}
	sent := make(chan error, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		sent <- io.ErrClosedPipe
		return sent
	}
	before, done := c.written, make(chan struct{})
	c.written = done
	go func() {
		<-before
		c.rec.Chunk(tap.ToServer, line) // first (law 3)
		_, err := c.server.Stdin.Write(line)
		sent <- err
		close(done)
	}()
	return sent
}

func (c *process) CloseSend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended, c.endedAt = true, time.Now()
	go func(last <-chan struct{}) {
		defer c.lanes.Done()
		<-last
		c.rec.Chunk(tap.ToServer, nil)
		c.rec.Event(0, tap.Event{Name: tap.EventEOF, Lane: tap.ToServer.String()})
		c.server.Stdin.Close()
	}(c.written)
}

// asLine returns a message as a line. Line breaks in the message become spaces.
func asLine(raw []byte) []byte {
	return []byte(strings.NewReplacer("\n", " ", "\r", " ").Replace(string(raw)) + "\n")
}

// read reads a lane of the server to its end.
func (c *process) read(lane tap.Lane, from *os.File) {
	defer c.lanes.Done()
	defer from.Close()
	var split tap.Splitter
	var line []byte
	var over error
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			c.rec.Chunk(lane, buf[:n])
		}
		for chunk := buf[:n]; lane == tap.ToClient && len(chunk) > 0; {
			k, cut := split.Next(chunk)
			line = append(line, chunk[:k]...)
			chunk = chunk[k:]
			if cut == tap.CutFrame {
				c.message(line)
				line = nil
			}
		}
		if len(line) > maxLine {
			line, over = nil, fmt.Errorf("the server wrote a line of more than %d MiB", maxLine>>20)
			err = over
		}
		if err == nil {
			continue
		}
		e := tap.Event{Name: tap.EventEOF, Lane: lane.String()}
		if !errors.Is(err, io.EOF) {
			e.Error = err.Error()
		}
		c.rec.Chunk(lane, nil)
		c.rec.Event(0, e)
		break
	}
	if lane == tap.ToClient {
		c.message(line)
		if over == nil {
			over = c.why()
		}
		c.to <- Event{Gone: true, Err: over}
	}
}

// message emits a line as a message unless it is blank.
func (c *process) message(line []byte) {
	if len(bytes.TrimSpace(line)) > 0 {
		c.to <- Event{Raw: line}
	}
}

// why returns the reason for the end of the server's stdout.
func (c *process) why() error {
	select {
	case <-c.server.Ended():
		code, signal := c.server.Status()
		if signal != "" {
			return fmt.Errorf("the server was ended by %s", signal)
		}
		return fmt.Errorf("the server ended with status %d", code)
	case <-time.After(graceTerm):
		return errors.New("the server closed its stdout")
	}
}

// Close ends the server as clients do: it closes stdin, then sends SIGTERM, then SIGKILL.
func (c *process) Close() (killed string) {
	if c.server == nil {
		return ""
	}
	c.CloseSend()
	for _, end := range []struct {
		grace time.Duration
		by    func() (string, error)
	}{{graceEOF - time.Since(c.endedAt), c.server.Terminate}, {graceTerm, c.server.Kill}} {
		select {
		case <-c.server.Ended():
			continue
		case <-time.After(end.grace):
		case <-c.ctx.Done():
		}
		if name, _ := end.by(); name != "" {
			killed = name
			c.rec.Event(0, tap.Event{Name: tap.EventSignal, Signal: name})
		}
	}
	<-c.server.Ended()
	c.drain()
	code, signal := c.server.Status()
	c.rec.Event(0, tap.Event{Name: tap.EventExit, Code: &code, Signal: signal})
	return killed
}

// drain waits for the end of the lanes, but not for other processes that keep them open.
func (c *process) drain() {
	done := make(chan struct{})
	go func() { c.lanes.Wait(); close(done) }()
	select {
	case <-done:
		return
	case <-time.After(graceEOF):
	}
	_, _ = c.server.Kill()
	past := time.Now().Add(-time.Second)
	for _, f := range []*os.File{c.server.Stdin, c.server.Stdout, c.server.Stderr} {
		_ = f.SetDeadline(past)
	}
	<-done
}
