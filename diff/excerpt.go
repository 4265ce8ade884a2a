package diff

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/jsontree"
)

// excerpt is a value as JSON without the white space between its parts, cut at
// MaxExcerpt bytes, and how long it is as it stands.
func excerpt(v jsontree.Value) (text string, size int) {
	raw := v.Raw()
	if raw == nil {
		return "", 0
	}
	out := make([]byte, 0, min(len(raw), MaxExcerpt+utf8.UTFMax))
	inString, escaped := false, false
	for _, c := range raw {
		if !inString && (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
			continue
		}
		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		}
		if len(out) >= MaxExcerpt {
			return cutText(out), len(raw)
		}
		out = append(out, c)
	}
	return string(out), len(raw)
}

// cutText marks a text as cut, and leaves no half of a character or an escape.
func cutText(out []byte) string {
	for k := 0; k < utf8.UTFMax && len(out) > 0; k++ {
		if r, n := utf8.DecodeLastRune(out); r != utf8.RuneError || n != 1 {
			break
		}
		out = out[:len(out)-1]
	}
	for k := 1; k <= 6 && k <= len(out); k++ {
		if out[len(out)-k] == '\\' {
			out = out[:len(out)-k]
			break
		}
	}
	return string(out) + "…"
}

// movedText says where an element went.
func movedText(f *finding) string {
	from := f.path[len(f.path)-1].Index
	return "moved from place " + strconv.Itoa(from) + " to " + strconv.Itoa(f.to)
}

// oneLine makes a line of a text for a sentence.
func oneLine(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
