package mock

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxInMemory is up to how many bytes of payloads do not touch the disk.
const maxInMemory = 4 << 20

// A spool keeps the payloads of a recording: the first of them in memory, the others in a
// file without a name. Nothing is read before everything has been written.
type spool struct {
	memory  []byte
	file    *os.File
	written *bufio.Writer // to the file
}

func newSpool() *spool { return &spool{} }

// Write implements [io.Writer].
func (s *spool) Write(p []byte) (int, error) {
	n := min(len(p), maxInMemory-len(s.memory))
	s.memory = append(s.memory, p[:n]...)
	if n == len(p) {
		return n, nil
	}
	if s.file == nil {
		f, err := os.CreateTemp("", "mcptap-mock-*")
		if err != nil {
			return n, fmt.Errorf("make room for the recording's payloads: %w", err)
		}
		_ = os.Remove(f.Name()) // where the system allows it, it has no name from the start
		s.file, s.written = f, bufio.NewWriterSize(f, 256<<10)
	}
	m, err := s.written.Write(p[n:])
	return n + m, err
}

// full is called when all has been written.
func (s *spool) full() error {
	if s.file == nil {
		return nil
	}
	return s.written.Flush()
}

// ReadAt implements [io.ReaderAt].
func (s *spool) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errors.New("negative offset")
	}
	size := int64(len(s.memory))
	if off < size {
		n = copy(p, s.memory[off:])
	}
	switch {
	case n == len(p):
		return n, nil
	case s.file == nil:
		return n, io.EOF
	}
	m, err := s.file.ReadAt(p[n:], off+int64(n)-size)
	return n + m, err
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
