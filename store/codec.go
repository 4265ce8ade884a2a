package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/mcptap/mcptap/tap"
)

// A segment is a header of segmentHeader bytes, a body and a table. All
// numbers are little-endian.
//
//	 0  8  magic "mtapseg1"
//	 8  4  CRC-32C of everything after it
//	12  1  compression: 0 none, 1 S2 block
//	13  1  kind: 0 frames, 1 part
//	14  2  zero
//	16  8  number of the first frame, or of the part
//	24  8  offset in nanoseconds that the first frame's At is relative to
//	32  4  number of frames (0 in a part)
//	36  4  length of the table, uncompressed
//	40  4  length of body and table, uncompressed
//	44  4  length of everything after the header
//	48     body and table
//
// The body is the frames' bytes, joined. The table has a record per frame: a byte
// of flags (lane in the low two bits), then uvarints: At less the previous
// frame's At, then if their flags are set Took, Exchange, Form (since format 2),
// and the number of the first part, their count and their total length; then the
// length of the frame's bytes in the body.
const (
	segmentMagic  = "mtapseg1"
	segmentHeader = 48

	compressNone = 0
	compressS2   = 1

	kindFrames = 0
	kindPart   = 1

	flagLane      = 0x03
	flagTook      = 0x04
	flagExchange  = 0x08
	flagParts     = 0x10
	flagTruncated = 0x20
	flagForm      = 0x40
	flagsKnown    = flagLane | flagTook | flagExchange | flagParts | flagTruncated | flagForm

	// maxSegment is the maximum size of a segment, so that a hostile file cannot make a
	// reader allocate more in one step.
	maxSegment = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errSegment is wrapped by every error about the bytes of a segment.
var errSegment = errors.New("damaged segment")

var errTable = fmt.Errorf("%w: its table does not fit its body", errSegment)

// A record is a frame in a segment. Its Raw has only the bytes after the
// parts.
type record struct {
	tap.Frame
	parts partRef
}

// A partRef names the consecutive parts at the beginning of a frame.
type partRef struct {
	First uint64 `json:"first,omitempty"`
	Count uint64 `json:"count,omitempty"`
	Bytes uint64 `json:"bytes,omitempty"`
}

// A segment collects frames until it is encoded.
type segment struct {
	first uint64
	base  time.Duration
	last  time.Duration
	count int
	table []byte
	body  []byte
}

// reset empties s for frames from number first.
func (s *segment) reset(first uint64, base time.Duration) {
	s.first, s.base, s.last, s.count = first, base, base, 0
	s.table, s.body = s.table[:0], s.body[:0]
}

// size returns the uncompressed size of the segment in bytes.
func (s *segment) size() int { return len(s.table) + len(s.body) }

// add appends the record of a frame, whose bytes are given in pieces.
func (s *segment) add(r *record, pieces ...[]byte) {
	flags := byte(r.Lane) & flagLane
	if r.Took != 0 {
		flags |= flagTook
	}
	if r.Exchange != 0 {
		flags |= flagExchange
	}
	if r.parts.Count != 0 {
		flags |= flagParts
	}
	if r.Truncated {
		flags |= flagTruncated
	}
	if r.Form != tap.FormLine {
		flags |= flagForm
	}
	t := append(s.table, flags)
	t = binary.AppendUvarint(t, uint64(r.At-s.last))
	if flags&flagTook != 0 {
		t = binary.AppendUvarint(t, uint64(r.Took))
	}
	if flags&flagExchange != 0 {
		t = binary.AppendUvarint(t, r.Exchange)
	}
	if flags&flagForm != 0 {
		t = binary.AppendUvarint(t, uint64(r.Form))
	}
	if flags&flagParts != 0 {
		t = binary.AppendUvarint(t, r.parts.First)
		t = binary.AppendUvarint(t, r.parts.Count)
		t = binary.AppendUvarint(t, r.parts.Bytes)
	}
	n := 0
	for _, p := range pieces {
		n += len(p)
		s.body = append(s.body, p...)
	}
	s.table = binary.AppendUvarint(t, uint64(n))
	s.last = r.At
	s.count++
}

// encode appends the segment, encoded, to dst. More frames may be added after.
func (s *segment) encode(dst []byte) []byte {
	n := len(s.body)
	s.body = append(s.body, s.table...)
	dst = encodeSegment(dst, kindFrames, s.first, s.base, s.count, len(s.table), s.body)
	s.body = s.body[:n] // more frames may follow
	return dst
}

// encodePart appends a segment with one part of a frame to dst.
func encodePart(dst []byte, part uint64, body []byte) []byte {
	return encodeSegment(dst, kindPart, part, 0, 0, 0, body)
}

func encodeSegment(dst []byte, kind byte, first uint64, base time.Duration, count, table int, data []byte) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, segmentHeader)...)
	compression := byte(compressNone)
	if len(data) >= 64 {
		dst = slices.Grow(dst, s2.MaxEncodedLen(len(data)))
		out := s2.Encode(dst[len(dst):cap(dst)], data)
		if len(out) < len(data)-len(data)/16 {
			compression = compressS2
			dst = dst[:at+segmentHeader+len(out)]
		}
	}
	if compression == compressNone {
		dst = append(dst[:at+segmentHeader], data...)
	}
	h := dst[at:]
	copy(h, segmentMagic)
	h[12], h[13] = compression, kind
	binary.LittleEndian.PutUint64(h[16:], first)
	binary.LittleEndian.PutUint64(h[24:], uint64(base))
	binary.LittleEndian.PutUint32(h[32:], uint32(count))
	binary.LittleEndian.PutUint32(h[36:], uint32(table))
	binary.LittleEndian.PutUint32(h[40:], uint32(len(data)))
	binary.LittleEndian.PutUint32(h[44:], uint32(len(h)-segmentHeader))
	binary.LittleEndian.PutUint32(h[8:], crc32.Checksum(h[12:], castagnoli))
	return dst
}

// A segmentHead is the decoded header of a segment.
type segmentHead struct {
	compression, kind     byte
	first                 uint64
	base                  time.Duration
	count, table          int
	uncompressed, payload int
}

// parseSegmentHead reads the header at the start of b, which may be longer than
// the segment, and checks it and the checksum.
func parseSegmentHead(b []byte) (segmentHead, error) {
	var h segmentHead
	if len(b) < segmentHeader || string(b[:8]) != segmentMagic {
		return h, fmt.Errorf("%w: no segment begins here", errSegment)
	}
	h = segmentHead{
		compression:  b[12],
		kind:         b[13],
		first:        binary.LittleEndian.Uint64(b[16:]),
		base:         time.Duration(binary.LittleEndian.Uint64(b[24:])),
		count:        int(binary.LittleEndian.Uint32(b[32:])),
		table:        int(binary.LittleEndian.Uint32(b[36:])),
		uncompressed: int(binary.LittleEndian.Uint32(b[40:])),
		payload:      int(binary.LittleEndian.Uint32(b[44:])),
	}
	switch {
	case h.compression > compressS2 || h.kind > kindPart:
		return h, fmt.Errorf("%w: unknown compression %d or kind %d", errSegment, h.compression, h.kind)
	case h.payload > len(b)-segmentHeader || h.uncompressed > maxSegment ||
		h.table > h.uncompressed || h.count > h.table || h.base < 0:
		return h, fmt.Errorf("%w: its lengths do not fit", errSegment)
	case crc32.Checksum(b[12:segmentHeader+h.payload], castagnoli) != binary.LittleEndian.Uint32(b[8:]):
		return h, fmt.Errorf("%w: checksum mismatch", errSegment)
	}
	return h, nil
}

// decodeSegment checks the segment at the start of b and returns its header and
// its body and table. The result may share memory with b.
func decodeSegment(b []byte) (segmentHead, []byte, error) {
	h, err := parseSegmentHead(b)
	if err != nil {
		return h, nil, err
	}
	data := b[segmentHeader : segmentHeader+h.payload]
	if h.compression == compressS2 {
		if n, err := s2.DecodedLen(data); err != nil || n != h.uncompressed {
			return h, nil, fmt.Errorf("%w: compressed length does not fit", errSegment)
		}
		if data, err = s2.Decode(nil, data); err != nil {
			return h, nil, fmt.Errorf("%w: %v", errSegment, err)
		}
	}
	if len(data) != h.uncompressed {
		return h, nil, fmt.Errorf("%w: length does not fit", errSegment)
	}
	return h, data, nil
}

// A table iterates over the records of a decoded segment.
type table struct {
	table, body []byte
	seq         uint64
	at          time.Duration
	left        int
	bad         bool
}

// decodeTable decodes a segment of frames that begins with number first. They may
// share memory with b.
func decodeTable(b []byte, first uint64) (table, error) {
	h, data, err := decodeSegment(b)
	if err == nil && (h.kind != kindFrames || h.first != first || h.count == 0 || h.first+uint64(h.count) < h.first) {
		err = fmt.Errorf("%w: it does not match its key %d", errSegment, first)
	}
	if err != nil {
		return table{}, err
	}
	split := len(data) - h.table
	return table{body: data[:split:split], table: data[split:], seq: h.first, at: h.base, left: h.count}, nil
}

func (d *table) uvarint() uint64 {
	v, n := binary.Uvarint(d.table)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.table = d.table[n:]
	return v
}

// record returns the next record. left must not be 0.
func (d *table) record() (r record, err error) {
	if len(d.table) == 0 || d.table[0]&^flagsKnown != 0 {
		return r, errTable
	}
	flags := d.table[0]
	d.table = d.table[1:]
	r.Seq, r.Lane, r.Truncated = d.seq, tap.Lane(flags&flagLane), flags&flagTruncated != 0
	d.at += time.Duration(d.uvarint())
	r.At = d.at
	if flags&flagTook != 0 {
		r.Took = time.Duration(d.uvarint())
	}
	if flags&flagExchange != 0 {
		r.Exchange = d.uvarint()
	}
	form := uint64(tap.FormLine)
	if flags&flagForm != 0 {
		form = d.uvarint()
	}
	if flags&flagParts != 0 {
		r.parts = partRef{First: d.uvarint(), Count: d.uvarint(), Bytes: d.uvarint()}
	}
	n := d.uvarint()
	if d.bad || n > uint64(len(d.body)) || d.at < 0 || r.Took < 0 || r.parts.Bytes > 1<<50 || form >= uint64(tap.Forms) {
		return r, errTable
	}
	r.Form = tap.Form(form)
	r.Raw, d.body = d.body[:n:n], d.body[n:]
	r.Size = int64(n) + int64(r.parts.Bytes)
	d.seq++
	d.left--
	return r, nil
}

// seal returns a value for the meta bucket: its checksum, then the value.
func seal(v []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, crc32.Checksum(v, castagnoli)), v...)
}

// unseal checks and returns the value of a key of the meta bucket.
func unseal(k, v []byte) ([]byte, error) {
	if len(v) < 4 || crc32.Checksum(v[4:], castagnoli) != binary.LittleEndian.Uint32(v) {
		return nil, fmt.Errorf("%w: checksum mismatch in meta value %s", errPage, k)
	}
	return v[4:], nil
}
