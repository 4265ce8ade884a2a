package main

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// A prettyWriter lays out JSON that it is given in pieces: a member a line,
// indented. It works on tokens and changes none, so numbers and escapes stay as
// they crossed; only hazards are escaped, and the white space between tokens is
// its own. Its memory does not grow with the text or its depth. It must be
// given JSON, or the beginning of some; anything else comes out harmless.
type prettyWriter struct {
	w     io.Writer
	paint palette

	out     []byte
	rest    []byte // of a character that the next piece goes on with
	stack   []byte // the outer maxIndent of the brackets that are open
	depth   int
	state   prettyState
	key     bool  // the next string is a key
	escaped bool  // in a string, after a backslash
	fresh   bool  // a bracket was opened and nothing has followed
	style   style // of the token that is open
}

type prettyState uint8

const (
	betweenTokens prettyState = iota
	inString
	inWord // a number or a literal
)

const (
	// maxIndent is down to which depth each member gets a line. Below, hostile
	// nesting would turn kilobytes of brackets into megabytes of spaces.
	maxIndent = 40
	indent    = "  "
)

func (p *prettyWriter) Write(b []byte) (int, error) {
	n := len(b)
	if len(p.rest) > 0 {
		b = append(p.rest, b...)
		p.rest = nil
	}
	for len(b) > 0 {
		p.out = p.out[:0]
		for len(b) > 0 && len(p.out) < 16<<10 {
			if p.state == inString && !p.escaped {
				if k := plainASCII(b[:min(len(b), 16<<10)]); k > 0 {
					p.out = append(p.out, b[:k]...)
					b = b[k:]
					continue
				}
			}
			if !utf8.FullRune(b) {
				p.rest = append([]byte(nil), b...)
				b = nil
				break
			}
			r, size := utf8.DecodeRune(b)
			if r == utf8.RuneError && size == 1 {
				p.odd(fmt.Appendf(nil, `\x%02x`, b[0]))
			} else {
				p.char(r, b[:size])
			}
			b = b[size:]
		}
		if _, err := p.w.Write(p.out); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// close ends the line, and what is open, so that a painted terminal is left as
// it was.
func (p *prettyWriter) close() error {
	p.out = p.out[:0]
	for _, c := range p.rest {
		p.odd(fmt.Appendf(nil, `\x%02x`, c))
	}
	p.endToken()
	p.out = append(p.out, '\n')
	_, err := p.w.Write(p.out)
	return err
}

// char takes one character, whose bytes are b.
func (p *prettyWriter) char(r rune, b []byte) {
	if p.state == inString {
		p.inString(r, b)
		return
	}
	switch r {
	case ' ', '\t', '\n', '\r':
		p.endToken()
	case '{', '[':
		p.open(byte(r))
	case '}', ']':
		p.shut(byte(r))
	case ',':
		p.endToken()
		p.out = append(p.out, ',')
		p.newline(" ")
		p.key = p.top() == '{'
	case ':':
		p.endToken()
		p.out = append(p.out, ": "...)
		p.key = false
	case '"':
		p.endToken()
		p.value()
		p.state = inString
		p.begin(map[bool]style{true: cyan, false: green}[p.key])
		p.out = append(p.out, '"')
	default:
		if hazard(r) {
			b = appendEscape(nil, r)
		}
		p.odd(b)
	}
}

// odd takes what belongs to a number, a literal, or no JSON at all.
func (p *prettyWriter) odd(b []byte) {
	if p.state == betweenTokens {
		p.value()
		p.state = inWord
		p.begin(magenta)
	}
	p.out = append(p.out, b...)
}

func (p *prettyWriter) inString(r rune, b []byte) {
	if hazard(r) {
		p.out = appendEscape(p.out, r)
	} else {
		p.out = append(p.out, b...)
	}
	switch {
	case p.escaped:
		p.escaped = false
	case r == '\\':
		p.escaped = true
	case r == '"':
		p.endToken()
	}
}

func (p *prettyWriter) open(c byte) {
	p.endToken()
	p.value()
	p.out = append(p.out, c)
	if p.depth < maxIndent {
		p.stack = append(p.stack, c)
	}
	p.depth++
	p.fresh, p.key = true, p.top() == '{'
}

func (p *prettyWriter) shut(c byte) {
	p.endToken()
	fresh := p.fresh
	p.fresh, p.key = false, false
	deep := p.depth > maxIndent
	if p.depth > 0 {
		p.depth--
	}
	p.stack = p.stack[:min(len(p.stack), p.depth)]
	if !fresh && !deep {
		p.newline("")
	}
	p.out = append(p.out, c)
}

// top is the innermost open bracket, 0 where that is not known any more.
func (p *prettyWriter) top() byte {
	if p.depth == 0 || p.depth > len(p.stack) {
		return 0
	}
	return p.stack[p.depth-1]
}

// value breaks the line before the first thing in a bracket.
func (p *prettyWriter) value() {
	if p.fresh {
		p.fresh = false
		p.newline("")
	}
}

// newline breaks the line or, deep down, writes what stands for it.
func (p *prettyWriter) newline(instead string) {
	if p.depth > maxIndent {
		p.out = append(p.out, instead...)
		return
	}
	p.out = append(p.out, '\n')
	for range p.depth {
		p.out = append(p.out, indent...)
	}
}

func (p *prettyWriter) begin(s style) {
	if p.style = s; p.paint.on {
		p.out = append(p.out, "\x1b["+string(s)+"m"...)
	}
}

func (p *prettyWriter) endToken() {
	if p.style != plain && p.paint.on {
		p.out = append(p.out, "\x1b[0m"...)
	}
	p.state, p.style = betweenTokens, plain
}

// A textWriter writes bytes that are no JSON so that a terminal survives them:
// line by line, every hazard spelled out.
type textWriter struct {
	w    io.Writer
	rest []byte
	line bool // the last line has no end yet
}

func (t *textWriter) Write(b []byte) (int, error) {
	n := len(b)
	if len(t.rest) > 0 {
		b = append(t.rest, b...)
		t.rest = nil
	}
	var out []byte
	for len(b) > 0 {
		if len(out) >= 16<<10 { // bytes get four times as long, and can be many
			if _, err := t.w.Write(out); err != nil {
				return 0, err
			}
			out = out[:0]
		}
		if !utf8.FullRune(b) {
			t.rest = append([]byte(nil), b...)
			break
		}
		r, size := utf8.DecodeRune(b)
		switch {
		case r == '\n':
			out = append(out, '\n')
		case r == utf8.RuneError && size == 1:
			out = fmt.Appendf(out, `\x%02x`, b[0])
		case hazard(r):
			out = append(out, escapeRune(r)...)
		default:
			out = append(out, b[:size]...)
		}
		t.line = r != '\n'
		b = b[size:]
	}
	_, err := t.w.Write(out)
	return n, err
}

func (t *textWriter) close() error {
	text := escape(string(t.rest))
	if t.line || text != "" {
		text += "\n"
	}
	_, err := io.WriteString(t.w, text)
	return err
}
