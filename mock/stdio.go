package mock

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/mcptap/mcptap/replay"
)

// duplex is the one stream of stdio.
const duplex replay.Stream = 1

// Stdio plays a script to one client: it reads the client's messages from in, a
// line each, and writes the server's to out. It returns when the client has ended
// its lane and all is said, when the server leaves as it did in the recording, or
// when the context ends, whose error it returns then. A client that has closed its end
// of out has ended too. Reading may still wait for a line when Stdio has returned, and,
// if that was for the context, writing for a client that does not read.
//
// Note gets what there is to say, in order, and must not block; it is never called
// by two goroutines at once. Nil is nobody.
//
// It returns the session, which is over.
func Stdio(ctx context.Context, script *replay.Script, in io.Reader, out io.Writer, note func(replay.Note)) (*replay.Session, error) {
	if note == nil {
		note = func(replay.Note) {}
	}
	s := &stdio{session: script.NewSession(), out: out, note: note, began: time.Now(), over: make(chan struct{})}
	s.timer, s.armed = time.AfterFunc(time.Hour, s.tick), true
	defer s.timer.Stop()
	go s.serve(in)
	select {
	case <-s.over:
	case <-ctx.Done():
		s.mu.Lock()
		s.finish(ctx.Err())
		s.mu.Unlock()
	}
	return s.session, s.err
}

// stdio is a session on a pair of pipes. Whoever has something for it, the reader
// or the timer, takes the turn and does all there is to do: handing a message to
// another goroutine would cost more than playing it.
type stdio struct {
	// turn is held by who plays, also while he writes: until a client reads, nothing
	// more is taken from it. What only he needs, buf and open, goes with it.
	turn sync.Mutex
	// mu is held beside it, but not while a message is written, which lasts as long as
	// the client likes: whoever ends the serving has only this one.
	mu      sync.Mutex
	session *replay.Session // nobody's here once it is done
	out     io.Writer
	note    func(replay.Note)
	began   time.Time
	timer   *time.Timer
	armed   bool // the timer is set
	buf     []byte
	// open says that the last line has no end, as it had none in the recording.
	open bool
	done bool
	err  error
	over chan struct{}
}

func (s *stdio) now() time.Duration { return time.Since(s.began) }

// serve says what the server said first, and takes the client's lines.
func (s *stdio) serve(in io.Reader) {
	s.act(func() { s.session.Attach(s.now(), duplex, replay.Duplex) })
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r)
		done := s.act(func() {
			if len(line) > 0 {
				s.session.Receive(s.now(), replay.Input{Stream: duplex, Raw: line})
			}
			if err != nil {
				s.session.End(s.now())
			}
			if err != nil && err != io.EOF {
				s.finish(fmt.Errorf("read from the client: %w", err))
			}
		})
		if err != nil || done {
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

// tick is called when something is due.
func (s *stdio) tick() { s.act(func() {}) }

// act does something when it is its turn, unless the serving is over, and all that
// follows from it. It reports whether the serving is over then.
func (s *stdio) act(do func()) (over bool) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done {
		do()
	}
	s.pump()
	return s.done
}

// pump writes all that is to be written now, and sets the timer to when there will
// be more.
func (s *stdio) pump() {
	for !s.done {
		out, ok, err := s.session.Next(s.now())
		for _, n := range s.session.Notes() {
			s.note(n)
		}
		switch {
		case err != nil:
			s.finish(err)
		case ok && out.Leave:
			s.finish(nil)
		case ok:
			s.write(out)
		case s.session.Done():
			s.finish(nil)
		default:
			s.wait()
			return
		}
	}
}

// wait sets the timer to when something is due. Most of the time nothing is.
func (s *stdio) wait() {
	due, any := s.session.Due()
	switch {
	case any:
		s.timer.Reset(max(0, due-s.now()))
	case s.armed:
		s.timer.Stop()
	}
	s.armed = any
}

// write writes one message as a line.
func (s *stdio) write(out replay.Output) {
	line := out.Raw
	if !out.Line {
		s.buf = appendLine(s.buf[:0], line)
		line = s.buf
	}
	if len(line) == 0 {
		return
	}
	if s.open {
		line = append([]byte{'\n'}, line...)
	}
	s.open = line[len(line)-1] != '\n'
	s.mu.Unlock()
	_, err := s.out.Write(line)
	s.mu.Lock()
	if err != nil {
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
			err = nil // the client is gone
		} else {
			err = fmt.Errorf("write to the client: %w", err)
		}
		s.finish(err)
	}
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

// finish ends the serving.
func (s *stdio) finish(err error) {
	if s.done {
		return
	}
	s.done, s.err = true, err
	close(s.over)
}
