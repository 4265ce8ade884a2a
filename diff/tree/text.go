package tree

import (
	"hash/maphash"
	"strings"
)

// A Row is a line of each of two texts, side by side.
type Row struct {
	// A and B are the numbers of the lines, from 1; 0 where that text has none.
	A, B int
	// Old and New are the pieces of the lines. Those of a line that is the same
	// on both sides are in Old.
	Old, New []Piece
	// Same says that the lines are the same: the row is there for its
	// neighbours.
	Same bool
	// Skipped is how many rows of the same are left out before this one.
	Skipped int
}

// A Piece is a part of a line.
type Piece struct {
	Text string
	// Differs says that the other side has something else here, or nothing.
	Differs bool
	// LeftOut says that Text is not there; Bytes is how long it is.
	LeftOut bool
	Bytes   int
}

// Hunks tells where two texts differ: the rows that do, each with so many rows
// around it that are the same. It returns at most so many rows, and how many
// more there are. Lines that were changed are compared by words, where there is
// not too much of that; what is long in a line is left out.
func Hunks(a, b string, around, most int) (rows []Row, more int) {
	h := hunker{a: splitLines(a), b: splitLines(b), most: most, budget: wordBudget}
	var s span
	for _, p := range append(Align(lineHashes(h.a, h.b)), Pair{len(h.a), len(h.b)}) {
		s.aEnd, s.bEnd = p.A, p.B
		if s.a < s.aEnd || s.b < s.bEnd {
			h.same(s.a, s.b, around)
			h.differ(s)
		}
		s.a, s.b = p.A+1, p.B+1
	}
	h.same(len(h.a), len(h.b), around)
	return h.rows, h.more
}

// splitLines cuts a text into lines, with their ends. The last may lack it.
func splitLines(s string) []string {
	lines := make([]string, 0, strings.Count(s, "\n")+1)
	for s != "" {
		i := strings.IndexByte(s, '\n') + 1
		if i == 0 {
			i = len(s)
		}
		lines = append(lines, s[:i])
		s = s[i:]
	}
	return lines
}

func lineHashes(a, b []string) (ha, hb []uint64) {
	all := make([]uint64, 0, len(a)+len(b))
	for _, list := range [][]string{a, b} {
		for _, s := range list {
			all = append(all, maphash.String(seeds.text, s))
		}
	}
	return all[:len(a):len(a)], all[len(a):]
}

type hunker struct {
	a, b   []string
	rows   []Row
	most   int
	more   int
	budget int
	// doneA is up to which line of a rows have been made, doneB of b; pending
	// are how many rows are left out before the next.
	doneA, doneB, pending int
	begun                 bool
}

func (h *hunker) add(r Row) bool {
	if len(h.rows) >= h.most {
		h.more++
		return false
	}
	r.Skipped, h.pending = h.pending, 0
	h.rows = append(h.rows, r)
	return true
}

// same makes the rows of the same up to two lines: those next to what differs.
func (h *hunker) same(a, b, around int) {
	n := a - h.doneA
	behind, before := 0, around
	if h.begun {
		behind = around
	}
	if a == len(h.a) && b == len(h.b) {
		before = 0
	}
	for k := range n {
		if k >= behind && k < n-before {
			h.pending++
			continue
		}
		if len(h.rows) < h.most { // those left out at the end are not told of
			h.add(Row{A: h.doneA + k + 1, B: h.doneB + k + 1, Old: shorten(Piece{Text: h.a[h.doneA+k]}, true), Same: true})
		}
	}
	h.doneA, h.doneB = a, b
}

// differ makes the rows of what differs.
func (h *hunker) differ(s span) {
	h.begun = true
	for s.a < s.aEnd || s.b < s.bEnd {
		var r Row
		switch {
		case len(h.rows) >= h.most:
		case s.a < s.aEnd && s.b < s.bEnd:
			r.Old, r.New = words(h.a[s.a], h.b[s.b], &h.budget)
		case s.a < s.aEnd:
			r.Old = shorten(Piece{Text: h.a[s.a], Differs: true}, true)
		default:
			r.New = shorten(Piece{Text: h.b[s.b], Differs: true}, true)
		}
		if s.a < s.aEnd {
			s.a++
			r.A = s.a
		}
		if s.b < s.bEnd {
			s.b++
			r.B = s.b
		}
		h.add(r)
	}
	h.doneA, h.doneB = s.aEnd, s.bEnd
}

const (
	// maxPiece is about how many bytes of a piece are kept, keptEnds how many at
	// each of its ends where a line goes on there.
	maxPiece = 240
	keptEnds = 40
)

// shorten leaves out the middle of a long piece, or of one that is the same all
// that is far from what differs. Alone says that the piece is the whole line.
func shorten(p Piece, alone bool) []Piece {
	most, head, tail := maxPiece, maxPiece-keptEnds, keptEnds
	if !p.Differs && !alone {
		most, head = 3*keptEnds, keptEnds
	}
	if len(p.Text) <= most {
		return []Piece{p}
	}
	from := cutBefore(p.Text, head)
	to := cutBefore(p.Text, len(p.Text)-tail)
	return []Piece{
		{Text: p.Text[:from], Differs: p.Differs},
		{LeftOut: true, Bytes: to - from, Differs: p.Differs},
		{Text: p.Text[to:], Differs: p.Differs},
	}
}

// cutBefore moves a place in a text before the character that it is in.
func cutBefore(s string, i int) int {
	for k := 0; k < 3 && i > 0 && s[i]&0xc0 == 0x80; k++ {
		i--
	}
	return i
}
