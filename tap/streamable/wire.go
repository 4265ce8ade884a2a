package streamable

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// A wire is one end of a connection: what is read and written, and the socket
// under it.
type wire struct {
	net.Conn
	socket net.Conn // the same, or what TLS runs over
	// under is what TLS reads from; nil without TLS.
	under *watched
}

// A watched connection knows whether its end was read.
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

// wrapped returns the wire with TLS on it. side makes one of its two
// sides.
func (w wire) wrapped(side func(net.Conn, *tls.Config) *tls.Conn, conf *tls.Config) wire {
	under := &watched{Conn: w.Conn}
	return wire{Conn: side(under, conf), socket: w.socket, under: under}
}

// Read implements [net.Conn]. The end of the connection is [io.EOF] only where
// the other side said so: package tls lets it pass that the alert is missing.
func (w wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if w.under != nil && w.under.ended && errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// handshake does that of TLS.
func (w wire) handshake(ctx context.Context) error {
	return w.Conn.(*tls.Conn).HandshakeContext(ctx)
}

// closeWrite says that nothing more will be written. Where clean is unset the
// other side must be able to tell that it is not the proper end: over TLS that
// is left out which would say so.
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

// abort closes the connection so that the other side sees it broken off.
func (w wire) abort() {
	if t, ok := w.socket.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = w.socket.Close()
}

// finish closes a connection both of whose directions are over.
func (w wire) finish() { _ = w.socket.Close() }

// expire makes reads fail after a while.
func (w wire) expire(after time.Duration) { _ = w.socket.SetReadDeadline(time.Now().Add(after)) }

// hungUp is how a connection ends properly.
const hungUp = "hung up"

// ended says how a read or a write ended, and whether the connection is broken
// off with it.
func ended(err error) (how string, broken bool) {
	switch {
	case errors.Is(err, io.EOF):
		return hungUp, false
	case errors.Is(err, io.ErrUnexpectedEOF): // TLS without its end
		return "hung up unannounced", false
	case isReset(err):
		return "reset the connection", true
	}
	return "was lost (" + err.Error() + ")", true
}

// The sizes of reads. Most connections rest most of the time, so they begin
// with little memory; one that fills it gets more.
const (
	smallRead = 8 << 10
	largeRead = 64 << 10
	// calm is after how many reads that would have fit a small buffer the large
	// one is given back.
	calm = 16
)

var (
	smallRooms = sync.Pool{New: func() any { b := make([]byte, smallRead); return &b }}
	largeRooms = sync.Pool{New: func() any { b := make([]byte, largeRead); return &b }}
)

// A room is the memory that one direction reads into.
type room struct {
	buf   *[]byte
	large bool
	small int // reads in a row that were small
}

// read brings what there is, into memory that is valid until the next read.
func (r *room) read(src io.Reader) ([]byte, error) {
	if r.buf == nil {
		r.buf = smallRooms.Get().(*[]byte)
	}
	n, err := src.Read(*r.buf)
	return (*r.buf)[:n], err
}

// adapt chooses the memory for the next read after one of n bytes. What was
// read is over.
func (r *room) adapt(n int) {
	switch {
	case !r.large && n == smallRead:
		r.free()
		r.buf, r.large = largeRooms.Get().(*[]byte), true
	case r.large && n > smallRead:
		r.small = 0
	case r.large:
		if r.small++; r.small >= calm {
			r.free()
		}
	}
}

// free gives the memory back.
func (r *room) free() {
	if r.buf == nil {
		return
	}
	if r.large {
		largeRooms.Put(r.buf)
	} else {
		smallRooms.Put(r.buf)
	}
	*r = room{}
}
