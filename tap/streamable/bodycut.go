package streamable

import (
	"errors"
	"fmt"
	"strings"
)

// A bodyPart is a kind of part of a body.
type bodyPart uint8

const (
	partData    bodyPart = iota // content
	partSize                    // line with the size of a chunk
	partFraming                 // line end of a chunk
	partTrailer                 // trailer fields and the empty line after them
)

// A chunkState is the expected part of a chunked body (RFC 9112, 7.1).
type chunkState uint8

const (
	chunkSize    chunkState = iota // digits of a size
	chunkSpace                     // white space between a size and an extension
	chunkExt                       // rest of the size line
	chunkSizeLF                    // LF of the size line
	chunkData                      // content
	chunkCR                        // CR after the content
	chunkLF                        // LF after the content
	chunkTrailer                   // trailer fields
)

// A bodyCut splits a body from the traffic. It does not keep any content.
type bodyCut struct {
	kind framing
	// strict refuses syntax that readers of chunked bodies interpret differently. It is set
	// for requests. Mistakes of servers pass.
	strict bool
	left   uint64 // remaining content bytes of the body or chunk
	state  chunkState
	digits int
	size   uint64
	scan   headScan
	// trailer has the trailer fields, up to maxTrailer bytes.
	trailer []byte
}

const (
	maxDigits  = 15 // digits of a chunk size, which prevents overflows
	maxTrailer = 64 << 10
)

var (
	errChunkSize = errors.New("a chunk's size is not a number")
	errChunkLine = errors.New("a chunk's size is followed by something else")
	errChunkEnd  = errors.New("a chunk does not end at its declared size")
	errTrailer   = errors.New("its trailer is too long")
)

// next returns the number of leading bytes of p that form one part of the body, the kind of
// part, and whether they end the body. If err is set, the body cannot be read after these
// bytes.
func (b *bodyCut) next(p []byte) (n int, part bodyPart, done bool, err error) {
	switch b.kind {
	case noBody:
		return 0, partData, true, nil
	case closeBody:
		return len(p), partData, false, nil
	case lengthBody:
		n = b.content(p)
		return n, partData, b.left == 0, nil
	}
	return b.chunked(p)
}

func (b *bodyCut) content(p []byte) int {
	if uint64(len(p)) > b.left {
		p = p[:b.left]
	}
	b.left -= uint64(len(p))
	return len(p)
}

func (b *bodyCut) chunked(p []byte) (n int, part bodyPart, done bool, err error) {
	switch b.state {
	case chunkSize, chunkSpace, chunkExt, chunkSizeLF:
		n, err = b.sizeLine(p)
		return n, partSize, false, err
	case chunkData:
		n = b.content(p)
		if b.left == 0 {
			b.state = chunkCR
		}
		return n, partData, false, nil
	case chunkCR, chunkLF:
		n, err = b.chunkEnd(p)
		return n, partFraming, false, err
	}
	return b.trailerPart(p)
}

// trailerPart reads the fields after the last chunk.
func (b *bodyCut) trailerPart(p []byte) (n int, part bodyPart, done bool, err error) {
	n, done = b.scan.next(p)
	kept := min(n, maxTrailer-len(b.trailer))
	b.trailer = append(b.trailer, p[:kept]...)
	if !b.strict {
		return n, partTrailer, done, nil
	}
	if kept < n {
		return 0, partTrailer, false, errTrailer
	}
	if done {
		if h := parseTrailer(b.trailer); h.fault != "" {
			return 0, partTrailer, false, fmt.Errorf("its trailer has %s", h.fault)
		}
	}
	return n, partTrailer, done, nil
}

// sizeLine reads the line with the size of a chunk.
func (b *bodyCut) sizeLine(p []byte) (n int, err error) {
	for n < len(p) {
		c := p[n]
		switch {
		case b.state == chunkSize && hexDigit(c) >= 0:
			if b.digits++; b.digits > maxDigits {
				return n, errChunkSize
			}
			b.size = b.size<<4 | uint64(hexDigit(c))
		case b.digits == 0:
			return n, errChunkSize
		case b.state <= chunkSpace && (c == ' ' || c == '\t'): // RFC 9112, 7.1.1
			b.state = chunkSpace
		case b.strict && b.state == chunkSpace && c != ';':
			return n, errChunkLine
		case c == '\n':
			if b.strict && b.state != chunkSizeLF {
				return n, errChunkLine
			}
			b.beginChunk()
			return n + 1, nil
		case b.state == chunkSizeLF: // a CR without its LF
			return n, errChunkLine
		case c == '\r':
			b.state = chunkSizeLF
		case b.strict && (b.state == chunkSize && c != ';' || c < ' ' && c != '\t' || c == 0x7f):
			return n, errChunkLine
		default:
			b.state = chunkExt
		}
		n++
	}
	return n, nil
}

func (b *bodyCut) beginChunk() {
	b.left, b.state = b.size, chunkData
	if b.size == 0 {
		b.state = chunkTrailer
	}
	b.size, b.digits = 0, 0
}

// chunkEnd reads the CR LF after the content of a chunk.
func (b *bodyCut) chunkEnd(p []byte) (n int, err error) {
	for n < len(p) {
		switch {
		case p[n] == '\r' && b.state == chunkCR:
			b.state = chunkLF
		case p[n] == '\n' && (b.state == chunkLF || !b.strict):
			b.state = chunkSize
			return n + 1, nil
		default:
			return n, errChunkEnd
		}
		n++
	}
	return n, nil
}

// hexDigit returns the value of a hex digit, or -1.
func hexDigit(c byte) int {
	i := strings.IndexByte("0123456789abcdefABCDEF", c)
	if i > 0xf {
		i -= 6
	}
	return i
}
