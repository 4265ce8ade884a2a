package main

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/ndjson"
)

// jsonVersion is the v of each line of JSON that a command prints.
const jsonVersion = ndjson.Version

// An exporter writes a recording in one of the formats.
type exporter interface {
	begin(info store.Info) error
	frame(f tap.Frame) error
	end(at time.Duration, status store.Status) error
}

// ndjsonWriter is the exporter of NDJSON.
type ndjsonWriter struct {
	w      *bufio.Writer
	raw    func(w io.Writer, f tap.Frame) error
	frames uint64
	buf    []byte
}

func (n *ndjsonWriter) line(v any) error {
	b, err := encodeJSON(v)
	if err != nil {
		return err
	}
	_, err = n.w.Write(append(b, '\n'))
	return err
}

func (n *ndjsonWriter) begin(info store.Info) error {
	return n.line(ndjson.NewHeader(info.Header, info.Status.String(), info.Gaps))
}

func (n *ndjsonWriter) frame(f tap.Frame) error {
	if !f.Whole() {
		if err := n.raw(io.Discard, f); err != nil { // before the line begins
			return err
		}
	}
	n.frames++
	b := fmt.Appendf(n.buf[:0], `{"v":%d,"type":"frame","seq":%d,"at_ns":%d`, jsonVersion, f.Seq, int64(f.At))
	if f.Took != 0 {
		b = fmt.Appendf(b, `,"took_ns":%d`, int64(f.Took))
	}
	b = fmt.Appendf(b, `,"lane":%q`, f.Lane.String())
	if f.Exchange != 0 {
		b = fmt.Appendf(b, `,"exchange":%d`, f.Exchange)
	}
	if f.Form != tap.FormLine {
		b = fmt.Appendf(b, `,"form":%q`, f.Form.String())
	}
	if f.Torn {
		b = append(b, `,"torn":true`...)
	}
	n.buf = b
	if _, err := n.w.Write(b); err != nil {
		return err
	}
	if err := writeRawMember(n.w, f, n.raw); err != nil {
		return err
	}
	_, err := n.w.WriteString("}\n")
	return err
}

func (n *ndjsonWriter) end(at time.Duration, status store.Status) error {
	return n.line(ndjson.End{V: jsonVersion, Type: "end", At: int64(at), Status: status.String(), Frames: n.frames})
}

// writeRawMember writes `,"raw":"…"`, or `,"raw_base64":"…"` if the frame is not
// UTF-8 or not loaded whole.
func writeRawMember(w *bufio.Writer, f tap.Frame, raw func(io.Writer, tap.Frame) error) error {
	if f.Whole() && utf8.Valid(f.Raw) {
		w.WriteString(`,"raw":"`)
		if err := safe.WriteInside(w, f.Raw); err != nil {
			return err
		}
		return w.WriteByte('"')
	}
	w.WriteString(`,"raw_base64":"`)
	enc := base64.NewEncoder(base64.StdEncoding, w)
	if f.Whole() {
		enc.Write(f.Raw)
	} else if err := raw(enc, f); err != nil {
		return err
	}
	enc.Close()
	return w.WriteByte('"')
}

// ndjsonReader reads what ndjsonWriter writes, as [importOptions] wants it.
type ndjsonReader struct{ *ndjson.Reader }

// newNDJSON reads the first line.
func newNDJSON(r io.Reader) (*ndjsonReader, source, error) {
	n, err := ndjson.NewReader(r)
	if errors.Is(err, ndjson.ErrNewer) {
		return nil, source{}, withHint(err, "update mcptap")
	}
	if err != nil {
		return nil, source{}, err
	}
	return &ndjsonReader{n}, source{header: n.Header().Recording(), gaps: n.Header().Gaps}, nil
}

func (n *ndjsonReader) frame() (tap.Frame, *sourceEnd, error) {
	f, err := n.Next()
	if err == io.EOF {
		return f, &sourceEnd{at: time.Duration(n.End().At), cut: n.End().Status != "ended"}, nil
	}
	return f, nil, err
}
