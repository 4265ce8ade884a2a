package mock

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/mcptap/mcptap/replay"
)

// Stdio plays a script to one client. It reads client messages from in, one per line, and writes
// server messages to out. It returns the session when the session is over: when the client has
// closed in and everything is written, when the client has closed out, when the server leaves as
// recorded, or when the context ends, with the error of the context. A read from in may still be
// pending then and, if the context ended, a write to out.
//
// If note is not nil, it is called for each note, in order and never concurrently. It must not
// block.
func Stdio(ctx context.Context, script *replay.Script, in io.Reader, out io.Writer, note func(replay.Note)) (*replay.Session, error) {
	return (*Live)(nil).Stdio(ctx, script, in, out, note)
}

// Stdio is like the function [Stdio] but forwards requests that are not recorded to the live server.
// After the client has ended the session, it waits up to Patience for responses that the live
// server owes.
func (l *Live) Stdio(ctx context.Context, script *replay.Script, in io.Reader, out io.Writer, note func(replay.Note)) (*replay.Session, error) {
	if note == nil {
		note = func(replay.Note) {}
	}
	over := make(chan struct{})
	c := converse(script, l, note)
	c.duplex, c.out, c.done = c.stream(formText), &lineWriter{out: out}, func() { close(over) }
	go c.serve(in)
	select {
	case <-over:
	case <-ctx.Done():
		c.mu.Lock()
		if !c.over {
			c.failed = ctx.Err()
			c.finish(true)
		}
		c.mu.Unlock()
	}
	return c.play, c.failed
}

// serve reads and handles the client's lines.
func (c *conversation) serve(in io.Reader) {
	c.act(func() { c.play.Attach(c.now(), c.duplex.id, replay.Duplex) })
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r)
		over := c.act(func() {
			if len(line) > 0 {
				c.accept(replay.Input{Stream: c.duplex.id, Raw: line})
			}
			switch {
			case err == io.EOF:
				c.leave()
			case err != nil:
				c.failed = fmt.Errorf("read from the client: %w", err)
				c.finish(true)
			}
		})
		if err != nil || over {
			return
		}
	}
}

// readLine reads a line, which is valid until the next call. A line may be at most maxMessage
// bytes long.
func readLine(r *bufio.Reader) (line []byte, err error) {
	part, err := r.ReadSlice('\n')
	for err == bufio.ErrBufferFull {
		if line = append(line, part...); len(line) > maxMessage {
			return nil, fmt.Errorf("a line of more than %d MiB", maxMessage>>20)
		}
		part, err = r.ReadSlice('\n')
	}
	if line == nil {
		return part, err
	}
	return append(line, part...), err
}

// A lineWriter writes messages as lines. It is guarded by the turn of its conversation.
type lineWriter struct {
	out  io.Writer
	open bool // the last line has no terminator, as recorded
}

// write writes one message on stdio. The caller holds both locks.
func (c *conversation) write(out replay.Output) {
	w, line := c.out, out.Raw
	if !out.Line {
		line = asLine(line)
	}
	if len(line) == 0 {
		return
	}
	if w.open {
		line = append([]byte{'\n'}, line...)
	}
	w.open = line[len(line)-1] != '\n'
	c.mu.Unlock()
	_, err := w.out.Write(line)
	c.mu.Lock()
	if err == nil || c.over {
		return
	}
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, io.ErrClosedPipe) { // otherwise the client is gone
		c.failed = fmt.Errorf("write to the client: %w", err)
	}
	c.finish(true)
}

// asLine returns a message as a line, with line breaks replaced by spaces. It returns nil for an
// empty message.
func asLine(message []byte) []byte {
	line := oneLine(message)
	if len(line) == 0 {
		return nil
	}
	return append(line, '\n')
}

// oneLine returns a copy of a message without line breaks.
func oneLine(message []byte) []byte {
	line := bytes.Clone(bytes.Trim(message, " \t\r\n"))
	for i, c := range line {
		if c == '\n' || c == '\r' {
			line[i] = ' '
		}
	}
	return line
}
