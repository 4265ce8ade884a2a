package redact

import (
	"bytes"
	"math/bits"
	"net/url"
	"unicode"
	"unicode/utf8"
)

// knownRule is the name of the rule for known values.
const knownRule = "known-value"

// maxKnown is the maximum number of known values, maxKnownBytes their maximum total length.
// The automaton takes a few hundred bytes for each.
const (
	maxKnown      = 2000
	maxKnownBytes = 16 << 10
)

// A form is a searched text: a value, the digits of a number, or a part of a value without
// characters that are escaped, which only indicates that the value may occur. A word counts
// only if it stands alone. If kept is set, it is not replaced, only noted.
type form struct {
	text         string
	number, sign bool
	word, kept   bool
}

// A known holds the values that other rules found. They are searched for everywhere.
type known struct {
	values map[string]bool
	// numbers are the digits of the numbers.
	numbers map[string]bool
	list    []form
	bytes   int // of the values
	// auto finds the first built forms of the list. The others are searched for one by
	// one, to rebuild the automaton less often.
	auto  *automaton
	built int
	// hidden reports that there is a value without a part that cannot be escaped.
	hidden bool
}

// searchableNumber reports whether digits can be searched for: they are not likely to be a
// count, a size, a port, a year, a date or a sequence.
func searchableNumber(digits []byte) bool {
	if len(digits) < 6 || len(digits) > 64 || !isFigures(digits) || bytes.HasSuffix(digits, []byte("000")) || isDate(digits) {
		return false
	}
	seen, up, down := 0, true, true
	for i, c := range digits {
		seen |= 1 << (c - '0')
		if i > 0 {
			step := (c + 10 - digits[i-1]) % 10
			up, down = up && step == 1, down && step == 9
		}
	}
	return bits.OnesCount(uint(seen)) >= 4 && !up && !down
}

// isDate reports whether digits are a date such as 20261127.
func isDate(digits []byte) bool {
	if len(digits) != 8 {
		return false
	}
	century, month, day := string(digits[:2]), string(digits[4:6]), string(digits[6:])
	return (century == "19" || century == "20") && "01" <= month && month <= "12" && "01" <= day && day <= "31"
}

// addNumber adds a number. If text is set, it was found as a text and has the pseudonym of
// the text.
func (k *known) addNumber(token []byte, text bool) {
	digits := bytes.TrimPrefix(token, []byte("-"))
	if k.numbers[string(digits)] || !searchableNumber(digits) || len(k.numbers) >= maxKnown || k.bytes+len(digits) > maxKnownBytes {
		return
	}
	if k.numbers == nil {
		k.numbers = map[string]bool{}
	}
	v := string(digits)
	k.numbers[v] = true
	k.bytes += len(v)
	k.list = append(k.list, form{text: v, number: !text})
	k.rebuild()
}

// addWord adds a value that may be an ordinary word, and reports whether it is new.
func (k *known) addWord(v string, kept bool) bool {
	if k.values[v] || len(v) < 2 || len(k.values) >= maxKnown || k.bytes+len(v) > maxKnownBytes {
		return false
	}
	if k.values == nil {
		k.values = map[string]bool{}
	}
	k.values[v] = true
	k.bytes += len(v)
	k.list = append(k.list, form{text: v, word: true, kept: kept})
	if !kept {
		k.sign(v)
	}
	k.rebuild()
	return true
}

func (k *known) add(value []byte) {
	k.addNumber(value, true)
	v := string(value)
	if k.values[v] || !searchable(value) || len(k.values) >= maxKnown || k.bytes+len(v) > maxKnownBytes {
		return
	}
	if k.values == nil {
		k.values = map[string]bool{}
	}
	k.values[v] = true
	k.bytes += len(v)
	k.list = append(k.list, form{text: v})
	if u, err := url.QueryUnescape(v); err == nil && u != v && searchable([]byte(u)) && k.bytes+len(u) <= maxKnownBytes {
		k.bytes += len(u)
		k.list = append(k.list, form{text: u})
	}
	k.sign(v)
	k.addInside(value)
	k.rebuild()
}

// sign adds the part of a value that is not escaped.
func (k *known) sign(v string) {
	if part := longestWord(v); len(part) < 4 {
		k.hidden = true
	} else if part != v {
		k.list = append(k.list, form{text: part, sign: true})
	}
}

// rebuild rebuilds the automaton if it lacks too many forms.
func (k *known) rebuild() {
	if len(k.list)-k.built > max(8, k.built/4) {
		k.build()
	}
}

// addInside adds the decoded content of a value in base64, or the password of Basic
// credentials.
func (k *known) addInside(value []byte) {
	if len(value) < 8 || !textual(value) {
		return
	}
	plain, err := decode64(string(value))
	if err != nil || !utf8.Valid(plain) {
		return
	}
	if _, password, ok := bytes.Cut(plain, []byte(":")); ok {
		plain = password
	}
	k.add(plain)
}

func (k *known) build() {
	words := make([]string, len(k.list))
	for i, f := range k.list {
		words[i] = f.text
	}
	k.auto, k.built = newAutomaton(words), len(words)
}

// longestWord returns the longest run of letters and digits in a text.
func longestWord(s string) (longest string) {
	for start := 0; start < len(s); start++ {
		end := start
		for end < len(s) && alnum[s[end]] {
			end++
		}
		if end-start > len(longest) {
			longest = s[start:end]
		}
		start = end
	}
	return longest
}

// is reports whether a match of the automaton, which ignores case, is the form. Digits must
// not be part of another number or of a word.
func (f *form) is(text []byte, start, end int) bool {
	if f.word && !standsAlone(text, start, end) {
		return false
	}
	return !f.sign && string(text[start:end]) == f.text && (f.text[0] > '9' || !isFigures(text[start:end]) || isNumber(text, start, end))
}

// isNumber reports whether digits are a complete number.
func isNumber(text []byte, start, end int) bool {
	joins := func(i, beyond int) bool {
		switch {
		case i < 0 || i >= len(text):
			return false
		case text[i] == '.' || text[i] == ',':
			return beyond >= 0 && beyond < len(text) && text[beyond]-'0' < 10
		}
		return alnum[text[i]] || text[i] == '_'
	}
	return !joins(start-1, start-2) && !joins(end, end+1)
}

// standsAlone reports whether a word is not part of another one.
func standsAlone(text []byte, start, end int) bool {
	joins := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	before, _ := utf8.DecodeLastRune(text[:start])
	after, _ := utf8.DecodeRune(text[end:])
	return !joins(before) && !joins(after)
}

// each calls fn with each occurrence of a value.
func (k *known) each(text []byte, fn func(start, end int, f *form)) {
	if k.auto != nil {
		k.auto.each(text, func(w int32, start, end int) {
			if f := &k.list[w]; f.is(text, start, end) {
				fn(start, end, f)
			}
		})
	}
	for i := range k.list[k.built:] {
		f := &k.list[k.built+i]
		occurrences(text, f.text, func(start, end int) {
			if f.is(text, start, end) {
				fn(start, end, f)
			}
		})
	}
}

func occurrences(text []byte, v string, fn func(start, end int)) {
	for at := 0; ; at += len(v) {
		i := bytes.Index(text[at:], []byte(v))
		if i < 0 {
			return
		}
		at += i
		fn(at, at+len(v))
	}
}

// has reports whether a value may occur in a text.
func (k *known) has(text []byte) bool {
	if k.hidden || k.auto != nil && k.auto.any(text) {
		return true
	}
	for _, f := range k.list[k.built:] {
		if bytes.Contains(text, []byte(f.text)) {
			return true
		}
	}
	return false
}

// number reports whether a number is known.
func (k *known) number(token []byte) bool {
	return len(k.numbers) > 0 && k.numbers[string(bytes.TrimPrefix(token, []byte("-")))]
}
