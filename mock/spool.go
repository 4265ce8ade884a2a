package mock

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// memory is how much of a spool is held in memory, in chunks of chunkSize. A small
// recording never touches the disk; a large one must not be in memory in full.
const (
	memory    = 16 << 20
	chunkSize = 256 << 10
)

// A spool keeps the payloads of a script: the first of them in memory, the others
// in a file that nobody else sees.
type spool struct {
	chunks [][]byte // all but the last are full
	held   int      // how much is in them
	limit  int
	file   *os.File
	w      *bufio.Writer
}

// Write implements [io.Writer].
func (s *spool) Write(p []byte) (int, error) {
	if s.file == nil && s.held+len(p) <= s.limit {
		s.hold(p)
		return len(p), nil
	}
	if s.file == nil {
		if err := s.open(); err != nil {
			return 0, err
		}
	}
	return s.w.Write(p)
}

// hold keeps bytes in memory.
func (s *spool) hold(p []byte) {
	s.held += len(p)
	for len(p) > 0 {
		last := len(s.chunks) - 1
		if last < 0 || len(s.chunks[last]) == chunkSize {
			s.chunks = append(s.chunks, make([]byte, 0, chunkSize))
			last++
		}
		n := min(len(p), chunkSize-len(s.chunks[last]))
		s.chunks[last] = append(s.chunks[last], p[:n]...)
		p = p[n:]
	}
}

// open makes the file. Where the system allows it, it has no name from the start,
// and is gone whatever becomes of the process.
func (s *spool) open() error {
	f, err := os.CreateTemp("", "mcptap-mock-*")
	if err != nil {
		return fmt.Errorf("make room for the recording's payloads: %w", err)
	}
	_ = os.Remove(f.Name())
	s.file, s.w = f, bufio.NewWriterSize(f, 1<<20)
	return nil
}

// flush ends the writing.
func (s *spool) flush() error {
	if s.file == nil {
		return nil
	}
	return s.w.Flush()
}

// ReadAt implements [io.ReaderAt].
func (s *spool) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errors.New("negative offset")
	}
	for n < len(p) && off < int64(s.held) {
		m := copy(p[n:], s.chunks[off/chunkSize][off%chunkSize:])
		n, off = n+m, off+int64(m)
	}
	if n == len(p) {
		return n, nil
	}
	if s.file == nil {
		return n, io.EOF
	}
	m, err := s.file.ReadAt(p[n:], off-int64(s.held))
	return n + m, err
}

// Close removes the file.
func (s *spool) Close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	_ = os.Remove(s.file.Name()) // where it could not be removed while it was open
	return err
}
