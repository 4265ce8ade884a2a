package redact

import (
	"bytes"

	"github.com/mcptap/mcptap/tap"
)

// maxPieces limits the length of a line joined from pieces of stderr.
const maxPieces = 64 << 10

// A Copier redacts the frames of a recording that is copied. It also finds the secrets
// that no single frame of stderr holds: a server may write a line in several pieces, and
// each is a frame. A first pass over the frames finds what such pieces become. The second,
// after [Redactor.Again], puts the whole line in the first piece and nothing in the rest.
// Memory is bounded by one line and by what is replaced.
type Copier struct {
	r      *Redactor
	become map[uint64][]byte // by number of the piece

	line  []byte
	seqs  []uint64
	alone []byte  // what the pieces of the line become separately
	begin printed // the state before the line
}

// NewCopier returns a Copier that redacts as r does.
func NewCopier(r *Redactor) *Copier { return &Copier{r: r, become: map[uint64][]byte{}} }

// Frame redacts the next frame.
func (c *Copier) Frame(f *tap.Frame) {
	if f.Lane == tap.Stderr && len(c.seqs) == 0 {
		c.begin = c.r.printed
	}
	out, known := c.become[f.Seq]
	switch {
	case known:
	case f.Whole():
		out = c.r.Frame(f)
	default:
		out = c.r.Withhold(f)
	}
	if f.Lane == tap.Stderr {
		if len(c.line)+len(f.Raw) > maxPieces {
			c.End()
		}
		c.line, c.seqs, c.alone = append(c.line, f.Raw...), append(c.seqs, f.Seq), append(c.alone, out...)
		if bytes.HasSuffix(f.Raw, []byte("\n")) {
			c.End()
		}
	}
	f.Raw, f.Size = out, int64(len(out))
}

// End ends a pass.
func (c *Copier) End() {
	if len(c.seqs) > 1 {
		c.r.printed = c.begin
		f := tap.Frame{Seq: c.seqs[0], Lane: tap.Stderr, Form: tap.FormLine, Raw: c.line, Size: int64(len(c.line))}
		if whole := c.r.Frame(&f); !bytes.Equal(whole, c.alone) && !bytes.Equal(whole, c.line) {
			for _, seq := range c.seqs[1:] {
				c.become[seq] = []byte{}
			}
			c.become[c.seqs[0]] = bytes.Clone(whole)
		}
	}
	c.line, c.seqs, c.alone = c.line[:0], c.seqs[:0], c.alone[:0]
}
