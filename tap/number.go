package tap

import (
	"bytes"
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
// JSON writes it. No float is involved, so there is no number too long or too
// fine. An exponent of more than nine characters is left as it is written.
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
