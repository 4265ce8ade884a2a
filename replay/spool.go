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
func (p place) part(s span) place { return place{p.off + uint64(s.from), uint32(s.to - s.from)} }

// load reads a message into buf, which it returns grown if need be.
func (p place) load(from io.ReaderAt, buf []byte) ([]byte, error) {
	if cap(buf) < int(p.size) {
		buf = make([]byte, p.size)
	}
	buf = buf[:p.size]
	n, err := from.ReadAt(buf, int64(p.off))
	if n == len(buf) {
		err = nil
	}
	return buf, err
}
