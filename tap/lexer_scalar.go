package tap

import (
	"encoding/binary"
	"math/bits"
)

// plain tells the bytes that need no attention inside a string.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

const (
	ones = 0x0101010101010101
	high = 0x8080808080808080
)

// special returns a mask of the bytes of x that end, escape or break a string:
// the high bit of such a byte is set, and of no byte below the first of them.
// Exclusive or with 2 brings the quote below the space, and no control
// character above it.
func special(x uint64) uint64 {
	control, escape := (x^ones*2)-ones*0x21, (x^ones*'\\')-ones
	return (control | escape) &^ x & high
}

// skipPlain returns the first index at or after i of a byte that ends, escapes
// or breaks a string. It takes eight bytes at a time.
func skipPlain(p []byte, i int) int {
	for ; i+8 <= len(p); i += 8 {
		if hit := special(binary.LittleEndian.Uint64(p[i:])); hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(p) && plain[p[i]] {
		i++
	}
	return i
}

// inString goes on in a string at p[i]. It returns the index after the closing
// quote, with done set, or how far it got.
func (x *lexer) inString(p []byte, i int) (next int, done bool) {
	for i < len(p) {
		if x.sub == 0 {
			if i = skipPlain(p, i); i == len(p) {
				return i, false
			}
		}
		c := p[i]
		switch {
		case x.sub == 1: // after a backslash
			switch c {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				x.sub = 0
			case 'u':
				x.sub = 2
			default:
				x.broken("not JSON: bad escape", i)
				return i, false
			}
		case x.sub > 1: // digits of \uXXXX
			if !isHex(c) {
				x.broken("not JSON: bad escape", i)
				return i, false
			}
			x.sub++
			if x.sub == 6 {
				x.sub = 0
			}
		case c == '"':
			return i + 1, true
		case c == '\\':
			x.sub = 1
		default:
			x.broken("not JSON: control character in a string", i)
			return i, false
		}
		i++
	}
	return i, false
}

func isHex(c byte) bool {
	return c-'0' < 10 || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// Where a number stands: the names say what was read last.
const (
	numMinus uint8 = iota
	numZero
	numInt
	numPoint
	numFraction
	numE
	numSign
	numExponent
	numOver // the byte does not belong to the number
	numBad  // the number breaks here
)

// numberStep is the state that follows state n at byte c.
func numberStep(n uint8, c byte) uint8 {
	digit := c-'0' < 10
	switch {
	case n == numMinus && c == '0':
		return numZero
	case n == numMinus && digit, n == numInt && digit:
		return numInt
	case (n == numZero || n == numInt) && c == '.':
		return numPoint
	case (n == numPoint || n == numFraction) && digit:
		return numFraction
	case (n == numZero || n == numInt || n == numFraction) && c|0x20 == 'e':
		return numE
	case n == numE && (c == '+' || c == '-'):
		return numSign
	case (n == numE || n == numSign || n == numExponent) && digit:
		return numExponent
	case numberComplete(n):
		return numOver
	}
	return numBad
}

// numberComplete reports whether a number may end in state n.
func numberComplete(n uint8) bool {
	return n == numZero || n == numInt || n == numFraction || n == numExponent
}

// inNumber goes on in a number at p[i]. With done set, p[next] is the first
// byte after it.
func (x *lexer) inNumber(p []byte, i int) (next int, done bool) {
	for ; i < len(p); i++ {
		switch n := numberStep(x.sub, p[i]); n {
		case numOver:
			return i, true
		case numBad:
			x.unexpected(p[i], i)
			return i, false
		default:
			x.sub = n
		}
	}
	return i, false
}

// inWord goes on in true, false or null at p[i].
func (x *lexer) inWord(p []byte, i int) (next int, done bool) {
	for ; i < len(p); i++ {
		if p[i] != x.word[x.sub] {
			x.unexpected(p[i], i)
			return i, false
		}
		if x.sub++; int(x.sub) == len(x.word) {
			return i + 1, true
		}
	}
	return i, false
}
