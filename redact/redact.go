package redact

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap"
)

// Options are the settings of a [Redactor].
type Options struct {
	// Key is the key of the pseudonyms. It should be random and secret.
	Key []byte
	// Emails treats e-mail addresses as secrets.
	Emails bool
	// Rules are additional rules.
	Rules []Rule
	// Check reports findings without changing frames. Pseudonyms, and numbers that look like
	// pseudonyms, are not findings.
	Check bool
}

// A Place is a rule and a place where it found a secret: a lane and a path, such as
// "to_server $.params.arguments.password". Elements of arrays have no index.
type Place struct{ Rule, Where string }

// A Finding counts the secrets that a rule found at a place.
type Finding struct {
	Place
	Times uint64
	// First is the number of the first frame, 0 for the header of the recording.
	First uint64
}

// MaxFindings is the maximum number of places. Findings at others are counted with the Where
// "elsewhere".
const MaxFindings = 1000

// A Redactor rewrites the frames of one recording.
type Redactor struct {
	opt   Options
	words *automaton
	kinds []wordKind // of each word
	namer namer
	known known

	names       map[string]string         // the rules of names, see named
	expressions map[string]*regexp.Regexp // by their texts; see expression

	findings map[Place]*Finding
	used     map[string]bool // rules with a value
	// kept are the places of values that are not replaced elsewhere, as they may be ordinary words.
	kept map[string]*Finding
	// inKey is the number of lines of a private key that may follow in each lane.
	inKey [tap.Lanes]int
	// printed is the JSON on stderr that the next line may continue.
	printed printed

	// The state of the current frame.
	seq   uint64
	where string
	path  []crumb
	noted uint64 // the number of findings
	name  bool   // the text is the name of a member
	depth int    // nesting of encodings, see maxDepth
	// nested is the nesting of contents. It needs no limit, as each level of JSON in a
	// string doubles the length.
	nested int
}

// New returns a Redactor.
func New(opt Options) *Redactor {
	r := &Redactor{opt: opt, namer: newNamer(opt.Key), names: map[string]string{}, findings: map[Place]*Finding{}, used: map[string]bool{}, kept: map[string]*Finding{}}
	r.words, r.kinds = vocabulary(&opt)
	return r
}

// Findings returns the findings, ordered by rule.
func (r *Redactor) Findings() []Finding {
	var all []Finding
	for _, f := range r.findings {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.First, b.First), cmp.Compare(a.Where, b.Where))
	})
	return all
}

// Again begins another pass over the same recording. It clears the findings and keeps the
// known values.
func (r *Redactor) Again() {
	clear(r.findings)
	clear(r.inKey[:])
	r.printed = printed{}
	for _, f := range r.kept {
		f.Times, f.First = 0, 0
	}
}

// Kept returns the places of secrets that occur elsewhere but were not replaced there, since
// they may be ordinary words: Times times, first in the frame First. Each place is listed once.
func (r *Redactor) Kept() (all []Finding) {
	places := map[Place]Finding{}
	for _, f := range r.kept {
		if f.Times == 0 {
			continue
		}
		at, known := places[f.Place]
		if !known || f.First < at.First {
			at.First = f.First
		}
		at.Place, at.Times = f.Place, at.Times+f.Times
		places[f.Place] = at
	}
	all = slices.AppendSeq(all, maps.Values(places))
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Where, b.Where), cmp.Compare(a.First, b.First))
	})
	return all
}

// Unused returns the texts of the additional rules that have matched nothing.
func (r *Redactor) Unused() (all []string) {
	for _, rule := range r.opt.Rules {
		if !r.used[rule.text] {
			all = append(all, rule.text)
		}
	}
	return all
}

// Frame returns the redacted bytes of a frame, f.Raw itself if nothing changes. Frames must
// be passed in order.
func (r *Redactor) Frame(f *tap.Frame) []byte {
	r.seq, r.where = f.Seq, f.Lane.String()
	r.path, r.depth, r.nested = r.path[:0], 0, 0
	if f.Lane == tap.Stderr && f.Form == tap.FormLine && r.inKey[f.Lane] == 0 {
		if edits, found := r.printedEdits(f.Raw); found {
			return apply(f.Raw, edits)
		}
	}
	switch {
	case f.Lane == tap.Lifecycle:
		return r.lifecycle(f.Raw)
	case f.Form == tap.FormLine && f.Lane < tap.Lanes && r.inKey[f.Lane] > 0:
		return r.keyLine(f)
	case (!utf8.Valid(f.Raw) || bytes.IndexByte(f.Raw, 0) >= 0) && (f.Form == tap.FormBody || f.Form == tap.FormBytes || f.Form == tap.FormBinary):
		return r.unreadable(f.Raw)
	case f.Form == tap.FormBody && assigns(f.Raw): // of OAuth
		return apply(f.Raw, r.replaced(f.Raw, append(r.textHits(f.Raw), parameterHits(f.Raw, true)...)))
	case r.harmless(f.Raw):
		return f.Raw
	}
	var out []byte
	if f.Form == tap.FormEvent {
		out = r.event(f.Raw)
	} else {
		out = apply(f.Raw, r.edits(f.Raw))
	}
	if f.Form == tap.FormLine && f.Lane < tap.Lanes && opensKey(f.Raw) {
		r.inKey[f.Lane] = maxKeyLines
	}
	return out
}

// unreadable replaces content that is not text, which may be compressed or encrypted.
func (r *Redactor) unreadable(raw []byte) []byte {
	if !r.found("not-text", raw) {
		return raw
	}
	return fmt.Appendf(nil, "redacted: %d bytes that are not text were withheld", len(raw))
}

// Withhold returns the replacement of a frame that is too large to be searched.
func (r *Redactor) Withhold(f *tap.Frame) []byte {
	r.seq, r.where, r.path = f.Seq, f.Lane.String(), r.path[:0]
	r.note("too-large")
	if r.opt.Check {
		return f.Raw
	}
	return Withheld(f.Size)
}

// Withheld returns the text that replaces a frame of size bytes.
func Withheld(size int64) []byte {
	return fmt.Appendf(nil, "redacted: a frame of %d bytes was withheld\n", size)
}

// found counts a secret and reports whether to replace it.
func (r *Redactor) found(rule string, value []byte) bool {
	r.used[rule] = true
	if len(value) == 0 || isPseudonym(value) {
		return false
	}
	r.note(rule)
	return !r.opt.Check
}

// note counts a finding at the current place.
func (r *Redactor) note(rule string) {
	at := Place{rule, r.place()}
	f := r.findings[at]
	if f == nil {
		if len(r.findings) >= MaxFindings {
			at.Where = "elsewhere"
		}
		if f = r.findings[at]; f == nil {
			f = &Finding{Place: at, First: r.seq}
			r.findings[at] = f
		}
	}
	f.Times++
	r.noted++
}

// replace returns the pseudonym of a text, and whether to replace it.
func (r *Redactor) replace(rule string, value []byte) (string, bool) {
	if !r.found(rule, value) {
		return "", false
	}
	if rule != knownRule {
		r.know(rule, value)
	}
	return r.namer.text(value), true
}

// Know adds a value that was replaced before it reached the Redactor, to find it in base64 and with escapes.
func (r *Redactor) Know(value []byte) { r.known.add(value) }

// know searches for a secret in other places. Of those that may be ordinary words, it replaces the
// values of the user's rules and long passwords where they stand alone. What may be code is not searched for.
func (r *Redactor) know(rule string, value []byte) {
	if rule == nameRule && bytes.ContainsAny(value, "{[(") && !bytes.ContainsAny(value, figureSigns) {
		return // code that looks like a value
	}
	if r.known.add(value); searchable(value) || isFigures(value) {
		return
	}
	kept := isOrdinary(value) || rule == nameRule && !(len(value) >= leastPassword && r.atPassword())
	if !r.known.addWord(string(value), kept) || !kept {
		return
	}
	r.kept[string(value)] = &Finding{Place: Place{rule, r.place()}}
}

// leastPassword is the minimum length of an ordinary word that is searched for elsewhere if
// it is a password.
const leastPassword = 8

// atPassword reports whether the current place is a member for a password.
func (r *Redactor) atPassword() bool {
	if len(r.path) == 0 {
		return false
	}
	return isPassword(singular(plainName(unqualified(r.path[len(r.path)-1].name))))
}

// stays counts an occurrence of a value that is kept.
func (r *Redactor) stays(value string) {
	if f := r.kept[value]; f != nil {
		if f.Times++; f.First == 0 {
			f.First = r.seq
		}
	}
}

// maxWhere is the maximum length of Place.Where, in bytes.
const maxWhere = 200

// place returns the current place.
func (r *Redactor) place() string {
	s := r.where
	for i, c := range r.path {
		if i == 0 {
			s += " $"
		}
		if len(s)+len(c.name) > maxWhere {
			return s + "…"
		}
		if c.element {
			s += "[*]"
		} else {
			s += "." + c.name
		}
	}
	return s
}

// A crumb is a step of the current path: the name of a member or the index of an element.
type crumb struct {
	name    string
	element bool
}

// An edit replaces content[start:end] with text, which never needs escapes: it consists of
// letters, digits, and the characters of base64 and numbers.
type edit struct {
	start, end int
	text       string
}

// apply returns the content after edits, which are in order and do not overlap. It returns
// the content itself if there are none.
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
	// value is the decoded secret if the text has escapes, else nil.
	value []byte
	// number reports that it is a known number.
	number bool
	// text is the replacement if done is set.
	text string
	done bool
}

// spelled returns the length of the secret without escapes. Of several hits with the same
// range the shortest is right.
func (h *hit) spelled() int {
	if h.value == nil {
		return h.end - h.start
	}
	return len(h.value)
}

// replaced returns the edits for hits. Overlapping hits are one secret.
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
