package redact

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap"
)

// Options are the settings of a [Redactor].
type Options struct {
	// Key decides on the pseudonyms. It should be random, and secret.
	Key []byte
	// Emails counts e-mail addresses among the secrets.
	Emails bool
	// Rules are the person's own.
	Rules []Rule
	// Check changes nothing and lets pass what is a pseudonym, or a number that looks like
	// one.
	Check bool
}

// A Place is where a secret was found: a lane and a path in it, such as
// "to_server $.params.arguments.password". Elements of arrays have no numbers in
// it, so that there are not too many places.
type Place struct{ Rule, Where string }

// A Finding says how often a rule found a secret at a place.
type Finding struct {
	Place
	Times uint64
	// First is the number of the first frame, 0 for what stands beside the frames.
	First uint64
}

// MaxFindings is how many places are remembered; what is found at others counts
// under the Where "elsewhere".
const MaxFindings = 1000

// A Redactor rewrites the frames of one recording.
type Redactor struct {
	opt   Options
	words *automaton
	kinds []wordKind // of each word
	namer namer
	known known

	names       map[string]string         // the rule that a name falls under
	expressions map[string]*regexp.Regexp // by their texts; see expression

	findings map[Place]*Finding
	// inKey says of each lane that it is in the middle of a private key.
	inKey [tap.Lanes]int

	// Of the frame in work.
	seq   uint64
	where string
	path  []crumb
	depth int // of codings within codings, each of which is one of several ways to read a text
	// nested counts contents within contents. JSON in a string of JSON is twice as
	// long each time, so that it needs no limit.
	nested int
}

// New returns a Redactor.
func New(opt Options) *Redactor {
	r := &Redactor{opt: opt, namer: newNamer(opt.Key), names: map[string]string{}, findings: map[Place]*Finding{}}
	r.words, r.kinds = vocabulary(&opt)
	return r
}

// Findings returns what was found, the rules in alphabetical order.
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

// Again begins another pass over the same recording: what was found so far is
// forgotten, but for the values themselves.
func (r *Redactor) Again() {
	clear(r.findings)
	clear(r.inKey[:])
}

// Frame returns the bytes of a frame with pseudonyms in them; they are f.Raw
// itself where there is nothing to change. Frames come in their order.
func (r *Redactor) Frame(f *tap.Frame) []byte {
	r.seq, r.where = f.Seq, f.Lane.String()
	r.path, r.depth, r.nested = r.path[:0], 0, 0
	switch {
	case f.Lane == tap.Lifecycle:
		return r.life(f.Raw)
	case f.Form == tap.FormLine && f.Lane < tap.Lanes && r.inKey[f.Lane] > 0:
		return r.keyLine(f)
	case !utf8.Valid(f.Raw) && (f.Form == tap.FormBody || f.Form == tap.FormBytes || f.Form == tap.FormBinary):
		return r.unreadable(f.Raw)
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

// unreadable stands for content that is no text: compressed or encrypted, it may
// hold anything.
func (r *Redactor) unreadable(raw []byte) []byte {
	if !r.found("not-text", raw) {
		return raw
	}
	return fmt.Appendf(nil, "redacted: %d bytes that are no text were withheld", len(raw))
}

// Withhold returns what stands for a frame that has more bytes than anybody wants
// to hold: it may have secrets, too.
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

// found notes a secret and returns whether it is to be replaced.
func (r *Redactor) found(rule string, value []byte) bool {
	if len(value) == 0 || made(value) {
		return false
	}
	r.note(rule)
	return !r.opt.Check
}

// note counts a finding.
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
}

// replace returns the pseudonym of a text under a rule, and whether there is one.
func (r *Redactor) replace(rule string, value []byte) (string, bool) {
	if !r.found(rule, value) {
		return "", false
	}
	if rule != knownRule {
		r.known.add(value)
	}
	return r.namer.text(value), true
}

// maxWhere is how long the name of a place gets, in bytes.
const maxWhere = 200

// place names where the work is.
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

// A crumb is a step of the path to where the work is: the name of a member, or
// the number of an element.
type crumb struct {
	name    string
	element bool
}

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
