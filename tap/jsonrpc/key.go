package jsonrpc

import (
	"bytes"
	"crypto/sha256"
	"strconv"
)

// longInteger is how many digits of an integer are written out at most.
const longInteger = 32

// integral reports whether a number is written without a point or an exponent.
func integral(n []byte) bool {
	for _, c := range n {
		if c == '.' || c|0x20 == 'e' {
			return false
		}
	}
	return true
}

// AppendNumber appends the one spelling that all JSON spellings of a number's
// value share, and no other value has: 1, 1.0 and 10e-1 are 1. n is a number as
// JSON writes it. No float is involved, so a number may have any length. An exponent of
// more than nine characters is left as it is written.
func AppendNumber(dst, n []byte) []byte {
	if len(n) <= longInteger && integral(n) {
		if string(n) == "-0" { // which is 0
			n = n[1:]
		}
		return append(dst, n...)
	}
	mantissa, exponent := n, 0
	if i := bytes.IndexAny(n, "eE"); i >= 0 {
		e, err := strconv.Atoi(string(n[i+1:]))
		if err != nil || len(n)-i > 10 {
			return append(dst, n...) // out of any sensible range: as written
		}
		mantissa, exponent = n[:i], e
	}
	mantissa, negative := bytes.CutPrefix(mantissa, []byte{'-'})
	whole, fraction, _ := bytes.Cut(mantissa, []byte{'.'})
	digits := append(append([]byte(nil), whole...), fraction...)
	exponent -= len(fraction)
	digits = bytes.TrimLeft(digits, "0")
	if len(digits) == 0 {
		return append(dst, '0') // and so is -0.0
	}
	short := bytes.TrimRight(digits, "0")
	exponent += len(digits) - len(short)
	if negative {
		dst = append(dst, '-')
	}
	dst = append(dst, short...)
	if exponent >= 0 && len(short)+exponent <= longInteger {
		for ; exponent > 0; exponent-- {
			dst = append(dst, '0')
		}
		return dst
	}
	return strconv.AppendInt(append(dst, 'e'), int64(exponent), 10)
}

// keySize is how many bytes of a value [AppendKey] appends at most. Of a longer one
// it appends the hash: a requestState may have any length.
const keySize = 64

// AppendKey appends what JSON values have in common when they are the same, or
// nothing for one that is absent or null. They are the same when they are equal as
// values of one type: `"a"` and `"\u0061"` are, `1` and `"1"` are not. Numbers go
// by their exact decimal value, so `1`, `1.0` and `1e0` are the same: a JavaScript
// peer that reads `1.0` can only answer `1`. No float is involved:
// 9007199254740993 is not 9007199254740992.
func AppendKey(dst, raw []byte) []byte {
	if len(raw) == 0 || string(raw) == "null" {
		return dst
	}
	class, word := raw[0], raw
	switch {
	case class == '"' && !escaped(raw):
		word = raw[1 : len(raw)-1]
	case class == '"':
		// What is decoded with a loss is not the same as what looks like it.
		if s := []byte(unquote(raw)); !bytes.Contains(s, []byte("\ufffd")) {
			word = s
		} else {
			class = '\\'
		}
	case (class == '-' || class-'0' < 10) && len(raw) <= keySize:
		return AppendNumber(append(dst, '0'), raw)
	}
	if len(word) > keySize {
		sum := sha256.Sum256(word)
		return append(append(dst, 'h', class), sum[:]...)
	}
	return append(append(dst, class), word...)
}
