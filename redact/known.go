package redact

import (
	"bytes"
	"math/bits"
	"net/url"
	"unicode/utf8"
)

// knownRule is the name under which a value is found again.
const knownRule = "known-value"

// maxKnown is how many values are remembered, and maxKnownBytes how long they may
// be together. Their automaton takes some hundred bytes for each of these.
const (
	maxKnown      = 2000
	maxKnownBytes = 16 << 10
)

// A form is what is looked for: a value, the digits of a number, or a part of a value that
// no escape can hide, which is only a sign that it may be there.
type form struct {
	text         string
	number, sign bool
}

// known are the values that were found to be secrets by their place. They are
// looked for everywhere.
type known struct {
	values map[string]bool
	// numbers are the digits of those that are numbers.
	numbers map[string]bool
	list    []form
	bytes   int // of the values
	// auto finds the first built of the list. The few behind them are looked for
	// one by one, so that it is not built anew for each.
	auto  *automaton
	built int
	// hidden says that there is a value that may be spelled so that no part of it
	// is as it was.
	hidden bool
}

// tellingNumber reports whether digits can be looked for: a count, a size, a port, a
// year, a date or the first number that comes to mind would be found where it is none.
func tellingNumber(digits []byte) bool {
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

// isDate reports whether digits are those of a day, as 20261127.
func isDate(digits []byte) bool {
	if len(digits) != 8 {
		return false
	}
	century, month, day := string(digits[:2]), string(digits[4:6]), string(digits[6:])
	return (century == "19" || century == "20") && "01" <= month && month <= "12" && "01" <= day && day <= "31"
}

// addNumber adds a number. One that was found as a text has the pseudonym of the text in
// other texts.
func (k *known) addNumber(token []byte, text bool) {
	digits := bytes.TrimPrefix(token, []byte("-"))
	if k.numbers[string(digits)] || !tellingNumber(digits) || len(k.numbers) >= maxKnown || k.bytes+len(digits) > maxKnownBytes {
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

func (k *known) add(value []byte) {
	k.addNumber(value, true)
	v := string(value)
	if k.values[v] || !telling(value) || len(k.values) >= maxKnown || k.bytes+len(v) > maxKnownBytes {
		return
	}
	if k.values == nil {
		k.values = map[string]bool{}
	}
	k.values[v] = true
	k.bytes += len(v)
	k.list = append(k.list, form{text: v})
	if u, err := url.QueryUnescape(v); err == nil && u != v && telling([]byte(u)) && k.bytes+len(u) <= maxKnownBytes {
		k.bytes += len(u)
		k.list = append(k.list, form{text: u})
	}
	if part := longestWord(v); len(part) < 4 {
		k.hidden = true
	} else if part != v {
		k.list = append(k.list, form{text: part, sign: true})
	}
	k.addInside(value)
	k.rebuild()
}

// rebuild builds the automaton anew where it lacks too many forms.
func (k *known) rebuild() {
	if len(k.list)-k.built > max(8, k.built/4) {
		k.build()
	}
}

// addInside adds what a value in base64 holds: of the credentials of Basic the
// password alone is a secret elsewhere.
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

// longestWord is the longest row of letters and digits of a text.
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

// is reports whether the part of a text that is the form's but for the case is it. Digits
// are not where they are part of another number or of a word.
func (f *form) is(text []byte, start, end int) bool {
	return !f.sign && string(text[start:end]) == f.text && (f.text[0] > '9' || !isFigures(text[start:end]) || isNumber(text, start, end))
}

// isNumber reports whether digits are all of a number.
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

// each calls fn with where a value occurs, and whether it is a number.
func (k *known) each(text []byte, fn func(start, end int, number bool)) {
	if k.auto != nil {
		k.auto.each(text, func(w int32, start, end int) {
			if f := &k.list[w]; f.is(text, start, end) {
				fn(start, end, f.number)
			}
		})
	}
	for i := range k.list[k.built:] {
		f := &k.list[k.built+i]
		occurrences(text, f.text, func(start, end int) {
			if f.is(text, start, end) {
				fn(start, end, f.number)
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

// has reports whether a value may occur in a text: the automaton does not tell
// letters apart by case.
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
