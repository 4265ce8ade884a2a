package diff

import (
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
)

// Noise is what differs among recordings of the same version: at which places,
// and, where texts differ, in which words.
type noise struct {
	places map[uint64]*noisy
}

// maxNoise is how many places are learned.
const maxNoise = 1 << 17

// A noisy place is one at which baselines differ.
type noisy struct {
	// kinds are the kinds of value that take turns there.
	kinds [jsontree.Object + 1]bool
	// templates are of texts.
	templates []*template
	// any reports that texts there have nothing in common.
	any bool
}

const (
	// maxTemplates is how many templates one place may have.
	maxTemplates = 16
	// maxTemplateText is how many bytes a text may have that a template is made
	// of.
	maxTemplateText = 64 << 10
)

// place is what findings at the same place in calls of the same tool, prompt or
// resource have in common. Elements of arrays have one place. That something is
// there or not is one, whichever side has it.
func (f *finding) place() uint64 {
	call := f.at.call()
	h := jsontree.Mix(jsontree.HashString(call.method), jsontree.HashString(call.name))
	h = jsontree.Mix(h, jsontree.HashString(f.at.message)+uint64(f.at.in))
	kind := f.kind
	if kind == Added {
		kind = Removed
	}
	h = jsontree.Mix(h, uint64(kind))
	for i, s := range f.path {
		if len(f.path) > maxPlace && i >= maxPlace/2 && i < len(f.path)-maxPlace/2 {
			continue // deep values with a change at each level would cost too much
		}
		switch s.Kind {
		case jsontree.Element:
			h = jsontree.Mix(h, 1)
		case jsontree.Inside:
			h = jsontree.Mix(h, 2)
		default:
			h = jsontree.Mix(h, jsontree.HashString(s.Name))
		}
	}
	return h
}

// maxPlace is how many steps of a path count.
const maxPlace = 64

// learn takes a finding between the first session and a baseline.
func (n *noise) learn(f *finding) {
	if f.slow != nil || len(n.places) >= maxNoise { // times are learned by timing
		return
	}
	p := n.places[f.place()]
	if p == nil {
		p = &noisy{}
		n.places[f.place()] = p
	}
	if f.kind != Changed {
		return
	}
	p.kinds[f.a.Kind()], p.kinds[f.b.Kind()] = true, true
	if f.a.Kind() != jsontree.String || f.b.Kind() != jsontree.String {
		return
	}
	t := learnTemplate(f.a.Text(), f.b.Text())
	if t == nil || len(p.templates) == maxTemplates {
		p.any = true
		return
	}
	p.templates = append(p.templates, t)
}

// has reports whether a finding is no other than those among the baselines.
func (n *noise) has(f *finding) bool {
	p := n.places[f.place()]
	switch {
	case p == nil || f.slow != nil:
		return false
	case f.kind != Changed:
		return true
	case !p.kinds[f.a.Kind()] || !p.kinds[f.b.Kind()]:
		return false
	case f.a.Kind() != jsontree.String || f.b.Kind() != jsontree.String || p.any:
		return true
	}
	a, b := f.a.Text(), f.b.Text()
	for _, t := range p.templates {
		if t.fits(a) && t.fits(b) {
			return true
		}
	}
	return false
}

// A template is what texts have in common: fixed stretches of words, and gaps
// between them in which they differ.
type template struct {
	fixed []string
	// gaps has how many words may stand before each fixed stretch, and after the
	// last.
	gaps []int
}

// gapSlack is how many more words may stand in a gap than were seen there.
const gapSlack = 2

// learnTemplate makes a template of two texts, nil if they are too long.
func learnTemplate(a, b string) *template {
	if len(a) > maxTemplateText || len(b) > maxTemplateText {
		return nil
	}
	wa, wb := splitWords(a), splitWords(b)
	t := &template{}
	var fixed []byte
	i, j := 0, 0
	for k, p := range append(jsontree.Align(hashed(wa), hashed(wb)), jsontree.Pair{A: len(wa), B: len(wb)}) {
		gap, last := max(p.A-i, p.B-j), p.A == len(wa)
		if gap > 0 || k == 0 || last {
			if k > 0 {
				t.fixed = append(t.fixed, string(fixed))
				fixed = fixed[:0]
			}
			if gap > 0 {
				gap += gapSlack
			}
			t.gaps = append(t.gaps, gap)
		}
		if !last {
			fixed = append(fixed, wa[p.A]...)
		}
		i, j = p.A+1, p.B+1
	}
	return t
}

// fits reports whether a text has the fixed stretches in order, and no more in
// the gaps than fits in.
func (t *template) fits(s string) bool {
	for i, fixed := range t.fixed {
		at := strings.Index(s, fixed)
		last := i == len(t.fixed)-1
		if last && t.gaps[i+1] == 0 { // it has to end so
			if at = len(s) - len(fixed); at < 0 || s[at:] != fixed {
				return false
			}
		}
		if at < 0 || !withinGap(s[:at], t.gaps[i]) {
			return false
		}
		s = s[at+len(fixed):]
	}
	return withinGap(s, t.gaps[len(t.gaps)-1])
}

func withinGap(s string, most int) bool {
	if most == 0 {
		return s == ""
	}
	return len(s) <= maxTemplateText && len(splitWords(s)) <= most
}

// splitWords cuts a text at white space and at the marks that set values apart in common
// formats, such as quotes, brackets and commas. Each of these is a word of its own.
func splitWords(s string) (all []string) {
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

func hashed(words []string) []uint64 {
	all := make([]uint64, len(words))
	for i, w := range words {
		all[i] = jsontree.HashString(w)
	}
	return all
}
