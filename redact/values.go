package redact

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// What a [Values] takes for secrets that can be found again.
const (
	leastValue = 6       // bytes
	mostValue  = 8 << 10 // as long as a head may be at most servers
	maxValues  = 512     // the last ones, beside those that are kept
)

// Values replaces secrets that are known, wherever they occur in streams of bytes: a
// server that repeats a token in a sentence gives it no name. They are found as they
// are, and with the escapes of JSON and URLs. Nil knows none. It does not change, so it
// may be used by several goroutines at once.
type Values struct {
	known []knownValue // the oldest first
	words []spelling   // of these, in their order
	kept  int          // how many of the first are never left out
	// index finds the words in a text; nil for a few.
	index *spellingIndex
}

// A knownValue is a secret, what replaces it, and how many spellings it has.
type knownValue struct {
	secret, pseudonym string
	spellings         int
}

// A spelling is a way to write a secret. Alone reports that it may be an ordinary word,
// so it counts only where it is not part of another word.
type spelling struct {
	text, pseudonym string
	alone           bool
}

// commonValues are words that stand where credentials do but are not secrets: to replace
// them everywhere would change what was said.
var commonValues = map[string]bool{
	"bearer": true, "password": true, "secret": true, "default": true, "undefined": true, "string": true, "example": true,
	"testing": true, "unknown": true, "localhost": true, "anonymous": true,
}

// A spellingIndex finds the spellings that begin at a place of a text by the first bytes
// there, so that it takes as long to look for many as for few.
type spellingIndex struct {
	may   [1 << (indexBits - 6)]uint64 // a bit for each hash of first bytes
	heads []spellingHead               // ordered by first
}

type spellingHead struct {
	first uint32 // the first indexBytes, little-endian
	word  int
}

const (
	indexBytes = 4 // no spelling is shorter
	indexBits  = 15
	// fewSpellings are looked for one by one, which is quicker.
	fewSpellings = 16
)

func newSpellingIndex(words []spelling) *spellingIndex {
	x := &spellingIndex{heads: make([]spellingHead, len(words))}
	for i, w := range words {
		first := binary.LittleEndian.Uint32([]byte(w.text[:indexBytes]))
		x.heads[i] = spellingHead{first, i}
		h := hashOf(first)
		x.may[h/64] |= 1 << (h % 64)
	}
	slices.SortFunc(x.heads, func(a, b spellingHead) int { return cmp.Compare(a.first, b.first) })
	return x
}

func hashOf(first uint32) uint32 { return first * 0x9e3779b1 >> (32 - indexBits) }

// mayBegin reports whether a spelling may begin with these bytes.
func (x *spellingIndex) mayBegin(first uint32) bool {
	h := hashOf(first)
	return x.may[h/64]&(1<<(h%64)) != 0
}

// beginning returns the spellings that begin with these bytes.
func (x *spellingIndex) beginning(first uint32) []spellingHead {
	from, _ := slices.BinarySearchFunc(x.heads, first, func(h spellingHead, first uint32) int { return cmp.Compare(h.first, first) })
	to := from
	for to < len(x.heads) && x.heads[to].first == first {
		to++
	}
	return x.heads[from:to]
}

// With returns Values that know a secret too. Certain reports that it stood in a place
// for credentials alone; of others those are left out that may be ordinary words. So is
// what is shorter than six bytes, longer than 8 KiB, or has no letter.
func (v *Values) With(secret, pseudonym string, certain bool) *Values {
	if len(secret) < leastValue || len(secret) > mostValue || !certain && !distinct(secret) ||
		commonValues[strings.ToLower(secret)] || !strings.ContainsFunc(secret, isLetter) {
		return v
	}
	next := new(Values)
	if v != nil {
		if slices.ContainsFunc(v.known, func(k knownValue) bool { return k.secret == secret }) {
			return v
		}
		next.known, next.words, next.kept = slices.Clone(v.known), slices.Clone(v.words), v.kept
		if len(v.known)-v.kept >= maxValues {
			next.leaveOut(v.kept)
		}
	}
	words := written(secret, pseudonym)
	next.known = append(next.known, knownValue{secret, pseudonym, len(words)})
	next.words = append(next.words, words...)
	if len(next.words) > fewSpellings {
		next.index = newSpellingIndex(next.words)
	}
	return next
}

// Keep returns Values that leave out none of those known so far, however many follow.
func (v *Values) Keep() *Values {
	if v == nil {
		return nil
	}
	next := *v
	next.kept = len(v.known)
	return &next
}

// leaveOut removes the i-th secret.
func (v *Values) leaveOut(i int) {
	from := 0
	for _, k := range v.known[:i] {
		from += k.spellings
	}
	v.words = slices.Delete(v.words, from, from+v.known[i].spellings)
	v.known = slices.Delete(v.known, i, i+1)
}

// distinct reports whether a text is not an ordinary word.
func distinct(s string) bool { return len(s) > 256 || telling([]byte(s)) }

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= 0x80 }

// written returns the ways in which JSON and URLs write a secret.
func written(secret, pseudonym string) (words []spelling) {
	all := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	if quoted, err := json.Marshal(secret); err == nil {
		all = append(all, string(quoted[1:len(quoted)-1]))
	}
	if strings.Contains(secret, "/") {
		all = append(all, strings.ReplaceAll(secret, "/", `\/`))
	}
	slices.Sort(all)
	for _, text := range slices.Compact(all) {
		words = append(words, spelling{text, pseudonym, !distinct(secret)})
	}
	return words
}

// Text replaces the secrets in a text that is whole.
func (v *Values) Text(text string) string {
	if v == nil {
		return text
	}
	out, _ := v.Stream(Held{}, []byte(text), true)
	return string(out)
}

// Held is what has to be known of the bytes of a stream so far: the last one that was
// returned, and those behind it, which may be the beginning of a secret.
type Held struct {
	before byte
	Data   []byte
}

// Stream replaces the secrets in the next bytes of a stream, whose last call returned
// what is held, zero before the first. At the end of the stream nothing is held.
func (v *Values) Stream(held Held, p []byte, end bool) (out []byte, next Held) {
	if len(held.Data) > 0 {
		p = slices.Concat(held.Data, p)
	}
	if v == nil || len(p) == 0 {
		return p, Held{before: held.before}
	}
	hits := v.hits(p, held.before)
	cut := len(p)
	if !end {
		cut -= v.partial(p)
	}
	for i, h := range hits {
		if h.start >= cut {
			hits = hits[:i]
			break
		}
		cut = max(cut, h.end)
	}
	if next.before = held.before; cut > 0 {
		next.before = p[cut-1]
	}
	if cut < len(p) {
		next.Data = bytes.Clone(p[cut:])
	}
	return v.replaced(p[:cut], hits), next
}

// hits are the secrets in a text, of those that overlap the first and, where several
// begin at one place, the longest. Before is the byte before the text, 0 for none.
func (v *Values) hits(p []byte, before byte) (hits []hit) {
	v.each(p, func(w *spelling, start, end int) {
		left := before
		if start > 0 {
			left = p[start-1]
		}
		if !w.alone || !joins(left) && (end == len(p) || !joins(p[end])) {
			hits = append(hits, hit{start: start, end: end, rule: w.pseudonym})
		}
	})
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(a.start-b.start, b.end-a.end) })
	to := 0
	return slices.DeleteFunc(hits, func(h hit) bool {
		if h.start < to {
			return true
		}
		to = h.end
		return false
	})
}

// each calls fn with where each spelling occurs in a text.
func (v *Values) each(p []byte, fn func(w *spelling, start, end int)) {
	if v.index == nil {
		for i := range v.words {
			occurrences(p, v.words[i].text, func(start, end int) { fn(&v.words[i], start, end) })
		}
		return
	}
	for start := range max(len(p)-indexBytes+1, 0) {
		first := binary.LittleEndian.Uint32(p[start:])
		if !v.index.mayBegin(first) {
			continue
		}
		for _, h := range v.index.beginning(first) {
			w := &v.words[h.word]
			if end := start + len(w.text); end <= len(p) && string(p[start:end]) == w.text {
				fn(w, start, end)
			}
		}
	}
}

// replaced returns p if there are no hits.
func (v *Values) replaced(p []byte, hits []hit) (out []byte) {
	if len(hits) == 0 {
		return p
	}
	at := 0
	for _, h := range hits {
		out = append(append(out, p[at:h.start]...), h.rule...)
		at = h.end
	}
	return append(out, p[at:]...)
}

// partial is how many of the last bytes may be the beginning of a secret. One that may be
// an ordinary word may be there whole, and go on as another word.
func (v *Values) partial(p []byte) (most int) {
	for i := range v.words {
		w := &v.words[i]
		n := len(w.text) - 1
		if w.alone {
			n++
		}
		tail := p[len(p)-min(n, len(p)):]
		for len(tail) > most {
			at := bytes.IndexByte(tail, w.text[0])
			if at < 0 {
				break
			}
			if tail = tail[at:]; len(tail) > most && w.text[:len(tail)] == string(tail) {
				most = len(tail)
			}
			tail = tail[1:]
		}
	}
	return most
}

// joins reports whether a byte makes one word of what is on its sides.
func joins(c byte) bool { return alnum[fold(c)] || c == '_' || c == '-' }
