package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/mcptap/mcptap/tap"
)

// A Salvage gets out of a file what its pages no longer tell: it looks for
// segments at every byte and believes those whose checksum fits. What it holds in
// memory is where they are. It keeps the file open, unlocked, until Close.
//
// A file has older, shorter copies of its last segments in pages that are free
// now; of several that begin with the same frame the longest is the newest.
type Salvage struct {
	f      *os.File
	path   string
	size   int64
	maxRaw int64
	header tap.Header
	gaps   []tap.Range
	next   uint64 // the next number after the last frame that there was, if known
	frames []place
	parts  []place
	report Report
	buf    []byte
}

// A place is where a segment lies.
type place struct {
	first uint64
	off   int64
	len   int32
	n     uint32 // how many frames, or bytes of a part
}

// A Report says what salvaging got out.
type Report struct {
	// Frames and Torn count the frames, and those with bytes missing.
	Frames, Torn uint64
	// Missing are the numbers of frames that are lost by damage. Frames after
	// the last one found are only known to be missing if EndKnown.
	Missing  []tap.Range
	EndKnown bool
	// Gaps are those that crossed unrecorded, if that can still be read.
	Gaps []tap.Range
	// GaveUp is how many bytes at the end of the file were not searched, since
	// they pretend to hold more than they can.
	GaveUp int64
}

// OpenSalvage searches the file at path for frames.
func OpenSalvage(path string) (*Salvage, error) {
	_ = drainIfDead(context.Background(), path) // where that fails, the queue's content is not to be had
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	s := &Salvage{f: f, path: path, maxRaw: DefaultMaxRaw, header: headerFromName(path)}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRecording(path, "it is not a regular file")
	}
	if err == nil {
		s.size = info.Size()
		s.describe()
		err = s.index()
	}
	if err == nil && len(s.frames) == 0 && s.header.Start.IsZero() && !smellsLikeRecording(f) {
		err = notRecording(path, "nothing in it looks like one")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	s.sort()
	s.reckon()
	return s, nil
}

// Info describes what is left of the recording: of its header in the worst case what
// the file's name tells, and as gaps all frames that are not there.
func (s *Salvage) Info() (Info, error) {
	gaps := slices.Concat(s.report.Gaps, s.report.Missing)
	slices.SortFunc(gaps, func(a, b tap.Range) int { return cmp.Compare(a.From, b.From) })
	return Info{Path: s.path, Header: s.header, Status: Damaged, Gaps: gaps}, nil
}

// SetMaxRaw is [Recording.SetMaxRaw].
func (s *Salvage) SetMaxRaw(n int64) { s.maxRaw = n }

// Report says what was found. Torn and Frames count what Frames has yielded.
func (s *Salvage) Report() Report { return s.report }

// Close closes the file.
func (s *Salvage) Close() error { return s.f.Close() }

const (
	// window is how much is searched at once.
	window = 64 << 10
	// patience is how many times the file's size is spent on candidates whose
	// checksum does not fit. A file made to waste time has millions of them.
	patience = 16
)

// index finds all segments.
func (s *Salvage) index() error {
	buf := make([]byte, window)
	budget := patience * (s.size + window)
	for off := int64(0); off < s.size; {
		n, err := s.f.ReadAt(buf, off)
		if err != nil && err != io.EOF {
			return fmt.Errorf("search %s: %w", s.path, err)
		}
		next := off + int64(max(n-len(segmentMagic)+1, 1))
		for rest := buf[:n]; ; {
			i := indexSegment(rest)
			if i < 0 {
				break
			}
			at := off + int64(n-len(rest)+i)
			h, ok := s.candidate(at)
			if ok {
				s.found(at, &h)
				next = at + segmentHeader + int64(h.payload)
				break
			}
			if budget -= int64(h.payload) + 1<<10; budget < 0 {
				s.report.GaveUp = s.size - at
				return nil
			}
			rest = rest[i+1:]
		}
		off = next
	}
	return nil
}

// found notes a segment.
func (s *Salvage) found(off int64, h *segmentHead) {
	p := place{first: h.first, off: off, len: int32(segmentHeader + h.payload), n: uint32(h.count)}
	if h.kind == kindPart {
		p.n = uint32(h.uncompressed)
		s.parts = append(s.parts, p)
	} else if h.count > 0 {
		s.frames = append(s.frames, p)
	}
}

// sort brings the segments into order, of equal ones the longest first.
func (s *Salvage) sort() {
	order := func(a, b place) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(b.n, a.n))
	}
	slices.SortFunc(s.frames, order)
	slices.SortFunc(s.parts, order)
}

// candidate reports whether a segment with a good checksum lies at off. Of the
// header only the payload is set if not.
func (s *Salvage) candidate(off int64) (h segmentHead, ok bool) {
	var head [segmentHeader]byte
	if _, err := s.f.ReadAt(head[:], off); err != nil {
		return h, false
	}
	n := int64(binary.LittleEndian.Uint32(head[44:]))
	if n > maxStored || off+segmentHeader+n > s.size {
		return h, false
	}
	b, err := s.load(off, segmentHeader+int(n))
	if err != nil {
		return h, false
	}
	if crc32.Checksum(b[12:], castagnoli) != binary.LittleEndian.Uint32(b[8:]) {
		h.payload = int(n)
		return h, false
	}
	h, err = parseSegmentHead(b)
	h.payload = int(n)
	return h, err == nil
}

// load reads n bytes into memory that the next load reuses.
func (s *Salvage) load(off int64, n int) ([]byte, error) {
	if n > cap(s.buf) {
		s.buf = make([]byte, n)
	}
	_, err := s.f.ReadAt(s.buf[:n], off)
	return s.buf[:n], err
}

// reckon works out which frames are missing.
func (s *Salvage) reckon() {
	s.report.Gaps, s.report.EndKnown = s.gaps, s.next > 0
	next := uint64(1)
	for i := range s.frames {
		p := &s.frames[i]
		s.miss(next, p.first)
		next = max(next, p.first+uint64(p.n))
	}
	s.miss(next, s.next)
}

// miss notes the frames from..to-1 as missing, but for those in a gap.
func (s *Salvage) miss(from, to uint64) {
	for {
		r, ok := unexplained(from, to, s.gaps)
		if !ok {
			return
		}
		s.report.Missing = append(s.report.Missing, r)
		from = r.To + 1
	}
}

// indexSegment returns where a segment may begin in b, or -1.
func indexSegment(b []byte) int { return indexString(b, segmentMagic) }

func indexString(b []byte, s string) int { return bytes.Index(b, []byte(s)) }

// Frames yields the frames with a number above after that were found, in order. One
// whose parts are not all there is marked as truncated, with what there is.
func (s *Salvage) Frames(after uint64) iter.Seq2[tap.Frame, error] {
	return func(yield func(tap.Frame, error) bool) {
		s.report.Frames, s.report.Torn = 0, 0
		next := after + 1
		for _, p := range s.frames {
			if p.first+uint64(p.n) <= next {
				continue // an older copy
			}
			b := make([]byte, p.len) // the frames keep it
			if _, err := s.f.ReadAt(b, p.off); err != nil {
				yield(tap.Frame{}, fmt.Errorf("read %s: %w", s.path, err))
				return
			}
			t, err := decodeTable(b, p.first)
			for err == nil && t.left > 0 {
				var rec record
				if rec, err = t.record(); err != nil || rec.Seq < next {
					continue
				}
				next = rec.Seq + 1
				if !yield(s.frame(&rec), nil) {
					return
				}
			}
			if err != nil { // its checksum fits, but it makes no sense: it was made so
				s.report.Missing = append(s.report.Missing, tap.Range{From: max(next, p.first), To: p.first + uint64(p.n) - 1})
			}
		}
	}
}

func decodeTable(b []byte, first uint64) (table, error) {
	h, data, err := decodeSegment(b)
	if err != nil {
		return table{}, err
	}
	return newTable(h, data, first)
}
