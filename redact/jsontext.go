package redact

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A decodedText is what is inside the quotes of a JSON string.
type decodedText struct {
	text []byte
	// at has for each byte of the text where it is spelled, and where the end is;
	// nil where text is as it is spelled.
	at []int
}

// spelled returns where in the string a part of the text is spelled.
func (d *decodedText) spelled(start, end int) (int, int) {
	if d.at == nil {
		return start, end
	}
	return d.at[start], d.at[end]
}

// decoded decodes a JSON string without its quotes. Half a surrogate pair becomes
// U+FFFD, which is no part of a secret.
func decoded(s []byte) decodedText {
	if bytes.IndexByte(s, '\\') < 0 {
		return decodedText{text: s}
	}
	d := decodedText{text: make([]byte, 0, len(s)), at: make([]int, 0, len(s)+1)}
	for i := 0; i < len(s); {
		from := len(d.text)
		n := 1
		if s[i] != '\\' {
			d.text = append(d.text, s[i])
		} else {
			d.text, n = appendEscaped(d.text, s[i:])
		}
		for range len(d.text) - from {
			d.at = append(d.at, i)
		}
		i += n
	}
	d.at = append(d.at, len(s))
	return d
}

// appendEscaped decodes the escape that s begins with, and returns its length.
func appendEscaped(dst, s []byte) ([]byte, int) {
	if s[1] != 'u' {
		if i := strings.IndexByte(`bfnrt`, s[1]); i >= 0 {
			return append(dst, "\b\f\n\r\t"[i]), 2
		}
		return append(dst, s[1]), 2
	}
	c := hex4(s[2:6])
	if utf16.IsSurrogate(c) && len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if full := utf16.DecodeRune(c, hex4(s[8:12])); full != utf8.RuneError {
			return utf8.AppendRune(dst, full), 12
		}
	}
	return utf8.AppendRune(dst, c), 6
}

func hex4(s []byte) (c rune) {
	for _, b := range s {
		c = c<<4 | rune(fromHex(fold(b)))
	}
	return c
}

// text finds the secrets of the string that is spelled at src[start:end].
func (w *walker) text(start, end int, s scope) {
	if start == end {
		return
	}
	if s.secret == "" && s.header == "" && len(w.r.opt.Rules) == 0 && w.r.harmless(w.src[start:end]) {
		return
	}
	d := decoded(w.src[start:end])
	var edits []edit
	switch {
	case s.header != "":
		edits = w.r.replaced(d.text, w.r.fieldHits(s.header, d.text))
	case s.secret != "":
		from := 0
		if i := bytes.IndexByte(d.text, ' '); s.scheme && i > 0 && isScheme(d.text[:i]) {
			from = i + 1
		}
		edits = w.r.replaced(d.text, []hit{{start: from, end: len(d.text), rule: s.secret}})
	case w.r.depth < maxDepth:
		edits = w.r.edits(d.text)
	default:
		edits = w.r.textEdits(d.text)
	}
	for _, e := range edits {
		from, to := d.spelled(e.start, e.end)
		w.edits = append(w.edits, edit{start + from, start + to, e.text})
	}
}

// assigned replaces what is behind name= in an element of an argument list, up to
// its end. own is how long name= is.
func (w *walker) assigned(start, end, own int) {
	d := decoded(w.src[start:end])
	name, _, _ := strings.Cut(string(d.text), "=")
	hits := []hit{{start: own, end: len(d.text), rule: w.r.named(strings.TrimLeft(name, "-"))}}
	for _, e := range w.r.replaced(d.text, hits) {
		from, to := d.spelled(e.start, e.end)
		w.edits = append(w.edits, edit{start + from, start + to, e.text})
	}
}
