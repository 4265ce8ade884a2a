package tree

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

const (
	// wordBudget is how many comparisons of words all lines of a text may cost
	// that are compared exactly, and wordCells how many one line may.
	wordBudget = 4 << 20
	wordCells  = 1 << 18
)

// words compares two lines that differ, by words, and returns the pieces of
// both. It takes what the exact way may cost off the budget; where there is not
// enough left, a quicker way does, that may find less in common.
func words(a, b string, budget *int) (old, new []Piece) {
	from, end := ends(a, b)
	ta, tb := tokensWithin(a, from, end), tokensWithin(b, from, end)
	head := 0
	for head < len(ta) && head < len(tb) && ta[head] == tb[head] {
		head++
	}
	tail := 0
	for tail < min(len(ta), len(tb))-head && ta[len(ta)-1-tail] == tb[len(tb)-1-tail] {
		tail++
	}
	ma, mb := ta[head:len(ta)-tail], tb[head:len(tb)-tail]
	var pairs []Pair
	if cells := len(ma) * len(mb); cells <= min(wordCells, *budget) {
		*budget -= cells
		pairs = exactWords(ma, mb)
	} else {
		pairs = Align(lineHashes(ma, mb))
	}
	l, r := line{tokens: ta}, line{tokens: tb}
	l.same, r.same = make([]bool, len(ta)), make([]bool, len(tb))
	for i := range head {
		l.same[i], r.same[i] = true, true
	}
	for i := range tail {
		l.same[len(ta)-1-i], r.same[len(tb)-1-i] = true, true
	}
	for _, p := range pairs {
		l.same[head+p.A], r.same[head+p.B] = true, true
	}
	return l.pieces(), r.pieces()
}

// longLine is from how many bytes on what two lines begin and end with is passed over
// before they are cut into words.
const longLine = 4 << 10

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

// maxWords is how many bytes of a line are cut into words. What is longer is one word:
// words take sixteen times the memory of the text.
const maxWords = 4 << 20

// tokensWithin is tokens for a line whose beginning and end are one each.
func tokensWithin(s string, from, end int) []string {
	all := []string{s[from : len(s)-end]}
	if len(all[0]) <= maxWords {
		all = tokens(all[0])
	}
	if from > 0 {
		all = append([]string{s[:from]}, all...)
	}
	if end > 0 {
		all = append(all, s[len(s)-end:])
	}
	return all
}

// exactWords finds what two short lists of words have in common.
func exactWords(a, b []string) (pairs []Pair) {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	ids := map[string]rune{}
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = 0 // the caller bounds it by the size, so that the outcome is the same each time
	i, j := 0, 0
	for _, d := range dmp.DiffMainRunes(asRunes(a, ids), asRunes(b, ids), false) {
		n := utf8.RuneCountInString(d.Text)
		switch d.Type {
		case diffmatchpatch.DiffDelete:
			i += n
		case diffmatchpatch.DiffInsert:
			j += n
		default:
			for range n {
				pairs = append(pairs, Pair{i, j})
				i++
				j++
			}
		}
	}
	return pairs
}

// asRunes writes each different word as a character of its own.
func asRunes(words []string, ids map[string]rune) []rune {
	out := make([]rune, len(words))
	for i, w := range words {
		id, ok := ids[w]
		if !ok {
			if id = rune(len(ids) + 1); id >= 0xd800 {
				id += 0x800 // the surrogates are no characters
			}
			ids[w] = id
		}
		out[i] = id
	}
	return out
}

// tokens cuts a line into words, spaces and single other characters.
func tokens(s string) []string {
	all := make([]string, 0, len(s)/4+1)
	for len(s) > 0 {
		n := 0
		class := classOf(s)
		for n < len(s) && n < maxToken {
			_, size := utf8.DecodeRuneInString(s[n:])
			if n > 0 && (class == classOther || classOf(s[n:]) != class) {
				break
			}
			n += size
		}
		all = append(all, s[:n])
		s = s[n:]
	}
	return all
}

// maxToken is how long a word may be, so that one endless word, such as the
// base64 of a picture, is not one.
const maxToken = 64

const (
	classOther = iota
	classSpace
	classWord
)

func classOf(s string) int {
	c := s[0]
	switch {
	case c == ' ' || c-'\t' < 5:
		return classSpace
	case c|0x20-'a' < 26 || c-'0' < 10 || c == '_':
		return classWord
	case c < utf8.RuneSelf:
		return classOther
	}
	if r, _ := utf8.DecodeRuneInString(s); unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
		return classWord
	}
	return classOther
}

// A line is one side of two that are compared.
type line struct {
	tokens []string
	same   []bool
}

// pieces joins neighbours. A space between two words that differ differs too,
// as it would only cut them up.
func (l *line) pieces() (all []Piece) {
	for i := 1; i+1 < len(l.tokens); i++ {
		if l.same[i] && !l.same[i-1] && !l.same[i+1] && strings.TrimSpace(l.tokens[i]) == "" {
			l.same[i] = false
		}
	}
	for i := 0; i < len(l.tokens); {
		j, n := i, 0
		for j < len(l.tokens) && l.same[j] == l.same[i] {
			n += len(l.tokens[j])
			j++
		}
		var b strings.Builder
		b.Grow(n)
		for _, t := range l.tokens[i:j] {
			b.WriteString(t)
		}
		all = append(all, shorten(Piece{Text: b.String(), Differs: !l.same[i]}, false)...)
		i = j
	}
	return all
}

// Words splits a text at white space and at the marks that set values apart in
// common formats, such as quotes, brackets and commas. Each of these is a word
// of its own.
func Words(s string) (all []string) {
	from := 0
	for i := range len(s) {
		if strings.IndexByte(" \t\r\n\"'`()[]{}<>,;=|", s[i]) < 0 {
			continue
		}
		if from < i {
			all = append(all, s[from:i])
		}
		all = append(all, s[i:i+1])
		from = i + 1
	}
	if from < len(s) {
		all = append(all, s[from:])
	}
	return all
}

// Common returns what two lists of words have in common, in order, in time near
// to linear.
func Common(a, b []string) []Pair { return Align(lineHashes(a, b)) }
