package redact

import (
	"cmp"
	"slices"
)

// An edit puts text in the place of content[start:end]. Its text is such that it
// need not be escaped, however deep the content is inside strings: letters,
// digits, and the signs of base64 and numbers.
type edit struct {
	start, end int
	text       string
}

// apply returns the content with the edits made, which are in order and apart;
// the content itself when there are none.
func apply(content []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return content
	}
	out := make([]byte, 0, len(content)+len(edits)*16)
	at := 0
	for _, e := range edits {
		out = append(out, content[at:e.start]...)
		out = append(out, e.text...)
		at = e.end
	}
	return append(out, content[at:]...)
}

// A hit is a secret in a text.
type hit struct {
	start, end int
	rule       string
	// value is the secret itself where text spells it with escapes, else nil.
	value []byte
	// number says that it is a number that is known.
	number bool
	// text is what takes its place where that is known already; done says so.
	text string
	done bool
}

// spelled is how long the secret is without its escapes: the fewest of several hits
// of one are what it is.
func (h *hit) spelled() int {
	if h.value == nil {
		return h.end - h.start
	}
	return len(h.value)
}

// replaced makes edits of hits, which may overlap: then what they cover together
// is one secret.
func (r *Redactor) replaced(text []byte, hits []hit) []edit {
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(a.spelled(), b.spelled()))
	})
	var apart []hit
	for _, h := range hits {
		if h.start >= h.end {
			continue
		}
		if n := len(apart); n > 0 && h.start < apart[n-1].end {
			last := &apart[n-1]
			if h.end > last.end {
				last.end, last.done, last.value, last.number = h.end, false, nil, false
			}
			continue
		}
		apart = append(apart, h)
	}
	var edits []edit
	for _, h := range apart {
		if h.value == nil {
			h.value = text[h.start:h.end]
		}
		if h.number {
			if r.found(h.rule, h.value) {
				edits = append(edits, edit{h.start, h.end, r.namer.number(h.value)})
			}
		} else if h.done {
			edits = append(edits, edit{h.start, h.end, h.text})
		} else if p, ok := r.replace(h.rule, h.value); ok {
			edits = append(edits, edit{h.start, h.end, p})
		}
	}
	return edits
}
