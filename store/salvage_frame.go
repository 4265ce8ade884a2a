package store

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// frame assembles a frame out of the parts that are there.
func (s *Salvage) frame(rec *record) tap.Frame {
	f := rec.Frame
	if rec.parts.Count > 0 {
		have := s.has(rec.parts)
		f.Truncated = f.Truncated || have != rec.parts.Bytes
		f.Size = int64(have) + int64(len(rec.Raw))
		limit := f.Size
		if f.Size > s.maxRaw {
			limit = headRaw
		}
		raw := make([]byte, 0, min(limit, pageBytes))
		_ = s.eachPart(rec.parts, func(body []byte) error {
			raw = append(raw, body[:min(int64(len(body)), limit-int64(len(raw)))]...)
			if int64(len(raw)) == limit {
				return errStop
			}
			return nil
		})
		f.Raw = append(raw, rec.Raw[:min(int64(len(rec.Raw)), limit-int64(len(raw)))]...)
		if limit == f.Size { // else a part whose checksum fits made no sense
			f.Truncated, f.Size = f.Truncated || int64(len(f.Raw)) != f.Size, int64(len(f.Raw))
		}
	}
	s.report.Frames++
	if f.Truncated {
		s.report.Torn++
	}
	return f
}

// partsOf returns the places of the parts ref names, as far as they are there.
func (s *Salvage) partsOf(ref partRef) []place {
	at := func(n uint64) int {
		i, _ := slices.BinarySearchFunc(s.parts, n, func(p place, n uint64) int { return cmp.Compare(p.first, n) })
		return i
	}
	end := ref.First + ref.Count
	if end < ref.First {
		end = ^uint64(0)
	}
	return s.parts[at(ref.First):at(end)]
}

// has sums the bytes of the parts that are there.
func (s *Salvage) has(ref partRef) (n uint64) {
	last := ^uint64(0)
	for _, p := range s.partsOf(ref) {
		if p.first != last { // not an older copy
			n += uint64(p.n)
		}
		last = p.first
	}
	return n
}

// eachPart calls each for the parts that are there, in order.
func (s *Salvage) eachPart(ref partRef, each func([]byte) error) error {
	last := ^uint64(0)
	for _, p := range s.partsOf(ref) {
		if p.first == last {
			continue
		}
		last = p.first
		b, err := s.load(p.off, int(p.len))
		if err != nil {
			return err
		}
		h, body, err := decodeSegment(b)
		if err != nil || h.kind != kindPart {
			continue
		}
		if err := each(body); err != nil {
			return err
		}
	}
	return nil
}

// WriteRaw writes what is there of a frame, whatever its size.
func (s *Salvage) WriteRaw(w io.Writer, f tap.Frame) error {
	if f.Whole() {
		_, err := w.Write(f.Raw)
		return err
	}
	for _, p := range s.frames {
		if f.Seq < p.first || f.Seq-p.first >= uint64(p.n) {
			continue
		}
		b := make([]byte, p.len)
		if _, err := s.f.ReadAt(b, p.off); err != nil {
			return err
		}
		t, err := decodeTable(b, p.first)
		for err == nil && t.left > 0 {
			var rec record
			if rec, err = t.record(); err != nil || rec.Seq != f.Seq {
				continue
			}
			err := s.eachPart(rec.parts, func(body []byte) error {
				_, err := w.Write(body)
				return err
			})
			if err != nil {
				return err
			}
			_, err = w.Write(rec.Raw)
			return err
		}
	}
	return noFrame(f.Seq, s.next)
}

// describe reads header and state: from their bucket if its pages are whole,
// else wherever in the file their JSON lies.
func (s *Salvage) describe() {
	if p, err := newPages(s.f, s.size); err == nil {
		if sum, err := (&snap{p: p}).summary(); err == nil {
			s.header, s.gaps, s.next = sum.header, sum.state.Gaps, sum.state.NextSeq
			return
		}
	}
	named := s.header
	s.find(`{"id":"`, func(d *json.Decoder) {
		var h tap.Header
		d.DisallowUnknownFields() // a message that crossed has another form
		if d.Decode(&h) == nil && isID(h.ID) && !h.Start.IsZero() && (named.ID == "" || named.ID == h.ID) {
			s.header = h
		}
	})
	s.find(`{"ticket":`, func(d *json.Decoder) {
		var st State
		d.DisallowUnknownFields()
		if d.Decode(&st) == nil && st.NextSeq >= s.next && st.sound() && st.LastAt < 100*365*24*time.Hour {
			s.next, s.gaps = st.NextSeq, st.Gaps
		}
	})
}

// find calls each with a decoder that begins at every place where the pattern
// is.
func (s *Salvage) find(pattern string, each func(*json.Decoder)) {
	buf := make([]byte, window)
	budget := findPatience * (s.size + window)
	for off := int64(0); off < s.size; {
		n, err := s.f.ReadAt(buf, off)
		if err != nil && err != io.EOF {
			return
		}
		for rest := buf[:n]; budget > 0; {
			i := indexString(rest, pattern)
			if i < 0 {
				break
			}
			section := io.NewSectionReader(s.f, off+int64(n-len(rest)+i), maxFound)
			each(json.NewDecoder(section))
			read, _ := section.Seek(0, io.SeekCurrent)
			budget -= read
			rest = rest[i+1:]
		}
		off += int64(max(n-len(pattern)+1, 1))
	}
}

const (
	// maxFound bounds what find reads at one place.
	maxFound = 1 << 20
	// findPatience is how many times the file's size find reads in all.
	findPatience = 4
)
