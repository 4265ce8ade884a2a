package redact

import (
	"bytes"
	"strings"
)

// text finds the secrets of the string that is spelled at src[start:end].
func (w *walker) text(start, end int, s scope) {
	if start == end {
		return
	}
	if s.secret == "" && s.header == "" && !s.field && !s.user && len(w.r.opt.Rules) == 0 && w.r.harmless(w.src[start:end]) {
		return
	}
	d := decoded(w.src[start:end])
	var edits []edit
	switch {
	case s.header != "":
		edits = w.r.replaced(d.text, w.r.fieldHits(s.header, d.text))
	case s.field:
		edits = w.r.replaced(d.text, w.r.lineHits(d.text))
	case s.user:
		edits = w.r.replaced(d.text, w.r.userHits(d.text))
	case s.secret != "":
		from := 0
		if i := bytes.IndexByte(d.text, ' '); s.scheme && i > 0 && isScheme(d.text[:i]) {
			from = i + 1
		}
		if s.secret != nameRule || !s.explained(d.text[from:]) {
			edits = w.r.replaced(d.text, []hit{{start: from, end: len(d.text), rule: s.secret}})
		}
	default:
		edits = w.r.edits(d.text)
	}
	for _, e := range edits {
		from, to := d.spelled(e.start, e.end)
		w.edits = append(w.edits, edit{start + from, start + to, e.text})
	}
}

// assigned replaces what is behind name= in an element of an argument list, up to
// its end. own is how long name= is.
func (w *walker) assigned(start, end, own int) {
	d := decoded(w.src[start:end])
	name, _, _ := strings.Cut(string(d.text), "=")
	hits := []hit{{start: own, end: len(d.text), rule: w.r.named(strings.TrimLeft(name, "-"))}}
	for _, e := range w.r.replaced(d.text, hits) {
		from, to := d.spelled(e.start, e.end)
		w.edits = append(w.edits, edit{start + from, start + to, e.text})
	}
}
