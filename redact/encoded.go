package redact

import (
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
var coded64 = newCharset("+/-_")

// eachRun calls fn with the runs of base64 that are long enough, until it returns
// false.
func eachRun(text []byte, fn func(start, end int) bool) {
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
		if end-start >= leastRun && !fn(start, i) {
			return
		}
	}
}

// hasRun reports whether there is a run that may be base64 of text.
func hasRun(text []byte) (found bool) {
	eachRun(text, func(start, end int) bool {
		found = textual(text[start:end])
		return !found
	})
	return found
}

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

// encoded finds secrets in the base64 of a text. What takes the place of a run is
// the base64 of what is left.
func (r *Redactor) encoded(text []byte) (hits []hit) {
	if r.depth >= maxDepth {
		return nil
	}
	r.depth++
	defer func() { r.depth-- }()
	eachRun(text, func(start, end int) bool {
		run := string(text[start:end])
		if !textual(text[start:end]) {
			return true
		}
		plain, err := decode64(run)
		if err != nil || !utf8.Valid(plain) {
			return true
		}
		if edits := r.edits(plain); len(edits) > 0 {
			enc := alphabet(run)
			if run[len(run)-1] == '=' {
				enc = enc.WithPadding('=')
			}
			hits = append(hits, hit{start: start, end: end, text: enc.EncodeToString(apply(plain, edits)), done: true})
		}
		return true
	})
	return hits
}
