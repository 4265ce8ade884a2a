package listing

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/tidwall/pretty"

	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/view"
)

const (
	// maxPretty limits the size of JSON text that is indented, and maxPrettyDepth its depth:
	// deeper nesting would turn a few brackets into megabytes of spaces.
	maxPretty      = 16 << 20
	maxPrettyDepth = 64
)

// A Pretty collects JSON text and prints it on Close, with one member per line. The order of
// members, numbers and escapes stay as recorded. Anything else is printed as by a [textWriter].
type Pretty struct {
	W     io.Writer
	Paint term.Palette
	raw   []byte
	large *textWriter // receives text that is larger than maxPretty
}

// Write implements [io.Writer]. It prints nothing before Close, unless the text is large.
func (p *Pretty) Write(b []byte) (int, error) {
	if p.large == nil && len(p.raw)+len(b) <= maxPretty {
		p.raw = append(p.raw, b...)
		return len(b), nil
	}
	if p.large == nil {
		p.large = &textWriter{w: p.W}
		raw := p.raw
		p.raw = nil
		if _, err := p.large.Write(raw); err != nil {
			return 0, err
		}
	}
	return p.large.Write(b)
}

// Close prints the text.
func (p *Pretty) Close() error {
	if p.large != nil {
		return errors.Join(p.large.Close(), p.hint("larger than "+view.Size(int64(maxPretty))))
	}
	if !jsonrpc.Valid(p.raw, maxPrettyDepth) {
		t := &textWriter{w: p.W}
		if _, err := t.Write(p.raw); err != nil {
			return err
		}
		err := t.Close()
		if err == nil && jsonrpc.Valid(p.raw, jsonrpc.MaxDepth) {
			err = p.hint(fmt.Sprintf("nested more than %d levels deep", maxPrettyDepth))
		}
		return err
	}
	out := pretty.PrettyOptions(p.raw, &pretty.Options{Indent: "  "})
	out = appendSafe(make([]byte, 0, len(out)), out, safe.AppendEscape)
	if p.Paint.On {
		out = pretty.Color(out, jsonColors)
	}
	_, err := p.W.Write(out)
	return err
}

func (p *Pretty) hint(why string) error {
	_, err := fmt.Fprintf(p.W, "… not indented: %s; use --raw for the exact bytes\n", why)
	return err
}

// jsonColors are the colours of JSON.
var jsonColors = func() *pretty.Style {
	in := func(s term.Style) [2]string { return [2]string{"\x1b[" + string(s) + "m", "\x1b[0m"} }
	return &pretty.Style{
		Key: in(term.Cyan), String: in(term.Green), Escape: in(term.Green), Number: in(term.Magenta), True: in(term.Magenta), False: in(term.Magenta),
		Null: in(term.Magenta),
	}
}()

// errEnough reports that a writer needs no more bytes.
var errEnough = errors.New("enough")

// A screenWriter writes the first lines of a text, up to a number of bytes; after that, Write
// returns errEnough.
type screenWriter struct {
	w    io.Writer
	left int
}

func (s *screenWriter) Write(b []byte) (int, error) {
	if len(b) <= s.left {
		s.left -= len(b)
		return s.w.Write(b)
	}
	// Cut at the end of a line or of a character: colours do not cross lines.
	head := b[:s.left]
	if i := bytes.LastIndexByte(head, '\n'); i >= 0 {
		head = head[:i]
	}
	s.left = 0
	head = append(bytes.ToValidUTF8(head, nil),
		fmt.Sprintf("\n… only the first %s is shown; use --raw for all of it\n", view.Size(int64(MaxScreen)))...)
	if _, err := s.w.Write(head); err != nil {
		return 0, err
	}
	return 0, errEnough
}

// A textWriter prints bytes as lines that are safe on a terminal. Its memory does not
// grow with the text.
type textWriter struct {
	w       io.Writer
	rest    []byte // an incomplete character
	partial bool   // the last line has not ended
}

func (t *textWriter) Write(text []byte) (int, error) {
	b := append(t.rest, text...)
	for {
		n := min(len(b), 4<<10) // a byte becomes up to four
		for i := 1; i <= n && i < utf8.UTFMax; i++ {
			if utf8.RuneStart(b[n-i]) {
				if !utf8.FullRune(b[n-i : n]) {
					n -= i
				}
				break
			}
		}
		if n == 0 {
			t.rest = b
			return len(text), nil
		}
		t.partial = b[n-1] != '\n'
		if _, err := t.w.Write(appendSafe(nil, b[:n], appendRune)); err != nil {
			return 0, err
		}
		b = b[n:]
	}
}

// Close ends the last line.
func (t *textWriter) Close() error {
	out := appendSafe(nil, t.rest, appendRune)
	if t.partial || len(out) > 0 {
		out = append(out, '\n')
	}
	_, err := t.w.Write(out)
	return err
}

// appendRune appends the Go escape of a character.
func appendRune(dst []byte, r rune) []byte { return append(dst, safe.EscapeRune(r)...) }

// appendSafe appends text with its line breaks. Hazards, and bytes that are not UTF-8, are escaped.
func appendSafe(dst, text []byte, escape func(dst []byte, r rune) []byte) []byte {
	for len(text) > 0 {
		if n := safe.ASCII(text); n > 0 {
			dst, text = append(dst, text[:n]...), text[n:]
			continue
		}
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			dst = fmt.Appendf(dst, `\x%02x`, text[0])
		case r != '\n' && safe.Hazard(r):
			dst = escape(dst, r)
		default:
			dst = append(dst, text[:n]...)
		}
		text = text[n:]
	}
	return dst
}
