package redact

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Limits of [Values].
const (
	leastValue = 6       // minimum length of a secret in bytes
	mostValue  = 8 << 10 // maximum length; most servers limit a header to it
	maxValues  = 512     // maximum number of secrets, not counting those that are kept
)

// Values replaces known secrets wherever they occur in byte streams, as they are and with
// the escapes of JSON and URLs. It is immutable, so several goroutines may use it. A nil
// Values has no secrets.
type Values struct {
	known []knownValue   // the oldest first
	words []spelling     // of these, in the same order
	kept  int            // the number of secrets that are never dropped
	index *spellingIndex // of words; nil for a few
}

// A knownValue is a secret, its pseudonym and the number of its spellings.
type knownValue struct {
	secret, pseudonym string
	spellings         int
}

// A spelling is an encoding of a secret. If alone is set, it may be an ordinary word and
// counts only if it is not part of another word.
type spelling struct {
	text, pseudonym string
	alone           bool
}

// commonValues are words that occur in place of credentials but are not secrets.
var commonValues = map[string]bool{
	"bearer": true, "password": true, "secret": true, "default": true, "undefined": true, "string": true, "example": true,
	"testing": true, "unknown": true, "localhost": true, "anonymous": true,
}

// A spellingIndex finds spellings by their first bytes, in a time that does not depend on
// their number.
type spellingIndex struct {
	may   [1 << indexBits]bool // by the hash of the first bytes
	words map[uint32][]int     // by the first bytes
}

const (
	indexBytes = 4 // no spelling is shorter
	indexBits  = 15
	// fewSpellings are searched for one by one, which is faster.
	fewSpellings = 16
)

func newSpellingIndex(words []spelling) *spellingIndex {
	x := &spellingIndex{words: map[uint32][]int{}}
	for i, w := range words {
		first := binary.LittleEndian.Uint32([]byte(w.text))
		x.may[hashOf(first)] = true
		x.words[first] = append(x.words[first], i)
	}
	return x
}

func hashOf(first uint32) uint32 { return first * 0x9e3779b1 >> (32 - indexBits) }

// With returns Values with another secret. certain reports that the place of the secret is
// for credentials only; other secrets are skipped if they may be ordinary words. Secrets
// shorter than six bytes, longer than 8 KiB, without a letter, or of the syntax of JSON are
// skipped too.
func (v *Values) With(secret, pseudonym string, certain bool) *Values {
	if len(secret) < leastValue || len(secret) > mostValue || !certain && !distinct(secret) ||
		commonValues[strings.ToLower(secret)] || !strings.ContainsFunc(secret, isLetter) || isSyntax(secret) {
		return v
	}
	next := new(Values)
	if v != nil {
		if slices.ContainsFunc(v.known, func(k knownValue) bool { return k.secret == secret }) {
			return v
		}
		next.known, next.words, next.kept = slices.Clone(v.known), slices.Clone(v.words), v.kept
		if len(v.known)-v.kept >= maxValues {
			next.drop(v.kept)
		}
	}
	words := spellingsOf(secret, pseudonym)
	next.known = append(next.known, knownValue{secret, pseudonym, len(words)})
	next.words = append(next.words, words...)
	if len(next.words) > fewSpellings {
		next.index = newSpellingIndex(next.words)
	}
	return next
}

// Keep returns Values that never drop the current secrets.
func (v *Values) Keep() *Values {
	if v == nil {
		return nil
	}
	next := *v
	next.kept = len(v.known)
	return &next
}

// drop removes the i-th secret.
func (v *Values) drop(i int) {
	from := 0
	for _, k := range v.known[:i] {
		from += k.spellings
	}
	v.words = slices.Delete(v.words, from, from+v.known[i].spellings)
	v.known = slices.Delete(v.known, i, i+1)
}

// distinct reports whether a text is not an ordinary word.
func distinct(s string) bool { return len(s) > 256 || searchable([]byte(s)) }

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= 0x80 }

// jsonSpace and jsonSigns are the bytes of JSON outside of its strings, numbers and words.
const (
	jsonSpace = " \t\r\n"
	jsonSigns = "{}[]:," + jsonSpace
)

// isSyntax reports whether a text without quotes may be a part of JSON outside of its
// strings, such as true}.
func isSyntax(text string) bool {
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(jsonSigns, r) }) {
		mantissa, exponent, _ := strings.Cut(strings.ToLower(w), "e")
		isNumber := strings.Trim(mantissa, "+-."+figureSigns) == "" && strings.Trim(exponent, "+-"+figureSigns) == "" && len(exponent) <= 4
		if !isNumber && !strings.Contains("true false null", w) {
			return false
		}
	}
	return true
}

// crosses reports whether a text may be a part of JSON that begins or ends a string or
// ends within an escape. If it were replaced, the JSON would become invalid.
func crosses(text string) bool {
	i, quotes := 0, false
	for ; i < len(text); i++ {
		switch text[i] {
		case '\\':
			if i++; i < len(text) && text[i] == 'u' {
				i += 4
			}
		case '"':
			quotes = true
			begins := i == 0 || strings.IndexByte("{[:,"+jsonSpace, text[i-1]) >= 0
			ends := i+1 == len(text) || strings.IndexByte("}]:,"+jsonSpace, text[i+1]) >= 0
			if !begins && !ends {
				return false
			}
		}
	}
	return quotes || i > len(text)
}

// spellingsOf returns the encodings of a secret in JSON and URLs: in JSON those of Go, of
// System.Text.Json and of Gson.
func spellingsOf(secret, pseudonym string) (words []spelling) {
	all := []string{secret, url.QueryEscape(secret), url.PathEscape(secret),
		inJSON(secret, "", ""), inJSON(secret, "+'<>&\"`", `\u%04X`), inJSON(secret, "='<>&", `\u%04x`)}
	if quoted, err := json.Marshal(secret); err == nil {
		all = append(all, string(quoted[1:len(quoted)-1]))
	}
	if strings.Contains(secret, "/") {
		all = append(all, strings.ReplaceAll(secret, "/", `\/`))
	}
	slices.Sort(all)
	for _, text := range slices.Compact(all) {
		if !crosses(text) {
			words = append(words, spelling{text, pseudonym, !distinct(secret)})
		}
	}
	return words
}

// inJSON returns the content of a JSON string, with the bytes of a set in a format.
func inJSON(s, set, format string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case strings.IndexByte(set, c) >= 0:
			fmt.Fprintf(&b, format, c)
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			fallthrough
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Text replaces the secrets in a complete text.
func (v *Values) Text(text string) string {
	if v == nil {
		return text
	}
	out, _ := v.Stream(Held{}, []byte(text), true)
	return string(out)
}

// Held is the state of a stream: the last byte that was returned, 0 for a backslash that is
// escaped, and the bytes after it, which may be the beginning of a secret.
type Held struct {
	before byte
	Data   []byte
}

// Stream replaces the secrets in the next bytes of a stream. held is the result of the
// previous call, zero for the first. At the end of the stream nothing is held.
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
		if next.before = p[cut-1]; next.before == '\\' && !opensEscape(p[:cut], held.before) {
			next.before = 0
		}
	}
	if cut < len(p) {
		next.Data = bytes.Clone(p[cut:])
	}
	return apply(p[:cut], hits), next
}

// hits returns the replacements of the secrets in a text: of those that overlap the first,
// and of those with the same start the longest. The end of an escape is not replaced. before
// is the byte before the text, 0 for none.
func (v *Values) hits(p []byte, before byte) (hits []edit) {
	v.each(p, func(w *spelling, start, end int) {
		left := before
		if start > 0 {
			left = p[start-1]
		}
		if w.alone && (joins(left) || end < len(p) && joins(p[end])) {
			return
		}
		if left == '\\' && strings.IndexByte(`"\/bfnrtu`, p[start]) >= 0 && opensEscape(p[:start], before) {
			if start++; p[start-1] == '\\' {
				return
			}
		}
		hits = append(hits, edit{start, end, w.pseudonym})
	})
	slices.SortFunc(hits, func(a, b edit) int { return cmp.Or(a.start-b.start, b.end-a.end) })
	to := 0
	return slices.DeleteFunc(hits, func(h edit) bool {
		if h.start < to {
			return true
		}
		to = h.end
		return false
	})
}

// opensEscape reports whether a text ends in a backslash that is not escaped.
func opensEscape(text []byte, before byte) bool {
	n := len(text) - len(bytes.TrimRight(text, `\`))
	return (n%2 == 1) != (n == len(text) && before == '\\')
}

// each calls fn with each occurrence of a spelling in a text.
func (v *Values) each(p []byte, fn func(w *spelling, start, end int)) {
	if v.index == nil {
		for i := range v.words {
			occurrences(p, v.words[i].text, func(start, end int) { fn(&v.words[i], start, end) })
		}
		return
	}
	for start := range max(len(p)-indexBytes+1, 0) {
		first := binary.LittleEndian.Uint32(p[start:])
		if !v.index.may[hashOf(first)] {
			continue
		}
		for _, i := range v.index.words[first] {
			w := &v.words[i]
			if end := start + len(w.text); end <= len(p) && string(p[start:end]) == w.text {
				fn(w, start, end)
			}
		}
	}
}

// partial returns the number of last bytes that may be the beginning of a secret. A secret
// that may be an ordinary word counts even if it is complete: it may continue as another word.
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

// joins reports whether a byte may be part of a word.
func joins(c byte) bool { return alnum[fold(c)] || c == '_' || c == '-' }
