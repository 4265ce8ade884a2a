package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/printable"
)

// The NDJSON form of a recording: a line that describes it, a line a frame, and
// a line that ends it, so that a file cut short is noticed. Nothing is lost.
// All members but those marked optional are always there. A reader ignores
// members that it does not know.
const jsonVersion = 1

// jsonHeader is the first line.
type jsonHeader struct {
	V         int         `json:"v"`
	Type      string      `json:"type"` // "recording"
	ID        string      `json:"id"`
	Label     string      `json:"label"`
	Start     time.Time   `json:"start"`
	Transport string      `json:"transport"`
	Command   []string    `json:"command,omitempty"`
	Upstream  string      `json:"upstream,omitempty"`
	Dir       string      `json:"dir,omitempty"`
	Program   string      `json:"program,omitempty"`
	Platform  string      `json:"platform,omitempty"`
	Status    string      `json:"status"`
	Gaps      []tap.Range `json:"gaps,omitempty"`
}

// jsonFrame is the line of a frame. Exactly one of the two raws is there:
// base64 where the bytes are no UTF-8.
type jsonFrame struct {
	V         int             `json:"v"`
	Type      string          `json:"type"` // "frame"
	Seq       uint64          `json:"seq"`
	At        int64           `json:"at_ns"`
	Took      int64           `json:"took_ns,omitempty"`
	Lane      string          `json:"lane"`
	Exchange  uint64          `json:"exchange,omitempty"`
	Form      string          `json:"form,omitempty"` // "line" where it is missing
	Torn      bool            `json:"torn,omitempty"`
	Raw       json.RawMessage `json:"raw,omitempty"`
	RawBase64 *string         `json:"raw_base64,omitempty"`
}

// jsonEnd is the last line.
type jsonEnd struct {
	V      int    `json:"v"`
	Type   string `json:"type"` // "end"
	At     int64  `json:"at_ns"`
	Status string `json:"status"`
	Frames uint64 `json:"frames"` // how many frame lines there are
}

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
	b, err := safeJSON(v)
	if err != nil {
		return err
	}
	_, err = n.w.Write(append(b, '\n'))
	return err
}

func (n *ndjsonWriter) begin(info store.Info) error {
	h := info.Header
	return n.line(jsonHeader{
		V: jsonVersion, Type: "recording", ID: h.ID, Label: h.Label, Start: h.Start, Transport: h.Transport,
		Command: h.Command, Upstream: h.Upstream, Dir: h.Dir, Program: h.Program, Platform: h.Platform,
		Status: info.Status.String(), Gaps: info.Gaps,
	})
}

func (n *ndjsonWriter) frame(f tap.Frame) error {
	text, err := isText(f, n.raw) // before the line begins: half of one is of no use
	if err != nil {
		return err
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
	if err := writeRawMember(n.w, f, text, n.raw); err != nil {
		return err
	}
	_, err = n.w.WriteString("}\n")
	return err
}

func (n *ndjsonWriter) end(at time.Duration, status store.Status) error {
	return n.line(jsonEnd{jsonVersion, "end", int64(at), status.String(), n.frames})
}

// isText reports whether a frame is UTF-8. One that is not in memory is read from
// beginning to end for that, so damage in it shows here.
func isText(f tap.Frame, raw func(io.Writer, tap.Frame) error) (bool, error) {
	if f.Whole() {
		return utf8.Valid(f.Raw), nil
	}
	probe := textProbe{StringWriter: printable.StringWriter{W: io.Discard}}
	if err := raw(&probe, f); err != nil {
		return false, err
	}
	return !probe.binary && probe.Close() == nil, nil
}

// A textProbe finds out whether bytes that come in pieces are UTF-8. It takes
// all of them.
type textProbe struct {
	printable.StringWriter
	binary bool
}

func (t *textProbe) Write(p []byte) (int, error) {
	if !t.binary {
		_, err := t.StringWriter.Write(p)
		t.binary = err != nil
	}
	return len(p), nil
}

// writeRawMember writes `,"raw":"…"` or `,"raw_base64":"…"`. text is what isText
// said.
func writeRawMember(w io.Writer, f tap.Frame, text bool, raw func(io.Writer, tap.Frame) error) error {
	name, closing := `,"raw":"`, `"`
	var to io.WriteCloser = &printable.StringWriter{W: w}
	if !text {
		name, to = `,"raw_base64":"`, base64.NewEncoder(base64.StdEncoding, w)
	}
	if _, err := io.WriteString(w, name); err != nil {
		return err
	}
	if err := raw(to, f); err != nil {
		return err
	}
	if err := to.Close(); err != nil {
		return err
	}
	_, err := io.WriteString(w, closing)
	return err
}

// ndjsonReader reads what ndjsonWriter writes.
type ndjsonReader struct {
	r      *bufio.Reader
	n      int // the line
	frames uint64
}

// next returns the next line that is not blank; it is valid until the next
// call. At the end it is nil.
func (n *ndjsonReader) next() ([]byte, error) {
	for {
		n.n++
		line, err := readLine(n.r)
		if err == io.EOF && len(line) == 0 {
			return nil, nil
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		if len(trimSpace(line)) > 0 {
			return line, nil
		}
	}
}

// parse reads one line into v, which has the members V and Type.
func (n *ndjsonReader) parse(line []byte, v any) error {
	if err := json.Unmarshal(line, v); err != nil {
		return n.wrong(err)
	}
	return nil
}

func (n *ndjsonReader) wrong(err error) error { return fmt.Errorf("line %d: %w", n.n, err) }

func (n *ndjsonReader) header() (source, error) {
	line, err := n.next()
	if err != nil {
		return source{}, err
	}
	var h jsonHeader
	if err := n.parse(line, &h); err != nil {
		return source{}, err
	}
	if h.Type != "recording" {
		return source{}, n.wrong(fmt.Errorf("the first line must have the type recording, not %s", quote(h.Type)))
	}
	if h.V > jsonVersion {
		return source{}, withHint(n.wrong(fmt.Errorf("version %d is newer than this mcptap", h.V)), "update mcptap")
	}
	return source{
		header: tap.Header{ID: h.ID, Label: h.Label, Start: h.Start, Transport: h.Transport,
			Command: h.Command, Upstream: h.Upstream, Dir: h.Dir, Program: h.Program, Platform: h.Platform},
		gaps: h.Gaps,
	}, nil
}

// frame returns the next frame, or how the recording ended.
func (n *ndjsonReader) frame() (tap.Frame, *sourceEnd, error) {
	line, err := n.next()
	if err != nil {
		return tap.Frame{}, nil, err
	}
	if line == nil {
		return tap.Frame{}, nil, errors.New("it ends without an end line: the rest is missing")
	}
	var j jsonFrame
	if err := n.parse(line, &j); err != nil {
		return tap.Frame{}, nil, err
	}
	switch j.Type {
	case "frame":
		f, err := j.decode()
		if err != nil {
			return f, nil, n.wrong(err)
		}
		n.frames++
		return f, nil, nil
	case "end":
		end, err := n.end(line)
		return tap.Frame{}, end, err
	}
	return tap.Frame{}, nil, n.wrong(fmt.Errorf("unknown type %s", quote(j.Type)))
}

func (n *ndjsonReader) end(line []byte) (*sourceEnd, error) {
	var e jsonEnd
	if err := n.parse(line, &e); err != nil {
		return nil, err
	}
	if e.Frames != n.frames {
		return nil, n.wrong(fmt.Errorf("it says that there are %d frames, but there are %d", e.Frames, n.frames))
	}
	if e.Status != "ended" && e.Status != "cut" && e.Status != "live" && e.Status != "damaged" {
		return nil, n.wrong(fmt.Errorf("unknown status %s", quote(e.Status)))
	}
	if line, err := n.next(); err != nil || line != nil {
		return nil, errors.Join(err, n.wrong(errors.New("something follows the end line")))
	}
	return &sourceEnd{at: time.Duration(e.At), cut: e.Status != "ended"}, nil
}

func (j *jsonFrame) decode() (tap.Frame, error) {
	lane, err := tap.ParseLane(j.Lane)
	if err != nil {
		return tap.Frame{}, err
	}
	f := tap.Frame{Seq: j.Seq, At: time.Duration(j.At), Took: time.Duration(j.Took),
		Lane: lane, Exchange: j.Exchange, Torn: j.Torn}
	if j.Form != "" {
		if f.Form, err = tap.ParseForm(j.Form); err != nil {
			return f, err
		}
	}
	switch {
	case (j.Raw == nil) == (j.RawBase64 == nil):
		return f, errors.New("a frame must have raw or raw_base64")
	case j.Raw != nil:
		f.Raw, err = unquote(j.Raw)
	default:
		f.Raw, err = base64.StdEncoding.DecodeString(*j.RawBase64)
	}
	f.Size = int64(len(f.Raw))
	return f, err
}
