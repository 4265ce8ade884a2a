package diff

import (
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
)

// A noise records the places at which recordings of the same version differ and, for texts, which
// words differ.
type noise struct {
	places map[uint64]*noisy
}

// maxNoise is the maximum number of places.
const maxNoise = 1 << 17

// A noisy is a place at which baselines differ.
type noisy struct {
	// kinds are the kinds of values seen there.
	kinds [jsontree.Object + 1]bool
	// templates match the texts seen there.
	templates []*template
	// any reports that any text is noise.
	any bool
}

const (
	// maxTemplates is the maximum number of templates for a place.
	maxTemplates = 16
	// maxTemplateText is the maximum length of a text from which a template is made.
	maxTemplateText = 64 << 10
)

// place returns the same value for findings at the same place in calls of the same tool, prompt
// or resource. The elements of an array have the same place, and so do an added and a removed
// value.
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
			continue // deep values may have changes at every level
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

// maxPlace is the maximum number of steps of a path that place uses.
const maxPlace = 64

// learn adds a finding between the first session and a baseline.
func (n *noise) learn(f *finding) {
	if f.slow != nil || len(n.places) >= maxNoise { // see timing.learn
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

// has reports whether a finding is noise.
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

// A template matches texts: fixed parts with gaps between them.
type template struct {
	fixed []string
	gaps  []int // the maximum numbers of words before each fixed part and after the last one
}

// gapSlack is the number of words that a gap may have in addition to those seen.
const gapSlack = 2

// learnTemplate returns a template that matches two texts, nil if they are too long.
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

// fits reports whether the template matches a text.
func (t *template) fits(s string) bool {
	for i, fixed := range t.fixed {
		at := strings.Index(s, fixed)
		last := i == len(t.fixed)-1
		if last && t.gaps[i+1] == 0 { // the text must end with it
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

// splitWords splits a text at white space and delimiters such as quotes, brackets and commas,
// which become separate words.
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
