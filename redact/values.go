package redact

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// What a [Values] takes for secrets that can be found again.
const (
	leastValue = 6 // bytes
	mostValue  = 256
	maxValues  = 512 // the last ones
)

// Values replaces secrets that are known, wherever they occur in streams of bytes: a
// server that repeats a token in a sentence gives it no name. They are found as they
// are, and with the escapes of JSON and URLs. The zero value knows none. It may be used
// by several goroutines at once.
type Values struct {
	mu    sync.Mutex
	known map[string]string // pseudonyms by secrets
	order []string
	set   atomic.Pointer[valueSet]
}

// A valueSet is what is looked for. It does not change.
type valueSet struct {
	words, by []string // spellings of secrets and what replaces each
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

// Add makes a secret known. Certain reports that it stood in a place for credentials
// alone; of others those are left out that may be ordinary words. So is what is shorter
// than six bytes, longer than 256, or has no letter.
func (v *Values) Add(secret, pseudonym string, certain bool) {
	if len(secret) < leastValue || len(secret) > mostValue || !certain && !telling([]byte(secret)) ||
		commonValues[strings.ToLower(secret)] || !strings.ContainsFunc(secret, isLetter) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.known[secret]; ok {
		return
	}
	if v.known == nil {
		v.known = map[string]string{}
	}
	if len(v.order) == maxValues {
		delete(v.known, v.order[0])
		v.order = slices.Delete(v.order, 0, 1)
	}
	v.known[secret], v.order = pseudonym, append(v.order, secret)
	v.set.Store(v.build())
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= 0x80 }

func (v *Values) build() *valueSet {
	s := &valueSet{}
	seen := map[string]bool{}
	for _, secret := range v.order {
		for _, word := range spelledAs(secret) {
			if seen[word] {
				continue
			}
			seen[word] = true
			s.words, s.by = append(s.words, word), append(s.by, v.known[secret])
			s.longest = max(s.longest, len(word))
		}
	}
	s.auto = newAutomaton(s.words)
	s.depth = make([]int, len(s.auto.found))
	for _, w := range s.words {
		state := int32(0)
		for i := range len(w) {
			state = s.auto.step(state, w[i])
			s.depth[state] = i + 1
		}
	}
	return s
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

// Empty reports whether no secret is known.
func (v *Values) Empty() bool { return v.set.Load() == nil }

// Text replaces the secrets in a text that is whole.
func (v *Values) Text(text string) string {
	if v.Empty() {
		return text
	}
	out, _ := v.Stream(nil, []byte(text), true)
	return string(out)
}

// Stream replaces the secrets in the next bytes of a stream. Held is what the last call
// for the stream returned to be held: the beginning of what may be a secret. At its end
// nothing is held.
func (v *Values) Stream(held, p []byte, end bool) (out, hold []byte) {
	s := v.set.Load()
	if s == nil {
		return p, nil
	}
	if len(held) > 0 {
		p = slices.Concat(held, p)
	}
	hits := s.hits(p)
	cut := len(p)
	if !end {
		cut -= s.partial(p)
	}
	for i, h := range hits {
		if h.start >= cut {
			hits = hits[:i]
			break
		}
		cut = max(cut, h.end)
	}
	return s.replaced(p[:cut], hits), bytes.Clone(p[cut:])
}

// hits are the longest of the secrets that begin at one place, and the first of those
// that overlap.
func (s *valueSet) hits(p []byte) (hits []hit) {
	if !slices.ContainsFunc(s.words, func(w string) bool { return bytes.Contains(p, []byte(w)) }) {
		return nil
	}
	s.auto.each(p, func(w int32, start, end int) {
		if string(p[start:end]) != s.words[w] {
			return
		}
		for len(hits) > 0 && hits[len(hits)-1].start >= start {
			hits = hits[:len(hits)-1]
		}
		if len(hits) == 0 || hits[len(hits)-1].end <= start {
			hits = append(hits, hit{start: start, end: end, rule: s.by[w]})
		}
	})
	return hits
}

// replaced returns p if there are no hits.
func (s *valueSet) replaced(p []byte, hits []hit) (out []byte) {
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
func (s *valueSet) partial(p []byte) int {
	state := int32(0)
	for _, c := range p[max(0, len(p)-s.longest+1):] {
		state = s.auto.step(state, c)
	}
	n := s.depth[state]
	if slices.ContainsFunc(s.words, func(w string) bool { return len(w) > n && w[:n] == string(p[len(p)-n:]) }) {
		return n
	}
	return 0
}
