package transcript

import (
	"bytes"
	"io"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap/printable"
)

// A form says how a frame's bytes stand in a transcript.
type form struct{ base64, quoted, crlf, open bool }

// A probe finds out how bytes that come in pieces can stand in a transcript.
type probe struct {
	binary bool   // is no UTF-8
	odd    bool   // is not one line, or has what does not belong in a text file
	ended  bool   // \n has been seen
	cr     bool   // the character before was \r
	crlf   bool   // the line ended in \r\n
	head   []byte // its beginning and its end, to see a txtar marker
	tail   []byte
	rest   []byte // of a character
}

func (l *probe) Write(p []byte) (int, error) {
	n := len(p)
	if l.binary {
		return n, nil
	}
	if room := 3 - len(l.head); room > 0 {
		l.head = append(l.head, p[:min(room, n)]...)
	}
	l.tail = lastBytes(append(l.tail, lastBytes(p, 8)...), 8)
	if len(l.rest) > 0 {
		p = append(l.rest, p...)
		l.rest = nil
	}
	for len(p) > 0 {
		if k := printable.ASCII(p); k > 0 {
			l.odd = l.odd || l.ended || l.cr
			l.crlf, l.ended, l.cr = false, false, false
			p = p[k:]
			continue
		}
		if !utf8.FullRune(p) {
			l.rest = append([]byte(nil), p...)
			break
		}
		r, size := utf8.DecodeRune(p)
		p = p[size:]
		if r == utf8.RuneError && size == 1 {
			l.binary = true
			break
		}
		l.odd = l.odd || l.ended || l.cr && r != '\n' || r != '\n' && r != '\r' && r != '\t' && unfitForText(r)
		l.crlf = l.cr && r == '\n'
		l.ended, l.cr = r == '\n', r == '\r'
	}
	return n, nil
}

func lastBytes(p []byte, n int) []byte { return p[max(0, len(p)-n):] }

// unfitForText reports whether a character would make a text file lie to its
// reader. Joiners of emoji and scripts may stay, unlike on a terminal.
func unfitForText(r rune) bool {
	return printable.Hazard(r) && r != 0x200c && r != 0x200d
}

func (l *probe) form() form {
	line := bytes.TrimRight(l.tail, "\r\n")
	marker := bytes.HasPrefix(l.head, []byte("-- ")) && bytes.HasSuffix(line, []byte(" --"))
	switch {
	case l.binary || len(l.rest) > 0:
		return form{base64: true}
	case l.odd || l.cr || marker || len(l.head) == 0:
		return form{quoted: true}
	}
	return form{crlf: l.crlf, open: !l.ended}
}

// An endFixer turns the \r\n at the end of a line into \n.
type endFixer struct {
	w    io.Writer
	crlf bool
}

func (e *endFixer) Write(p []byte) (int, error) {
	n := len(p)
	if e.crlf {
		p = bytes.ReplaceAll(p, []byte("\r"), nil) // there is one, at the end
	}
	_, err := e.w.Write(p)
	return n, err
}

// A wrapWriter breaks lines at 76 columns.
type wrapWriter struct {
	w  io.Writer
	at int
}

func (l *wrapWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		k := min(76-l.at, len(p))
		if _, err := l.w.Write(p[:k]); err != nil {
			return 0, err
		}
		p = p[k:]
		if l.at += k; l.at == 76 {
			if err := l.close(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// close ends a line that has begun.
func (l *wrapWriter) close() error {
	if l.at == 0 {
		return nil
	}
	l.at = 0
	_, err := io.WriteString(l.w, "\n")
	return err
}
