package transcript

import (
	"bufio"
	"bytes"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
)

// The forms in which a frame's bytes stand in a transcript: the words after the
// time, and "" for a line of text that ends in \n.
const (
	formCRLF   = "crlf"
	formOpen   = "open"
	formQuoted = "quoted"
	formBase64 = "base64"
)

// formOf chooses a form. A frame that is not loaded whole is written as base64,
// which needs no second look at it.
func formOf(f *tap.Frame) string {
	if !f.Whole() || !utf8.Valid(f.Raw) {
		return formBase64
	}
	line, ended := bytes.CutSuffix(f.Raw, []byte("\n"))
	crlf := ended && bytes.HasSuffix(line, []byte("\r"))
	if crlf {
		line = line[:len(line)-1]
	}
	switch marker := bytes.HasPrefix(line, []byte("-- ")) && bytes.HasSuffix(line, []byte(" --")); {
	case len(f.Raw) == 0, marker, bytes.ContainsFunc(line, unfit):
		return formQuoted
	case crlf:
		return formCRLF
	case !ended:
		return formOpen
	}
	return ""
}

// unfit reports whether a character makes a text file misleading or not one line.
// Joiners of emoji and scripts may stay, unlike on a terminal.
func unfit(r rune) bool {
	return escape.Hazard(r) && r != '\t' && r != 0x200c && r != 0x200d
}

// A wrapWriter breaks lines at 76 columns. The writer's errors stick.
type wrapWriter struct {
	w  *bufio.Writer
	at int
}

func (l *wrapWriter) Write(p []byte) (int, error) {
	for _, c := range p {
		if l.at == 76 {
			l.w.WriteByte('\n')
			l.at = 0
		}
		l.w.WriteByte(c)
		l.at++
	}
	return len(p), nil
}
