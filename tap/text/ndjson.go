package text

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
)

// Version is the v of each line of NDJSON.
const Version = 1

// ErrNewer is the error for a file of a later version.
var ErrNewer = errors.New("newer than this mcptap")

// headLine is the first line; its type is "recording".
type headLine struct {
	V    int    `json:"v"`
	Type string `json:"type"`
	tap.Header
	Status string      `json:"status"`
	Gaps   []tap.Range `json:"gaps,omitempty"`
}

// frameLine is the line of a frame; its type is "frame". One of raw and raw_base64
// is present.
type frameLine struct {
	V            int           `json:"v"`
	Type         string        `json:"type"`
	Seq          uint64        `json:"seq"`
	At           time.Duration `json:"at_ns"`
	Took         time.Duration `json:"took_ns,omitempty"`
	Lane         string        `json:"lane"`
	Exchange     uint64        `json:"exchange,omitempty"`
	Form         string        `json:"form,omitempty"` // "" for a line
	Truncated    bool          `json:"truncated,omitempty"`
	OldTruncated bool          `json:"torn,omitempty"` // its name in older texts
	Raw          exact         `json:"raw,omitempty"`
	RawBase64    []byte        `json:"raw_base64,omitempty"`
}

// endLine is the last line; its type is "end". Frames counts the lines of frames.
type endLine struct {
	V      int           `json:"v"`
	Type   string        `json:"type"`
	At     time.Duration `json:"at_ns"`
	Status string        `json:"status"`
	Frames uint64        `json:"frames"`
}

// exact is a JSON string that stands for recorded bytes.
type exact []byte

// UnmarshalJSON implements [json.Unmarshaler].
func (e *exact) UnmarshalJSON(token []byte) (err error) {
	*e, err = escape.Unquote(token)
	return err
}

// An NDJSONWriter writes NDJSON: [NDJSONWriter.Begin], then [NDJSONWriter.Frame]
// for each frame, then [NDJSONWriter.End].
type NDJSONWriter struct {
	// W is flushed by the caller.
	W *bufio.Writer
	// Raw writes all bytes of a frame that is not whole. It may be nil if all
	// frames are.
	Raw    func(w io.Writer, f tap.Frame) error
	frames uint64
}

// Begin writes the line that describes the recording.
func (n *NDJSONWriter) Begin(h Head) error {
	return n.line(headLine{Version, "recording", h.Header, h.Status, h.Gaps})
}

// Frame writes the line of a frame, or nothing if its bytes cannot be read.
func (n *NDJSONWriter) Frame(f tap.Frame) error {
	j := frameLine{V: Version, Type: "frame", Seq: f.Seq, At: f.At, Took: f.Took, Lane: f.Lane.String(), Exchange: f.Exchange, Truncated: f.Truncated}
	if f.Form != tap.FormLine {
		j.Form = f.Form.String()
	}
	object, err := escape.JSON(j)
	if err == nil {
		err = WriteRaw(n.W, object, f, n.Raw)
	}
	if err == nil {
		n.frames++
	}
	return err
}

// End writes the last line: at is when the recording ended, as an offset from its
// start, and status is a status as in [Head].
func (n *NDJSONWriter) End(at time.Duration, status string) error {
	return n.line(endLine{Version, "end", at, status, n.frames})
}

func (n *NDJSONWriter) line(v any) error {
	b, err := escape.JSON(v)
	if err != nil {
		return err
	}
	_, err = n.W.Write(append(b, '\n'))
	return err
}

// WriteRaw writes a JSON object, which must not be empty, with one more member and
// a newline: raw, the bytes of the frame, or raw_base64 if they are not UTF-8 or
// the frame is not whole. Then raw writes them. If they cannot be read nothing is
// written.
func WriteRaw(w *bufio.Writer, object []byte, f tap.Frame, raw func(w io.Writer, f tap.Frame) error) error {
	if err := readable(&f, raw); err != nil {
		return err
	}
	w.Write(bytes.TrimSuffix(object, []byte("}"))) // a bufio.Writer's errors stick
	var err error
	if f.Whole() && utf8.Valid(f.Raw) {
		w.WriteString(`,"raw":"`)
		err = escape.WriteInside(w, f.Raw)
	} else {
		w.WriteString(`,"raw_base64":"`)
		err = writeBase64(w, &f, raw)
	}
	if err != nil {
		return err
	}
	_, err = w.WriteString("\"}\n")
	return err
}

// An ndjsonReader is the Reader of NDJSON.
type ndjsonReader struct {
	r      *bufio.Reader
	n      int // the line number
	frames uint64
	order  order
	head   Head
}

// newNDJSONReader reads the first line, whose number in the text is line. The error names the
// line number; it is [ErrNewer] for a file of a later version.
func newNDJSONReader(from io.Reader, line int) (Reader, error) {
	r := &ndjsonReader{r: bufio.NewReaderSize(from, 64<<10), n: line - 1}
	var j struct {
		headLine
		ResourceSpans json.RawMessage `json:"resourceSpans"` // the only member of a trace
	}
	first, err := r.line()
	if err == nil {
		err = json.Unmarshal(first, &j)
	}
	var other *json.UnmarshalTypeError
	switch {
	case errors.As(err, &other) && j.Type != "recording":
		return nil, r.wrong(&Error{"not the first line of an export", fromExport})
	case err != nil:
		return nil, r.wrong(&Error{err.Error(), fromExport})
	case len(j.ResourceSpans) > 0:
		return nil, &Error{"OpenTelemetry traces cannot be read", ExportHint}
	case j.Type != "recording":
		return nil, r.wrong(&Error{"not the first line of an export: the type is " + quote(j.Type) + ", not recording", fromExport})
	case j.V > Version:
		return nil, r.wrong(fmt.Errorf("version %d is %w", j.V, ErrNewer))
	}
	r.head = Head{Header: j.Header, Status: j.Status, Gaps: j.Gaps}
	return r, nil
}

func (r *ndjsonReader) Head() Head { return r.head }

// Next returns the next frame. A file without an end line is an error.
func (r *ndjsonReader) Next() (tap.Frame, error) {
	line, err := r.line()
	if err != nil {
		return tap.Frame{}, err
	}
	if line == nil {
		return tap.Frame{}, errors.New("it ends without an end line: the rest is missing")
	}
	var j frameLine
	if err := r.parse(line, &j); err != nil {
		if line[len(line)-1] != '\n' && !json.Valid(line) {
			err = fmt.Errorf("it ends within line %d: the rest is missing", r.n)
		}
		return tap.Frame{}, err
	}
	switch j.Type {
	case "frame":
		f, err := j.frame()
		if err == nil {
			if err = r.order.check(&f); err != nil {
				err = fmt.Errorf("frame %d after frame %d: %w", f.Seq, r.order.seq, err)
			}
		}
		if err != nil {
			return f, r.wrong(err)
		}
		r.frames++
		return f, nil
	case "end":
		return tap.Frame{}, r.end(line)
	}
	return tap.Frame{}, r.wrong(fmt.Errorf("unknown type %s", quote(j.Type)))
}

// frame returns the frame of a line.
func (j *frameLine) frame() (f tap.Frame, err error) {
	f = tap.Frame{Seq: j.Seq, At: j.At, Took: j.Took, Exchange: j.Exchange, Truncated: j.Truncated || j.OldTruncated, Raw: j.Raw}
	if f.Lane, err = tap.ParseLane(j.Lane); err != nil {
		return f, err
	}
	if j.Form != "" {
		if f.Form, err = tap.ParseForm(j.Form); err != nil {
			return f, err
		}
	}
	if (j.Raw == nil) == (j.RawBase64 == nil) {
		return f, errors.New("a frame must have raw or raw_base64")
	}
	if j.Raw == nil {
		f.Raw = j.RawBase64
	}
	f.Size = int64(len(f.Raw))
	return f, nil
}

// end reads the line that ends the recording, and returns [io.EOF].
func (r *ndjsonReader) end(line []byte) error {
	var j endLine
	if err := r.parse(line, &j); err != nil {
		return err
	}
	if j.Frames != r.frames {
		return r.wrong(fmt.Errorf("frames is %d, but there are %d", j.Frames, r.frames))
	}
	if !slices.Contains(statuses, j.Status) {
		return r.wrong(fmt.Errorf("unknown status %s", quote(j.Status)))
	}
	r.head.Status, r.head.End = j.Status, j.At
	if line, err := r.line(); err != nil || line != nil {
		return errors.Join(err, r.wrong(errors.New("data follows the end line")))
	}
	return io.EOF
}

// line returns the next line that is not blank, nil at the end.
func (r *ndjsonReader) line() ([]byte, error) {
	for {
		r.n++
		line, err := r.r.ReadBytes('\n')
		switch {
		case err != nil && err != io.EOF:
			return nil, err
		case len(bytes.Trim(line, " \t\r\n")) > 0:
			return line, nil
		case err == io.EOF:
			return nil, nil
		}
	}
}

func (r *ndjsonReader) parse(line []byte, v any) error {
	if err := json.Unmarshal(line, v); err != nil {
		return r.wrong(err)
	}
	return nil
}

func (r *ndjsonReader) wrong(err error) error { return fmt.Errorf("line %d: %w", r.n, err) }
