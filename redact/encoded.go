package redact

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

const (
	// leastRun is the shortest base64 that is decoded.
	leastRun = 24
	// maxDepth is how deep codings may be within codings: what is escaped for URLs
	// in base64 in a message in a log.
	maxDepth = 6
	// sample is how much of a run is decoded to see whether it is text.
	sample = 64
)

// coded64 are the bytes of base64, of either alphabet, without padding.
var coded64 = newCharset(asciiAlnum + "++//--__")

// eachRun calls fn with the runs of base64 that are long enough, until it returns
// false.
func eachRun(text []byte, fn func(start, end int) bool) { eachRunOf(text, leastRun, fn) }

// eachRunOf is eachRun for runs of another length, without what pads them.
func eachRunOf(text []byte, least int, fn func(start, end int) bool) {
	for i := 0; i < len(text); i++ {
		if !coded64[text[i]] {
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

// eachBlock calls fn with the runs of base64, those together that are the lines of
// one: of the same length, but for the last, each at the end of its line and the next
// one at the beginning of the line after it.
func eachBlock(text []byte, fn func(lines []span)) {
	var lines []span
	flush := func() {
		if len(lines) > 0 {
			fn(lines)
		}
		lines = lines[:0]
	}
	// The last line may be short, so all runs are looked at here.
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

// continues reports whether a run stands on the line behind another one, with nothing
// but white space between them.
func continues(text []byte, line, next span) bool {
	between := text[line.end:next.start]
	return text[line.end-1] != '=' && len(between) <= maxIndent && bytes.Count(between, []byte("\n")) == 1 && len(bytes.Trim(between, " \t\r\n")) == 0
}

// maxIndent is how much white space may stand between the lines of base64.
const maxIndent = 64

// hasRun reports whether there is a run that may be base64 of text. It may begin
// behind an escape that ends in letters, as that of a line break.
func hasRun(text []byte) (found bool) {
	eachRun(text, func(start, end int) bool {
		for _, n := range escapeSizes(text, start) {
			found = found || end-start-n >= leastRun && textual(text[start+n:end])
		}
		return !found
	})
	return found
}

// escapeSizes are how many bytes of the run at an offset may belong to an escape.
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

// textual reports whether a run begins like text.
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
			return len(run) > len(head) && len(plain)-i < utf8.UTFMax // cut by the sample
		}
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return false
		}
		i += n
	}
	return true
}

// encoded finds secrets in the base64 of a text, which may go on over lines. What
// takes the place of a run is the base64 of what is left.
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
		if try(lines[:last]) { // the last was a word behind it
			try(lines[last:])
			return
		}
		for i := range lines {
			try(lines[i : i+1])
		}
	})
	return hits
}

// inBlock finds the secrets in the base64 that stands on some lines; ok says that it
// is that of a text. A line that becomes another is a hit, so that what parts the
// lines stays as it is spelled: none but the last gets longer.
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
	if run[len(run)-1] == '=' || len(run)%4 == 0 && enc == base64.RawStdEncoding { // it may have needed none
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

// joined is what some parts of a text are together.
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
