package filter

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A needle is a text to search for, whatever the case of its letters: parts
// that come one after the other, with anything between them. Each part is
// found with the algorithm of Knuth, Morris and Pratt, so no text is read
// twice, none is pathological, and it can come in pieces of any size.
type needle struct{ parts []part }

// A part is a text without stars.
type part struct {
	want []rune  // folded
	fail []int32 // fail[n]: of want[:n], the longest proper prefix that is its suffix
	// known has the bytes that can begin a character of the part, begins those
	// that can begin its first.
	known, begins [256]bool
	// least is the least number of bytes that the part takes, and skip says how
	// far from here the part can begin at the earliest, by the byte that stands
	// least-1 bytes from here (Horspool's rule).
	least int
	skip  [256]int32
	// wide are the characters beyond ASCII that fold to one in want, and mask
	// has a bit for the low bits of each.
	wide []wideRune
	mask uint64
}

// A wideRune folds to another.
type wideRune struct{ from, to rune }

// fold returns what all characters have in common that differ by case only:
// those that [strings.EqualFold] takes for equal.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		return rune(lower[r])
	}
	least := r
	for x := unicode.SimpleFold(r); x != r; x = unicode.SimpleFold(x) {
		least = min(least, x)
	}
	if least < utf8.RuneSelf {
		return rune(lower[least])
	}
	return least
}

// lower maps the ASCII letters to lower case and any other byte to itself.
var lower = func() (table [256]byte) {
	for c := range table {
		table[c] = byte(c)
		if 'A' <= c && c <= 'Z' {
			table[c] += 'a' - 'A'
		}
	}
	return table
}()

// newNeedle makes a needle of texts that follow one another. Empty ones are
// left out.
func newNeedle(texts ...string) *needle {
	n := &needle{}
	for _, s := range texts {
		if s != "" {
			n.parts = append(n.parts, newPart(s))
		}
	}
	return n
}

// newGlobNeedle makes a needle of a text in which a star stands for anything.
func newGlobNeedle(glob string) *needle { return newNeedle(strings.Split(glob, "*")...) }

func newPart(s string) part {
	p := part{}
	for _, r := range s {
		p.want = append(p.want, fold(r))
	}
	p.fail = make([]int32, len(p.want)+1)
	for i, k := 1, int32(0); i < len(p.want); i++ {
		for k > 0 && p.want[i] != p.want[k] {
			k = p.fail[k]
		}
		if p.want[i] == p.want[k] {
			k++
		}
		p.fail[i+1] = k
	}
	p.learnBytes()
	slices.SortFunc(p.wide, func(a, b wideRune) int { return int(a.from - b.from) })
	p.wide = slices.Compact(p.wide)
	return p
}

// learnBytes goes through the bytes of all ways to write the part. As cases
// differ in length, a character may begin anywhere between two places.
func (p *part) learnBytes() {
	type seen struct {
		c    byte
		last int // the last place where it can stand
	}
	var all []seen
	from, to := 0, 0
	for at, r := range p.want {
		shortest, longest := utf8.UTFMax, 0
		for x, more := r, true; more; more = x != r {
			var b [utf8.UTFMax]byte
			n := utf8.EncodeRune(b[:], x)
			for i, c := range b[:n] {
				all = append(all, seen{c, to + i})
			}
			p.known[b[0]] = true
			if at == 0 {
				p.begins[b[0]] = true
			}
			if x >= utf8.RuneSelf {
				p.wide = append(p.wide, wideRune{x, r})
				p.mask |= 1 << (x & 63)
			}
			shortest, longest = min(shortest, n), max(longest, n)
			x = unicode.SimpleFold(x)
		}
		from, to = from+shortest, to+longest
	}
	p.least = from
	for c := range p.skip {
		p.skip[c] = int32(p.least)
	}
	for _, s := range all {
		p.skip[s.c] = min(p.skip[s.c], int32(max(p.least-1-s.last, 0)))
	}
}

// none is no character of any part.
const none rune = -1

// folded returns what r folds to if that is in the part, none otherwise.
func (p *part) folded(r rune) rune {
	if p.mask>>(r&63)&1 == 0 {
		return none
	}
	i, ok := slices.BinarySearchFunc(p.wide, r, func(w wideRune, r rune) int { return int(w.from - r) })
	if !ok {
		return none
	}
	return p.wide[i].to
}

// A progress is how much of a needle was found in the text so far.
type progress struct {
	part int32 // parts that were found
	at   int32 // characters of the next part
	// held are the first bytes of a character whose others are to come.
	held  [utf8.UTFMax]byte
	nHeld uint8
}

// feed reads the next piece of the text and reports whether the needle has
// been found. After that it must not be called again.
func (n *needle) feed(s *progress, b []byte) bool {
	if s.nHeld > 0 {
		if b = n.resume(s, b); int(s.part) == len(n.parts) {
			return true
		}
	}
	for {
		i := n.parts[s.part].scan(s, b)
		if i < 0 {
			return false
		}
		b = b[i:]
		if s.part++; int(s.part) == len(n.parts) {
			return true
		}
	}
}

// scan reads b and returns where the part ends in it, -1 if it does not.
func (p *part) scan(s *progress, b []byte) int {
	k := int(s.at)
	for i := 0; i < len(b); {
		if k == 0 {
			if i = p.ahead(b, i); i >= len(b) {
				break
			}
		}
		c := b[i]
		r, size := rune(lower[c]), 1
		if c >= utf8.RuneSelf {
			switch {
			case !p.known[c]:
				r = none
			case !utf8.FullRune(b[i:]):
				s.at, s.nHeld = int32(k), uint8(copy(s.held[:], b[i:]))
				return -1
			default:
				r, size = p.decode(b[i:])
			}
		}
		i += size
		if k = p.step(k, r); k == len(p.want) {
			s.at = 0
			return i
		}
	}
	s.at = int32(k)
	return -1
}

// ahead returns the first place from i on where the part could begin, as far as
// can be seen from here.
func (p *part) ahead(b []byte, i int) int {
	if p.least < shortPart {
		for i < len(b) && !p.begins[b[i]] {
			i++
		}
		return i
	}
	for i+p.least <= len(b) {
		n := p.skip[b[i+p.least-1]]
		if n == 0 {
			break
		}
		i += int(n)
	}
	return i
}

// shortPart is the length in bytes below which looking at each byte is faster
// than skipping: a skip has to wait for the one before it.
const shortPart = 3

// step returns how much of the part has been found after the next character.
func (p *part) step(k int, r rune) int {
	for k > 0 && p.want[k] != r {
		k = int(p.fail[k])
	}
	if p.want[k] == r {
		k++
	}
	return k
}

// decode reads one character beyond ASCII. Bytes that are no UTF-8 are none.
func (p *part) decode(b []byte) (rune, int) {
	r, size := utf8.DecodeRune(b)
	if size == 1 {
		return none, 1
	}
	return p.folded(r), size
}

// resume reads the character whose first bytes were held, and returns what
// follows it in b.
func (n *needle) resume(s *progress, b []byte) []byte {
	had := int(s.nHeld)
	all := s.held[:had+copy(s.held[had:], b)]
	if !utf8.FullRune(all) {
		s.nHeld = uint8(len(all))
		return nil
	}
	s.nHeld = 0
	p := &n.parts[s.part]
	r, size := p.decode(all)
	if size == 1 { // what was held is no character, nor can its bytes begin one
		s.at = 0
		return b
	}
	if k := p.step(int(s.at), r); k == len(p.want) {
		s.part, s.at = s.part+1, 0
	} else {
		s.at = int32(k)
	}
	return b[size-had:]
}
