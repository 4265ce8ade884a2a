package transcript

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/printable"
)

const intro = `# A transcript of mcptap, made to be read and edited. The comment describes the
# recording. Each file is a frame: number, lane (to_server, to_client, stderr or
# life), words for the reader, and the time since the start; below it what
# crossed. ` + "`mcptap import`" + ` makes a recording of it again.
`

// A Writer writes a transcript: [Writer.Begin], then [Writer.Frame] for each
// frame. The caller flushes what it writes to.
type Writer struct {
	w   *bufio.Writer
	raw func(io.Writer, tap.Frame) error
}

// NewWriter makes a Writer. Raw writes all bytes of a frame, and is asked twice
// for each, so that frames of any size need no memory; nil stands for frames
// that are whole.
func NewWriter(w *bufio.Writer, raw func(w io.Writer, f tap.Frame) error) *Writer {
	if raw == nil {
		raw = func(w io.Writer, f tap.Frame) error {
			_, err := w.Write(f.Raw)
			return err
		}
	}
	return &Writer{w: w, raw: raw}
}

// Begin writes the comment.
func (t *Writer) Begin(h Head) error {
	t.w.WriteString(intro)
	t.line("id", plainValue(h.Header.ID))
	t.line("label", plainValue(h.Header.Label))
	t.line("start", h.Header.Start.UTC().Format(time.RFC3339Nano))
	t.line("transport", plainValue(h.Header.Transport))
	if h.Header.Command != nil {
		t.line("command", stringList(h.Header.Command))
	}
	for _, kv := range [][2]string{{"upstream", h.Header.Upstream}, {"dir", h.Header.Dir}, {"program", h.Header.Program}, {"platform", h.Header.Platform}} {
		if kv[1] != "" {
			t.line(kv[0], plainValue(kv[1]))
		}
	}
	if h.Status != "" {
		t.line("status", h.Status)
	}
	if h.End > 0 {
		t.line("end", "+"+h.End.Round(time.Microsecond).String())
	}
	for _, g := range h.Gaps {
		t.line("gap", fmt.Sprintf("%d-%d", g.From, g.To))
	}
	return t.w.WriteByte('\n') // a bufio.Writer's errors stick
}

func (t *Writer) line(name, value string) { fmt.Fprintf(t.w, "%s: %s\n", name, value) }

// plainValue is a value of the comment: as it is where that reads back, a JSON
// string otherwise.
func plainValue(s string) string {
	if printable.Clean(s) && s == strings.TrimSpace(s) && !strings.HasPrefix(s, `"`) && s != "" {
		return s
	}
	return string(printable.AppendString(nil, strings.ToValidUTF8(s, "\ufffd")))
}

// stringList is a JSON array of strings.
func stringList(list []string) string {
	out := []byte{'['}
	for i, s := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = printable.AppendString(out, strings.ToValidUTF8(s, "\ufffd"))
	}
	return string(append(out, ']'))
}

// Frame writes the next frame. Words tell the reader what it is about; they may
// hold anything, and are not read back.
func (t *Writer) Frame(f tap.Frame, words ...string) error {
	var p probe
	if err := t.raw(&p, f); err != nil {
		return err
	}
	form := p.form()
	if _, err := fmt.Fprintf(t.w, "-- %s --\n", name(&f, words, form)); err != nil {
		return err
	}
	switch {
	case form.base64:
		return t.base64(f)
	case form.quoted:
		return t.quoted(f)
	}
	if err := t.raw(&endFixer{w: t.w, crlf: form.crlf}, f); err != nil {
		return err
	}
	if form.open {
		return t.w.WriteByte('\n')
	}
	return nil
}

// name is the name of a frame's file.
func name(f *tap.Frame, about []string, form form) string {
	words := []string{fmt.Sprintf("%04d", f.Seq), f.Lane.String()}
	for _, w := range about {
		w = strings.Join(strings.Fields(printable.Escape(w)), " ")
		if w = cut(w, 80); w != "" {
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
	if f.Form != tap.FormLine {
		words = append(words, "form="+f.Form.String())
	}
	return strings.Join(words, " ")
}

func (t *Writer) base64(f tap.Frame) error {
	wrap := &wrapWriter{w: t.w}
	enc := base64.NewEncoder(base64.StdEncoding, wrap)
	if err := t.raw(enc, f); err != nil {
		return err
	}
	if err := enc.Close(); err != nil {
		return err
	}
	return wrap.close()
}

func (t *Writer) quoted(f tap.Frame) error {
	if err := t.w.WriteByte('"'); err != nil {
		return err
	}
	text := printable.StringWriter{W: t.w}
	if err := t.raw(&text, f); err != nil {
		return err
	}
	_, err := t.w.WriteString("\"\n")
	return err
}
