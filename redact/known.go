package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"math/bits"
	"net/url"
	"strings"
	"unicode/utf8"
)

// knownRule is the name under which a value is found again.
const knownRule = "known-value"

// maxKnown is how many values are remembered, and maxKnownBytes how long they may
// be together; maxFormBytes is how long the other forms of them may be, of which
// the first values have some. Their automaton takes some hundred bytes for each.
const (
	maxKnown      = 2000
	maxKnownBytes = 16 << 10
	maxFormBytes  = 32 << 10
)

// A coding is how a known value may be written elsewhere. Where it is spelled with
// the escapes of URLs or JSON, these are taken off before.
type coding uint8

const (
	plainForm  coding = iota
	hexForm           // its bytes as hexadecimal digits, in either case
	coreForm          // what it alone decides of a base64 in which it stands
	trigger           // a part of it that no escape can hide
	numberForm        // the digits of a number
)

// A form is what is looked for.
type form struct {
	text   string
	coding coding
	value  string // what it is a form of
}

// known are the values that were found to be secrets by their place. They are
// looked for everywhere.
type known struct {
	values map[string]bool
	// numbers are the digits of those that are numbers.
	numbers map[string]bool
	list    []*form
	bytes   int // of the values
	more    int // of their other forms
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
	coding := numberForm
	if text {
		coding = plainForm
	}
	k.list = append(k.list, &form{v, coding, v})
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
	k.list = append(k.list, &form{v, plainForm, v})
	if u, err := url.QueryUnescape(v); err == nil && u != v && telling([]byte(u)) && k.bytes+len(u) <= maxKnownBytes {
		k.bytes += len(u)
		k.list = append(k.list, &form{u, plainForm, u})
	}
	if part := longestWord(v); len(part) < 4 {
		k.hidden = true
	} else if part != v {
		k.list = append(k.list, &form{part, trigger, v})
		k.more += len(part)
	}
	k.addCoded(v)
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

// addCoded adds what a value is as hexadecimal digits and in base64, as long as
// there is room. Of base64 these are the digits that no neighbour of the value has
// a part in: for each of the three ways in which it may stand, and each alphabet.
func (k *known) addCoded(v string) {
	forms := []*form{{hex.EncodeToString([]byte(v)), hexForm, v}}
	for shift := range 3 {
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			digits := enc.EncodeToString([]byte("  "[:shift] + v))
			core := digits[(shift*8+5)/6 : (shift+len(v))*8/6]
			if core != forms[len(forms)-1].text {
				forms = append(forms, &form{core, coreForm, v})
			}
		}
	}
	size := 0
	for _, f := range forms {
		size += len(f.text)
	}
	if k.more+size <= maxFormBytes {
		k.list, k.more = append(k.list, forms...), k.more+size
	}
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

// is reports whether the part of a text that is the form's but for the case is it.
// Digits are not where they are part of another number or of a word.
func (f *form) is(text []byte, start, end int) bool {
	if f.coding == hexForm {
		return true
	}
	return string(text[start:end]) == f.text && (f.text[0] > '9' || !isFigures(text[start:end]) || isNumber(text, start, end))
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

// each calls fn with where a value occurs, and in which form.
func (k *known) each(text []byte, fn func(start, end int, f *form)) {
	if k.auto != nil {
		k.auto.each(text, func(w int32, start, end int) {
			if f := k.list[w]; f.coding != trigger && f.is(text, start, end) {
				fn(start, end, f)
			}
		})
	}
	for _, f := range k.list[k.built:] {
		if f.coding == trigger {
			continue
		}
		occurrences(text, f.text, func(start, end int) {
			if f.is(text, start, end) {
				fn(start, end, f)
			}
		})
		if f.coding == hexForm {
			occurrences(text, strings.ToUpper(f.text), func(start, end int) { fn(start, end, f) })
		}
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
		if bytes.Contains(text, []byte(f.text)) || f.coding == hexForm && bytes.Contains(text, bytes.ToUpper([]byte(f.text))) {
			return true
		}
	}
	return false
}

// number reports whether a number is known.
func (k *known) number(token []byte) bool {
	return len(k.numbers) > 0 && k.numbers[string(bytes.TrimPrefix(token, []byte("-")))]
}
