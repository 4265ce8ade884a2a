package export

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap/printable"
)

// safeJSON encodes v on one line, with what is a hazard to a terminal escaped.
func safeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	line := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if printable.Clean(string(line)) {
		return line, nil
	}
	out := make([]byte, 0, len(line)+64)
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		if printable.Hazard(r) {
			out = printable.AppendEscape(out, r)
		} else {
			out = append(out, line[:n]...)
		}
		line = line[n:]
	}
	return out, nil
}
