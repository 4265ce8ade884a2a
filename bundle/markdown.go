package bundle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/term/escape"
)

const (
	// maxSpan limits the bytes of a text in a line, and maxBlock those of a message in a block.
	// The rooms limit all blocks of a section together, so that a summary fits into an issue,
	// which has at most 65,536 characters on GitHub.
	maxSpan     = 200
	maxBlock    = 4 << 10
	roomFailed  = 30 << 10
	roomInvalid = 8 << 10
	roomStderr  = 12 << 10
	// maxFormatted and maxDepth limit the JSON that is formatted, because each level indents all
	// lines below it.
	maxFormatted = 64 << 10
	maxDepth     = 32
)

// A markdown writes Markdown and keeps the first error.
type markdown struct {
	w    io.Writer
	err  error
	room int // left for the blocks of the section
}

func (m *markdown) printf(format string, args ...any) {
	if m.err == nil {
		_, m.err = fmt.Fprintf(m.w, format, args...)
	}
}

func (m *markdown) fail(err error) { m.err = cmp.Or(m.err, err) }

// block writes recorded text as a code block. The text cannot end the block, because the fence is
// longer than any run of backticks in it.
func (m *markdown) block(language, text string) {
	fence := strings.Repeat("`", max(3, longestRun(text)+1))
	m.room -= len(text)
	m.printf("%s%s\n%s\n%s\n\n", fence, language, strings.TrimSuffix(text, "\n"), fence)
}

// span returns recorded text as inline code, "" for an empty text.
func span(s string) string {
	if s == "" {
		return ""
	}
	s = escape.Shorten(escape.String(escape.Shorten(s, maxSpan)), maxSpan)
	fence := strings.Repeat("`", longestRun(s)+1)
	pad := ""
	if len(fence) > 1 || strings.HasPrefix(s, " ") || strings.HasSuffix(s, " ") {
		pad = " "
	}
	return fence + pad + s + pad + fence
}

// longestRun returns the length of the longest run of backticks.
func longestRun(s string) (most int) {
	n := 0
	for i := range len(s) {
		if n++; s[i] != '`' {
			n = 0
		}
		most = max(most, n)
	}
	return most
}

// recorded prepares recorded bytes for a block of at most most bytes: JSON is formatted, and
// invisible characters are escaped. size is the size before truncation.
func recorded(raw []byte, size int64, most int) (language, text string) {
	trimmed := bytes.TrimSpace(raw)
	language = "text"
	if len(raw) <= maxFormatted && int64(len(raw)) == size && depth(trimmed) <= maxDepth && json.Valid(trimmed) {
		var out bytes.Buffer
		if json.Indent(&out, trimmed, "", "  ") == nil {
			language, trimmed = "json", out.Bytes()
		}
	}
	part := trimmed[:min(len(trimmed), most+utf8.UTFMax)]
	text = escapeLines(string(part))
	if len(text) > most || len(part) < len(trimmed) || int64(len(raw)) < size {
		language, text = "text", strings.TrimSuffix(escape.Shorten(text, most), "…")+"\n… cut"
	}
	return language, text
}

// escapeLines escapes a text except for its line breaks.
func escapeLines(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, escape.String(strings.TrimRight(line, "\r\n")))
	}
	return strings.Join(lines, "\n")
}

// depth returns the maximum nesting of brackets, including those in strings.
func depth(raw []byte) (most int) {
	n := 0
	for _, c := range raw {
		switch c {
		case '[', '{':
			n++
		case ']', '}':
			n--
		}
		most = max(most, n)
	}
	return most
}
