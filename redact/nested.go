package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A span is a part of a text.
type span struct{ start, end int }

// embedded finds the secrets in JSON objects and arrays inside a text, such as a log line
// or Markdown, and the ranges of these. Their names and values are exact.
func (r *Redactor) embedded(text []byte) (hits []hit, in []span) {
	if r.depth >= maxDepth {
		return nil, nil
	}
	room := 2*len(text) + 4096 // bytes to read, so that the time is linear
	for i := 0; i < len(text) && room > 0; i++ {
		n := bytes.IndexAny(text[i:], "{[")
		if n < 0 {
			break
		}
		if i += n; !beginsJSON(text[i:]) {
			continue
		}
		size, read := valueSize(text[i:])
		if room -= read; size == 0 {
			continue
		}
		r.depth++
		w := walker{r: r, src: text[i : i+size]}
		w.value(scope{})
		r.depth--
		for _, e := range w.edits {
			hits = append(hits, hit{start: i + e.start, end: i + e.end, text: e.text, done: true})
		}
		in = append(in, span{i, i + size})
		i += size - 1
	}
	return hits, in
}

// beginsJSON reports whether a bracket may begin an object, or an array with a named value
// inside.
func beginsJSON(text []byte) bool {
	after := bytes.TrimLeft(text[1:min(len(text), 256)], blanks)
	if len(after) == 0 {
		return false
	}
	return after[0] == '"' || text[0] == '[' && after[0] == '{'
}

// valueSize returns the size of the JSON value at the beginning of a text, 0 if there is
// none, and the number of bytes read.
func valueSize(text []byte) (size, read int) {
	d := json.NewDecoder(bytes.NewReader(text))
	var value json.RawMessage
	err := d.Decode(&value)
	var wrong *json.SyntaxError
	switch {
	case err == nil:
		return int(d.InputOffset()), int(d.InputOffset())
	case errors.As(err, &wrong):
		return 0, max(1, int(wrong.Offset))
	}
	return 0, len(text)
}

// outside returns the hits that do not begin in any of the spans, which are in order.
func outside(hits []hit, spans []span) []hit {
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Compare(a.start, b.start) })
	kept := hits[:0]
	for _, h := range hits {
		in := false
		for len(spans) > 0 && spans[0].end <= h.start {
			spans = spans[1:]
		}
		if len(spans) > 0 {
			in = spans[0].start <= h.start
		}
		if !in {
			kept = append(kept, h)
		}
	}
	return kept
}

const (
	// leastRun is the length of the shortest base64 that is decoded.
	leastRun = 24
	// maxDepth is the maximum depth of nested encodings, such as URL escapes in base64 in a
	// log message.
	maxDepth = 6
	// sample is the number of bytes that are decoded to detect text.
	sample = 64
)

// coded64 are the bytes of both base64 alphabets, without padding.
var coded64 = newCharset(asciiAlnum + "++//--__")

// eachRun calls fn with the runs of base64 that are long enough, until it returns false.
func eachRun(text []byte, fn func(start, end int) bool) { eachRunOf(text, leastRun, fn) }

// eachRunOf is like eachRun with another minimum length. Runs do not include padding.
func eachRunOf(text []byte, least int, fn func(start, end int) bool) {
	for i := 0; i < len(text); {
		if !coded64[text[i]] {
			i++
			continue
		}
		start := i
		for i < len(text) && coded64[text[i]] {
			i++
		}
		end := i
		for i < len(text) && text[i] == '=' && i-end < 2 {
			i++
		}
		if end-start >= least && !fn(start, i) {
			return
		}
	}
}

// eachBlock calls fn with the blocks of base64. The lines of a block have the same length,
// except for the last.
func eachBlock(text []byte, fn func(lines []span)) {
	var lines []span
	flush := func() {
		if len(lines) > 0 {
			fn(lines)
		}
		lines = lines[:0]
	}
	// The last line may be short, so this visits all runs.
	eachRunOf(text, 1, func(start, end int) bool {
		if n := len(lines); n > 0 && continues(text, lines[n-1], span{start, end}) {
			first := lines[0].end - lines[0].start
			if lines[n-1].end-lines[n-1].start == first && end-start <= first {
				lines = append(lines, span{start, end})
				return true
			}
		}
		flush()
		if len(bytes.TrimRight(text[start:end], "=")) >= leastRun {
			lines = append(lines, span{start, end})
		}
		return true
	})
	flush()
}

// continues reports whether a run is on the line after another one, separated only by white
// space.
func continues(text []byte, line, next span) bool {
	between := text[line.end:next.start]
	return text[line.end-1] != '=' && len(between) <= maxIndent && bytes.Count(between, []byte("\n")) == 1 && len(bytes.Trim(between, " \t\r\n")) == 0
}

// maxIndent is the maximum white space between lines of base64.
const maxIndent = 64

// hasRun reports whether there is a run that may be base64 of text. It may follow an escape
// that ends in a letter, such as \n.
func hasRun(text []byte) (found bool) {
	eachRun(text, func(start, end int) bool {
		for _, n := range escapeSizes(text, start) {
			found = found || end-start-n >= leastRun && textual(text[start+n:end])
		}
		return !found
	})
	return found
}

// escapeSizes are the possible lengths of the rest of an escape at the beginning of a run.
func escapeSizes(text []byte, start int) []int {
	switch {
	case start > 0 && text[start-1] == '\\':
		return jsonEscapes[:]
	case start > 0 && text[start-1] == '%':
		return urlEscapes[:]
	}
	return urlEscapes[:1]
}

var (
	jsonEscapes = [...]int{0, len(`n`), len(`u000a`)}
	urlEscapes  = [...]int{0, len(`0a`)}
)

// textual reports whether a run decodes to text.
func textual(run []byte) bool {
	head := run
	if len(head) > sample {
		head = head[:sample]
	}
	plain, err := decode64(string(head))
	if err != nil {
		return false
	}
	for i := 0; i < len(plain); {
		c, n := utf8.DecodeRune(plain[i:])
		if c == utf8.RuneError && n == 1 {
			return len(run) > len(head) && len(plain)-i < utf8.UTFMax // truncated by the sample
		}
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\x1b' || c == 0x7f {
			return false
		}
		i += n
	}
	return true
}

// encoded finds secrets in base64, which may span lines. A run is replaced by the base64 of
// its redacted content.
func (r *Redactor) encoded(text []byte) (hits []hit) {
	if r.depth >= maxDepth {
		return nil
	}
	r.depth++
	defer func() { r.depth-- }()
	try := func(lines []span) bool {
		found, ok := r.inBlock(text, lines)
		hits = append(hits, found...)
		return ok
	}
	eachBlock(text, func(lines []span) {
		last := len(lines) - 1
		if try(lines) || last == 0 {
			return
		}
		if try(lines[:last]) { // without the last, a word after the base64
			try(lines[last:])
			return
		}
		for i := range lines {
			try(lines[i : i+1])
		}
	})
	return hits
}

// codedEnd returns the end of the base64 at an offset, which does not continue past a slash if
// one precedes it.
func codedEnd(text []byte, at int) int {
	for slash := text[at-1] == '/'; at < len(text) && coded64[text[at]] && !(slash && text[at] == '/'); at++ {
	}
	for n := 0; n < 2 && at < len(text) && text[at] == '='; n++ {
		at++
	}
	return at
}

// encodedAt finds the secrets in base64 that is only a part of a run.
func (r *Redactor) encodedAt(text []byte, part span) (hits []hit) {
	if r.depth >= maxDepth || part.end-part.start < leastRun {
		return nil
	}
	r.depth++
	defer func() { r.depth-- }()
	hits, _ = r.inBlock(text, []span{part})
	return hits
}

// inBlock finds the secrets in a block of base64. ok reports that it is base64 of text.
// Each changed line is a hit of its own, so that the text between the lines is kept. Only
// the last line may become longer.
func (r *Redactor) inBlock(text []byte, lines []span) (hits []hit, ok bool) {
	run := joined(text, lines)
	if !textual([]byte(run)) {
		return nil, false
	}
	plain, err := decode64(run)
	if err != nil || !utf8.Valid(plain) {
		return nil, false
	}
	edits := r.edits(plain)
	if len(edits) == 0 {
		return nil, true
	}
	enc := alphabet(run)
	if run[len(run)-1] == '=' || len(run)%4 == 0 && enc == base64.RawStdEncoding { // it may not need padding
		enc = enc.WithPadding('=')
	}
	left := enc.EncodeToString(apply(plain, edits))
	for i, l := range lines {
		n := min(l.end-l.start, len(left))
		if i == len(lines)-1 {
			n = len(left)
		}
		if left[:n] != string(text[l.start:l.end]) {
			hits = append(hits, hit{start: l.start, end: l.end, text: left[:n], done: true})
		}
		left = left[n:]
	}
	return hits, true
}

// joined returns parts of a text, concatenated.
func joined(text []byte, parts []span) string {
	if len(parts) == 1 {
		return string(text[parts[0].start:parts[0].end])
	}
	var b strings.Builder
	for _, p := range parts {
		b.Write(text[p.start:p.end])
	}
	return b.String()
}

// A decodedText is a text without its escapes.
type decodedText struct {
	text []byte
	// turns are the positions at which the offsets of the text and of its encoding diverge,
	// in order. It is empty if they are the same.
	turns []turn
}

// A turn maps text[at:] to an offset of the encoding. A complemented offset is that of an
// escape, which encodes everything up to the next turn.
type turn struct{ at, spelled int32 }

func (t turn) offset() int {
	if t.spelled < 0 {
		return int(^t.spelled)
	}
	return int(t.spelled)
}

// spelled returns the encoding of a part of the text, without the escapes for nothing around
// it.
func (d *decodedText) spelled(start, end int) (from, to int) {
	i := sort.Search(len(d.turns), func(i int) bool { return int(d.turns[i].at) >= end })
	if i < len(d.turns) && int(d.turns[i].at) == end {
		return d.where(start), d.turns[i].offset()
	}
	return d.where(start), d.where(end)
}

func (d *decodedText) where(at int) int {
	i := sort.Search(len(d.turns), func(i int) bool { return int(d.turns[i].at) > at }) - 1
	if i < 0 {
		return at
	}
	t := d.turns[i]
	if t.spelled < 0 {
		return t.offset()
	}
	return t.offset() + at - int(t.at)
}

// plain appends bytes that are not escaped.
func (d *decodedText) plain(s []byte) { d.text = append(d.text, s...) }

// escape records an escape of a given size at an offset, for the bytes appended after
// text[:from].
func (d *decodedText) escape(from, at, size int) {
	if n := len(d.turns); n > 0 && int(d.turns[n-1].at) == from {
		d.turns = d.turns[:n-1]
	}
	d.turns = append(d.turns, turn{int32(from), ^int32(at)}, turn{int32(len(d.text)), int32(at + size)})
}

// decoded decodes a JSON string without its quotes. A lone surrogate becomes U+FFFD, which
// is not part of a secret.
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

// loosely decodes the escapes of URLs, JSON, HTML and code anywhere in a text, such as a log or a
// truncated message, and drops the colours of a terminal. ok is false if there are none.
// With URL escapes, + is a space.
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
		case s[i] == '\\' && i+3 < len(s) && s[i+1] == 'x' && s[i+2] < '8' && isHex(s[i+2]) && isHex(s[i+3]):
			out, n = append(buf[:0], fromHex(s[i+2])<<4|fromHex(fold(s[i+3]))), 4
		case s[i] == '\x1b':
			n = colourSize(s[i:])
		case s[i] == '&':
			var c byte
			if c, n = entity(s[i:]); n > 0 {
				out = append(buf[:0], c)
			}
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

// colourSize returns the length of the escape sequence at the beginning of s if it sets a
// colour or a style.
func colourSize(s []byte) int {
	for i, c := range s[1:min(len(s), 32)] {
		switch {
		case i == 0 && c == '[', i > 0 && (c-'0' < 10 || c == ';' || c == ':'):
		case i > 0 && c == 'm':
			return i + 2
		default:
			return 0
		}
	}
	return 0
}

// entities are the names of characters that HTML and XML escape in an attribute or a text.
var entities = map[string]byte{"quot": '"', "apos": '\'', "amp": '&', "lt": '<', "gt": '>'}

// entity returns the character of the entity at the beginning of s, such as &amp; or &#x3D;,
// and its length, 0 for none.
func entity(s []byte) (c byte, size int) {
	n := bytes.IndexByte(s[:min(len(s), len("&#x003D;"))], ';')
	if n < 2 {
		return 0, 0
	}
	name := strings.ToLower(string(s[1:n]))
	number, ok := strings.CutPrefix(name, "#")
	if !ok {
		if c = entities[name]; c == 0 {
			n = -1
		}
		return c, n + 1
	}
	base := 10
	if hex, ok := strings.CutPrefix(number, "x"); ok {
		number, base = hex, 16
	}
	if v, err := strconv.ParseUint(number, base, 7); err == nil && v > ' ' {
		return byte(v), n + 1
	}
	return 0, 0
}

// appendLoosely decodes a JSON escape outside of valid JSON. A lone surrogate is possible
// there.
func appendLoosely(dst, s []byte) ([]byte, int) {
	if s[1] == 'u' && (len(s) < 12 || !isHex(s[8]) || !isHex(s[9]) || !isHex(s[10]) || !isHex(s[11])) {
		s = s[:6]
	}
	return appendEscaped(dst, s)
}

// appendEscaped decodes the escape at the beginning of s and returns its length.
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
