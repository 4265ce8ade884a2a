// Package transcript writes and reads the transcript form of a recording: a
// txtar archive, made to be read, edited and written by hand. The comment
// describes the recording, one `name: value` a line; lines that begin with #
// are for the reader. Then comes a file a frame:
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
//	form=event  what the frame is, where it is no line (see [tap.Form])
//
// By hand, number and time may be left out: the number is then one more, the
// time the same as before. A payload of several lines that is JSON stands for
// the same JSON on one line.
//
// Times are rounded to a microsecond, which is the only thing that is lost.
package transcript

import (
	"errors"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// A Head is what a transcript says of the recording beside its frames.
type Head struct {
	// Header describes the recording. Each of its fields may be missing in a
	// transcript that was written by hand.
	Header tap.Header
	// Status is ended, cut, live or damaged; "" when it is not said, which
	// means ended.
	Status string
	// End is when the recording ended, as an offset from its start; 0 when it
	// is not said, which means with its last frame.
	End time.Duration
	// Gaps are the frames that crossed but could not be recorded, in order.
	Gaps []tap.Range
}

// statuses are what a recording can be, as the comment says it.
var statuses = []string{"ended", "cut", "live", "damaged"}

// ErrNoFrames says that a text holds no frame at all, and nothing that describes a
// recording without any, so it is likely that it is no transcript.
var ErrNoFrames = errors.New("not a transcript: it has no frames")

// An Error says what is wrong with a transcript.
type Error struct {
	// Problem is the whole message.
	Problem string
	// Hint is what to do about it, or "".
	Hint string
}

// Error implements error.
func (e *Error) Error() string { return e.Problem }

// cut shortens a text for the reader.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.TrimSpace(strings.ToValidUTF8(s[:most], "")) + "…"
}

// quote puts a part of a transcript into an error message.
func quote(s string) string { return `"` + cut(s, 200) + `"` }
