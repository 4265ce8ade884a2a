package replay

import (
	"bytes"
	"strconv"
)

// longInteger is how many digits of an integer are written out at most.
const longInteger = 32

// appendNumber appends the one spelling that all JSON spellings of a number's
// value share. It never goes through a float.
func appendNumber(dst, n []byte) []byte {
	if len(n) <= longInteger && !bytes.ContainsAny(n, ".eE") {
		if string(n) == "-0" {
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
	negative := bytes.HasPrefix(mantissa, []byte("-"))
	if negative {
		mantissa = mantissa[1:]
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte{'.'})
	digits := append(append([]byte(nil), whole...), fraction...)
	exponent -= len(fraction)
	digits = bytes.TrimLeft(digits, "0")
	if len(digits) == 0 {
		return append(dst, '0')
	}
	short := bytes.TrimRight(digits, "0")
	exponent += len(digits) - len(short)
	if negative {
		dst = append(dst, '-')
	}
	dst = append(dst, short...)
	if exponent >= 0 && len(short)+exponent <= longInteger {
		return append(dst, bytes.Repeat([]byte{'0'}, exponent)...)
	}
	return strconv.AppendInt(append(dst, 'e'), int64(exponent), 10)
}

// appendWord appends what two scalars have in common when they are the same id,
// token or name: typed, strings decoded, numbers by value. Nothing is appended
// for what names nothing: null, or no scalar at all.
func appendWord(dst, raw []byte) []byte {
	switch c := classAt(raw, 0); {
	case c == '"':
		return append(append(dst, 's'), decode(raw)...)
	case c == '-' || c-'0' < 10:
		return appendNumber(append(dst, 'n'), raw)
	case c == 't' || c == 'f':
		return append(append(dst, 'w'), raw...)
	}
	return dst
}

// word is appendWord as a string.
func word(raw []byte) string { return string(appendWord(nil, raw)) }
