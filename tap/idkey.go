package tap

import (
	"bytes"
	"strconv"
)

// appendIDKey appends what two ids have in common when they are the same id,
// or nothing for an id that pairs with nothing (absent, null, no id at all).
//
// Ids are the same when they are equal as JSON values of one type: `"a"` and
// `"\u0061"` are, `1` and `"1"` are not. Numbers go by their exact decimal
// value, so `1`, `1.0` and `1e0` are the same: a JavaScript peer that reads
// `1.0` can only answer `1`. No float is involved: 9007199254740993 is not
// 9007199254740992. An id longer than [MaxWord] goes by its first bytes.
func appendIDKey(dst, id []byte) []byte {
	if len(id) == 0 {
		return dst
	}
	switch c := id[0]; {
	case len(id) > MaxWord:
		return append(append(dst, 'l'), id[:MaxWord]...)
	case c == '"' && !escaped(id):
		return append(append(dst, 's'), id[1:len(id)-1]...)
	case c == '"':
		return append(append(dst, 's'), unquote(id)...)
	case c == '-' || c-'0' < 10:
		return appendNumber(append(dst, 'n'), id)
	}
	return dst
}

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

// appendNumber appends the one spelling that all JSON spellings of a number's
// value share.
func appendNumber(dst, n []byte) []byte {
	if len(n) <= longInteger && n[0] != '-' && integral(n) {
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
	negative := mantissa[0] == '-'
	if negative {
		mantissa = mantissa[1:]
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte{'.'})
	digits := append(append([]byte(nil), whole...), fraction...)
	exponent -= len(fraction)
	digits = bytes.TrimLeft(digits, "0")
	if len(digits) == 0 {
		return append(dst, '0') // -0 is 0
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
