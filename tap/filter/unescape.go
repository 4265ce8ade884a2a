package filter

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// An unescaper replaces the escapes of JSON strings (RFC 8259 section 7) by
// what they stand for. The text can come in pieces of any size. What is no
// escape stays as it is, and half a surrogate pair becomes U+FFFD.
type unescaper struct {
	raw  [6]byte // an escape that is not over, as it stands
	n    int     // how much of it there is
	high rune    // the first half of a pair, until the second is seen
}

// plainEscape is what the escapes of one letter stand for.
var plainEscape = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// write appends the next piece of the text to dst: no more than len(b)+12
// bytes.
func (u *unescaper) write(dst, b []byte) []byte {
	for i := 0; i < len(b); {
		switch {
		case u.n > 0:
			var used bool
			if dst, used = u.next(dst, b[i]); used {
				i++
			}
		case b[i] != '\\':
			dst = u.unpaired(dst)
			n := bytes.IndexByte(b[i:], '\\')
			if n < 0 {
				return append(dst, b[i:]...)
			}
			dst = append(dst, b[i:i+n]...)
			i += n
		case i+1 < len(b) && plainEscape[b[i+1]] != 0: // as most are
			dst = append(u.unpaired(dst), plainEscape[b[i+1]])
			i += 2
		case i+6 <= len(b) && b[i+1] == 'u' && hex4(b[i+2:i+6]) >= 0:
			dst = u.unit(dst, hex4(b[i+2:i+6]))
			i += 6
		default:
			u.raw[0], u.n = '\\', 1
			i++
		}
	}
	return dst
}

// end appends what is left when the text is over.
func (u *unescaper) end(dst []byte) []byte { return u.giveUp(dst) }

// next takes the next byte of an escape, unless it does not belong to it.
func (u *unescaper) next(dst []byte, c byte) (out []byte, used bool) {
	switch {
	case u.n == 1 && plainEscape[c] != 0:
		u.n = 0
		return append(u.unpaired(dst), plainEscape[c]), true
	case u.n == 1 && c != 'u' || u.n > 1 && hexDigit[c] < 0:
		return u.giveUp(dst), false
	}
	u.raw[u.n] = c
	if u.n++; u.n < len(u.raw) {
		return dst, true
	}
	u.n = 0
	return u.unit(dst, hex4(u.raw[2:])), true
}

// unit appends what a UTF-16 unit stands for, as soon as that is known.
func (u *unescaper) unit(dst []byte, r rune) []byte {
	if u.high != 0 {
		if pair := utf16.DecodeRune(u.high, r); pair != utf8.RuneError {
			u.high = 0
			return utf8.AppendRune(dst, pair)
		}
		dst = u.unpaired(dst)
	}
	if 0xd800 <= r && r < 0xdc00 {
		u.high = r
		return dst
	}
	return utf8.AppendRune(dst, r) // U+FFFD for the other half of a pair
}

// unpaired appends half a pair that turned out to have no other half.
func (u *unescaper) unpaired(dst []byte) []byte {
	if u.high == 0 {
		return dst
	}
	u.high = 0
	return utf8.AppendRune(dst, utf8.RuneError)
}

// giveUp appends what looked like an escape and was none.
func (u *unescaper) giveUp(dst []byte) []byte {
	dst = append(u.unpaired(dst), u.raw[:u.n]...)
	u.n = 0
	return dst
}

// hex4 returns the value of four hexadecimal digits, -1 if they are none.
func hex4(b []byte) rune {
	_ = b[3]
	return hexDigit[b[0]]<<12 | hexDigit[b[1]]<<8 | hexDigit[b[2]]<<4 | hexDigit[b[3]]
}

// hexDigit has the value of a hexadecimal digit, -1 for any other byte.
var hexDigit = func() (table [256]rune) {
	for c := range table {
		table[c] = -1
	}
	for i, c := range "0123456789abcdef" {
		table[c] = rune(i)
	}
	for i, c := range "ABCDEF" {
		table[c] = rune(10 + i)
	}
	return table
}()
