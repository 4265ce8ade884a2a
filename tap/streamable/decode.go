package streamable

import (
	"bufio"
	"errors"
	"io"
	"iter"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// A body that decodes to more than bombFree bytes and to more than bombFactor
// times its coded size is not decoded further: JSON does not compress like
// that, and a recording must not fill the disk.
const (
	bombFree   = 8 << 20
	bombFactor = 200
)

// zstdWindow is the maximum window of zstd as a content coding (RFC 9659).
const zstdWindow = 8 << 20

var (
	errBomb     = errors.New("it decodes to too many times its size")
	errTrailing = errors.New("data follows its end")
	errStopped  = errors.New("the decoder was stopped")
)

// decoders are the content codings that are decoded for the recording. Forwarded content
// stays coded.
var decoders = map[string]func(io.Reader) (io.Reader, error){
	"gzip":    func(r io.Reader) (io.Reader, error) { return gzip.NewReader(bufio.NewReader(r)) },
	"br":      func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
	"deflate": openDeflate,
	"zstd": func(r io.Reader) (io.Reader, error) {
		// With a concurrency of one it has no goroutines.
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	},
}

// openDeflate reads the coding deflate: the zlib format (RFC 9110, 8.4.1.2) or, from some
// servers, raw deflate.
func openDeflate(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	start, err := b.Peek(2)
	if err != nil {
		return nil, err
	}
	if start[0]&0x0f == 8 && (int(start[0])<<8|int(start[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}

// A decoder decodes a stream that is written to it in pieces.
// As the libraries read from a reader, the library runs as a coroutine, which runs
// while there is input and is suspended when it needs more. There is
// no concurrency: when write returns, all output of the input has been passed on.
type decoder struct {
	next func() ([]byte, bool)
	stop func()

	in       []byte // unread input
	ended    bool   // there is no more input
	err      error  // the result of decoding, io.EOF at the end of the coding
	consumed uint64
	produced uint64
}

// newDecoder returns a decoder that uses the reader returned by open.
func newDecoder(open func(io.Reader) (io.Reader, error)) *decoder {
	d := new(decoder)
	d.next, d.stop = iter.Pull(func(yield func([]byte) bool) {
		src := &source{d: d, yield: yield}
		r, err := open(src)
		if err != nil {
			d.err = err
			return
		}
		if c, ok := r.(io.Closer); ok {
			defer c.Close()
		}
		buf := make([]byte, 16<<10)
		for {
			n, err := r.Read(buf)
			if n > 0 && !yield(buf[:n]) {
				return
			}
			if err != nil {
				d.err = err
				return
			}
		}
	})
	return d
}

// A source is the reader of a decoder's library.
type source struct {
	d       *decoder
	yield   func([]byte) bool
	stopped bool
}

// Read waits for more input by suspending the coroutine. It must not do so after the
// decoder was stopped.
func (s *source) Read(p []byte) (int, error) {
	for len(s.d.in) == 0 {
		if s.stopped {
			return 0, errStopped
		}
		if s.d.ended {
			return 0, io.EOF
		}
		s.stopped = !s.yield(nil)
	}
	n := copy(p, s.d.in)
	s.d.in = s.d.in[n:]
	return n, nil
}

// ReadByte implements [io.ByteReader], so that a decoder does not read past the end of its
// input.
func (s *source) ReadByte() (byte, error) {
	if len(s.d.in) == 0 {
		if _, err := s.Read(nil); err != nil {
			return 0, err
		}
	}
	b := s.d.in[0]
	s.d.in = s.d.in[1:]
	return b, nil
}

// write decodes p and calls out with the output, which is valid until out returns.
func (d *decoder) write(p []byte, out func([]byte)) error {
	if d.err != nil {
		return errTrailing
	}
	d.in = p
	d.consumed += uint64(len(p))
	for {
		b, ok := d.next()
		switch {
		case !ok && !errors.Is(d.err, io.EOF):
			return d.err
		case !ok && len(d.in) > 0:
			return errTrailing
		case b == nil: // it has ended or needs more input
			return nil
		}
		d.produced += uint64(len(b))
		out(b)
		if d.produced > bombFree && d.produced/bombFactor > d.consumed {
			d.err = errBomb
			return errBomb
		}
	}
}

// finish ends the input and decodes the rest.
func (d *decoder) finish(out func([]byte)) error {
	if d.ended = true; d.err != nil {
		return nil
	}
	return d.write(nil, out)
}

// close frees the decoder. It must not be called from out.
func (d *decoder) close() { d.stop() }
