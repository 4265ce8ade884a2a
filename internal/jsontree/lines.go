package jsontree

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Row is a line of each of two texts, side by side.
type Row struct {
	// A and B are the numbers of the lines, from 1; 0 where that text has none.
	A int `json:"a,omitempty"`
	B int `json:"b,omitempty"`
	// Old and New are the pieces of the lines. Those of a line that is the same on both
	// sides are in Old.
	Old []Piece `json:"old,omitzero"`
	New []Piece `json:"new,omitzero"`
	// Same reports that the lines are the same.
	Same bool `json:"same,omitempty"`
	// Skipped is how many rows of the same are left out before this one.
	Skipped int `json:"skipped,omitempty"`
}

// A Piece is a part of a line.
type Piece struct {
	Text string `json:"text,omitempty"`
	// Differs reports that the other side has something else here, or nothing.
	Differs bool `json:"differs,omitempty"`
	// LeftOut is how many bytes are left out here.
	LeftOut int `json:"left_out,omitempty"`
}

// Lines returns where two texts differ: the rows that do, each with context rows around
// it that are the same. It returns at most most rows, and how many more there are. Lines
// that were changed are compared by words. The middle of what is long is left out.
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

// splitLines cuts a text into lines, with their ends. The last may lack it.
func splitLines(s string) []string {
	lines := make([]string, 0, strings.Count(s, "\n")+1)
	for line := range strings.Lines(s) {
		lines = append(lines, line)
	}
	return lines
}

// alignWords aligns two lists of texts.
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
	done Pair // up to which lines rows have been made
	// pending is how many rows are left out before the next.
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

// same makes the rows of the same up to two lines: those next to what differs.
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
		} else if len(x.rows) < x.most { // those left out at the end are not counted
			x.add(Row{A: x.done.A + k + 1, B: x.done.B + k + 1, Old: shorten(Piece{Text: x.a[x.done.A+k]}, true), Same: true})
		}
	}
	x.done = to
}

// differ makes the rows of what differs.
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

// compareWords compares two lines that differ, by words, and returns the pieces of both.
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
	// longLine is from how many bytes on what two lines begin and end with is passed
	// over before they are cut into words.
	longLine = 4 << 10
	// maxWords is how many bytes of a line are cut into words. What is longer is one
	// word: words take many times the memory of the text.
	maxWords = 4 << 20
	// maxToken is how long a word may be, so that one endless word, such as the base64
	// of a picture, is not one.
	maxToken = 64
)

// ends returns how many bytes two long lines have in common at their beginnings and at
// their ends, each up to a space.
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

// tokens cuts a line into words, spaces and single other characters, but for its
// beginning and its end.
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

// A line is one side of two that are compared.
type line struct {
	tokens []string
	same   []bool
}

// pieces joins neighbours. A space between two words that differ differs too, as it
// would only cut them up.
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
	// maxPiece is about how many bytes of a piece are kept, keptEnds how many at each of
	// its ends where a line goes on there.
	maxPiece = 240
	keptEnds = 40
)

// shorten leaves out the middle of a long piece, or of one that is the same all that is
// far from what differs. Alone reports that the piece is the whole line.
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

// cutBefore moves a place in a text before the character that it is in.
func cutBefore(s string, i int) int {
	for k := 0; k < 3 && i > 0 && s[i]&0xc0 == 0x80; k++ {
		i--
	}
	return i
}
