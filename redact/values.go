package redact

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// What a [Values] takes for secrets that can be found again.
const (
	leastValue = 6 // bytes
	mostValue  = 256
	maxValues  = 512 // the last ones
)

// Values replaces secrets that are known, wherever they occur in streams of bytes: a
// server that repeats a token in a sentence gives it no name. They are found as they
// are, and with the escapes of JSON and URLs. Nil knows none. It does not change, so it
// may be used by several goroutines at once.
type Values struct {
	known map[string]string // pseudonyms by secrets
	order []string
	// words are spellings of secrets, by what replaces each. Alone reports of those that
	// may be ordinary words that they count only where they are not part of another.
	words, by []string
	alone     []bool
	longest   int
	auto      *automaton
	depth     []int // of the states of auto: how much of a word was read
}

// commonValues are words that stand where credentials do and are none: to replace them
// everywhere would change what was said.
var commonValues = map[string]bool{
	"bearer": true, "password": true, "secret": true, "default": true, "undefined": true, "string": true, "example": true,
	"testing": true, "unknown": true, "localhost": true, "anonymous": true,
}

// With returns Values that know a secret too. Certain reports that it stood in a place
// for credentials alone; of others those are left out that may be ordinary words. So is
// what is shorter than six bytes, longer than 256, or has no letter.
func (v *Values) With(secret, pseudonym string, certain bool) *Values {
	if len(secret) < leastValue || len(secret) > mostValue || !certain && !telling([]byte(secret)) ||
		commonValues[strings.ToLower(secret)] || !strings.ContainsFunc(secret, isLetter) {
		return v
	}
	next := &Values{known: map[string]string{secret: pseudonym}}
	if v != nil {
		if _, ok := v.known[secret]; ok {
			return v
		}
		next.order = slices.Clone(v.order[max(0, len(v.order)+1-maxValues):])
		for _, s := range next.order {
			next.known[s] = v.known[s]
		}
	}
	next.order = append(next.order, secret)
	next.build()
	return next
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= 0x80 }

func (v *Values) build() {
	seen := map[string]bool{}
	for _, secret := range v.order {
		for _, word := range spelledAs(secret) {
			if seen[word] {
				continue
			}
			seen[word] = true
			v.words, v.by = append(v.words, word), append(v.by, v.known[secret])
			v.alone = append(v.alone, !telling([]byte(secret)))
			v.longest = max(v.longest, len(word))
		}
	}
	v.auto = newAutomaton(v.words)
	v.depth = make([]int, len(v.auto.found))
	for _, w := range v.words {
		state := int32(0)
		for i := range len(w) {
			state = v.auto.step(state, w[i])
			v.depth[state] = i + 1
		}
	}
}

// spelledAs is the ways in which JSON and URLs write a secret.
func spelledAs(secret string) []string {
	all := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	if quoted, err := json.Marshal(secret); err == nil {
		all = append(all, strings.Trim(string(quoted), `"`))
	}
	if strings.Contains(secret, "/") {
		all = append(all, strings.ReplaceAll(secret, "/", `\/`))
	}
	return all
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

// hits are the longest of the secrets that begin at one place, and the first of those
// that overlap. Before is the byte before the text, 0 for none.
func (v *Values) hits(p []byte, before byte) (hits []hit) {
	if !slices.ContainsFunc(v.words, func(w string) bool { return bytes.Contains(p, []byte(w)) }) {
		return nil
	}
	v.auto.each(p, func(w int32, start, end int) {
		if string(p[start:end]) != v.words[w] {
			return
		}
		if start > 0 {
			before = p[start-1]
		}
		if v.alone[w] && (joins(before) || end < len(p) && joins(p[end])) {
			return
		}
		for len(hits) > 0 && hits[len(hits)-1].start >= start {
			hits = hits[:len(hits)-1]
		}
		if len(hits) == 0 || hits[len(hits)-1].end <= start {
			hits = append(hits, hit{start: start, end: end, rule: v.by[w]})
		}
	})
	return hits
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

// partial is how many of the last bytes may be the beginning of a secret.
func (v *Values) partial(p []byte) int {
	state := int32(0)
	for _, c := range p[max(0, len(p)-v.longest+1):] {
		state = v.auto.step(state, c)
	}
	n := v.depth[state]
	for i, w := range v.words { // one that is whole may go on as another word
		if (len(w) > n || len(w) == n && v.alone[i]) && w[:n] == string(p[len(p)-n:]) {
			return n
		}
	}
	return 0
}

// joins reports whether a byte makes one word of what is on its sides.
func joins(c byte) bool { return alnum[fold(c)] || c == '_' || c == '-' }
