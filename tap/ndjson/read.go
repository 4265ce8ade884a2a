package ndjson

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// A Reader reads the line form, frame by frame.
type Reader struct {
	r      *bufio.Reader
	n      int // the line
	frames uint64
	seq    uint64        // of the frame before
	at     time.Duration // of the frame before
	head   Header
	end    End
}

// NewReader reads the first line. The error names the line; it is [ErrNewer] for a
// file of a later version.
func NewReader(from io.Reader) (*Reader, error) {
	r := &Reader{r: bufio.NewReaderSize(from, 64<<10)}
	line, err := r.line()
	if err != nil {
		return nil, err
	}
	if err := r.parse(line, &r.head); err != nil {
		return nil, err
	}
	if r.head.Type != "recording" {
		return nil, r.wrong(fmt.Errorf("the first line must have the type recording, not %s", quote(r.head.Type)))
	}
	if r.head.V > Version {
		return nil, r.wrong(fmt.Errorf("version %d is %w", r.head.V, ErrNewer))
	}
	return r, nil
}

// Header returns the first line.
func (r *Reader) Header() *Header { return &r.head }

// End returns the last line, once Next has returned [io.EOF].
func (r *Reader) End() *End { return &r.end }

// Next returns the next frame, or [io.EOF] behind the line that ends the recording.
// A file without one is an error, which names the line as all do.
func (r *Reader) Next() (tap.Frame, error) {
	line, err := r.line()
	if err != nil {
		return tap.Frame{}, err
	}
	if line == nil {
		return tap.Frame{}, errors.New("it ends without an end line: the rest is missing")
	}
	var j Frame
	if err := r.parse(line, &j); err != nil {
		return tap.Frame{}, err
	}
	switch j.Type {
	case "frame":
		f, err := j.decode()
		if err == nil {
			err = r.check(&f)
		}
		if err != nil {
			return f, r.wrong(err)
		}
		r.frames++
		return f, nil
	case "end":
		return tap.Frame{}, r.last(line)
	}
	return tap.Frame{}, r.wrong(fmt.Errorf("unknown type %s", quote(j.Type)))
}

// check refuses what no recording can hold, so that whoever reads the lines takes
// the same ones.
func (r *Reader) check(f *tap.Frame) error {
	switch {
	case f.Seq <= r.seq:
		return fmt.Errorf("frame %d comes after frame %d", f.Seq, r.seq)
	case f.Seq >= 1<<63:
		return fmt.Errorf("frame %d: no recording has that many frames", f.Seq)
	case f.At < r.at:
		return fmt.Errorf("frame %d was at %v, before the frame that it follows, at %v", f.Seq, f.At, r.at)
	case f.Took < 0 || f.Took > f.At:
		return fmt.Errorf("frame %d took %v until %v, longer than the recording ran", f.Seq, f.Took, f.At)
	}
	r.seq, r.at = f.Seq, f.At
	return nil
}

// last takes the line that ends the recording.
func (r *Reader) last(line []byte) error {
	if err := r.parse(line, &r.end); err != nil {
		return err
	}
	if r.end.Frames != r.frames {
		return r.wrong(fmt.Errorf("it says that there are %d frames, but there are %d", r.end.Frames, r.frames))
	}
	switch r.end.Status {
	case "ended", "cut", "live", "damaged":
	default:
		return r.wrong(fmt.Errorf("unknown status %s", quote(r.end.Status)))
	}
	if line, err := r.line(); err != nil || line != nil {
		return errors.Join(err, r.wrong(errors.New("something follows the end line")))
	}
	return io.EOF
}

// line returns the next line that is not blank; it is valid until the next call. At
// the end it is nil.
func (r *Reader) line() ([]byte, error) {
	for {
		r.n++
		line, err := r.raw()
		if err == io.EOF && len(line) == 0 {
			return nil, nil
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		if len(bytes.Trim(line, " \t\r\n")) > 0 {
			return line, nil
		}
	}
}

// raw reads one line of any length. The last one may lack its end: then the error
// is [io.EOF] beside the line.
func (r *Reader) raw() ([]byte, error) {
	var line []byte
	for {
		piece, err := r.r.ReadSlice('\n')
		if err == nil && line == nil {
			return piece, nil
		}
		line = append(line, piece...)
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

func (r *Reader) parse(line []byte, v any) error {
	if err := json.Unmarshal(line, v); err != nil {
		return r.wrong(err)
	}
	return nil
}

func (r *Reader) wrong(err error) error { return fmt.Errorf("line %d: %w", r.n, err) }
