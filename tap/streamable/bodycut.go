package streamable

import (
	"errors"
	"fmt"
)

// A bodyPart says what a piece of a body is.
type bodyPart uint8

const (
	partData    bodyPart = iota // content
	partSize                    // the line with a chunk's size
	partFraming                 // the end of a chunk's line
	partTrailer                 // trailer fields and the empty line behind them
)

// A chunkState says what comes next in a chunked body (RFC 9112, 7.1).
type chunkState uint8

const (
	chunkSize    chunkState = iota // digits of a size
	chunkExt                       // the rest of the size's line
	chunkSizeLF                    // its LF
	chunkData                      // content
	chunkCR                        // the CR behind the content
	chunkLF                        // the LF behind it
	chunkTrailer                   // trailer fields
)

// A bodyCut cuts one body out of what crosses. It holds no content.
type bodyCut struct {
	kind framing
	// strict refuses what readers of chunked bodies disagree about. It is for
	// requests; servers' slips pass.
	strict bool
	left   uint64 // content bytes to come, of the body or of the chunk
	state  chunkState
	digits int
	size   uint64
	scan   headScan
	// trailer is the trailer fields, up to maxTrailer bytes of them.
	trailer []byte
}

const (
	maxDigits  = 15 // of a chunk's size: sizes stay far below an overflow
	maxTrailer = 64 << 10
)

var (
	errChunkSize = errors.New("a chunk's size is no number")
	errChunkLine = errors.New("a chunk's size is followed by something else")
	errChunkEnd  = errors.New("a chunk does not end where its size says")
	errTrailer   = errors.New("its trailer is too long")
)

// next returns how many leading bytes of p are one part of the body, which part
// that is, and whether the body is over with them. Where err is set, the body
// cannot be read behind the n bytes.
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
	case chunkSize, chunkExt, chunkSizeLF:
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

// trailerPart goes through the fields behind the last chunk.
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

// sizeLine goes through the line that says how large a chunk is.
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

// chunkEnd goes through the CR LF behind a chunk's content.
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

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
