package jsontree

import (
	"bytes"
	"strconv"
)

// longInteger is how many digits of an integer are written out at most.
const longInteger = 32

// A decimal is a number taken apart: digits without zeros at either end, the
// first before the point, and the power of ten of that first one.
type decimal struct {
	negative bool
	digits   []byte // none for zero
	power    int64
}

// readDecimal takes a JSON number apart. It is false for one whose exponent is
// out of any sensible range.
func readDecimal(n []byte) (d decimal, ok bool) {
	mantissa, exponent := n, int64(0)
	if i := bytes.IndexAny(n, "eE"); i >= 0 {
		e, err := strconv.ParseInt(string(n[i+1:]), 10, 64)
		if err != nil || len(n)-i > 18 {
			return d, false
		}
		mantissa, exponent = n[:i], e
	}
	if len(mantissa) > 0 && mantissa[0] == '-' {
		d.negative, mantissa = true, mantissa[1:]
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte{'.'})
	d.digits = append(append(make([]byte, 0, len(mantissa)), whole...), fraction...)
	exponent += int64(len(whole)) - 1
	for len(d.digits) > 0 && d.digits[0] == '0' {
		d.digits = d.digits[1:]
		exponent--
	}
	if d.digits = bytes.TrimRight(d.digits, "0"); len(d.digits) == 0 {
		return decimal{}, true // -0 is 0
	}
	d.power = exponent
	return d, true
}

// AppendDecimal appends the one spelling that all JSON spellings of a number's
// value share. That of an integer is the usual one.
func AppendDecimal(dst, n []byte) []byte {
	d, ok := readDecimal(n)
	if !ok {
		return append(dst, n...)
	}
	if len(d.digits) == 0 {
		return append(dst, '0')
	}
	if d.negative {
		dst = append(dst, '-')
	}
	dst = append(dst, d.digits...)
	zeros := d.power + 1 - int64(len(d.digits))
	if zeros >= 0 && d.power < longInteger {
		for ; zeros > 0; zeros-- {
			dst = append(dst, '0')
		}
		return dst
	}
	return strconv.AppendInt(append(dst, 'e'), d.power, 10)
}

// CompareNumbers compares two JSON numbers by their exact value: negative if a
// is the lesser, 0 if they are equal. It is false where one of them has an
// exponent out of any sensible range.
func CompareNumbers(a, b []byte) (order int, ok bool) {
	x, okX := readDecimal(a)
	y, okY := readDecimal(b)
	if !okX || !okY {
		return 0, false
	}
	if x.sign() != y.sign() {
		return x.sign() - y.sign(), true
	}
	order = bytes.Compare(x.digits, y.digits)
	switch {
	case x.sign() == 0:
		return 0, true
	case x.power < y.power:
		order = -1
	case x.power > y.power:
		order = 1
	}
	return order * x.sign(), true
}

func (d *decimal) sign() int {
	switch {
	case len(d.digits) == 0:
		return 0
	case d.negative:
		return -1
	}
	return 1
}
