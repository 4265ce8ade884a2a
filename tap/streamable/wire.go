package streamable

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"
)

// A wire is one end of a connection, and the socket
// under it.
type wire struct {
	net.Conn
	socket net.Conn // the same, or the connection below TLS
	// under is the connection below TLS, nil without TLS.
	under *watched
}

// A watched connection records whether its end was read.
type watched struct {
	net.Conn
	ended bool
}

// Read implements [net.Conn].
func (c *watched) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.ended = c.ended || errors.Is(err, io.EOF)
	return n, err
}

// wrapped returns the wire with TLS. side creates one of its two
// sides.
func (w wire) wrapped(side func(net.Conn, *tls.Config) *tls.Conn, conf *tls.Config) wire {
	under := &watched{Conn: w.Conn}
	return wire{Conn: side(under, conf), socket: w.socket, under: under}
}

// Read implements [net.Conn]. The end of the connection is [io.EOF] only if
// the other side closed it properly: package tls accepts that the alert is missing.
func (w wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if w.under != nil && w.under.ended && errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// handshake does the TLS handshake.
func (w wire) handshake(ctx context.Context) error {
	return w.Conn.(*tls.Conn).HandshakeContext(ctx)
}

// closeWrite closes the connection for writing. If clean is not set, the
// other side must be able to detect that it is not a proper end: with TLS, the closing
// alert is omitted.
func (w wire) closeWrite(clean bool) {
	if t, ok := w.Conn.(*tls.Conn); ok && clean {
		_ = t.CloseWrite()
	}
	if half, ok := w.socket.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = w.socket.Close()
}

// abort closes the connection so that the other side sees that it was aborted.
func (w wire) abort() {
	if t, ok := w.socket.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = w.socket.Close()
}

// finish closes a connection whose two directions have ended.
func (w wire) finish() { _ = w.socket.Close() }

// expire makes reads fail after a time.
func (w wire) expire(after time.Duration) { _ = w.socket.SetReadDeadline(time.Now().Add(after)) }

// hungUp describes a connection that ended properly.
const hungUp = "hung up"

// ended describes how a read or a write ended, and whether the connection was aborted
// with it.
func ended(err error) (how string, broken bool) {
	switch {
	case errors.Is(err, io.EOF):
		return hungUp, false
	case errors.Is(err, io.ErrUnexpectedEOF): // TLS without its closing alert
		return "hung up unannounced", false
	case isReset(err):
		return "reset the connection", true
	}
	return "was lost (" + err.Error() + ")", true
}

// The sizes of reads. Most connections are idle most of the time, so they begin with a
// small buffer.
const (
	smallRead = 8 << 10
	largeRead = 64 << 10
)

// grown returns the buffer for the next read after one of n bytes: a large one, if that
// filled the small one.
func grown(buf []byte, n int) []byte {
	if n == smallRead && len(buf) == smallRead {
		return make([]byte, largeRead)
	}
	return buf
}
