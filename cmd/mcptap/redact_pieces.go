package main

import (
	"bytes"

	"github.com/mcptap/mcptap/redact"
	"github.com/mcptap/mcptap/tap"
)

// maxPieces is how many bytes of a line on stderr are put together.
const maxPieces = 64 << 10

// A stderrPieces finds the secrets that no single frame of stderr holds: a server may
// write a line in several pieces, and each is a frame. The first pass learns what such
// pieces become, and the second takes it: all of the line in the first piece, and
// nothing in the others. Memory is bounded by one line and by what is replaced.
type stderrPieces struct {
	r      *redact.Redactor
	become map[uint64][]byte // by number of the piece

	line  []byte
	seqs  []uint64
	alone []byte // what the pieces of the line become by themselves
}

func newStderrPieces(r *redact.Redactor) *stderrPieces {
	return &stderrPieces{r: r, become: map[uint64][]byte{}}
}

// frame returns what the bytes of a frame become.
func (s *stderrPieces) frame(f *tap.Frame) []byte {
	out, learned := s.become[f.Seq]
	switch {
	case learned:
	case f.Whole():
		out = s.r.Frame(f)
	default:
		out = s.r.Withhold(f)
	}
	if f.Lane != tap.Stderr {
		return out
	}
	if len(s.line)+len(f.Raw) > maxPieces {
		s.end()
	}
	s.line, s.seqs, s.alone = append(s.line, f.Raw...), append(s.seqs, f.Seq), append(s.alone, out...)
	if bytes.HasSuffix(f.Raw, []byte("\n")) {
		s.end()
	}
	return out
}

// end looks at the line that was put together.
func (s *stderrPieces) end() {
	if len(s.seqs) > 1 {
		f := tap.Frame{Seq: s.seqs[0], Lane: tap.Stderr, Form: tap.FormLine, Raw: s.line, Size: int64(len(s.line))}
		if whole := s.r.Frame(&f); !bytes.Equal(whole, s.alone) && !bytes.Equal(whole, s.line) {
			for _, seq := range s.seqs[1:] {
				s.become[seq] = []byte{}
			}
			s.become[s.seqs[0]] = bytes.Clone(whole)
		}
	}
	s.line, s.seqs, s.alone = s.line[:0], s.seqs[:0], s.alone[:0]
}
