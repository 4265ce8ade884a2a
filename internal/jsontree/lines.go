package jsontree

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Row is a pair of lines of two texts, side by side.
type Row struct {
	// A and B are the line numbers, from 1; 0 on a side without a line.
	A int `json:"a,omitempty"`
	B int `json:"b,omitempty"`
	// Old and New are the pieces of the lines. If Same is set, only Old is.
	Old []Piece `json:"old,omitzero"`
	New []Piece `json:"new,omitzero"`
	// Same reports that the lines are the same.
	Same bool `json:"same,omitempty"`
	// Skipped is the number of equal lines left out before this row.
	Skipped int `json:"skipped,omitempty"`
}

// A Piece is a part of a line.
type Piece struct {
	Text string `json:"text,omitempty"`
	// Differs reports that the other side differs here.
	Differs bool `json:"differs,omitempty"`
	// LeftOut is the number of bytes left out here.
	LeftOut int `json:"left_out,omitempty"`
}

// Lines compares two texts. It returns the rows that differ, with context equal rows around
// each: at most most rows, and the number of further ones. Changed lines are compared by
// words. The middle of long pieces is left out.
func Lines(a, b string, context, most int) (rows []Row, more int) {
	x := liner{a: splitLines(a), b: splitLines(b), most: most}
	var done Pair
	for _, p := range append(alignWords(x.a, x.b), Pair{len(x.a), len(x.b)}) {
		if done != p {
			x.same(done, context)
			x.differ(done, p)
		}
		done = Pair{p.A + 1, p.B + 1}
	}
	x.same(Pair{len(x.a), len(x.b)}, context)
	return x.rows, x.more
}

// splitLines returns the lines of a text with their terminators.
func splitLines(s string) []string {
	lines := make([]string, 0, strings.Count(s, "\n")+1)
	for line := range strings.Lines(s) {
		lines = append(lines, line)
	}
	return lines
}

// alignWords aligns two lists of strings.
func alignWords(a, b []string) []Pair {
	all := [2][]uint64{make([]uint64, len(a)), make([]uint64, len(b))}
	for k, list := range [2][]string{a, b} {
		for i, s := range list {
			all[k][i] = HashString(s)
		}
	}
	return Align(all[0], all[1])
}

type liner struct {
	a, b []string
	rows []Row
	most int
	more int
	done Pair // the first lines without a row
	// pending is the number of rows left out before the next.
	pending int
}

func (x *liner) add(r Row) {
	if len(x.rows) >= x.most {
		x.more++
		return
	}
	r.Skipped, x.pending = x.pending, 0
	x.rows = append(x.rows, r)
}

// same adds the context rows up to two lines.
func (x *liner) same(to Pair, context int) {
	n, behind, before := to.A-x.done.A, context, context
	if len(x.rows) == 0 {
		behind = 0
	}
	if to.A == len(x.a) && to.B == len(x.b) {
		before = 0
	}
	for k := range n {
		if k >= behind && k < n-before {
			x.pending++
		} else if len(x.rows) < x.most { // rows left out at the end are not counted
			x.add(Row{A: x.done.A + k + 1, B: x.done.B + k + 1, Old: shorten(Piece{Text: x.a[x.done.A+k]}, true), Same: true})
		}
	}
	x.done = to
}

// differ adds rows that differ.
func (x *liner) differ(from, to Pair) {
	for ; from.A < to.A || from.B < to.B; from = (Pair{min(from.A+1, to.A), min(from.B+1, to.B)}) {
		var r Row
		if from.A < to.A {
			r.A = from.A + 1
		}
		if from.B < to.B {
			r.B = from.B + 1
		}
		switch {
		case len(x.rows) >= x.most:
		case r.A > 0 && r.B > 0:
			r.Old, r.New = compareWords(x.a[from.A], x.b[from.B])
		case r.A > 0:
			r.Old = shorten(Piece{Text: x.a[from.A], Differs: true}, true)
		default:
			r.New = shorten(Piece{Text: x.b[from.B], Differs: true}, true)
		}
		x.add(r)
	}
	x.done = to
}

// compareWords compares two lines by words and returns the pieces of both.
func compareWords(a, b string) (old, now []Piece) {
	from, end := ends(a, b)
	l, r := line{tokens: tokens(a, from, end)}, line{tokens: tokens(b, from, end)}
	l.same, r.same = make([]bool, len(l.tokens)), make([]bool, len(r.tokens))
	for _, p := range alignWords(l.tokens, r.tokens) {
		l.same[p.A], r.same[p.B] = true, true
	}
	return l.pieces(), r.pieces()
}

const (
	// longLine is the minimum length of lines whose common prefix and suffix are skipped
	// before they are split into words.
	longLine = 4 << 10
	// maxWords is the maximum length of a line that is split into words. A longer one is
	// one word, as words take many times the memory of the text.
	maxWords = 4 << 20
	// maxToken is the maximum length of a word. Longer ones, such as the base64 of an
	// image, are split.
	maxToken = 64
)

// ends returns the lengths of the common prefix and suffix of two long lines, each up to a
// space.
func ends(a, b string) (from, end int) {
	most := min(len(a), len(b))
	if most < longLine {
		return 0, 0
	}
	for from < most && a[from] == b[from] {
		from++
	}
	for from > 0 && a[from-1] != ' ' {
		from--
	}
	for end < most-from && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	for end > 0 && a[len(a)-end] != ' ' {
		end--
	}
	return from, end
}

// tokens splits a line into words, spaces and other characters. The first from bytes and
// the last end bytes are a token each.
func tokens(s string, from, end int) []string {
	var all []string
	if from > 0 {
		all = append(all, s[:from])
	}
	rest := s[from : len(s)-end]
	for len(rest) > 0 {
		n, class := 0, classOf(rest)
		for n < len(rest) && (n < maxToken || len(rest) > maxWords) {
			_, size := utf8.DecodeRuneInString(rest[n:])
			if n > 0 && len(rest) <= maxWords && (class == classOther || classOf(rest[n:]) != class) {
				break
			}
			n += size
		}
		all = append(all, rest[:n])
		rest = rest[n:]
	}
	if end > 0 {
		all = append(all, s[len(s)-end:])
	}
	return all
}

const (
	classOther = iota
	classSpace
	classWord
)

func classOf(s string) int {
	r, _ := utf8.DecodeRuneInString(s)
	switch {
	case r == ' ' || r >= '\t' && r <= '\r':
		return classSpace
	case r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)):
		return classWord
	}
	return classOther
}

// A line is one of two lines that are compared.
type line struct {
	tokens []string
	same   []bool
}

// pieces joins adjacent tokens. A space between two words that differ counts as a
// difference too.
func (l *line) pieces() (all []Piece) {
	for i := 1; i+1 < len(l.tokens); i++ {
		if l.same[i] && !l.same[i-1] && !l.same[i+1] && strings.TrimSpace(l.tokens[i]) == "" {
			l.same[i] = false
		}
	}
	for i := 0; i < len(l.tokens); {
		j := i
		for j < len(l.tokens) && l.same[j] == l.same[i] {
			j++
		}
		all = append(all, shorten(Piece{Text: strings.Join(l.tokens[i:j], ""), Differs: !l.same[i]}, false)...)
		i = j
	}
	return all
}

const (
	// maxPiece is the approximate maximum length of a piece, keptEnds the number of bytes
	// that are kept next to another piece.
	maxPiece = 240
	keptEnds = 40
)

// shorten leaves out the middle of a long piece. Of an equal piece it keeps only the ends,
// unless alone is set: the piece is the whole line.
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
		{LeftOut: to - from, Differs: p.Differs},
		{Text: p.Text[to:], Differs: p.Differs},
	}
}

// cutBefore returns the start of the character at an index.
func cutBefore(s string, i int) int {
	for k := 0; k < 3 && i > 0 && s[i]&0xc0 == 0x80; k++ {
		i--
	}
	return i
}
