package tree

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// word reads true, false or null.
func (p *parser) word() (Kind, uint64) {
	rest := p.raw[p.i:]
	switch {
	case bytes.HasPrefix(rest, []byte("true")):
		p.i += 4
		return Bool, seeds.yes
	case bytes.HasPrefix(rest, []byte("false")):
		p.i += 5
		return Bool, seeds.no
	case bytes.HasPrefix(rest, []byte("null")):
		p.i += 4
		return Null, seeds.null
	}
	p.fail(ErrSyntax)
	return Absent, 0
}

// str reads a string and returns the hash of what it says.
func (p *parser) str(tag byte) uint64 {
	from := p.i
	p.i++
	escaped := false
	for {
		p.i = skipPlain(p.raw, p.i)
		if p.i >= len(p.raw) {
			p.fail(ErrSyntax)
			return 0
		}
		switch c := p.raw[p.i]; c {
		case '"':
			p.i++
			if !escaped {
				return hashText(tag, p.raw[from+1:p.i-1])
			}
			p.buf = appendUnescaped(slices.Grow(p.buf[:0], p.i-from), p.raw[from+1:p.i-1])
			return hashText(tag, p.buf)
		case '\\':
			escaped = true
			if n := escapeLen(p.raw[p.i:]); n > 0 {
				p.i += n
				continue
			}
			fallthrough
		default:
			p.fail(ErrSyntax)
			return 0
		}
	}
}

const (
	ones = 0x0101010101010101
	high = 0x8080808080808080
)

// skipPlain returns the first index at or after i of a byte that ends, escapes
// or breaks a string. It takes eight bytes at a time: a borrow can only flag a
// byte above a true hit, and the last loop looks at each byte again.
func skipPlain(p []byte, i int) int {
	for i+8 <= len(p) {
		x := binary.LittleEndian.Uint64(p[i:])
		q, b := x^(ones*'"'), x^(ones*'\\')
		if ((q-ones)&^q|(b-ones)&^b|(x-ones*0x20)&^x)&high != 0 {
			break
		}
		i += 8
	}
	for i < len(p) && p[i] >= 0x20 && p[i] != '"' && p[i] != '\\' {
		i++
	}
	return i
}

// escapeLen is how long the escape is that a text begins with, 0 if it is none.
func escapeLen(p []byte) int {
	if len(p) < 2 {
		return 0
	}
	switch p[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(p[2:]); ok {
			return 6
		}
	}
	return 0
}

func hex4(p []byte) (r rune, ok bool) {
	if len(p) < 4 {
		return 0, false
	}
	for _, c := range p[:4] {
		switch {
		case c-'0' < 10:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

var unescape = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// nextEscape is where the next escape of a text begins, -1 if there is none. JSON in a
// string has one every few bytes, where to search is slower than to look.
func nextEscape(body []byte) int {
	const near = 16
	for i := range body[:min(len(body), near)] {
		if body[i] == '\\' {
			return i
		}
	}
	if len(body) <= near {
		return -1
	}
	if i := bytes.IndexByte(body[near:], '\\'); i >= 0 {
		return near + i
	}
	return -1
}

// appendUnescaped appends what the inside of a string says, whose escapes have
// been checked. A lone surrogate stays one, as three bytes that are no UTF-8, so
// that it differs from U+FFFD.
func appendUnescaped(dst, body []byte) []byte {
	for {
		i := nextEscape(body)
		if i < 0 {
			return append(dst, body...)
		}
		dst = append(dst, body[:i]...)
		if body[i+1] != 'u' {
			dst = append(dst, unescape[body[i+1]])
			body = body[i+2:]
			continue
		}
		r, _ := hex4(body[i+2:])
		body = body[i+6:]
		if !utf16.IsSurrogate(r) {
			dst = utf8.AppendRune(dst, r)
			continue
		}
		if len(body) >= 6 && body[0] == '\\' && body[1] == 'u' {
			low, _ := hex4(body[2:])
			if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
				dst = utf8.AppendRune(dst, both)
				body = body[6:]
				continue
			}
		}
		dst = append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
}
