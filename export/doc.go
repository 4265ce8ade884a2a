// Package export writes recordings in the formats of other tools: HAR for the
// network panels of browsers, OpenTelemetry traces, and Mermaid for Markdown.
//
// A [Writer] is made for one recording, takes its frames in order, and writes as it
// goes: it holds what is open, a bounded beginning of each body, and nothing else.
// Frames may be loaded in part; what is missing then is said in the output. The
// package is pure: whoever has frames can use it, the command line and the viewer
// alike.
//
// None of these formats can hold a recording: the exact bytes, stderr, and what is
// no message are lost. NDJSON (package tap/text) is what loses nothing.
package export

import (
	"io"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// A Writer writes a recording in one format.
type Writer interface {
	// Add takes the next frame. It keeps nothing of f.
	Add(f *tap.Frame) error
	// Close writes what is open and the end. Of a recording that nothing is added
	// to it makes a valid file too.
	Close() error
}

// About is what a Writer is told of a recording beside its frames.
type About struct {
	Header tap.Header
	// Facts are those of the whole recording, as its tally has them: a diagram
	// begins with names that are said later.
	Facts session.Facts
	// Program and Version are what writes the file.
	Program, Version string
	// Raw writes all bytes of a frame that is not loaded whole; nil where there is
	// no such frame.
	Raw func(w io.Writer, f tap.Frame) error
	// MaxBody is how many bytes of a body are kept, in HAR; 0 means
	// [DefaultMaxBody].
	MaxBody int
}

// DefaultMaxBody is how many bytes of a body a HAR file gets.
const DefaultMaxBody = 4 << 20

// at is the wall clock at an offset of the recording.
func (a *About) at(offset time.Duration) time.Time { return a.Header.Start.Add(offset).UTC() }
