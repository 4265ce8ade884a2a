package replay

import "io"

// A Spool keeps the bytes of messages for a [Script]: what was written, byte for
// byte, at the offset at which it was written. Once the script is made nothing
// more is written, and ReadAt may be called from several goroutines at once.
type Spool interface {
	io.Writer
	io.ReaderAt
}

// Memory is a [Spool] in memory. The zero value is ready.
type Memory struct{ b []byte }

// Write implements [io.Writer]. It never fails.
func (m *Memory) Write(p []byte) (int, error) {
	m.b = append(m.b, p...)
	return len(p), nil
}

// ReadAt implements [io.ReaderAt].
func (m *Memory) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > int64(len(m.b)) {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(p, m.b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// A place is where a message is in the spool.
type place struct {
	off  uint64
	size uint32
}

// part is the place of a part of the message.
func (p place) part(s span) place {
	return place{off: p.off + uint64(s.from), size: uint32(s.to - s.from)}
}

// load reads a message.
func (p place) load(from io.ReaderAt) ([]byte, error) {
	buf := make([]byte, p.size)
	n, err := from.ReadAt(buf, int64(p.off))
	if n == len(buf) {
		err = nil
	}
	return buf, err
}
