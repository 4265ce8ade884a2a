package tap

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// escaped reports whether a string's body holds an escape.
func escaped(body []byte) bool { return bytes.IndexByte(body, '\\') >= 0 }

// unquote decodes a JSON string token that a lexer accepted. The end may have
// been cut off, closing quote included; an escape that was cut is dropped. A
// lone surrogate becomes U+FFFD; bytes that are no UTF-8 stay as they are.
func unquote(token []byte) string {
	if len(token) == 0 {
		return ""
	}
	body := token[1:]
	if !escaped(body) {
		if n := len(body); n > 0 && body[n-1] == '"' {
			body = body[:n-1]
		}
		return string(body)
	}
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); {
		switch c := body[i]; {
		case c == '"':
			return string(out)
		case c != '\\':
			out = append(out, c)
			i++
		case i+1 < len(body) && body[i+1] != 'u':
			out = append(out, unescape[body[i+1]])
			i += 2
		case i+6 <= len(body):
			r := hex4(body[i+2:])
			i += 6
			if utf16.IsSurrogate(r) {
				var low rune = -1
				if i+6 <= len(body) && body[i] == '\\' && body[i+1] == 'u' {
					low = hex4(body[i+2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			return string(out)
		}
	}
	return string(out)
}

var unescape = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// hex4 reads the four digits of \uXXXX.
func hex4(b []byte) rune {
	n, err := strconv.ParseUint(string(b[:4]), 16, 32)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}
