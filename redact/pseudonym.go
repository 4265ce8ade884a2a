package redact

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"
)

// prefix begins every pseudonym of a text that is long enough for it.
const prefix = "redacted-"

// digits is how many hexadecimal digits follow the prefix.
const digits = 12

// A namer makes pseudonyms. The same value has the same one.
type namer struct {
	mac  hash.Hash
	same bool // as long as the value
	sum  []byte
}

func newNamer(key []byte, same bool) namer {
	return namer{mac: hmac.New(sha256.New, key), same: same}
}

// stream returns n hexadecimal digits that the value decides on.
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
func (n *namer) text(value []byte) string {
	switch {
	case !n.same:
		return prefix + n.stream(value, digits)
	case len(value) > len(prefix):
		return prefix + n.stream(value, len(value)-len(prefix))
	}
	return "x" + n.stream(value, len(value)-1)
}

// number returns the pseudonym of a number: one of the same form with other
// digits, the first of which is 9.
func (n *namer) number(value []byte) string {
	out := []byte(n.stream(value, len(value)))
	first := true
	for i, c := range value {
		switch {
		case c == 'e' || c == 'E':
			return string(append(out[:i], value[i:]...)) // the exponent stays
		case c < '0' || c > '9':
			out[i] = c
		case first:
			out[i], first = '9', false
		default:
			out[i] = '0' + fromHex(out[i])%10
		}
	}
	return string(out)
}

func fromHex(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}

// made reports whether a text is a pseudonym, of this package or of the HTTP tap.
// Those that took the place of short texts it does not know.
func made(value []byte) bool {
	for _, p := range []string{prefix, "masked:"} {
		if len(value) > len(p) && string(value[:len(p)]) == p {
			return allHex(value[len(p):])
		}
	}
	return false
}

// maybeMade reports whether a value may be a pseudonym: what a check lets pass,
// since short ones and numbers cannot be told from secrets.
func maybeMade(value []byte) bool {
	if len(value) == 0 || made(value) {
		return true
	}
	if len(value) <= len(prefix) && value[0] == 'x' {
		return allHex(value[1:])
	}
	number := strings.TrimLeft(string(value), "-")
	return number != "" && number[0] == '9' && strings.Trim(number, "0123456789.eE+-") == ""
}

func allHex(s []byte) bool {
	for _, c := range s {
		if !(c-'0' < 10 || c-'a' < 6) {
			return false
		}
	}
	return true
}
