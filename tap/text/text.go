// Package text reads and writes recordings as text. There are two formats, and
// both can be imported.
//
// # NDJSON
//
// A line that describes the recording, a line for each frame, and a line that ends
// the recording, so that a truncated file is noticed. Nothing is lost. Frames that
// are not UTF-8 or larger than a reader loads have raw_base64 in place of raw. Times
// are in nanoseconds. A reader ignores members that it does not know.
//
// # Txtar
//
// A txtar archive, made to be read, edited and written by hand. The comment
// describes the recording, with one `name: value` per line; lines that begin with # are
// ignored. Each file is a frame:
//
//	-- 0007 to_server request tools/call echo +12.346ms --
//	{"jsonrpc":"2.0","id":3,"method":"tools/call", …}
//
// Its name is the frame's number, its lane, words that are not read back, and a +
// with the time since the start. Words after the time describe the bytes:
//
//	crlf        the line ends in \r\n
//	open        the line has no end; on the lane lifecycle this is the default,
//	            and the word line is the opposite
//	quoted      the payload is a JSON string that stands for the bytes, because
//	            they are not one line of plain text
//	base64      the payload is base64, because the bytes are not UTF-8 or larger
//	            than a reader loads
//	truncated   bytes are missing (torn in older texts)
//	took=1.5ms  how long the frame took to arrive
//	exchange=3  the HTTP exchange
//	form=event  the form of a frame that is not a line; see [tap.Form]
//
// Number and time may be left out: the number is then one more, the time the same
// as before. A payload of several lines that is JSON stands for the same JSON on
// one line. Times are rounded to a microsecond; nothing else is lost.
package text

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
)

// A Head describes a recording.
type Head struct {
	// Header may lack fields in a text that was written by hand.
	Header tap.Header
	// Status is ended, cut, live or damaged; "" means ended.
	Status string
	// End is when the recording ended, as an offset from its start; 0 means with
	// its last frame.
	End time.Duration
	// Gaps are the frames that crossed but were not recorded, in order.
	Gaps []tap.Range
}

// statuses are the values of [Head.Status].
var statuses = []string{"ended", "cut", "live", "damaged"}

// A Reader reads the frames of a text.
type Reader interface {
	// Head returns the description of the recording. The Status and End of NDJSON
	// are known once Next has returned [io.EOF].
	Head() Head
	// Next returns the next frame, or [io.EOF] after the last one. Other errors
	// name the line.
	Next() (tap.Frame, error)
}

// An Error describes what is wrong with a text, with advice.
type Error struct {
	// Problem is the whole message.
	Problem string
	// Hint is what to do about it, or "".
	Hint string
}

// Error implements error.
func (e *Error) Error() string { return e.Problem }

// NewReader reads the head of a text: NDJSON if it begins with {, else txtar. After
// a NUL nothing more is read. The error is an [Error] if the text is neither, and
// [ErrNewer] if its version is not known.
func NewReader(from io.Reader) (Reader, error) {
	r := bufio.NewReaderSize(from, 64<<10)
	if mark, _ := r.Peek(3); string(mark) == "\ufeff" { // as editors on Windows begin a text
		_, _ = r.Discard(3)
	}
	line := 1
	c, err := r.ReadByte()
	for ; err == nil && strings.IndexByte(" \t\r\n", c) >= 0; c, err = r.ReadByte() {
		if c == '\n' {
			line++
		}
	}
	if err == io.EOF {
		return nil, errors.New("it is empty")
	}
	if err != nil {
		return nil, err
	}
	_ = r.UnreadByte()
	if c == '{' {
		return newNDJSONReader(r, line)
	}
	data, err := io.ReadAll(textOnly{r})
	if err != nil {
		return nil, err
	}
	return newTxtarReader(data, line)
}

var errNeither = &Error{"neither NDJSON nor a transcript", fromExport}

const fromExport = "it must come from `mcptap export`"

// ExportHint is the hint for a format that is only written.
const ExportHint = "export the recording as .ndjson or .txtar instead"

// textOnly fails at a NUL: the source may be of any size, or a device.
type textOnly struct{ io.Reader }

func (t textOnly) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	if bytes.IndexByte(p[:n], 0) >= 0 {
		err = &Error{errNeither.Problem, "a .mcptap file needs no import: use it directly, `mcptap show FILE`"}
	}
	return n, err
}

// Frames returns the frames that Next has not returned yet. The first error ends
// them.
func Frames(r Reader) iter.Seq2[tap.Frame, error] {
	return func(yield func(tap.Frame, error) bool) {
		for {
			f, err := r.Next()
			if err == io.EOF || !yield(f, err) || err != nil {
				return
			}
		}
	}
}

// Parse reads a whole text. With an error it returns the frames before it.
func Parse(data []byte) (Head, []tap.Frame, error) {
	r, err := NewReader(bytes.NewReader(data))
	if err != nil {
		return Head{}, nil, err
	}
	var all []tap.Frame
	for f, err := range Frames(r) {
		if err != nil {
			return r.Head(), all, err
		}
		all = append(all, f)
	}
	return r.Head(), all, nil
}

// order checks that frames are in the order of a recording.
type order struct {
	seq uint64 // of the frame before
	at  time.Duration
}

var errTime = errors.New("its time is before that of the frame before it")

func (o *order) check(f *tap.Frame) error {
	switch {
	case f.Seq >= 1<<63:
		return errors.New("no recording has that many frames")
	case f.Seq <= o.seq:
		return fmt.Errorf("its number must be above %d", o.seq)
	case f.At < o.at:
		return fmt.Errorf("%w, +%v", errTime, o.at)
	case f.Took < 0 || f.Took > f.At:
		return fmt.Errorf("it took %v until +%v, longer than the recording ran", f.Took, f.At)
	}
	o.seq, o.at = f.Seq, f.At
	return nil
}

// A rawFunc writes all bytes of a frame that is not whole.
type rawFunc = func(w io.Writer, f tap.Frame) error

// readable reads a frame that is not whole once, so that damage in it is an error
// before any of the frame is written.
func readable(f *tap.Frame, raw rawFunc) error {
	if f.Whole() {
		return nil
	}
	return raw(io.Discard, *f)
}

// writeBase64 writes the bytes of a frame in base64, in constant memory.
func writeBase64(w io.Writer, f *tap.Frame, raw rawFunc) error {
	enc := base64.NewEncoder(base64.StdEncoding, w)
	var err error
	if f.Whole() {
		_, err = enc.Write(f.Raw)
	} else {
		err = raw(enc, *f)
	}
	return errors.Join(err, enc.Close())
}

// cut shortens a text to at most the given number of bytes.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.TrimSpace(strings.ToValidUTF8(s[:most], "")) + "…"
}

// quote puts a part of a text into an error message.
func quote(s string) string { return `"` + escape.String(cut(s, 200)) + `"` }
