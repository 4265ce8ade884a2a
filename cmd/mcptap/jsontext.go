package main

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap/printable"
)

// safeJSON encodes v on one line. Hazards are escaped, which JSON can do
// without loss, so that the line may go to a terminal as it is.
func safeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	line := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if clean(string(line)) {
		return line, nil
	}
	out := make([]byte, 0, len(line)+64)
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		if hazard(r) || r == utf8.RuneError && n == 1 { // in a raw message
			out = appendEscape(out, r)
		} else {
			out = append(out, line[:n]...)
		}
		line = line[n:]
	}
	return out, nil
}

func appendEscape(dst []byte, r rune) []byte { return printable.AppendEscape(dst, r) }

func unquote(src []byte) ([]byte, error) { return printable.Unquote(src) }
