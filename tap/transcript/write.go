package transcript

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
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

// NewWriter makes a Writer. Raw writes all bytes of a frame that is not whole; it
// may be nil if there are none.
func NewWriter(w *bufio.Writer, raw func(w io.Writer, f tap.Frame) error) *Writer {
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
	if escape.Clean(s) && s == strings.TrimSpace(s) && !strings.HasPrefix(s, `"`) && s != "" {
		return s
	}
	return string(escape.AppendString(nil, strings.ToValidUTF8(s, "\ufffd")))
}

// stringList is a JSON array of strings.
func stringList(list []string) string {
	out := []byte{'['}
	for i, s := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = escape.AppendString(out, strings.ToValidUTF8(s, "\ufffd"))
	}
	return string(append(out, ']'))
}

// Frame writes the next frame. Words tell the reader what it is about; they may
// hold anything, and are not read back.
func (t *Writer) Frame(f tap.Frame, words ...string) error {
	form := formOf(&f)
	if !f.Whole() {
		if err := t.raw(io.Discard, f); err != nil { // before the frame begins
			return err
		}
	}
	fmt.Fprintf(t.w, "-- %s --\n", name(&f, words, form))
	switch form {
	case formBase64:
		return t.base64(f)
	case formQuoted:
		t.w.WriteByte('"')
		if err := escape.WriteInside(t.w, f.Raw); err != nil {
			return err
		}
		t.w.WriteByte('"')
	default:
		t.w.Write(bytes.TrimRight(f.Raw, "\r\n"))
	}
	return t.w.WriteByte('\n')
}

// name is the name of a frame's file.
func name(f *tap.Frame, about []string, form string) string {
	words := []string{fmt.Sprintf("%04d", f.Seq), f.Lane.String()}
	for _, w := range about {
		w = strings.Join(strings.Fields(escape.Escape(w)), " ")
		if w = cut(w, 80); w != "" {
			words = append(words, w)
		}
	}
	words = append(words, "+"+f.At.Round(time.Microsecond).String())
	switch {
	case f.Lane == tap.Life && form == formOpen:
	case f.Lane == tap.Life && form == "":
		words = append(words, "line")
	case form != "":
		words = append(words, form)
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
	if f.Whole() {
		enc.Write(f.Raw)
	} else if err := t.raw(enc, f); err != nil {
		return err
	}
	if enc.Close(); wrap.at > 0 {
		t.w.WriteByte('\n')
	}
	_, err := t.w.Write(nil)
	return err
}
