// Package export writes recordings as text, as package tap/text reads it, and in the
// formats of other tools: HAR for the network panels of browsers, OpenTelemetry traces,
// and Mermaid for Markdown.
//
// A [Writer] converts the frames of one recording, in order. Its memory is bounded except for
// open calls. The package is pure; the command line and the viewer use it.
//
// The formats of other tools lose the exact bytes, stderr, and what is not a message.
// NDJSON loses nothing.
package export

import (
	"io"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// A Writer writes a recording in one format.
type Writer interface {
	// Add adds the next frame. It does not retain f.
	Add(f *tap.Frame) error
	// Close writes open entries and the end. The file is valid even without frames.
	Close() error
}

// About describes a recording apart from its frames.
type About struct {
	Header tap.Header
	// Facts are those of the whole recording, from its tally: a diagram begins with
	// names that come later in the recording.
	Facts session.Facts
	// Program and Version are the creator of the file.
	Program, Version string
	// Raw writes all bytes of a frame that is not loaded whole. May be nil if there
	// is none.
	Raw func(w io.Writer, f tap.Frame) error
	// Status, Duration and Gaps are those of [text.Head], which NDJSON and transcripts
	// have.
	Status   string
	Duration time.Duration
	Gaps     []tap.Range
	// MaxBody is the largest number of bytes of a body in HAR; 0 means
	// [DefaultMaxBody].
	MaxBody int
}

// DefaultMaxBody is the default of [About.MaxBody].
const DefaultMaxBody = 4 << 20

// at returns the wall clock at an offset of the recording.
func (a *About) at(offset time.Duration) time.Time { return a.Header.Start.Add(offset).UTC() }
