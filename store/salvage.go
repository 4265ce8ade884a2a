package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/mcptap/mcptap/tap"
)

// A salvage is the source of a recording with untrusted pages: it searches for segments
// at every byte, and accepts those with a correct checksum.
//
// A file has older, shorter copies of its last segments in free pages.
// Of several with the same first frame, the longest is the newest.
type salvage struct {
	path   string
	size   int64
	header tap.Header
	state  state // NextSeq, and in Gaps all missing frames
	end    *End  // nil if it is lost
	frames []place
	parts  []place
	report Report
	buf    []byte
}

// A place is the location of a segment.
type place struct {
	first uint64
	off   int64
	len   int32
	n     uint32 // number of frames, or bytes of a part
}

// A Report is the result of salvaging a file.
type Report struct {
	// Frames is the number of frames, Torn that of truncated frames.
	Frames, Torn uint64
	// Missing are the numbers of frames that are lost. Frames after
	// the last one found are known to be missing only if EndKnown is set.
	Missing  []tap.Range
	EndKnown bool
	// Gaps are the numbers that crossed unrecorded, if they can be read.
	Gaps []tap.Range
	// GaveUp is the number of bytes at the end of the file that were not searched,
	// because the file has too many false segments.
	GaveUp int64
}

// OpenSalvage searches the file at path for frames. If the header is lost, the recording
// has the one from the file name. Its gaps are all missing frames.
// A frame without all of its parts is truncated.
func OpenSalvage(path string) (*Recording, Report, error) {
	_ = drainIfDead(context.Background(), path) // on failure, the content of the queue is missing
	f, err := openRegular(path)
	if err != nil {
		return nil, Report{}, err
	}
	defer f.Close()
	s := &salvage{path: path, header: headerFromName(path)}
	info, err := f.Stat()
	if err == nil {
		s.size = info.Size()
		s.describe(f)
		err = s.index(f)
	}
	if err == nil {
		err = s.tally(f)
	}
	if err == nil && s.report.Frames == 0 && s.header.Start.IsZero() && !looksLikeRecording(f) {
		err = notRecording(path, "nothing in it looks like one")
	}
	if err != nil {
		return nil, Report{}, err
	}
	return &Recording{path: path, src: s, maxRaw: DefaultMaxRaw, lossy: true}, s.report, nil
}

const (
	// window is the number of bytes that are searched in one step.
	window = 64 << 10
	// patience times the size of the file is the limit for reading candidates with a
	// wrong checksum. A hostile file may have millions of them.
	patience = 16
)

// index finds all segments.
func (s *salvage) index(f *os.File) error {
	buf := make([]byte, window)
	budget := patience * (s.size + window)
	for off := int64(0); off < s.size; {
		n, err := f.ReadAt(buf, off)
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
			length, ok := s.candidate(f, at)
			if ok {
				next = at + length
				break
			}
			if budget -= length + 1<<10; budget < 0 {
				s.report.GaveUp = s.size - at
				return nil
			}
			rest = rest[i+1:]
		}
		off = next
	}
	return nil
}

// candidate adds the segment at off, if there is one. length is the number of bytes read.
func (s *salvage) candidate(f *os.File, off int64) (length int64, ok bool) {
	var head [segmentHeader]byte
	if _, err := f.ReadAt(head[:], off); err != nil {
		return 0, false
	}
	length = segmentHeader + int64(binary.LittleEndian.Uint32(head[44:]))
	if length > maxStored || length > s.size-off {
		return 0, false
	}
	b, err := s.load(f, place{off: off, len: int32(length)})
	if err != nil {
		return 0, false
	}
	h, err := parseSegmentHead(b)
	p := place{first: h.first, off: off, len: int32(length), n: uint32(h.count)}
	switch {
	case err != nil:
		return length, false
	case h.kind == kindPart:
		p.n = uint32(h.uncompressed)
		s.parts = append(s.parts, p)
	default:
		s.frames = append(s.frames, p)
	}
	return length, true
}

// load reads a segment into memory that the next load reuses.
func (s *salvage) load(f *os.File, p place) ([]byte, error) {
	s.buf = slices.Grow(s.buf[:0], int(p.len))[:p.len]
	_, err := f.ReadAt(s.buf, p.off)
	return s.buf, err
}

// indexSegment returns the offset of the first possible segment in b, or -1.
func indexSegment(b []byte) int { return bytes.Index(b, []byte(segmentMagic)) }

// tally sorts the segments, drops older copies, and counts present and missing frames.
func (s *salvage) tally(f *os.File) error {
	order := func(a, b place) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(b.n, a.n))
	}
	slices.SortFunc(s.frames, order)
	slices.SortFunc(s.parts, order)
	s.parts = slices.CompactFunc(s.parts, func(a, b place) bool { return a.first == b.first })
	r, found, next := &s.report, s.frames, uint64(1)
	r.Gaps, s.frames = s.state.Gaps, nil
	for _, p := range found {
		end := p.first + uint64(p.n)
		if end <= next {
			continue // an older copy
		}
		b, err := s.load(f, p)
		if err != nil {
			return fmt.Errorf("read %s: %w", s.path, err)
		}
		frames, truncated, err := s.count(b, p.first, next)
		if err != nil { // an invalid segment with a correct checksum was forged
			continue
		}
		s.frames = append(s.frames, p)
		s.miss(next, p.first)
		r.Frames, r.Torn, next = r.Frames+frames, r.Torn+truncated, end
	}
	r.EndKnown = s.state.NextSeq >= next // otherwise it is an older state
	s.miss(next, s.state.NextSeq)
	s.state.NextSeq = max(s.state.NextSeq, next)
	s.state.Gaps = slices.Concat(r.Gaps, r.Missing)
	slices.SortFunc(s.state.Gaps, func(a, b tap.Range) int { return cmp.Compare(a.From, b.From) })
	return nil
}

// count counts the frames of a segment, beginning with number next, and those that are
// truncated.
func (s *salvage) count(b []byte, first, next uint64) (frames, truncated uint64, err error) {
	t, err := decodeTable(b, first)
	for err == nil && t.left > 0 {
		var rec record
		if rec, err = t.record(); err != nil || rec.Seq < next {
			continue
		}
		have := uint64(0)
		for _, p := range s.between(s.parts, rec.parts.First, rec.parts.First+rec.parts.Count) {
			have += uint64(p.n)
		}
		if frames++; rec.Truncated || have != rec.parts.Bytes {
			truncated++
		}
	}
	return frames, truncated, err
}

// miss adds the frames from..to-1 to the missing ones, except those in gaps.
func (s *salvage) miss(from, to uint64) {
	for {
		r, ok := unexplained(from, to, s.state.Gaps)
		if !ok {
			return
		}
		s.report.Missing = append(s.report.Missing, r)
		from = r.To + 1
	}
}

// between returns the places whose first number is in from..end-1.
func (s *salvage) between(places []place, from, end uint64) []place {
	at := func(n uint64) int {
		i, _ := slices.BinarySearchFunc(places, n, func(p place, n uint64) int { return cmp.Compare(p.first, n) })
		return i
	}
	return places[at(from):max(at(from), at(end))]
}

// describe reads header and state from their bucket if its pages are intact, otherwise from
// any page that has them. It uses the newest of several states.
func (s *salvage) describe(f *os.File) {
	if p, err := openPages(f); err == nil {
		if sum, err := p.summary(); err == nil {
			s.header, s.state, s.end = sum.header, sum.state, sum.end
			return
		}
	}
	p := &pages{meta: meta{end: uint64(s.size) / pageSize}, r: f, size: s.size}
	budget := patience * s.size
	read := func(bucket *tree, k []byte, into any) bool {
		e, err := bucket.get(k)
		if err != nil || e == nil || e.length > budget {
			return false
		}
		budget -= e.length
		v, err := p.metaValue(bucket, k)
		return err == nil && json.Unmarshal(v, into) == nil
	}
	named := s.header.ID
	for id := uint64(2); id < p.end; id++ {
		r, err := p.run(id)
		if err != nil || r.flags != flagLeaf || r.count > 10 { // neither the root nor the meta bucket
			continue
		}
		n, err := p.parse(&r)
		if err != nil {
			continue
		}
		bucket := &tree{p: p, flat: n}
		if e, err := bucket.get(bucketMeta); err == nil && e != nil && e.bucket {
			if bucket, err = p.open(e); err != nil {
				continue
			}
		}
		var h tap.Header
		if read(bucket, keyHeader, &h) && IsID(h.ID) && (named == "" || named == h.ID) {
			s.header = h
		}
		var st state
		if read(bucket, keyState, &st) && st.sound() && st.NextSeq >= s.state.NextSeq {
			s.state = st
		}
		var end End
		if read(bucket, keyEnd, &end) {
			s.end = &end
		}
	}
}

// info describes the recording. If nothing is missing, it has the status from before the damage.
func (s *salvage) info() (Info, error) {
	i := Info{Path: s.path, Header: s.header, Status: Damaged, Gaps: s.state.Gaps}
	if r := &s.report; s.end != nil && r.EndKnown && r.Torn == 0 && len(r.Missing) == 0 && r.GaveUp == 0 {
		if i.Duration, i.Status = s.end.At, Ended; s.end.Cut {
			i.Status = Cut
		}
	}
	return i, nil
}

func (s *salvage) now(context.Context) (uint64, bool, error) { return 0, true, nil }

func (s *salvage) read(b *batchOf, bucket []byte, from, end uint64, budget int) error {
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	b.reset()
	b.sum.state, b.last = s.state, true
	places := s.frames
	if bytes.Equal(bucket, bucketParts) {
		places = s.parts
	} else if before := s.between(places, 0, from+1); len(before) > 0 {
		from = before[len(before)-1].first
	}
	for _, p := range s.between(places, from, end) {
		switch err := b.add(f, p.first, p.off, int64(p.len), budget); {
		case err == errStop:
			b.last = false
			return nil
		case err != nil:
			return damaged(s.path, err)
		}
	}
	return nil
}
