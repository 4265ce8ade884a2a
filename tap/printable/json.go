package printable

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// JSON encodes v on one line, without its end. Hazards are escaped, which JSON
// can do without loss, so that the line may go to a terminal as it is. Raw
// messages in v stand as they are but for those; a byte in them that is no UTF-8
// becomes U+FFFD. The errors are those of [json.Marshal].
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
		if Hazard(r) || r == utf8.RuneError && n == 1 { // in a raw message
			out = AppendEscape(out, r)
		} else {
			out = append(out, line[:n]...)
		}
		line = line[n:]
	}
	return out, nil
}
