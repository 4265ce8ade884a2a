package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/term/escape"
)

const (
	// maxSpan is how many bytes of a word stand in a line of text, and maxBlock
	// how many of a message in a block. The blocks of each section have so much
	// room together that a summary fits into an issue, which has at most 65,536
	// characters on GitHub.
	maxSpan    = 200
	maxBlock   = 4 << 10
	roomFailed = 30 << 10
	roomOdd    = 8 << 10
	roomStderr = 12 << 10
	// maxTidy and maxTidyDepth bound what is laid out anew: each level indents
	// all lines below it.
	maxTidy      = 64 << 10
	maxTidyDepth = 32
)

// A markdown writes text, and keeps the first error.
type markdown struct {
	w    io.Writer
	err  error
	room int // that the blocks of this section have left
}

func (m *markdown) printf(format string, args ...any) {
	if m.err == nil {
		_, m.err = fmt.Fprintf(m.w, format, args...)
	}
}

// block writes recorded text as a block of code that it cannot end: the fence is
// longer than any row of backticks in it.
func (m *markdown) block(language, text string) {
	fence := strings.Repeat("`", max(3, longestRow(text)+1))
	m.room -= len(text)
	m.printf("%s%s\n%s\n%s\n\n", fence, language, strings.TrimSuffix(text, "\n"), fence)
}

// span is recorded text as code within a line, "" for none.
func span(s string) string {
	if s == "" {
		return ""
	}
	s = shorten(escape.Escape(shorten(s, maxSpan)), maxSpan)
	fence := strings.Repeat("`", longestRow(s)+1)
	pad := ""
	if len(fence) > 1 || strings.HasPrefix(s, " ") || strings.HasSuffix(s, " ") {
		pad = " "
	}
	return fence + pad + s + pad + fence
}

// longestRow is the length of the longest row of backticks.
func longestRow(s string) (most int) {
	n := 0
	for i := range len(s) {
		if n++; s[i] != '`' {
			n = 0
		}
		most = max(most, n)
	}
	return most
}

// shorten cuts a text that is too long, between two characters.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// recorded makes what crossed fit for a block of at most so many bytes: JSON laid
// out, what cannot be seen spelled out, and no more of it than fits. Size is that of
// all there is.
func recorded(raw []byte, size int64, most int) (language, text string) {
	trimmed := bytes.TrimSpace(raw)
	if language = "text"; len(raw) <= maxTidy && int64(len(raw)) == size && depth(trimmed) <= maxTidyDepth && json.Valid(trimmed) {
		language = "json"
		var out bytes.Buffer
		if json.Indent(&out, trimmed, "", "  ") == nil {
			trimmed = out.Bytes()
		}
	}
	part := trimmed[:min(len(trimmed), most+utf8.UTFMax)]
	text = escapedLines(string(part))
	if len(text) > most || len(part) < len(trimmed) || int64(len(raw)) < size {
		language, text = "text", strings.TrimSuffix(shorten(text, most), "…")+"\n… cut"
	}
	return language, text
}

// escapedLines spells out what cannot be seen, but for the ends of lines.
func escapedLines(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, escape.Escape(strings.TrimRight(line, "\r\n")))
	}
	return strings.Join(lines, "\n")
}

// depth is how many brackets stand open at most, those within texts too.
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
