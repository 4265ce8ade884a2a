// Package escape makes recorded text safe to print: on a terminal, in a file, in
// a JSON string. It is pure.
package escape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Hazard reports whether a character must not reach a terminal unescaped: it
// moves the cursor, changes the terminal's state, reorders the text around it, or
// is invisible.
func Hazard(r rune) bool {
	switch { // common characters first
	case r < 0x7f:
		return r < 0x20
	case r > 0x9f && r < 0x034f:
		return r == 0xad // soft hyphen
	case r > 0x3164 && r < 0xd800:
		return false
	}
	switch {
	case r <= 0x9f, // DEL and C1: 0x9b is CSI
		r == 0x034f,              // combining grapheme joiner
		r == 0x061c,              // Arabic letter mark
		r == 0x115f, r == 0x1160, // Hangul fillers
		r == 0x17b4, r == 0x17b5, // Khmer inherent vowels
		r >= 0x180b && r <= 0x180f, // Mongolian selectors
		r >= 0x200b && r <= 0x200f, // zero-width, LRM, RLM
		r >= 0x2028 && r <= 0x202e, // line and paragraph separator, bidi
		r >= 0x2060 && r <= 0x206f, // word joiner, bidi isolates
		r == 0x3164, r == 0xffa0,   // more fillers
		r == 0xfeff,                                  // byte order mark
		r >= 0xfff9 && r <= 0xfffb,                   // interlinear annotation
		r >= 0x1d173 && r <= 0x1d17a,                 // musical controls
		r >= 0xe0000 && r <= 0xe0fff,                 // tags: invisible text
		r >= 0xd800 && r <= 0xdfff, r > utf8.MaxRune: // not Unicode
		return true
	}
	return false
}

// ASCII returns the number of leading bytes of b that are ASCII and represent themselves in a JSON
// string.
func ASCII(b []byte) int {
	for i, c := range b {
		if c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			return i
		}
	}
	return len(b)
}

// Clean reports whether s is UTF-8 without hazards, so that [String] would return it unchanged.
func Clean(s string) bool {
	for _, r := range s {
		if r < 0x20 || r > 0x7e && Hazard(r) { // avoid the call for ASCII
			return false
		}
	}
	return utf8.ValidString(s)
}

// String returns s as one line that is safe on a terminal: hazards and bytes that
// are not UTF-8 become Go escapes.
func String(s string) string {
	if Clean(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case Hazard(r):
			b.WriteString(EscapeRune(r))
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// Shorten returns s if it has at most most bytes. Otherwise it returns a prefix of whole characters,
// and an ellipsis.
func Shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n := most
	for n > max(most-utf8.UTFMax, 0) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// EscapeRune returns the Go escape of one character.
func EscapeRune(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// AppendEscape appends the JSON escape of a character: \u and four digits, or two escapes for a
// surrogate pair.
func AppendEscape(dst []byte, r rune) []byte {
	if r > 0xffff {
		hi, lo := utf16.EncodeRune(r)
		return AppendEscape(AppendEscape(dst, hi), lo)
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// WriteInside writes b as the inside of a JSON string, without the quotes. Hazards are escaped, all
// other characters are unchanged. A byte that is not UTF-8 becomes U+FFFD. Memory does not grow with b.
func WriteInside(w io.Writer, b []byte) error {
	const most = 64 << 10 // a control character takes six times its size
	var buf []byte
	for len(b) > 0 {
		n := min(len(b), most)
		for i := 1; n < len(b) && i < utf8.UTFMax && !utf8.RuneStart(b[n]); i++ {
			n--
		}
		buf = appendInside(buf[:0], b[:n])
		if _, err := w.Write(buf); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

func appendInside(dst, b []byte) []byte {
	for len(b) > 0 {
		if n := ASCII(b); n > 0 {
			dst, b = append(dst, b[:n]...), b[n:]
			continue
		}
		r, n := utf8.DecodeRune(b)
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', b[0])
		case r == '\n' || r == '\r' || r == '\t':
			dst = append(dst, EscapeRune(r)...)
		default:
			dst = appendSafe(dst, b[:n], r)
		}
		b = b[n:]
	}
	return dst
}

// appendSafe appends the character r, which is encoded as b, in a form valid in JSON.
func appendSafe(dst, b []byte, r rune) []byte {
	if Hazard(r) || r == utf8.RuneError && len(b) == 1 {
		return AppendEscape(dst, r)
	}
	return append(dst, b...)
}

// AppendString appends s as a JSON string, with its quotes; see [WriteInside].
func AppendString(dst []byte, s string) []byte {
	return append(appendInside(append(dst, '"'), []byte(s)), '"')
}

// JSON encodes v on one line, without a newline. Hazards are escaped, so the line is safe on a
// terminal. In raw messages in v, hazards are escaped too and bytes that are not UTF-8 become U+FFFD;
// the rest is unchanged. The errors are those of [json.Marshal].
func JSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	line := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if Clean(string(line)) {
		return line, nil
	}
	out := make([]byte, 0, len(line)+64)
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		out = appendSafe(out, line[:n], r)
		line = line[n:]
	}
	return out, nil
}

// Unquote decodes a JSON string, quotes included. Unlike encoding/json it rejects half a surrogate
// pair and bytes that are not UTF-8 instead of replacing them with U+FFFD, because the result must be
// the recorded bytes.
func Unquote(token []byte) ([]byte, error) {
	var s string
	if len(token) == 0 || token[0] != '"' {
		return nil, errors.New("not a JSON string")
	}
	if err := json.Unmarshal(token, &s); err != nil {
		return nil, fmt.Errorf("not a JSON string: %w", err)
	}
	if n := strings.Count(s, "\ufffd"); n > 0 {
		if !utf8.Valid(token) {
			return nil, errors.New("not a JSON string: not UTF-8")
		}
		// Without escaped backslashes, \ufffd is always an escape.
		in := bytes.ToLower(bytes.ReplaceAll(token, []byte(`\\`), nil))
		if bytes.Count(in, []byte("\ufffd"))+bytes.Count(in, []byte(`\ufffd`)) != n {
			return nil, errors.New("half a surrogate pair in a JSON string")
		}
	}
	return []byte(s), nil
}
