package printable

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendEscape appends a character as JSON's \u escapes: one, or a pair of them.
func AppendEscape(dst []byte, r rune) []byte {
	if r > 0xffff {
		hi, lo := utf16.EncodeRune(r)
		return AppendEscape(AppendEscape(dst, hi), lo)
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// A StringWriter writes the inside of a JSON string, piece by piece, so that a
// frame of any size needs no memory. Every character but the hazards stands as
// it is. Bytes that are no UTF-8 make it fail: they belong into base64.
type StringWriter struct {
	// W takes what stands between the quotes.
	W    io.Writer
	out  []byte
	rest []byte // of a character that the next piece goes on with
}

// stringPiece is about how many bytes are passed on at once: a control character
// takes six, and what is written can be long.
const stringPiece = 64 << 10

// ErrNotUTF8 says that bytes cannot stand in a JSON string without loss.
var ErrNotUTF8 = errors.New("not UTF-8")

// Write implements [io.Writer]. It fails with [ErrNotUTF8].
func (s *StringWriter) Write(p []byte) (int, error) {
	n := len(p)
	if len(s.rest) > 0 {
		p = append(s.rest, p...)
		s.rest = nil
	}
	s.out = s.out[:0]
	for len(p) > 0 {
		if len(s.out) >= stringPiece {
			if _, err := s.W.Write(s.out); err != nil {
				return 0, err
			}
			s.out = s.out[:0]
		}
		if k := ASCII(p[:min(len(p), stringPiece)]); k > 0 {
			s.out = append(s.out, p[:k]...)
			p = p[k:]
			continue
		}
		if c := p[0]; c < utf8.RuneSelf {
			s.out = appendASCII(s.out, c)
			p = p[1:]
			continue
		}
		if !utf8.FullRune(p) {
			s.rest = append([]byte(nil), p...)
			break
		}
		r, size := utf8.DecodeRune(p)
		switch {
		case r == utf8.RuneError && size == 1:
			return 0, ErrNotUTF8
		case Hazard(r):
			s.out = AppendEscape(s.out, r)
		default:
			s.out = append(s.out, p[:size]...)
		}
		p = p[size:]
	}
	if _, err := s.W.Write(s.out); err != nil {
		return 0, err
	}
	return n, nil
}

// Close reports, with [ErrNotUTF8], that the last character was cut off. It does
// not close W.
func (s *StringWriter) Close() error {
	if len(s.rest) > 0 {
		return ErrNotUTF8
	}
	return nil
}

func appendASCII(dst []byte, c byte) []byte {
	switch {
	case c == '"' || c == '\\':
		return append(dst, '\\', c)
	case c == '\n':
		return append(dst, '\\', 'n')
	case c == '\r':
		return append(dst, '\\', 'r')
	case c == '\t':
		return append(dst, '\\', 't')
	case c < 0x20 || c == 0x7f:
		return AppendEscape(dst, rune(c))
	}
	return append(dst, c)
}

// AppendString appends s as a JSON string. s must be UTF-8.
func AppendString(dst []byte, s string) []byte {
	var buf bytes.Buffer
	w := StringWriter{W: &buf}
	_, _ = w.Write([]byte(s))
	dst = append(dst, '"')
	dst = append(dst, buf.Bytes()...)
	return append(dst, '"')
}

// Unquote decodes a JSON string, quotes included, exactly. Unlike
// encoding/json it refuses half a surrogate pair and bytes that are no UTF-8
// instead of putting U+FFFD in their place: what comes out is recorded bytes. It
// works in place, as they may be many: nothing is longer than its escape.
func Unquote(src []byte) ([]byte, error) {
	if len(src) < 2 || src[0] != '"' || src[len(src)-1] != '"' {
		return nil, errors.New("not a JSON string")
	}
	src = src[1 : len(src)-1]
	if !utf8.Valid(src) {
		return nil, ErrNotUTF8
	}
	dst := src[:0]
	for {
		i := bytes.IndexByte(src, '\\')
		if i < 0 {
			return append(dst, src...), nil
		}
		dst = append(dst, src[:i]...)
		src = src[i:]
		r, n, err := unescape(src)
		if err != nil {
			return nil, err
		}
		dst = utf8.AppendRune(dst, r)
		src = src[n:]
	}
}

var errEscape = errors.New("a broken escape in a JSON string")

// unescape decodes the escape at the start of src and returns its length.
func unescape(src []byte) (rune, int, error) {
	if len(src) < 2 {
		return 0, 0, errEscape
	}
	if c := src[1]; c != 'u' {
		if i := bytes.IndexByte([]byte(`"\/bfnrt`), c); i >= 0 {
			return rune("\"\\/\b\f\n\r\t"[i]), 2, nil
		}
		return 0, 0, errEscape
	}
	r, err := hex4(src[2:])
	if err != nil || !utf16.IsSurrogate(r) {
		return r, 6, err
	}
	if len(src) < 12 || src[6] != '\\' || src[7] != 'u' {
		return 0, 0, errors.New("half a surrogate pair in a JSON string")
	}
	lo, err := hex4(src[8:])
	if err != nil {
		return 0, 0, err
	}
	if r = utf16.DecodeRune(r, lo); r == utf8.RuneError {
		return 0, 0, errors.New("half a surrogate pair in a JSON string")
	}
	return r, 12, nil
}

func hex4(src []byte) (rune, error) {
	var b [2]byte
	if len(src) < 4 {
		return 0, errEscape
	}
	if _, err := hex.Decode(b[:], src[:4]); err != nil {
		return 0, errEscape
	}
	return rune(b[0])<<8 | rune(b[1]), nil
}
