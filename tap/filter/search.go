package filter

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Found is the set of the texts and regular expressions of a filter that a payload
// holds, a bit each. The zero value is the empty set. It is valid for the filter
// that returned it.
type Found []uint64

// Add adds what another payload holds, such as a further message of a call. It
// copies other.
func (found *Found) Add(other Found) {
	for i, bits := range other {
		if i == len(*found) {
			*found = append(*found, 0)
		}
		(*found)[i] |= bits
	}
}

func (found *Found) set(bit int) {
	for bit/64 >= len(*found) {
		*found = append(*found, 0)
	}
	(*found)[bit/64] |= 1 << (bit % 64)
}

func (found Found) has(bit int) bool {
	return bit/64 < len(found) && found[bit/64]>>(bit%64)&1 != 0
}

// A payloadText is a text or a regular expression that is searched for in
// payloads.
type payloadText struct {
	glob glob // if re is nil
	re   *regexp.Regexp
}

const (
	// views is the number of forms in which a payload is searched: as it is, with
	// the escapes of JSON strings replaced, and with those of JSON inside a JSON
	// string replaced as well. A view without a backslash is the last one.
	views = 3
	// maxKept is the capacity in bytes above which a buffer is not kept.
	maxKept = 1 << 20
)

// Search returns which texts and regular expressions of the filter the payload
// holds. It grows two buffers to the size of the payload, and keeps them if they are
// small.
func (f *Filter) Search(payload []byte) (found Found) {
	left := len(f.texts)
	view := payload
	for i := 0; i < views && left > 0; i++ {
		if i > 0 {
			if bytes.IndexByte(view, '\\') < 0 {
				break
			}
			f.unescaped = unescape(f.unescaped[:0], view) // in place, from the second time on
			view = f.unescaped
		}
		f.folded = f.folded[:0]
		for bit, text := range f.texts {
			ok := found.has(bit)
			switch {
			case ok:
				continue
			case text.re != nil:
				ok = text.re.Match(view)
			default:
				if len(f.folded) == 0 {
					f.folded = f.letters.fold(f.folded, view)
				}
				ok = text.glob.within(f.folded)
			}
			if ok {
				found.set(bit)
				left--
			}
		}
	}
	if cap(f.unescaped) > maxKept {
		f.unescaped = nil
	}
	if cap(f.folded) > maxKept {
		f.folded = nil
	}
	return found
}

// A glob is a text in which a star stands for any characters or none. It has the
// folded texts between the stars; they may be empty.
type glob [][]byte

// glob returns the glob of a value. The stars of a quoted value are characters.
func (f *Filter) glob(v *value) (g glob) {
	parts := []string{v.text}
	if v.form == bare {
		parts = strings.Split(v.text, "*")
	}
	for _, s := range parts {
		g = append(g, f.letters.fold(nil, []byte(s)))
	}
	return g
}

// within reports whether a folded text contains the glob.
func (g glob) within(folded []byte) bool {
	for _, part := range g {
		i := bytes.Index(folded, part)
		if i < 0 {
			return false
		}
		folded = folded[i+len(part):]
	}
	return true
}

// is reports whether the glob is a folded text from its beginning to its end.
func (g glob) is(folded []byte) bool {
	last := len(g) - 1
	if last == 0 {
		return bytes.Equal(folded, g[0])
	}
	n := len(folded) - len(g[last])
	return n >= len(g[0]) && bytes.HasPrefix(folded, g[0]) && bytes.HasSuffix(folded, g[last]) &&
		g[1:last].within(folded[len(g[0]):n])
}

// A folder replaces each character by one that is the same for all its cases, so
// that folded texts are equal if [strings.EqualFold] reports that the texts are.
// It caches the results for pages of 256 characters; a page is nil until it is
// used.
type folder [0x200]*[256]rune

// rune returns the smallest of the characters that differ from r by case only, and
// lower case for ASCII letters.
func (x *folder) rune(r rune) rune {
	n := int(r >> 8)
	if n >= len(x) {
		return r // no character there has cases
	}
	if x[n] == nil {
		x[n] = new([256]rune)
		for i := range x[n] {
			first := rune(n<<8 | i)
			least := first
			for c := unicode.SimpleFold(first); c != first; c = unicode.SimpleFold(c) {
				least = min(least, c)
			}
			if 'A' <= least && least <= 'Z' {
				least += 'a' - 'A'
			}
			x[n][i] = least
		}
	}
	return x[n][r&0xff]
}

// fold appends b to dst with its characters replaced. The result is not longer
// than b, and dst may be b[:0]. Bytes that are not UTF-8 stay as they are.
func (x *folder) fold(dst, b []byte) []byte {
	const ones = 0x0101010101010101
	n := len(dst)
	dst = slices.Grow(dst, len(b))[:n+len(b)]
	for i := 0; i < len(b); {
		if i+8 <= len(b) {
			if w := binary.LittleEndian.Uint64(b[i:]); w&(0x80*ones) == 0 { // eight ASCII characters
				upper := (w + (0x80-'A')*ones) &^ (w + (0x7f-'Z')*ones) & (0x80 * ones)
				binary.LittleEndian.PutUint64(dst[n:], w|upper>>2)
				i, n = i+8, n+8
				continue
			}
		}
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			dst[n] = b[i]
			n++
		} else {
			n += utf8.EncodeRune(dst[n:], x.rune(r))
		}
		i += size
	}
	return dst[:n]
}

// unescape appends b to dst with the escapes of JSON strings (RFC 8259, section
// 7) replaced by what they stand for. What is not an escape stays as it is, and
// half of a surrogate pair becomes U+FFFD. The result is not longer than b, and
// dst may be b[:0].
func unescape(dst, b []byte) []byte {
	dst = slices.Grow(dst, len(b))
	for {
		i := bytes.IndexByte(b, '\\')
		if i < 0 {
			return append(dst, b...)
		}
		dst = append(dst, b[:i]...)
		b = b[i:]
		r, n := unescapeOne(b)
		switch {
		case n == 0:
			dst = append(dst, '\\')
			n = 1
		case utf16.IsSurrogate(r):
			low, more := unescapeOne(b[n:])
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				n += more
			}
			fallthrough
		default:
			dst = utf8.AppendRune(dst, r)
		}
		b = b[n:]
	}
}

// plainEscapes has what the escapes of one letter stand for.
var plainEscapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// unescapeOne returns what the escape stands for that b begins with, and its length
// in bytes; n is 0 if there is none.
func unescapeOne(b []byte) (r rune, n int) {
	switch {
	case len(b) < 2 || b[0] != '\\':
		return 0, 0
	case plainEscapes[b[1]] != 0:
		return rune(plainEscapes[b[1]]), 2
	case b[1] != 'u' || len(b) < 6:
		return 0, 0
	}
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, 0
		}
		r = r<<4 | rune(c)
	}
	return r, 6
}
