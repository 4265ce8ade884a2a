package redact

import (
	"bytes"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A decodedText is a text without the escapes in which it was spelled.
type decodedText struct {
	text []byte
	// turns are where the text and its spelling part ways, in order; none where
	// they are the same.
	turns []turn
}

// A turn says that text[at:] is spelled from an offset on, or, if that is
// complemented, that all up to the next turn is spelled by the escape there.
type turn struct{ at, spelled int32 }

// spelled returns where a part of the text is spelled.
func (d *decodedText) spelled(start, end int) (int, int) { return d.where(start), d.where(end) }

func (d *decodedText) where(at int) int {
	i := sort.Search(len(d.turns), func(i int) bool { return int(d.turns[i].at) > at }) - 1
	if i < 0 {
		return at
	}
	t := d.turns[i]
	if t.spelled < 0 {
		return int(^t.spelled)
	}
	return int(t.spelled) + at - int(t.at)
}

// plain adds bytes as they are spelled.
func (d *decodedText) plain(s []byte) { d.text = append(d.text, s...) }

// escape notes an escape at an offset, so long, for the bytes that were added
// behind text[:from].
func (d *decodedText) escape(from, at, size int) {
	if n := len(d.turns); n > 0 && int(d.turns[n-1].at) == from {
		d.turns = d.turns[:n-1]
	}
	d.turns = append(d.turns, turn{int32(from), ^int32(at)}, turn{int32(len(d.text)), int32(at + size)})
}

// decoded decodes a JSON string without its quotes. Half a surrogate pair becomes
// U+FFFD, which is no part of a secret.
func decoded(s []byte) decodedText {
	if bytes.IndexByte(s, '\\') < 0 {
		return decodedText{text: s}
	}
	d := decodedText{text: make([]byte, 0, len(s))}
	for i := 0; i < len(s); {
		n := bytes.IndexByte(s[i:], '\\')
		if n < 0 {
			n = len(s) - i
		}
		d.plain(s[i : i+n])
		if i += n; i < len(s) {
			from := len(d.text)
			d.text, n = appendEscaped(d.text, s[i:])
			d.escape(from, i, n)
			i += n
		}
	}
	return d
}

// loosely decodes what of a text is an escape of URLs or of JSON, wherever that is:
// in a log of what was sent, in a message that is cut off. ok is false when there
// is none. Where there are escapes of URLs, + is a blank.
func loosely(s []byte) (d decodedText, ok bool) {
	plain, coded := 0, false
	for i := bytes.IndexByte(s, '%'); i >= 0 && i+2 < len(s) && !coded; i++ {
		coded = s[i] == '%' && isHex(s[i+1]) && isHex(s[i+2])
	}
	for i := 0; i < len(s); {
		n := 0
		from := len(d.text) + i - plain
		var out []byte
		var buf [utf8.UTFMax]byte
		switch {
		case s[i] == '+' && coded:
			out, n = append(buf[:0], ' '), 1
		case s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			out, n = append(buf[:0], fromHex(fold(s[i+1]))<<4|fromHex(fold(s[i+2]))), 3
		case s[i] == '\\' && i+1 < len(s) && (strings.IndexByte(`"\/bfnrt'`, s[i+1]) >= 0 ||
			s[i+1] == 'u' && i+5 < len(s) && isHex(s[i+2]) && isHex(s[i+3]) && isHex(s[i+4]) && isHex(s[i+5])):
			out, n = appendLoosely(buf[:0], s[i:])
		}
		if n == 0 {
			i++
			continue
		}
		d.plain(s[plain:i])
		d.text = append(d.text, out...)
		d.escape(from, i, n)
		i += n
		plain = i
	}
	if d.turns == nil {
		return d, false
	}
	d.plain(s[plain:])
	return d, true
}

// appendLoosely decodes an escape of JSON that is in no string of valid JSON: the
// second half of a surrogate pair may be anything there.
func appendLoosely(dst, s []byte) ([]byte, int) {
	if s[1] == 'u' && (len(s) < 12 || !isHex(s[8]) || !isHex(s[9]) || !isHex(s[10]) || !isHex(s[11])) {
		s = s[:6]
	}
	return appendEscaped(dst, s)
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

func isHex(c byte) bool {
	c = fold(c)
	return c-'0' < 10 || c-'a' < 6
}
