package filter

import (
	"strings"
	"unicode/utf8"
)

// A glob matches a whole text, whatever its case. A star stands for any
// characters, also none.
type glob struct {
	head, tail []rune // folded; what the text begins and ends with
	inner      []part // what comes in between, one after the other
}

func newGlob(s string) *glob {
	pieces := strings.Split(s, "*")
	last := len(pieces) - 1
	g := &glob{head: foldAll(pieces[0]), tail: foldAll(pieces[last])}
	for _, s := range pieces[1:last] {
		if s != "" {
			g.inner = append(g.inner, newPart(s))
		}
	}
	return g
}

func foldAll(s string) (folded []rune) {
	for _, r := range s {
		folded = append(folded, fold(r))
	}
	return folded
}

func (g *glob) match(s string) bool {
	for _, want := range g.head {
		r, n := utf8.DecodeRuneInString(s)
		if n == 0 || fold(r) != want {
			return false
		}
		s = s[n:]
	}
	for i := len(g.tail) - 1; i >= 0; i-- {
		r, n := utf8.DecodeLastRuneInString(s)
		if n == 0 || fold(r) != g.tail[i] {
			return false
		}
		s = s[:len(s)-n]
	}
	return g.between(s)
}

func (g *glob) between(s string) bool {
	part, k := 0, 0
	for _, r := range s {
		if part == len(g.inner) {
			return true
		}
		p := &g.inner[part]
		if k = p.step(k, fold(r)); k == len(p.want) {
			part, k = part+1, 0
		}
	}
	return part == len(g.inner)
}
