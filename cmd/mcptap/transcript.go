package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// The transcript form of a recording: a txtar archive, made to be read, edited
// and written by hand. The comment describes the recording, one `name: value` a
// line; lines that begin with # are for the reader. Then comes a file a frame:
//
//	-- 0007 to_server request tools/call echo +12.346ms --
//	{"jsonrpc":"2.0","id":3,"method":"tools/call", …}
//
// Its name is the frame's number, its lane, words for the reader, and a + with
// the time since the start. The words are not read back. After the time may
// stand what is not usual about the bytes:
//
//	crlf        the line ends in \r\n
//	open        the line has no end at all (as on the lane life, where it goes
//	            without saying, and where line is the opposite)
//	quoted      the payload is a JSON string that stands for the bytes, as they
//	            are not one line of plain text
//	base64      the payload is base64, as the bytes are not even UTF-8
//	torn        bytes are missing in it
//	took=1.5ms  that is how long it took to arrive
//	exchange=3  the HTTP exchange
//
// By hand, number and time may be left out: the number is then one more, the
// time the same as before. A payload of several lines that is JSON stands for
// the same JSON on one line.
//
// Times are rounded to a microsecond, which is the only thing that is lost.
const transcriptIntro = `# A transcript of mcptap, made to be read and edited. The comment describes the
# recording. Each file is a frame: number, lane (to_server, to_client, stderr or
# life), words for the reader, and the time since the start; below it what
# crossed. ` + "`mcptap import`" + ` makes a recording of it again.
`

// lineForm says how a frame's bytes stand in a transcript.
type lineForm struct{ base64, quoted, crlf, open bool }

// A lineProbe finds out how bytes that come in pieces can stand in a transcript.
type lineProbe struct {
	binary bool   // is no UTF-8
	odd    bool   // is not one line, or has what does not belong in a text file
	ended  bool   // \n has been seen
	cr     bool   // the character before was \r
	crlf   bool   // the line ended in \r\n
	head   []byte // its beginning and its end, to see a txtar marker
	tail   []byte
	rest   []byte // of a character
}

func (l *lineProbe) Write(p []byte) (int, error) {
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
		if k := plainASCII(p); k > 0 {
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
	return hazard(r) && r != 0x200c && r != 0x200d
}

func (l *lineProbe) form() lineForm {
	line := bytes.TrimRight(l.tail, "\r\n")
	marker := bytes.HasPrefix(l.head, []byte("-- ")) && bytes.HasSuffix(line, []byte(" --"))
	switch {
	case l.binary || len(l.rest) > 0:
		return lineForm{base64: true}
	case l.odd || l.cr || marker || len(l.head) == 0:
		return lineForm{quoted: true}
	}
	return lineForm{crlf: l.crlf, open: !l.ended}
}

// transcriptWriter is the exporter of transcripts.
type transcriptWriter struct {
	w    *bufio.Writer
	view *viewer
}

func (t *transcriptWriter) begin(info store.Info) error {
	h := info.Header
	l := lines{w: t.w}
	l.printf("%s", transcriptIntro)
	l.printf("id: %s\n", plainValue(h.ID))
	l.printf("label: %s\n", plainValue(h.Label))
	l.printf("start: %s\n", h.Start.UTC().Format(time.RFC3339Nano))
	l.printf("transport: %s\n", plainValue(h.Transport))
	if h.Command != nil {
		command, err := safeJSON(h.Command)
		if err != nil {
			return err
		}
		l.printf("command: %s\n", command)
	}
	for _, kv := range [][2]string{{"dir", h.Dir}, {"program", h.Program}, {"platform", h.Platform}} {
		if kv[1] != "" {
			l.printf("%s: %s\n", kv[0], plainValue(kv[1]))
		}
	}
	l.printf("status: %s\n", info.Status)
	if info.Duration > 0 {
		l.printf("end: +%s\n", info.Duration.Round(time.Microsecond))
	}
	for _, g := range info.Gaps {
		l.printf("gap: %d-%d\n", g.From, g.To)
	}
	l.printf("\n")
	return l.err
}

// plainValue is a value of the comment: as it is where that reads back, a JSON
// string otherwise.
func plainValue(s string) string {
	if clean(s) && s == strings.TrimSpace(s) && !strings.HasPrefix(s, `"`) && s != "" {
		return s
	}
	return string(appendString(nil, strings.ToValidUTF8(s, "\ufffd")))
}

func (t *transcriptWriter) frame(f tap.Frame) error {
	row, err := t.view.row(&f)
	if err != nil {
		return err
	}
	var probe lineProbe
	if err := t.view.raw(&probe, f); err != nil {
		return err
	}
	form := probe.form()
	if _, err := fmt.Fprintf(t.w, "-- %s --\n", t.name(&row, form)); err != nil {
		return err
	}
	switch {
	case form.base64:
		return t.base64(f)
	case form.quoted:
		return t.quoted(f)
	}
	if err := t.view.raw(&endFixer{w: t.w, crlf: form.crlf}, f); err != nil {
		return err
	}
	if form.open {
		return t.w.WriteByte('\n')
	}
	return nil
}

// name is the name of a frame's file.
func (t *transcriptWriter) name(row *row, form lineForm) string {
	f := row.frame
	words := []string{fmt.Sprintf("%04d", f.Seq), f.Lane.String()}
	about := []string{row.kind, row.method, row.about}
	if f.Lane == tap.Stderr || row.kind == "invalid" {
		about = about[:1] // the payload says it better
	}
	if about[0] == f.Lane.String() {
		about = nil
	}
	if l, ok := row.answers(); ok {
		about = append(about, fmt.Sprintf("#%d", l.Request.Seq))
	}
	for _, w := range about {
		w = strings.Join(strings.Fields(escape(w)), " ")
		if w = cutWords(w, 80); w != "" {
			words = append(words, w)
		}
	}
	words = append(words, "+"+f.At.Round(time.Microsecond).String())
	switch {
	case form.base64:
		words = append(words, "base64")
	case form.quoted:
		words = append(words, "quoted")
	case form.crlf:
		words = append(words, "crlf")
	case form.open != (f.Lane == tap.Life):
		words = append(words, map[bool]string{true: "open", false: "line"}[form.open])
	}
	if f.Torn {
		words = append(words, "torn")
	}
	if took := f.Took.Round(time.Microsecond); took > 0 {
		words = append(words, "took="+took.String())
	}
	if f.Exchange != 0 {
		words = append(words, fmt.Sprintf("exchange=%d", f.Exchange))
	}
	return strings.Join(words, " ")
}

// cutWords cuts a text for the reader.
func cutWords(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.TrimSpace(strings.ToValidUTF8(s[:most], "")) + "…"
}

func (t *transcriptWriter) base64(f tap.Frame) error {
	wrap := &wrapWriter{w: t.w}
	enc := base64.NewEncoder(base64.StdEncoding, wrap)
	if err := t.view.raw(enc, f); err != nil {
		return err
	}
	if err := enc.Close(); err != nil {
		return err
	}
	return wrap.close()
}

func (t *transcriptWriter) quoted(f tap.Frame) error {
	if err := t.w.WriteByte('"'); err != nil {
		return err
	}
	text := stringWriter{w: t.w}
	if err := t.view.raw(&text, f); err != nil {
		return err
	}
	_, err := t.w.WriteString("\"\n")
	return err
}

func (t *transcriptWriter) end(time.Duration, store.Status) error { return nil }

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
