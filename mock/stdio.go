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

// Stdio plays a script to one client: it reads the client's messages from in, a
// line each, and writes the server's to out. It returns when the client has ended
// its lane and all is said, when the server leaves as it did in the recording, or
// when the context ends, whose error it returns then. A client that has closed its end
// of out has ended too. Reading may still wait for a line when Stdio has returned, and,
// if that was for the context, writing for a client that does not read.
//
// Note gets what there is to say, in order, and must not block; it is never called
// by two goroutines at once. It may be nil.
//
// It returns the session, which is over.
func Stdio(ctx context.Context, script *replay.Script, in io.Reader, out io.Writer, note func(replay.Note)) (*replay.Session, error) {
	return (*Live)(nil).Stdio(ctx, script, in, out, note)
}

// Stdio plays a script as the function Stdio does, and asks the live server for what is
// not in it. When the client has ended and the live server owes answers, it is given
// Patience for them.
func (l *Live) Stdio(ctx context.Context, script *replay.Script, in io.Reader, out io.Writer, note func(replay.Note)) (*replay.Session, error) {
	if note == nil {
		note = func(replay.Note) {}
	}
	over := make(chan struct{})
	c := converse(script, l, note)
	c.duplex, c.lines, c.done = c.stream(formText), &lineWriter{out: out}, func() { close(over) }
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

// serve says what the server said first, and takes the client's lines.
func (c *conversation) serve(in io.Reader) {
	c.act(func() { c.play.Attach(c.now(), c.duplex.id, replay.Duplex) })
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r)
		over := c.act(func() {
			if len(line) > 0 {
				c.hear(replay.Input{Stream: c.duplex.id, Raw: line})
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

// readLine reads a line, which is valid until the next. The error is that of the reader, or
// that the line has no end.
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

// A lineWriter writes messages as lines. What has the turn of its conversation uses it.
type lineWriter struct {
	out io.Writer
	buf []byte
	// open says that the last line has no end, as it had none in the recording.
	open bool
}

// write writes one message on stdio. The caller holds both locks.
func (c *conversation) write(out replay.Output) {
	w, line := c.lines, out.Raw
	if !out.Line {
		w.buf = appendLine(w.buf[:0], line)
		line = w.buf
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
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, io.ErrClosedPipe) { // else the client is gone
		c.failed = fmt.Errorf("write to the client: %w", err)
	}
	c.finish(true)
}

// appendLine makes a line of a message from another transport, where line ends may
// stand between the values.
func appendLine(dst, message []byte) []byte {
	message = bytes.Trim(message, " \t\r\n")
	if len(message) == 0 {
		return dst
	}
	from := len(dst)
	dst = append(dst, message...)
	for i, c := range dst[from:] {
		if c == '\n' || c == '\r' {
			dst[from+i] = ' '
		}
	}
	return append(dst, '\n')
}
