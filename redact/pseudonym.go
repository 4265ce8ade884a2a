package redact

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"slices"
	"strings"
)

// prefix is the prefix of the pseudonyms of texts.
const prefix = "redacted-"

// digits is the number of hexadecimal digits after the prefix.
const digits = 12

// A namer generates pseudonyms. Equal values have equal ones.
type namer struct {
	mac hash.Hash
	sum []byte
}

func newNamer(key []byte) namer { return namer{mac: hmac.New(sha256.New, key)} }

// stream returns count hexadecimal digits derived from the value.
func (n *namer) stream(value []byte, count int) string {
	var b strings.Builder
	for block := byte(0); b.Len() < count; block++ {
		n.mac.Reset()
		n.mac.Write([]byte{block})
		n.mac.Write(value)
		n.sum = n.mac.Sum(n.sum[:0])
		b.WriteString(hex.EncodeToString(n.sum))
	}
	return b.String()[:count]
}

// text returns the pseudonym of a text that is not empty.
func (n *namer) text(value []byte) string { return prefix + n.stream(value, digits) }

// number returns the pseudonym of a number: one of the same format with other digits, the
// first of which are nines.
func (n *namer) number(value []byte) string {
	out := []byte(n.stream(value, len(value)))
	left := nines(value)
	for i, c := range value {
		switch {
		case c == 'e' || c == 'E':
			return string(append(out[:i], value[i:]...)) // the exponent is kept
		case c < '0' || c > '9':
			out[i] = c
		case left > 0:
			out[i] = '9'
			left--
		default:
			out[i] = '0' + fromHex(out[i])%10
		}
	}
	return string(out)
}

// nines returns the number of nines at the beginning of the pseudonym of a number: more than
// half of the digits before the exponent, so that few numbers look like one.
func nines(value []byte) int {
	digits := 0
	for _, c := range value {
		if c == 'e' || c == 'E' {
			break
		}
		if c-'0' < 10 {
			digits++
		}
	}
	return min(digits/2+1, 5)
}

func fromHex(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}

// isPseudonym reports whether a text is a pseudonym of this package or of the HTTP tap, possibly
// with a few characters around it, as its end may be found differently.
func isPseudonym(value []byte) bool {
	for _, p := range []string{prefix, "masked:"} {
		at := bytes.Index(value, []byte(p))
		if at < 0 {
			continue
		}
		rest := value[at+len(p):]
		n := 0
		for n < len(rest) && n < digits && allHex(rest[n:n+1]) {
			n++
		}
		return n == digits && !searchable(slices.Concat(value[:at], rest[n:])) || at == 0 && allHex(rest)
	}
	return false
}

// likePseudonym reports whether a number looks like a pseudonym.
func likePseudonym(value []byte) bool {
	left := nines(value)
	for _, c := range value {
		switch {
		case left > 0 && c == '9':
			left--
		case left > 0 && c-'0' < 10:
			return false
		}
	}
	return left == 0
}

func allHex(s []byte) bool {
	for _, c := range s {
		if !(c-'0' < 10 || c-'a' < 6) {
			return false
		}
	}
	return true
}
