package mock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
)

// A small recording never touches the disk; of a large one not all must be in memory.
const (
	chunkSize  = 256 << 10
	keptChunks = 16
)

// A spool keeps the payloads of a script, in chunks: the first of them in memory, the
// others in a file that nobody else sees, once they are full. What has been written can
// be read while more is being written.
type spool struct {
	size int // of a chunk
	// kept are the chunks in memory, nil where there is none yet.
	kept [][]byte
	// last is the chunk that is written to, written how much there is in all.
	last    atomic.Pointer[chunk]
	written atomic.Int64
	file    *os.File
}

// A chunk is bytes from an offset on. It is as long as it can become.
type chunk struct {
	from int64
	b    []byte
}

func newSpool() *spool { return &spool{size: chunkSize, kept: make([][]byte, keptChunks)} }

// Write implements [io.Writer].
func (s *spool) Write(p []byte) (n int, err error) {
	at := s.written.Load()
	for n < len(p) {
		c := s.last.Load()
		if c == nil || at == c.from+int64(len(c.b)) {
			if c, err = s.next(c, at); err != nil {
				break
			}
		}
		m := copy(c.b[at-c.from:], p[n:])
		n, at = n+m, at+int64(m)
	}
	s.written.Store(at)
	return n, err
}

// next begins a chunk behind one that is full, nil for none.
func (s *spool) next(full *chunk, at int64) (*chunk, error) {
	if full != nil && s.place(full.from) >= 0 {
		if err := s.store(full); err != nil {
			return nil, err
		}
	}
	c := &chunk{at, make([]byte, s.size)}
	if i := at / int64(s.size); i < int64(len(s.kept)) {
		s.kept[i] = c.b
	}
	s.last.Store(c)
	return c, nil
}

// place is where an offset is in the file, below 0 for what is in memory.
func (s *spool) place(off int64) int64 { return off - int64(len(s.kept)*s.size) }

// store puts a chunk into the file. Where the system allows it, that has no name from
// the start, and is gone whatever becomes of the process.
func (s *spool) store(c *chunk) error {
	if s.file == nil {
		f, err := os.CreateTemp("", "mcptap-mock-*")
		if err != nil {
			return fmt.Errorf("make room for the recording's payloads: %w", err)
		}
		_ = os.Remove(f.Name())
		s.file = f
	}
	_, err := s.file.WriteAt(c.b, s.place(c.from))
	return err
}

// ReadAt implements [io.ReaderAt].
func (s *spool) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errors.New("negative offset")
	}
	end := s.written.Load()
	for n < len(p) && off < end {
		want := p[n:min(int64(len(p)), int64(n)+end-off)]
		m := 0
		if c := s.last.Load(); off >= c.from {
			m = copy(want, c.b[off-c.from:])
		} else if at := s.place(off); at < 0 {
			m = copy(want, s.kept[off/int64(s.size)][off%int64(s.size):])
		} else if m, err = s.file.ReadAt(want[:min(int64(len(want)), c.from-off)], at); err != nil {
			return n + m, err
		}
		n, off = n+m, off+int64(m)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Close removes the file. Nobody may be writing or reading.
func (s *spool) Close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	_ = os.Remove(s.file.Name()) // where it could not be removed while it was open
	return err
}
