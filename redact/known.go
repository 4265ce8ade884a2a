package redact

import (
	"bytes"
	"net/url"
)

// knownRule is the name under which a value is found again.
const knownRule = "known-value"

// maxKnown is how many values are remembered, and maxKnownBytes how long they may
// be together: their automaton takes some hundred bytes for each.
const (
	maxKnown      = 2000
	maxKnownBytes = 16 << 10
)

// known are the values that were found to be secrets by their place. They are
// looked for everywhere.
type known struct {
	values map[string]bool
	list   []string
	bytes  int
	// auto finds the first built of the list. The few behind them are looked for
	// one by one, so that it is not built anew for each.
	auto  *automaton
	built int
}

// telling reports whether a value can be looked for: one that may be an ordinary
// word, a version or a number would be found where it is none.
func telling(value []byte) bool {
	if len(value) < 6 || len(value) > 256 {
		return false
	}
	letters, figures, others := 0, 0, 0
	for _, c := range value {
		switch c = fold(c); {
		case c-'0' < 10:
			figures++
		case c-'a' < 26:
			letters++
		default:
			others++
		}
	}
	return letters > 0 && figures > 0 || len(value) >= 8 && letters > 0 && others > 0 && !nameLike(value) || len(value) >= 20
}

// nameLike reports whether a value is words with the signs between them that
// names have.
func nameLike(value []byte) bool {
	for _, c := range value {
		if c = fold(c); !(c-'a' < 26 || c == '_' || c == '-' || c == '.' || c == ' ' || c == '/' || c == ':') {
			return false
		}
	}
	return true
}

func (k *known) add(value []byte) {
	if k.values[string(value)] || !telling(value) {
		return
	}
	spellings := []string{string(value)}
	if u := url.QueryEscape(spellings[0]); u != spellings[0] {
		spellings = append(spellings, u)
	}
	if u, err := url.QueryUnescape(spellings[0]); err == nil && u != spellings[0] && telling([]byte(u)) {
		spellings = append(spellings, u)
	}
	size := 0
	for _, s := range spellings {
		size += len(s)
	}
	if len(k.list)+len(spellings) > maxKnown || k.bytes+size > maxKnownBytes {
		return
	}
	if k.values == nil {
		k.values = map[string]bool{}
	}
	k.values[spellings[0]] = true
	k.list = append(k.list, spellings...)
	k.bytes += size
	if len(k.list)-k.built > max(8, k.built/4) {
		k.auto, k.built = newAutomaton(k.list), len(k.list)
	}
}

// each calls fn with where a value occurs.
func (k *known) each(text []byte, fn func(start, end int)) {
	if k.auto != nil {
		k.auto.each(text, func(w int32, start, end int) {
			if string(text[start:end]) == k.list[w] {
				fn(start, end)
			}
		})
	}
	for _, v := range k.list[k.built:] {
		for at := 0; ; at += len(v) {
			i := bytes.Index(text[at:], []byte(v))
			if i < 0 {
				break
			}
			at += i
			fn(at, at+len(v))
		}
	}
}

// has reports whether a value may occur in a text: the automaton does not tell
// letters apart by case.
func (k *known) has(text []byte) bool {
	if k.auto != nil && k.auto.any(text) {
		return true
	}
	for _, v := range k.list[k.built:] {
		if bytes.Contains(text, []byte(v)) {
			return true
		}
	}
	return false
}
